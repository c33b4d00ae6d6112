"""Assigns tickets by the way of their group when they arrive, move to the group or are reopened.

people/next_owner.py chooses the worker; assign_queue.py assigns the tickets that have to wait."""

from server import contexts
from server.people import next_owner
from server.people.next_owner import ASSIGN_QUEUE, OFF, WAYS
from server.record_types.parts import Change, Writing
from server.record_types.shared.absence import is_away
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.tickets.types.ticket_parts.spam_verdict import LIKELY_SPAM, SPAM
from server.tickets.types.ticket_parts.status import CLOSED, OPEN, WAITING

FIELD = "assign"  # the field of tickets
GROUP, NOBODY = "group", "nobody"
CHOICES = ("", GROUP, *(way for way in WAYS if way != OFF), NOBODY)  # values of the field
ASSIGNED, QUEUED = "assigned_way", "queued_way"  # keys of change.extras: the way by which it was or will be assigned


def apply(change: Change, writing: Writing) -> None:
    """Chooses the owner of an open ticket that arrives without one, moves to another group, or is reopened; also if
    the field `assign` asks for it. Call it after status.apply.

    A move keeps an owner who is a member of the new group; a reopened ticket keeps one who is not away."""
    wanted = change.extras.get(FIELD, "")
    if ASSIGNED in change.extras or wanted == NOBODY or not (wanted or _may_be_due(change, writing)):
        return
    way = _way(change, writing)
    if way == OFF or _keeps_owner(change, writing, is_wanted=bool(wanted)):
        return
    group = writing.record("group", change.value("group_id"))
    assert group is not None
    tx, before = writing.tx, int(change.was("owner_id"))
    is_behind = not wanted and bool(tx.some(ASSIGN_QUEUE, 1, group_id=group["id"]))
    candidate = None if is_behind else next_owner.choose(tx, writing.now, group, way, without=before)
    change.new["owner_id"] = candidate.worker_id if candidate else 0
    change.extras[ASSIGNED if candidate else QUEUED] = way
    if is_behind:
        writing.wake()


def follow(change: Change, writing: Writing) -> None:
    """Records the turn of the chosen owner, or puts the ticket into the queue of its group. Call it after the ticket is
    written."""
    if ASSIGNED in change.extras:
        next_owner.take_turn(writing.tx, change.value("group_id"), change.value("owner_id"))
    elif QUEUED in change.extras:
        way = change.extras[QUEUED] if change.extras.get(FIELD, GROUP) != GROUP else ""
        row = {"ticket_id": change.id, "group_id": change.value("group_id"), "way": way, "since": writing.now}
        writing.tx.put(ASSIGN_QUEUE, row)
    elif change.extras.get(FIELD) == NOBODY and not change.is_create:
        writing.tx.delete(ASSIGN_QUEUE, ticket_id=change.id)


def log_owner(change: Change, writing: Writing, target: str) -> None:
    """Logs the new owner of a ticket, or that it has none any more."""
    owner_id, variables = change.value("owner_id"), {"target": target}
    if not owner_id:
        if QUEUED in change.extras:
            variables["before"] = writing.label("worker", change.was("owner_id"))
        writing.log("ticket.owner.unassigned", contexts.TICKET, change.id, variables)
        return
    variables["worker"] = writing.label("worker", owner_id)
    if ASSIGNED in change.extras:
        variables["way"] = WAYS[change.extras[ASSIGNED]]
    urls = {"worker": f"ctx://{contexts.WORKER}:{owner_id}"}
    writing.log("ticket.owner.assigned", contexts.TICKET, change.id, variables, urls=urls)


def _may_be_due(change: Change, writing: Writing) -> bool:
    """Whether the change may need an owner. Reads nothing, since every change of a ticket is checked."""
    if change.value("status_id") != OPEN or change.value("spam_training") == SPAM:
        return False
    if change.is_create:
        return not change.value("owner_id") and bool(change.value("spam_score") < LIKELY_SPAM)
    if "owner_id" in change.new:
        return False
    return change.changes("group_id") or _is_reopened(change, writing)


def _is_reopened(change: Change, writing: Writing) -> bool:
    """Whether a customer's message, its date or an automation reopens the ticket; a worker who does it may have
    reasons."""
    return change.was("status_id") in (WAITING, CLOSED) and writing.actor.context != contexts.WORKER


def _way(change: Change, writing: Writing) -> str:
    """Returns the way of the group, or the one that the field `assign` asks for. Reads one column, since most groups
    have none."""
    wanted, table = change.extras.get(FIELD, ""), writing.registry.type("group").table
    row = writing.tx.get(table, change.value("group_id"))
    if row is None or wanted in WAYS:
        return OFF if row is None else str(wanted)
    way = str(row[table.position["assign_way"]])
    return next_owner.ROUND_ROBIN if wanted and way == OFF else way


def _keeps_owner(change: Change, writing: Writing, *, is_wanted: bool) -> bool:
    owner_id = change.value("owner_id")
    if not owner_id:
        return False
    if is_wanted or change.changes("group_id"):
        member = writing.tx.first(GROUP_MEMBER, group_id=change.value("group_id"), worker_id=owner_id)
        if member is None:
            return False
        if change.changes("group_id") and not is_wanted:
            return True
    owner = writing.record("worker", owner_id)
    return owner is not None and not owner["is_disabled"] and not is_away(owner, writing.now)
