"""Custom fields in searches: the filter of each kind, sorting, counting."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import peewee

from server import contexts
from server.record_types.shared.custom.definitions import COUNTABLE, LINKS, SLIDER, FieldDefinition, definitions
from server.record_types.shared.relation_tables import CUSTOM_VALUE, is_line
from server.search.ast import SearchValue, Subquery, Term
from server.search.conditions import Condition, negated
from server.search.filters import (
    ChooserFilter,
    DateFilter,
    DecimalFilter,
    DeepFilter,
    Filter,
    FlagFilter,
    HasManyThrough,
    NumberFilter,
    TextFilter,
    WorkerFilter,
)
from server.search.filters.filter import is_null
from server.search.values import boolean
from server.store.collation import base_language
from server.store.expressions import sort_text
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope


def filter_named(record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
    """The filter of a custom field, by its name in searches, `custom_<id>` or uri; with the suffix `.id` for kinds that
    reference records, with the prefix `org.` for a custom field of the record's organization."""
    own = _of_type(record_type, record_type.context, "id", name, scope)
    if own is not None or not record_type.org_column or not name.startswith("org."):
        return own
    return _of_type(record_type, contexts.ORG, record_type.org_column, name.removeprefix("org."), scope, name)


def _of_type(
    record_type: "RecordType", context: str, own: str, name: str, scope: "SearchScope", shown_name: str = ""
) -> Filter | None:
    by_id = name.endswith(".id")
    for field in definitions(scope.tx).fields_of(context):
        names = (field.filter, f"custom_{field.id}", field.uri)
        if name in names:
            return _filter(field, shown_name or name, own, False).bind(record_type.table)
        if by_id and field.target and name.removesuffix(".id") in names:
            return _filter(field, shown_name or name, own, True).bind(record_type.table)
    return None


def _filter(field: FieldDefinition, name: str, own: str, by_id: bool) -> Filter:
    if field.target and not by_id and field.kind != "W":
        only = (("field_id", field.id),)
        inner: Filter = DeepFilter(name, "", field.target, HasManyThrough("custom_value", "record_id", "number", only))
    elif field.kind == "W" and not by_id:
        inner = WorkerFilter(name, "", field.column)
    else:
        inner = _VALUE_FILTERS.get(field.kind, ChooserFilter if by_id else TextFilter)(name, "", field.column)
        if isinstance(inner, DecimalFilter):
            inner.scale = 10**field.decimals
        if isinstance(inner, TextFilter):
            inner.match = "prefix" if field.kind in ("D", "M") else "partial"
    return CustomFilter(field, name, own, inner)


_VALUE_FILTERS: dict[str, type[Filter]] = {
    "C": FlagFilter, "N": NumberFilter, "O": DecimalFilter, "Y": DecimalFilter, "E": DateFilter, SLIDER: NumberFilter,
    "I": ChooserFilter, "F": ChooserFilter, "L": ChooserFilter, "W": ChooserFilter, LINKS: ChooserFilter,
}  # fmt: skip


class CustomFilter(Filter):
    """Matches records of which one value matches; negated, records of which no value does. own: the column with the
    record's id."""

    type = "by custom field"

    def __init__(self, field: FieldDefinition, name: str, own: str, inner: Filter) -> None:
        super().__init__(name, f"Custom field {field.name}.", sortable=own == "id")
        self.field = field
        self.own = own
        self.inner = inner

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, SearchValue) and (is_null(term.value) or self._is_never(term.value)):
            return negated(self._any_value())
        plain = Term(term.field, term.value, False, term.position)
        if isinstance(self.inner, DeepFilter):
            if self.own == "id":
                return self.inner.bind(self.table).condition(plain, scope)
            raise self.bad(term, "is searched through org:(...)")
        if self.field.kind == "C" and isinstance(term.value, SearchValue) and not boolean(term.value.value):
            yes = Term(term.field, SearchValue("1", False, term.position), False, term.position)
            return negated(self._some(self.inner.bind(CUSTOM_VALUE).condition(yes, scope)))
        if isinstance(term.value, Subquery) and not isinstance(self.inner, (DateFilter, TextFilter)):
            raise self.bad(term, "takes a value, not a query in parentheses")
        if self.field.kind == "W" and isinstance(term.value, SearchValue) and not term.value.quoted:
            word = term.value.value.lower()
            if word in ("none", "nobody", "noone", "no", "blank", "empty"):
                return negated(self._any_value())
        return self._some(self.inner.bind(CUSTOM_VALUE).condition(plain, scope))

    def _is_never(self, text: SearchValue) -> bool:
        return self.field.kind == "E" and text.value.strip().lower() in ("never", "")

    def _any_value(self) -> Condition:
        return self._some(None)

    def _some(self, condition: Condition | None) -> Condition:
        """The condition that at least one value of the field matches."""
        values, own = CUSTOM_VALUE.sql, peewee.Column(self.table.sql, self.own)
        is_lined = self.field.has_lines

        def build(at: Any) -> Any:
            query = values.select(values.record_id).where(values.field_id == at(0))
            if condition is not None:
                query = query.where(condition.build(lambda index: at(index + 1)))
                if is_lined:
                    query = query.where(is_line(values))
            return own.in_(query)

        key = ("custom", self.table.name, self.own, is_lined, condition.key if condition else "any")
        return Condition(key, (self.field.id, *(condition.values if condition else ())), build)

    def order_key(self, scope: "SearchScope") -> int:
        return self.field.id  # names can move from one custom field to another

    def sort_keys(self, scope: "SearchScope") -> list[tuple[Any, bool]]:
        order = self.order(scope)
        if self.field.column == "number":
            return [(order, False)]
        return [(sort_text(self._first(), base_language(scope.language)), False), (order, False)]

    def sort_key(self, scope: "SearchScope") -> Hashable:
        return base_language(scope.language), self.order_key(scope)

    def order(self, scope: "SearchScope") -> Any:
        first = self._first()
        if self.field.column == "number":
            return first
        return peewee.NodeList((first, peewee.SQL("COLLATE NOCASE")))  # a subquery has no collation

    def _first(self) -> Any:
        """Selects the first value of a record."""
        values = table_named("custom_value").alias("sorted")
        return (
            values.select(getattr(values.c, self.field.column))
            .where(values.c.field_id == self.field.id, values.c.record_id == peewee.Column(self.table.sql, self.own))
            .order_by(values.c.place)
            .limit(1)
        )


def countable(field: FieldDefinition) -> bool:
    """Whether subtotals can be counted by the field."""
    return field.kind in COUNTABLE
