"""What a type has for having a feature: writable names, expand names, filters. Declared here once for all types."""

import re
from typing import TYPE_CHECKING, Any

from server.fields import CustomValues, Field, Fieldsets, Image, References
from server.records.parts import Expand
from server.records.shared import collections, custom
from server.search.filters import BehindContext, DeepFilter, Filter, LinksFilter, Through, WatchersFilter

if TYPE_CHECKING:
    from server.records.base import RecordType
    from server.search.compile import Scope

__all__ = ["Fieldsets", "expands", "fields", "filters", "pattern_filter"]

_PATTERN = re.compile(r"(links|on|owner|author|target|actor)\.(.+)\Z")


def fields(features: frozenset[str]) -> dict[str, Field]:
    """The writable names of the features."""
    found: dict[str, Field] = {}
    if "avatars" in features:
        found["image"] = Image("PNG as a data URI, 50 to 500 pixels a side; `data:null` removes it.")
    if "links" in features:
        found["links"] = References("Records to link, as `<type>:<id>`; a leading `-` unlinks.")
    if "custom_fields" in features:
        found["custom_<id>"] = CustomValues("The value of a custom field, by its id or its uri.")
    return found


def expands(record_type: "RecordType") -> list[Expand]:
    """The expand names of the features."""
    found = []
    listed = (
        ("comments", "comments", "records", "The newest ten comments.", collections.comments, "comment"),
        ("comments", "comment_count", "number", "How many comments.", collections.comment_count, ""),
        ("custom_fields", "custom_", "map", "`custom` and every `custom_<id>`.", custom.load_by_id, ""),
        ("custom_fields", "customfields", "array", "Custom values under their uris.", custom.load_by_uri, ""),
        ("links", "links", "map", "Linked records by context.", collections.links, ""),
        ("watchers", "watchers", "records", "Watching workers.", collections.watchers, "worker"),
        ("attachments", "attachments", "records", "Attached files.", collections.attachments, "attachment"),
    )
    for feature, name, kind, note, make, target in listed:
        if feature in record_type.features:
            found.append(Expand(name, kind, note, make(record_type), target, common=True))
    return found


def filters(record_type: "RecordType") -> list[Filter]:
    """The filters of the features. A type that declares one of these names itself keeps its own."""
    found: list[Filter] = []
    features, context = record_type.features, record_type.context
    if "custom_fields" in features and record_type.has_fieldset_filter:
        found.append(
            DeepFilter(
                "fieldset",
                "Has a matching custom fieldset.",
                "custom_fieldset",
                Through("fieldset_use", "record_id", "fieldset_id", (("context", context),)),
            )
        )
    if "links" in features and record_type.has_links_filter:
        found.append(LinksFilter("links", "Linked to a record of these types; any or none.", context))
    if "watchers" in features:
        found.append(WatchersFilter("watchers", "Who watches it: me, ids, names, any, none, or a query.", context))
    return found


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
