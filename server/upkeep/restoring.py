"""Restores a backup while the service runs; the service restarts by itself.

The backup is copied next to the database and the copy is verified while the service works. Only then the service shuts
down as usual, the files are exchanged while nothing has the database open, and the service starts again in the same
process, with the same ports and the lock on its folder. Without a restart, requests, jobs and cached rows would refer
to the old database. If the exchange fails, or the restored database cannot be opened, the service continues with the
old one.

store/backup.py copies and exchanges files; app.py stops and starts the service."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from server import log
from server.access.actor import APP
from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid, Unavailable
from server.records import changes
from server.records.writing import RecordWriter
from server.store import backup
from server.store.database import Store
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.upkeep import backups

UNDER_WAY = ("copying", "checking", "stopping")
_log = log.get("restore")

Undo = Callable[[str], None]  # called with the reason
Exchange = Callable[[], Undo | None]  # called while nothing has the database open; returns a function that reverts it


@dataclass(frozen=True)
class Restore:
    """The state of a restore. stage: copying, checking, stopping, done or failed. done, total: copied pages and all
    pages. kept: the new name of the previous database. problem: the reason of a failure."""

    name: str
    by: str
    at: int
    stage: str = "copying"
    done: int = 0
    total: int = 0
    kept: str = ""
    problem: str = ""

    @property
    def is_under_way(self) -> bool:
        return self.stage in UNDER_WAY


class Restores:
    """The restores of one process, which outlive its service. restart(exchange): stops the service, calls exchange and
    starts the service again; may be called on any thread."""

    def __init__(self, restart: Callable[[Exchange], None]) -> None:
        self._restart = restart
        self._lock = threading.Lock()
        self.last: Restore | None = None

    def offer(self, service: Service) -> None:
        """Registers the restorer of a service after it has started. A restore that restarted the service is complete
        then, and recorded in the activity log."""
        RESTORES.set(service.store, self)
        last = self.last
        if last is None or last.stage != "stopping":
            return
        _log.warning("restore.done", file=last.name, kept=last.kept)
        self.last = replace(last, stage="done")
        own = own_context(service)  # the worker may not exist in this database, or be another one
        try:
            log_restored(own.as_actor(replace(own.actor, name=last.by), own.tz), last.name, last.kept)
        except HelpdeskError:  # such as a full disk; the service works nevertheless
            _log.exception("restore.not_noted")

    def begin(self, file: Path, store: Store, by: str, now: int) -> None:
        """Starts a restore on a separate thread. Raises Conflict if one is already running."""
        with self._lock:
            if self.last is not None and self.last.is_under_way:
                raise Conflict(f"{self.last.name} is being restored right now; wait until it finishes")
            self.last = Restore(file.name, by, now)
        _log.warning("restore.begun", file=file.name)
        threading.Thread(target=self._run, args=(file, store.file), name="restore", daemon=True).start()

    def _run(self, file: Path, database: Path) -> None:
        def progress(done: int, total: int) -> None:
            self._update(done=done, total=total)

        try:
            backup.prepare(file, database, progress, lambda stage: self._update(stage=stage))
        except Exception as error:
            self._fail(error)
            return
        self._update(stage="stopping")
        self._restart(lambda: self._exchange(database))

    def _exchange(self, database: Path) -> Undo | None:
        try:
            previous, _ = backup.put_in_place(database)
        except Exception as error:
            self._fail(error)
            return None
        assert previous is not None
        self._update(kept=previous.name)

        def undo(why: str) -> None:
            aside = backup.put_back(database, previous)
            self._fail(
                Unavailable(
                    f"the restored database could not be used ({why}); the previous one is back in place, and the "
                    f"restored one is kept as {aside.name}"
                )
            )

        return undo

    def _update(self, **changes: Any) -> None:
        assert self.last is not None
        self.last = replace(self.last, **changes)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, HelpdeskError):
            problem = error.message
            _log.error("restore.failed", reason=problem)
        else:
            problem = "something went wrong on our side; see the log of the service"
            _log.exception("restore.failed")
        self._update(stage="failed", problem=problem)


def log_restored(ctx: Context, name: str, previous: str) -> None:
    """Records the restore in the activity log of the restored database; readers of its change feed start over. kept:
    the new name of the previous database."""
    values = {"file": name, "kept": previous or "nothing: there was none"}

    def write(tx: Transaction) -> None:
        changes.invalidate_cursors(tx)
        RecordWriter(ctx, tx).log("backup.restored", APP, 0, values)

    ctx.service.store.write(write)


def start(ctx: Context, name: str, typed: str) -> None:
    """Replaces the database by a backup. typed: its name, typed to confirm. Raises AdminOnly, NotFound, Damaged for a
    file that is not a backup, Invalid, Conflict, Unavailable if no server runs."""
    restores = _running_restores(ctx)
    backups.require_file(ctx)
    backup_file = backups.find_backup(ctx, name)
    if typed.strip() != backup_file.path.name:
        raise Invalid(f"type the name of the backup, {backup_file.path.name}, to restore it", field="typed")
    backup.require_backup(backup_file.path)
    restores.begin(backup_file.path, ctx.service.store, ctx.actor.name, ctx.now)


def last(ctx: Context) -> Restore | None:
    """Returns the last restore of this process, None if there was none. Raises AdminOnly."""
    return _running_restores(ctx).last


RESTORES: StoreLocal[Restores] = StoreLocal()


def _running_restores(ctx: Context) -> Restores:
    """Returns the restores of the running service. Raises AdminOnly, Unavailable if no server runs on the database."""
    ctx.require_admin("restore backups")
    restores = RESTORES.get(ctx.service.store)
    if restores is None:
        raise Unavailable("no server runs here; restore it with `helpdesk restore`")
    return restores
