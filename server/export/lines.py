"""Records as lines of JSON: their columns by name, times as people write them, and what hangs on them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from server.export import contents
from server.export.secret import without_secrets
from server.fields import Timestamp
from server.records.base import Record, RecordType
from server.records.registry import Registry
from server.records.shared import custom
from server.records.shared.tables import ATTACHED, CUSTOM_VALUE, GROUP_MEMBER, LINK, REQUESTER
from server.store.statements import in_list, slot
from server.store.tables import Table, table_named
from server.store.transaction import Transaction

PAGE = 100  # records whose links, files and so on are looked up together
EMBEDDED = frozenset(table.name for table in (ATTACHED, CUSTOM_VALUE, GROUP_MEMBER, LINK, REQUESTER))
_LAST_SECOND = 253_402_300_799  # of the year 9999
_TIME = re.compile(r".*_at\Z|date_(?:start|end)\Z")


class Lines:
    """Makes the lines of one snapshot."""

    def __init__(self, tx: Transaction, registry: Registry, with_secrets: bool) -> None:
        self._tx = tx
        self._registry = registry
        self._with_secrets = with_secrets
        self._customs = custom.definitions(tx)

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
        """All rows of a table that belongs to no type."""
        rows = self._tx.each(lambda: table.sql.select(*table.all_columns))
        for row in rows:
            yield line(dict(zip(table.names, row, strict=True)))

    def _shown(self, record_type: RecordType, record: Record, times: frozenset[str]) -> dict[str, Any]:
        shown: dict[str, Any] = {"_type": record_type.uri, "id": record["id"]}
        if record_type.label_column in record:
            shown["_label"] = record[record_type.label_column]
        values = record if self._with_secrets else without_secrets(record_type.uri, record)
        for name, value in values.items():
            if name.endswith("blob_id"):
                shown[contents.key_of(name)] = contents.path_of(record_type, name, record)
            elif name in times:
                shown[name] = time_text(value)
            else:
                shown.setdefault(name, value)
        return shown

    # -- what hangs on records --------------------------------------------------------------------------------------

    def _extras(self, record_type: RecordType, records: list[Record]) -> dict[int, dict[str, Any]]:
        """{record id: {key: value}}; a key is there when there is something."""
        found: dict[int, dict[str, Any]] = {}
        ids = [record["id"] for record in records]
        if "links" in record_type.features:
            self._add(found, "links", self._links(record_type, ids))
        if "attachments" in record_type.features:
            self._add(found, "attachment_ids", self._attached(record_type, ids))
        if "custom_fields" in record_type.features:
            for id, name, value in self._custom_values(record_type, records):
                found.setdefault(id, {}).setdefault("custom", {})[name] = value
        if record_type.uri == "ticket":
            self._add(found, "requesters", self._requesters(ids))
        if record_type.uri == "group":
            self._add(found, "members", self._members(ids))
        return found

    @staticmethod
    def _add(found: dict[int, dict[str, Any]], key: str, pairs: Iterable[tuple[int, Any]]) -> None:
        for id, value in pairs:
            found.setdefault(id, {}).setdefault(key, []).append(value)

    def _links(self, record_type: RecordType, ids: list[int]) -> list[tuple[int, str]]:
        table: Any = LINK.sql
        rows = self._tx.rows(
            lambda: (
                table.select(table.from_id, table.to_context, table.to_id)
                .where(table.from_context == slot(0), in_list(table.from_id, slot(1)))
                .order_by(table.from_id, table.to_context, table.to_id)
            ),
            (record_type.context, json.dumps(ids)),
        )
        return [(id, f"{context}:{other}") for id, context, other in rows]

    def _attached(self, record_type: RecordType, ids: list[int]) -> list[tuple[int, int]]:
        table: Any = ATTACHED.sql
        return self._tx.rows(
            lambda: (
                table.select(table.record_id, table.attachment_id)
                .where(table.context == slot(0), in_list(table.record_id, slot(1)))
                .order_by(table.record_id, table.attachment_id)
            ),
            (record_type.context, json.dumps(ids)),
        )

    def _requesters(self, ids: list[int]) -> list[tuple[int, str]]:
        table: Any = REQUESTER.sql
        address = table_named("address")
        return self._tx.rows(
            lambda: (
                table.select(table.ticket_id, address.c.email)
                .join(address, on=(address.c.id == table.address_id))
                .where(in_list(table.ticket_id, slot(0)))
                .order_by(table.ticket_id, address.c.email)
            ),
            (json.dumps(ids),),
        )

    def _members(self, ids: list[int]) -> list[tuple[int, dict[str, Any]]]:
        table: Any = GROUP_MEMBER.sql
        rows = self._tx.rows(
            lambda: table.select(table.group_id, table.worker_id, table.is_manager)
            .where(in_list(table.group_id, slot(0))).order_by(table.group_id, table.worker_id),
            (json.dumps(ids),),
        )  # fmt: skip
        roles = {0: "member", 1: "manager"}
        return [(group, {"worker_id": worker, "role": roles[manager]}) for group, worker, manager in rows]

    def _custom_values(self, record_type: RecordType, records: list[Record]) -> Iterator[tuple[int, str, Any]]:
        """(record id, `custom_<n>`, value); fields that hold several have a list."""
        fields = {each.id: each for each in self._customs.of(record_type.context)}
        for id, values in custom.values_of(self._tx, list(fields.values()), records).items():
            for field_id, listed in values.items():
                yield id, f"custom_{field_id}", custom.shown_value(fields[field_id], listed)


def line(values: Mapping[str, Any]) -> bytes:
    """One line: JSON, as UTF-8.

    >>> line({"id": 1, "name": "Jörg"})
    b'{"id": 1, "name": "J\\xc3\\xb6rg"}\\n'
    """
    try:
        return (json.dumps(values, ensure_ascii=False, default=_bytes) + "\n").encode()
    except UnicodeEncodeError:  # bytes that are no text are kept as halves of characters
        return (json.dumps(values, default=_bytes) + "\n").encode()


def time_text(second: Any) -> str | None:
    """A time in UTC; None for none.

    >>> time_text(1_795_187_045), time_text(0)
    ('2026-11-20T15:04:05Z', None)
    """
    if not isinstance(second, int) or not 0 < second <= _LAST_SECOND:
        return None if not second else str(second)
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time_columns(record_type: RecordType) -> frozenset[str]:
    declared = {name for name, field in record_type.fields.items() if isinstance(field, Timestamp) and field.stored}
    integers = {column.name for column in record_type.table.columns if column.kind == "INTEGER"}
    return frozenset(declared | {name for name in integers if _TIME.match(name)})


def _pages(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while page := list(islice(rows, size)):
        yield page


def _bytes(value: Any) -> str:
    return bytes(value).hex()
