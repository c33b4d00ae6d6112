"""Activity entries about administrative acts: a record was created, changed or deleted, and by whom.

RecordWriter writes them for every submitted change, whether it comes from the console, the API, a package, a script
or a command. The declaration of the type says which acts are administrative (RecordType.acts). Entries contain names
of fields and whether a flag is on or off. They contain no other values, which may be secrets."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from server.fields import Bit
from server.record_types.record_type import Change, Record, RecordType
from server.record_types.shared.act_sentences import SWITCHES, WORDS

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

HASH = "_hash"  # suffix of columns that store a hash of the field of that name
APART = frozenset(("links", "members"))  # changes of these have their own entries
MAX_CHANGES_CHARS = 1000  # in one entry; reached only with hundreds of custom fields


def log_created(writing: "RecordWriter", change: Change) -> None:
    """Logs the creation of a record, and any switch that the creation turned on."""
    _log(writing, change, "create", {})
    for uri, name in SWITCHES:
        if uri == change.type.uri and name in change.new and change.changes(name):
            _log_switch(writing, change, name)


def log_changed(writing: "RecordWriter", change: Change, customs: Sequence[str]) -> None:
    """Logs the changed fields of a record; writes no entry if none changed. customs: names of the changed custom
    fields."""
    names = sorted(set(_names(change)))
    switched = [name for name in names if (change.type.uri, name) in SWITCHES]
    for name in switched:
        _log_switch(writing, change, name)
    rest = [_name_with_state(change, name) for name in names if name not in switched] + list(customs)
    if rest:
        _log(writing, change, "update", {"changes": ", ".join(rest)[:MAX_CHANGES_CHARS]})


def log_deleted(writing: "RecordWriter", record_type: RecordType, record: Record) -> None:
    """Logs the deletion of a record. The entry outlives the record and has no target."""
    variables = {"record_label": record_type.name_in_log(record), "record_id": str(record["id"])}
    writing.log(f"{record_type.uri}.{WORDS['delete']}", "", 0, variables)


def _names(change: Change) -> Iterator[str]:
    """Yields the fields whose values the change replaces, and submitted non-empty fields that are not stored in
    columns."""
    fields = change.type.fields
    for column in change.new:
        name = column.removesuffix(HASH)
        if name in fields and not fields[name].auto_update and change.changes(column):
            yield name
    for name in change.sent:
        field = fields[change.type.alternatives.get(name, name)]
        is_given = change.extras.get(field.name) not in (None, "")
        if not field.stored and not field.alternative_to and field.name not in APART and is_given:
            yield field.name


def _name_with_state(change: Change, name: str) -> str:
    is_flag = isinstance(change.type.fields[name], Bit)
    return f"{name} ({'yes' if change.value(name) else 'no'})" if is_flag else name


def _log(writing: "RecordWriter", change: Change, operation: str, variables: dict[str, str]) -> None:
    _log_point(writing, change, f"{change.type.uri}.{WORDS[operation]}", variables)


def _log_switch(writing: "RecordWriter", change: Change, name: str) -> None:
    off, on = SWITCHES[change.type.uri, name]
    _log_point(writing, change, on if change.new.get(name, True) else off, {})


def _log_point(writing: "RecordWriter", change: Change, point: str, variables: dict[str, str]) -> None:
    record_type = change.type
    target = record_type.name_in_log(writing.record(record_type.uri, change.id) or {})
    writing.log(point, record_type.context, change.id, {"target": target, **variables})
