"""Generates the help pages of endpoints from their declarations, and the tables that link to them."""

import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from types import ModuleType
from typing import Any

from cells import code, head, row
from type_pages import note, types

from server import app
from server.cli.describe import description
from server.web.openapi import errors, shapes
from server.web.openapi.parameters import METHODS_WITH_BODY, is_map
from server.web.openapi.shapes import Schema, Success
from server.web.rest import legacy
from server.web.rest.legacy.families import FAMILIES, Family
from server.web.routes import ENDPOINTS, Endpoint, Parameter

FIRST = ("records", "tickets", "parser")  # the families that most clients need
LEGACY, OTHERS = "of-one-type", "outside-rest"
COMPONENTS = {
    "Subtotal": "a map with `label`, `hits`, and `key` or `distribution`",
}
REFERENCE = re.compile(r"#/components/schemas/(\w+)")
TYPE_WORDS = {"string": "text", "boolean": "yes/no", "array": "list", "object": "map", "null": "null"}


def pages() -> dict[str, str]:
    """Returns {path below resources/help: page} of every family."""
    found = {f"api/{name}.md": _family_page(name, listed) for name, listed in _families().items()}
    found[f"api/{LEGACY}.md"] = _legacy_page()
    found[f"api/{OTHERS}.md"] = _page(
        "Other endpoints", "OAuth endpoints and documents that are not below `/rest/`.", OUTSIDE,
        sections=map(_outside, _described()),
    )  # fmt: skip
    return {path: f"{page}\n" for path, page in found.items()}


# -- tables ------------------------------------------------------------------------------------------------------------


def family_rows() -> Iterator[str]:
    """One row for each page of endpoints."""
    yield from head("Page", "Description", "Endpoints")
    for name, listed in _families().items():
        paths = code(*(f"{one.method} {one.path}" for one in listed))
        yield row(f"[{_title(name)}](api/{name}.md)", f"{_subject(listed)}.", paths)
    yield row(
        f"[Endpoints of one type](api/{LEGACY}.md)", "Endpoints for older scripts.", "create, list, search and so on"
    )
    outside = (f"{one['method']} {one['path']}" for one in _described())
    yield row(f"[Other endpoints](api/{OTHERS}.md)", "OAuth, and the OpenAPI document.", code(*outside))


def error_rows() -> Iterator[str]:
    """One row for each error status."""
    yield from head("Status", "`__error`", "Headers")
    for status, names in errors.codes().items():
        headers = "; ".join(f"`{name}`: {description}" for name, description in errors.HEADERS.get(status, {}).items())
        yield row(f"{status} {HTTPStatus(status).phrase}", code(*names), headers)


def _legacy_page() -> str:
    sections = (iter((f"## {title}", "", *lines)) for title, lines in _legacy_tables())
    return _page("Endpoints of one type", _legacy_about(), sections=sections)


def _legacy_about() -> str:
    return _docstring(legacy).replace("\n", " ").partition(" Thin:")[0]


def _legacy_tables() -> Iterator[tuple[str, list[str]]]:
    common: dict[str, str] = {}
    names: dict[Family, set[str]] = {}
    rest: list[Endpoint] = []
    for each in sorted(filter(_is_legacy, _all()), key=lambda each: (each.path, each.method)):
        family = _legacy_family(each)
        if family is None:
            rest.append(each)
            continue
        word = each.function.__name__.rpartition("_")[2].replace("listed", "list")
        names.setdefault(family, set()).add(word)
        description = each.note.replace(f"the type {family.name}.", "the type.")
        description = re.sub(rf"\ban? {family.name}\.", "a record of the type.", description)
        path = f"`{each.method} /rest/{each.path.replace(family.path, '{path}', 1)}.json`"
        common.setdefault(word, row(word, path, description, _parameters(each)))
    table = head("Name", "Endpoint", "Description", "Parameters")
    yield "Requests", [*table, *(common[word] for word in sorted(common))]
    rows = (row(code(family.path), family.name, ", ".join(sorted(names.get(family, ())))) for family in FAMILIES)
    yield "Record types", [*head("`{path}`", "Record type", "Requests"), *rows]
    yield "Further endpoints", [*head("Endpoint", "Description", "Parameters"), *map(_endpoint_row, rest)]


