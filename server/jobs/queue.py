"""Work that is due at some time, as rows: added inside the transaction that causes it, claimed before it runs.

Knows no kind of job: functions register under the name of the kind. When they run is the scheduler's part
(scheduler.py)."""

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

CLAIM_SECONDS = 300  # after which a claim that was not renewed belongs to a dead process
APART_SECONDS = 240  # that the clocks of two machines may differ
RUN_NAME_CHARS = 12
RETRY_SECONDS = 30  # before the second attempt, doubled with each further one
MAX_RETRY_SECONDS = 3600
MAX_ATTEMPTS = 20  # about half a day with the waits above
MAX_ERROR_CHARACTERS = 500
BATCH = 25  # claimed at once
MAX_RUNS = 50  # past runs of each kind that are stored
FREE: dict[str, Any] = {"claimed_by": "", "claimed_until": 0}

OFF = Table("scan_off", [Column("name", "TEXT")], key=("name",))  # what runs from time to time, and is switched off

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
)  # a job that is done is deleted; one with failed_at is tried no more and stays to be looked at

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
)  # how jobs went, the newest of each kind

Body = Callable[[Service, dict[str, Any], int], None]
_bodies: dict[str, Body] = {}
_claims = count(1)
_run_name = secrets.token_hex(RUN_NAME_CHARS // 2)  # distinguishes claims of this run from those of an earlier one


def job(kind: str) -> Callable[[Body], Body]:
    """Register the function that does jobs of this kind: body(service, payload, now)."""

    def register(body: Body) -> Body:
        _bodies[kind] = body
        return body

    return register


def body_of(kind: str) -> Body | None:
    """The function registered for a kind."""
    return _bodies.get(kind)


def kinds() -> list[str]:
    """Every kind that a function is registered for, sorted."""
    return sorted(_bodies)


def new_claim() -> str:
    """A unique name for one claim, which identifies the run of the service."""
    return f"{_run_name}:{next(_claims)}"


def run_name() -> str:
    """How claims begin that were made since the service started."""
    return _run_name


def begin_run() -> None:
    """The service restarts in this process: earlier claims belong to nobody, also those in a restored database."""
    global _run_name
    _run_name = secrets.token_hex(RUN_NAME_CHARS // 2)


def furthest(store: Store, now: int, seconds: int) -> int:
    """The latest time until which a claim of so many seconds can be valid: a later one was made before the clock was
    set back. The clocks of other machines may be ahead."""
    return now + seconds + (APART_SECONDS if store.is_shared else 0)


@dataclass(frozen=True, slots=True)
class JobCapacity:
    """How many jobs may be taken up: slow ones, others, and both together."""

    slow: int = BATCH
    quick: int = BATCH
    total: int = BATCH

    @property
    def shares(self) -> tuple[tuple[bool, int], ...]:
        """((whether slow, how many), ...)."""
        return (True, self.slow), (False, self.quick)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is claimed. `attempts` counts this one. due_at: Unix seconds."""

    id: int
    kind: str
    payload: dict[str, Any]
    attempts: int
    claim: str
    is_slow: bool
    due_at: int = 0


@dataclass(frozen=True, slots=True)
class JobTiming:
    """How long a job took: from when, Unix seconds, and how many milliseconds."""

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
        """Add a job inside the transaction that causes it; answers its id.

        due_at: Unix seconds. unique_key: while a job with the same key waits, that one stays and its id is answered;
        one that failed for good starts again. is_slow: whether it may wait long for scripts or other programs; such
        jobs leave room for others."""
        text = json.dumps(payload, ensure_ascii=False)
        values = {"kind": kind, "due_at": due_at, "payload": text, "unique_key": unique_key, "is_slow": int(is_slow)}
        present = tx.first(JOB, unique_key=unique_key) if unique_key else None
        if present is None:
            return tx.insert(JOB, values)
        if present[JOB.position["failed_at"]]:
            tx.update(JOB, present[0], {**values, **FREE, "attempts": 0, "failed_at": 0})
        return int(present[0])

    @staticmethod
    def drop(tx: Transaction, id: int) -> None:
        """Take back a job that the same transaction added."""
        tx.delete(JOB, id=id)

    def claim_due(self, now: int, room: JobCapacity = JobCapacity()) -> list[Job]:
        """Claim what is due and not claimed, the longest due first."""
        if not self._store.read(lambda tx: self._due_ids(tx, now, room)):
            return []
        return self._store.write(lambda tx: self._claim(tx, now, room))

    def next_due(self, room: JobCapacity = JobCapacity()) -> int | None:
        """When the next unclaimed job is due for which there is capacity; None if there is none."""
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
            wanted = [is_slow for is_slow, most in room.shares if most > 0]
            return min((at for at in (first(tx, each) for each in wanted) if at is not None), default=None)

        return self._store.read(earliest)

    def finish(self, done: Job, ran: JobTiming | None = None) -> None:
        """Remove a job that was done, if the claim is still ours, and note how it went."""

        def write(tx: Transaction) -> None:
            tx.delete(JOB, id=done.id, claimed_by=done.claim)
            _note(tx, done, ran, "")

        self._store.write(write)

    def fail(self, failed: Job, error: str, now: int, ran: JobTiming | None = None) -> None:
        """Note the error and try again later, or no more after MAX_ATTEMPTS."""
        wait = min(RETRY_SECONDS * 2 ** (failed.attempts - 1), MAX_RETRY_SECONDS)
        values = {"last_error": error[:MAX_ERROR_CHARACTERS], "due_at": now + wait} | FREE
        if failed.attempts >= MAX_ATTEMPTS:
            values["failed_at"] = now

        def write(tx: Transaction) -> None:
            self._change(tx, failed, values)
            _note(tx, failed, ran, values["last_error"])

        self._store.write(write)

    def renew(self, running: list[Job], now: int) -> None:
        """Keep the claims of jobs that still run."""
        if running:
            until = {"claimed_until": now + CLAIM_SECONDS}
            self._store.write(lambda tx: [self._change(tx, each, until) for each in running])

    def hasten(self, now: int) -> None:
        """Make jobs due that were put off further than any retry is: by a clock that was wrong."""
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
        """Free the claims of processes that are gone. For the start: a lock keeps a file to one process. Where there
        are others, processes.py frees them."""
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

        def of(is_slow: bool, most: int) -> list[tuple[Any, ...]]:
            return tx.rows(
                lambda: (
                    table.select(table.due_at, table.id)
                    .where(table.failed_at == 0, table.is_slow == slot(0), table.due_at <= slot(1), _is_free(table, 2))
                    .order_by(table.due_at, table.id)
                    .limit(slot(4))
                ),
                (int(is_slow), now, now, furthest(tx.store, now, CLAIM_SECONDS), most),
            )

        found = [row for is_slow, most in room.shares if most > 0 for row in of(is_slow, most)]
        return [id for _, id in sorted(found)[: room.total]]

    def _claim(self, tx: Transaction, now: int, room: JobCapacity) -> list[Job]:
        table: Any = JOB.sql
        claimed = []
        for id in self._due_ids(tx, now, room):
            claim = new_claim()
            taken = tx.run(
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
            if taken and row is not None:
                found = dict(zip(JOB.names, row, strict=True))
                payload, is_slow = json.loads(found["payload"]), bool(found["is_slow"])
                claimed.append(Job(id, found["kind"], payload, found["attempts"], claim, is_slow, found["due_at"]))
        return claimed

    @staticmethod
    def _change(tx: Transaction, claimed: Job, values: dict[str, Any]) -> None:
        row = tx.get(JOB, claimed.id)
        if row is not None and row[JOB.position["claimed_by"]] == claimed.claim:
            tx.update(JOB, claimed.id, values)


def _note(tx: Transaction, job: Job, ran: JobTiming | None, error: str) -> None:
    """Keep how a job went, and no more than MAX_RUNS of its kind."""
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
    """Not claimed, or the claim has lapsed: values `now` and `furthest`."""
    return (table.claimed_by == "") | (table.claimed_until < slot(place)) | (table.claimed_until > slot(place + 1))


@after_set_back("jobs")
def _hasten(service: Service, now: int) -> None:
    JobQueue(service.store).hasten(now)
