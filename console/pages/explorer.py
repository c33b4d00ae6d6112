"""The API explorer: every operation of the OpenAPI document, with a form that sends it as the worker who is signed in.

A request goes through the whole API of this process, by a token that lives as long as it does. What changes something
needs the password again, since by the API a worker can do what the console asks it for."""

import json
import time
from collections.abc import Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from tornado.httputil import HTTPHeaders, RequestStartLine

from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Option, Sample, as_json, bytes_text
from console.http.page_response import PageResponse, attachment
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages import postman
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, NotFound, nearest
from server.people import own_tokens
from server.record_types.registry import Registry
from server.record_types.shared.scopes import parse
from server.settings import VERSION
from server.translation import N_, _
from server.web import entity_tags, envelope
from server.web import error_bodies as web_errors
from server.web.endpoint_call import Answer
from server.web.openapi.document import document
from server.web.openapi.openapi_site import PATH as DOCUMENT
from server.web.openapi.parameters import FORM
from server.web.rest_site import RestSite
from server.web.routes import ENDPOINTS
from server.web.site import Request

BASE = "/api"
AS, WITH = "as", "with"  # the fields that say as which app, and with which of its scopes, a request is sent
FORM_BYTES = 4 * 1024 * 1024  # bytes of a request
MAX_SHOWN_CHARS = 200_000  # characters of a response body
MAX_FOUND = 200  # operations that a search shows
MAX_KEPT = 2  # documents in memory: that of now, and one that was made meanwhile
FLAGS = [("", N_("not sent")), ("1", "yes: 1"), ("0", "no: 0")]
METHODS = {"get": "ok", "post": "info", "put": "warn", "patch": "warn", "delete": "err"}
PAIRS_HINT = "One a line, as name=value."


@dataclass(frozen=True)
class RequestInput:
    """One value of a request. key: of the field on the page. name: as it is sent. place: path, query, header or form.

    kind: text, lines (several values), pairs (a map), flag or choice."""

    key: str
    name: str
    place: str
    kind: str
    is_required: bool
    note: str
    options: tuple[str, ...] = ()

    @property
    def choices(self) -> list[Option]:
        """The options of a field that may be left out."""
        return [("", N_("not sent")), *((option, option) for option in self.options)]


@dataclass(frozen=True)
class Operation:
    """An operation. answers: pairs of status and meaning. keys: (name, type, note) of the response."""

    name: str
    method: str
    path: str
    summary: str
    tag: str
    inputs: tuple[RequestInput, ...]
    answers: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str, str], ...]

    @property
    def is_read(self) -> bool:
        return self.method == "get"


@dataclass(frozen=True)
class ApiResponse:
    """An answer as it is shown. ms: milliseconds."""

    status: int
    reason: str
    ms: float
    headers: list[tuple[str, str]]
    body: str


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """All operations by tag, those of one tag, or the results of a search."""
    all_operations = _all(visit)
    tag, q = visit.query.text("tag", ""), visit.query.text("q", "").strip()
    tags: dict[str, int] = {}
    for each in all_operations:
        tags[each.tag] = tags.get(each.tag, 0) + 1
    if tag and tag not in tags:
        raise NotFound(_("The API has no section '{tag}'{tags}.", tag=tag[:60], tags=nearest(tag, tags)))
    fitting = [each for each in all_operations if _fits(each, tag, q)] if tag or q else []
    types = {each.uri: each.label_names[1] for each in visit.service.registry}
    return render(
        visit,
        "api.html",
        found=fitting[:MAX_FOUND],
        total=len(fitting),
        most=MAX_FOUND,
        tag=tag,
        q=q,
        records=sorted(((name, types[name], count) for name, count in tags.items() if name in types), key=_label),
        others=sorted(((name, _words(name), count) for name, count in tags.items() if name not in types), key=_label),
        methods=METHODS,
        document=DOCUMENT,
        label=types.get(tag, _words(tag)),
        all=len(all_operations),
    )


@page("GET", f"{BASE}/errors")
def show_errors(visit: Visit) -> PageResponse:
    """Every kind of error that the API answers."""
    return render(visit, "api_errors.html", found=web_errors.catalogue())


