"""Imports of large files in the background, with progress."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from server import times
from server.access import actor as actors
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Forbidden, HelpdeskError, Unavailable
from server.imports import columns, row_import, uploads
from server.imports.columns import CsvMapping
from server.imports.row_import import CsvResult, PortionedImport, RowMistake
from server.imports.uploads import CsvUpload
from server.jobs import processes
from server.jobs.job_queue import JobQueue, job
from server.records import records
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import N_

KIND = "csv.import"
MAX_AT_ONCE = 500  # rows up to which a request does the work itself
PROGRESS: StoreLocal[dict[str, tuple[int, int]]] = StoreLocal()  # {code of the file: (rows done, all rows)}


@dataclass(frozen=True, slots=True)
class CsvTask:
    """The task of a file. expand: keys to expand in the records of a trial. result: None until it is done. problem: the
    error that stopped it, "" for none. portions: progress of the import of a large file."""

    mapping: CsvMapping
    is_trial: bool
    expand: str
    result: CsvResult | None = None
    problem: str = ""
    portions: PortionedImport | None = None

    @property
    def is_running(self) -> bool:
        return self.result is None and not self.problem


def start(ctx: Context, upload: CsvUpload, mapping: CsvMapping, expand: str, *, is_trial: bool) -> None:
    """Schedules a trial or an import of a file. Raises Conflict while one is under way; Forbidden, NotFound,
    NotOffered, and Invalid for an unsuitable mapping."""
    records.require(ctx, mapping.uri, "create")
    columns.require(mapping, columns.targets(ctx, mapping.uri), len(upload.table().names))
    task = CsvTask(mapping, is_trial, expand)

    def write(tx: Transaction) -> None:
        stored = uploads.row(tx, upload.code)
        present = task_of(stored)
        if stored is None or not stored.content or (present is not None and present.is_running):
            raise Conflict("this file is already being processed")
        uploads.keep_task(tx, upload.code, _text(task))
        JobQueue.add(tx, KIND, ctx.now, {"code": upload.code}, f"{KIND}:{upload.code}", is_slow=True)
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def task_of(upload: CsvUpload | None) -> CsvTask | None:
    """The task of a file, None before it is started."""
    if upload is None or not upload.task:
        return None
    stored = json.loads(upload.task)
    mapping = CsvMapping(stored["mapping"]["uri"], tuple(stored["mapping"]["names"]), stored["mapping"]["key"])
    result, portions = stored["result"], stored.get("portions")
    return CsvTask(
        mapping,
        stored["is_trial"],
        stored["expand"],
        _result_of(result) if result is not None else None,
        stored["problem"],
        PortionedImport(portions["cursor"], _result_of(portions["result"])) if portions is not None else None,
    )


def _result_of(stored: dict[str, Any]) -> CsvResult:
    return CsvResult(**stored | {"mistakes": [RowMistake(**each) for each in stored["mistakes"]]})


def progress(ctx: Context, code: str) -> tuple[int, int]:
    """(rows done, all rows) of a file in progress, in this process or another; (0, 0) before that."""
    here = PROGRESS.made(ctx.service.store, dict).get(code)
    elsewhere = [each[code] for each in processes.shared_by_others(ctx.service, KIND) if code in each]
    done, total = here or (elsewhere[0] if elsewhere else (0, 0))
    return done, total


@job(KIND, N_("Checks or imports the rows of a large CSV file"))
def _work(service: Service, payload: dict[str, Any], now: int) -> None:
    code = str(payload["code"])
    upload = service.store.read(lambda tx: uploads.row(tx, code))
    task = task_of(upload)
    if upload is None or task is None or not task.is_running:  # it was done before the service stopped
        return
    numbers = PROGRESS.made(service.store, dict)
    processes.share(service, KIND, lambda: dict(numbers))
    try:
        done = _done(_context(service, upload, now), upload, task, lambda *counts: numbers.__setitem__(code, counts))
    except Unavailable:
        raise  # a later attempt may do it
    except HelpdeskError as error:
        done = replace(task, problem=error.message)
    finally:
        numbers.pop(code, None)
    service.store.write(lambda tx: uploads.keep_task(tx, code, _text(done)))


def _context(service: Service, upload: CsvUpload, now: int) -> Context:
    """The context of the worker who uploaded the file, with their present rights. Raises Forbidden."""
    actor = service.store.read(lambda tx: actors.worker(tx, upload.worker_id))
    if actor is None:
        raise Forbidden("the worker who uploaded the file no longer exists")
    return Context(service, actor, now, times.zone(actor.timezone or "UTC"))


def _done(ctx: Context, upload: CsvUpload, task: CsvTask, report: Callable[[int, int], None]) -> CsvTask:
    table = upload.table()
    if task.is_trial:
        return replace(task, result=row_import.attempt(ctx, table, task.mapping, task.expand, report))

    if len(table.rows) > row_import.MAX_ATOMIC_ROWS:

        def save(tx: Transaction, portions: PortionedImport) -> None:
            uploads.keep_task(tx, upload.code, _text(replace(task, portions=portions)))

        portioned = task.portions or PortionedImport()
        result = portioned.run(ctx, upload.name, table, task.mapping, report, save)
        ctx.service.store.write(lambda tx: uploads.take(tx, upload.code))
        return replace(task, result=result, portions=None)

    def finish(tx: Transaction, result: CsvResult) -> None:
        uploads.keep_task(tx, upload.code, _text(replace(task, result=result)))

    return replace(task, result=row_import.run(ctx, upload, table, task.mapping, report, finish))


def _text(task: CsvTask) -> str:
    return json.dumps(asdict(task), ensure_ascii=False)
