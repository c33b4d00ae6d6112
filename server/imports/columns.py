"""The targets of CSV columns: the writable fields of a record type and its custom fields.

Also guesses the target of each column, and which targets identify a record."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from server.context import Context
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Conflict, Invalid, NotFound, Required, nearest
from server.fields import CustomValues, Field, Fieldsets, Id, Image, Number, References, Text
from server.imports.csv_rows import LOOKED_AT, CsvRow
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared import custom
from server.record_types.shared.custom import FieldDefinition
from server.records import records
from server.records.reading import RecordReader
from server.translation import Words, _, shown

ID = "id"  # a column that identifies the record and is not written
_BY_OTHER_WAYS = (CustomValues, Fieldsets, Image, References)
_SECRETS = ("password", "secret")  # not in any column of a table, and slow to hash
_CUSTOM_KEYS = ("S", "N")  # kinds of custom fields that may hold customer numbers and the like
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class CsvTarget:
    """A target of a column. name: as in requests. field: of the type, else custom. names: other headers for it. is_key:
    whether it identifies a record."""

    name: str
    field: Field | None = None
    custom: FieldDefinition | None = None
    names: tuple[str, ...] = ()
    is_key: bool = False


@dataclass(frozen=True)
class CsvMapping:
    """names: the target of each column, "" for none. key: the target that identifies existing records; "" if all are
    new."""

    uri: str
    names: tuple[str, ...]
    key: str = ""


def targets(ctx: Context, uri: str) -> dict[str, CsvTarget]:
    """The targets of a type by name, first `id`, which only identifies records. Raises NotFound."""
    registry = ctx.service.registry
    record_type = registry.type(uri)
    customs = records.reading(ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
    by_name = {ID: CsvTarget(ID, is_key=True)}
    creating = {each.alternative_to: name for name, each in record_type.fields.items() if each.alternative_to}
    for name, field in record_type.fields.items():
        if not field.immutable and not isinstance(field, _BY_OTHER_WAYS) and not name.endswith(_SECRETS) and name != ID:
            # A header such as "Company" means the field that creates what is missing, where there is one.
            source = record_type.fields.get(field.alternative_to, field) if field.alternative_to else field
            names = () if name in creating else (*_called(registry, source), *_called(registry, field))
            by_name[name] = CsvTarget(name, field, None, names, _is_key(record_type, field))
    for each in customs:
        name = f"custom_{each.id}"
        by_name[name] = CsvTarget(name, None, each, (each.name, each.uri), each.kind in _CUSTOM_KEYS)
    return by_name


def labels(targets: Mapping[str, CsvTarget]) -> dict[str, str]:
    """The labels of targets by name; equal labels are distinguished by an addition."""
    alternatives = {each.field.alternative_to for each in targets.values() if each.field is not None}
    called = {
        name: shown(each.custom.name) if each.custom is not None else _label(name, each)
        for name, each in targets.items()
    }
    counts = Counter(label.casefold() for label in called.values())

    def distinct(name: str, label: str) -> str:
        field = targets[name].field
        if counts[label.casefold()] == 1:
            return label
        if field is not None and field.alternative_to in targets:
            return _("{field}: by name, created if missing", field=label)
        if name in alternatives:
            return _("{field}: ID or name of an existing record", field=label)
        return f"{label} ({name})"

    return {name: distinct(name, label) for name, label in called.items()}


def _label(name: str, target: CsvTarget) -> str:
    if name == ID:
        return _("Record ID")
    field = target.field
    return field_label(field.alternative_to if field is not None and field.alternative_to else name)


def shown_key(record_type: RecordType, name: str) -> str:
    """The key that shows the field of a target: for an id, the record that it refers to."""
    field = record_type.fields.get(name)
    own = record_type.fields.get(field.alternative_to) if field is not None and field.alternative_to else field
    if isinstance(own, Id) and own.has_nested:
        return own.prefix
    return own.key if own is not None else name


def _called(registry: Registry, field: Field) -> tuple[str, ...]:
    """Other headers of a column: other names of the field, and of the type that it refers to by name."""
    names = [field.name.removesuffix("_id").removeprefix("is_"), field.key]
    target = registry.find(field.target) if isinstance(field, Id) and field.target else None
    if target is not None and field.name in (f"{target.uri}_id", target.uri):
        names += [*target.aliases, target.label_names[0]]
    return tuple(names)


def _is_key(record_type: RecordType, field: Field) -> bool:
    """Whether it identifies a record with one lookup: a column with a unique index, or the text that stands for one."""
    if field.alternative_to:
        return stands_for(record_type, field) is not None
    if not field.stored or not isinstance(field, (Text, Number)):
        return False
    indexed = {index.columns[0] for index in record_type.table.indexes}
    return field.unique or (field.name in indexed and field.name in (record_type.lookup, record_type.label_column))


def stands_for(record_type: RecordType, field: Field) -> Id | None:
    """The unique id of another record that a text stands for, such as the mail address of a contact; else None."""
    own = record_type.fields.get(field.alternative_to)
    return own if isinstance(field, Text) and isinstance(own, Id) and own.unique else None


def with_text(reader: RecordReader, record_type: RecordType, own: Id, text: str) -> int:
    """The id of the record whose related record has this text; 0 for none. Does not check rights."""
    target = reader.registry.type(own.target)
    behind = reader.find(target.uri, **{target.lookup: text.lower()})
    record = reader.find(record_type.uri, **{own.name: behind["id"]}) if behind is not None else None
    return int(record["id"]) if record is not None else 0


def guess(
    headers: Sequence[str], by_name: Mapping[str, CsvTarget], labels: Mapping[str, Words], rows: Sequence[CsvRow] = ()
) -> tuple[str, ...]:
    """The target of each column by its header, "" for none, without repetition. labels: of targets.

    If one field accepts the name of a record and another its number, the first cells decide."""
    by_header: dict[str, str] = {}
    for names in (
        [(name, name) for name in by_name],
        [(name, shown(label)) for name, label in labels.items() if name in by_name],
        [(name, other) for name, each in by_name.items() for other in each.names],
    ):
        for name, called in names:
            by_header.setdefault(folded(called), name)
    used: set[str] = set()
    chosen: list[str] = []
    for place, header in enumerate(headers):
        name = by_header.get(folded(header), "")
        field = by_name[name].field if name else None
        if field is not None and field.alternative_to in by_name and _holds_numbers(rows, place):
            name = field.alternative_to
        chosen.append("" if name in used else name)
        used.add(name)
    return tuple(chosen)


def _holds_numbers(rows: Sequence[CsvRow], place: int) -> bool:
    cells = [row.cells[place].strip() for row in rows[:LOOKED_AT] if place < len(row.cells)]
    filled = list(filter(None, cells))
    return bool(filled) and all(map(is_whole, filled))


def folded(header: str) -> str:
    """Returns a header in the form in which spellings are compared.

    >>> folded("E-Mail"), folded("first_name"), folded("First name")
    ('email', 'firstname', 'firstname')"""
    return _NO_LETTER.sub("", header).casefold()


def require(mapping: CsvMapping, by_name: Mapping[str, CsvTarget], width: int) -> None:
    """Raises Invalid for a mapping with an unknown target, with one target twice, or without any; Required for a key
    without a column; Conflict for a table with another number of columns."""
    if len(mapping.names) != width:
        raise Conflict("the columns of the file do not match this form; choose them again")
    for place, name in enumerate(mapping.names):
        if name and name not in by_name:
            raise Invalid(f"there is no field '{name[:60]}'{nearest(name, by_name)}", field=f"c{place}")
        if name and name in mapping.names[:place]:
            raise Invalid(f"{name}: two columns cannot be written to one field", field=f"c{place}")
    if not any(name not in ("", ID) for name in mapping.names):
        raise Invalid("choose a field for at least one column")
    if mapping.key and (mapping.key not in by_name or not by_name[mapping.key].is_key):
        raise NotFound(f"records cannot be found by '{mapping.key[:60]}'")
    if mapping.key and mapping.key not in mapping.names:
        raise Required("also choose its column", field="key")
    if ID in mapping.names and mapping.key != ID:
        place = mapping.names.index(ID)
        raise Invalid(
            "new records get their id automatically; leave the column out, or find records by it", field=f"c{place}"
        )
