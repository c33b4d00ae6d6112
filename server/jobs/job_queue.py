"""Jobs as rows: added within the transaction that causes them, and claimed before they run.

Functions register for a kind of job. The scheduler (scheduler.py) decides when jobs run. Not a library such as Huey or
APScheduler: these store jobs by another connection, outside the transaction that causes them."""

import json
import secrets
from collections.abc import Callable
from itertools import count
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.jobs.clock_watch import after_set_back
from server.store.database import Store
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

CLAIM_SECONDS = 300  # an older claim that was not renewed belongs to a dead process
APART_SECONDS = 240  # maximum difference between the clocks of two machines
RUN_NAME_CHARS = 12
RETRY_SECONDS = 30  # wait before the second attempt; doubled for each further one
MAX_RETRY_SECONDS = 3600
MAX_ATTEMPTS = 20  # about half a day with the waits above
MAX_ERROR_CHARACTERS = 500
BATCH = 25  # jobs claimed at once
MAX_RUNS = 50  # past runs of each kind that are stored
FREE: dict[str, Any] = {"claimed_by": "", "claimed_until": 0}

OFF = Table("scan_off", [Column("name", "TEXT")], key=("name",))  # scans that are switched off

JOB = Table(
    "job",
    [
        Column("kind", "TEXT"),
        Column("due_at"),
        Column("payload", "TEXT", "{}"),
        Column("attempts"),
        Column("claimed_by", "TEXT"),
        Column("claimed_until"),
        Column("last_error", "TEXT"),
        Column("unique_key", "TEXT"),
        Column("failed_at"),
        Column("is_slow"),
    ],
    [
        Index(("failed_at", "is_slow", "due_at"), "what is due"),
        Index(("unique_key",), "adding the same job once"),
    ],
)  # a finished job is deleted; a job with failed_at is not tried again and stays for inspection

RUN = Table(
    "job_run",
    [
        Column("kind", "TEXT"),
        Column("job_id"),
        Column("attempt"),
        Column("due_at"),
        Column("began_at"),
        Column("ms"),
        Column("error", "TEXT"),
    ],
    [Index(("kind",), "the last ones of a kind")],
)  # past runs of jobs, the newest of each kind

