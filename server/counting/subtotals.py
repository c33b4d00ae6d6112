"""Subtotals of a search by the values of a filter: label, hits and key of each.

Counts cover all matches, not one page. Uses the dimensions of data queries."""

from typing import TYPE_CHECKING, Any

from server.counting.counting import count
from server.counting.dimensions import sources
from server.counting.dimensions.bin_options import Options
from server.counting.dimensions.dimension import Dimension, Member
from server.counting.dimensions.dimension_names import Fields
from server.counting.dimensions.linked_records import RecordDimension
from server.counting.dimensions.pairs import ContextDimension
from server.counting.dimensions.plain import ChoiceDimension, FlagDimension
from server.counting.measures import FUNCTIONS
from server.errors import BadQuery, nearest
from server.record_types.shared import custom
from server.search.filters import Filter, LinksFilter, TypeFilter
from server.search.select import CompiledSearch

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.records.dictionary import Dictionaries

MAX_VALUES = 250  # distinct values of one subtotal, those with the most hits
MAX_COUNTED = 4 * MAX_VALUES  # stored values counted: some have the same label, and some are unreadable


def subtotals(search: CompiledSearch, name: str, builder: "Dictionaries") -> list[dict[str, Any]]:
    """Returns [{label, hits, key}] of one name, most hits first. Raises BadQuery for a name that cannot be counted."""
    record_type = search.record_type
    request_name, name = name, search.record_type.subtotals.meant(name)
    filter = record_type.filter_named(name, search.scope)
    if filter is None:
        names = [*record_type.subtotals.search]
        raise BadQuery(
            f"'{request_name[:80]}' is not a filter of {record_type.uri}{nearest(request_name, names)}",
            field=request_name,
        )
    if not _countable(record_type, name, filter):
        raise BadQuery(
            f"{record_type.uri} cannot be counted by '{request_name[:80]}'; it can by "
            f"{', '.join(record_type.subtotals.search)}",
            field=request_name,
        )
    fields = Fields(search, builder)
    dimension = _dimension(fields, name, filter)
    if record_type.uri == "ticket" and filter.column_name == "group_id":
        return _groups_and_buckets(fields, dimension)
    always = isinstance(dimension, (ChoiceDimension, FlagDimension))
    cells = count(search, (dimension,), None, FUNCTIONS["count"], MAX_COUNTED).rows()
    entries = [_entry(members[0], tally.hits, always) for members, tally in cells]
    return sorted(entries, key=lambda each: (-each["hits"], str(each["label"]).casefold()))


def _countable(record_type: "RecordType", name: str, filter: Filter) -> bool:
    if isinstance(filter, custom.CustomFilter):
        return custom.countable(filter.field)
    return name in record_type.subtotals.search or filter.name in record_type.subtotals.search


def _dimension(fields: Fields, name: str, filter: Filter) -> Dimension:
    options = Options(name, name, "", MAX_VALUES, 0)
    if isinstance(filter, TypeFilter):  # by record type, whereas data queries count by record
        source = sources.own(fields.record_type, f"{filter.prefix}__context")
        return ContextDimension(options, name, name, source, fields.builder)
    if isinstance(filter, LinksFilter):
        return ContextDimension(options, name, name, fields.links("counted", "to_context"), fields.builder)
    dimension = fields.filter_dimension(options, filter, "counted")
    assert dimension is not None, f"{fields.record_type.uri} declares {name} for counting, and nothing counts it"
    return dimension


def _groups_and_buckets(fields: Fields, groups: Dimension) -> list[dict[str, Any]]:
    """Returns groups by name, each with its buckets."""
    options = Options("bucket.id", "bucket.id", "", MAX_VALUES, 0)
    source = sources.own(fields.record_type, "bucket_id")
    buckets = RecordDimension(options, "bucket.id", source, fields.builder.find_type("bucket"), fields.builder)
    by_group: dict[Any, dict[str, Any]] = {}
    cells = count(fields.search, (groups, buckets), None, FUNCTIONS["count"]).rows()
    for (group, bucket), tally in sorted(cells, key=lambda each: -each[1].hits):
        entry = by_group.setdefault(group.key, _entry(group, 0, True) | {"distribution": []})
        entry["hits"] += tally.hits
        entry["distribution"].append(_entry(bucket, tally.hits, True))
    return sorted(by_group.values(), key=lambda each: str(each["label"]).casefold())


def _entry(member: Member, hits: int, always: bool) -> dict[str, Any]:
    """always: includes the key even if it equals the label."""
    entry: dict[str, Any] = {"label": member.label, "hits": hits}
    if always or str(member.value).casefold() != member.label.casefold():
        entry["key"] = member.value
    return entry
