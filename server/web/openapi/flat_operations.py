"""The operations of the document with every input as one text: for a form that sends one, and for request builders."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from server.context import Service
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, nearest
from server.record_types.registry import Registry
from server.translation import Words, _
from server.web.openapi.document import document
from server.web.openapi.parameters import FORM
from server.web.routes import ENDPOINTS

# Documents in memory: the current one, and one that another request still uses. Each takes a quarter of a second.
MAX_KEPT = 2
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class RequestInput:
    """One value of a request. key: of the field of a form. name: as it is sent. place: path, query, header or form.

    kind: text, lines (several values), pairs (a map), flag or choice."""

    key: str
    name: str
    place: str
    kind: str
    is_required: bool
    note: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlatRequest:
    """A request. path: with its query, unless the operation reads. fields: of the query if it reads, else of the
    body."""

    method: str
    path: str
    fields: Pairs
    headers: dict[str, str]


@dataclass(frozen=True)
class FlatOperation:
    """An operation. responses: pairs of status and meaning. keys: (name, type, note) of the response."""

    name: str
    method: str
    path: str
    summary: str
    tag: str
    inputs: tuple[RequestInput, ...]
    responses: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str, str], ...]

    @property
    def is_read(self) -> bool:
        return self.method == "get"

    def fits(self, tag: str, q: str) -> bool:
        """Whether it has a tag, "" for any, and all words of a search."""
        text = f"{self.method} {self.path} {self.summary} {self.name} {self.tag}".lower()
        return (not tag or self.tag == tag) and all(word in text for word in q.lower().split())

    def request(self, texts: Mapping[str, str]) -> FlatRequest:
        """The request with these texts, by the keys of the inputs; blank ones are not sent. Raises Invalid at the key
        of a map that is not written as name=value, or of a header with several lines."""
        path = self.path
        query: Pairs = []
        fields: Pairs = []
        headers: dict[str, str] = {}
        for each in self.inputs:
            text = texts.get(each.key, "").replace("\r\n", "\n")
            if each.place == "path":
                path = path.replace(f"{{{each.name}}}", quote(text.strip(), safe=""))
            elif each.place == "header":
                if any(char < " " for char in text.strip()):
                    raise Invalid(_("{name} must be one line", name=each.name), field=each.key)
                headers |= {each.name: text.strip()} if text.strip() else {}
            elif text:
                (query if each.place == "query" else fields).extend(_values(each, text))
        if query and not self.is_read:
            path += f"?{urlencode(query)}"
        return FlatRequest(self.method.upper(), path, query if self.is_read else fields, headers)


def _values(each: RequestInput, text: str) -> Iterator[tuple[str, str]]:
    if each.kind == "lines":
        name = each.name if each.name.endswith("[]") else f"{each.name}[]"
        yield from ((name, line.strip()) for line in text.split("\n") if line.strip())
    elif each.kind == "pairs":
        for line in text.split("\n"):
            name, equals, value = line.partition("=")
            if line.strip() and not (equals and name.strip()):
                raise Invalid(_("'{line}' must be written as name=value", line=line[:60]), field=each.key)
            if line.strip():
                yield f"{each.name}[{name.strip()}]", value.strip()
    else:
        yield each.name, text


@lru_cache(MAX_KEPT)
def operations(registry: Registry, revision: int, base_url: str) -> tuple[FlatOperation, ...]:
    """Every operation of the document of a registry at this revision, by path, without aliases."""
    api = document(registry, ENDPOINTS, base_url)
    listing = []
    for path, methods in api["paths"].items():
        for method, description in methods.items():
            name = description["operationId"]
            if "_alias" not in name:
                listing.append(
                    FlatOperation(
                        name,
                        method,
                        path,
                        description["summary"],
                        description["tags"][0],
                        tuple(_inputs(api, description)),
                        tuple(_responses(api, description)),
                        tuple(_keys(api, description)),
                    )
                )
    return tuple(listing)


def of_service(service: Service) -> tuple[FlatOperation, ...]:
    """Every operation of the API of a service."""
    return operations(service.registry, service.registry.revision, service.base_url)


def find(service: Service, name: str) -> FlatOperation:
    """The operation of a name. Raises NotFound."""
    by_name = {each.name: each for each in of_service(service)}
    if name not in by_name:
        near = nearest(name, list(by_name))
        raise NotFound(_("There is no operation '{name}'{found}.", name=name[:100], found=near))
    return by_name[name]


@dataclass(frozen=True)
class ApiSection:
    """The operations of a tag. label: of the record type, if they are about one."""

    tag: str
    label: Words
    count: int
    is_of_records: bool


def sections(service: Service) -> dict[str, ApiSection]:
    """The sections of the API by their tags."""
    types = {each.uri: each.label_names[1] for each in service.registry}
    tags = Counter(each.tag for each in of_service(service))
    return {
        tag: ApiSection(tag, types.get(tag, tag.replace("_", " ")), count, tag in types) for tag, count in tags.items()
    }


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


def _responses(api: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for status, response in operation["responses"].items():
        name = str(response.get("$ref", "")).rpartition("/")[2]
        yield status, str((api["components"]["responses"][name] if name else response)["description"])


def _keys(api: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The top-level keys of a success, without those of the envelope."""
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            schema = response.get("content", {}).get("application/json", {}).get("schema", {})
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
