"""Shows and changes the tags of records."""

from collections.abc import Iterable

from server.context import Context
from server.errors import NotOffered
from server.record_types.record_type import RecordType
from server.record_types.shared import tags
from server.record_types.traits import Tags
from server.records import records
from server.records.writing import RecordWriter
from server.store.tables import Table
from server.store.transaction import Transaction
from server.translation import lazy_gettext, shown

Shown = dict[int, list[tuple[str, str]]]


def tags_of(ctx: Context, uri: str, ids: Iterable[int]) -> Shown:
    """Returns (name, color) of the tags by the id of their record. ids: of records that the caller may read."""
    shown: Shown = {}
    table, rows = _table(ctx.service.registry.type(uri)), [{"id": id} for id in ids]
    for id, name, color in records.reading(ctx, lambda tx: tags.rows_of(tx, table, rows)):
        shown.setdefault(id, []).append((name, color))
    return shown


def change_tags(ctx: Context, uri: str, id: int, text: str) -> dict[str, str]:
    """Adds and removes tags by name, and returns the fields that undo it. Raises NotFound, Forbidden, Invalid,
    NotOffered for a type without tags."""

    def write(tx: Transaction) -> dict[str, str]:
        writing, record = RecordWriter(ctx, tx), [{"id": id}]
        record_type = writing.registry.type(uri)
        table = _table(record_type)
        before = {name for _, name, _ in tags.rows_of(tx, table, record)}
        writing.update_sent(record_type, id, {"tag_names": text})
        after = {name for _, name, _ in tags.rows_of(tx, table, record)}
        return {"tag_names": ", ".join([*(f"-{name}" for name in sorted(after - before)), *sorted(before - after)])}

    return ctx.service.store.write(write)


def _table(record_type: RecordType) -> Table:
    """Returns the table of the tags of a type. Raises NotOffered for a type without tags."""
    table = next((trait.table for trait in record_type.traits if isinstance(trait, Tags)), None)
    if table is None:
        raise NotOffered(lazy_gettext("{types} have no tags", types=shown(record_type.label_names[1])))
    return table
