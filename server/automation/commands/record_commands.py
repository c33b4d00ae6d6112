"""Commands on records. They act as the service itself, within the policy; fields are those of the records API."""

from typing import Any

from server.automation.acting import changed, parameters, service_of, words
from server.automation.command import COMMANDS, CommandCall, CommandFailed, Input, command
from server.automation.run_dictionary import lazy, plain
from server.context import Context
from server.errors import AmbiguousUpsert, Required, Unavailable
from server.records import records
from server.records.records import SearchRequest, search_scope
from server.search.ast import Query
from server.search.control_terms import query_of
from server.search.placeholders import filled
from server.search.query_parser import parse_group
from server.search.select import search as compile_search
from server.store.transaction import Transaction

MAX_EXPAND_CHARS = 2048
MAX_QUERY_CHARS = 65_536  # length of the input; the search language has a lower limit
DEFAULT_RESULTS = 100  # results of a search without `limit:`
MAX_TRIES = 5  # tries of an upsert whose match changes while the policy is evaluated
NAME_CHARS = 255  # characters of a record type

TYPE = Input("record_type", "text", "The record type: short, plural or full name.", required=True, max=NAME_CHARS)
ID = Input("record_id", "id", "The id of the record.", required=True)
FIELDS = Input("fields", "map", "The fields, as in the records API.", required=True)
EXPAND = Input("expand", "text or list", "Keys to load right away.", max=MAX_EXPAND_CHARS)
SILENT = Input("disable_events", "flag", "Whether to suppress notifications of the change.", default=False)
QUERY = Input("record_query", "text", "A search; ${name} is replaced by a value.", required=True, max=MAX_QUERY_CHARS)
VALUES = Input("record_query_params", "map", "The values for ${name}.", default={})


@command("record.create", "Create a record.", TYPE, FIELDS, EXPAND, SILENT)
def create(call: CommandCall) -> Any:
    """Returns the dictionary of the new record; further keys load on access."""
    return _create(call, service_of(call))


def _create(call: CommandCall, ctx: Context) -> Any:
    inputs = call.inputs
    fields, expand = plain(inputs["fields"]), ",".join(words(inputs["expand"]))
    return _record(call, changed(call, ctx, lambda ctx: records.create(ctx, inputs["record_type"], fields, expand)))


@command(
    "record.update",
    "Change a record.",
    TYPE,
    ID,
    Input("fields", "map", "The fields to change; may be empty.", default={}),
    EXPAND,
    SILENT,
)
def update(call: CommandCall) -> Any:
    """Returns the dictionary of the changed record."""
    if "fields" not in call.given:
        raise Required("record.update needs the input 'fields'", field="fields")
    return _update(call, service_of(call), call.inputs["record_id"])


def _update(call: CommandCall, ctx: Context, id: int) -> Any:
    inputs = call.inputs
    fields, expand = plain(inputs["fields"] or {}), ",".join(words(inputs["expand"]))
    return _record(call, changed(call, ctx, lambda ctx: records.update(ctx, inputs["record_type"], id, fields, expand)))


@command(
    "record.upsert",
    "Change the record that a search finds, or create one.",
    TYPE,
    QUERY,
    VALUES,
    FIELDS,
    EXPAND,
    SILENT,
)
def upsert(call: CommandCall) -> Any:
    """Returns the dictionary of the record. The policy must allow this command and the create or update that it leads
    to.

    The match for which the policy was evaluated is checked again in the transaction that writes."""
    ctx = service_of(call)
    for _ in range(MAX_TRIES):
        id = ctx.service.store.read(lambda tx: _match(call, ctx, tx))
        _ask_for(call, "record.update" if id else "record.create", {"record_id": id} if id else {})
        try:
            return ctx.service.store.write(lambda tx, id=id: _upsert(call, ctx, tx, id))  # type: ignore[misc]
        except _RecordChanged:
            continue
    raise Unavailable("record.upsert: the matches of its query keep changing; try again", retry_after=1)


