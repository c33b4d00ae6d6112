"""The OpenAPI document: it is valid, lists exactly the existing endpoints, and is served."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from openapi_spec_validator import OpenAPIV31SpecValidator

from server.record_types import registry as record_types
from server.web import error_bodies
from server.web.openapi import parameters, shapes
from server.web.routes import ENDPOINTS, Endpoint, Parameter
from tests import conformance
from tests.conformance import Undocumented
from tests.service import Api, command
from tests.watched import WatchedTree

pytestmark = pytest.mark.sqlite("the same with any store")

DOCUMENT = conformance.own()
TYPES = record_types.load()
SCHEMAS = DOCUMENT.content["components"]["schemas"]


def operations() -> Iterator[tuple[str, str]]:
    """Yields (path, method) of every operation in the document."""
    for path, item in DOCUMENT.paths.items():
        for method in item:
            yield path, method.upper()


def offered() -> Iterator[tuple[str, str]]:
    """Yields (path, method) of every endpoint that the code declares."""
    for each in ENDPOINTS:
        for path in (each.path, *each.aliases):
            if "{uri}" not in path:
                yield f"/rest/{path}.json", each.method
                continue
            for record_type in TYPES:
                if record_type.offers(each.operation):
                    yield f"/rest/{path.replace('{uri}', record_type.uri)}.json", each.method


@pytest.mark.exhaustive("the validator takes ten seconds")
def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT.content).validate()


def test_it_lists_every_endpoint_and_alias_and_nothing_else() -> None:
    assert sorted(operations()) == sorted(offered())


def test_operations_have_distinct_names() -> None:
    names = [each["operationId"] for item in DOCUMENT.paths.values() for each in item.values()]
    assert len(names) == len(set(names))


def nodes(of: Any) -> Iterator[dict[str, Any]]:
    """Yields every object in a document, at any depth."""
    if isinstance(of, dict):
        yield of
    for each in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from nodes(each)


def test_names_stay_distinct_in_the_spelling_of_generators() -> None:
    operations = [each["operationId"] for item in DOCUMENT.paths.values() for each in item.values()]
    spelled = [re.sub("[^a-z0-9]", "", name.lower()) for name in (*operations, *SCHEMAS)]
    assert len(spelled) == len(set(spelled))


def test_record_types_with_similar_names_stay_distinct(api: Api) -> None:
    made = [api.create("custom_record", name=uri, name_plural=uri, uri=uri).ok()["id"] for uri in ("k_x", "k__x", "kx")]
    document = api.get("/openapi.json").json
    operations = [each["operationId"] for item in document["paths"].values() for each in item.values()]
    schemas = document["components"]["schemas"]
    types = [schema["properties"]["_type"]["const"] for name, schema in schemas.items() if name.endswith("Record")]
    for id in made:
        api.remove("custom_record", id).ok()
    assert {"k_x", "k__x", "kx"} <= set(types)
    for names in (operations, [*schemas]):
        assert len({re.sub("[^a-z0-9]", "", name.lower()) for name in names}) == len(names)


def test_operations_are_described_and_have_a_declared_tag() -> None:
    listed = {tag["name"] for tag in DOCUMENT.content["tags"] if tag["description"]}
    for item in DOCUMENT.paths.values():
        for each in item.values():
            assert each["description"].startswith(each["summary"]) and set(each["tags"]) <= listed
    assert len(listed) == len(DOCUMENT.content["tags"])


def test_an_operation_names_its_subject() -> None:
    alias = next(each for each in ENDPOINTS if each.aliases and "{uri}" not in each.path)
    described = DOCUMENT.paths[f"/rest/{alias.aliases[0]}.json"][alias.method.lower()]["description"]
    assert f"Another path of {alias.method} /rest/{alias.path}.json." in described
    search = DOCUMENT.paths["/rest/records/org/search.json"]["post"]["description"]
    assert search == "Search records, with a long query. Here: Organizations. It changes nothing."


def test_constructs_that_break_client_generators_do_not_occur() -> None:
    for each in nodes(DOCUMENT.content):
        types = each.get("type")
        if types == "array" or (isinstance(types, list) and "array" in types):
            assert "items" in each, each
        if isinstance(each.get("enum"), list):
            assert len({type(value) for value in each["enum"]}) == 1, each
        assert not [part for part in each.get("allOf", ()) if "allOf" in part], "generators look one level deep"
        if types == "object":
            assert each.keys() & {"properties", "additionalProperties", "patternProperties"}, "say which keys it has"
        if isinstance(types, str):
            assert "default" not in each, "say it in the description: clients would take the key for required"


def test_every_schema_is_used() -> None:
    used = {str(each.get("$ref")) for each in nodes(DOCUMENT.content)}
    assert {name for name in SCHEMAS if f"#/components/schemas/{name}" not in used} == set()


def test_defaults_are_described_in_words() -> None:
    told = SCHEMAS["TicketCreate"]["properties"]["status_id"]["description"]
    assert told.endswith("0 when absent.")
    assert "when absent" not in SCHEMAS["TicketUpdate"]["properties"]["status_id"]["description"]


def test_an_upsert_requires_no_field_since_it_may_find_a_record() -> None:
    body = SCHEMAS["RecordsTicketUpsertBody"]
    assert body["required"] == ["query", "fields"]
    assert body["properties"]["fields"] == shapes.component("TicketUpdate")


@pytest.mark.parametrize("each", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_every_endpoint_describes_its_input_and_output(each: Endpoint) -> None:
    assert each.response != shapes.ANY, "declare response= in its declaration"
    unknown = [one.name for one in each.parameters if one.type not in parameters.TYPES]
    assert unknown == [], "use a type of openapi/parameters.py"


def test_it_stays_small_enough_to_read() -> None:
    assert len(json.dumps(DOCUMENT.content, separators=(",", ":"))) < 3_000_000


def test_every_status_and_code_of_an_error_is_listed() -> None:
    told = {
        (status, code)
        for method, path in (
            ("POST", "/rest/records/ticket/create.json"),
            ("PUT", "/rest/records/ticket/{id}.json"),
            ("GET", "/rest/changes.json"),
        )
        for status, name in statuses(method, path)
        for code in DOCUMENT.content["components"]["responses"][name]["content"][shapes.JSON]["schema"]["properties"][
            "__error"
        ]["enum"]
    }
    assert {(status, code) for status, code in error_bodies.TABLE.values()} | {(500, "ERROR_SERVER")} == told


def statuses(method: str, path: str) -> list[tuple[int, str]]:
    """Returns the errors of an operation: (status, name of the response)."""
    answers = DOCUMENT.paths[path][method.lower()]["responses"]
    return [(int(status), found["$ref"].rpartition("/")[2]) for status, found in answers.items() if "$ref" in found]


@pytest.mark.parametrize(
    ("method", "path", "absent", "told"),
    [
        ("GET", "/rest/workers/me.json", (409, 415, 507), (401, 403, 404, 429, 500)),
        ("POST", "/rest/records/org/search.json", (409, 507), (415, 422)),
        ("POST", "/rest/orgs/search.json", (409, 507), (415, 422)),
        ("POST", "/rest/data/query.json", (409, 507), (415, 422, 504)),
        ("POST", "/rest/records/org/create.json", (), (409, 415, 507)),
        ("PUT", "/rest/records/org/{id}.json", (), (409, 415, 507)),
        ("DELETE", "/rest/records/org/{id}.json", (415,), (409, 507)),
    ],
)
def test_impossible_errors_are_not_listed(method, path, absent, told) -> None:
    listed = {status for status, _ in statuses(method, path)}
    assert listed.isdisjoint(absent) and set(told) <= listed


@pytest.mark.parametrize("path", ["orgs/search", "records/org/search", "records/org/create", "data/query"])
def test_an_unsupported_body_type_has_a_listed_response(api: Api, path) -> None:
    response = api.call("POST", f"/rest/{path}.json", data=b"<a/>", headers={"Content-Type": "text/xml"})
    assert response.status == 415


@pytest.mark.parametrize(
    ("name", "part", "value"),
    [
        ("TicketCreate", "required", ["subject"]),
        ("TicketCreate", "allOf", [{"anyOf": [{"required": ["group_id"]}, {"required": ["group"]},
                                              {"required": ["bucket_id"]}]}]),
        ("TaskUpdate", "additionalProperties", SCHEMAS["TicketCreate"]["additionalProperties"]),
        ("CommentRecord", "dependentSchemas", SCHEMAS["TicketRecord"]["dependentSchemas"]),
    ],
)  # fmt: skip
def test_parts_of_schemas(name, part, value) -> None:
    assert SCHEMAS[name][part] == value


def test_an_update_requires_nothing() -> None:
    found = [name for name, schema in SCHEMAS.items() if name.endswith("Update") and "required" in schema]
    assert found == []


@pytest.mark.parametrize(
    ("uri", "field", "part", "value"),
    [
        ("ticket", "subject", "maxLength", 255),
        ("ticket", "importance", "maximum", 100),
        ("ticket", "spam_training", "enum", ["", "N", "S"]),
        ("ticket", "links", "type", "array"),
        ("group", "is_private", "enum", [0, 1]),
        ("org", "name", "description", TYPES.type("org").fields["name"].note),
    ],
)
def test_parts_of_fields(uri, field, part, value) -> None:
    for name in (shapes.component_name(uri, "Create"), shapes.component_name(uri, "Update")):
        assert SCHEMAS[name]["properties"][field][part] == value


def test_fields_that_the_service_maintains_cannot_be_sent() -> None:
    for record_type in TYPES:
        if not record_type.operations["create"]:
            continue
        sent = SCHEMAS[shapes.component_name(record_type.uri, "Create")]["properties"]
        assert not [name for name in sent if name == "id" or record_type.fields[record_type.alternatives.get(
            name, name)].immutable]  # fmt: skip


def test_lists_and_maps_are_named_as_their_encoding_requires() -> None:
    body = DOCUMENT.paths["/rest/records/org/search.json"]["post"]["requestBody"]["content"]
    as_json, form = (SCHEMAS[body[kind]["schema"]["$ref"].rpartition("/")[2]]["properties"]
                     for kind in (shapes.JSON, parameters.FORM))  # fmt: skip
    assert "subtotals" in as_json and "subtotals[]" in form
    create = DOCUMENT.paths["/rest/records/org/create.json"]["post"]["requestBody"]["content"]
    assert create[parameters.FORM]["encoding"]["fields"]["style"] == "deepObject"
    query = DOCUMENT.paths["/rest/records/org/search.json"]["get"]["parameters"]
    assert next(each["schema"]["type"] for each in query if each["name"] == "subtotals[]") == "array"


def test_file_downloads_list_their_ranges_and_headers() -> None:
    found = DOCUMENT.paths["/rest/attachments/{id}/download.json"]["get"]["responses"]
    assert {"200", "206", "416"} <= set(found) and "Content-Range" in found["206"]["headers"]
    asked = DOCUMENT.paths["/rest/attachments/{id}/download.json"]["get"]["parameters"]
    assert {("id", "path"), ("Range", "header")} == {(each["name"], each["in"]) for each in asked}


# -- serving it


def test_it_is_public_and_equals_the_one_of_the_code(api: Api) -> None:
    response = requests.get(f"{api.url}/openapi.json", timeout=60)
    assert response.status_code == 200 and response.headers["Content-Type"] == conformance.JSON_TYPE
    served = response.json()
    assert served["servers"] == [{"url": api.url}]
    built_in = {path: item for path, item in served["paths"].items() if path in DOCUMENT.paths}
    assert built_in == DOCUMENT.paths


def test_the_plain_document_has_only_json_bodies_and_everything_else(api: Api) -> None:
    whole, plain = (requests.get(f"{api.url}/openapi.json{query}", timeout=60) for query in ("", "?body=json"))
    assert whole.headers["ETag"] != plain.headers["ETag"]
    paths = plain.json()["paths"]
    for path, item in whole.json()["paths"].items():
        for method, told in item.items():
            body = told.pop("requestBody", None)
            mine = paths[path][method].pop("requestBody", None)
            assert (told, body is None) == (paths[path][method], mine is None)
            if body is not None:
                json_body = {shapes.JSON: body["content"][shapes.JSON]}
                assert mine == {"required": body["required"], "content": json_body}
    assert whole.json()["paths"].keys() == paths.keys()
    assert not [name for name in plain.json()["components"]["schemas"] if name.endswith("Form")]


@pytest.mark.exhaustive("the same document with fewer bodies, which takes the validator ten seconds")
def test_the_plain_document_is_valid(api: Api) -> None:
    OpenAPIV31SpecValidator(requests.get(f"{api.url}/openapi.json?body=json", timeout=60).json()).validate()


@pytest.mark.parametrize("body", ["form", "JSON", "json,form", "[]=json"])
def test_an_unknown_kind_of_document_is_refused(api: Api, body) -> None:
    response = requests.get(f"{api.url}/openapi.json?body{'' if body[0] == '[' else '='}{body}", timeout=60)
    assert response.status_code == 422 and "body is json" in response.json()["message"]


def test_a_client_with_a_current_copy_gets_304(api: Api) -> None:
    first = requests.get(f"{api.url}/openapi.json", timeout=60)
    listed = {"If-None-Match": f'"x", {first.headers["ETag"]}'}
    again = requests.get(f"{api.url}/openapi.json", headers=listed, timeout=60)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-cache"
    assert requests.get(f"{api.url}/openapi.json", headers={"If-None-Match": '"x"'}, timeout=60).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "headers"),
    [
        ("HEAD", "/openapi.json", 200, {"Content-Type": conformance.JSON_TYPE}),
        ("OPTIONS", "/openapi.json", 204, {"Allow": "GET, HEAD, OPTIONS"}),
        ("POST", "/openapi.json", 405, {"Allow": "GET, HEAD, OPTIONS"}),
        ("GET", "/openapi.json?pretty=1", 200, {}),
        ("GET", "/openapi.jsonx", 404, {}),
        ("GET", "/openapi.json/x", 404, {}),
    ],
)
def test_the_path_and_its_methods(api: Api, method, path, status, headers) -> None:
    response = requests.request(method, api.url + path, timeout=60)
    assert response.status_code == status and headers.items() <= dict(response.headers).items()


def test_record_types_of_administrators_appear_and_disappear(api: Api) -> None:
    def document() -> tuple[str, dict]:
        response = api.get("/openapi.json")
        return response.headers["ETag"], response.json

    before, _ = document()
    made = api.create("custom_record", name="Parcel", name_plural="Parcels", uri="parcel").ok()
    there, told = document()
    assert there != before and "/rest/records/parcel/create.json" in told["paths"]
    assert "ParcelRecord" in told["components"]["schemas"]
    anonymous = requests.get(f"{api.url}/openapi.json", timeout=60)
    assert "parcel" not in anonymous.text.lower() and anonymous.headers["Vary"] == "Authorization"
    wrong = requests.get(f"{api.url}/openapi.json", headers={"Authorization": "Bearer wrong"}, timeout=60)
    assert wrong.status_code == 401
    parcel = api.create("parcel", name="Kiln").ok()
    api.remove("parcel", parcel["id"]).ok()
    api.remove("custom_record", made["id"]).ok()
    assert "/rest/records/parcel/create.json" not in document()[1]["paths"]


def test_describe_lists_it(data) -> None:
    described = json.loads(command("describe", "--json", data=data).stdout)
    assert "/openapi.json" in [each["path"] for each in described["endpoints"]]


# -- checks of the test run against the document


@pytest.mark.parametrize(
    ("method", "path", "changes"),
    [
        ("GET", "/rest/workers/me.json", {"surprise": 1}),
        ("GET", "/rest/workers/me.json", {"id": "1"}),
        ("GET", "/rest/workers/me.json", {"__status": "error"}),
        ("GET", "/rest/workers/me.json", {"_type": "group"}),
        ("GET", "/rest/records/group/search.json", {"count": -1}),
        ("GET", "/rest/records/group/search.json", {"results": [{"id": 1}]}),
    ],
)
def test_a_response_of_another_shape_is_detected(api: Api, method, path, changes) -> None:
    response = api.call(method, path).response
    conformance.check(api.url, method, path, response)
    response._content = json.dumps(response.json() | changes).encode()
    with pytest.raises(Undocumented):
        conformance.check(api.url, method, path, response)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (201, {}), (409, {}), (500, {}), (404, {}), (200, {"Content-Type": "text/html"}), (302, {}),
        (401, {"WWW-Authenticate": None}),
    ],
)  # fmt: skip
def test_another_status_or_header_is_detected(api: Api, status, headers) -> None:
    path = "/rest/workers/me.json"
    response = api.get(path).response
    response.status_code = status
    response.headers.update(headers)
    with pytest.raises(Undocumented):
        conformance.check(api.url, "GET", path, response)


def test_a_success_that_the_document_does_not_list_is_detected(api: Api) -> None:
    response = api.get("/rest/workers/me.json").response
    for method, path in (("GET", "/rest/nothing.json"), ("DELETE", "/rest/records/address/1.json")):
        with pytest.raises(Undocumented):
            conformance.check(api.url, method, path, response)


@pytest.mark.parametrize("name", ["limit", "subtotals", "custom_5", "fields"])
def test_handlers_may_read_declared_parameters(name) -> None:
    tree = WatchedTree({name: "5"}, _taking(f"{name}[]" if name == "subtotals" else name))
    assert (tree.get(name), tree[name], name in tree) == ("5", "5", True)


def test_a_handler_that_reads_an_undeclared_parameter_fails() -> None:
    tree = WatchedTree({"limit": "5"}, _taking("limits"))
    for read in (lambda: tree.get("limit"), lambda: tree["limit"], lambda: "limit" in tree):
        with pytest.raises(AssertionError, match="reads 'limit'"):
            read()


def _taking(name: str) -> Endpoint:
    listed = (Parameter(name, "string", ""), Parameter("custom_*", "string", ""))
    return Endpoint("GET", "x", lambda call: {}, "", "read", listed)
