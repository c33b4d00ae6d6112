"""Records as lines of JSON: columns by name, readable times, and data that belongs to each record."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from server import clock
from server.export import exported_files
from server.export.secret import without_secrets
from server.fields import Timestamp
from server.record_types.record_type import Record, RecordType
from server.record_types.registry import Registry
from server.store.tables import Table
from server.store.transaction import Transaction

PAGE = 100  # records whose links, files and so on are read together
_LAST_SECOND = 253_402_300_799  # end of the year 9999, Unix seconds
_TIME = re.compile(r".*_at\Z|date_(?:start|end)\Z")


class Lines:
    """Renders the lines of one snapshot."""

    def __init__(self, tx: Transaction, registry: Registry, with_secrets: bool) -> None:
        self._tx = tx
        self._registry = registry
        self._with_secrets = with_secrets

    def of_type(self, record_type: RecordType) -> Iterator[bytes]:
        """All records of a type, by id."""
        table = record_type.table
        rows = self._tx.each(lambda: table.sql.select(*table.all_columns).order_by(table.sql.id))
        times = _time_columns(record_type)
        for page in _pages(rows, PAGE):
            records = [record_type.record(row) for row in page]
            extras = self._extras(record_type, records)
            for record in records:
                yield line(self._shown(record_type, record, times) | extras.get(record["id"], {}))

    def of_table(self, table: Table) -> Iterator[bytes]:
        """All rows of a table without a record type."""
        rows = self._tx.each(lambda: table.sql.select(*table.all_columns))
        for row in rows:
            yield line(dict(zip(table.names, row, strict=True)))

    def _shown(self, record_type: RecordType, record: Record, times: frozenset[str]) -> dict[str, Any]:
        line_values: dict[str, Any] = {"_type": record_type.uri, "id": record["id"]}
        if record_type.label_column in record:
            line_values["_label"] = record[record_type.label_column]
        values = record if self._with_secrets else without_secrets(record_type.uri, record)
        for name, value in values.items():
            if name.endswith("blob_id"):
                line_values[exported_files.key_of(name)] = exported_files.path_of(record_type, name, record)
            elif name in times:
                line_values[name] = time_text(value)
            else:
                line_values.setdefault(name, value)
        return line_values

    def _extras(self, record_type: RecordType, records: list[Record]) -> dict[int, dict[str, Any]]:
        """{record id: {key: value}}, without empty values."""
        extras: dict[int, dict[str, Any]] = {}
        beside = [trait.export(self._tx, record_type, records) for trait in record_type.traits]
        for id, keys in chain(*beside, record_type.export(self._tx, records)):
            extras.setdefault(id, {}).update(keys)
        return extras


def embedded(types: Iterable[RecordType]) -> frozenset[str]:
    """The names of the tables whose rows stand in lines of records."""
    tables = {table.name for each in types for table in each.exported_tables}
    return frozenset(tables | {table.name for each in types for trait in each.traits for table in trait.tables})


def line(values: Mapping[str, Any]) -> bytes:
    """One line: JSON, as UTF-8.

    >>> line({"id": 1, "name": "Jörg"})
    b'{"id": 1, "name": "J\\xc3\\xb6rg"}\\n'
    """
    try:
        return (json.dumps(values, ensure_ascii=False, default=_bytes) + "\n").encode()
    except UnicodeEncodeError:  # bytes that are not text are stored as surrogates
        return (json.dumps(values, default=_bytes) + "\n").encode()


def time_text(second: Any) -> str | None:
    """A time in UTC; None for none.

    >>> time_text(1_795_187_045), time_text(0)
    ('2026-11-20T15:04:05Z', None)
    """
    if not isinstance(second, int) or not 0 < second <= _LAST_SECOND:
        return None if not second else str(second)
    return clock.utc_text(second)


def _time_columns(record_type: RecordType) -> frozenset[str]:
    declared = {name for name, field in record_type.fields.items() if isinstance(field, Timestamp) and field.stored}
    integers = {column.name for column in record_type.table.columns if column.kind == "INTEGER"}
    return frozenset(declared | {name for name in integers if _TIME.match(name)})


def _pages(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while page := list(islice(rows, size)):
        yield page


def _bytes(value: Any) -> str:
    return bytes(value).hex()
