"""A data query as its type sees it: typed values, record types, searches.

Accessors raise BadDataQuery with the position of an invalid value."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from server import times
from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import BadDataQuery, Invalid, nearest
from server.queries.query_values import KeyValue, source_of
from server.records.dictionary import Dictionaries
from server.search.ast import BooleanGroup, Query, SearchValue, Sort, Subquery
from server.search.compile import SearchScope
from server.search.control_terms import query_of
from server.search.placeholders import filled_text
from server.search.select import CompiledSearch
from server.search.select import search as compile_search
from server.translation import about_field, lazy_gettext

if TYPE_CHECKING:
    from server.context import Context
    from server.record_types.record_type import RecordType
    from server.store.transaction import Transaction

# Of query: and query.required: together, so that the search of each counted cell stays within the limit of a search.
MAX_SEARCH_CHARS = 6_144


@dataclass(frozen=True)
class KeyValues:
    """The keys of a data query or of one of its groups.

    id: the free part of a group's name, `open` in series.open. position: where it begins."""

    by_name: dict[str, KeyValue]
    query: "DataQuery | None" = None  # None before the snapshot, when the database cannot be read yet
    id: str = ""
    position: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def at(self, name: str) -> int:
        """Returns the position of a key's value for errors, or of the query if the key is absent."""
        key_value = self.by_name.get(name)
        return key_value.position if key_value else self.position

    def text(self, name: str, default: str = "") -> str:
        """Returns one value; if it is absent, the declared default, else `default`."""
        key_value = self.by_name.get(name)
        if key_value is None:
            return default
        value = key_value.texts[0].value
        if key_value.key.choices and value not in key_value.key.choices:
            raise self.bad(
                name,
                lazy_gettext(
                    "'{value}' is not one of {known}{nearest}",
                    value=value[:80],
                    known=", ".join(key_value.key.choices),
                    nearest=nearest(value, key_value.key.choices),
                ),
            )
        return value

    def texts(self, name: str) -> tuple[SearchValue, ...]:
        """Returns the items of a list with their positions, () if it is absent."""
        key_value = self.by_name.get(name)
        return key_value.texts if key_value else ()

    def words(self, name: str) -> list[str]:
        """Returns the items of a list as plain texts."""
        return [each.value for each in self.texts(name)]

    def number(self, name: str, default: int) -> int:
        """Returns a whole number within the declared bounds."""
        key_value = self.by_name.get(name)
        if key_value is None:
            return default
        text, key = key_value.texts[0].value.strip(), key_value.key
        number = whole_in(text, key.low, key.high)
        if number is None:
            raise self.bad(name, f"'{text[:80]}' is not a whole number from {key.low} to {key.high}")
        return number

    def group(self, name: str) -> "KeyValues | None":
        """Returns the values of a group, None if it is absent."""
        key_value = self.by_name.get(name)
        return None if key_value is None else KeyValues(key_value.inner, self.query, key_value.id, key_value.position)

    def groups(self, pattern: str) -> "Iterator[KeyValues]":
        """Yields each group that matches a pattern such as `series.<id>`, in the order of the text."""
        for name, key_value in self.by_name.items():
            if key_value.key.name == pattern:
                group = self.group(name)
                assert group is not None
                yield group

    def matching(self, pattern: str) -> list[KeyValue]:
        """Returns each key that matches a pattern such as `by.<id>`, in the order of the text."""
        return [key_value for key_value in self.by_name.values() if key_value.key.name == pattern]

    def bad(self, name: str, reason: str) -> BadDataQuery:
        """Creates the error for the value of a key."""
        return BadDataQuery(about_field(name, reason), position=self.at(name), field=name)

    def record_type(self, name: str = "of") -> "RecordType":
        """Returns the searchable record type that a key names."""
        assert self.query is not None
        text, registry = self.text(name), self.query.ctx.service.registry
        record_type = registry.find(text)
        if record_type is None:
            raise self.bad(
                name,
                lazy_gettext(
                    "'{value}' is not a record type{nearest}", value=text[:80], nearest=nearest(text, registry.uris())
                ),
            )
        return record_type

    def searched(self, record_type: "RecordType", order: tuple[tuple[str, bool], ...] = ()) -> "QuerySearch":
        """Returns the search of `query:` and `query.required:` among readable records, in the zone of the query or of
        `timezone:`.

        order: the order if `query:` has no sort:. Raises BadQuery for an invalid search."""
        if not record_type.offers("search"):
            raise self.bad("of", f"{record_type.label_names[1].lower()} cannot be searched")
        assert self.query is not None
        first, second = self._query("query"), self._query("query.required")
        scope = self.query.scope
        if first is not None and first.timezone is not None and "timezone" not in self.query.values:
            scope = scope.in_zone(zone_of(first.timezone))
        children = tuple(each.root for each in (first, second) if each is not None and each.root.children)
        sort: tuple[Sort, ...] = first.sort if first is not None else ()
        query = Query(BooleanGroup("and", children, False, self.position), sort, None, None, None, self.position)
        search = compile_search(record_type, query, scope)
        if not sort:
            search = replace(search, order=order)
        return QuerySearch(
            search,
            self._sources(),
            first.limit if first is not None else None,
            first.page if first is not None else None,
        )

    def _query(self, name: str) -> Query | None:
        key_value = self.by_name.get(name)
        if key_value is None:
            return None
        assert isinstance(key_value.term.value, Subquery)
        return query_of(key_value.term.value.root)

    def _sources(self) -> str:
        assert self.query is not None
        sources = []
        for name in ("query", "query.required"):
            key_value = self.by_name.get(name)
            if key_value is not None:
                source = self.query.text(source_of(self.query.q, key_value.position))
                if source.strip("() \t\r\n"):
                    sources.append(source)
        joined = " ".join(sources)
        if len(joined) > MAX_SEARCH_CHARS:
            raise self.bad("query", f"the searches have {len(joined)} characters; {MAX_SEARCH_CHARS} are allowed")
        return joined


@dataclass(frozen=True)
class QuerySearch:
    """A compiled search, its text in parentheses ("" if it matches everything), and its `limit:` and `page:`."""

    search: CompiledSearch
    source: str
    limit: int | None
    page: int | None

    @property
    def tz(self) -> tzinfo:
        return self.search.scope.tz


@dataclass
class DataQuery:
    """One data query. format: one of its type's. scope: in the zone of `timezone:`.

    placeholders: the values of each `${name}`, None to read `${name}` literally."""

    ctx: "Context"
    tx: "Transaction"
    q: str
    format: str
    scope: SearchScope
    placeholders: Mapping[str, Any] | None = None
    values: KeyValues = field(init=False)

    def text(self, part: str) -> str:
        """Returns a part of the query's text, placeholders filled in. Raises BadQuery for a value without a textual
        form."""
        return part if self.placeholders is None else filled_text(part, self.placeholders)

    def dictionaries(self) -> Dictionaries:
        """Returns a builder of record dictionaries for the caller."""
        return Dictionaries(self.ctx, self.tx)


def zone_of(text: SearchValue) -> tzinfo:
    """Returns the zone that a text names. Raises BadDataQuery at its position."""
    try:
        return times.zone(text.value)
    except Invalid as error:
        raise BadDataQuery(error.message, position=text.position, field="timezone") from error
