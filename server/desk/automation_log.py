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
def forget_old(service: Service, now: int) -> int | None:
    """Remove entries that are older than KEPT_DAYS. Source: ours."""
    before = now - KEPT_DAYS * DAY_SECONDS
    while service.store.read(lambda tx: tx.value(("old log entries",), lambda: _old().limit(1), (before,))):
        service.store.write(lambda tx: _forget(tx, before))
    return None


def _forget(tx: Transaction, before: int) -> None:
    table = peewee.Table("automation_log")
    tx.run(
        ("forget log entries",),
        lambda: table.delete().where(table.c.id.in_(_old().limit(slot(1)))),
        (before, BATCH),
    )


def _old() -> Any:
    entry = peewee.Table("automation_log", alias="old")
    return entry.select(entry.c.id).where(entry.c.created_at < slot(0)).order_by(entry.c.created_at)
