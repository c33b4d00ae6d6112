"""Filters whose names are made of a pattern."""

import re
from typing import TYPE_CHECKING

from server.record_types.shared import custom
from server.search.filters import BelongsToContext, DeepFilter, Filter

if TYPE_CHECKING:
    from server.record_types.base import RecordType
    from server.search.compile import SearchScope

_PAIR = re.compile(r"(on|owner|author|target|actor)\.(.+)\Z")


def pattern_filter(record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
    """A filter whose name is made of a pattern: `on.<type>`, those of the type's traits, `org.<custom field>`."""
    match = _PAIR.match(name)
    base = record_type.filter_by_name.get(match[1]) if match else None
    if match and base is not None and base.type == "links":
        target = scope.type_spelled(match[2])
        if target is not None:
            return _pointing(record_type, base, name, target)
    for trait in record_type.traits:
        found = trait.filter_named(record_type, name, scope)
        if found is not None:
            return found
    return custom.org_filter_named(record_type, name, scope) if record_type.org_column else None


def _pointing(record_type: "RecordType", base: Filter, name: str, target: "RecordType") -> Filter:
    """A polymorphic pair or a table between leads to records of one type; the filter of the plain name knows how."""
    way = (
        base.way_to(target.context)
        if hasattr(base, "way_to")
        else BelongsToContext(getattr(base, "prefix", base.name), target.context)
    )
    return DeepFilter(name, "", target.uri, way).bind(record_type.table)
