"""`automation.invoke`: runs an automation that returns the result."""

from typing import Any

from server.errors import HelpdeskError, nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.record_types.shared.triggers import PREFIX
from server.search.ast import Items
from server.search.conditions import slots_from

TRIGGER = PREFIX + "data.query"
MAX_NAMES = 250  # names considered for a suggestion


class AutomationInvoke(QueryType):
    """{data} as returned by the automation, which runs as the service for every caller."""

    name = "automation.invoke"
    description = "The result of an automation."
    keys = (
        QueryKey("name", "text", "The name of an automation that data queries start.", required=True),
        QueryKey("inputs", "group", "Its inputs.", keys=(QueryKey("<name>", "any", "One input."),)),
        QueryKey("format", "text", "Passed on to the automation."),
    )
    formats = ("",)

    def run(self, query: DataQuery) -> QueryResult:
        values, ctx = query.values, query.ctx
        name = values.text("name")
        names = _names(query, name)
        if name not in names:
            raise values.bad("name", f"'{name[:80]}' is not an automation of {TRIGGER}{nearest(name, names)}")
        automations = ctx.service.automations
        if automations is None:
            raise values.bad("name", f"automation '{name[:80]}' cannot be run: this installation runs no automations")
        inputs = _inputs(values.group("inputs"))

        def later() -> QueryResult:
            try:
                returned = automations.run_query(ctx, name, inputs, query.format)
            except HelpdeskError as error:
                raise values.bad("name", f"automation '{name[:80]}' failed: {error.message}") from error
            extra = {key: value for key, value in returned["_"].items() if key not in ("type", "format")}
            return QueryResult(returned["data"], extra)

        return QueryResult(later=later)


def _inputs(group: KeyValues | None) -> dict[str, Any]:
    """Returns texts, or lists of texts, by name."""
    inputs: dict[str, Any] = {}
    for name, key_value in group.by_name.items() if group is not None else ():
        words = [text.value for text in key_value.texts]
        inputs[name] = words if isinstance(key_value.term.value, Items) else words[0]
    return inputs


def _names(query: DataQuery, name: str) -> list[str]:
    """Returns the names of readable automations that data queries can start, the wanted one first."""
    record_type = query.ctx.service.registry.type("automation")
    readable, table = query.scope.readable(record_type), record_type.table.sql

    def build() -> Any:
        at = slots_from(len(readable.values))
        return (
            table.select(table.name)
            .where(readable.build(slots_from(0)), table.extension_id == at(0))
            .order_by((table.name == at(1)).desc(), table.name)
            .limit(MAX_NAMES)
        )

    rows = query.tx.rows(build, (*readable.values, TRIGGER, name))
    return [row[0] for row in rows]
