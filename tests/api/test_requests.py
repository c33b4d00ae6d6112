"""Reading of requests, end to end: query strings, urlencoded, multipart and JSON bodies, on every method with a
body."""

import gzip
import http.client
import json
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import requests

from server.app import endpoints
from server.web.routes import ENDPOINTS, Endpoint
from tests.api.minimal import MINIMAL, made
from tests.service import Api, Reply

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "kite-boundary"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def send(api: Api, method: str, path: str, body: bytes, kind: str | None) -> Reply:
    return api.call(method, path, data=body, headers={"Content-Type": kind} if kind is not None else {})


def multipart(**values: str) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in values.items()
    ]
    return ("".join(parts) + f"--{BOUNDARY}--\r\n").encode()


BODIES = [
    (FORM, b"fields[title]=Count+stock&fields%5Bimportance%5D=7&expand=links"),
    (f"{FORM}; charset=UTF-8", b"fields[title]=Count%20stock&fields[importance]=7&expand=links"),
    (MULTIPART, multipart(**{"fields[title]": "Count stock", "fields[importance]": "7", "expand": "links"})),
    ("application/json", b'{"fields": {"title": "Count stock", "importance": 7}, "expand": "links"}'),
    ("APPLICATION/JSON; charset=utf-8", b'{"fields": {"title": "Count stock", "importance": "7"}, "expand": "links"}'),
]


@pytest.mark.parametrize(("kind", "body"), BODIES, ids=["form", "charset", "multipart", "json", "json in capitals"])
def test_post_put_and_patch_read_the_same_bodies(kind: str, body: bytes, api: Api) -> None:
    id = made(api, "task")
    query = f"/rest/records/task/upsert.json?query=id:{id}"
    for method, path in (
        ("POST", "/rest/records/task/create.json"), ("PUT", f"/rest/records/task/{id}.json"), ("PATCH", query),
    ):  # fmt: skip
        response = send(api, method, path, body, kind).ok()
        assert (response["title"], response["importance"], response["links"]) == ("Count stock", 7, {})


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/octet-stream", "nonsense", "image/png"])
def test_put_and_patch_with_an_odd_content_type_are_read_as_a_form(kind: str | None, api: Api) -> None:
    id = made(api, "task")
    body = b"fields[title]=Odd"
    assert send(api, "PUT", f"/rest/records/task/{id}.json", body, kind).ok()["title"] == "Odd"
    path = f"/rest/records/task/upsert.json?query=id:{id}"
    assert send(api, "PATCH", path, body, kind).ok()["id"] == id


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "nonsense"])
@pytest.mark.parametrize("body", [b"<a b='1'/>", b"title: Odd", b"\xff\xfe", b"a=1&b=2", b"[" * 300 + b"=1"])
def test_put_and_patch_with_other_content_are_415(kind: str, body: bytes, api: Api) -> None:
    id = made(api, "task")
    for method, path in (("PUT", f"task/{id}.json"), ("PATCH", f"task/upsert.json?query=id:{id}")):
        response = send(api, method, f"/rest/records/{path}", body, kind)
        assert (response.status, response["__error"]) == (415, "ERROR_PARAM_INVALID")
        assert f"a body of type '{kind}' is not supported; send one of" in response["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_a_compressed_body_is_read(method: str, packing: str, api: Api) -> None:
    path = {"POST": "task/create.json", "PUT": f"task/{made(api, 'task')}.json", "PATCH": "task/upsert.json?query=id:0"}
    body = (gzip if packing == "gzip" else zlib).compress(b"fields[title]=Packed")
    headers = {"Content-Type": FORM, "Content-Encoding": packing}
    assert api.call(method, f"/rest/records/{path[method]}", data=body, headers=headers).ok()["title"] == "Packed"


def test_a_compressed_search_is_read(api: Api) -> None:
    id = made(api, "task", title="Tarpaulin")
    headers = {"Content-Type": FORM, "Content-Encoding": "gzip"}
    body = gzip.compress(b"q=title:Tarpaulin")
    found = api.call("POST", "/rest/records/task/search.json", data=body, headers=headers).ok()
    assert id in [each["id"] for each in found["results"]]


@pytest.mark.parametrize(
    ("packing", "packed", "status", "says"),  # packed inside the test, since a bomb is slow to build
    [
        ("br", lambda: b"x", 415, "packed as 'br'"),
        ("gzip, gzip", lambda: b"x", 415, "send gzip, deflate"),
        ("gzip", lambda: b"fields[title]=x", 400, "damaged, or not gzip"),
        ("gzip", lambda: gzip.compress(b"fields[title]=x")[:-6], 400, "damaged"),
        ("gzip", lambda: gzip.compress(bytes(200 * 1024 * 1024), compresslevel=1), 413, "unpacks to more than"),
    ],
    ids=["brotli", "twice", "no gzip", "cut", "a bomb"],
)
def test_an_undecodable_body_writes_nothing(
    packing: str, packed: Callable[[], bytes], status: int, says: str, api: Api
) -> None:
    before = api.search("task", show_results=0).ok()["total"]
    headers = {"Content-Type": FORM, "Content-Encoding": packing}
    response = api.call("POST", "/rest/records/task/create.json", data=packed(), headers=headers)
    assert response.status == status and says in response["message"]
    assert api.search("task", show_results=0).ok()["total"] == before


def test_every_response_has_its_request_id_of_the_log(api: Api) -> None:
    token = {"Authorization": f"Bearer {api.token}"}
    answers = [
        requests.request(method, f"{api.url}/rest/{path}.json", headers=headers, timeout=60)
        for method, path, headers in [
            ("GET", "workers/me", token), ("GET", "workers/me", {}), ("GET", "nothing/here", token),
            ("POST", "records/task/create", token), ("DELETE", "changes", token), ("OPTIONS", "changes", token),
        ]
    ]  # fmt: skip
    assert [each.status_code for each in answers] == [200, 401, 404, 422, 405, 204]
    ids = [each.headers["X-Request-Id"] for each in answers]
    assert len(set(ids)) == len(ids)


def test_an_error_for_raw_bytes_in_a_form_says_how_to_upload(api: Api) -> None:
    response = send(api, "POST", "/rest/records/task/create.json", b"fields[title]=\x89PNG", FORM)
    assert response.status == 400 and "send bytes as a file part of multipart/form-data" in response["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/octet-stream", "nonsense"])
