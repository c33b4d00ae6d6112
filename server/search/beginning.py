"""Where a search begins that looks into other tables: with what finds fewer.

A filter such as `messages:(...)` is a list of the ids of all that it finds, made before anything else is looked at.
Where the other filters find fewer records than it has hits, each of these is asked whether it has one. A database that
keeps statistics decides that itself."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import peewee

from server.errors import TimedOut
from server.search.conditions import Condition, all_of, slots_from
from server.store.shapes import Builder
from server.store.statements import slot
from server.store.tables import Table

if TYPE_CHECKING:
    from server.record_types.base import RecordType
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
    if _hits(listed, FEW, scope) != FEW:
        return False
    scope.tx.store.require_thread()
    records = _records(record_type.table, others, scope)
    if records is None or records >= MAX_ASKED:
        return False
    enough = int(records * HITS_A_RECORD) + 1
    return _hits(listed, enough, scope) == enough


def _hits(listed: Condition, bound: int, scope: "SearchScope") -> int | None:
    """How many hits a list has, `bound` at most; None when it takes too long to find out."""
    return _counted(lambda: _count(_others(listed).limit(slot(0))), (bound, *listed.values), scope)


def _others(listed: Condition) -> Any:
    assert listed.turned is not None
    return listed.turned.others(slots_from(1))


def _records(table: Table, others: Condition, scope: "SearchScope") -> int | None:
    """How many records a condition finds, MAX_ASKED at most; None when it takes too long to find out."""
    return _counted(
        lambda: _count(table.sql.select(table.sql.id).where(others.build(slots_from(1))).limit(slot(0))),
        (MAX_ASKED, *others.values),
        scope,
    )


def _count(rows: Any) -> Any:
    return peewee.Select([rows.alias("counted")], [peewee.fn.COUNT(peewee.SQL("*"))])


def _counted(build: Builder, values: tuple[Any, ...], scope: "SearchScope") -> int | None:
    tx = scope.tx
    try:
        return int(tx.store.bounded(STEPS, lambda: tx.value(build, values)))
    except TimedOut:
        tx.store.require_time()
        return None
