"""`automation.invoke`: an automation answers the query. Source: Data queries, automation.invoke.

No automation can be run yet, so a query of this type is checked and then refused."""

from typing import Any

from server.desk.queries.asked import Asked
from server.desk.queries.declared import Answer, Key
from server.desk.queries.refused import Refused
from server.errors import nearest
from server.records.shared.triggers import PREFIX
from server.search.conditions import slots_from
from server.store.statements import slot

TRIGGER = PREFIX + "data.query"
MAX_NAMES = 250  # looked at for the nearest one


class AutomationInvoke(Refused):
    """Refused, with the automation's name when there is one."""

    name = "automation.invoke"
    description = "What an automation answers."
    keys = (
        Key("name", "text", "The name of an automation that data queries start.", required=True),
        Key("inputs", "group", "Its inputs.", keys=(Key("<name>", "any", "One input."),)),
        Key("format", "text", "Passed on to the automation."),
    )
    formats = ("",)

    def run(self, asked: Asked) -> Answer:
        values = asked.values
        name = values.text("name")
        known = _names(asked, name)
        if name not in known:
            raise values.bad("name", f"'{name[:80]}' is not an automation of {TRIGGER}{nearest(name, known)}")
        raise values.bad("name", f"automation '{name[:80]}' cannot be run: this installation runs no automations")


def _names(asked: Asked, wanted: str) -> list[str]:
    """The names of automations that data queries start and the caller may read, the wanted one before others."""
    record_type = asked.ctx.service.registry.type("automation")
    readable, table = asked.scope.readable(record_type), record_type.table.sql
    place = len(readable.values)

    def build() -> Any:
        return (
            table.select(table.name)
            .where(readable.build(slots_from(0)), table.extension_id == slot(place))
            .order_by((table.name == slot(place + 1)).desc(), table.name)
            .limit(MAX_NAMES)
        )

    rows = asked.tx.rows(("automations to invoke", readable.key), build, (*readable.values, TRIGGER, wanted))
    return [row[0] for row in rows]
