"""What helps to write a search: whether one can be understood, and records by their names. Nothing is counted, and
nothing is looked at beyond a fixed number of steps."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from server.context import Context
from server.errors import HelpdeskError
from server.record_types.base import RecordType
from server.records import records
from server.records.dictionary import Dictionaries
from server.search.compile import SearchScope
from server.search.filters import WordsFilter
from server.search.parser import parse
from server.search.select import search as compile_search
from server.store.transaction import Transaction

LOOKUP_STEPS = 400_000  # of SQLite for the names of one keystroke: some hundredths of a second
MAX_NAME_WORDS = 6
Result = TypeVar("Result")


def within(ctx: Context, work: Callable[[SearchScope], Result]) -> Result:
    """Run `work` in one snapshot with the scope that a search of the caller is compiled in."""
    return records.reading(ctx, lambda tx: work(_scope(ctx, tx)))


def check(ctx: Context, record_type: RecordType, q: str) -> None:
    """Read a search as it would be run, without running it. Raises BadQuery as that would."""
    parsed = parse(q)
    records.reading(ctx, lambda tx: compile_search(record_type, parsed, records.search_scope(ctx, tx, parsed)))


def named(ctx: Context, record_type: RecordType, text: str, limit: int) -> list[tuple[int, str]]:
    """(id, label) of records that the caller may read and whose names have every word of a text, the newest first; any
    for no words. Fewer, or none, where finding them would take long."""
    if not record_type.offers("search"):
        return []
    words = [word for word in text.replace('"', " ").split() if word.strip("*?")][:MAX_NAME_WORDS]
    term = _term(record_type)
    q = " ".join(term.format(word) for word in words) + " sort:-id"

    def read(tx: Transaction) -> list[tuple[int, str]]:
        tx.store.require_thread()  # which budget was used up could not be told apart
        wanted = compile_search(record_type, parse(q), _scope(ctx, tx))
        return _labelled(ctx, tx, record_type, tx.store.bounded(LOOKUP_STEPS, lambda: wanted.ids(limit)))

    try:
        return records.reading(ctx, read)
    except HelpdeskError:  # too long, or words that this type cannot look for: then nothing is offered
        return []


def labels(ctx: Context, record_type: RecordType, ids: Sequence[int]) -> dict[int, str]:
    """{id: label} of those that the caller may read."""
    if not record_type.offers("search"):
        return {}
    q = f"id:[{','.join(str(id) for id in ids)}]"

    def read(tx: Transaction) -> dict[int, str]:
        found = compile_search(record_type, parse(q), _scope(ctx, tx)).ids(len(ids))
        return dict(_labelled(ctx, tx, record_type, found))

    return records.reading(ctx, read)


def _term(record_type: RecordType) -> str:
    """How a word of a name is looked for, with {} for it."""
    default = record_type.default_filter
    if not isinstance(default, WordsFilter):
        return 'text:"*{}*"'
    # What looks through several indexes, such as all messages of tickets, costs more than names are worth.
    if len(default.indexes) > 1 and record_type.label_column in record_type.filter_by_name:
        return record_type.label_column + ':"*{}*"'
    return 'text:"{}*"'  # an index of words finds how they begin


def _labelled(ctx: Context, tx: Transaction, record_type: RecordType, ids: list[int]) -> list[tuple[int, str]]:
    found = [record_type.record(row) for row in tx.get_many(record_type.table, ids)]
    shown = record_type.labels(Dictionaries(ctx, tx), found)
    return [(id, shown[id]) for id in ids if id in shown]


def _scope(ctx: Context, tx: Transaction) -> SearchScope:
    return records.search_scope(ctx, tx, parse(""))