Body = Callable[[Service, dict[str, Any], int], None]
_bodies: dict[str, Body] = {}
_purposes: dict[str, str] = {}  # what jobs of a kind do
_claims = count(1)
_run_name = secrets.token_hex(RUN_NAME_CHARS // 2)  # distinguishes claims of this run from those of an earlier one


def job(kind: str, does: str = "") -> Callable[[Body], Body]:
    """Registers the function for jobs of this kind: body(service, payload, now). does: their purpose, for people."""

    def register(body: Body) -> Body:
        _bodies[kind] = body
        _purposes[kind] = does
        return body

    return register


def body_of(kind: str) -> Body | None:
    """Returns the function registered for a kind."""
    return _bodies.get(kind)


def purpose(kind: str) -> str:
    """Returns what jobs of a kind do; the kind itself if that is not known."""
    return _purposes.get(kind) or kind


def kinds() -> list[str]:
    """Returns all kinds with a registered function, sorted."""
    return sorted(_bodies)


def new_claim() -> str:
    """Returns a unique name for one claim, which identifies the run of the service."""
    return f"{_run_name}:{next(_claims)}"


def run_name() -> str:
    """Returns the prefix of all claims since the service started."""
    return _run_name


def begin_run() -> None:
    """Invalidates earlier claims, including those in a restored database, when the service restarts within the
    process."""
    global _run_name
    _run_name = secrets.token_hex(RUN_NAME_CHARS // 2)


def furthest(store: Store, now: int, seconds: int) -> int:
    """Returns the latest time until which a claim of this length can be valid: a later one was made before the clock
    was set back. The clocks of other machines may be ahead."""
    return now + seconds + (APART_SECONDS if store.is_shared else 0)


@dataclass(frozen=True, slots=True)
class JobCapacity:
    """The number of jobs that may be claimed: slow ones, others, and both together."""

    slow: int = BATCH
    quick: int = BATCH
    total: int = BATCH

    @property
    def shares(self) -> tuple[tuple[bool, int], ...]:
        """((whether slow, maximum number), ...)."""
        return (True, self.slow), (False, self.quick)


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job. attempts: including this one. due_at: Unix seconds."""

    id: int
    kind: str
    payload: dict[str, Any]
    attempts: int
    claim: str
    is_slow: bool
    due_at: int = 0


@dataclass(frozen=True, slots=True)
class JobTiming:
    """The duration of a run. began_at: Unix seconds. ms: milliseconds."""

    began_at: int
    ms: int


class JobQueue:
    """The jobs of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @staticmethod
    def add(
        tx: Transaction, kind: str, due_at: int, payload: dict[str, Any], unique_key: str = "", *, is_slow: bool = False
    ) -> int:
        """Adds a job within the transaction that causes it and returns its id.

        due_at: Unix seconds. unique_key: if a job with the same key is waiting, that job stays and its id is returned;
        a job that failed for good starts again. is_slow: whether it may wait long for scripts or other programs; such
        jobs leave capacity for others."""
        text = json.dumps(payload, ensure_ascii=False)
        values = {"kind": kind, "due_at": due_at, "payload": text, "unique_key": unique_key, "is_slow": int(is_slow)}
        present = tx.first(JOB, unique_key=unique_key) if unique_key else None
        if present is None:
            return tx.insert(JOB, values)
        if present[JOB.position["failed_at"]]:
            tx.update(JOB, present[0], {**values, **FREE, "attempts": 0, "failed_at": 0})
        return int(present[0])

    @staticmethod
    def release_key(tx: Transaction, unique_key: str) -> None:
        """Makes the next `add` of this key add another job, while the one that has the key runs: what is added from
        this transaction on is not read by that run."""
        table: Any = JOB.sql
        tx.run(lambda: table.update({table.unique_key: ""}).where(table.unique_key == slot(0)), (unique_key,))

    @staticmethod
    def drop(tx: Transaction, id: int) -> None:
        """Removes a job that the same transaction added."""
        tx.delete(JOB, id=id)

    def claim_due(self, now: int, room: JobCapacity = JobCapacity()) -> list[Job]:
        """Claims due jobs that are not claimed, the longest due first."""
        if not self._store.read(lambda tx: self._due_ids(tx, now, room)):
            return []
        return self._store.write(lambda tx: self._claim(tx, now, room))

    def next_due(self, room: JobCapacity = JobCapacity()) -> int | None:
        """Returns when the next unclaimed job is due for which there is capacity; None if there is none."""
        table: Any = JOB.sql

        def first(tx: Transaction, is_slow: bool) -> int | None:
            return tx.value(
                lambda: (
                    table.select(table.due_at)
                    .where(table.failed_at == 0, table.is_slow == slot(0), table.claimed_by == "")
                    .order_by(table.due_at)
                    .limit(1)
                ),
                (int(is_slow),),
            )

        def earliest(tx: Transaction) -> int | None:
            speeds = [is_slow for is_slow, most in room.shares if most > 0]
            return min((at for at in (first(tx, each) for each in speeds) if at is not None), default=None)

        return self._store.read(earliest)

    def finish(self, done: Job, ran: JobTiming | None = None) -> None:
        """Removes a finished job, if the claim is still valid, and stores its run."""

        def write(tx: Transaction) -> None:
            tx.delete(JOB, id=done.id, claimed_by=done.claim)
            _note(tx, done, ran, "")

        self._store.write(write)

    def fail(self, failed: Job, error: str, now: int, ran: JobTiming | None = None) -> None:
        """Stores the error and tries again later, until MAX_ATTEMPTS."""
        wait = min(RETRY_SECONDS * 2 ** (failed.attempts - 1), MAX_RETRY_SECONDS)
        values = {"last_error": error[:MAX_ERROR_CHARACTERS], "due_at": now + wait} | FREE
        if failed.attempts >= MAX_ATTEMPTS:
            values["failed_at"] = now

        def write(tx: Transaction) -> None:
            self._change(tx, failed, values)
            _note(tx, failed, ran, values["last_error"])

        self._store.write(write)

    def renew(self, running: list[Job], now: int) -> None:
        """Renews the claims of running jobs."""
        if running:
            until = {"claimed_until": now + CLAIM_SECONDS}
            self._store.write(lambda tx: [self._change(tx, each, until) for each in running])

    def hasten(self, now: int) -> None:
        """Makes jobs due that were postponed longer than any retry, by a wrong clock."""
        table: Any = JOB.sql
        self._store.write(
            lambda tx: tx.run(
                lambda: table.update({table.due_at: slot(0)}).where(
                    table.failed_at == 0, table.attempts > 0, table.due_at > slot(1)
                ),
                (now, now + MAX_RETRY_SECONDS),
            )
        )

    def release_lost(self) -> None:
        """Releases the claims of former processes at the start, if a lock reserves the database file for this process.
        For a shared database, processes.py releases them."""
        if self._store.is_shared:
            return
        table: Any = JOB.sql
        self._store.write(
            lambda tx: tx.run(
                lambda: table.update({table.claimed_by: "", table.claimed_until: 0}).where(
                    table.claimed_by != "", ~table.claimed_by.startswith(_run_name)
                ),
            )
        )

    @staticmethod
    def _due_ids(tx: Transaction, now: int, room: JobCapacity) -> list[int]:
        table: Any = JOB.sql

        def due(is_slow: bool, most: int) -> list[tuple[Any, ...]]:
            return tx.rows(
                lambda: (
                    table.select(table.due_at, table.id)
                    .where(table.failed_at == 0, table.is_slow == slot(0), table.due_at <= slot(1), _is_free(table, 2))
                    .order_by(table.due_at, table.id)
                    .limit(slot(4))
                ),
                (int(is_slow), now, now, furthest(tx.store, now, CLAIM_SECONDS), most),
            )

        due_rows = [row for is_slow, most in room.shares if most > 0 for row in due(is_slow, most)]
        return [id for _, id in sorted(due_rows)[: room.total]]

    def _claim(self, tx: Transaction, now: int, room: JobCapacity) -> list[Job]:
        table: Any = JOB.sql
        claimed = []
        for id in self._due_ids(tx, now, room):
            claim = new_claim()
            updated = tx.run(
                lambda: table.update(
                    {
                        table.claimed_by: slot(0),
                        table.claimed_until: slot(1),
                        table.attempts: table.attempts + 1,
                    }
                ).where(table.id == slot(2), table.failed_at == 0, table.due_at <= slot(3), _is_free(table, 4)),
                (claim, now + CLAIM_SECONDS, id, now, now, furthest(tx.store, now, CLAIM_SECONDS)),
            )
            row = tx.get(JOB, id)
            if updated and row is not None:
                values = dict(zip(JOB.names, row, strict=True))
                payload, is_slow = json.loads(values["payload"]), bool(values["is_slow"])
                claimed.append(Job(id, values["kind"], payload, values["attempts"], claim, is_slow, values["due_at"]))
        return claimed

    @staticmethod
    def _change(tx: Transaction, claimed: Job, values: dict[str, Any]) -> None:
        row = tx.get(JOB, claimed.id)
        if row is not None and row[JOB.position["claimed_by"]] == claimed.claim:
            tx.update(JOB, claimed.id, values)


def _note(tx: Transaction, job: Job, ran: JobTiming | None, error: str) -> None:
    """Stores the run of a job, and deletes runs beyond MAX_RUNS of its kind."""
    if ran is None:
        return
    tx.insert(
        RUN,
        {
            "kind": job.kind,
            "job_id": job.id,
            "attempt": job.attempts,
            "due_at": job.due_at,
            "began_at": ran.began_at,
            "ms": ran.ms,
            "error": error,
        },
    )
    table: Any = RUN.sql
    last = tx.value(
        lambda: table.select(table.id).where(table.kind == slot(0)).order_by(table.id.desc()).limit(1).offset(MAX_RUNS),
        (job.kind,),
    )
    if last is not None:
        tx.run(lambda: table.delete().where(table.kind == slot(0), table.id <= slot(1)), (job.kind, last))


def _is_free(table: Any, place: int) -> Any:
    """Returns the condition that a job is not claimed or its claim has expired, with the values `now` and
    `furthest`."""
    return (table.claimed_by == "") | (table.claimed_until < slot(place)) | (table.claimed_until > slot(place + 1))


@after_set_back("jobs")
def _hasten(service: Service, now: int) -> None:
    JobQueue(service.store).hasten(now)
