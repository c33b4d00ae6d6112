"""Who looks at a ticket just now, and who is writing on it. Kept in memory: it says nothing about yesterday.

Browsers say that they are there from time to time; who says nothing for AWAY_SECONDS is gone. Where several processes
serve a database, each lets the others hear of it; one that begins later hears with the next sign."""

import threading
from collections import OrderedDict
from dataclasses import replace

from server import clock
from server.access import actor
from server.context import Context, Service
from server.dataclass import dataclass
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction

CHANNEL = "changes"  # of streams that notify pages of changes to their record
AWAY_SECONDS = 45
HERE = "here"  # announced to other processes: ticket, worker, act
AGAIN_SECONDS = AWAY_SECONDS // 3  # until somebody who is still there is announced again
MAX_TICKETS = 10_000  # the ones viewed least recently are dropped first
MAX_WORKERS = 50  # people shown on one ticket
DOING = ("viewing", "writing")
GONE = "left"


@dataclass(frozen=True, slots=True)
class Present:
    """Somebody on a ticket. doing: of DOING. told_at: when other processes heard of it, Unix seconds."""

    worker_id: int
    name: str
    doing: str
    until: int
    told_at: int = 0


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
            there[who.worker_id] = who if who.told_at or before is None else replace(who, told_at=before.told_at)
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

    def must_be_told(self, ticket_id: int, worker_id: int, now: int) -> bool:
        """Whether to announce somebody to other processes; calling it counts as announcing."""
        with self._lock:
            there = self._on.get(ticket_id, {})
            who = there.get(worker_id)
            if who is None or who.told_at + AGAIN_SECONDS > now:
                return False
            there[worker_id] = replace(who, told_at=now)
            return True

    def on(self, ticket_id: int, now: int) -> list[Present]:
        """The people on a ticket, by name."""
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
        is_new = is_told = presence.leave(ticket_id, worker.worker_id)
    else:
        who = Present(worker.worker_id, worker.name, doing, ctx.now + AWAY_SECONDS)
        is_new = presence.note(ticket_id, who, ctx.now)
        is_told = presence.must_be_told(ticket_id, worker.worker_id, ctx.now) or is_new
    if is_new:
        ctx.service.notify_followers(CHANNEL)
    if is_told:
        ctx.service.announce(HERE, f"{ticket_id} {worker.worker_id} {doing if doing in DOING else GONE}")


def hear(service: Service, text: str) -> None:
    """Another process reports somebody, whom `note` announced there. Names are looked up when they are requested."""
    if not text:  # some may have been missed; the next announcements include them
        return
    ticket_id, worker_id, doing = text.split(" ")
    presence, now = of(service), clock.now()
    if doing == GONE:
        is_new = presence.leave(int(ticket_id), int(worker_id))
    else:
        who = Present(int(worker_id), "", doing, now + AWAY_SECONDS, now)
        is_new = presence.note(int(ticket_id), who, now)
    if is_new:
        service.notify_followers(CHANNEL)


def others(ctx: Context, ticket_id: int) -> list[Present]:
    """Who else is on a ticket."""
    there = [each for each in of(ctx.service).on(ticket_id, ctx.now) if each.worker_id != ctx.actor.worker_id]
    if all(each.name for each in there):
        return there
    return sorted(ctx.service.store.read(lambda tx: _named(tx, there)), key=lambda each: each.name.lower())


def _named(tx: Transaction, there: list[Present]) -> list[Present]:
    """Adds the names of people whom another process reported, and leaves out workers who are gone."""
    found = [(each, None if each.name else actor.worker(tx, each.worker_id)) for each in there]
    return [replace(each, name=who.name) if who is not None else each for each, who in found if each.name or who]
