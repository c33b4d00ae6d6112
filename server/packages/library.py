"""Past imports of packages: their records, their time, and which records still exist."""

import json
from collections.abc import Iterable
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.packages.package_document import PackageDocument, Tree
from server.packages.requirements import is_lower
from server.record_types.registry import Registry
from server.store.tables import Column, Index, Table
from server.store.transaction import Row, Transaction
from server.translation import _

MAX_IMPORTS = 500  # stored; the oldest are deleted first
PACKAGE_IMPORT = Table(
    "package_import",
    [
        Column("name", "TEXT"),
        Column("revision", "TEXT"),
        Column("worker_id"),
        Column("imported_at"),
        Column("made", "TEXT"),
    ],
    [Index(("name",), "the imports of one package")],
)


Made = list[tuple[str, str, int, str]]


@dataclass(frozen=True)
class PastImport:
    """A past import. worker_id: the importer, 0 for the service itself; worker: their name, "" if they are gone. made:
    the created records, as (context, uid, id, label). there: how many of them still exist."""

    id: int
    name: str
    revision: str
    worker_id: int
    imported_at: int
    made: Made
    there: int
    worker: str


def remember(ctx: Context, tx: Transaction, document: PackageDocument, made: dict[str, dict[str, Tree]]) -> None:
    """Stores an import within its own transaction."""
    entries = [
        [context, uid, each["id"], str(each["label"])]
        for context, of_type in made.items()
        if ctx.service.registry.find(context) is not None
        for uid, each in of_type.items()
    ]
    id = tx.insert(
        PACKAGE_IMPORT,
        {
            "name": document.name,
            "revision": document.revision,
            "worker_id": ctx.actor.worker_id,
            "imported_at": ctx.now,
            "made": json.dumps(entries, ensure_ascii=False),
        },
    )
    tx.delete(PACKAGE_IMPORT, id=id - MAX_IMPORTS)


def list_imports(ctx: Context, name: str | None = None) -> list[PastImport]:
    """Returns the imports of one package or of all packages, the newest first."""

    def read(tx: Transaction) -> list[PastImport]:
        rows = tx.find(PACKAGE_IMPORT) if name is None else tx.find(PACKAGE_IMPORT, name=name)
        return _pasts(ctx.service.registry, tx, rows)

    return sorted(ctx.service.store.read(read), key=lambda each: -each.id)


def one(ctx: Context, id: int) -> PastImport:
    """Returns one import. Raises NotFound."""

    def read(tx: Transaction) -> list[PastImport]:
        row = tx.get(PACKAGE_IMPORT, id)
        return _pasts(ctx.service.registry, tx, [row] if row is not None else [])

    imports = ctx.service.store.read(read)
    if not imports:
        raise NotFound(f"import {id} does not exist, or is too old")
    return imports[0]


def there(ctx: Context, past: PastImport) -> set[tuple[str, int]]:
    """Returns the records of an import that still exist, as (context, id)."""
    records = [(context, id) for context, _uid, id, _label in past.made]
    return ctx.service.store.read(lambda tx: existing(ctx.service.registry, tx, records))


def existing(registry: Registry, tx: Transaction, records: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Returns the records that exist. records: (context, id)."""
    ids: dict[str, set[int]] = {}
    for context, id in records:
        ids.setdefault(context, set()).add(id)
    existing_records = set()
    for context, type_ids in ids.items():
        record_type = registry.find(context)
        if record_type is not None:
            existing_records |= {(context, row[0]) for row in tx.get_many(record_type.table, type_ids)}
    return existing_records


def _pasts(registry: Registry, tx: Transaction, rows: list[Row]) -> list[PastImport]:
    read: list[tuple[dict[str, Any], Made]] = []
    for row in rows:
        values = dict(zip(PACKAGE_IMPORT.names, row, strict=True))
        records = [(context, uid, id, label) for context, uid, id, label in json.loads(values.pop("made"))]
        read.append((values, records))
    still_there = existing(
        registry, tx, ((context, id) for _values, records in read for context, _uid, id, _label in records)
    )
    workers = _workers(registry, tx, {values["worker_id"] for values, _records in read})
    return [
        PastImport(
            made=records,
            there=sum((context, id) in still_there for context, _uid, id, _label in records),
            worker=workers.get(values["worker_id"], ""),
            **values,
        )
        for values, records in read
    ]


def _workers(registry: Registry, tx: Transaction, ids: set[int]) -> dict[int, str]:
    """Returns the names of importers by id, without those who are gone."""
    workers = registry.type("worker")
    records = [workers.record(row) for row in tx.get_many(workers.table, ids)]
    return {each["id"]: workers.label(each) for each in records} | {0: _("the service")}


def newer_revision(imports: list[PastImport], document: PackageDocument) -> str:
    """Returns the first imported revision that is newer than the revision of a package; "" if there is none."""
    return next((each.revision for each in imports if is_lower(document.revision, each.revision)), "")
