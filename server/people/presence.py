"""The workers who are viewing a ticket or writing a reply or a note on it, held in memory only.

Browsers report from time to time; a worker without a report for AWAY_SECONDS is gone. If several processes serve a
database, each announces its reports to the others; a process that starts later receives the next ones."""

import threading
from collections import OrderedDict
from dataclasses import replace

from server import clock
from server.access import actor
from server.context import Context, Service
from server.dataclass import dataclass
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction

CHANNEL = "changes"  # channel of the streams that notify pages of changes to their record
AWAY_SECONDS = 45
HERE = "here"  # announced to other processes: ticket, worker, act
AGAIN_SECONDS = AWAY_SECONDS // 3  # interval of announcements of a worker who stays
MAX_TICKETS = 10_000  # the tickets viewed least recently are dropped first
MAX_WORKERS = 50  # people displayed on one ticket
DOING = ("viewing", "writing", "noting")  # writing: a reply
GONE = "left"


@dataclass(frozen=True, slots=True)
class Present:
    """A worker on a ticket. doing: of DOING. announced_at: the last announcement to other processes, Unix seconds."""

    worker_id: int
    name: str
    doing: str
    until: int
    announced_at: int = 0


class Presence:
    """The presence of workers in one service. version: rises with each change that others should see."""

    def __init__(self) -> None:
        self.version = 0
        self._changed_at: OrderedDict[int, int] = OrderedDict()  # {ticket: the version of its last change}
        self._lock = threading.Lock()
        self._on: OrderedDict[int, dict[int, Present]] = OrderedDict()

    def note(self, ticket_id: int, who: Present, now: int) -> bool:
        """Records a report. Returns whether others see a difference."""
        with self._lock:
            there = self._on.setdefault(ticket_id, {})
            self._on.move_to_end(ticket_id)
            before = there.get(who.worker_id)
            if before is not None and not who.announced_at:
                who = replace(who, announced_at=before.announced_at)
            there[who.worker_id] = who
            while len(self._on) > MAX_TICKETS:
                self._on.popitem(last=False)
            is_new = before is None or before.until <= now or before.doing != who.doing
            if is_new:
                self._change(ticket_id)
            return is_new

    def leave(self, ticket_id: int, worker_id: int) -> bool:
        """Removes a worker from a ticket. Returns whether they were on it."""
        with self._lock:
            was_there = self._on.get(ticket_id, {}).pop(worker_id, None) is not None
            if was_there:
                self._change(ticket_id)
            return was_there

    def _change(self, ticket_id: int) -> None:
        self.version += 1
        self._changed_at[ticket_id] = self.version
        self._changed_at.move_to_end(ticket_id)
        while len(self._changed_at) > MAX_TICKETS:
            self._changed_at.popitem(last=False)

    def changed_at(self, ticket_id: int) -> int:
        """Returns the version of the last change on a ticket, 0 if it is not known."""
        return self._changed_at.get(ticket_id, 0)

    def must_be_announced(self, ticket_id: int, worker_id: int, now: int) -> bool:
        """Whether to announce a worker to other processes; a call counts as an announcement."""
        with self._lock:
            there = self._on.get(ticket_id, {})
            who = there.get(worker_id)
            if who is None or who.announced_at + AGAIN_SECONDS > now:
                return False
            there[worker_id] = replace(who, announced_at=now)
            return True

    def on(self, ticket_id: int, now: int) -> list[Present]:
        """Returns the people on a ticket, sorted by name."""
        with self._lock:
            there = [each for each in self._on.get(ticket_id, {}).values() if each.until > now]
        return sorted(there, key=lambda each: each.name.lower())[:MAX_WORKERS]


_PRESENCE: StoreLocal[Presence] = StoreLocal()


def instance(service: Service) -> Presence:
    return _PRESENCE.made(service.store, Presence)


def note(ctx: Context, ticket_id: int, doing: str) -> None:
    """Records that the caller is on a ticket, which the caller of this function has checked they may read. doing: of
    DOING, or "" when they leave."""
    presence, worker = instance(ctx.service), ctx.actor
    if doing not in DOING:
        is_new = is_announced = presence.leave(ticket_id, worker.worker_id)
    else:
        who = Present(worker.worker_id, worker.name, doing, ctx.now + AWAY_SECONDS)
        is_new = presence.note(ticket_id, who, ctx.now)
        is_announced = presence.must_be_announced(ticket_id, worker.worker_id, ctx.now) or is_new
    if is_new:
        ctx.service.notify_followers(CHANNEL)
    if is_announced:
        ctx.service.announce(HERE, f"{ticket_id} {worker.worker_id} {doing if doing in DOING else GONE}")


def hear(service: Service, text: str) -> None:
    """Records the report of another process. Names are read when they are requested."""
    if not text:  # announcements may have been lost; the next ones include them
        return
    ticket_id, worker_id, doing = text.split(" ")
    presence, now = instance(service), clock.now()
    if doing == GONE:
        is_new = presence.leave(int(ticket_id), int(worker_id))
    else:
        who = Present(int(worker_id), "", doing, now + AWAY_SECONDS, now)
        is_new = presence.note(int(ticket_id), who, now)
    if is_new:
        service.notify_followers(CHANNEL)


def others(ctx: Context, ticket_id: int) -> list[Present]:
    """Returns the other people on a ticket."""
    there = [each for each in instance(ctx.service).on(ticket_id, ctx.now) if each.worker_id != ctx.actor.worker_id]
    if all(each.name for each in there):
        return there
    return sorted(ctx.service.store.read(lambda tx: _named(tx, there)), key=lambda each: each.name.lower())


def _named(tx: Transaction, there: list[Present]) -> list[Present]:
    """Adds the names of people whom another process reported, and leaves out deleted workers."""
    pairs = [(each, None if each.name else actor.worker(tx, each.worker_id)) for each in there]
    return [replace(each, name=who.name) if who is not None else each for each, who in pairs if each.name or who]
