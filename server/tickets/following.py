"""Changes of a ticket and its messages, notes and drafts, for pages that update live."""

from collections.abc import Callable
from typing import TypeVar

from server.context import Context
from server.people import presence
from server.records import changes
from server.records.changes import LoggedChange
from server.records.reading import RecordReader
from server.store.transaction import Transaction

VERSIONS = 1 << 20  # versions of presence, in the lower part of a cursor of both; changes are in the upper part
URIS = ("ticket", "message", "comment", "draft")
Result = TypeVar("Result")
LIMIT = 200  # changes read in one round


def cursor(ctx: Context) -> int:
    """Returns the cursor after the latest change."""
    return ctx.service.store.read(changes.now)


def with_presence(ctx: Context, cursor: int, read: Callable[[int], tuple[Result, int]]) -> tuple[Result, int, bool]:
    """Reads changes after a cursor that counts the presence of workers as well. read: called with the cursor of
    changes, returns changes and the next cursor. Returns the changes, the next cursor of both, and whether presence has
    changed."""
    result, upto = read(cursor // VERSIONS)
    version = presence.instance(ctx.service).version % VERSIONS
    return result, upto * VERSIONS + version, version != cursor % VERSIONS


def since(ctx: Context, ticket_id: int, cursor: int) -> tuple[list[str], int]:
    """Returns the changes of a ticket after a cursor, each as `type event`, and the next cursor.

    A cursor that is no longer valid counts as a change of the ticket. Raises NotFound, Forbidden."""

    def read(tx: Transaction) -> tuple[list[str], int]:
        if cursor > changes.now(tx) or cursor < 0:
            return ["ticket updated"], changes.now(tx)
        reader = RecordReader(ctx, tx)
        reader.require("read", "ticket", ticket_id)
        page = changes.page(ctx, tx, cursor, LIMIT, URIS)
        events = [f"{each.type} {each.event}" for each in page.changes if _is_on(reader, each, ticket_id)]
        return list(dict.fromkeys(events)), page.cursor

    return ctx.service.store.read(read)


def number_since(ctx: Context, uri: str, cursor: int) -> tuple[int, int]:
    """Returns how many records of a type that the caller may read changed after a cursor, and the next cursor."""

    def read(tx: Transaction) -> tuple[int, int]:
        if not 0 <= cursor <= changes.now(tx):
            return 1, changes.now(tx)
        page = changes.page(ctx, tx, cursor, LIMIT, (uri,))
        return len({each.id for each in page.changes}), page.cursor

    return ctx.service.store.read(read)


def _is_on(reader: RecordReader, change: LoggedChange, ticket_id: int) -> bool:
    if change.type == "ticket":
        return change.id == ticket_id
    record = reader.record(change.type, change.id)
    if record is None:
        return False
    if change.type == "comment":
        target = reader.registry.find(record["target__context"])
        return target is not None and target.uri == "ticket" and record["target_id"] == ticket_id
    return bool(record["ticket_id"] == ticket_id)
