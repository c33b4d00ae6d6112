"""The place of a ticket: its group and bucket, and whether its owner is a member."""

from server.contexts import WORKER
from server.errors import Conflict, Invalid, Required
from server.record_types.parts import Change, Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.translation import N_, lazy_gettext


def resolve(change: Change, writing: Writing) -> None:
    """Matches group and bucket: resolves names to ids; a bucket determines the group, a group alone its default bucket.
    A new ticket of the service without a group goes to the default group.

    Raises Invalid for unknown names and ids."""
    _read_names(change, writing)
    new = change.new
    if new.get("bucket_id"):
        bucket = writing.record("bucket", new["bucket_id"])
        if bucket is None:
            raise Invalid(f"bucket_id: there is no bucket {new['bucket_id']}", field="bucket_id")
        new["group_id"] = bucket["group_id"]
        return
    if change.is_create and not new.get("group_id") and not change.sent:
        new["group_id"] = _default_group(writing)
    if "group_id" in new and (change.is_create or change.changes("group_id")):
        new["bucket_id"] = default_bucket(writing, new["group_id"])


def default_bucket(writing: Writing, group_id: int) -> int:
    """Returns the bucket that new tickets of a group go to, 0 for a group without buckets."""
    bucket = writing.find("bucket", group_id=group_id, is_default=1) or writing.find("bucket", group_id=group_id)
    return int(bucket["id"]) if bucket else 0


def check_owner(change: Change, writing: Writing) -> None:
    """Raises Invalid if a worker assigns a new ticket to a worker outside its group."""
    if not change.is_create or "owner_id" not in change.sent or writing.actor.context != WORKER:
        return
    owner_id, group_id = change.value("owner_id"), change.value("group_id")
    if owner_id and not writing.tx.first(GROUP_MEMBER, group_id=group_id, worker_id=owner_id):
        worker, group = writing.label("worker", owner_id), writing.label("group", group_id)
        raise Invalid(
            f"owner_id: worker {owner_id} '{worker}' is not a member of group {group_id} '{group}'; "
            f"choose a member or another group",
            field="owner_id",
        )


def _read_names(change: Change, writing: Writing) -> None:
    new, extras = change.new, change.extras
    if "group" in extras and "group_id" not in new:
        group = writing.find("group", name=extras["group"])
        if group is None:
            raise Invalid(f"group: there is no group '{extras['group'][:80]}'", field="group")
        new["group_id"] = group["id"]
    if "bucket" in extras and "bucket_id" not in new:
        if "group_id" not in new:
            raise Required(
                lazy_gettext(
                    "{field} is required: {what}",
                    field="group",
                    what=N_("several groups have a bucket with that name; send group or group_id"),
                ),
                field="group",
            )
        bucket = writing.find("bucket", group_id=new["group_id"], name=extras["bucket"])
        if bucket is None:
            raise Invalid(f"bucket: group {new['group_id']} has no bucket '{extras['bucket'][:80]}'", field="bucket")
        new["bucket_id"] = bucket["id"]


def _default_group(writing: Writing) -> int:
    group = writing.find("group", is_default=1)
    if group is None:
        raise Conflict("there is no default group; make one group the default first")
    return int(group["id"])