def test_post_with_an_odd_content_type_is_415(kind: str, api: Api) -> None:
    response = send(api, "POST", "/rest/records/task/create.json", b"fields[title]=Odd", kind)
    assert (response.status, response["__error"]) == (415, "ERROR_PARAM_INVALID")


MALFORMED = [
    ("invalid UTF-8 in a value", FORM, b"fields[title]=%ff"),
    ("raw bytes that are no UTF-8", FORM, b"fields[title]=\xff"),
    ("invalid UTF-8 in a name", FORM, b"fields[%ff]=x"),
    ("a value and brackets", FORM, b"fields=x&fields[title]=y"),
    ("a bracket that is not closed", FORM, b"fields[title][=x&fields[a]b=1"),
    ("bad JSON", "application/json", b"{"),
    ("JSON that is no object", "application/json", b"[1]"),
    ("JSON with half a surrogate", "application/json", b'{"fields": {"title": "\\ud800"}}'),
    ("JSON in another encoding", "application/json", b'{"fields": {"title": "\xff"}}'),
    ("JSON that is too deep", "application/json", b'{"a":' * 40 + b"1" + b"}" * 40),
    ("NaN", "application/json", b'{"fields": {"title": NaN}}'),
    ("multipart without a boundary", "multipart/form-data", b"x"),
    ("multipart that is cut", MULTIPART, multipart(a="b")[:-20]),
    ("a NUL in a name", FORM, b"fields[a%00b]=1"),
]