@page("GET", f"{BASE}/collection")
def show_collection(visit: Visit) -> PageResponse:
    """All operations as a file for request builders."""
    collection = postman.collection(_all(visit), visit.service.base_url, VERSION)
    return PageResponse(
        json.dumps(collection, ensure_ascii=False),
        headers=attachment("helpdesk.postman_collection.json"),
        content_type=envelope.CONTENT_TYPE,
    )


@page("GET", f"{BASE}/{{name}}")
def show_operation(visit: Visit) -> PageResponse:
    """One operation. Values in the address, such as q, fill in the form. Raises NotFound."""
    each = _operation(visit)
    names = {one.key: one.name for one in each.inputs if one.place in ("path", "query") and "[" not in one.name}
    values = {key: visit.query.text(name, "") for key, name in names.items()}
    return _shown(visit, each, Form.from_values({one.key: values.get(one.key, "") for one in each.inputs}), None)


@page("POST", f"{BASE}/{{name}}", form_bytes=FORM_BYTES)
def try_read(visit: Visit) -> PageResponse:
    """Send a request that changes nothing, and show the answer. Raises NotFound, Invalid for other operations."""
    each = _operation(visit)
    if not each.is_read:
        raise Invalid(
            _("{upper} {path} changes something; send it from its own page", upper=each.method.upper(), path=each.path)
        )
    return _tried(visit, each)


@page("POST", f"{BASE}/{{name}}/write", "proven worker", form_bytes=FORM_BYTES)
def try_write(visit: Visit) -> PageResponse:
    """Send a request for real, and show the answer. Raises NotFound."""
    return _tried(visit, _operation(visit))


def _all(visit: Visit) -> tuple[Operation, ...]:
    registry = visit.service.registry
    return operations(registry, registry.revision, visit.service.base_url)


def _operation(visit: Visit) -> Operation:
    all_operations, name = _all(visit), visit.arguments["name"]
    for each in all_operations:
        if each.name == name:
            return each
    raise NotFound(
        _(
            "There is no operation '{name}'{found}.",
            name=name[:100],
            found=nearest(name, [each.name for each in all_operations]),
        )
    )


def _tried(visit: Visit, each: Operation) -> PageResponse:
    form = Form.sent(visit.form, [AS, WITH, *(one.key for one in each.inputs)])
    for one in each.inputs:
        if one.is_required and not form.text(one.key):
            form.fail(one.key, _("This is required."))
    if form.is_wrong:
        return _shown(visit, each, form, None)
    try:
        return _shown(visit, each, form, _send(visit, _sample(each, form), _headers(each, form), _as(visit, form)))
    except HelpdeskError as error:  # what was typed cannot be sent, or there is no token to send it by
        return _shown(visit, each, form.refuse(error), None)


def _shown(visit: Visit, each: Operation, form: Form, reply: ApiResponse | None) -> PageResponse:
    is_filled = any(form.get(one.key) for one in each.inputs) and not form.is_wrong
    rest = [one for one in each.inputs if not one.is_required]
    return render(
        visit,
        "operation.html",
        form.status,
        each=each,
        form=form,
        reply=reply,
        methods=METHODS,
        flags=FLAGS,
        hint=PAIRS_HINT,
        labels={one.key: one.name for one in each.inputs},
        is_filled=is_filled,
        sample=_sample(each, form) if is_filled else Sample(each.method.upper(), each.path),
        may_write=visit.who.is_stepped_up(visit.now),
        first=[one for one in each.inputs if one.is_required],
        rest=rest,
        has_rest=any(form.get(one.key) for one in rest),
        as_field=AS,
        with_field=WITH,
        apps=lookup.choosable(visit, "oauth_app", chosen=form.get(AS)) if visit.actor.is_admin else None,
    )


