"""Fills full-text indexes that are newer than their records, or that contain words by earlier rules: in portions, the
newest records first. Progress survives a crash. Until then, searches report that words of older records may be
missing."""

import time
from functools import partial

from server.access.service_actor import own_context
from server.context import Service
from server.jobs import processes
from server.jobs.scheduler import at_start, periodic
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.records.writing import RecordWriter
from server.store import fulltext
from server.store.database import Store
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import N_

PORTION = 100  # records per write
PORTION_SECONDS = 0.02  # a portion ends after this time, so that other writes run
TURN_PORTIONS = 50  # per scan, so that other scans run in between
FILLING: StoreLocal[dict[str, float]] = StoreLocal()  # {index: progress from 0 to 1}


@at_start("words of older records")
def look(service: Service, now: int) -> None:
    """Reads which indexes are incomplete, and their progress."""
    _read_progress(service.store)


@periodic(
    N_("words of older records"),
    N_("Adds them to new full-text indexes until they are complete."),
    everywhere=True,
)
def fill(service: Service, now: int) -> int | None:
    """Fills indexes one by one, a limited number of portions per scan. Returns `now` while some are incomplete."""
    names = list(_read_progress(service.store))
    if not names or not processes.leads(service):  # the other processes only report progress
        return None
    types = {each.text.name: each for each in service.registry if each.text is not None}
    for _ in range(TURN_PORTIONS):
        name = names[0]
        if not service.store.write(partial(_portion, service, types.get(name), name, now)):
            del names[0]
            if not names:
                break
    return now if _read_progress(service.store) else None


def notes(store: Store, registry: Registry, record_type: RecordType) -> list[str]:
    """The remarks for a search of a type by words; [] if its indexes are complete."""
    filling = FILLING.get(store)
    if filling is None:  # a search before the scheduler started
        filling = _read_progress(store)
    if not filling:
        return []
    used = {each.name for filter in record_type.filters for each in getattr(filter, "indexes", ())}
    return [
        f"words of older {each.label_names[1].lower()} are being put into the index, {filling[each.text.name]:.0%} are "
        "there; until then, searches by words may not find them"
        for each in registry
        if each.text is not None and each.text.name in filling.keys() & used
    ]


def _read_progress(store: Store) -> dict[str, float]:
    rows = store.read(lambda tx: tx.find(fulltext.TEXT_FILL))
    progress = {name: 1 - next_id / top_id for name, next_id, top_id, _ in rows}
    FILLING.set(store, progress)
    return progress


def _portion(service: Service, record_type: RecordType | None, name: str, now: int, tx: Transaction) -> bool:
    """Indexes one portion of an index. Returns whether more remain."""
    row = tx.first(fulltext.TEXT_FILL, name=name)
    if row is None:
        return False
    _, at_id, top_id, is_refill = row
    writing = RecordWriter(own_context(service, now), tx)
    next_id = _fill(writing, record_type, at_id, bool(is_refill)) if record_type is not None else 0
    if next_id:
        tx.put(fulltext.TEXT_FILL, {"name": name, "next_id": next_id, "top_id": top_id, "is_refill": is_refill})
    else:
        tx.delete(fulltext.TEXT_FILL, name=name)
    return next_id > 0


def _fill(writing: RecordWriter, record_type: RecordType, next_id: int, is_refill: bool) -> int:
    """Indexes records from this id down; returns the id to continue with, 0 at the end."""
    began, tx, text = time.perf_counter(), writing.tx, record_type.text
    assert text is not None
    table = record_type.table
    rows = tx.rows(
        lambda: (
            table.sql.select(*table.all_columns)
            .where(table.sql.id <= slot(0))
            .order_by(table.sql.id.desc())
            .limit(slot(1))
        ),
        (next_id, PORTION),
    )
    for row in rows:
        parts = record_type.texts(record_type.record(row), writing)
        if not is_refill or not all(part.isascii() for part in parts.values()):
            fulltext.index(tx, text, row[0], parts)
        next_id = row[0] - 1
        if time.perf_counter() - began > PORTION_SECONDS:
            return int(next_id)
    return int(next_id) if len(rows) == PORTION else 0
