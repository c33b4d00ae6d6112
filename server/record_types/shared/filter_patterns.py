"""Filters whose names match a pattern."""

import re
from typing import TYPE_CHECKING

from server.search.filters import BelongsToContext, DeepFilter, Filter
from server.search.searchable import Searchable

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope

_PAIR = re.compile(r"(on|owner|author|target|actor)\.(.+)\Z")


def pattern_filter(record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
    """Returns the filter of a name that matches a pattern: `on.<type>`, patterns of the type's traits."""
    match = _PAIR.match(name)
    base = record_type.filter_by_name.get(match[1]) if match else None
    if match and base is not None and base.type == "links":
        target = scope.type_spelled(match[2])
        if target is not None:
            return _pointing(record_type, base, name, target)
    for trait in record_type.traits:
        pattern = trait.filter_named(record_type, name, scope)
        if pattern is not None:
            return pattern
    return None


def _pointing(record_type: "RecordType", base: Filter, name: str, target: Searchable) -> Filter:
    """A filter on records of one type behind a polymorphic pair or a join table, as defined by the filter of the plain
    name."""
    way = (
        base.way_to(target.context)
        if hasattr(base, "way_to")
        else BelongsToContext(getattr(base, "prefix", base.name), target.context)
    )
    return DeepFilter(name, "", target.uri, way).bind(record_type.table)
