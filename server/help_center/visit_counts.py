"""Counts readers of articles and searches without results, without recording who the visitors are.

Counts are collected in memory and written once a minute, so that no request of a visitor writes."""

import re
import threading
from collections import Counter
from typing import Any

from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.record_types.shared import brands
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

DAY_SECONDS = 86400
RETAINED_DAYS = 365
MAX_READERS = 20_000  # pairs of article and visitor in a minute
MAX_MISSES = 500  # different searches in a minute
MAX_MISSES_OF_DAY = 2000  # different searches per brand
MAX_MISS_CHARS = 80
_PERSONAL = re.compile(r"@|\d[\d\s./-]{5,}\d")  # addresses, telephone and order numbers

MISSED_SEARCH = Table(
    "missed_search",
    [
        Column("brand_id", references="brand(id)"),
        Column("day"),
        Column("words", "TEXT"),
        Column("language", "TEXT"),
        Column("count"),
    ],
    [Index(("day",), "searches of a time")],
    key=("brand_id", "day", "language", "words"),
)


@dataclass(frozen=True, slots=True)
class MissedSearch:
    """Words without results on a day. day: its first second in UTC."""

    brand_id: int
    language: str
    day: int
    words: str
    count: int


class VisitCounts:
    """The counts since the last write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: Counter[int] = Counter()
        self._readers: set[tuple[int, str]] = set()
        self._misses: Counter[tuple[int, int, str, str]] = Counter()

    def count_reader(self, article_id: int, visitor: str) -> None:
        """Counts a reader of an article, once a minute."""
        with self._lock:
            if len(self._readers) < MAX_READERS and (article_id, visitor) not in self._readers:
                self._readers.add((article_id, visitor))
                self._views[article_id] += 1

    def count_miss(self, brand_id: int, language: str, query: str, now: int) -> None:
        """Counts a search without results, unless its words may identify a person."""
        words = " ".join(query.casefold().split())[:MAX_MISS_CHARS]
        if not words or _PERSONAL.search(words):
            return
        key = (brand_id, now - now % DAY_SECONDS, language, words)
        with self._lock:
            if key in self._misses or len(self._misses) < MAX_MISSES:
                self._misses[key] += 1

    def take_counts(self) -> tuple[Counter[int], Counter[tuple[int, int, str, str]]]:
        """Returns and clears the counts."""
        with self._lock:
            taken = self._views, self._misses
            self._views, self._misses, self._readers = Counter(), Counter(), set()
            return taken


_COUNTS: StoreLocal[VisitCounts] = StoreLocal()


def visit_counts(service: Service) -> VisitCounts:
    """The counts of a service."""
    return _COUNTS.made(service.store, VisitCounts)


@periodic(
    N_("visits of the help center"),
    N_("Counts how often articles were read, and searches without results."),
    everywhere=True,
)
def write_counts(service: Service, now: int) -> None:
    """Writes the counts since the last call in one transaction."""
    views, misses = visit_counts(service).take_counts()
    if views or misses:
        service.store.write(lambda tx: _write(tx, views, misses))


@periodic(N_("old searches of the help center"), N_("Deletes old searches without results."), deletes=True)
def forget_searches(service: Service, now: int) -> None:
    """Deletes searches that are older than RETAINED_DAYS."""
    if service.store.read(lambda tx: _has_old(tx, now)):
        missed = MISSED_SEARCH.sql
        service.store.write(lambda tx: tx.run(lambda: missed.delete().where(missed.day < slot(0)), (_oldest(now),)))


def missed_searches(ctx: Context, since: int, brand_id: int | None = None) -> list[MissedSearch]:
    """Returns the searches without results since a time, the latest day and the highest count first. brand_id: None
    for all brands."""
    write_counts(ctx.service, ctx.now)
    missed = MISSED_SEARCH.sql

    def read(tx: Transaction) -> list[MissedSearch]:
        rows = tx.rows(
            lambda: (
                missed.select(missed.brand_id, missed.language, missed.day, missed.words, missed.count)
                .where(missed.day >= slot(0))
                .order_by(missed.day.desc(), missed.count.desc(), missed.words)
            ),
            (since - since % DAY_SECONDS,),
        )
        return [MissedSearch(*row) for row in rows if brand_id in (None, row[0])]

    return ctx.service.store.read(read)


def most_read(service: Service, ids: set[int], number: int) -> list[int]:
    """Returns the ids of the articles that were read most, among those given."""
    table = table_named("kb_article")
    rows = service.store.read(
        lambda tx: tx.rows(
            lambda: table.select(table.c.id).where(table.c.views > 0).order_by(table.c.views.desc(), table.c.id)
        )
    )
    return [id for (id,) in rows if id in ids][:number]


def _write(tx: Transaction, views: Counter[int], misses: Counter[tuple[int, int, str, str]]) -> None:
    table: Any = table_named("kb_article")
    tx.run_many(
        lambda: table.update({table.c.views: table.c.views + slot(0)}).where(table.c.id == slot(1)),
        [(number, id) for id, number in views.items()],
    )
    brand_ids = {each.id for each in brands.all_brands(tx)} if misses else set()
    for (brand_id, day, language, words), number in misses.items():
        if brand_id not in brand_ids:
            continue
        key = {"brand_id": brand_id, "day": day, "language": language, "words": words}
        row = tx.first(MISSED_SEARCH, **key)
        if row is not None:
            tx.put(MISSED_SEARCH, {**key, "count": row[MISSED_SEARCH.position["count"]] + number})
        elif len(tx.find(MISSED_SEARCH, brand_id=brand_id, day=day)) < MAX_MISSES_OF_DAY:
            tx.insert(MISSED_SEARCH, {**key, "count": number})


def _has_old(tx: Transaction, now: int) -> bool:
    missed = MISSED_SEARCH.sql
    return tx.value(lambda: missed.select(missed.day).where(missed.day < slot(0)).limit(1), (_oldest(now),)) is not None


def _oldest(now: int) -> int:
    return now - now % DAY_SECONDS - RETAINED_DAYS * DAY_SECONDS
