"""Inserts snippets: fills their placeholders for a record and the caller, and counts the uses. Restores deleted
snippets."""

from typing import Any

from server.context import Context
from server.errors import Conflict, Invalid, NotFound, Required
from server.outbox.content import TICKET_URL, WORKER_NAMES, Placeholders
from server.people import undoable_deletions
from server.record_types.record_type import Record
from server.record_types.shared.points import PLACEHOLDER
from server.record_types.shared.relation_tables import SNIPPET_USE
from server.records import metrics, records
from server.records.dictionary import is_key
from server.records.metrics.builtin import SNIPPET_USES
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_, about_field, lazy_gettext

URI = "snippet"
HOUR = 3600
# Placeholders that the form offers; any other key of the ticket or of the worker is allowed.
OF_TICKET = {
    "mask": N_("Number of the ticket"),
    "subject": N_("Subject of the ticket"),
    "initial_message_sender_full_name": N_("Name of the first sender"),
    "initial_message_sender_email": N_("Email address of the first sender"),
    "org_name": N_("Organization of the ticket"),
    "group_name": N_("Group of the ticket"),
    "bucket_name": N_("Bucket of the ticket"),
    "ticket_url": N_("Address of the ticket for its customers"),
}
OF_WORKER = {
    "current_worker_full_name": N_("Your full name"),
    "current_worker_first_name": N_("Your first name"),
    "current_worker_title": N_("Your job title"),
}


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


def preview(ctx: Context, content: str, context: str, ticket_id: int) -> str:
    """Returns a text that is not saved yet, with its placeholders filled. context: the record type of the snippet; only
    those of tickets have a record to fill in. Raises NotFound, Forbidden for the ticket."""

    def read(tx: Transaction) -> str:
        values = {"worker": ctx.actor.worker_id}
        if _is_of_ticket(ctx, context) and ticket_id:
            RecordReader(ctx, tx).require("read", "ticket", ticket_id)
            values["ticket"] = ticket_id
        own = "ticket" if "ticket" in values else ""
        return Placeholders(ctx, tx, values, own=own, as_caller=True).fill(content)

    return records.reading(ctx, read)


def unknown_placeholders(ctx: Context, content: str, context: str) -> list[str]:
    """Returns the placeholders of a text that are never filled in. context: the record type of the snippet."""
    registry = ctx.service.registry
    own = registry.find(context)

    def is_known(tx: Transaction, name: str) -> bool:
        key = name.removeprefix("current_")
        if name in (*WORKER_NAMES, TICKET_URL) or (own is not None and is_key(registry, own, name, tx)):
            return True
        uri, _, key = key.partition("_")
        named = {"worker": registry.type("worker"), **({own.uri: own} if own is not None else {})}
        return uri in named and is_key(registry, named[uri], key, tx)

    names = dict.fromkeys(PLACEHOLDER.findall(content))
    return records.reading(ctx, lambda tx: [each for each in names if not is_known(tx, each)])


def _is_of_ticket(ctx: Context, context: str) -> bool:
    record_type = ctx.service.registry.find(context) if context else None
    return record_type is not None and record_type.uri == "ticket"


def require_free_name(ctx: Context, title: str, owner: tuple[str, int], id: int = 0) -> None:
    """Requires that the owner has no other snippet of this title. Programs may repeat titles; in a list of snippets to
    choose from, people could not tell them apart. Raises Conflict."""
    table: Any = table_named(URI)
    same = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: table.select(table.c.id, table.c.title).where(
                table.c.owner__context == slot(0), table.c.owner_id == slot(1)
            ),
            owner,
        )
    )
    if any(other != id and name.strip().casefold() == title.strip().casefold() for other, name in same):
        problem = lazy_gettext("there is a snippet {name} already", name=title)
        raise Conflict(about_field("title", problem), field="title")


# -- deleting ----------------------------------------------------------------------------------------------------------


def delete(ctx: Context, id: int) -> bool:
    """Deletes a snippet. Returns whether the worker can restore it. Raises NotFound, Forbidden."""
    fields = records.editable(ctx, URI, id)

    def write(tx: Transaction) -> bool:
        records.delete(ctx, URI, id)
        return undoable_deletions.store(ctx, tx, URI, id, fields)

    return ctx.service.store.write(write)


def restore(ctx: Context, id: int) -> str:
    """Creates a snippet again that the worker has deleted, with its id, so that macros find it; returns its title.
    Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        snippet = writing.registry.type(URI)
        stored = undoable_deletions.take(ctx, tx, URI, id)
        writing.create_sent(snippet, undoable_deletions.fields_of(snippet, stored), id)
        return str(stored["title"])

    return ctx.service.store.write(write)


# -- inserting ---------------------------------------------------------------------------------------------------------


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
    later = {} if own else {TICKET_URL: f"{{{{{TICKET_URL}}}}}"}  # filled in when the email is built
    return Placeholders(ctx, tx, records, later, own=own, as_caller=True).fill(snippet["content"])


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
        lambda: snippet.update({snippet.c.total_uses: snippet.c.total_uses + 1, snippet.c.last_used_at: slot(0)}).where(
            snippet.c.id == slot(1)
        ),
        (now, id),
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
