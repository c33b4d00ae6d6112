"""Who may learn of a deleted record. Its rules can no longer be evaluated, so its owner at the time is stored.

Workers who may read all records of the type learn of it, and, if the record had a group or an owner, those who may read
the records of that group or owner. For records that follow a parent, only the former."""

from server.access.actor import APP, WORKER
from server.access.rules import GROUP, ROLE, Rules
from server.record_types.record_type import Record, RecordType
from server.search.conditions import ALWAYS

Owner = tuple[str, int]  # context and id
NOBODY: Owner = ("", 0)


def owner_of(record_type: RecordType, record: Record) -> Owner:
    """Returns the owner of a record if the owner alone decides who may read it, else NOBODY."""
    match record_type.access.read:
        case "group":
            return GROUP, record["group_id"]
        case "worker":
            return WORKER, record["worker_id"]
        case "owner":
            return record["owner__context"], record["owner_id"]
        case "macro owner":
            return record["available_context"] or APP, record["available_id"]
    return NOBODY


def may_know(rules: Rules, record_type: RecordType, owner: Owner) -> bool:
    """Returns whether the actor may learn of a deleted record of this owner."""
    if rules.readable(record_type) is ALWAYS:
        return True
    actor, (context, id) = rules.actor, owner
    if context == GROUP:
        return actor.reads_groups is None or id in actor.reads_groups
    if context == ROLE:
        return id in actor.reads_roles
    if context == WORKER:
        return id == actor.worker_id
    if context == APP:
        return True
    return context == "" and record_type.access.read == "owner" and record_type.ownerless_is_open
