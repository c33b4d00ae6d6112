"""Endpoints as operations. If a path names a record type, the document has one path for each type, so that readers and
generated clients see its fields and keys, and only the operations that it offers. Aliases are paths, too."""

from collections.abc import Iterable
from urllib.parse import quote

from server.record_types.record_type import RecordType
from server.record_types.registry import Registry, names_of
from server.web.openapi import errors, parameters, shapes, success_responses
from server.web.openapi.shapes import JSON, Schema
from server.web.routes import Endpoint

TYPE_ARGUMENT = "{uri}"


class Paths:
    """The paths of all endpoints, and the schemas of their bodies."""

    def __init__(self, endpoints: Iterable[Endpoint], registry: Registry, only_json: bool = False) -> None:
        self._only_json = only_json
        self._controllers: dict[str, str] = {}
        self.paths: dict[str, Schema] = {}
        self.schemas: dict[str, Schema] = {}
        for each in endpoints:
            for place, path in enumerate((each.path, *each.aliases)):
                if TYPE_ARGUMENT in path:
                    for record_type in registry:
                        if record_type.offers(each.operation):
                            self._add(path, place, each, record_type)
                else:
                    self._add(path, place, each, None)

    def _add(self, path: str, place: int, each: Endpoint, record_type: RecordType | None) -> None:
        uri = record_type.uri if record_type else ""
        name = operation_id(each, uri) + (f"_alias{place}" if place else "")
        full = f"/rest/{path.replace(TYPE_ARGUMENT, quote(uri))}.json"
        self.paths.setdefault(full, {})[each.method.lower()] = self._operation(name, full, each, record_type)

    def _operation(self, name: str, path: str, each: Endpoint, record_type: RecordType | None) -> Schema:
        shown: Schema = {
            "operationId": name,
            "summary": each.note,
            "description": _description(each, path, record_type),
            "tags": [self._tag(each, record_type)],
            "parameters": [
                *parameters.in_path(path, each),
                *parameters.in_query(each),
                *parameters.in_header(each),
            ],
            "responses": {
                **success_responses.responses(each, record_type.uri if record_type else ""),
                **{
                    str(status): {"$ref": f"#/components/responses/{errors.name(status)}"}
                    for status in errors.statuses(each)
                },
            },
        }
        body = self._body(name, each, record_type)
        if body is not None:
            shown["requestBody"] = body
        return shown

    def tags(self) -> list[Schema]:
        """Returns the tags of operations that belong to no record type, one for each controller."""
        return [
            {"name": tag, "description": f"Endpoints below /rest/{self._controllers[tag]}/.", "x-names": []}
            for tag in sorted(self._controllers)
        ]

    def _tag(self, each: Endpoint, record_type: RecordType | None) -> str:
        if record_type is not None:
            return record_type.uri
        tag = _controller(each).capitalize()
        self._controllers[tag] = _controller(each)
        return tag

    def _body(self, name: str, each: Endpoint, record_type: RecordType | None) -> Schema | None:
        fields = None
        if record_type is not None:
            part = "Create" if each.operation == "create" and each.method == "POST" else "Update"
            fields = shapes.component(shapes.component_name(record_type.uri, part))
        found = parameters.body(each, fields)
        if found is None:
            return None
        as_json, form = found
        json_name = form_name = shapes.component_name(name, "Body")
        self.schemas[json_name] = as_json
        required = "required" in as_json
        if self._only_json:
            return {"required": required, "content": {JSON: {"schema": shapes.component(json_name)}}}
        if form != as_json:
            form_name = shapes.component_name(name, "Form")
            self.schemas[form_name] = form
        maps, files = parameters.encoding(each), parameters.files(each)
        content = {
            JSON: {"schema": shapes.component(json_name)},
            parameters.FORM: _encoded(form_name, maps),
            parameters.MULTIPART: _encoded(form_name, maps | files),
        }
        if each.text_body:
            content["text/plain"] = {"schema": as_json["properties"][each.text_body]}
        return {"required": required, "content": content}


def tags(registry: Registry) -> list[Schema]:
    """Returns the tags of the operations of record types: uri and other names."""
    return [
        {
            "name": each.uri,
            "description": f"{each.label_names[1]}. Other names in paths: {', '.join(_other_names(each))}.",
            "x-names": _other_names(each),
        }
        for each in registry
    ]


def _other_names(record_type: RecordType) -> list[str]:
    return sorted({*names_of(record_type)} - {record_type.uri})


def operation_id(each: Endpoint, uri: str) -> str:
    """The name that generated clients give the operation: first part of the path, record type, function."""
    spelled = shapes.spelled(uri) if uri else ""
    return "_".join(part for part in (_controller(each), spelled, each.function.__name__) if part)


def _description(each: Endpoint, path: str, record_type: RecordType | None) -> str:
    sentences = [each.note]
    if record_type is not None:
        sentences.append(f"Here: {record_type.label_names[1]}.")
    first = f"/rest/{each.path}.json".replace(TYPE_ARGUMENT, quote(record_type.uri if record_type else ""))
    if path != first:
        sentences.append(f"Another path of {each.method} {first}.")
    sentences.append("It changes nothing." if each.mode == "read" else "It may change something.")
    return " ".join(sentences)


def _controller(each: Endpoint) -> str:
    return each.path.partition("/")[0]


def _encoded(name: str, encoding: Schema) -> Schema:
    media: Schema = {"schema": shapes.component(name)}
    return media | {"encoding": encoding} if encoding else media
