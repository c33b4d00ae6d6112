"""Finds ids of other records in the texts of a record that becomes a package: `group_id: 3` in a script, `group.id:3`
in a search, `svc:calendar:3`, a custom type by its number, a custom field as custom_3.

The caller checks which of these records exist."""

import re
from collections.abc import Iterator, Mapping

from server.fields import Id
from server.late_pattern import late_pattern
from server.record_types.registry import Registry
from server.record_types.shared.custom_types import context_of

Place = tuple[int, int, str, int]  # (start, end) of the number in its text, (type, id) of the record

_CUSTOM_TYPE = late_pattern(rf"{re.escape(context_of(0)).removesuffix('0')}(?P<id>[1-9][0-9]{{0,17}})\b")
_CUSTOM_FIELD = late_pattern(r"\bcustom_(?P<id>[1-9][0-9]{0,17})\b")
_URI = late_pattern(r"\bsvc:(?P<type>[a-z_]{2,64}):(?P<id>[1-9][0-9]{0,17})\b")
_KEY = late_pattern(
    r"""(?<![\w.])["']?(?P<name>[a-z][a-z_]{1,40}_id)["']?(?:@\w+)?\s{0,4}[:=]\s{0,4}["']?(?P<id>[1-9][0-9]{0,17})(?![\w.])"""
)
_FILTER = late_pattern(
    r"(?<![\w])(?P<name>[a-z][a-z.]{1,40})(?:\.id|:\s{0,4}\(\s{0,4}id):"
    r"(?P<ids>\[[0-9, ]{1,2000}\]|=?[1-9][0-9]{0,17}(?!\w))"
)
_NUMBER = late_pattern(r"[1-9][0-9]{0,17}")


def targets(registry: Registry) -> dict[str, str]:
    """Returns {name of an id field: the only type that it refers to in all record types}."""
    by_name: dict[str, set[str]] = {}
    for record_type in registry:
        for name, field in record_type.fields.items():
            if isinstance(field, Id) and field.target:
                by_name.setdefault(name, set()).add(field.target)
    unambiguous = {name: next(iter(types)) for name, types in by_name.items() if len(types) == 1}
    return {f"{record_type.uri}_id": record_type.uri for record_type in registry} | unambiguous


def references_in(text: str, types: Mapping[str, str]) -> list[Place]:
    """Returns the ids in a text, in their order. types: the result of `targets`."""
    return sorted({each[:2]: each for each in _references(text, types)}.values())


def _references(text: str, types: Mapping[str, str]) -> Iterator[Place]:
    for match in _CUSTOM_TYPE.finditer(text):
        yield *match.span("id"), "custom_record", int(match["id"])
    for match in _CUSTOM_FIELD.finditer(text):
        yield *match.span("id"), "custom_field", int(match["id"])
    for match in _URI.finditer(text):
        yield *match.span("id"), match["type"], int(match["id"])
    for match in _KEY.finditer(text):
        if match["name"] in types and f"{match['name'].removesuffix('id')}_context" not in text:
            yield *match.span("id"), types[match["name"]], int(match["id"])
    for match in _FILTER.finditer(text):
        target = types.get(match["name"].replace(".", "_") + "_id")
        if target is not None:
            for number in _NUMBER.finditer(text, *match.span("ids")):
                yield *number.span(), target, int(number[0])


def custom_types_in(text: str) -> list[Place]:
    """Returns the ids of custom types in a text, such as a context."""
    return [(*match.span("id"), "custom_record", int(match["id"])) for match in _CUSTOM_TYPE.finditer(text)]
