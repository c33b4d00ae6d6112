"""Fills a new database with the tickets of data.py, in bulk: a million in minutes.

All other records are created by the service. Then the indexes, triggers and counts of the database are removed,
the rows of one table after the other are inserted, and the code that upgrades an old database at a start restores
what was removed; so whatever a later version counts or indexes is included."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from server import app, clock
from server.access.service_actor import own_context
from server.context import Service
from server.record_types import registry as record_types
from server.record_types.registry import Registry
from server.record_types.shared.relation_tables import CUSTOM_VALUE, REQUESTER
from server.records.service_settings import put
from server.records.writing import RecordWriter
from server.settings import load
from server.store import schema, sqlite_schema
from server.store.fulltext import TextIndex
from server.store.tables import Table
from server.store.transaction import Transaction
from server.tickets import due_times, target_alerts, wait_fill
from tests.bench.data import (
    GROUPS,
    ORGS,
    OWNERS,
    SENDERS,
    SHAPE,
    TIERS,
    Sample,
    org_name,
    samples,
    sender_of,
)

ADDRESS = "HELPDESK_DATABASE"  # environment variable with the address of a PostgreSQL database
WRITE_SECONDS = 3600  # longest time of a write: indexes are created in a single one
CACHE_KIB = 256 * 1024
MERGED_PAGES = 10_000  # pages of a full-text index that are merged at once
CLOSED_SECONDS = 86_400  # from opening to closing a ticket
CLOSED = 2

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Surroundings:
    """Records that tickets refer to, by id. buckets: (group, its bucket). senders: the addresses of data.sender_of,
    in order. tier, order: custom fields."""

    buckets: list[tuple[int, int]]
    orgs: list[int]
    owners: list[int]
    senders: list[int]
    tier: int
    order: int


@dataclass(frozen=True)
class Batch:
    """Rows for one table. text: the full-text index for the rows, whose first column is the row id."""

    columns: tuple[str, ...]
    rows: Iterable[Row]
    table: Table | None = None
    text: TextIndex | None = None


class Target(Protocol):
    """A database that is filled without the service."""

    def strip(self, tables: Sequence[Table]) -> None:
        """Removes indexes, triggers and counts, and the mark that all exist."""

    def fill(self, batch: Batch) -> None:
        """Inserts rows."""

    def finish(self) -> None:
        """Leaves the database in a state that the service accepts."""


def key() -> str:
    """Returns a digest of everything that stored data depends on: the tables and this file's data."""
    registry = record_types.load()
    outline = sqlite_schema.outline(schema.base_tables(app.all_tables(registry)), registry.texts())
    return hashlib.sha256("\n".join([str(SHAPE), *outline]).encode()).hexdigest()[:10]


def load_tickets(data_folder: Path, count: int) -> None:
    """Fills a new data folder, or the database that ADDRESS names, with samples(count), with ids from 1 in their
    order.

    No server may use it during the call."""
    service = _opened(data_folder)
    try:
        around = service.store.write(lambda tx: _surroundings(service, tx))
    finally:
        service.store.close()
    registry = service.registry
    target = _target(data_folder)
    target.strip([registry.type("ticket").table, registry.type("message").table, REQUESTER, CUSTOM_VALUE])
    for batch in _batches(registry, around, count):
        target.fill(batch)
    target.finish()
    service = _opened(data_folder)  # restores what was removed
    try:
        _settle(service)
    finally:
        service.store.close()


def _settle(service: Service) -> None:
    """Does the work that would occupy the first start for minutes during measurements: the check of service targets
    for each ticket, and the times that customers waited for each reply."""
    service.store.write(lambda tx: put(tx, target_alerts.SEEN, tx.version(due_times.VERSION)))
    while wait_fill.fill(service, clock.now()) is not None:
        pass


