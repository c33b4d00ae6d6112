"""The tags of a ticket, changed by name, and the names by which tags are found."""

import re
import unicodedata
from typing import Any

from server import contexts
from server.errors import Invalid
from server.fields.field import split_sign
from server.record_types.parts import Change, Writing
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import TAG_NAME, TICKET_TAG
from server.record_types.traits import Exported, together
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Row, Transaction
from server.tickets import rule_events
from server.translation import about_field, lazy_gettext

MAX_CHARS = 64  # of a name
MAX_TAGS = 100  # changed in one request
WANTED = "tag_changes"  # key of change.extras that passes them from one hook to the next
_SPACES = re.compile(r"\s+")
_REFUSED = re.compile(r'[,:"\x00-\x1f\x7f]|^[-+]')


def checked_name(text: str, field: str) -> str:
    """Returns the name of a tag with single spaces. Raises Invalid."""
    name = _SPACES.sub(" ", text).strip()
    if not name or len(name) > MAX_CHARS or _REFUSED.search(name):
        problem = lazy_gettext(
            "'{value}' cannot be the name of a tag: at most {count} characters, without commas, colons and double "
            "quotes, not beginning with - or +",
            value=name[: MAX_CHARS + 1],
            count=MAX_CHARS,
        )
        raise Invalid(about_field(field, problem), field=field)
    return name


def name_key(name: str) -> str:
    """Returns the form in which names are compared.

    >>> name_key("Straße"), name_key(" Late  payer")
    ('strasse', 'late payer')
    """
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", name)).strip().casefold()


def tag_id(tx: Transaction, name: str) -> int:
    """Returns the id of the tag with this name or former name, 0 if there is none."""
    row = tx.first(TAG_NAME, name_key=name_key(name))
    return int(row[TAG_NAME.position["tag_id"]]) if row else 0


def read(change: Change) -> None:
    """Reads `tags` as names to add and remove. Raises Invalid."""
    parts = [part for part in change.extras.get("tags", "").split(",") if part.strip()]
    if len(parts) > MAX_TAGS:
        raise Invalid(f"tags: at most {MAX_TAGS} tags in one request", field="tags")
    signed = [split_sign(part) for part in parts]
    change.extras[WANTED] = {checked_name(name, "tags"): sign != "-" for sign, name in signed}


def write(change: Change, writing: Writing) -> None:
    """Adds and removes the tags, creates unknown ones, and logs what changed unless the ticket is new."""
    tx, names = writing.tx, {True: list[str](), False: list[str]()}
    for name, adds in change.extras[WANTED].items():
        id = tag_id(tx, name) or (writing.create("tag", {"name": name}) if adds else 0)
        pair = {"ticket_id": change.id, "tag_id": id}
        if tx.add(TICKET_TAG, pair) if adds else tx.delete(TICKET_TAG, **pair):
            names[adds].append(writing.label("tag", id))
    for adds, point in ((True, "ticket.tag.added"), (False, "ticket.tag.removed")):
        if names[adds] and not change.is_create:
            variables = {"tags": ", ".join(names[adds]), "target": writing.label("ticket", change.id)}
            writing.log(point, contexts.TICKET, change.id, variables)
            rule_events.record(writing, change.id, rule_events.CHANGED, ["tags"])


def move(tx: Transaction, old: int, new: int) -> None:
    """Gives the tags of a ticket to another one."""
    add(tx, new, ids_of(tx, old))
    tx.delete(TICKET_TAG, ticket_id=old)


def add(tx: Transaction, ticket_id: int, tag_ids: list[int]) -> None:
    """Adds tags to a ticket, without an entry in its history."""
    for id in tag_ids:
        tx.add(TICKET_TAG, {"ticket_id": ticket_id, "tag_id": id})


def ids_of(tx: Transaction, ticket_id: int) -> list[int]:
    """Returns the ids of the tags of a ticket."""
    return [row[TICKET_TAG.position["tag_id"]] for row in tx.find(TICKET_TAG, ticket_id=ticket_id)]


def rows_of(tx: Transaction, tickets: list[Any]) -> list[Row]:
    """Returns (ticket id, name, color) of the tags of tickets, in order of the names."""
    pair, tag = TICKET_TAG.sql, table_named("tag")
    rows = tx.rows(
        lambda: (
            pair.select(pair.ticket_id, tag.c.name, tag.c.color)
            .join(tag, on=(tag.c.id == pair.tag_id))
            .where(in_list(pair.ticket_id, slot(0)))
        ),
        (ids_text(tickets),),
    )
    return sorted(rows, key=lambda row: (row[0], name_key(row[1])))


def names_of(tx: Transaction, records: list[Any]) -> list[Row]:
    """Returns (tag id, name key) of all names of tags."""
    name = TAG_NAME.sql
    return tx.rows(
        lambda: (
            name.select(name.tag_id, name.name_key)
            .where(in_list(name.tag_id, slot(0)))
            .order_by(name.tag_id, name.name_key)
        ),
        (ids_text(records),),
    )


def exported(tx: Transaction, tickets: list[Any]) -> Exported:
    """Exports `tags`: the names of each ticket's tags."""
    return together("tags", [(ticket_id, name) for ticket_id, name, _ in rows_of(tx, tickets)])