def _endpoint_row(each: Endpoint) -> str:
    return row(f"`{each.method} /rest/{each.path}.json`", each.note, _parameters(each))


def _parameters(each: Endpoint) -> str:
    return ", ".join(f"**{code(one.name)}**" if one.required else code(one.name) for one in each.parameters)


# -- families ----------------------------------------------------------------------------------------------------------


def _all() -> list[Endpoint]:
    app.endpoints()
    return ENDPOINTS


def _families() -> dict[str, list[Endpoint]]:
    """Returns {name of a page: its endpoints}, in the order of the pages."""
    found: dict[str, list[Endpoint]] = {}
    for each in sorted(_all(), key=_place):
        if not _is_legacy(each):
            found.setdefault(each.function.__module__.rpartition(".")[2], []).append(each)
    return found


def _place(each: Endpoint) -> tuple[int, str, str, str]:
    """The sort key of an endpoint: FIRST, then all other families by name."""
    module = each.function.__module__
    name = module.rpartition(".")[2]
    return FIRST.index(name) if name in FIRST else len(FIRST), module, each.path, each.method


def _is_legacy(each: Endpoint) -> bool:
    return each.function.__module__.startswith(legacy.__name__)


def _legacy_family(each: Endpoint) -> Family | None:
    """The family of a legacy endpoint; None for the endpoints of further.py."""
    if each.function.__module__.endswith(".further"):
        return None
    below = [one for one in FAMILIES if each.path.startswith(f"{one.path}/")]
    return max(below, key=lambda one: len(one.path))


def _title(name: str) -> str:
    """Returns the title of a family's page, by the name of its module."""
    return {"oauth": "OAuth tokens"}.get(name, name.replace("_", " ").capitalize())


def _subject(listed: list[Endpoint]) -> str:
    """The subject of a family: the first sentence of its module's docstring, without the full stop."""
    text = _docstring(sys.modules[listed[0].function.__module__])
    return text.replace("\n", " ").partition(". ")[0].rstrip(".")


