"""Searches whose conditions are parallel lists, criteria[], oper[] and value[], with the order in sortBy and sortAsc.
They are compiled to the same tree as `q`.

Values do not pass through the parser of `q`, so they need no escaping."""

import json
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import BadQuery, nearest
from server.record_types.record_type import RecordType
from server.records import records
from server.records.records import SearchRequest
from server.search.ast import BooleanGroup, Items, Node, SearchValue, Sort, Term
from server.search.filters import Filter
from server.search.query_parser import MAX_QUERY_CHARS, MAX_TERMS, parse
from server.translation import about_field, lazy_gettext

SORT_POSITION = MAX_QUERY_CHARS + 1  # higher than any position in `q`, so that errors can be distinguished
FIRST_POSITION = SORT_POSITION + 1
NEGATED = {
    "!=": "=",
    "<>": "=",
    "not like": "like",
    "not in": "in",
    "not between": "between",
    "is not null": "is null",
}
OPERATORS = ("=", ">", ">=", "<", "<=", "like", "in", "between", "is null", "fulltext", *NEGATED)
WORDS = ("text", "fulltext")  # kinds of filters that match a plain value anywhere in the text


@dataclass(frozen=True)
class Criterion:
    """One condition: the name of a filter or column, an operator of OPERATORS, and a value: text, or a list for some
    operators."""

    name: str
    operator: str = "="
    value: Any = ""


@dataclass(frozen=True)
class Criteria:
    """The parameters of a search besides `q`. sort_by: the name of a filter or column, "" for none.

    also: conditions added to every search. order: the default order."""

    conditions: Sequence[Criterion] = ()
    sort_by: str = ""
    ascending: bool = True
    also: Sequence[Node] = ()
    order: tuple[Sort, ...] = field(default=())


def search(ctx: Context, uri: str, request: SearchRequest, criteria: Criteria) -> dict[str, Any]:
    """Searches as records.search does, with these conditions and this order. Conditions of `q` apply too, and its
    `sort:` wins.

    Raises BadQuery, which names criteria, oper, value or sortBy, or a position of `q`."""
    record_type = ctx.service.registry.type(uri)
    query = parse(request.q)
    terms = _terms(record_type, criteria.conditions)
    root = BooleanGroup("and", (query.root, *criteria.also, *terms), False, 0)
    order = query.sort or _order(record_type, criteria)
    try:
        return records.search_parsed(ctx, uri, replace(query, root=root, sort=order), request)
    except BadQuery as error:
        raise _with_parameter_name(error) from None


def _terms(record_type: RecordType, criteria: Sequence[Criterion]) -> list[Term]:
    if len(criteria) > MAX_TERMS:
        raise BadQuery(f"criteria: at most {MAX_TERMS}", field="criteria")
    return [_term(record_type, each, FIRST_POSITION + place) for place, each in enumerate(criteria)]


def _term(record_type: RecordType, criterion: Criterion, position: int) -> Term:
    operator = " ".join(criterion.operator.lower().split()) or "="
    if operator not in OPERATORS:
        raise BadQuery(
            about_field(
                "oper",
                lazy_gettext(
                    "'{value}' is not one of {known}{nearest}",
                    value=operator[:50],
                    known=", ".join(OPERATORS),
                    nearest=nearest(operator, OPERATORS),
                ),
            ),
            field="oper",
        )
    plain = NEGATED.get(operator, operator)
    name = filter_name(record_type, criterion.name)
    value = _value(record_type.filter_by_name.get(name), plain, criterion, position)
    return Term(name, value, operator != plain, position)


def filter_name(record_type: RecordType, name: str) -> str:
    """Returns the name of a filter: the given name, or the filter that compares the column of this name. Unknown names
    are returned unchanged: they may be custom fields, or the search rejects them."""
    if name in record_type.filter_by_name:
        return name
    for each in record_type.filter_by_name.values():
        if each.column_name == name and not each.default:
            return each.name
    return name


def _value(filter: Filter | None, operator: str, criterion: Criterion, position: int) -> SearchValue | Items:
    if operator == "is null":
        if filter is not None and filter.type == "fulltext":
            raise BadQuery(f"oper: '{criterion.name}' holds words and takes no null", field="oper")
        return SearchValue("null", False, position)
    if operator == "in":
        return Items(tuple(SearchValue(each, True, position) for each in _several(criterion.value)), position)
    if operator == "between":
        ends = _several(criterion.value)
        if len(ends) != 2:
            raise BadQuery(f"value: between takes two values for '{criterion.name}'", field="value")
        return SearchValue(f"{ends[0]} to {ends[1]}", False, position)
    text = _one(criterion)
    if operator in ("=", "like", "fulltext"):
        is_whole = operator == "=" and (filter is None or filter.type in WORDS)
        return SearchValue(text, is_whole, position)
    return SearchValue(operator + text, False, position)


def _one(criterion: Criterion) -> str:
    if isinstance(criterion.value, list | dict):
        raise BadQuery(f"value: '{criterion.operator}' takes one value for '{criterion.name}'", field="value")
    text = str(criterion.value).strip()
    if not text:
        raise BadQuery(f"value: '{criterion.name}' has no value", field="value")
    return text


def _several(value: Any) -> list[str]:
    """Returns the items of a list, sent as a list, as JSON, or as text separated by commas. Raises BadQuery for an
    empty item."""
    items = value
    if isinstance(value, str):
        try:
            items = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
        except (ValueError, RecursionError):
            raise BadQuery("value: begins like a JSON list and is none", field="value") from None
    if isinstance(items, dict):
        items = list(items.values())
    plain = items if isinstance(items, list) else [items]
    if any(isinstance(each, list | dict) for each in plain):
        raise BadQuery("value: must be a list of plain values", field="value")
    texts = [str(each).strip() for each in plain]
    if not all(texts):
        raise BadQuery("value: must be a list of values, none of them empty", field="value")
    return texts


def _order(record_type: RecordType, criteria: Criteria) -> tuple[Sort, ...]:
    if not criteria.sort_by:
        return criteria.order
    return (Sort(filter_name(record_type, criteria.sort_by), not criteria.ascending, SORT_POSITION),)


def _with_parameter_name(error: BadQuery) -> BadQuery:
    """Returns the error with the name of its parameter in place of a position outside of `q`."""
    position = error.details.get("position")
    if not isinstance(position, int) or position < SORT_POSITION:
        return error
    name = "sortBy" if position == SORT_POSITION else "criteria"
    return BadQuery(f"{name}: {error.message}", field=name)
