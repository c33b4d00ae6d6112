"""Resolves a name of `by:` to a dimension: sortable filters, declared subtotals, custom fields, links."""

from typing import TYPE_CHECKING, Any

from server.counting.dimensions import sources
from server.counting.dimensions.bin_options import Options
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import NO_DATA, Dimension
from server.counting.dimensions.linked_records import (
    BucketDimension,
    GroupBucketDimension,
    MaskDimension,
    NamedDimension,
    NameDimension,
    RecordDimension,
    WatchersDimension,
)
from server.counting.dimensions.pairs import ContextDimension, LinkDimension, PairDimension
from server.counting.dimensions.plain import (
    CheckboxDimension,
    ChoiceDimension,
    FlagDimension,
    LevelDimension,
    NumberDimension,
    TextDimension,
)
from server.errors import BadDataQuery, nearest
from server.record_types.shared.custom import GEO, CustomFilter, definitions
from server.search.filters import (
    ByIdFilter,
    BytesFilter,
    ChoiceFilter,
    ChooserFilter,
    DateFilter,
    DeepFilter,
    DurationFilter,
    Filter,
    FlagFilter,
    HasManyThrough,
    HiddenFilter,
    LinksFilter,
    NamedFilter,
    NumberFilter,
    TextFilter,
    TypeFilter,
    WatchersFilter,
    WorkerFilter,
)
from server.search.filters.link_filters import linked_to
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.records.dictionary import Dictionaries
    from server.search.select import CompiledSearch

# {(record type, name without a filter): the filter it stands for}
_MEANT = {
    ("message", "group"): "ticket.group.id",
    ("message", "ticket.group"): "ticket.group.id",
    ("message", "bucket"): "ticket.bucket.id",
    ("message", "ticket.bucket"): "ticket.bucket.id",
}
_UNITS = ((DurationFilter, "number_seconds"), (BytesFilter, "number_bytes"))


