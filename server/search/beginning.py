"""Chooses where a search on related tables starts: with the condition that matches fewer records.

A filter such as `messages:(...)` is a list of the ids of all its matches, computed before anything else. If the other
filters match fewer records than the list has hits, it is cheaper to test each of these records. A database with
statistics decides that itself."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import peewee

from server.errors import TimedOut
from server.search.conditions import Condition, all_of, slots_from
from server.store.statement_shapes import Builder
from server.store.statements import slot
from server.store.tables import Table

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope

FEW = 200  # hits up to which a list is always computed
MAX_ASKED = 50_000  # records that may be tested one by one
HITS_A_RECORD = 1.5  # minimum ratio at which testing records is cheaper
STEPS = 250_000  # SQLite instructions that the estimate may take: a few milliseconds


def begun_by_fewer(record_type: "RecordType", condition: Condition, scope: "SearchScope") -> Condition:
    """Returns an equivalent condition, in which a list of ids becomes a test per record if the other parts match
    fewer."""
    tx = scope.tx
    if all(each.turned is None for each in condition.parts) or tx.can_write or tx.store.keeps_statistics:
        return condition
    parts = list(condition.parts)
    for place, each in enumerate(parts):
        if each.turned is not None and _are_fewer(record_type, all_of(parts[:place] + parts[place + 1 :]), each, scope):
            parts[place] = replace(each, key=("turned", each.key), build=each.turned.build, turned=None)
    return all_of(parts)


def _are_fewer(record_type: "RecordType", others: Condition, id_list: Condition, scope: "SearchScope") -> bool:
    """Whether `others` match fewer records than the list has hits."""
    if _hits(id_list, FEW, scope) != FEW:
        return False
    scope.tx.store.require_thread()
    records = _records(record_type.table, others, scope)
    if records is None or records >= MAX_ASKED:
        return False
    enough = int(records * HITS_A_RECORD) + 1
    return _hits(id_list, enough, scope) == enough


def _hits(id_list: Condition, bound: int, scope: "SearchScope") -> int | None:
    """Returns the number of hits of a list, at most `bound`; None if counting takes too long."""
    return _counted(lambda: _count(_others(id_list).limit(slot(0))), (bound, *id_list.values), scope)


def _others(id_list: Condition) -> Any:
    assert id_list.turned is not None
    return id_list.turned.others(slots_from(1))


def _records(table: Table, others: Condition, scope: "SearchScope") -> int | None:
    """Returns the number of records that match a condition, at most MAX_ASKED; None if counting takes too long."""
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
