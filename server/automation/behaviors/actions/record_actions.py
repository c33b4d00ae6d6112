"""Actions on records. They change records like any other part of the service, as the bot.

A failed action leaves null in its placeholder, and the run goes on: scripts check the result."""

from typing import Any

from server.automation.behaviors.action import OBJECT, ActionCall, action
from server.records import records
from server.search.query_parser import parse

EXPAND = "custom_"  # loads the custom fields of results
SEARCHED = 100  # results of a search without `limit:`


def _uri(call: ActionCall) -> str:
    """Returns the record type. Raises NotFound."""
    return call.run.ctx.service.registry.type(call.text("context")).uri


@action("core.bot.action.record.create", "Create a record.", placeholder=OBJECT, effects=True)
def create(call: ActionCall) -> Any:
    return records.create(call.run.ctx, _uri(call), call.map("changeset_json"), EXPAND)


@action("core.bot.action.record.update", "Change a record.", placeholder=OBJECT, effects=True)
def update(call: ActionCall) -> Any:
    return records.update(call.run.ctx, _uri(call), call.id("id"), call.map("changeset_json"), EXPAND)


@action(
    "core.bot.action.record.upsert",
    "Change the one record that a search finds, or create it.",
    placeholder=OBJECT,
    effects=True,
)
def upsert(call: ActionCall) -> Any:
    """Does nothing if the query matches more than one record."""
    return records.upsert(call.run.ctx, _uri(call), call.text("query"), call.map("changeset_json"), EXPAND)


@action("core.bot.action.record.delete", "Delete a record.", effects=True)
def delete(call: ActionCall) -> None:
    records.delete(call.run.ctx, _uri(call), call.id("id"))


@action("core.bot.action.record.retrieve", "Get a record.", placeholder=OBJECT)
def retrieve(call: ActionCall) -> Any:
    return records.retrieve(call.run.ctx, _uri(call), call.id("id"), EXPAND)


@action("core.bot.action.record.search", "Search records.", placeholder=OBJECT, otherwise=dict)
def search(call: ActionCall) -> Any:
    """Returns {id: dictionary}; with `limit:1` in the query a single dictionary, or null. The total and the page are
    stored next to it."""
    run, parsed = call.run, parse(call.text("query"))
    expand = ",".join([*call.text("expand").split(), EXPAND])
    page = records.search_parsed(run.ctx, _uri(call), parsed, records.SearchRequest("", SEARCHED, 1, expand))
    name, results = call.raw(OBJECT), page["results"]
    if name:
        run.values[f"{name}__total"], run.values[f"{name}__page"] = page["total"], page["page"]
    if parsed.limit == 1:
        return results[0] if results else None
    return {str(each["id"]): each for each in results}
