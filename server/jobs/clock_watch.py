"""Whether the clock was set, by how much, and what follows: after a jump of more than an hour nothing is deleted for an
hour, and what was put off by a clock that was wrong is due again at its own interval.

Intervals are measured by the clock that nobody can set; what was seen is kept, so that a restart forgets none of it."""

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

JUMP_SECONDS = 3600  # a clock that is off by less is only corrected
HOLD_SECONDS = 3600  # after a jump, during which nothing is deleted
BACK_SECONDS = 60  # if it is set back by more, postponed work is checked
SEEN_EVERY_SECONDS = 600  # how often the time is written down; while something is held, at each round
KEPT = "clock"  # the row of META
LOG = log.get("clock")

Repair = Callable[[Service, int], None]
_repairs: dict[str, Repair] = {}


def after_set_back(name: str) -> Callable[[Repair], Repair]:
    """Register repair(service, now): it runs at the start and when the clock was set back, and makes due again what is
    further ahead than its own interval. Times that people chose stay."""

    def register(repair: Repair) -> Repair:
        _repairs[name] = repair
        return repair

    return register


@dataclass(frozen=True)
class ClockJump:
    """by: seconds that the clock was set ahead, negative for back. at: when that was seen, Unix seconds."""

    by: int
    at: int


class ClockWatch:
    """Watches the clock of one service; the scheduler's thread updates it, others read it. monotonic: seconds of the
    monotonic clock."""

    def __init__(self, service: Service, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._monotonic = monotonic
        self._ahead: float | None = None  # the wall clock minus the monotonic clock
        self._held_until = 0.0
        self._written_at = 0.0
        self.jump: ClockJump | None = None  # the last one, for as long as something is held because of it

    @property
    def holds(self) -> bool:
        """Whether nothing may be deleted because of its age."""
        return self._monotonic() < self._held_until

    def look(self, now: int, is_kept: bool = True) -> None:
        """See whether the clock was set since the last look. now: Unix seconds. is_kept: whether it is written down, as
        one process of all does."""
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
        kept = self._service.store.read(_kept)
        self._hold(min(int(kept.get("hold_seconds", 0)), HOLD_SECONDS))
        jump = kept.get("jump")
        self.jump = ClockJump(**jump) if self.holds and jump else None
        away = now - int(kept.get("seen_at", now))
        if away < -JUMP_SECONDS:
            self._jumped(now, away)
        elif away > JUMP_SECONDS:  # either it was off for so long or its clock is wrong now; there is no way to know
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
        self._service.store.write(lambda tx: tx.put(META, {"name": KEPT, "value": json.dumps(values)}))
        self._written_at = self._monotonic()


WATCH: StoreLocal[ClockWatch] = StoreLocal()


def of(service: Service) -> ClockWatch | None:
    """The watch of a service that runs; None where none does, such as in a command."""
    return WATCH.get(service.store)


def holds(service: Service) -> bool:
    """Whether nothing may be deleted because of its age just now."""
    watch = of(service)
    return watch is not None and watch.holds


def last_jump(service: Service) -> ClockJump | None:
    """The recent jump of the clock that suspends deletions; known to commands as well if the service runs in another
    process."""
    watch = of(service)
    if watch is not None:
        return watch.jump
    kept = service.store.read(_kept)
    return ClockJump(**kept["jump"]) if kept.get("jump") and kept.get("hold_seconds") else None


def _kept(tx: Transaction) -> dict[str, Any]:
    row = tx.first(META, name=KEPT)
    found = json.loads(row[1]) if row is not None else {}
    return found if isinstance(found, dict) else {}
