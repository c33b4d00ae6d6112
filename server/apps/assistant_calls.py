"""The calls of assistants in the activity log: who, through which app, which tool, and about what.

A call that changes something is logged with its change. Reads are buffered, so that they need no write, and are logged
within a minute; when the buffer is full, further calls are refused until it is written."""

from collections.abc import Iterable
from dataclasses import field
from functools import partial

from server import times
from server.access import actor as actors
from server.access.actor import WORKER, Actor
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Unavailable
from server.jobs.scheduler import periodic
from server.records.writing import RecordWriter
from server.store.database import Store
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import N_

MAX_WAITING_CALLS = 10_000
MAX_ABOUT_CHARS = 200
WRITE_SECONDS = 5
BATCH = 100  # calls logged in one transaction, which takes 10 ms
POINT = "assistant.called"


@dataclass(frozen=True, slots=True)
class AssistantCall:
    """A call. at: Unix seconds. about: the main argument of the tool. outcome: the error, "" for success."""

    worker_id: int
    app_id: int
    tool: str
    about: str
    at: int
    outcome: str = ""


@dataclass(slots=True)
class _Waiting:
    calls: list[AssistantCall] = field(default_factory=list)


_WAITING: StoreLocal[_Waiting] = StoreLocal()


def _waiting(store: Store) -> list[AssistantCall]:
    return _WAITING.made(store, _Waiting).calls


def require_room(service: Service) -> None:
    """Raises Unavailable if calls cannot be logged fast enough."""
    if len(_waiting(service.store)) >= MAX_WAITING_CALLS:
        raise Unavailable("too many calls wait to be logged; try again", retry_after=WRITE_SECONDS)


def add(service: Service, call: AssistantCall) -> None:
    """Buffers a call to be logged."""
    _waiting(service.store).append(call)


def log(ctx: Context, tx: Transaction, call: AssistantCall) -> None:
    """Logs a call in the transaction of its change."""
    _write(RecordWriter(ctx, tx), call)


@periodic(N_("assistant calls"), N_("Logs the calls of assistants."), everywhere=True)
def write_calls(service: Service, now: int) -> int | None:
    """Logs the buffered calls, BATCH in one transaction; runs again soon after there were some."""
    waiting = _waiting(service.store)
    count = len(waiting)
    for start in range(0, count, BATCH):
        calls = waiting[: min(BATCH, count - start)]
        service.store.write(partial(_write_batch, service, calls))
        del waiting[: len(calls)]
    return now + WRITE_SECONDS if count else None


def _write_batch(service: Service, calls: Iterable[AssistantCall], tx: Transaction) -> None:
    for each in calls:
        who = actors.worker(tx, each.worker_id) or Actor(WORKER, each.worker_id, False, "UTC")
        _write(RecordWriter(Context(service, who, each.at, times.zone("UTC")), tx), each)


def _write(writing: RecordWriter, call: AssistantCall) -> None:
    table = writing.registry.type("oauth_app").table
    row = writing.tx.get(table, call.app_id)
    variables = {
        "tool": call.tool,
        "app": str(row[table.position["name"]]) if row is not None else str(call.app_id),
        "outcome": f"{call.about[:MAX_ABOUT_CHARS]}{f' ({call.outcome[:MAX_ABOUT_CHARS]})' if call.outcome else ''}",
    }
    writing.log(POINT, WORKER, call.worker_id, variables)
