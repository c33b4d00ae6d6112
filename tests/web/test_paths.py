"""A read-only token only reads, however the path is spelled: scope and route are decided on the same
normalised path."""

import pytest

from tests.service import Api, Reply
from tests.web.wire import head, send

SCOPES = """
"read":
  label: Read everything
  endpoints:
    - "*": GET
"search":
  label: Search tasks by POST
  endpoints:
    - "records/task/search": [GET, POST]
"""
FORM = b"fields[title]=written&query=id:{0}"
METHODS = ("POST", "PUT", "PATCH", "DELETE")

# Alternative spellings of one path. {0} is an id.
SPELLINGS = [
    "/rest/records/task/create.json",
    "/rest/records/task/upsert.json",
    "/rest/records/task/{0}.json",
    "/rest/records/task/{0}",
    "/rest/records/task/{0}/",
    "/rest/records/task/{0}.json/",
    "/rest/records/task/{0}.json//",
    "//rest/records/task/{0}.json",
    "/rest//records/task/{0}.json",
    "/rest/records//task/{0}.json",
    "/rest/./records/task/{0}.json",
    "/./rest/records/task/{0}.json",
    "/rest/x/../records/task/{0}.json",
    "/rest/records/task/search.json/../{0}.json",
    "/rest/records/task/search/../{0}.json",
    "/rest/records/task/search%2f..%2f{0}.json",
    "/rest/records/task/search%2F../{0}.json",
    "/rest/records/task/..%2ftask/{0}.json",
    "/rest/records/task%2f{0}.json",
    "/rest/records%2ftask%2f{0}.json",
    "/rest%2frecords%2ftask%2f{0}.json",
    "/%72est/records/task/{0}.json",
    "/rest/records/task/%63reate.json",
    "/rest/records/t%61sk/{0}.json",
    "/rest/records/task/{0}%2ejson",
    "/rest/records/task/{0}.json%00",
    "/rest/records/task/{0}%00.json",
    "/rest/records/task/{0}.json%20",
    "/rest/records/task/{0}.json.",
    "/rest/records/task/{0}..json",
    "/rest/records/task/{0}.json;a=b",
    "/rest/records/task;a=b/{0}.json",
    "/rest/records/task/{0};.json",
    "/rest/records/TASK/{0}.json",
    "/REST/records/task/{0}.json",
    "/rest/Records/Task/{0}.JSON",
    "/rest/records/task/CREATE.json",
    "/rest/records/task/search.json?/../create.json",
    "/rest/records/task/search.json#/create.json",
    "/rest\\records\\task\\{0}.json",
    "/rest/records/task/\\..\\{0}.json",
    "/rest/records/task/+{0}.json",
    "/rest/records/task/0{0}.json",
    "/rest/records/task/{0}.0.json",
    "/rest/records/task/{0}.json?_method=DELETE",
    "/rest/records/task/search.json?_method=PUT&fields[title]=written",
    "http://localhost/rest/records/task/{0}.json",
    "http://localhost:8200/rest/records/task/create.json",
    "rest/records/task/{0}.json",
    "*",
]


@pytest.fixture(scope="module")
def reader(nora: Api) -> Api:
    """The administrator's client, with a token for reading and for one POST endpoint."""
    app = nora.create("oauth_app", name="Reader", callback_url="https://r.example/", scopes=SCOPES).ok()["id"]
    token = nora.post(
        "/rest/oauth/tokens/create.json", worker_id=nora.ids["nora"], app_id=app, scopes="read search", expires="1 day"
    ).ok()
    return Api(nora.url, token["access_token"])


@pytest.fixture(scope="module")
def task(nora: Api) -> int:
    return nora.create("task", title="untouched").ok()["id"]


def _untouched(nora: Api, task: int) -> bool:
    return nora.record("task", task).ok()["title"] == "untouched" and nora.found("task", "title:written") == []


