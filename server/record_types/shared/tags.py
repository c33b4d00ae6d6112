"""The tags of records, and the names by which tags are found. A table of tags has the id of the record in its first
column, and `tag_id`."""

import re
import unicodedata
from typing import Any

from server.errors import Invalid
from server.fields.field import split_sign
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import TAG_NAME
from server.store.statements import in_list, slot
from server.store.tables import Table, table_named
from server.store.transaction import Row, Transaction
from server.translation import about_field, lazy_gettext

MAX_CHARS = 64  # length of a name
MAX_TAGS = 100  # changed in one request
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


def read_changes(text: str) -> dict[str, bool]:
    """Returns {name: whether the tag is added} for names with commas between; a leading - removes. Raises Invalid."""
    parts = [part for part in text.split(",") if part.strip()]
    if len(parts) > MAX_TAGS:
        raise Invalid(f"tags: at most {MAX_TAGS} tags in one request", field="tags")
    signed = [split_sign(part) for part in parts]
    return {checked_name(name, "tags"): sign != "-" for sign, name in signed}


def move(tx: Transaction, table: Table, old: int, new: int) -> None:
    """Moves the tags of a record to another one."""
    add(tx, table, new, ids_of(tx, table, old))
    remove_all(tx, table, old)


def add(tx: Transaction, table: Table, id: int, tag_ids: list[int]) -> None:
    """Adds tags to a record, without an entry in its history."""
    for tag_id in tag_ids:
        tx.add(table, {table.names[0]: id, "tag_id": tag_id})


def remove_all(tx: Transaction, table: Table, id: int) -> None:
    """Removes the tags of a record, without an entry in its history."""
    tx.delete(table, **{table.names[0]: id})


def ids_of(tx: Transaction, table: Table, id: int) -> list[int]:
    """Returns the ids of the tags of a record."""
    return [row[table.position["tag_id"]] for row in tx.find(table, **{table.names[0]: id})]


def rows_of(tx: Transaction, table: Table, records: list[Any]) -> list[Row]:
    """Returns (record id, name, color) of the tags of records, in order of the names."""
    rows = tx.rows(lambda: _tags_of(table), (ids_text(records),))
    return sorted(rows, key=lambda row: (row[0], name_key(row[1])))


def _tags_of(table: Table) -> Any:
    pair, tag = table.sql, table_named("tag")
    query = pair.select(record_id(table), tag.c.name, tag.c.color).join(tag, on=(tag.c.id == pair.tag_id))
    return query.where(in_list(record_id(table), slot(0)))


def record_id(table: Table) -> Any:
    """Returns the column of a table of tags that holds the id of the record."""
    return getattr(table.sql, table.names[0])


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
