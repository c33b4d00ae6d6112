"""The automation log: searched newest first, and cleared out by age. Who writes it is the record type's own matter.

Source: Automation logs."""

from dataclasses import replace
from typing import Any

import peewee

from server.context import Context, Service
from server.desk.dictionary import Dictionaries
from server.desk.records import reading, search_scope
from server.desk.writing import RecordWriter
from server.errors import AdminOnly
from server.jobs.scheduler import periodic
from server.records.base import RecordType
from server.search.ast import Query
from server.search.parser import parse
from server.search.select import search as compile_search
from server.store.statements import slot
from server.store.transaction import Transaction

KEPT_DAYS, DAY_SECONDS = 14, 86400
MAX_KEPT = 500_000  # entries; the oldest go first, about
BATCH = 1000  # entries removed in one transaction
KEYS = ("id", "automation_name", "automation_node", "created_at", "level", "level__label", "message")


def search(ctx: Context, q: str, limit: int, page: int) -> dict[str, Any]:
    """results, count, total, limit and page, which counts from 0. Newest first, whatever `sort:` says; `limit:` and
    `page:` inside `q` do nothing here.

    Raises AdminOnly, BadQuery with a position. Source: Automation logs."""
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may read the automation log")
    record_type, query = ctx.service.registry.type("automation_log"), replace(parse(q), sort=())
    return reading(ctx, lambda tx: _page(ctx, tx, record_type, query, limit, page))


def _page(
    ctx: Context, tx: Transaction, record_type: RecordType, query: Query, limit: int, page: int
) -> dict[str, Any]:
    found = compile_search(record_type, query, search_scope(ctx, tx, query))
    rows, total = replace(found, order=(("id", True),)).page(limit, page * limit)
    entries = Dictionaries(ctx, tx).show(record_type, [record_type.record(row) for row in rows])
    results = [{key: entry[key] for key in KEYS} for entry in entries]
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}


def note(writing: RecordWriter, level: int, message: str, name: str = "", node: str = "") -> None:
    """Write an entry. level: 1 alert, 3 error, 4 warning, 7 debug. name, node: the automation and the place in it, ""
    for none."""
    writing.create("automation_log", {
        "automation_name": name, "automation_node": node, "created_at": writing.now, "level": level, "message": message,
    })  # fmt: skip


@periodic("old automation log entries")
def forget_old(service: Service, now: int) -> None:
    """Remove entries that are older than KEPT_DAYS, and the oldest beyond MAX_KEPT: an automation that fails again and
    again fills no disk. Source: ours."""
    before = now - KEPT_DAYS * DAY_SECONDS
    while old := service.store.read(lambda tx: _old_ids(tx, before)):
        service.store.write(lambda tx, old=old: tx.run_many(  # type: ignore[misc]
            ("forget log entries",), lambda: _ENTRY.delete().where(_ENTRY.id == slot(0)), old
        ))  # fmt: skip


_ENTRY: Any = peewee.Table("automation_log", ("id", "created_at"))


def _old_ids(tx: Transaction, before: int) -> list[tuple[int]]:
    """[(id,)] of some entries that may go. Ids rise by one, but for those of writes that were undone."""
    newest = tx.value(("newest log entry",), lambda: _ENTRY.select(peewee.fn.MAX(_ENTRY.id))) or 0
    return tx.rows(
        ("old log entries",),
        lambda: _ENTRY.select(_ENTRY.id).where(_ENTRY.created_at < slot(0)).order_by(_ENTRY.created_at).limit(BATCH),
        (before,),
    ) or tx.rows(
        ("first log entries",),
        lambda: _ENTRY.select(_ENTRY.id).where(_ENTRY.id <= slot(0)).order_by(_ENTRY.id).limit(BATCH),
        (newest - MAX_KEPT,),
    )  # fmt: skip