def test_the_token_reads(reader: Api, task: int) -> None:
    assert reader.record("task", task).ok()["title"] == "untouched"
    assert reader.call("POST", "/rest/records/task/search.json", data={"q": f"id:{task}"}).ok()["total"] == 1
    assert reader.call("HEAD", f"/rest/records/task/{task}.json").status == 200


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_path_lets_a_reader_write(spelling: str, reader: Api, nora: Api, task: int) -> None:
    body = FORM.replace(b"{0}", str(task).encode())
    for method in METHODS:
        request = head(
            f"{method} {spelling.format(task)} HTTP/1.1", reader.token, f"Content-Length: {len(body)}",
            "Content-Type: application/x-www-form-urlencoded",
        )  # fmt: skip
        heard = send(nora.url, request, body)
        searches = spelling.startswith("/rest/records/task/search.json?") and method == "POST"
        assert heard.status == 200 if searches else heard.status in (400, 403, 404, 405), (method, heard)
    assert _untouched(nora, task)


@pytest.mark.parametrize(
    "header",
    "X-HTTP-Method-Override X-HTTP-Method X-Method-Override X-Original-Method X-Original-URL X-Rewrite-URL".split(),
)
@pytest.mark.parametrize("value", ["DELETE", "PUT", "/rest/records/task/create.json"])
def test_no_header_changes_method_or_path(header: str, value: str, reader: Api, nora: Api, task: int) -> None:
    for method, path in [("GET", f"/rest/records/task/{task}.json"), ("POST", "/rest/records/task/search.json")]:
        reply = reader.call(method, path, data={"fields[title]": "written"}, headers={header: value})
        assert reply.status == 200
    assert _untouched(nora, task)


@pytest.mark.parametrize("name", ["_method", "method", "_METHOD", "http_method"])
def test_no_parameter_changes_the_method(name: str, reader: Api, nora: Api, task: int) -> None:
    for method in ("GET", "POST"):
        reader.call(method, "/rest/records/task/search.json", params={name: "DELETE"}, data={name: "PUT"}).ok()
        reader.call("GET", f"/rest/records/task/{task}.json", params={name: "DELETE", "fields[title]": "written"}).ok()
    assert _untouched(nora, task)


@pytest.mark.parametrize("method", ["get", "Post", "pUT", "delete", "TRACE", "CONNECT", "PROPFIND", "FOO"])
def test_other_methods_do_nothing(method: str, nora: Api, task: int) -> None:
    request = head(f"{method} /rest/records/task/{task}.json HTTP/1.1", nora.token, "Content-Length: 21")
    heard = send(nora.url, request, b"fields[title]=written")
    assert heard.status in (0, 400, 404, 405)
    if heard.status == 405:
        assert heard.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"
    assert _untouched(nora, task)


def test_a_refused_write_names_the_missing_scope(reader: Api, task: int) -> None:
    reply = reader.update("task", task, title="written")
    assert reply.status == 403 and "insufficient_scope" in reply.headers["WWW-Authenticate"]


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:8200", "evil.example#x"])
def test_a_foreign_host_is_refused(host: str, nora: Api) -> None:
    for path in ("/", "/rest/workers/me.json", "/static/console.css"):
        assert send(nora.url, head(f"GET {path} HTTP/1.1", nora.token, host=host)).status == 400


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
@pytest.mark.parametrize("form", ["http://localhost{}", "HTTP://localhost:8200{}", "https://localhost{}#x"])
def test_a_whole_address_is_a_target_with_its_own_host(form: str, host: str, nora: Api) -> None:
    """The Host header is ignored then (RFC 9112, 3.2.2)."""
    target = form.format("/rest/workers/me.json?expand=links")
    heard = send(nora.url, head(f"GET {target} HTTP/1.1", nora.token, host=host))
    assert heard.status == 200 and heard.json["id"] == nora.ids["nora"]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/rest/workers/me.json", 400),
        ("http://user@localhost/rest/workers/me.json", 400),
        ("http:///rest/workers/me.json", 400),
        ("http://localhost", 200),
        ("http://localhost?a=b", 200),
        ("ftp://localhost/rest/workers/me.json", 404),
        ("*", 404),
    ],
)
def test_a_target_in_another_form_is_routed_by_the_path_that_it_names(target: str, status: int, nora: Api) -> None:
    assert send(nora.url, head(f"GET {target} HTTP/1.1", nora.token)).status == status


@pytest.mark.parametrize("second", ["evil.example", "localhost", ""])
def test_two_hosts_are_refused(second: str, nora: Api) -> None:
    heard = send(nora.url, head("GET /rest/workers/me.json HTTP/1.1", nora.token, f"Host: {second}"))
    assert heard.status == 400 and "several Host headers" in heard.json["message"]


