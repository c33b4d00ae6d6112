"""The buckets that a worker may put tickets into."""

from server.context import Context
from server.records import records
from server.records.records import LABEL


def usable_buckets(ctx: Context, limit: int, text: str = "") -> tuple[list[tuple[int, str]], int]:
    """Returns (id, `Group / Bucket`) of each bucket that the caller may use, the buckets of their own groups first, and
    the number of all. text: words that each label contains."""
    actor = ctx.actor
    readable = None if actor.is_admin else actor.reads_groups
    if readable is not None and not readable:
        return [], 0
    q = f"group.id:[{','.join(map(str, sorted(readable)))}]" if readable else ""
    page = records.search_names(ctx, "bucket", text.replace("/", " "), limit, q, "group")
    usable = [
        (each["group_id"] not in actor.member_of, each["id"], f"{each.get('group__label') or ''} / {each[LABEL]}")
        for each in page["results"]
    ]
    usable.sort(key=lambda each: (each[0], each[2].lower()))
    return [(id, label) for _is_other, id, label in usable], page["total"]
