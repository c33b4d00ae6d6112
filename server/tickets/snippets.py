"""Inserts snippets: fills their placeholders for a record and the caller, and counts the uses."""

from typing import Any

from server.context import Context
from server.errors import Invalid, NotFound, Required
from server.outbox.content import Placeholders
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import SNIPPET_USE
from server.records import metrics
from server.records.metrics.builtin import SNIPPET_USES
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

HOUR = 3600


def paste(ctx: Context, id: int, context_id: int = 0) -> str:
    """Returns the text of a snippet for a record of its type and the caller, and counts one use.

    Placeholders are keys of the record without a prefix, and of the caller with `current_worker_`, or `worker_` if the
    record has no such key. Unreadable and unknown ones become empty. context_id: ignored for a snippet without a record
    type.

    Raises NotFound and Forbidden for the snippet and the record, Required without a context_id, Invalid for a snippet
    of an unknown record type."""
    text = ctx.service.store.read(lambda tx: _filled(ctx, tx, id, context_id))
    ctx.service.store.write(lambda tx: _count(tx, id, ctx.actor.worker_id, ctx.now))
    metrics.record(ctx.service, SNIPPET_USES, 1, {"snippet_id": id, "worker_id": ctx.actor.worker_id}, ctx.now)
    return text


def _filled(ctx: Context, tx: Transaction, id: int, context_id: int) -> str:
    reading = RecordReader(ctx, tx)
    snippet = reading.record("snippet", id)
    if snippet is None:
        raise NotFound(f"there is no snippet {id}", type="snippet", id=id)
    reading.require("read", "snippet", id)
    records = {"worker": ctx.actor.worker_id}
    own = _type_of(reading, snippet)
    if own and not context_id:
        raise Required(f"context_id is required: the id of the {own} that the snippet is for", field="context_id")
    if own:
        reading.require("read", own, context_id)
        records[own] = context_id
    return Placeholders(ctx, tx, records, own=own, as_caller=True).fill(snippet["content"])


def _type_of(reading: RecordReader, snippet: Record) -> str:
    """The uri of the type that a snippet is for, "" for none."""
    if not snippet["context"]:
        return ""
    record_type = reading.registry.find(snippet["context"])
    if record_type is None:
        raise Invalid(f"the snippet is for '{snippet['context'][:80]}', which is not a record type", field="context")
    return record_type.uri


def _count(tx: Transaction, id: int, worker_id: int, now: int) -> None:
    """Counts one use of the snippet, and of the worker in this hour; does nothing if the snippet was deleted."""
    snippet: Any = table_named("snippet")
    is_there = tx.run(
        lambda: snippet.update({snippet.c.total_uses: snippet.c.total_uses + 1}).where(snippet.c.id == slot(0)),
        (id,),
    )
    if not is_there or not worker_id:
        return
    use: Any = SNIPPET_USE.sql
    place = {"snippet_id": id, "worker_id": worker_id, "hour": now - now % HOUR}
    tx.add(SNIPPET_USE, {**place, "uses": 0})
    tx.run(
        lambda: use.update({use.uses: use.uses + 1}).where(
            use.snippet_id == slot(0), use.worker_id == slot(1), use.hour == slot(2)
        ),
        tuple(place.values()),
    )