class Fields:
    """The dimensions of one search, for one caller. Records without a value or without a related record are counted too
    if a search can match them."""

    def __init__(self, search: "CompiledSearch", builder: "Dictionaries") -> None:
        self.search = search
        self.builder = builder
        self.record_type: RecordType = search.record_type
        self.scope = search.scope

    def resolve(self, options: Options, alias: str) -> Dimension:
        """Returns the dimension that options name. alias: for a table that it joins.

        Raises BadDataQuery with the nearest name."""
        own, name = self.record_type, options.name
        name = own.subtotals.aliases.get(name) or _MEANT.get((own.uri, name), name)
        special = self._special(options, name)
        if special is not None:
            return special
        filter = own.filter_named(name, self.scope)
        if filter is None or not self._offered(name, filter):
            by_id = own.filter_named(f"{name}.id", self.scope)
            if by_id is None or not self._offered(f"{name}.id", by_id):
                raise self._unknown(options)
            filter = by_id
        dimension = self.filter_dimension(options, filter, alias)
        if dimension is None:
            raise self._unknown(options)
        return dimension

    def _offered(self, name: str, filter: Filter) -> bool:
        own = self.record_type.subtotals
        is_listed = {name, filter.name} & {*own.also, *own.virtual}
        return (
            bool(filter.sortable or is_listed)
            or isinstance(filter, (CustomFilter, LinksFilter))
            or (name.startswith("links.") and isinstance(filter, DeepFilter))
        )

    def _unknown(self, options: Options) -> BadDataQuery:
        own = self.record_type
        custom = [each.filter for each in definitions(self.scope.tx).fields_of(own.context)]
        names = [*own.sort_names(), *own.subtotals.also, *own.subtotals.virtual, *own.subtotals.aliases, *custom]
        return BadDataQuery(
            f"{own.uri} cannot be counted by '{options.name[:80]}'{nearest(options.name, names)}",
            position=options.position,
            field=options.name,
        )

    def _special(self, options: Options, name: str) -> Dimension | None:
        own, builder = self.record_type, self.builder
        if own.uri == "ticket" and name == "group_bucket":
            return GroupBucketDimension(
                options, "bucket.id", sources.own(own, "bucket_id"), builder.find_type("bucket"), builder
            )
        if own.uri == "message" and name == "ticket.mask":
            return MaskDimension(
                options, "ticket.id", sources.own(own, "ticket_id"), builder.find_type("ticket"), builder
            )
        base = name.removesuffix(".type")
        if name.endswith(".type") and name in own.subtotals.virtual:
            return ContextDimension(options, name, base, sources.own(own, f"{base}__context"), builder)
        return None

    def filter_dimension(self, options: Options, filter: Filter, alias: str) -> Dimension | None:
        """Returns the dimension of a filter, None if records cannot be counted by it."""
        own, builder = self.record_type, self.builder
        if isinstance(filter, CustomFilter):
            return self._custom(options, filter, alias)
        if isinstance(filter, LinksFilter):
            return LinkDimension(options, filter.name, self.links(alias, "to_context", "to_id"), builder)
        if isinstance(filter, TypeFilter):
            source = sources.own(own, f"{filter.prefix}__context", f"{filter.prefix}_id")
            return PairDimension(options, filter.name, source, builder)
        if isinstance(filter, HiddenFilter):
            instead = own.filter_by_name[filter.instead]
            return NameDimension(
                options, filter.name, self._source(instead), builder.find_type(filter.target), builder, filter.instead
            )
        if isinstance(filter, (ByIdFilter, DeepFilter, WatchersFilter)):
            return self._through(options, filter, alias)
        return self._plain(options, filter, self._source(filter))

    def links(self, alias: str, *names: str) -> sources.Source:
        """Returns the source of the links that the caller may see. names: columns of their table."""
        link = table_named("link").alias(f"{alias}_links")
        return sources.links(self.record_type, linked_to(link, None, self.scope), link, alias, *names)

    def _source(self, filter: Filter) -> sources.Source:
        """Returns the source of a filter: its column, else its sort expression."""
        if filter.column_name:
            return sources.own(self.record_type, filter.column_name)
        return sources.expression((filter.name, filter.order_key(self.scope)), filter.order(self.scope))

    def _through(self, options: Options, filter: Any, alias: str) -> Dimension | None:
        if not isinstance(filter.way, HasManyThrough):
            return None
        by_id = self.record_type.filter_by_name.get(f"{filter.name}.id")
        if isinstance(by_id, ByIdFilter):
            filter = by_id
        is_by_id, watches = isinstance(filter, ByIdFilter), isinstance(filter, WatchersFilter)
        is_named = isinstance(filter, NamedFilter)
        source = sources.through(self.record_type, filter.way, alias, keeps_others=is_by_id or watches or is_named)
        kind = WatchersDimension if watches else NamedDimension if is_named else RecordDimension
        return kind(options, filter.name, source, self.builder.find_type(filter.target), self.builder, is_by_id)

    def _plain(self, options: Options, filter: Filter, source: sources.Source) -> Dimension | None:
        name, builder = filter.name, self.builder
        if isinstance(filter, DateFilter):
            return DateDimension(options, name, source, self.scope.tz, self.scope.now)
        if isinstance(filter, ChoiceFilter):
            return ChoiceDimension(options, filter, source)
        if isinstance(filter, FlagFilter):
            return FlagDimension(options, name, source)
        if isinstance(filter, (ChooserFilter, WorkerFilter)):
            target = builder.find_type(filter.target)
            dimension_type = BucketDimension if filter.target == "bucket" else RecordDimension
            return dimension_type(options, name, source, target, builder)
        if filter.counted_as == "level":
            return LevelDimension(options, name, source)
        if isinstance(filter, NumberFilter):
            kind = next((kind for filter_type, kind in _UNITS if isinstance(filter, filter_type)), "number")
            return NumberDimension(options, name, source, measured_type=kind)
        if isinstance(filter, TextFilter):
            columns = {column.name: column.nocase for column in self.record_type.table.columns}
            return TextDimension(options, name, source, ignores_case=columns.get(filter.column_name, False))
        return None

    def _custom(self, options: Options, filter: CustomFilter, alias: str) -> Dimension:
        dimension = self._custom_kind(options, filter, sources.custom_value(filter, alias))
        dimension.nothing = NO_DATA
        return dimension

    def _custom_kind(self, options: Options, filter: CustomFilter, source: sources.Source) -> Dimension:
        field, name = filter.field, self._custom_name(filter)
        if field.target:
            return RecordDimension(options, f"{name}.id", source, self.builder.find_type(field.target), self.builder)
        if field.kind == "E":
            return DateDimension(options, name, source, self.scope.tz, self.scope.now)
        if field.kind == "C":
            return CheckboxDimension(options, name, source)
        if field.kind in ("S", "T", "U", "D", "M", "X", GEO):
            return TextDimension(options, name, source, ignores_case=True)
        return NumberDimension(options, name, source, decimals=field.decimals if field.kind in ("O", "Y") else 0)

    def _custom_name(self, filter: CustomFilter) -> str:
        """Returns the name in searches, by id if another filter has the name."""
        start = "" if filter.own == "id" else "org."
        name = f"{start}{filter.field.filter}"
        same = self.record_type.filter_named(name, self.scope)
        is_same = isinstance(same, CustomFilter) and same.field.id == filter.field.id
        return name if is_same else f"{start}custom_{filter.field.id}"