def _opened(data_folder: Path) -> Service:
    given = {"data": str(data_folder), "read_seconds": str(WRITE_SECONDS), "sqlite_cache_kib": str(CACHE_KIB // 4)}
    return app.open_service(load(given, os.environ))


def _target(data_folder: Path) -> Target:
    if ADDRESS in os.environ:
        from tests.bench.loading_postgresql import (
            PostgresqlTarget,
        )  # its driver is only installed where PostgreSQL is measured

        return PostgresqlTarget(os.environ[ADDRESS])
    return SqliteTarget(data_folder / app.DATABASE)


def _surroundings(service: Service, tx: Transaction) -> Surroundings:
    """Creates groups, organizations, owners, contacts and custom fields through the service."""
    writing = RecordWriter(own_context(service), tx)
    for name in GROUPS:
        writing.create("group", {"name": name})
    orgs = [writing.create("org", {"name": org_name(number)}) for number in range(ORGS)]
    owners = [
        writing.create("worker", {
            "first_name": f"Owner {number}", "email_id": _address(writing, f"owner{number}@desk.example"),
            "at_mention_name": f"owner{number}", "language": "en_US", "timezone": "UTC",
        })
        for number in range(OWNERS)
    ]  # fmt: skip
    senders = [_address(writing, sender_of(number)) for number in range(SENDERS)]
    for number, address in enumerate(senders):
        writing.create("contact", {
            "first_name": "Customer", "last_name": str(number), "email_id": address, "org_id": orgs[number % ORGS],
        })  # fmt: skip
    field = {"context": "svc.contexts.ticket", "params": {}}
    tier = writing.create("custom_field", field | {
        "name": "Tier", "uri": "tier", "type": "D", "params": {"options": list(TIERS)},
    })  # fmt: skip
    order = writing.create("custom_field", field | {"name": "Order number", "uri": "order", "type": "S"})
    bucket = service.registry.type("bucket").table
    group, id = bucket.position["group_id"], bucket.position["id"]
    return Surroundings([(row[group], row[id]) for row in tx.find(bucket)], orgs, owners, senders, tier, order)


def _address(writing: RecordWriter, email: str) -> int:
    return writing.create("address", {"email": email})


def _batches(registry: Registry, around: Surroundings, count: int) -> Iterator[Batch]:
    """Yields all rows of tickets, one table after the other. Samples are computed again for each table, which is
    faster than storing them."""
    ticket, message = registry.type("ticket"), registry.type("message")
    assert ticket.text is not None and message.text is not None
    yield Batch(TICKET, _rows(count, lambda each: [_ticket(each, around)]), ticket.table)
    yield Batch(MESSAGE, _rows(count, lambda each: _messages(each, around)), message.table)
    yield Batch(REQUESTER.names, _rows(count, lambda each: [(each.number, _sender(each, around))]), REQUESTER)
    yield Batch(VALUE, _rows(count, lambda each: _values(each, around)), CUSTOM_VALUE)
    yield Batch(("rowid", "subject"), _rows(count, lambda each: [(each.number, each.subject())]), text=ticket.text)
    yield Batch(WORDS, _rows(count, _words), text=message.text)


def _rows(count: int, of: Callable[[Sample], Iterable[Row]]) -> Iterator[Row]:
    for each in samples(count):
        yield from of(each)


TICKET = (
    "id", "subject", "mask", "group_id", "bucket_id", "status_id", "importance", "org_id", "owner_id", "created",
    "updated", "closed", "last_opened_at", "num_messages", "num_messages_in", "first_wrote_address_id",
    "last_wrote_address_id", "initial_message_id", "latest_message_id",
)  # fmt: skip
MESSAGE = (
    "id", "ticket_id", "sender_id", "created", "content", "headers", "message_id", "storage_size",
    "hash_header_message_id", "token",
)  # fmt: skip
VALUE = ("field_id", "record_id", "place", "text")
WORDS = ("rowid", "content", "header_from", "header_subject")


def _ticket(sample: Sample, around: Surroundings) -> Row:
    number, created, sender, status = sample.number, sample.created, _sender(sample, around), sample.status
    group, bucket = around.buckets[number % len(around.buckets)]
    many, first = sample.size, sample.first_message
    return (
        number, sample.subject(), f"BNC-{number:05}-{number % 900 + 100}", group, bucket, status, 50,
        around.orgs[number % ORGS], around.owners[number % OWNERS], created, created + 600,
        created + CLOSED_SECONDS if status == CLOSED else 0, created, many, many, sender, sender, first,
        first + many - 1,
    )  # fmt: skip


def _messages(sample: Sample, around: Surroundings) -> Iterator[Row]:
    number, subject, email = sample.number, sample.subject(), sender_of(sample.sender)
    sender, created = _sender(sample, around), sample.created
    for place, content in enumerate(sample.messages()):
        message_id = f"<{number}.{place}@example.com>"
        yield (
            sample.first_message + place, number, sender, created + place * 60, content,
            f"Message-Id: {message_id}\nFrom: {email}\nSubject: {subject}", message_id, len(content),
            hashlib.sha1(message_id.encode()).hexdigest(), f"{number}-{place}",
        )  # fmt: skip


def _words(sample: Sample) -> Iterator[Row]:
    first, subject, email = sample.first_message, sample.subject(), sender_of(sample.sender)
    for place, content in enumerate(sample.messages()):
        yield first + place, content, email, subject


def _values(sample: Sample, around: Surroundings) -> Iterator[Row]:
    yield around.tier, sample.number, 0, TIERS[sample.number % len(TIERS)]
    yield around.order, sample.number, 0, f"A-{sample.number}"


def _sender(sample: Sample, around: Surroundings) -> int:
    return around.senders[sample.sender]


class SqliteTarget:
    """A database file."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{CACHE_KIB}"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def strip(self, tables: Sequence[Table]) -> None:
        execute = self._connection.execute
        for table in tables:
            found = execute(
                "SELECT type, name FROM sqlite_master WHERE tbl_name=? AND type<>'table' AND sql IS NOT NULL",
                (table.name,),
            ).fetchall()
            for kind, name in found:
                execute(f'DROP {kind} "{name}"')
            if table.summary:
                execute(f'DROP TABLE "{table.summary_table.name}"')
        execute("DELETE FROM meta WHERE name=?", (schema.SCHEMA,))

    def fill(self, batch: Batch) -> None:
        names = ", ".join(f'"{name}"' for name in batch.columns)
        marks = ", ".join("?" * len(batch.columns))
        name = batch.table.name if batch.table is not None else batch.text.name if batch.text is not None else ""
        with self._connection:
            self._connection.executemany(f'INSERT INTO "{name}" ({names}) VALUES ({marks})', batch.rows)
        if batch.text is not None:
            self._merge(batch.text)

    def _merge(self, text: TextIndex) -> None:
        """Completes pending merges, which many writes at once postpone and the first requests would have to do.
        Merging everything into one segment would differ from a desk that has grown, and would be merged again
        with the first words."""
        done = MERGED_PAGES
        while done > 1:  # following SQLite's documentation
            before = self._connection.total_changes()
            self._connection.execute(
                f'INSERT INTO "{text.name}" ("{text.name}", rank) VALUES (\'merge\', ?)', (MERGED_PAGES,)
            )
            done = self._connection.total_changes() - before

    def finish(self) -> None:
        self._connection.execute("PRAGMA journal_mode=WAL").fetchall()
        self._connection.close()
