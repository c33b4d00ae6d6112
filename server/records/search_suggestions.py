"""Helps to write a search: checks a query, and finds records by name. It counts nothing and stops after a fixed number
of steps."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from server.context import Context
from server.errors import HelpdeskError
from server.record_types.record_type import RecordType
from server.records import records
from server.records.dictionary import Dictionaries
from server.search.compile import SearchScope
from server.search.filters import WordsFilter
from server.search.query_parser import parse
from server.search.select import search as compile_search
from server.store.transaction import Transaction

LOOKUP_STEPS = 400_000  # virtual machine steps of SQLite per keystroke: some hundredths of a second
MAX_NAME_WORDS = 6
Result = TypeVar("Result")


def run_in_scope(ctx: Context, work: Callable[[SearchScope], Result]) -> Result:
    """Runs `work` in one snapshot with the scope in which the caller's searches are compiled."""
    return records.reading(ctx, lambda tx: work(_scope(ctx, tx)))


def check(ctx: Context, record_type: RecordType, q: str) -> None:
    """Compiles a search without running it. Raises BadQuery as the search would."""
    parsed = parse(q)
    records.reading(ctx, lambda tx: compile_search(record_type, parsed, records.search_scope(ctx, tx, parsed)))


def records_by_name(ctx: Context, record_type: RecordType, text: str, limit: int) -> list[tuple[int, str]]:
    """(id, label) of records that the caller may read and whose names contain every word of a text, the newest first;
    any records if the text is empty. Returns fewer or none if the search would take long."""
    if not record_type.offers("search"):
        return []
    words = [word for word in text.replace('"', " ").split() if word.strip("*?")][:MAX_NAME_WORDS]
    term = _term(record_type)
    q = " ".join(term.format(word) for word in words) + " sort:-id"

    def read(tx: Transaction) -> list[tuple[int, str]]:
        tx.store.require_thread()  # on the event loop, its budget and LOOKUP_STEPS raise the same error
        search = compile_search(record_type, parse(q), _scope(ctx, tx))
        return _labelled(ctx, tx, record_type, tx.store.bounded(LOOKUP_STEPS, lambda: search.ids(limit)))

    try:
        return records.reading(ctx, read)
    except HelpdeskError:  # too slow, or words that this type cannot search: no suggestions
        return []


def labels(ctx: Context, record_type: RecordType, ids: Sequence[int]) -> dict[int, str]:
    """{id: label} of the records that the caller may read."""
    if not record_type.offers("search"):
        return {}
    q = f"id:[{','.join(str(id) for id in ids)}]"

    def read(tx: Transaction) -> dict[int, str]:
        readable_ids = compile_search(record_type, parse(q), _scope(ctx, tx)).ids(len(ids))
        return dict(_labelled(ctx, tx, record_type, readable_ids))

    return records.reading(ctx, read)


def _term(record_type: RecordType) -> str:
    """The query term for a word of a name, with {} in place of the word."""
    default = record_type.default_filter
    if not isinstance(default, WordsFilter):
        return 'text:"*{}*"'
    # A search of several indexes, such as all messages of tickets, is too slow for suggestions.
    if len(default.indexes) > 1 and record_type.label_column in record_type.filter_by_name:
        return record_type.label_column + ':"*{}*"'
    return 'text:"{}*"'  # a full-text index finds words by prefix


def _labelled(ctx: Context, tx: Transaction, record_type: RecordType, ids: list[int]) -> list[tuple[int, str]]:
    named_records = [record_type.record(row) for row in tx.get_many(record_type.table, ids)]
    names = record_type.labels(Dictionaries(ctx, tx), named_records)
    return [(id, names[id]) for id in ids if id in names]


def _scope(ctx: Context, tx: Transaction) -> SearchScope:
    return records.search_scope(ctx, tx, parse(""))
