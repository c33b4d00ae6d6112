"""Filters whose names are made of a pattern: those of links, of pairs and of custom fields."""

import re
from typing import TYPE_CHECKING, Any

from server.records.shared import custom
from server.search.filters import BehindContext, DeepFilter, Filter, Through

if TYPE_CHECKING:
    from server.records.base import RecordType
    from server.search.compile import Scope

_PATTERN = re.compile(r"(links|on|owner|author|target|actor)\.(.+)\Z")


def pattern_filter(record_type: "RecordType", name: str, scope: "Scope") -> Filter | None:
    """A filter whose name is made of a pattern: `links.<type>`, `on.<type>`, a custom field."""
    match = _PATTERN.match(name)
    if match:
        start, rest = match.groups()
        if start == "links" and "links" in record_type.filter_by_name:
            return _linked(record_type, name, rest, scope)
        base = record_type.filter_by_name.get(start)
        if base is not None and base.type == "links" and scope.record_type(_spaced(rest)):
            target = scope.record_type(_spaced(rest))
            assert target is not None
            return _pointing(record_type, base, name, target)
    return custom.filter_named(record_type, name, scope)


def _linked(record_type: "RecordType", name: str, rest: str, scope: "Scope") -> Filter | None:
    target = scope.record_type(_spaced(rest))
    if target is not None:
        way: Any = Through(
            "link", "from_id", "to_id", (("from_context", record_type.context), ("to_context", target.context))
        )
        return DeepFilter(name, "", target.uri, way).bind(record_type.table)
    uri, _, field_uri = rest.rpartition(".")
    target = scope.record_type(_spaced(uri)) if uri else None
    if target is None:
        return None
    for each in custom.definitions(scope.tx).of(target.context):
        if each.uri == field_uri and each.points_to(record_type, scope.registry):
            way = Through("custom_value", "value", "record_id", (("field_id", each.id),))
            return DeepFilter(name, "", target.uri, way).bind(record_type.table)
    return None


def _pointing(record_type: "RecordType", base: Filter, name: str, target: "RecordType") -> Filter:
    """A polymorphic pair or a table between leads to records of one type; the filter of the plain name knows how."""
    way = (
        base.way_to(target.context)
        if hasattr(base, "way_to")
        else BehindContext(getattr(base, "prefix", base.name), target.context)
    )
    return DeepFilter(name, "", target.uri, way).bind(record_type.table)


def _spaced(name: str) -> str:
    """A type's name in a filter has dots for spaces."""
    return name.replace(".", " ") if not name.startswith("svc.") else name
