"""Searches the automation log, newest first, and removes old entries. Entries are written by the record type."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import peewee

from server.automation.types.automation_log import LEVELS
from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record, RecordType
from server.records.dictionary import Dictionaries
from server.records.records import reading, search_scope
from server.records.writing import RecordWriter
from server.search.ast import Query
from server.search.conditions import Condition, all_of, equals, slots_from
from server.search.query_parser import parse
from server.search.select import CompiledSearch
from server.search.select import search as compile_search
from server.store.expressions import by_place
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

URI = "automation_log"
DOING = "read the automation log"  # completes the message of AdminOnly
DAY_SECONDS = 86400
MAX_KEPT = 500_000  # entries, approximately; the oldest are removed first
MAX_COUNTED = 50_000  # newest entries that histogram() and runs() read
LOWEST = len(LEVELS) - 1
BATCH = 1000  # entries removed in one transaction
KEYS = ("id", "automation_name", "automation_node", "created_at", "level", "level__label", "message")


def search(ctx: Context, q: str, limit: int, page: int) -> dict[str, Any]:
    """Returns results, count, total, limit and page, which counts from 0.

    Newest first, whatever `sort:` says; `limit:` and `page:` inside `q` have no effect. Raises AdminOnly, BadQuery with
    a position."""
    record_type, query = _asked(ctx, q)
    return reading(ctx, lambda tx: _page(ctx, tx, record_type, query, limit, page))


def entries(ctx: Context, q: str, limit: int, page: int, run_id: int = 0) -> tuple[list[Record], int]:
    """Returns a page of stored entries, with `automation_version` and `run_id`, and the total number of matches.

    run_id: restricts the search to one run. Raises AdminOnly, BadQuery."""
    record_type, query = _asked(ctx, q)

    def read(tx: Transaction) -> tuple[list[Record], int]:
        search = _newest_first(ctx, tx, record_type, query, run_id)
        rows, total = search.page(limit, page * limit)
        return [record_type.record(row) for row in rows], total

    return reading(ctx, read)


@dataclass(frozen=True, slots=True)
class RunLog:
    """The log entries of one run of an automation. id: of the run, 0 for entries older than the recording of runs.
    name: of the automation, "" if unknown. worst: the lowest level number. message: of the newest matching entry."""

    id: int
    newest_id: int
    name: str
    at: int
    worst: int
    count: int
    message: str


def runs(ctx: Context, q: str, limit: int, page: int) -> tuple[list[RunLog], int]:
    """Returns a page of the runs with matching entries among the newest MAX_COUNTED of the log, newest first, and their
    total number. page: counts from 0.

    Raises AdminOnly, BadQuery."""
    record_type, query = _asked(ctx, q)
    table: Any = record_type.table.sql

    def read(tx: Transaction) -> tuple[list[RunLog], int]:
        condition = _newest_first(ctx, tx, record_type, query).condition
        values = (*condition.values, _counted_after(tx))
        rows = tx.rows(lambda: _runs(table, condition), (*values, limit, page * limit))
        total = tx.value(lambda: _counted(table, condition, peewee.fn.COUNT(_run(table).distinct())), values)
        worst: dict[int, int] = dict(
            tx.rows(
                lambda: (
                    table.select(_run(table), peewee.fn.MIN(table.level))
                    .where(in_list(table.run_id, slot(0)))
                    .group_by(_run(table))
                ),
                (json.dumps([row[0] for row in rows if row[0]]),),
            )
        )
        return [
            RunLog(id, newest_id, name, at, worst.get(id, LOWEST), count, message)
            for id, newest_id, name, at, message, count in rows
        ], int(total or 0)

    return reading(ctx, read)


def _run(table: Any) -> Any:
    return peewee.fn.COALESCE(peewee.fn.NULLIF(table.run_id, peewee.SQL("0")), table.id)


def _runs(table: Any, condition: Condition) -> Any:
    """Selects the newest entry of each run and the number of its matching entries."""
    newest = peewee.fn.MAX(table.id)
    at = slots_from(len(condition.values) + 1)
    matches = _counted(table, condition, newest.alias("id"), peewee.fn.COUNT(table.id).alias("n"))
    runs = matches.group_by(_run(table)).order_by(newest.desc()).limit(at(0)).offset(at(1)).alias("runs")
    last = table.alias("last")
    columns = (last.run_id, last.id, last.automation_name, last.created_at, last.message, runs.c.n)
    return peewee.Select((runs,), columns).join(last, on=(last.id == runs.c.id)).order_by(last.id.desc())


def _counted(table: Any, condition: Condition, *columns: Any) -> Any:
    """Selects the matching entries whose id is greater than the id in the last parameter."""
    return table.select(*columns).where(condition.build(slots_from(0)) & (table.id > slot(len(condition.values))))


def _by_level(table: Any, condition: Condition) -> Any:
    at = slots_from(len(condition.values) + 1)
    place = (table.created_at - at(0)) / at(1)
    return _counted(table, condition, table.level, place, peewee.fn.COUNT(table.id)).group_by(*by_place(2))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of log entries: {level: entries per time slot}. since, until: Unix seconds. is_whole: True if every match
    is counted, False if only those among the newest MAX_COUNTED entries of the log."""

    since: int
    until: int
    counts: dict[int, list[int]]
    is_whole: bool