def _as(visit: Visit, form: Form) -> tuple[int, str]:
    """The app and the scope that a request is sent with: 0 and "" for all that the worker may do, "" for every scope of
    the app. Raises Invalid, NotFound."""
    if not form.text(AS) and not form.text(WITH):
        return 0, ""
    if not visit.actor.is_admin:
        raise Invalid(_("only administrators send requests as an app"), field=AS)
    app_id, scope = lookup.chosen_id(visit, "oauth_app", form.text(AS), AS), form.text(WITH)
    if not app_id:
        raise Invalid(_("choose the app that has this scope"), field=AS)
    known_scopes = list(parse(lookup.record(visit, "oauth_app", app_id)["scopes"]))
    if scope and scope not in known_scopes:
        raise Invalid(
            _("the app has no scope '{scope}'; it has {known}", scope=scope[:60], known=", ".join(known_scopes)),
            field=WITH,
        )
    return app_id, scope


# -- a request ---------------------------------------------------------------------------------------------------------


def _sample(each: Operation, form: Form) -> Sample:
    """The request that a form asks for. Raises Invalid for a map that is not written as name=value."""
    path = each.path
    query: list[tuple[str, str]] = []
    fields: list[tuple[str, str]] = []
    for one in each.inputs:
        text = form.get(one.key).replace("\r\n", "\n")
        if one.place == "path":
            path = path.replace(f"{{{one.name}}}", quote(text.strip(), safe=""))
        elif text and one.place != "header":
            (query if one.place == "query" else fields).extend(_values(one, text))
    if query and not each.is_read:
        path += f"?{urlencode(query)}"
    return Sample(each.method.upper(), path, query if each.is_read else fields)


def _values(one: RequestInput, text: str) -> Iterator[tuple[str, str]]:
    if one.kind == "lines":
        name = one.name if one.name.endswith("[]") else f"{one.name}[]"
        yield from ((name, line.strip()) for line in text.split("\n") if line.strip())
    elif one.kind == "pairs":
        for line in text.split("\n"):
            name, equals, value = line.partition("=")
            if line.strip() and not (equals and name.strip()):
                raise Invalid(_("'{line}' must be written as name=value", line=line[:60]), field=one.key)
            if line.strip():
                yield f"{one.name}[{name.strip()}]", value.strip()
    else:
        yield one.name, text


def _headers(each: Operation, form: Form) -> dict[str, str]:
    headers = {one.name: form.text(one.key) for one in each.inputs if one.place == "header" and form.text(one.key)}
    for one in each.inputs:
        if one.place == "header" and any(char < " " for char in form.text(one.key)):
            raise Invalid(_("{name} must be one line", name=one.name), field=one.key)
    return headers


def _send(visit: Visit, sample: Sample, headers: dict[str, str], as_whom: tuple[int, str]) -> ApiResponse:
    """The answer of the API of this process. as_whom: from _as. Raises NotFound when there is no app to make a token
    of."""
    site, is_read = RestSite(visit.service), sample.method == "GET"
    encoded = urlencode(sample.fields)
    target = f"{sample.path}?{encoded}" if is_read and encoded else sample.path
    with own_tokens.for_one_request(visit.ctx, *as_whom) as token:
        sent = HTTPHeaders({**headers, "Authorization": f"Bearer {token}"})
        peer = visit.request.client
        request = Request(RequestStartLine(sample.method, target, "HTTP/1.1"), sent, peer, peer)
        if not is_read and encoded:
            sent["Content-Type"] = FORM
            request.body = encoded.encode()
        began = time.perf_counter()
        try:
            request.found = site.resolve(request)
            answer = entity_tags.rendered(site.answer(request, None))
        except HelpdeskError as error:
            answer = entity_tags.rendered(web_errors.answer(error, visit.service.base_url))
        ms = round((time.perf_counter() - began) * 1000, 1)
    reason = HTTPStatus(answer.status).phrase
    return ApiResponse(answer.status, reason, ms, sorted(answer.headers.items()), _body(answer))


def _body(answer: Answer) -> str:
    """A body for display: JSON with line breaks, binary data as its size."""
    if answer.pieces is not None:
        return f"({bytes_text(answer.length)} of {answer.content_type}; fetch it by the command below)"
    text = answer.body.decode("utf-8", "replace")
    if answer.content_type == envelope.CONTENT_TYPE:
        text = as_json(json.loads(text))
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\n… (cut; fetch it by the command below)"


