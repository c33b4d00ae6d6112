"""Turns submitted values into a change of a record: checks names and required fields, and lets each field read its
value."""

from typing import TYPE_CHECKING, Any

from server.errors import Conflict, Invalid, Mistakes, Required, UnknownField
from server.fields import Field, Intake
from server.fields.field import as_text
from server.record_types.record_type import Change, Record, RecordType
from server.records.dictionary import Dictionaries
from server.translation import about_field, lazy_gettext

if TYPE_CHECKING:
    from server.records.writing import RecordWriter


def read(writing: "RecordWriter", record_type: RecordType, old: Record | None, fields: dict[str, Any]) -> Change:
    """Reads submitted values as a change. Raises Invalid with all mistakes, and Conflict for a value that must be
    unique."""
    sent = dict(fields)
    trait_values = [(trait, trait.take(record_type, sent, writing)) for trait in record_type.value_traits]
    mistakes = Mistakes()
    _check_names(writing, record_type, old, sent, mistakes)
    _check_required(record_type, old, sent, mistakes)
    change = Change(record_type, old["id"] if old else 0, old, {}, {}, frozenset(sent))
    values: dict[str, Any] = dict(old) if old else {}
    intake = writing.intake(values)
    _coerce(change, sent, values, intake, mistakes)
    stamp(change, writing.now)
    for trait, values_taken in trait_values:
        trait.coerce(values_taken, change, intake, mistakes)
    mistakes.require_none()
    for trait in record_type.checking_traits:
        trait.check(change, writing)
    _check_unique(writing, change)
    return change


def _coerce(change: Change, sent: dict[str, Any], values: dict[str, Any], intake: Intake, mistakes: Mistakes) -> None:
    """Reads each value. values: those of the record read so far, which later fields can see through the intake."""
    fields = {name: _field(change.type, name) for name in sent}
    # A field whose target is named by another field is read after it.
    for name, field in sorted(fields.items(), key=lambda each: _is_dependent(each[1])):
        if mistakes and _is_dependent(field):
            continue  # the field it depends on may be the wrong one
        try:
            value = field.coerce(sent[name], intake)
        except Invalid as error:
            mistakes.add(error)
            continue
        if field.stored:
            change.new[field.name] = values[field.name] = value
        else:
            change.extras[field.name] = value


def _is_dependent(field: Field) -> bool:
    return bool(getattr(field, "target_from", ""))


def stamp(change: Change, now: int) -> None:
    """Sets the times that every write sets."""
    new, is_create = change.new, change.is_create
    for name, is_always in change.type.stamped:
        if name not in new and (is_always or is_create):
            new[name] = now


def _field(record_type: RecordType, name: str) -> Field:
    return record_type.fields[record_type.alternatives.get(name, name)]


def _check_names(
    writing: "RecordWriter", record_type: RecordType, old: Record | None, sent: dict[str, Any], mistakes: Mistakes
) -> None:
    """Removes read-only and unknown names from `sent`. Each is a mistake unless its value equals the shown one."""
    wrong = {name: mistake for name in sent if (mistake := _wrong_name(record_type, name)) is not None}
    if not wrong:
        return
    dictionary = {} if old is None else Dictionaries(writing.ctx, writing.tx).show(record_type, [old])[0]
    for name, mistake in wrong.items():
        value = sent.pop(name)
        if name not in dictionary or not _is_as_shown(dictionary[name], value):
            mistakes.add(mistake)


def _is_as_shown(shown: Any, sent: Any) -> bool:
    """Whether a submitted value, from JSON or a form, equals the shown one."""
    if isinstance(shown, dict | list) or isinstance(sent, dict | list):
        return bool(shown == sent)
    return as_text(shown) == as_text(sent)


def _wrong_name(record_type: RecordType, name: str) -> Invalid | None:
    stored_name = record_type.alternatives.get(name, name)
    field = record_type.fields.get(stored_name)
    if name == "id" or (field is not None and field.immutable):
        return Invalid(f"{name}: is set by the service and cannot be sent", field=name)
    return UnknownField(record_type.unknown_field(name), field=name) if field is None or "<" in stored_name else None


def _check_required(record_type: RecordType, old: Record | None, sent: dict[str, Any], mistakes: Mistakes) -> None:
    """Adds a mistake for each missing or blank required field, and removes blank ones from `sent`."""
    for name, field in record_type.required:
        names = [each for each in (name, *field.alternatives) if each in sent]
        if old is None and not names:
            mistakes.add(Required(lazy_gettext("{field} is required", field=name), field=name))
        is_blank = all(_field(record_type, each).is_blank(sent[each]) for each in names)
        if names and is_blank and not getattr(field, "blank_ok", False):
            mistakes.add(Required(lazy_gettext("{field} must not be empty", field=names[0]), field=names[0]))
            for each in names:
                del sent[each]


def _check_unique(writing: "RecordWriter", change: Change) -> None:
    for name, field in change.type.unique:
        if name not in change.new:
            continue
        if change.old is not None and not change.changes(name):
            continue
        value = change.new[name]
        if value in ("", 0):
            if getattr(field, "blank_ok", False) or getattr(field, "zero_ok", False):
                continue
            raise Required(lazy_gettext("{field} must not be empty", field=name), field=name)
        row = writing.tx.first(change.type.table, **{name: value})
        if row is not None and row[0] != change.id:
            problem = lazy_gettext(
                "'{value}' already belongs to {type} {id}", value=value, type=change.type.uri, id=row[0]
            )
            raise Conflict(about_field(name, problem), field=name)


def require_finished(change: Change) -> None:
    """Raises Required unless every required column has a value after `prepare`. Applies to every creation, also by
    hooks."""
    for name in change.type.never_empty:
        value, field = change.value(name), change.type.fields[name]
        is_no_id = value == 0 and field.type == "id" and not getattr(field, "zero_ok", False) and not field.auto
        if value in ("", None) or is_no_id:
            raise Required(lazy_gettext("{field} is required", field=name), field=name)