def histogram(ctx: Context, q: str, parts: int, run_id: int = 0) -> Histogram:
    """Counts the matching entries by level and time, from the oldest of them until now.

    Raises AdminOnly, BadQuery."""
    record_type, query = _asked(ctx, q)
    table: Any = record_type.table.sql

    def read(tx: Transaction) -> Histogram:
        condition = _newest_first(ctx, tx, record_type, query, run_id).condition
        after = _counted_after(tx)
        values = (*condition.values, after)
        oldest = tx.value(lambda: _counted(table, condition, peewee.fn.MIN(table.created_at)), values)
        since = min(ctx.now if oldest is None else int(oldest), ctx.now)
        step = max(1, -(-(ctx.now + 1 - since) // parts))
        rows = tx.rows(lambda: _by_level(table, condition), (*values, since, step))
        counts: dict[int, list[int]] = {}
        for level, at, count in rows:
            counts.setdefault(level, [0] * parts)[min(at, parts - 1)] += count
        return Histogram(since, ctx.now, counts, after <= 0)

    return reading(ctx, read)


def newest(ctx: Context) -> int:
    """Returns the id of the newest entry, 0 for an empty log. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return reading(ctx, _newest_id)


def ids_of(ctx: Context, names: Collection[str]) -> dict[str, int]:
    """Returns {name: id} of the existing automations with these names, spelled as stored."""
    table: Any = table_named("automation")
    rows = (
        ctx.service.store.read(
            lambda tx: tx.rows(
                lambda: table.select(table.c.name, table.c.id).where(in_list(table.c.name, slot(0))),
                (json.dumps(sorted(names)),),
            )
        )
        if names
        else []
    )
    return dict(rows)


def _asked(ctx: Context, q: str) -> tuple[RecordType, Query]:
    """Returns the record type and the parsed query of a search. Raises AdminOnly, BadQuery."""
    ctx.require_admin(DOING)
    return ctx.service.registry.type(URI), replace(parse(q), sort=())


def _newest_first(
    ctx: Context, tx: Transaction, record_type: RecordType, query: Query, run_id: int = 0
) -> CompiledSearch:
    search = compile_search(record_type, query, search_scope(ctx, tx, query))
    if run_id:
        of_run = equals(record_type.column("run_id"), run_id)
        search = replace(search, condition=all_of([search.condition, of_run]))
    return replace(search, order=(("id", True),))


def _page(
    ctx: Context, tx: Transaction, record_type: RecordType, query: Query, limit: int, page: int
) -> dict[str, Any]:
    rows, total = _newest_first(ctx, tx, record_type, query).page(limit, page * limit)
    entries = Dictionaries(ctx, tx).show(record_type, [record_type.record(row) for row in rows])
    results = [{key: entry[key] for key in KEYS} for entry in entries]
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}


def note(
    writing: RecordWriter, level: int, message: str, name: str = "", node: str = "", version: int = 0, run_id: int = 0
) -> int:
    """Writes an entry and returns its id. level: 1 alert, 3 error, 4 warning, 7 debug.

    name, node, version: the automation, the path of its command and the version that ran; "" and 0 if unknown. run_id:
    the id of the first entry of the run, 0 for that entry itself."""
    return writing.create(
        URI,
        {
            "automation_name": name,
            "automation_node": node,
            "automation_version": version,
            "created_at": writing.now,
            "level": level,
            "message": message,
            "run_id": run_id,
        },
    )


@periodic(N_("old automation log entries"), N_("Removes them."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Removes entries older than the setting `automation_log_days`, and the oldest beyond MAX_KEPT, so that an
    automation that fails repeatedly cannot fill the disk."""
    before = now - service.settings.automation_log_days * DAY_SECONDS
    while old := service.store.read(lambda tx: _old_ids(tx, before)):
        service.store.write(
            lambda tx, old=old: tx.run_many(  # type: ignore[misc]
                lambda: _ENTRY.delete().where(_ENTRY.c.id == slot(0)), old
            )
        )


_ENTRY: Any = table_named(URI)


def _newest_id(tx: Transaction) -> int:
    return int(tx.value(lambda: _ENTRY.select(peewee.fn.MAX(_ENTRY.c.id))) or 0)


def _counted_after(tx: Transaction) -> int:
    """Returns the id after which the newest MAX_COUNTED entries begin; 0 or less if the log is shorter."""
    return _newest_id(tx) - MAX_COUNTED


def _old_ids(tx: Transaction, before: int) -> list[tuple[int]]:
    """Returns [(id,)] of a batch of removable entries. Ids are consecutive except for writes that were rolled back."""
    return tx.rows(
        lambda: (
            _ENTRY.select(_ENTRY.c.id).where(_ENTRY.c.created_at < slot(0)).order_by(_ENTRY.c.created_at).limit(BATCH)
        ),
        (before,),
    ) or tx.rows(
        lambda: _ENTRY.select(_ENTRY.c.id).where(_ENTRY.c.id <= slot(0)).order_by(_ENTRY.c.id).limit(BATCH),
        (_newest_id(tx) - MAX_KEPT,),
    )
