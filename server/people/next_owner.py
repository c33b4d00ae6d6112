"""Automatic assignment: who gets the next ticket of a group, and why others are skipped.

Counts of open tickets come from the summary that triggers maintain, so no ticket is read. Choose and write in one
transaction: writes take turns, so no worker gets more tickets than they may have."""

import json
from dataclasses import field
from datetime import UTC
from typing import Any

import peewee

from server.dataclass import dataclass
from server.record_types.calendars.availability import Ranges, covers, free, midnight
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.calendars.times_of_day import DAY_SECONDS
from server.record_types.parts import Record
from server.record_types.shared.absence import is_away
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.store.statements import in_list, slot
from server.store.store_local import VersionedLocal
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Row, Transaction
from server.times import zone
from server.translation import N_

OFF, ROUND_ROBIN, FEWEST_OPEN = "off", "round_robin", "fewest_open"
WAYS = {OFF: N_("off"), ROUND_ROBIN: N_("round robin"), FEWEST_OPEN: N_("fewest open tickets")}
ANYBODY, TODAY, ACTIVE = "anybody", "today", "active"
PRESENCES = (ANYBODY, TODAY, ACTIVE)
ACTIVE_SECONDS = 900  # since the last use of the console or the API
MAX_OPEN = 100_000  # tickets
AWAY, MANAGER, NOT_TODAY, NOT_ACTIVE, FULL, FULL_IN_GROUP = (
    "away",
    "manager",
    "not_today",
    "not_active",
    "full",
    "full_in_group",
)
HOURS_VERSION = "service_targets"  # rises with every change of a calendar
BEHIND_DAYS, AHEAD_DAYS = 1, 21  # the loaded range of calendars around today
RENEW_DAYS = 7  # the loaded range is renewed after this time
_OPEN = 0  # status of tickets

ASSIGN_TURN = Table(
    "assign_turn", [Column("group_id"), Column("worker_id"), Column("turn")], key=("group_id", "worker_id")
)  # turn: rises with each ticket of the group that is assigned automatically

ASSIGN_QUEUE = Table(
    "assign_queue",
    [Column("ticket_id", references="ticket(id)"), Column("group_id"), Column("way", "TEXT"), Column("since")],
    [Index(("group_id", "since", "ticket_id"), "the tickets of a group that wait for an owner")],
    key=("ticket_id",),
)  # way: "" for that of the group. A row is stale when its ticket has an owner, is not open or has moved

# Saves reading and expanding the events of a calendar for each ticket.
_HOURS: VersionedLocal[dict[int, tuple[int, Ranges | None]]] = VersionedLocal()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of a group. open, open_in_group: their open tickets, in all groups and in this one. turn: of their last
    ticket, 0 for none. skipped: why they get no ticket, "" if they may get one. until: the end of an absence, Unix
    seconds."""

    worker_id: int
    name: str
    open: int
    open_in_group: int
    max_open: int
    turn: int
    skipped: str
    until: int = 0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What happens to the next ticket of a group. candidates: its members, the next one first. begins_at: when the
    hours of the group begin, 0 if they have begun or it has none, None if they do not begin soon. waiting: tickets that
    wait for an owner. unowned: further open tickets without one."""

    way: str
    candidates: list[Candidate] = field(default_factory=list)
    begins_at: int | None = 0
    waiting: int = 0
    unowned: int = 0

    @property
    def next(self) -> Candidate | None:
        """The member who gets the next ticket, None for nobody."""
        return None if self.begins_at != 0 or self.way == OFF else first(self.candidates)


def outlook(tx: Transaction, now: int, group: Record) -> Outlook:
    """Returns what happens to the next ticket of a group."""
    way = group["assign_way"]
    if way == OFF:
        return Outlook(OFF)
    waiting = _waiting(tx, group["id"])
    unowned = max(_unowned(tx, group["id"]) - waiting, 0)
    return Outlook(way, candidates(tx, now, group, way), hours_begin(tx, now, group), waiting, unowned)


def choose(tx: Transaction, now: int, group: Record, way: str, without: int = 0) -> Candidate | None:
    """Returns the member who gets a ticket now, None for nobody. without: the id of a member who does not get it."""
    if hours_begin(tx, now, group) != 0:
        return None
    return first([each for each in candidates(tx, now, group, way) if each.worker_id != without])


def first(ordered: list[Candidate]) -> Candidate | None:
    """Returns the first candidate who may get a ticket."""
    return next((each for each in ordered if not each.skipped), None)


def candidates(tx: Transaction, now: int, group: Record, way: str) -> list[Candidate]:
    """Returns the members of a group, in the order in which they get tickets."""
    rows = tx.rows(_select_members, (group["id"],))
    counts = _open_tickets(tx, [{"id": row[0]} for row in rows])
    members = [_candidate(now, group, row, counts.get(row[0], {})) for row in rows]

    def order(each: Candidate) -> tuple[int, int, int]:
        return (each.open if way == FEWEST_OPEN else 0), each.turn, each.worker_id

    return sorted(members, key=order)


def take_turn(tx: Transaction, group_id: int, worker_id: int) -> None:
    """Records that a worker got a ticket of a group."""
    turn = ASSIGN_TURN.sql
    last = tx.value(lambda: turn.select(peewee.fn.MAX(turn.turn)).where(turn.group_id == slot(0)), (group_id,))
    tx.put(ASSIGN_TURN, {"group_id": group_id, "worker_id": worker_id, "turn": int(last or 0) + 1})


def hours_begin(tx: Transaction, now: int, group: Record) -> int | None:
    """Returns when the hours of a group begin: 0 if they have begun or it has none, None if they do not begin soon."""
    ranges = _hours(tx, now, group["assign_calendar_id"]) if group["assign_calendar_id"] else None
    if ranges is None or covers(ranges, now, now + 1):
        return 0
    return next((start for start, _ in ranges if start > now), None)