@pytest.mark.parametrize("path", ["/", "/rest/workers/me.json", "/health", "/oauth/access_token", "/webhooks/x"])
def test_a_request_without_a_host_is_refused(path: str, nora: Api) -> None:
    for host in ((), ("Host:",), ("Host:  ",)):
        assert send(nora.url, head(f"GET {path} HTTP/1.1", nora.token, *host, host="")).status == 400, host


MALFORMED = ["a b", "a/b", "a@b", "a:b", "a:1:2", "[::1", "::1", "[::1]x", "a?b", "localhost:123456", "a,b", "\xff"]


@pytest.mark.parametrize("host", MALFORMED)
def test_an_invalid_host_is_refused(host: str, nora: Api) -> None:
    heard = send(nora.url, head("GET /rest/workers/me.json HTTP/1.1", nora.token, host=host))
    assert heard.status == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "[::1]:8200", ""])
def test_our_own_host_names_are_accepted(host: str, nora: Api) -> None:
    line = "GET /rest/workers/me.json HTTP/1.1" if host else "GET /rest/workers/me.json HTTP/1.0"
    assert send(nora.url, head(line, nora.token, host=host)).status == 200


def test_forged_forwarding_headers_change_no_link(nora: Api) -> None:
    forged = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"}
    reply = Reply(nora.session.get(f"{nora.url}/rest/workers/me.json", headers=forged, timeout=30))
    assert reply.status == 200 and b"evil.example" not in reply.content


INSIDE = [b"Traceback", b"apsw", b"sqlite", b"SELECT ", b"INSERT ", b"/server/", b".py", b"site-packages", b"peewee"]


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/rest/records/task/99999999999999999999.json", {}),
        ("GET", "/rest/records/nix/1.json", {}),
        ("GET", "/rest/records/__class__/1.json", {}),
        ("GET", "/rest/records/task/search.json", {"params": {"q": "title:'; DROP TABLE task; --"}}),
        ("GET", "/rest/records/task/search.json", {"params": {"q": "((((("}}),
        ("GET", "/rest/records/task/search.json", {"params": {"q": "sort:nix"}}),
        ("GET", "/rest/records/task/search.json", {"params": {"q": "id:[1,,]", "subtotals[]": "nix"}}),
        ("GET", "/rest/records/ticket/search.json", {"params": {"q": 'text:"NEAR( AND *'}}),
        ("GET", "/rest/records/task/search.json", {"params": {"q": "\x00"}}),
        ("POST", "/rest/records/task/create.json", {"data": {"fields[__class__]": "x"}}),
        ("POST", "/rest/records/task/create.json", {"data": {"fields[title]": "x", "fields[owner_id]": "-1"}}),
        ("POST", "/rest/records/task/create.json", {"data": {"fields[title]": "x", "fields[due]": "9" * 400}}),
        ("POST", "/rest/records/task/create.json", {"data": {"fields[title][a][b]": "x"}}),
        ("POST", "/rest/records/task/create.json", {"data": b"\xff\xfe=%ff"}),
        ("POST", "/rest/records/task/create.json", {"data": b"{", "headers": {"Content-Type": "application/json"}}),
        ("POST", "/rest/parser/parse.json", {"data": {"message": ""}}),
        ("POST", "/rest/tickets/reply.json", {"data": {"message_id": "1e9", "content": "x"}}),
        ("GET", "/rest/attachments/1e1/download.json", {}),
        ("GET", "/static/../server/app.py", {}),
        ("GET", "/static/..%2f..%2fserver/app.py", {}),
        ("GET", "/setup/" + "A" * 43, {}),
        ("POST", "/setup/" + "A" * 43, {"data": {"first_name": "x"}}),
        ("GET", "/%00", {}),
    ],
)
def test_no_error_reveals_internals(method: str, path: str, options: dict, nora: Api) -> None:
    reply = nora.call(method, path, **options)
    assert reply.status < 500, reply
    answered = reply.content.replace(path.encode(), b"")  # an error may repeat the requested path
    assert not [word for word in INSIDE if word.lower() in answered.lower()], reply
