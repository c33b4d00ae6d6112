"""`query:( worker_id:![1,2] group_id:(name:Support) )`: selects samples by their dimensions.

Samples store dimensions as text, so the selection happens here rather than in the database."""

from collections.abc import Callable, Mapping
from typing import Any

from server.errors import BadDataQuery, nearest
from server.queries.data_query import DataQuery
from server.queries.query_values import KeyValue
from server.search.ast import BooleanGroup, Items, Subquery, Term
from server.search.conditions import slots_from

MAX_FOUND = 10_000  # records that a search under a dimension may match

Chooses = Callable[[Mapping[str, str]], bool]
Declared = Mapping[str, Mapping[str, Any]]


def chooser(query: DataQuery, key: KeyValue, dimensions: Declared) -> Chooses:
    """Returns a predicate on the dimensions of a sample. Raises BadDataQuery for an unknown dimension or invalid
    value."""
    assert isinstance(key.term.value, Subquery)
    return _group(query, key.term.value.root, dimensions)


def find_dimension(name: str, position: int, dimensions: Declared, field: str) -> Mapping[str, Any]:
    """Returns a dimension by name. Raises BadDataQuery."""
    if name not in dimensions:
        raise BadDataQuery(
            f"'{name[:80]}' is not a dimension of the metric{nearest(name, dimensions)}", position=position, field=field
        )
    return dimensions[name]


def _group(query: DataQuery, group: BooleanGroup, dimensions: Declared) -> Chooses:
    parts = [_node(query, child, dimensions) for child in group.children]
    decide = any if group.op == "or" else all

    def chooses(sample: Mapping[str, str]) -> bool:
        return decide(part(sample) for part in parts) is not group.negated

    return chooses


def _node(query: DataQuery, node: Any, dimensions: Declared) -> Chooses:
    if isinstance(node, BooleanGroup):
        return _group(query, node, dimensions)
    if not isinstance(node, Term):
        raise BadDataQuery("write <dimension>:value", position=node.position, field="query")
    accepted = _values(query, node, find_dimension(node.field, node.position, dimensions, "query"))
    name, negated = node.field, node.negated
    return lambda sample: (sample.get(name, "").casefold() in accepted) is not negated


def _values(query: DataQuery, term: Term, dimension: Mapping[str, Any]) -> frozenset[str]:
    value = term.value
    if isinstance(value, Subquery):
        return _matching_ids(query, value, term, dimension)
    texts = value.items if isinstance(value, Items) else (value,)
    return frozenset("" if text.value == "null" and not text.quoted else text.value.casefold() for text in texts)


def _matching_ids(query: DataQuery, search: Subquery, term: Term, dimension: Mapping[str, Any]) -> frozenset[str]:
    """Returns the ids, as text, of the records that a search on the dimension's type matches."""
    uri = str(dimension.get("record_type", ""))
    record_type = query.ctx.service.registry.find(uri)
    if dimension["type"] != "record" or record_type is None:
        raise BadDataQuery(
            f"'{term.field[:80]}' takes values; it is no record that could be searched",
            position=term.value_position,
            field="query",
        )
    condition = query.scope.ids_of(record_type.uri, search.root)
    rows = query.tx.rows(
        lambda: condition.build(slots_from(0)).limit(MAX_FOUND + 1),
        condition.values,
    )
    if len(rows) > MAX_FOUND:
        raise BadDataQuery(
            f"'{term.field[:80]}' finds more than {MAX_FOUND} records; narrow it down",
            position=term.value_position,
            field="query",
        )
    return frozenset(str(row[0]) for row in rows)
