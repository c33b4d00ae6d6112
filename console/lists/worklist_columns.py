"""The columns of lists: those that a page declares, and one for every key of the record type."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from console.html import ui
from console.http.visit import Visit
from server.context import Context
from server.dataclass import dataclass
from server.record_types import describe
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.shared import custom, paths
from server.record_types.shared.custom import FieldDefinition
from server.records import records, sheet
from server.translation import N_, Words

MAX_CELL_CHARS = 120  # characters of a cell; the page of the record shows the whole text

Cell = Callable[[Visit, Mapping[str, Any], Any], str]


@dataclass(frozen=True)
class ListColumn:
    """A column of a list.

    key: its name in the address. cell: returns the HTML of a row's value, from the row and what the page loaded. sort:
    the filter that sorts by it, "" for none. kind: `main`, `word`, `number` or "". expand: the key that a search must
    expand for it. value: the value in exports; None if it is the API key of the same name. is_time: whether the value
    is in Unix seconds."""

    key: str
    label: Words
    cell: Cell
    sort: str = ""
    kind: str = ""
    expand: str = ""
    value: Callable[[Mapping[str, Any], Any], Any] | None = None
    is_time: bool = False


def available(
    ctx: Context, record_type: RecordType, own: tuple[ListColumn, ...], row_path: str = ""
) -> dict[str, ListColumn]:
    """The columns by key: those of the page, then the keys of the type, then its custom fields. row_path: the path of a
    record's page, with {id}; "" for the page that every record has."""
    columns = by_key(own)
    for each in _of_type(record_type, row_path):
        columns.setdefault(each.key, each)
    if "custom_" in record_type.expand_by_name:
        fields = records.reading(ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
        for field in fields:
            column = _of_custom(field)
            columns.setdefault(column.key, column)
    return columns


def by_key(own: tuple[ListColumn, ...]) -> dict[str, ListColumn]:
    """{key: column} of the columns that a page declares."""
    return {each.key: each for each in own}


@lru_cache(256)  # takes 4 % off the inbox; a custom type that changes is another RecordType
def _of_type(record_type: RecordType, row_path: str) -> tuple[ListColumn, ...]:
    sorts = describe.sort_filters(record_type)
    columns = [_label(record_type, row_path, sorts)]
    behind: set[str] = set()
    for nested in record_type.nested:
        behind |= {f"{nested.prefix}_id", f"{nested.prefix}__context"}
        if nested.stub:
            columns.append(_of_nested(nested.prefix, sorts))
    for key in describe.keys(record_type):
        name = str(key["key"])
        if key["returned"] == "default" and not name.startswith("_") and name not in behind:
            kind = sheet.KINDS.get(key["type"], "text")
            column = ListColumn(
                name,
                field_label(name),
                _cell(name, kind),
                sorts.get(name, ""),
                "number" if key["type"] in ("number", "uint", "float") else "",
                is_time=kind == "time",
            )
            columns.append(column)
    return tuple(columns)


def _label(record_type: RecordType, row_path: str, sorts: Mapping[str, str]) -> ListColumn:
    """The label of a record, linked to its page."""
    at = row_path or paths.record(record_type.uri, 0)[:-1] + "{id}"

    def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
        text = str(row["_label"]) or f"{record_type.label_names[0]} {row['id']}"
        return ui.link(at.format(id=row["id"]), text)

    name = N_("Name") if record_type.label_column == "name" else record_type.label_names[0]
    return ListColumn("_label", name, cell, sorts.get(record_type.label_column, ""), "main")


def _cell(name: str, kind: str) -> Cell:
    def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
        return _value(visit, row.get(name), kind)

    return cell


def _value(visit: Visit, value: Any, kind: str) -> str:
    if value in ("", None, [], {}):
        return ""
    if kind == "time":
        return ui.when(visit, int(value)) if value else ""
    if kind == "flag":
        return ui.tick_mark(bool(value))
    if kind == "url":
        return str(value)[:MAX_CELL_CHARS]
    if isinstance(value, (list, dict)):
        return ui.as_json(value)[:MAX_CELL_CHARS]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ui.number(visit, value) if kind != "id" else str(value)
    text = str(value)
    return ui.name(text if len(text) <= MAX_CELL_CHARS else f"{text[:MAX_CELL_CHARS]}…")


def _of_nested(prefix: str, sorts: Mapping[str, str]) -> ListColumn:
    def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
        id = row.get(f"{prefix}_id")
        if not id:
            return ""
        target_link = sheet.link(visit.service.registry, row[f"{prefix}__context"], id, row.get(f"{prefix}__label"))
        return ui.link(target_link.path, target_link.label) if target_link.path else ui.name(target_link.label)

    sort = sorts.get(f"{prefix}_id", "")
    return ListColumn(
        prefix,
        field_label(prefix),
        cell,
        sort if "." not in sort else "",
        "word",
        f"{prefix}_",
        lambda row, more: row.get(f"{prefix}__label") or row.get(f"{prefix}_id") or "",
    )


def _of_custom(field: FieldDefinition) -> ListColumn:
    key = f"custom_{field.id}"
    kind = sheet.CUSTOM_KINDS.get(field.kind, "text")

    def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
        value = row.get(f"{key}_label") if field.kind == "Y" else row.get(key)
        return _value(visit, int(value) if value and kind in ("time", "flag") else value, kind)

    return ListColumn(key, field.name, cell, "", "", "custom_", is_time=kind == "time")
