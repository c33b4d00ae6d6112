"""Runs a data query from its text to its result: finds its type, validates its keys, and limits its time."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from server.access.rules import Rules
from server.context import Context
from server.discovery import load_all
from server.errors import BadDataQuery, BadQuery, Required, TimedOut, nearest
from server.queries import kinds
from server.queries.data_query import DataQuery, KeyValues, zone_of
from server.queries.query_type import TIMEOUT, TIMEZONE, QueryKey, QueryResult, QueryType
from server.queries.query_values import KeyValue, read_keys, require, terms_of
from server.search.ast import SearchValue, Term
from server.search.compile import SearchScope
from server.store.database import OutOfSteps
from server.store.transaction import Transaction

DEFAULT_TIMEOUT_MS = 20_000
MAX_TIMEOUT_MS = 60_000


def evaluate(
    ctx: Context, q: str, placeholders: Mapping[str, Any] | None = None, seconds: float | None = None
) -> dict[str, Any]:
    """Returns {data, _: {type, format, ...}} of a data query. placeholders: the values of each `${name}`. seconds: a
    limit besides its `timeout:`.

    Raises Required for an empty text, BadQuery with a position for an invalid one, BadDataQuery if it exceeds its
    `timeout:`, TimedOut if it exceeds `seconds` before."""
    if not q.strip():
        raise Required("q is required: a data query such as type:worklist.subtotals of:ticket by:[status]", field="q")
    terms = terms_of(q, placeholders)
    query_type = _type_of(terms)
    keys = _given(terms, query_type)
    asking = KeyValues(keys)
    format = asking.text("format", query_type.formats[0])
    milliseconds = asking.number("timeout", DEFAULT_TIMEOUT_MS) or MAX_TIMEOUT_MS
    zone = zone_of(keys["timezone"].texts[0]) if "timezone" in keys else ctx.tz
    if ctx.steps is not None and not query_type.is_quick:
        raise OutOfSteps  # processing the rows would block the event loop, so the query starts on a thread

    def read(tx: Transaction) -> QueryResult:
        rules = Rules(ctx.service.registry, ctx.actor)
        scope = SearchScope(
            ctx.service.registry, tx, ctx.actor.worker_id, ctx.now, zone, rules.readable, language=ctx.actor.language
        )
        query = DataQuery(ctx, tx, q, format, scope, placeholders)
        query.values = KeyValues(keys, query)
        return query_type.run(query)

    try:
        limit = milliseconds / 1000 if seconds is None else min(seconds, milliseconds / 1000)
        result = ctx.service.store.read(read, ctx.steps, limit)
    except TimedOut as error:
        if limit < milliseconds / 1000:
            raise
        raise BadDataQuery(
            f"the query took longer than {milliseconds} ms; narrow it down, or allow more with timeout: "
            f"(at most {MAX_TIMEOUT_MS})",
            timeout=milliseconds,
        ) from error
    if result.later is not None:
        result = result.later()
    return {"data": result.data, "_": {"type": query_type.name, "format": format} | result.extra}


def type_named(q: str, placeholders: Mapping[str, Any]) -> str:
    """Returns the type that a data query names, "" for none or for an invalid query."""
    try:
        type_values = [term.value for term in terms_of(q, placeholders) if term.field == "type"]
    except BadQuery:
        return ""
    return type_values[0].value if type_values and isinstance(type_values[0], SearchValue) else ""


@cache
def query_types() -> dict[str, QueryType]:
    """Returns {name: type} of every type in the folder kinds/, sorted by name."""
    types: dict[str, QueryType] = {}
    for module in load_all(kinds.__name__, kinds.__path__):
        for value in vars(module).values():
            is_type = isinstance(value, type) and issubclass(value, QueryType) and value.__module__ == module.__name__
            if is_type and value.name:
                types[value.name] = value()
    return dict(sorted(types.items()))


def _type_of(terms: tuple[Term, ...]) -> QueryType:
    types = query_types()
    type_terms = [term for term in terms if term.field == "type"]
    if not type_terms:
        raise BadDataQuery(
            "'type:' is missing; say what is asked, such as type:worklist.subtotals", position=0, field="type"
        )
    value = type_terms[0].value
    if not isinstance(value, SearchValue):
        raise BadDataQuery("'type:' takes one value", position=type_terms[0].value_position, field="type")
    query_type = types.get(value.value)
    if query_type is None:
        raise BadDataQuery(
            f"'{value.value[:80]}' is not a type of data query{nearest(value.value, types)}",
            position=value.position,
            field="type",
        )
    return query_type


def _given(terms: tuple[Term, ...], query_type: QueryType) -> dict[str, KeyValue]:
    keys = keys_of(query_type)
    values = read_keys(terms, keys, query_type.name)
    require(values, keys, values["type"].position, query_type.name)
    return values


def keys_of(query_type: QueryType) -> tuple[QueryKey, ...]:
    """Returns the keys of a type, including those that every type has."""
    common = (
        QueryKey("type", "text", "The type of query.", required=True),
        QueryKey(
            "format", "text", "The format of the result.", choices=query_type.formats, default=query_type.formats[0]
        ),
        TIMEZONE,
        TIMEOUT,
    )
    own = {key.name for key in query_type.keys}
    return (*(key for key in common if key.name not in own), *query_type.keys)
