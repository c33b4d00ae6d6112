"""Entries of the activity log about administrative acts on records: that one was made, changed or deleted, by whom.

RecordWriter writes them wherever a record is written as it was sent, so that every way to do it is told of: console,
API, packages, scripts, commands. Which acts these are is said by the declaration of the type (RecordType.acts). Names
of fields are told, and whether something is on or off; no other value, as it may be a secret."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from server.fields import Bit
from server.record_types.base import Change, Record, RecordType
from server.record_types.shared.acts import SWITCHES, WORDS

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

HASH = "_hash"  # ending of columns that keep what a field of the name takes
APART = frozenset(("links", "members"))  # what has entries of its own
MAX_CHANGES_CHARS = 1000  # of an entry; it takes hundreds of custom fields to come so far


def created(writing: "RecordWriter", change: Change) -> None:
    """Tell of a record that was made, and of what weighs more than that it was made."""
    _log(writing, change, "create", {})
    for uri, name in SWITCHES:
        if uri == change.type.uri and name in change.new and change.changes(name):
            _log_switch(writing, change, name)


def changed(writing: "RecordWriter", change: Change, customs: Sequence[str]) -> None:
    """Tell what was changed of a record; nothing when it is as it was. customs: the names of custom fields whose values
    are others now."""
    names = sorted(set(_names(change)))
    switched = [name for name in names if (change.type.uri, name) in SWITCHES]
    for name in switched:
        _log_switch(writing, change, name)
    rest = [_shown(change, name) for name in names if name not in switched] + list(customs)
    if rest:
        _log(writing, change, "update", {"changes": ", ".join(rest)[:MAX_CHANGES_CHARS]})


def deleted(writing: "RecordWriter", record_type: RecordType, record: Record) -> None:
    """Tell of a record that is gone: the entry outlives it, and has no target."""
    told = {"record_label": record_type.told_as(record), "record_id": str(record["id"])}
    writing.log(f"{record_type.uri}.{WORDS['delete']}", "", 0, told)


def _names(change: Change) -> Iterator[str]:
    """The fields that the change gives another value; of what is kept elsewhere those that were sent with one."""
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


def _shown(change: Change, name: str) -> str:
    is_flag = isinstance(change.type.fields[name], Bit)
    return f"{name} ({'yes' if change.value(name) else 'no'})" if is_flag else name


def _log(writing: "RecordWriter", change: Change, operation: str, told: dict[str, str]) -> None:
    _log_point(writing, change, f"{change.type.uri}.{WORDS[operation]}", told)


def _log_switch(writing: "RecordWriter", change: Change, name: str) -> None:
    off, on = SWITCHES[change.type.uri, name]
    _log_point(writing, change, on if change.new.get(name, True) else off, {})


def _log_point(writing: "RecordWriter", change: Change, point: str, told: dict[str, str]) -> None:
    record_type = change.type
    target = record_type.told_as(writing.record(record_type.uri, change.id) or {})
    writing.log(point, record_type.context, change.id, {"target": target, **told})