@pytest.mark.parametrize(("kind", "body"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_unreadable_requests_are_400(kind: str, body: bytes, api: Api) -> None:
    for method, path in (
        ("POST", "/rest/records/task/create.json"),
        ("PUT", f"/rest/records/task/{made(api, 'task')}.json"),
    ):
        response = send(api, method, path, body, kind)
        assert (response.status, response["__error"]) == (400, "ERROR_PARAM_INVALID"), response


@pytest.mark.parametrize("query", ["q=%ff", "q=id:1&%ff=1"])
def test_a_query_string_that_is_no_utf8_is_400(query: str, api: Api) -> None:
    assert api.get(f"/rest/records/task/search.json?{query}").status == 400


NAMES = [
    ("the last of two equal names wins", b"fields[title]=a&fields[title]=b", {"title": "b"}),
    ("plus and %20 are spaces, %2B is a plus", b"fields[title]=a+b%20c%2Bd", {"title": "a b c+d"}),
    ("a semicolon separates nothing", b"fields[title]=a;b=c", {"title": "a;b=c"}),
    ("an empty value is there", b"fields[title]=a&fields[due]=", {"title": "a", "due": 0}),
    ("spaces before a name do not count", b"%20fields[title]=a", {"title": "a"}),
    ("a lone percent sign is itself", b"fields[title]=100%", {"title": "100%"}),
    ("an equals sign in a value", b"fields[title]=a=b", {"title": "a=b"}),
]


@pytest.mark.parametrize(("body", "has"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_names_and_values(body: bytes, has: dict[str, Any], api: Api) -> None:
    response = send(api, "POST", "/rest/records/task/create.json", body, FORM).ok()
    assert {name: response[name] for name in has} == has


@pytest.mark.parametrize("pattern", ["fields[links][]=org:{0}&fields[links][]=org:{1}",
                                     "fields[links][0]=org:{0}&fields[links][7]=org:{1}",
                                     "fields%5Blinks%5D%5B%5D=org%3A{0}&fields[links][]=org:{1}"])  # fmt: skip
def test_lists_inside_fields(pattern: str, api: Api) -> None:
    first, second = made(api, "org"), made(api, "org")
    body = f"fields[title]=Links&expand=links&{pattern.format(first, second)}".encode()
    response = send(api, "POST", "/rest/records/task/create.json", body, FORM).ok()
    assert response["links"] == {"svc.contexts.org": [first, second]}


def test_the_body_takes_precedence_over_the_query_string(api: Api) -> None:
    id = made(api, "task")
    response = send(
        api, "PUT", f"/rest/records/task/{id}.json?fields[title]=query&expand=links", b"fields[title]=body", FORM
    )
    assert (response.ok()["title"], response["links"]) == ("body", {})
    response = send(api, "POST", "/rest/records/task/search.json?q=id:0&limit=3", f"q=id:{id}".encode(), FORM).ok()
    assert (response["total"], response["limit"]) == (1, 3)


@pytest.mark.parametrize("name", ["q", "limit", "page", "expand", "show_meta", "show_results"])
@pytest.mark.parametrize("form", ["{}[]=1", "{}[a]=1"])
def test_a_list_in_place_of_one_value_is_422_by_name(name: str, form: str, api: Api) -> None:
    response = api.get(f"/rest/records/task/search.json?{form.format(name)}")
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (422, "ERROR_PARAM_INVALID", name)


@pytest.mark.parametrize("body", [b"fields=abc", b"fields[]=abc", b"fields[0]=a&fields[1]=b"])
def test_fields_that_are_not_a_map_are_422(body: bytes, api: Api) -> None:
    response = send(api, "POST", "/rest/records/task/create.json", body, FORM)
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (
        422,
        "ERROR_PARAM_INVALID",
        "fields",
    )


@pytest.mark.parametrize("body", [b"", b"expand=links", b"fields=", b"fields[]="])
def test_create_upsert_and_update_need_fields(body: bytes, api: Api) -> None:
    id = made(api, "task")
    for method, path in (
        ("POST", "/rest/records/task/create.json"),
        ("PATCH", f"/rest/records/task/upsert.json?query=id:{id}"),
        ("PUT", f"/rest/records/task/{id}.json"),
    ):
        response = send(api, method, path, body, FORM)
        wanted = (422, "ERROR_PARAM_INVALID" if body == b"fields[]=" else "ERROR_PARAM_REQUIRED", "fields")
        assert (response.status, response["__error"], response["errors"][0]["field"]) == wanted
    assert send(api, "PUT", "/rest/records/task/999999999.json", b"", FORM).status == 404
    assert send(api, "PUT", "/rest/records/nosuch/1.json", b"", FORM).status == 404


endpoints()
NEEDED = [
    pytest.param(each, id=f"{each.method} {each.path}")
    for each in ENDPOINTS
    if any(one.required and not one.place for one in each.parameters)
]
TYPES = {
    "tickets": "ticket",
    "calendars": "calendar",
    "contacts": "contact",
    "orgs": "org",
    "attachments": "attachment",
}


@pytest.mark.parametrize("endpoint", NEEDED)
@pytest.mark.parametrize("sends_blanks", [False, True], ids=["missing", "blank"])
def test_a_missing_parameter_is_required_everywhere(endpoint: Endpoint, sends_blanks: bool, api: Api) -> None:
    path, names = endpoint.path.replace("{uri}", "task"), [one.name for one in endpoint.parameters if one.required]
    if "{id}" in path:
        path = path.replace("{id}", str(made(api, TYPES.get(path.split("/")[0], "task"))))
    sent = {name.removesuffix("[]"): "" for name in names} if sends_blanks else {}
    where = {"params": sent} if endpoint.method in ("GET", "DELETE") else {"data": sent}
    response = api.call(endpoint.method, f"/rest/{path}.json", **where)
    assert (response.status, response["__error"]) == (422, "ERROR_PARAM_REQUIRED"), response
    assert response["errors"][0]["field"] in {name.removesuffix("[]") for name in names}


@pytest.mark.parametrize(
    ("uri", "fields", "lacks"),
    [
        ("asset", {"owner__context": "group"}, "owner_id"),
        ("asset", {"owner__context": "group", "owner_id": 0}, "owner_id"),
        ("notification", {"target_id": 1}, "target__context"),
    ],
)
def test_a_field_that_another_field_needs_is_required(uri: str, fields: dict[str, Any], lacks: str, api: Api) -> None:
    kept = {name: value for name, value in MINIMAL[uri](api).items() if name not in ("group_id", "owner_id")}
    kept = {name: value for name, value in kept.items() if not (uri == "notification" and name.startswith("target"))}
    response = api.create(uri, **kept | fields)
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (
        422,
        "ERROR_PARAM_REQUIRED",
        lacks,
    )


def test_a_bucket_by_name_needs_its_group(api: Api) -> None:
    response = api.update("ticket", made(api, "ticket"), bucket="Inbox")
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (
        422,
        "ERROR_PARAM_REQUIRED",
        "group",
    )


def test_limits_of_forms_are_413(api: Api) -> None:
    for body in (
        b"&".join(b"a%d=1" % number for number in range(1001)),
        b"a" * 300 + b"=1",
        b"a" + b"[b]" * 20 + b"=1",
    ):
        response = send(api, "POST", "/rest/records/task/create.json", body, FORM)
        assert (response.status, response["__error"]) == (413, "ERROR_TOO_LARGE")


@pytest.mark.parametrize(
    ("sent", "limit"), [("0", 1), ("", 10), ("junk", 1), ("-5", 1), ("3", 3), ("3x", 3), ("500", 500), ("501", 500),
                        ("9" * 40, 500), ("1.9", 1)]
)  # fmt: skip
def test_limit_is_clamped(sent: str, limit: int, api: Api) -> None:
    assert api.search("task", limit=sent).ok()["limit"] == limit


@pytest.mark.parametrize(("sent", "page"), [("0", 1), ("", 1), ("1", 1), ("-1", 1), ("junk", 1), ("2", 2), ("99", 99)])
def test_pages_count_from_1(sent: str, page: int, api: Api) -> None:
    assert api.search("task", page=sent).ok()["page"] == page


@pytest.mark.parametrize(
    "path",
    [
        "records/Task/search.json", "Records/task/search.json", "records/task/search.JSON", "records/task/search",
        "records/task/search.xml", "records/task/search.json//", "records/task//search.json",
        "records/nosuch/search.json",
        "records/task/0x1.json", "records/task/-1.json", "records/task/1e0.json",
        "records/task/9223372036854775808.json",
        f"records/task/{quote(chr(0x661))}.json", "records/task/1%00.json", "records%2ftask/search.json",
        "records/task/search%2ejson", "records/task/../task/search.json.", "records/task/search.json;x", "", "records",
        "records/task/0.json", "nosuch/search.json", "records/task.json", "records/task/search/1.json",
        "records/task%2F1.json", "records/%74ask/search.json", "records/task%20/search.json",
    ],
)  # fmt: skip
def test_other_spellings_of_a_path_are_404(path: str, api: Api) -> None:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=60)  # sends the path unchanged
    connection.request("GET", f"/rest/{path}", headers={"Authorization": f"Bearer {api.token}"})
    response = connection.getresponse()
    assert (response.status, json.load(response)["__error"]) == (404, "ERROR_NOT_FOUND")
    connection.close()


def test_a_single_slash_at_the_end_is_tolerated(api: Api) -> None:
    assert api.get("/rest/workers/me.json/").ok()["id"] == api.ids["nora"]


def test_head_is_get_without_a_body_and_options_lists_the_methods(api: Api) -> None:
    id = made(api, "task")
    got, head = api.record("task", id), api.call("HEAD", f"/rest/records/task/{id}.json")
    assert (head.status, head.content, head.headers["Content-Length"]) == (200, b"", got.headers["Content-Length"])
    options = api.call("OPTIONS", f"/rest/records/task/{id}.json")
    assert (options.status, options.content, options.headers["Allow"]) == (204, b"", "DELETE, GET, HEAD, OPTIONS, PUT")
    assert api.call("HEAD", "/rest/records/task/999999.json").status == 404