# -- the document ------------------------------------------------------------------------------------------------------


@lru_cache(MAX_KEPT)
def operations(registry: Registry, revision: int, base_url: str) -> tuple[Operation, ...]:
    """Every operation of the document of a registry at this revision, by path; other names of one are left out."""
    api = document(registry, ENDPOINTS, base_url)
    listing = []
    for path, methods in api["paths"].items():
        for method, description in methods.items():
            name = description["operationId"]
            if "_alias" not in name:
                listing.append(
                    Operation(
                        name,
                        method,
                        path,
                        description["summary"],
                        description["tags"][0],
                        tuple(_inputs(api, description)),
                        tuple(_answers(api, description)),
                        tuple(_keys(api, description)),
                    )
                )
    return tuple(listing)


def _label(choice: tuple[str, str, int]) -> str:
    return choice[1]


def _words(tag: str) -> str:
    return tag.replace("_", " ")


def _fits(each: Operation, tag: str, q: str) -> bool:
    text = f"{each.method} {each.path} {each.summary} {each.name} {each.tag}".lower()
    return (not tag or each.tag == tag) and all(word in text for word in q.lower().split())


def _inputs(api: dict[str, Any], operation: dict[str, Any]) -> Iterator[RequestInput]:
    rows = [
        (one["name"], one["in"], one["schema"], bool(one.get("required")), one.get("description", ""))
        for one in operation["parameters"]
    ]
    body = operation.get("requestBody", {}).get("content", {}).get(FORM)
    if body is not None:
        schema = _resolved(api, body["schema"])
        for name, one in schema.get("properties", {}).items():
            rows += _flat(api, name, one, name in schema.get("required", ()))
    for number, (name, place, schema, is_required, note) in enumerate(rows):
        kind, options = _kind(schema)
        yield RequestInput(f"v{number}", name, place, kind, is_required, note, options)


def _flat(api: dict[str, Any], name: str, schema: dict[str, Any], is_required: bool) -> Iterator[tuple[Any, ...]]:
    """A property of a body; a map whose keys are known is one property for each of them, and one for the rest."""
    shape = _resolved(api, schema)
    note = schema.get("description") or shape.get("description", "")
    properties = shape.get("properties")
    if not properties:
        yield name, "form", shape, is_required, note
        return
    for key, one in properties.items():
        text = one.get("description") or _resolved(api, one).get("description", "")
        yield f"{name}[{key}]", "form", _resolved(api, one), is_required and key in shape.get("required", ()), text
    rest = shape.get("additionalProperties")
    if isinstance(rest, dict):
        yield name, "form", {"type": "object"}, False, rest.get("description", "")


def _kind(schema: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    types = schema.get("type", "string")
    types = {types} if isinstance(types, str) else set(types)
    if "boolean" in types:
        return "flag", ()
    if "array" in types:
        return "lines", ()
    if types == {"object"}:
        return "pairs", ()
    options = tuple(str(each) for each in schema.get("enum", ()) if each not in ("", None))
    return ("choice", options) if options else ("text", ())


def _answers(api: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for status, answer in operation["responses"].items():
        name = str(answer.get("$ref", "")).rpartition("/")[2]
        yield status, str((api["components"]["responses"][name] if name else answer)["description"])


def _keys(api: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The top-level keys of a success, without those of the envelope."""
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            for name, one in _properties(api, schema).items():
                if not name.startswith("__") and name != "_meta":
                    yield name, _type(one), str(one.get("description", ""))


def _properties(api: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    shape = _resolved(api, schema)
    properties: dict[str, Any] = {}
    for part in shape.get("allOf", ()):
        properties |= _properties(api, part)
    return properties | shape.get("properties", {})


def _resolved(api: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return dict(api["components"]["schemas"][name]) if name else schema


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    types = schema.get("type", "any")
    text = types if isinstance(types, str) else " or ".join(types)
    return f"array of {_type(schema['items'])}" if text == "array" and isinstance(schema.get("items"), dict) else text
