"""Who looks at a ticket just now, and who is writing on it. Kept in memory: it says nothing about yesterday.

Browsers say that they are there from time to time; who says nothing for AWAY_SECONDS is gone. Source: ours."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from server.context import Context, Service
from server.store.store_local import StoreLocal

CHANNEL = "changes"  # of the streams that tell pages of changes of their record
AWAY_SECONDS = 45
MAX_TICKETS = 10_000  # those that nobody has looked at for longest go first
MAX_WORKERS = 50  # told on one ticket
DOING = ("viewing", "writing")


@dataclass(frozen=True, slots=True)
class Present:
    """Somebody on a ticket. doing: of DOING."""

    worker_id: int
    name: str
    doing: str
    until: int


class Presence:
    """Of one service. version rises with each change that others should see."""

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()
        self._on: OrderedDict[int, dict[int, Present]] = OrderedDict()

    def note(self, ticket_id: int, who: Present, now: int) -> bool:
        """Somebody is there; whether others see a difference."""
        with self._lock:
            there = self._on.setdefault(ticket_id, {})
            self._on.move_to_end(ticket_id)
            before = there.get(who.worker_id)
            there[who.worker_id] = who
            while len(self._on) > MAX_TICKETS:
                self._on.popitem(last=False)
            is_new = before is None or before.until <= now or before.doing != who.doing
            self.version += is_new
            return is_new

    def leave(self, ticket_id: int, worker_id: int) -> bool:
        """Somebody has left; whether they were there."""
        with self._lock:
            was_there = self._on.get(ticket_id, {}).pop(worker_id, None) is not None
            self.version += was_there
            return was_there

    def on(self, ticket_id: int, now: int) -> list[Present]:
        """Who is there, by name."""
        with self._lock:
            there = [each for each in self._on.get(ticket_id, {}).values() if each.until > now]
        return sorted(there, key=lambda each: each.name.lower())[:MAX_WORKERS]


_PRESENCE: StoreLocal[Presence] = StoreLocal()


def of(service: Service) -> Presence:
    return _PRESENCE.made(service.store, Presence)


def note(ctx: Context, ticket_id: int, doing: str) -> None:
    """The caller is on a ticket, which they may read: ask before. doing: of DOING, or "" when they leave."""
    presence, worker = of(ctx.service), ctx.actor
    if doing not in DOING:
        is_new = presence.leave(ticket_id, worker.worker_id)
    else:
        who = Present(worker.worker_id, worker.name, doing, ctx.now + AWAY_SECONDS)
        is_new = presence.note(ticket_id, who, ctx.now)
    if is_new:
        ctx.service.tell(CHANNEL)


def others(ctx: Context, ticket_id: int) -> list[Present]:
    """Who else is on a ticket."""
    return [each for each in of(ctx.service).on(ticket_id, ctx.now) if each.worker_id != ctx.actor.worker_id]
