"""Resolves a name of `by:` to a dimension: sortable filters, declared subtotals, custom fields, links."""

from typing import TYPE_CHECKING, Any

from server.counting.dimensions import sources
from server.counting.dimensions.base import NO_DATA, Dimension
from server.counting.dimensions.dates import DateDimension
from server.counting.dimensions.options import Options
from server.counting.dimensions.pairs import ContextDimension, LinkDimension, PairDimension
from server.counting.dimensions.plain import (
    CheckboxDimension,
    ChoiceDimension,
    FlagDimension,
    LevelDimension,
    NumberDimension,
    TextDimension,
)
from server.counting.dimensions.records import (
    BucketDimension,
    GroupBucketDimension,
    MaskDimension,
    NameDimension,
    RecordDimension,
    WatchersDimension,
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
    NumberFilter,
    TextFilter,
    TypeFilter,
    WatchersFilter,
    WorkerFilter,
)
from server.search.filters.links import linked_to
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.record_types.base import RecordType
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

    def __init__(self, search: "CompiledSearch", shown: "Dictionaries") -> None:
        self.search = search
        self.shown = shown
        self.record_type: RecordType = search.record_type
        self.scope = search.scope

    def named(self, asked: Options, alias: str) -> Dimension:
        """Returns the dimension that options name. alias: for a table that it joins.

        Raises BadDataQuery with the nearest name."""
        own, name = self.record_type, asked.name
        name = own.subtotals.aliases.get(name) or _MEANT.get((own.uri, name), name)
        special = self._special(asked, name)
        if special is not None:
            return special
        found = own.filter_named(name, self.scope)
        if found is None or not self._offered(name, found):
            by_id = own.filter_named(f"{name}.id", self.scope)
            if by_id is None or not self._offered(f"{name}.id", by_id):
                raise self._unknown(asked)
            found = by_id
        made = self.made(asked, found, alias)
        if made is None:
            raise self._unknown(asked)
        return made

    def _offered(self, name: str, found: Filter) -> bool:
        own = self.record_type.subtotals
        is_listed = {name, found.name} & {*own.also, *own.virtual}
        return (
            bool(found.sortable or is_listed)
            or isinstance(found, (CustomFilter, LinksFilter))
            or (name.startswith("links.") and isinstance(found, DeepFilter))
        )

    def _unknown(self, asked: Options) -> BadDataQuery:
        own = self.record_type
        custom = [each.filter for each in definitions(self.scope.tx).of(own.context)]
        known = [*own.sort_names(), *own.subtotals.also, *own.subtotals.virtual, *own.subtotals.aliases, *custom]
        return BadDataQuery(
            f"{own.uri} cannot be counted by '{asked.name[:80]}'{nearest(asked.name, known)}",
            position=asked.position,
            field=asked.name,
        )

    def _special(self, asked: Options, name: str) -> Dimension | None:
        own, shown = self.record_type, self.shown
        if own.uri == "ticket" and name == "group_bucket":
            return GroupBucketDimension(
                asked, "bucket.id", sources.own(own, "bucket_id"), shown.find_type("bucket"), shown
            )
        if own.uri == "message" and name == "ticket.mask":
            return MaskDimension(asked, "ticket.id", sources.own(own, "ticket_id"), shown.find_type("ticket"), shown)
        base = name.removesuffix(".type")
        if name.endswith(".type") and name in own.subtotals.virtual:
            return ContextDimension(asked, name, base, sources.own(own, f"{base}__context"), shown)
        return None

    def made(self, asked: Options, found: Filter, alias: str) -> Dimension | None:
        """Returns the dimension of a filter, None if records cannot be counted by it."""
        own, shown = self.record_type, self.shown
        if isinstance(found, CustomFilter):
            return self._custom(asked, found, alias)
        if isinstance(found, LinksFilter):
            return LinkDimension(asked, found.name, self.links(alias, "to_context", "to_id"), shown)
        if isinstance(found, TypeFilter):
            source = sources.own(own, f"{found.prefix}__context", f"{found.prefix}_id")
            return PairDimension(asked, found.name, source, shown)
        if isinstance(found, HiddenFilter):
            instead = own.filter_by_name[found.instead]
            return NameDimension(
                asked, found.name, self._source(instead), shown.find_type(found.target), shown, found.instead
            )
        if isinstance(found, (ByIdFilter, DeepFilter, WatchersFilter)):
            return self._through(asked, found, alias)
        return self._plain(asked, found, self._source(found))

    def links(self, alias: str, *names: str) -> sources.Source:
        """Returns the source of the links that the caller may see. names: columns of their table."""
        link = table_named("link").alias(f"{alias}_links")
        return sources.links(self.record_type, linked_to(link, None, self.scope), link, alias, *names)

    def _source(self, found: Filter) -> sources.Source:
        """Returns the source of a filter: its column, else its sort expression."""
        if found.column_name:
            return sources.own(self.record_type, found.column_name)
        return sources.expression((found.name, found.order_key(self.scope)), found.order(self.scope))

    def _through(self, asked: Options, found: Any, alias: str) -> Dimension | None:
        if not isinstance(found.way, HasManyThrough):
            return None
        by_id = self.record_type.filter_by_name.get(f"{found.name}.id")
        if isinstance(by_id, ByIdFilter):
            found = by_id
        is_by_id, watches = isinstance(found, ByIdFilter), isinstance(found, WatchersFilter)
        source = sources.through(self.record_type, found.way, alias, keeps_others=is_by_id or watches)
        kind = WatchersDimension if watches else RecordDimension
        return kind(asked, found.name, source, self.shown.find_type(found.target), self.shown, is_by_id)

    def _plain(self, asked: Options, found: Filter, source: sources.Source) -> Dimension | None:
        name, shown = found.name, self.shown
        if isinstance(found, DateFilter):
            return DateDimension(asked, name, source, self.scope.tz, self.scope.now)
        if isinstance(found, ChoiceFilter):
            return ChoiceDimension(asked, found, source)
        if isinstance(found, FlagFilter):
            return FlagDimension(asked, name, source)
        if isinstance(found, (ChooserFilter, WorkerFilter)):
            target = shown.find_type(found.target)
            made = BucketDimension if found.target == "bucket" else RecordDimension
            return made(asked, name, source, target, shown)
        if found.counted_as == "level":
            return LevelDimension(asked, name, source)
        if isinstance(found, NumberFilter):
            kind = next((kind for of, kind in _UNITS if isinstance(found, of)), "number")
            return NumberDimension(asked, name, source, measured_type=kind)
        if isinstance(found, TextFilter):
            columns = {column.name: column.nocase for column in self.record_type.table.columns}
            return TextDimension(asked, name, source, ignores_case=columns.get(found.column_name, False))
        return None

    def _custom(self, asked: Options, found: CustomFilter, alias: str) -> Dimension:
        made = self._custom_kind(asked, found, sources.custom_value(found, alias))
        made.nothing = NO_DATA
        return made

    def _custom_kind(self, asked: Options, found: CustomFilter, source: sources.Source) -> Dimension:
        field, name = found.field, self._custom_name(found)
        if field.target:
            return RecordDimension(asked, f"{name}.id", source, self.shown.find_type(field.target), self.shown)
        if field.kind == "E":
            return DateDimension(asked, name, source, self.scope.tz, self.scope.now)
        if field.kind == "C":
            return CheckboxDimension(asked, name, source)
        if field.kind in ("S", "T", "U", "D", "M", "X", GEO):
            return TextDimension(asked, name, source, ignores_case=True)
        return NumberDimension(asked, name, source, decimals=field.decimals if field.kind in ("O", "Y") else 0)

    def _custom_name(self, found: CustomFilter) -> str:
        """Returns the name in searches, by id if another filter has the name."""
        start = "" if found.own == "id" else "org."
        name = f"{start}{found.field.filter}"
        same = self.record_type.filter_named(name, self.scope)
        is_same = isinstance(same, CustomFilter) and same.field.id == found.field.id
        return name if is_same else f"{start}custom_{found.field.id}"