def _docstring(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n\n")[0]


def _described() -> list[dict[str, Any]]:
    """The endpoints in `helpdesk describe` that are not below `/rest/`."""
    return [one for one in description()["endpoints"] if not one["path"].startswith("/rest/")]


# -- pages -------------------------------------------------------------------------------------------------------------

SHARED = (
    "[The API](../api.md) describes what applies to all requests, such as tokens, parameters and the keys of every "
    "response. [Using the API](../clients.md#{anchor}) has an example in Python."
)
OUTSIDE = (
    "These endpoints require no API token; [OAuth](../oauth.md) shows how apps use them. Other pages describe "
    "`/webhooks/{token}` ([automations](../automations.md)), `/health` ([operating](../operating.md#health)) and "
    "`/metrics` ([metrics](../metrics.md))."
)
ARGUMENT = re.compile(r"\{\w+\}")
# Sample values of path arguments and parameters, as arguments of curl. A key with a path applies only to that endpoint.
SAMPLES = {
    "days": "days=25 Dec Christmas",
    "tags/merge: source_id": "source_id=2",
    "tickets/reply: message_id": "message_id=1",
    "operations": 'operations=[{"method": "GET", "path": "workers/me"}]',
    "from": "from=Ana Costa <ana@example.com>",
    "{id}": "1",
    "{uri}": "org",
    "{behavior}": "example_order_status",
    "{report}": "workers",
    "reports/{report}: range": "range=last-month",
    "activity_point": "activity_point=task.status.completed",
    "comment": "comment=Looks like a broken seal.",
    "content": "content=It is on its way.",
    "attachments/upload: content": "content@plan.pdf",
    "email": "email=ana@example.com",
    "emails": "emails=ines@example.com, kai@example.com",
    "fields[]": "fields[name]=Acme",
    "file_name": "file_name=plan.pdf",
    "group_id": "group_id=1",
    "json": 'json={"groups": {"1": {"workers": {"1": "member"}}}}',
    "macro": "macro=macro.callBack",
    "message": "message@mail.eml",
    "message_id": "message_id=1",
    "on": "on=org:1",
    "packages/import: package_json": "package_json@package.json",
    "automations/logs/search: q": "q=level:[warning,error]",
    "changes: types": "types=ticket,message",
    "bots/behavior/{behavior}/run: var_*": "var_order=A-17",
    "groups/{id}: *": "name=Support",
    "notifications/list: unread": "unread=1",
    "packages/import: prompts[]": "prompts[name]=Pump",
    "records/{uri}/search: q": "q=name:Acme sort:-id",
    "webhooks/{id}/rotate: overlap_seconds": "overlap_seconds=3600",
    "workers/me: expand": "expand=address_email",
    "data/query: q": "q=type:worklist.subtotals of:ticket by:[status]",
    "query": 'query=name:"Acme Ltd"',
    "records[]": "records[]=org:1",
    "since": "since=-2 hours",
    "source_ids[]": "source_ids[]=2",
    "subject": "subject=Your pump",
    "target_id": "target_id=1",
    "targets": 'targets=["worker:1"]',
    "ticket_ids[]": "-d 'ticket_ids[]=1' -d 'ticket_ids[]=2'",
    "automations/simulate: automation_id": "automation_id=1",
    "to": "to=ana@example.com",
    "variables": 'variables={"target": "Acme"}',
    "worker_id": "worker_id=1",
}
# The section of clients.md with the example of a family.
ANCHORS = {
    "attachments": "files",
    "batch": "many-at-once",
    "automations": "packages-automations-webhooks",
    "bots": "behaviors",
    "calendars": "records",
    "changes": "changes",
    "contexts": "contexts-activity-links",
    "data": "data-queries",
    "groups": "workers-and-groups",
    "invitations": "workers-and-groups",
    "merging": "records",
    "notifications": "notifications",
    "oauth": "tokens",
    "outgoing_webhooks": "packages-automations-webhooks",
    "packages": "packages-automations-webhooks",
    "parser": "mail-in",
    "records": "records",
    "reports": "data-queries",
    "tickets": "tickets",
    "webhooks": "packages-automations-webhooks",
    "workers": "workers-and-groups",
}


def _family_page(name: str, listed: list[Endpoint]) -> str:
    anchor = ANCHORS.get(name)
    if anchor is None:
        raise SystemExit(f"build/endpoint_pages.py: add a section of clients.md for '{name}' to ANCHORS")
    return _page(_title(name), f"{_subject(listed)}.", SHARED.format(anchor=anchor), sections=map(_section, listed))


def _page(title: str, *about: str, sections: Iterable[Iterator[str]]) -> str:
    """Renders a page. about: paragraphs below the title."""
    before = (line for paragraph in about for line in ("", paragraph))
    return _lines(f"# {title}", *before, *(line for section in sections for line in ("", *section)))


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _section(each: Endpoint) -> Iterator[str]:
    """The section of an endpoint: its description, a sample request, parameters, responses and errors."""
    yield f"## {each.method} /rest/{each.path}.json"
    yield ""
    yield note(each.note)
    if each.aliases:
        yield f"Also at {code(*(f'/rest/{alias}.json' for alias in each.aliases))}."
    yield ""
    yield from _sample(each)
    if each.parameters:
        yield ""
        yield from head("Parameter", "Type", "Description")
        yield from (_parameter(each, one) for one in each.parameters)
    yield ""
    yield from _responses(each)
    yield ""
    more = [str(status) for status in errors.statuses(each) if status not in errors.ALWAYS]
    beyond = f", and {', '.join(more)}" if more else ""
    yield f"[Errors](../api.md#errors): the common ones{beyond}."


def _sample(each: Endpoint) -> Iterator[str]:
    """A request with curl, with the required parameters and those that SAMPLES lists for this endpoint."""
    path = ARGUMENT.sub(lambda found: SAMPLES.get(found[0], "1"), each.path)
    values = []
    for name in (one.name for one in each.parameters if f"{{{one.name}}}" not in each.path):
        own = SAMPLES.get(f"{each.path}: {name}")
        if own or any(one.name == name and one.required for one in each.parameters):
            values.append(own or SAMPLES.get(name, f"{name}=..."))
    flags = ["-G"] if values and each.method not in METHODS_WITH_BODY else []
    flags += [] if each.method == "GET" or (each.method == "POST" and values) else [f"-X {each.method}"]
    start = " ".join(["curl -sS", *flags, '-H "Authorization: Bearer $HELPDESK_TOKEN"'])
    written = [each if each.startswith("-") else f"--data-urlencode {shlex.quote(each)}" for each in values]
    yield "```bash sample"
    yield " \\\n    ".join([f'{start} "$HELPDESK_URL/rest/{path}.json"', *written])
    yield "```"


def _parameter(each: Endpoint, one: Parameter) -> str:
    name = f"**{code(one.name)}**" if one.required else code(one.name)
    is_header, in_path = one.place == "header", f"{{{one.name}}}" in each.path
    where = ", in a header" if is_header else ", in the path" if in_path else ""
    if not where and each.method not in METHODS_WITH_BODY:
        where = ", in the query"
    kind = "map" if is_map(one) else one.type
    return row(name, f"{kind}{where}", note(one.note))


def _responses(each: Endpoint) -> Iterator[str]:
    ways = shapes.successes(each.response)
    for one in ways:
        before = f"**{one.status}** {one.note} " if len(ways) > 1 else ""
        yield f"{before}{_response(one)}".strip()
        if one.schema is not None:
            yield from _keys_of(one.schema)
        if one is not ways[-1]:
            yield ""


def _response(one: Success) -> str:
    """Describes a successful response in a sentence or two."""
    headers = "; ".join(f"`{name}`, {_in_a_sentence(description)}" for name, description in one.headers.items())
    more = f" Headers: {headers}." if headers else ""
    if one.schema is None:
        return f"Returns bytes, not JSON.{more}" if one.media_type else f"Returns no body.{more}"
    if one.schema == shapes.NOTHING:
        return f"Returns only the common keys of every response.{more}"
    about = one.schema.get("description", "")
    words = "a map" if one.schema.get("properties") and "allOf" not in one.schema else _words(one.schema)
    return f"Returns {words}.{f' {about}' if about else ''}{more}"


def _keys_of(schema: Schema) -> Iterator[str]:
    """A table of the keys of an object, unless it declares none."""
    properties = schema.get("properties")
    if not properties:
        return
    required = set(schema.get("required", ()))
    yield ""
    yield from head("Key", "Value", "Returned")
    for name, value in properties.items():
        yield row(code(name), _words(value), "always" if name in required else "sometimes")


def _words(schema: Schema) -> str:
    """Describes a schema in words."""
    if schema == shapes.RECORD:
        return "the record"
    found = REFERENCE.search(str(schema.get("$ref", "")))
    if found:
        return _component(found[1])
    if "allOf" in schema:
        return " and ".join([*map(_words, schema["allOf"]), *(["further keys"] if schema.get("properties") else [])])
    if "anyOf" in schema:
        return " or ".join(map(_words, schema["anyOf"]))
    kind = schema.get("type", "anything")
    if kind == "array":
        items = schema.get("items") or {}
        return f"a list of {_inside(items)}" if items else "a list"
    if kind == "object":
        return _object(schema)
    kinds = kind if isinstance(kind, list) else [kind]
    words = " or ".join(TYPE_WORDS.get(one, one) for one in kinds)
    description = schema.get("description", "")
    return f"{words}, {_in_a_sentence(description)}" if description else words


def _in_a_sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _object(schema: Schema) -> str:
    value = schema.get("additionalProperties")
    if isinstance(value, dict) and value:
        return f"a map of {_inside(value)}"
    inner = schema.get("properties")
    return f"a map with {code(*inner)}" if inner else "a map"


def _inside(schema: Schema) -> str:
    """Describes the elements of a list or a map, without an article."""
    words = "records" if schema == shapes.RECORD else _words(schema)
    return re.sub(r"^an? (list|map|record)", r"\1s", words)


def _component(name: str) -> str:
    """Describes a named schema: a record type by a link to its page, any other from COMPONENTS."""
    for each in types():
        if name == shapes.component_name(each.uri, "Record"):
            return f"[{each.uri}](../types/{each.uri}.md)"
    return COMPONENTS[name]


def _outside(one: dict[str, Any]) -> Iterator[str]:
    """The section of an endpoint that is not below `/rest/`."""
    yield f"## {one['method']} {one['path']}"
    yield ""
    yield note(one["note"])
    if one["aliases"]:
        yield f"Also at {code(*one['aliases'])}."
    if one["parameters"]:
        yield ""
        yield from head("Parameter", "Description")
        for each in one["parameters"]:
            name = code(each["name"])
            yield row(f"**{name}**" if each["required"] else name, note(each["note"]))
