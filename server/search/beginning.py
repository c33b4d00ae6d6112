"""Where a search begins that looks into other tables: with what finds fewer.

A filter such as `messages:(...)` is a list of the ids of all that it finds, made before anything else is looked at.
Where the other filters find fewer records than it has hits, each of these is asked whether it has one. A database that
keeps statistics decides that itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import peewee

from server.errors import TimedOut
from server.search.conditions import At, Condition, all_of, slots_from
from server.store.shapes import keyed

if TYPE_CHECKING:
    from server.records.base import RecordType
    from server.search.compile import SearchScope

FEW = 200  # hits of which a list is made at once
MAX_ASKED = 50_000  # records that are asked one after the other
HITS_A_RECORD = 1.5  # at least, for that to be less work
STEPS = 250_000  # of SQLite that finding out may take: some milliseconds


def begun_by_fewer(record_type: "RecordType", condition: Condition, scope: "SearchScope") -> Condition:
    """The condition, with its lists turned where others find fewer. The same records answer it."""
    tx = scope.tx
    if all(each.turned is None for each in condition.parts) or tx.can_write or tx.store.keeps_statistics:
        return condition
    parts = list(condition.parts)
    for place, each in enumerate(parts):
        if each.turned is not None and _are_fewer(record_type, all_of(parts[:place] + parts[place + 1 :]), each, scope):
            parts[place] = replace(each, key=("turned", each.key), build=each.turned.build, turned=None)
    return all_of(parts)


def _are_fewer(record_type: "RecordType", others: Condition, listed: Condition, scope: "SearchScope") -> bool:
    """Whether `others` find fewer records than the list has hits."""
    assert listed.turned is not None
    if not _reaches(listed.key, listed.turned.others, listed.values, FEW, scope):
        return False
    scope.tx.store.require_thread()
    table = record_type.table.sql

    def found(at: At) -> Any:
        return table.select(table.id).where(others.build(at))

    records = _counted(others.key, found, others.values, MAX_ASKED, scope)
    if records is None or records >= MAX_ASKED:
        return False
    return _reaches(listed.key, listed.turned.others, listed.values, int(records * HITS_A_RECORD) + 1, scope)


def _reaches(key: Any, found: Callable[[At], Any], values: tuple[Any, ...], bound: int, scope: "SearchScope") -> bool:
    """Whether a select finds so many; False as well when it takes too long to find out."""
    return _counted(key, found, values, bound, scope) == bound


def _counted(
    key: Any, found: Callable[[At], Any], values: tuple[Any, ...], bound: int, scope: "SearchScope"
) -> int | None:
    """How many a select finds, `bound` at most; None when it takes too long to find out."""
    tx = scope.tx

    def build() -> Any:
        rows = found(slots_from(0)).limit(slots_from(len(values))(0))
        return peewee.Select([rows.alias("counted")], [peewee.fn.COUNT(peewee.SQL("*"))])

    try:
        return int(tx.store.bounded(STEPS, lambda: tx.value(keyed(build, "counted", key), (*values, bound))))
    except TimedOut:
        tx.store.require_time()
        return None
