"""Who may know of a record that is gone. Nothing can be asked of it any more, so whose it was is kept.

Told are those who may read every record of the type; and, where the record had a group or an owner of its own, those
who may read what is theirs. Of what hung on another record only the first."""

from server.access.actor import APP, WORKER
from server.access.rules import GROUP, ROLE, Rules
from server.record_types.base import Record, RecordType
from server.search.conditions import ALWAYS

Owner = tuple[str, int]  # context and id
NOBODY: Owner = ("", 0)


def owner_of(record_type: RecordType, record: Record) -> Owner:
    """Whose a record is, where that alone decides who reads it."""
    match record_type.access.read:
        case "group":
            return GROUP, record["group_id"]
        case "worker":
            return WORKER, record["worker_id"]
        case "owner":
            return record["owner__context"], record["owner_id"]
    return NOBODY


def may_know(rules: Rules, record_type: RecordType, owner: Owner) -> bool:
    """Whether the actor may know of a record that was this owner's."""
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
