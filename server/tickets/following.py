"""Changes of a ticket and its messages, notes and drafts, for pages that update live.

Cursors of this module count changes in their upper part, and changes of the presence of workers in the lower part."""

import json

from server.access.rules import Rules
from server.context import Context
from server.contexts import TICKET
from server.errors import Gone
from server.people import presence
from server.records import changes
from server.records.changes import LoggedChange
from server.records.reading import RecordReader
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

VERSIONS = 1 << 20  # versions of presence in a cursor
URIS = ("ticket", "message", "comment", "draft")
MAX_COUNTED = 200  # changed records that are counted
# Changes read in one round, for all pages of tickets together; a page that is further behind counts as changed.
MAX_READ = 5_000


def cursor(ctx: Context) -> int:
    """Returns the cursor of changes after the latest one."""
    return ctx.service.store.read(changes.now)


def since(ctx: Context, ticket_id: int, cursor: int) -> tuple[list[str], int, bool]:
    """Returns the changes of a ticket after a cursor, each as `type event`, the next cursor, and whether the people on
    the ticket changed. A cursor that is too old or not valid counts as a change of the ticket.

    Raises NotFound, Forbidden if there are changes and the caller may not read the ticket any more."""
    events, upto = ctx.service.store.read(lambda tx: _events(ctx, tx, ticket_id, cursor // VERSIONS))
    present, seen = presence.instance(ctx.service), cursor % VERSIONS
    version = present.version % VERSIONS
    is_moved = not present.changed_at(ticket_id) <= seen <= version
    if events or is_moved:
        ctx.service.store.read(lambda tx: RecordReader(ctx, tx).require("read", "ticket", ticket_id))
    return events, upto * VERSIONS + version, is_moved


def number_since(ctx: Context, uri: str, cursor: int) -> tuple[int, int, bool]:
    """Returns how many records of a type that the caller may read changed after a cursor, at most MAX_COUNTED, the next
    cursor, and whether the people on any ticket changed."""
    first, record_type = cursor // VERSIONS, ctx.service.registry.type(uri)

    def count(tx: Transaction) -> tuple[int, int]:
        last = changes.now(tx)
        try:
            page = changes.page(ctx, tx, first, MAX_COUNTED, (uri,))
        except Gone:
            return 1, last
        return len({each.id for each in page.changes}), last if page.changes else page.cursor

    def read(tx: Transaction) -> tuple[int, int]:
        key = (number_since, uri, first, Rules(ctx.service.registry, ctx.actor).readers(record_type))
        return changes.until_next(tx, key, lambda: count(tx))

    number, upto = ctx.service.store.read(read)
    version = presence.instance(ctx.service).version % VERSIONS
    return number, upto * VERSIONS + version, version != cursor % VERSIONS


def _events(ctx: Context, tx: Transaction, ticket_id: int, first: int) -> tuple[list[str], int]:
    """Returns the changes of a ticket after a cursor of changes, and the next one."""

    def read() -> dict[int, list[str]] | None:
        try:
            page = changes.page_for_service(ctx.service, tx, first, MAX_READ, URIS)
        except Gone:
            return None
        return None if page.has_more else _by_ticket(tx, page.changes)

    by_ticket = changes.until_next(tx, (_by_ticket, first), read)
    return ["ticket updated"] if by_ticket is None else by_ticket.get(ticket_id, []), changes.now(tx)


def _by_ticket(tx: Transaction, logged: list[LoggedChange]) -> dict[int, list[str]]:
    """Returns {ticket: its changes}. Messages, notes and drafts that are gone belong to no ticket."""
    ticket_of = {(uri, id): ticket_id for uri in URIS for id, ticket_id in _tickets(tx, uri, logged)}
    found: dict[int, dict[str, None]] = {}
    for each in logged:
        ticket_id = ticket_of.get((each.type, each.id), 0)
        if ticket_id:
            found.setdefault(ticket_id, {})[f"{each.type} {each.event}"] = None
    return {ticket_id: list(events) for ticket_id, events in found.items()}


def _tickets(tx: Transaction, uri: str, logged: list[LoggedChange]) -> list[tuple[int, int]]:
    """Returns (id of the record, id of its ticket) of the changed records of one type."""
    ids = sorted({each.id for each in logged if each.type == uri})
    if uri == "ticket" or not ids:
        return [(id, id) for id in ids]
    table, values = table_named(uri), (json.dumps(ids), TICKET)
    if uri == "comment":
        return tx.rows(
            lambda: table.select(table.c.id, table.c.target_id).where(
                in_list(table.c.id, slot(0)), table.c.target__context == slot(1)
            ),
            values,
        )
    return tx.rows(lambda: table.select(table.c.id, table.c.ticket_id).where(in_list(table.c.id, slot(0))), values[:1])
