"""Absent workers and their stand-ins. records/activity.py decides who is notified."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.errors import Invalid
from server.record_types.parts import Change, Record, Writing
from server.search.ast import SearchValue
from server.search.conditions import Condition
from server.search.filters import FlagFilter
from server.search.filters.filter import is_null
from server.search.values import boolean
from server.translation import N_, about_field, lazy_gettext

if TYPE_CHECKING:
    from server.search.compile import SearchScope

FIELDS = ("away_from", "away_until", "away_stand_in_id")
MAX_CHAIN = 20  # length of a chain of stand-ins

Find = Callable[[int], Record | None]


def is_away(worker: Record, now: int) -> bool:
    """Whether a worker is away at this second. An empty start or end is unlimited; if both are empty, the worker is not
    away."""
    first, last = worker["away_from"], worker["away_until"]
    return bool(first or last) and first <= now and (not last or now < last)


def stand_in(find: Find, worker_id: int, now: int) -> int:
    """The id of the stand-in of an absent worker, or of the stand-in's stand-in if both are away. 0 if the worker is
    not away, and if a stand-in is missing, disabled, away without one, or part of a circle.

    find: returns the record of a worker by id, None if there is none."""
    visited, worker = {worker_id}, find(worker_id)
    while worker is not None and is_away(worker, now):
        id = int(worker["away_stand_in_id"])
        if not id or id in visited or len(visited) > MAX_CHAIN:
            return 0
        visited.add(id)
        worker = find(id)
    return 0 if worker is None or worker["is_disabled"] or worker["id"] == worker_id else int(worker["id"])


def check(change: Change, writing: Writing) -> None:
    """Raises Invalid if the absence ends before it begins, or the stand-in is not possible. Called before a worker is
    written."""
    first, last = change.value("away_from"), change.value("away_until")
    if first and last and last <= first and (change.changes("away_from") or change.changes("away_until")):
        raise Invalid(
            about_field("away_until", lazy_gettext("must be later than {field}", field="away_from")), field="away_until"
        )
    id = change.value("away_stand_in_id")
    if not id or not change.changes("away_stand_in_id"):
        return
    if id == change.id:
        raise Invalid(
            about_field("away_stand_in_id", N_("nobody stands in for themselves; choose somebody else")),
            field="away_stand_in_id",
        )
    chosen = writing.record("worker", id)
    if chosen is not None and chosen["is_disabled"]:
        raise Invalid(
            about_field("away_stand_in_id", N_("that worker is deactivated; choose somebody else")),
            field="away_stand_in_id",
        )


class AwayFilter(FlagFilter):
    """Whether a worker is away at the time of the search."""

    def __init__(self, name: str, note: str) -> None:
        super().__init__(name, note, "away_from", sortable=False)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        is_wanted = not is_null(text) and boolean(text.value)
        table: Any = self.table.sql

        def build(at: Any) -> Any:
            is_set = (table.away_from > 0) | (table.away_until > 0)
            is_away = is_set & (table.away_from <= at(0)) & ((table.away_until == 0) | (table.away_until > at(1)))
            return is_away if is_wanted else ~is_away

        return Condition(("away", is_wanted), (scope.now, scope.now), build)
