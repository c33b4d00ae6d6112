"""The buckets that a worker may put tickets into."""

from server.context import Context
from server.records import records
from server.records.records import LABEL, SearchRequest


def usable_buckets(ctx: Context, limit: int) -> list[tuple[int, str]]:
    """Returns (id, `Group / Bucket`) of each bucket that the caller may use, the buckets of their own groups first."""
    actor = ctx.actor
    readable = None if actor.is_admin else actor.reads_groups
    buckets = records.search(ctx, "bucket", SearchRequest("", limit, 1, f"{LABEL},group_"))["results"]
    usable = [
        (each["group_id"] not in actor.member_of, each["id"], f"{each.get('group__label') or ''} / {each[LABEL]}")
        for each in buckets
        if readable is None or each["group_id"] in readable
    ]
    usable.sort(key=lambda each: (each[0], each[2].lower()))
    return [(id, label) for _is_other, id, label in usable]
