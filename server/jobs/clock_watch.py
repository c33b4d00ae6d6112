"""Detects that the clock was set. After a jump of more than an hour nothing is deleted for an hour, and work that a
wrong clock postponed becomes due again at its own interval.

Intervals are measured by the monotonic clock. The last time seen is stored, so that jumps across a restart are detected
as well."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from server import log
from server.context import Service
from server.dataclass import dataclass
from server.store.schema import META
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction

JUMP_SECONDS = 3600  # smaller differences are only corrections
HOLD_SECONDS = 3600  # deletions wait this long after a jump
BACK_SECONDS = 60  # if the clock is set back by more, postponed work is checked
SEEN_EVERY_SECONDS = 600  # time between two writes of the clock; while deletions are held, each round writes
STATE = "clock"  # the row of META
LOG = log.get("clock")

Repair = Callable[[Service, int], None]
_repairs: dict[str, Repair] = {}


def after_set_back(name: str) -> Callable[[Repair], Repair]:
    """Registers repair(service, now). It runs at the start and when the clock was set back, and makes work due again
    that is further ahead than its own interval. Times that users chose do not change."""

    def register(repair: Repair) -> Repair:
        _repairs[name] = repair
        return repair

    return register


@dataclass(frozen=True)
class ClockJump:
    """A change of the clock. by: seconds that it was set ahead, negative for back. at: Unix seconds of the
    detection."""

    by: int
    at: int


class ClockWatch:
    """Watches the clock of one service; the scheduler's thread updates it, other threads read it. monotonic: seconds of
    the monotonic clock."""

    def __init__(self, service: Service, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._monotonic = monotonic
        self._ahead: float | None = None  # the wall clock minus the monotonic clock
        self._held_until = 0.0
        self._written_at = 0.0
        self.jump: ClockJump | None = None  # the last jump, while deletions are held because of it

    @property
    def holds(self) -> bool:
        """Whether nothing may be deleted because of its age."""
        return self._monotonic() < self._held_until

    def look(self, now: int, is_kept: bool = True) -> None:
        """Checks whether the clock was set since the last call. now: Unix seconds. is_kept: whether the time is stored,
        which only the leading process does."""
        ahead = now - self._monotonic()
        if self._ahead is None:
            self._began(now)
        else:
            self._seen(now, round(ahead - self._ahead))
        self._ahead = ahead
        if not self.holds:
            self.jump = None
        due = self._written_at + (0 if self.holds else SEEN_EVERY_SECONDS)
        if is_kept and self._monotonic() >= due:
            self._write(now)

    def _began(self, now: int) -> None:
        state = self._service.store.read(_stored_state)
        self._hold(min(int(state.get("hold_seconds", 0)), HOLD_SECONDS))
        jump = state.get("jump")
        self.jump = ClockJump(**jump) if self.holds and jump else None
        away = now - int(state.get("seen_at", now))
        if away < -JUMP_SECONDS:
            self._jumped(now, away)
        elif away > JUMP_SECONDS:  # a long downtime or a wrong clock: there is no way to distinguish them
            self._hold(HOLD_SECONDS)
        self._repair(now)

    def _seen(self, now: int, by: int) -> None:
        if abs(by) > JUMP_SECONDS:
            self._jumped(now, by)
        if by < -BACK_SECONDS:
            self._repair(now)

    def _jumped(self, now: int, by: int) -> None:
        self.jump = ClockJump(by, now)
        self._hold(HOLD_SECONDS)
        self._written_at = 0.0
        LOG.warning("clock.jumped", by_seconds=by, held_seconds=HOLD_SECONDS)

    def _hold(self, seconds: int) -> None:
        self._held_until = max(self._held_until, self._monotonic() + seconds)

    def _repair(self, now: int) -> None:
        for name, repair in sorted(_repairs.items()):
            try:
                repair(self._service, now)
            except Exception:
                LOG.exception("clock.repair_failed", what=name)

    def _write(self, now: int) -> None:
        hold_seconds = max(round(self._held_until - self._monotonic()), 0)
        values = {"seen_at": now, "hold_seconds": hold_seconds, "jump": asdict(self.jump) if self.jump else None}
        self._service.store.write(lambda tx: tx.put(META, {"name": STATE, "value": json.dumps(values)}))
        self._written_at = self._monotonic()


WATCH: StoreLocal[ClockWatch] = StoreLocal()


def watch_of(service: Service) -> ClockWatch | None:
    """Returns the watch of a running service; None without one, such as in a command."""
    return WATCH.get(service.store)


def holds(service: Service) -> bool:
    """Whether nothing may be deleted because of its age at present."""
    watch = watch_of(service)
    return watch is not None and watch.holds


def last_jump(service: Service) -> ClockJump | None:
    """Returns the recent jump of the clock that suspends deletions; commands can read it while the service runs in
    another process."""
    watch = watch_of(service)
    if watch is not None:
        return watch.jump
    state = service.store.read(_stored_state)
    return ClockJump(**state["jump"]) if state.get("jump") and state.get("hold_seconds") else None


def _stored_state(tx: Transaction) -> dict[str, Any]:
    row = tx.first(META, name=STATE)
    state = json.loads(row[1]) if row is not None else {}
    return state if isinstance(state, dict) else {}
