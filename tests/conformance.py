"""Checks responses of the REST API against the OpenAPI document: status, headers, content type, schema.

tests/service.py passes every response of the run to it. The document is built here, by the same code as the server's;
for record types created by administrators it is fetched from the server."""

import functools
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import requests

from server import app
from server.record_types import registry as record_types
from server.web.openapi import errors
from server.web.openapi.document import document
from server.web.rest_site import ENDING, PREFIX
from server.web.routes import ENDPOINTS, Router

URN = "urn:openapi"
IS_SPARSE = re.compile(r"(?:[?&]|^)fields=")  # a request for some keys of records
JSON_TYPE = "application/json; charset=utf-8"


class Undocumented(AssertionError):
    """A response that the document does not describe."""


class Document:
    """An OpenAPI document. A schema is compiled on first use."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.paths: dict[str, Any] = content["paths"]
        self.uris = {name: tag["name"] for tag in content["tags"] for name in (tag["name"], *tag["x-names"])}
        self._registry = jsonschema_rs.Registry([(URN, content)], draft=jsonschema_rs.Draft202012)
        self._validators: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def response(self, path: str, method: str, status: int) -> tuple[dict[str, Any], str] | None:
        """The documented response and the pointer to it; None if the document has no such response."""
        operation = self.paths.get(path, {}).get(method.lower(), {})
        found = operation.get("responses", {}).get(str(status))
        if found is None:
            return None
        if "$ref" in found:
            name = found["$ref"].rpartition("/")[2]
            return self.content["components"]["responses"][name], f"/components/responses/{name}"
        escaped = path.replace("~", "~0").replace("/", "~1")
        return found, f"/paths/{escaped}/{method.lower()}/responses/{status}"

    def problem(self, pointer: str, value: Any) -> str:
        """The first violation of the schema at a pointer, "" for a valid value."""
        validator = self._validators.get(pointer)
        if validator is None:
            schema = {"$ref": f"{URN}#{quote(pointer, safe='/~')}"}
            validator = jsonschema_rs.Draft202012Validator(schema, registry=self._registry)
            self._validators[pointer] = validator
        error = next(validator.iter_errors(value), None)
        return "" if error is None else f"{'/'.join(map(str, error.instance_path))}: {error.message[:1000]}"


@functools.cache
def own() -> Document:
    """The document as this process builds it."""
    app.endpoints()
    return Document(document(record_types.load(), ENDPOINTS))


@functools.cache
def router() -> Router:
    """The endpoints by path."""
    app.endpoints()
    return Router(ENDPOINTS)


def check(url: str, method: str, path: str, response: requests.Response) -> None:
    """Raises Undocumented if the document does not describe this response. url: of the server, path: of the request."""
    path = path.partition("?")[0]
    if method == "OPTIONS" or not path.startswith(PREFIX):
        return
    _require(response.status_code != 500, response, "something went wrong")
    try:
        _check(url, method, path, response, is_current=False)
    except Undocumented:
        _check(url, method, path, response, is_current=True)


def _check(url: str, method: str, path: str, response: requests.Response, is_current: bool) -> None:
    """Does the work of check(). is_current: whether the document of custom types must be that of this moment."""
    token = str(response.request.headers.get("Authorization", ""))
    documented, template = _place(url, "GET" if method == "HEAD" else method, path, token, is_current)
    if template == "":  # undocumented requests must not succeed
        _require(response.status_code >= 400, response, "it succeeds, but the document has no such operation")
        documented, template, method = own(), "/rest/workers/me.json", "GET"
        if response.status_code not in (*errors.WRITING, *errors.TYPED):
            _check_against(documented, template, method, response)
        return
    _check_against(documented, template, method, response)


def _check_against(documented: Document, template: str, method: str, response: requests.Response) -> None:
    is_head, method = method == "HEAD", "GET" if method == "HEAD" else method
    found = documented.response(template, method, response.status_code)
    if found is None:
        raise Undocumented(f"{method} {template} answers {response.status_code}, which the document does not tell of")
    told, pointer = found
    _check_headers(told.get("headers", {}), response)
    content = told.get("content", {})
    if is_head or "application/json" not in content:
        _require(bool(content) or not response.content, response, "it has a body, but the document tells of none")
        return
    _require(response.headers.get("Content-Type") == JSON_TYPE, response, "it is not of the type of JSON")
    if IS_SPARSE.search(response.request.url or "") or IS_SPARSE.search(_form_of(response)):
        return  # it lacks keys that the schema requires, as the parameter asks
    problem = documented.problem(f"{pointer}/content/application~1json/schema", response.json())
    _require(not problem, response, problem)


def _form_of(response: requests.Response) -> str:
    """The submitted form of a search."""
    body = response.request.body
    is_search = str(response.request.url).partition("?")[0].endswith("/search.json")
    return body.decode("latin-1") if is_search and isinstance(body, bytes) else body or "" if is_search else ""


def _check_headers(told: Mapping[str, Any], response: requests.Response) -> None:
    for name, header in told.items():
        is_of_all = "$ref" in header and response.status_code != 503  # which also occurs for unknown paths
        if header.get("required") or is_of_all:
            _require(name in response.headers, response, f"the header {name} is not there")


def _require(holds: bool, response: requests.Response, problem: str) -> None:
    if not holds:
        request = response.request
        raise Undocumented(f"{request.method} {request.url}: {response.status_code}: {problem}\n{response.text[:2000]}")


def _place(url: str, method: str, path: str, token: str, is_current: bool) -> tuple[Document, str]:
    """The document and the path template of a request; the path is "" if the document has none."""
    below = path[len(PREFIX) :].removesuffix("/").replace("%20", " ").removesuffix(ENDING)
    endpoints, arguments = router().find(below)
    each = endpoints.get(method)
    if each is None:
        return own(), ""
    template = _template(_spelled(below, (each.path, *each.aliases)))
    if "uri" not in arguments:
        return own(), template
    documented = own() if arguments["uri"] in own().uris else _of_custom_types(url, token, arguments["uri"], is_current)
    template = template.replace("{uri}", quote(documented.uris.get(arguments["uri"], "")))
    return documented, template if method.lower() in documented.paths.get(template, {}) else ""


def _template(path: str) -> str:
    return f"{PREFIX}{path}{ENDING}"


def _spelled(below: str, paths: tuple[str, ...]) -> str:
    """The path of the endpoint that matches the request."""
    segments = below.split("/")
    for path in paths:
        parts = path.split("/")
        if len(parts) == len(segments) and all(
            part == segment or part.startswith("{") for part, segment in zip(parts, segments, strict=True)
        ):
            return path
    return paths[0]


_fetched: dict[str, tuple[str, Document]] = {}


def _of_custom_types(url: str, token: str, uri: str, is_current: bool) -> Document:
    """The document of a running server: the last one if it has the type, since each change of a custom type makes a new
    one, which takes a tenth of a second to build, read and compile."""
    known = _fetched.get(url)
    return known[1] if known and uri in known[1].uris and not is_current else fetched(url, token)


def fetched(url: str, token: str) -> Document:
    """The current document of a running server. token: the Authorization header of a worker who may see the custom
    types; if it is refused, the last document is returned."""
    tag, known = _fetched.get(url, ("", own()))
    headers = {"If-None-Match": tag, "Authorization": token}
    response = requests.get(f"{url}/openapi.json", headers=headers, timeout=60)
    if response.status_code == 200:
        known = Document(response.json())
        _fetched[url] = (response.headers["ETag"], known)
    return known
