"""The report of searches without results, for administrators and managers of groups."""

from server.context import Context
from server.dataclass import dataclass
from server.errors import Forbidden
from server.help_center.visit_counts import DAY_SECONDS, MissedSearch, missed_searches
from server.translation import _


@dataclass(frozen=True, slots=True)
class MissedWords:
    """Words without results in a range of days. count: number of searches. days: number of days with such a search.
    last: first second of the latest of these days, in UTC."""

    words: str
    language: str
    brand_id: int
    count: int
    days: int
    last: int


def may_see_missed(ctx: Context) -> bool:
    """Returns whether the caller may see the report."""
    return ctx.actor.is_admin or bool(ctx.actor.manages)


def missed_by_day(ctx: Context, days: int) -> list[MissedSearch]:
    """Returns the searches without results in the last days, the latest first. Raises Forbidden for workers who manage
    no group."""
    if not may_see_missed(ctx):
        raise Forbidden(_("only administrators and managers of groups can see reports"))
    return missed_searches(ctx, ctx.now - (days - 1) * DAY_SECONDS)


def missed_words(ctx: Context, days: int) -> list[MissedWords]:
    """Returns the same searches grouped by words, the most frequent first. Raises Forbidden."""
    sums: dict[tuple[str, str, int], MissedWords] = {}
    for each in missed_by_day(ctx, days):
        key = each.words, each.language, each.brand_id
        before = sums.get(key, MissedWords(*key, 0, 0, 0))
        sums[key] = MissedWords(*key, before.count + each.count, before.days + 1, max(before.last, each.day))
    return sorted(sums.values(), key=lambda each: (-each.count, -each.last, each.words))
