"""Shows and changes the tags of tickets, and merges two tags."""

from collections.abc import Iterable
from typing import Any

from server.context import Context
from server.errors import Invalid
from server.record_types.shared.relation_tables import TAG_NAME, TICKET_TAG
from server.records import records
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import tags
from server.translation import N_

Shown = dict[int, list[tuple[str, str]]]


def of_tickets(ctx: Context, ids: Iterable[int]) -> Shown:
    """Returns (name, color) of the tags by the id of their ticket. ids: of tickets that the caller may read."""
    shown: Shown = {}
    tickets = [{"id": id} for id in ids]
    for ticket_id, name, color in records.reading(ctx, lambda tx: tags.rows_of(tx, tickets)):
        shown.setdefault(ticket_id, []).append((name, color))
    return shown


def change(ctx: Context, id: int, text: str) -> dict[str, str]:
    """Adds and removes tags by name, and returns the fields that undo it. Raises NotFound, Forbidden, Invalid."""

    def write(tx: Transaction) -> dict[str, str]:
        writing, ticket = RecordWriter(ctx, tx), [{"id": id}]
        before = {name for _, name, _ in tags.rows_of(tx, ticket)}
        writing.update_sent(writing.registry.type("ticket"), id, {"tag_names": text})
        after = {name for _, name, _ in tags.rows_of(tx, ticket)}
        return {"tag_names": ", ".join([*(f"-{name}" for name in sorted(after - before)), *sorted(before - after)])}

    return ctx.service.store.write(write)


def merge(ctx: Context, old: int, new: int) -> str:
    """Puts a tag on the tickets of another one, which is deleted; its names then find this one. Returns the name of the
    remaining tag. Raises NotFound, Forbidden, Invalid."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        tag = writing.registry.type("tag")
        source, target = writing.retrieve("tag", old), writing.retrieve("tag", new)
        writing.rules.require(tx, "delete", tag, source)
        writing.rules.require(tx, "update", tag, target)
        if old == new:
            raise Invalid(N_("choose another tag"), field="into")
        tx.run(_retag, (new, old))
        name: Any = TAG_NAME.sql
        tx.run(lambda: name.update({name.tag_id: slot(0)}).where(name.tag_id == slot(1)), (new, old))
        writing.delete("tag", old)
        variables = {"target": str(target["name"]), "tag": str(source["name"])}
        writing.log("tag.merged", tag.context, new, variables)
        return str(target["name"])

    return ctx.service.store.write(write)


def _retag() -> Any:
    """Replaces a tag on the tickets that lack the new one."""
    pair: Any = TICKET_TAG.sql
    tagged: Any = TICKET_TAG.sql.alias("tagged")
    has_new = tagged.select(tagged.ticket_id).where(tagged.tag_id == slot(0))
    return pair.update({pair.tag_id: slot(0)}).where(pair.tag_id == slot(1), pair.ticket_id.not_in(has_new))