class _RecordChanged(Exception):
    """Raised if the query matches a different record than before."""


def _upsert(call: CommandCall, ctx: Context, tx: Transaction, id: int) -> Any:
    if _match(call, ctx, tx) != id:
        raise _RecordChanged
    return _update(call, ctx, id) if id else _create(call, ctx)


def _match(call: CommandCall, ctx: Context, tx: Transaction) -> int:
    """Returns the id of the only match, 0 if there is none. With `limit:1`, the first match counts.

    Raises AmbiguousUpsert."""
    query = _query(call)
    search = compile_search(ctx.service.registry.type(call.inputs["record_type"]), query, search_scope(ctx, tx, query))
    ids = search.ids(1 if query.limit == 1 else 2)
    if len(ids) > 1:
        count = search.total()
        raise AmbiguousUpsert(f"record_query finds {count} records; it must find one or none", count=count)
    return ids[0] if ids else 0


def _ask_for(call: CommandCall, name: str, more: dict[str, Any]) -> None:
    """Evaluates the policy for the command that an upsert leads to, with the inputs of that command."""
    inputs = {key: value for key, value in call.inputs.items() if not key.startswith("record_query")}
    call.run.ask_policy(call.node, COMMANDS[name], inputs | more, call.output)


@command(
    "record.get",
    "Load a record.",
    TYPE,
    ID,
    Input("record_expand", "text or list", "Keys to load right away.", max=MAX_EXPAND_CHARS),
    needs_output=True,
    reads=True,
)
def get(call: CommandCall) -> Any:
    """Returns the dictionary of the record; an unknown id is an error."""
    inputs, ctx = call.inputs, service_of(call)
    expand = ",".join(words(inputs["record_expand"]))
    return _record(call, records.retrieve(ctx, inputs["record_type"], inputs["record_id"], expand))


@command("record.delete", "Delete a record.", TYPE, ID, SILENT)
def delete(call: CommandCall) -> Any:
    """Returns the dictionary of the deleted record."""
    inputs = call.inputs

    def work(ctx: Context) -> Any:
        def write(tx: Transaction) -> dict[str, Any]:
            record_type = ctx.service.registry.type(inputs["record_type"])
            had = records.shown(ctx, tx, record_type, inputs["record_id"])
            records.delete(ctx, record_type.uri, inputs["record_id"])
            return had

        return ctx.service.store.write(write)

    return changed(call, service_of(call), work)


@command(
    "record.search",
    "Find records.",
    TYPE,
    QUERY,
    VALUES,
    Input("record_expand", "text or list", "Keys to load right away.", max=MAX_EXPAND_CHARS),
    Input(
        "validation",
        "text",
        "A template, marked @raw, that checks the records found; any text it renders is an error.",
        max=MAX_QUERY_CHARS,
    ),
    needs_output=True,
    reads=True,
)
def search(call: CommandCall) -> Any:
    """Returns {id: dictionary} in search order, DEFAULT_RESULTS at most unless the query has `limit:`; with `limit:1` a
    single dictionary, or false."""
    inputs, ctx, query = call.inputs, service_of(call, ("validation",)), _query(call)
    request = SearchRequest(limit=DEFAULT_RESULTS, expand=",".join(words(inputs["record_expand"])))
    results = records.search_parsed(ctx, inputs["record_type"], query, request)["results"]
    call.run.budget.step(len(results))
    output: Any = {str(each["id"]): _record(call, each) for each in results}
    if query.limit == 1:
        output = next(iter(output.values()), False)
    if inputs["validation"]:
        call.run.values[call.output] = output
        problem = call.run.render(inputs["validation"]).strip()
        if problem:
            raise CommandFailed(problem)
    return output


def _query(call: CommandCall) -> Query:
    """Parses the search with its parameters. Raises BadQuery with a position."""
    group = filled(parse_group(call.inputs["record_query"]), parameters(call.inputs["record_query_params"]))
    return query_of(group)


def _record(call: CommandCall, keys: dict[str, Any]) -> Any:
    return lazy(keys, call.run.load)
