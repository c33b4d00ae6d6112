"""What the columns of a table can be written to: the fields of a record type that callers may send, and its custom
fields; which column is meant for which; and by which of them a record is found again."""

import re
from collections.abc import Mapping, Sequence

from server.context import Context
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Conflict, Invalid, NotFound, Required, nearest
from server.fields import CustomValues, Field, Fieldsets, Id, Image, Number, References, Text
from server.imports.reading import LOOKED_AT, CsvRow
from server.record_types.base import RecordType
from server.record_types.registry import Registry
from server.record_types.shared import custom
from server.record_types.shared.custom import FieldDefinition
from server.records import records
from server.records.reading import RecordReader
from server.translation import Words, shown

ID = "id"  # a column that identifies the record and is not written
_BY_OTHER_WAYS = (CustomValues, Fieldsets, Image, References)
_SECRETS = ("password", "secret")  # which stand in no table, and take long to hash
_CUSTOM_KEYS = ("S", "N")  # kinds of custom fields that numbers of customers and the like are kept in
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class CsvTarget:
    """name: as it is sent. field: of the type, else custom. names: what else a column for it may be called. is_key:
    whether a record can be found by it."""

    name: str
    field: Field | None = None
    custom: FieldDefinition | None = None
    names: tuple[str, ...] = ()
    is_key: bool = False


@dataclass(frozen=True)
class CsvMapping:
    """names: for each column of the file the target that it is written to, "" for none. key: the target by which
    records are found that are changed; "" where all are new."""

    uri: str
    names: tuple[str, ...]
    key: str = ""


def targets(ctx: Context, uri: str) -> dict[str, CsvTarget]:
    """The targets of a type by name: `id` first, which only finds records. Raises NotFound."""
    registry = ctx.service.registry
    record_type = registry.type(uri)
    customs = records.reading(ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
    found = {ID: CsvTarget(ID, is_key=True)}
    creating = {each.alternative_to: name for name, each in record_type.fields.items() if each.alternative_to}
    for name, field in record_type.fields.items():
        if not field.immutable and not isinstance(field, _BY_OTHER_WAYS) and not name.endswith(_SECRETS) and name != ID:
            # A header such as "Company" means the field that creates what is missing, where there is one.
            named = record_type.fields.get(field.alternative_to, field) if field.alternative_to else field
            names = () if name in creating else (*_called(registry, named), *_called(registry, field))
            found[name] = CsvTarget(name, field, None, names, _is_key(record_type, field))
    for each in customs:
        name = f"custom_{each.id}"
        found[name] = CsvTarget(name, None, each, (each.name, each.uri), each.kind in _CUSTOM_KEYS)
    return found


def _called(registry: Registry, field: Field) -> tuple[str, ...]:
    """What else a column may be called: other names of the field, and of the type that it points to by its name."""
    found = [field.name.removesuffix("_id").removeprefix("is_"), field.key]
    target = registry.find(field.target) if isinstance(field, Id) and field.target else None
    if target is not None and field.name in (f"{target.uri}_id", target.uri):
        found += [*target.aliases, target.label_names[0]]
    return tuple(found)


def _is_key(record_type: RecordType, field: Field) -> bool:
    """Whether a record can be found by it at once: by a column with an index that names a record, or by the text that
    stands for such a column."""
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
    found = reader.find(record_type.uri, **{own.name: behind["id"]}) if behind is not None else None
    return int(found["id"]) if found is not None else 0


def guess(
    headers: Sequence[str], found: Mapping[str, CsvTarget], labels: Mapping[str, Words], rows: Sequence[CsvRow] = ()
) -> tuple[str, ...]:
    """For each column the target that its header means, "" for none; no target twice. labels: of targets.

    Where one field takes the name of a record and another its number, the first cells decide."""
    known: dict[str, str] = {}
    for names in (
        [(name, name) for name in found],
        [(name, shown(label)) for name, label in labels.items() if name in found],
        [(name, other) for name, each in found.items() for other in each.names],
    ):
        for name, called in names:
            known.setdefault(folded(called), name)
    taken: set[str] = set()
    chosen: list[str] = []
    for place, header in enumerate(headers):
        name = known.get(folded(header), "")
        field = found[name].field if name else None
        if field is not None and field.alternative_to in found and _holds_numbers(rows, place):
            name = field.alternative_to
        chosen.append("" if name in taken else name)
        taken.add(name)
    return tuple(chosen)


def _holds_numbers(rows: Sequence[CsvRow], place: int) -> bool:
    cells = [row.cells[place].strip() for row in rows[:LOOKED_AT] if place < len(row.cells)]
    filled = list(filter(None, cells))
    return bool(filled) and all(map(is_whole, filled))


def folded(header: str) -> str:
    """A header without what people write differently.

    >>> folded("E-Mail"), folded("first_name"), folded("First name")
    ('email', 'firstname', 'firstname')
    """
    return _NO_LETTER.sub("", header).casefold()


def require(mapping: CsvMapping, found: Mapping[str, CsvTarget], width: int) -> None:
    """Raises Invalid for a mapping that names what there is not, or one target twice, or nothing to write; Required
    for a key that no column gives; Conflict for a table that has another number of columns."""
    if len(mapping.names) != width:
        raise Conflict("the file has other columns than this form; choose them again")
    for place, name in enumerate(mapping.names):
        if name and name not in found:
            raise Invalid(f"there is no field '{name[:60]}'{nearest(name, found)}", field=f"c{place}")
        if name and name in mapping.names[:place]:
            raise Invalid(f"{name}: two columns cannot be written to one field", field=f"c{place}")
    if not any(name not in ("", ID) for name in mapping.names):
        raise Invalid("choose a field for at least one column")
    if mapping.key and (mapping.key not in found or not found[mapping.key].is_key):
        raise NotFound(f"records cannot be found by '{mapping.key[:60]}'")
    if mapping.key and mapping.key not in mapping.names:
        raise Required("choose the column that it stands in, too", field="key")
    if ID in mapping.names and mapping.key != ID:
        place = mapping.names.index(ID)
        raise Invalid(
            "a new record gets its number by itself; leave the column out, or find records by it", field=f"c{place}"
        )