# -- steps -------------------------------------------------------------------------------------------------------------

_OF_WORKER = (
    "first_name",
    "last_name",
    "away_from",
    "away_until",
    "last_activity_at",
    "timezone",
    "assign_max_open",
)


def _select_members() -> Any:
    """Builds the select of (worker id, is_manager, turn, *_OF_WORKER) of the members of a group who can sign in."""
    member, turn, worker = GROUP_MEMBER.sql, ASSIGN_TURN.sql, table_named("worker")
    is_theirs = (turn.group_id == member.group_id) & (turn.worker_id == member.worker_id)
    of_worker = (getattr(worker.c, name) for name in _OF_WORKER)
    return (
        member.select(member.worker_id, member.is_manager, turn.turn, *of_worker)
        .join(worker, on=(worker.c.id == member.worker_id))
        .join(turn, peewee.JOIN.LEFT_OUTER, on=is_theirs)
        .where(member.group_id == slot(0), worker.c.is_disabled == 0)
    )


def _open_tickets(tx: Transaction, workers: list[Any]) -> dict[int, dict[int, int]]:
    """Returns {worker id: {group id: open tickets}}."""
    summary = table_named("ticket_summary")
    rows = tx.rows(
        lambda: (
            summary.select(summary.c.owner_id, summary.c.group_id, peewee.fn.SUM(summary.c.n))
            .where(in_list(summary.c.owner_id, slot(0)), summary.c.status_id == _OPEN)
            .group_by(summary.c.owner_id, summary.c.group_id)
        ),
        (ids_text(workers),),
    )
    counts: dict[int, dict[int, int]] = {}
    for owner_id, group_id, number in rows:
        counts.setdefault(owner_id, {})[group_id] = int(number)
    return counts


def _candidate(now: int, group: Record, row: Row, counts: dict[int, int]) -> Candidate:
    worker_id, is_manager, turn = row[:3]
    worker = dict(zip(_OF_WORKER, row[3:], strict=True))
    number, in_group = sum(counts.values()), counts.get(group["id"], 0)
    skipped, until = "", 0
    if is_away(worker, now):
        skipped, until = AWAY, worker["away_until"]
    elif is_manager and not group["assign_managers"]:
        skipped = MANAGER
    elif not _is_present(worker, group["assign_presence"], now):
        skipped = NOT_TODAY if group["assign_presence"] == TODAY else NOT_ACTIVE
    elif 0 < worker["assign_max_open"] <= number:
        skipped = FULL
    elif 0 < group["assign_max_open"] <= in_group:
        skipped = FULL_IN_GROUP
    name = f"{worker['first_name']} {worker['last_name']}".strip()
    max_open = group["assign_max_open"] if skipped == FULL_IN_GROUP else worker["assign_max_open"]
    return Candidate(worker_id, name, number, in_group, max_open, turn or 0, skipped, until)


def _is_present(worker: Record, presence: str, now: int) -> bool:
    if presence == ANYBODY:
        return True
    since = now - ACTIVE_SECONDS if presence == ACTIVE else midnight(now, zone(worker["timezone"] or "UTC"))
    return bool(worker["last_activity_at"] >= since)


def _hours(tx: Transaction, now: int, calendar_id: int) -> Ranges | None:
    """Returns the available time of a calendar around today; None if there is no such calendar."""
    version = tx.version(HOURS_VERSION)
    known = _HOURS.get(tx.store, version) or {}
    loaded_at, ranges = known.get(calendar_id, (0, None))
    if -BEHIND_DAYS * DAY_SECONDS < now - loaded_at < RENEW_DAYS * DAY_SECONDS:
        return ranges
    calendar = _calendar(tx, calendar_id)
    if calendar is not None:
        since, until = now - BEHIND_DAYS * DAY_SECONDS, now + AHEAD_DAYS * DAY_SECONDS
        ranges = free(occurrences(tx, [calendar], since, until, UTC)[calendar_id])
    loaded = {**known, calendar_id: (now, ranges)}
    if tx.can_write:  # a rollback would free this version number for other data
        tx.after_commit(lambda: _HOURS.set(tx.store, version, loaded))
    else:
        _HOURS.set(tx.store, version, loaded)
    return ranges


def _calendar(tx: Transaction, id: int) -> Record | None:
    calendar = table_named("calendar")
    row = tx.row(lambda: calendar.select(calendar.c.timezone, calendar.c.params).where(calendar.c.id == slot(0)), (id,))
    return None if row is None else {"id": id, "timezone": row[0], "params": json.loads(row[1] or "{}")}


def _waiting(tx: Transaction, group_id: int) -> int:
    """Returns the number of tickets of a group that wait for an owner."""
    queue, ticket = ASSIGN_QUEUE.sql, table_named("ticket")
    return int(
        tx.value(
            lambda: (
                queue.select(peewee.fn.COUNT(queue.ticket_id))
                .join(ticket, on=(ticket.c.id == queue.ticket_id))
                .where(
                    queue.group_id == slot(0),
                    ticket.c.group_id == queue.group_id,
                    ticket.c.owner_id == 0,
                    ticket.c.status_id == _OPEN,
                )
            ),
            (group_id,),
        )
        or 0
    )


def _unowned(tx: Transaction, group_id: int) -> int:
    """Returns the number of open tickets of a group without an owner."""
    summary = table_named("ticket_summary")
    return int(
        tx.value(
            lambda: summary.select(peewee.fn.SUM(summary.c.n)).where(
                summary.c.group_id == slot(0), summary.c.owner_id == 0, summary.c.status_id == _OPEN
            ),
            (group_id,),
        )
        or 0
    )
