"""The envelope of every response, and the table of errors: status, code and headers, one row after another."""

from pathlib import Path

import pytest
import requests

from server import errors
from server.web import error_bodies as web_errors
from tests.api.minimal import made
from tests.service import Api, Reply, Server

KEYS = {"__build", "__status", "__version"}
IMPORTANT = (
    "X-Content-Type-Options: nosniff", "X-Frame-Options: SAMEORIGIN", "Cache-Control: no-store",
    "Content-Type: application/json; charset=utf-8",
)  # fmt: skip


def check_envelope(answer: Reply, succeeds: bool) -> None:
    body = answer.json
    assert set(body) >= KEYS and list(body) == sorted(body)
    assert body["__status"] == ("success" if succeeds else "error")
    assert type(body["__build"]) is int and isinstance(body["__version"], str)
    if succeeds:
        assert not {"__error", "message"} & set(body)
    else:
        assert isinstance(body["__error"], str) and body["message"]
        assert set(body) <= KEYS | {"__error", "message", "errors", "position"}
    for line in IMPORTANT:
        name, _, value = line.partition(": ")
        assert answer.headers[name] == value
    assert "Set-Cookie" not in answer.headers
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


def test_every_success_has_the_envelope(api: Api) -> None:
    org = api.create("org", name="Kite")
    id = org.ok()["id"]
    answers = [
        org, api.record("org", id), api.update("org", id, city="Oslo"), api.upsert("org", f"id:{id}", city="Bergen"),
        api.search("org"), api.search("org", show_results=0, subtotals="country"),
        api.call("POST", "/rest/records/org/search.json", data={"q": ""}), api.get("/rest/workers/me.json"),
        api.post("/rest/attachments/upload.json", file_name="a.txt", content="a"),
        api.post("/rest/oauth/tokens/create.json", worker_id=api.ids["nora"]), api.remove("org", id),
    ]  # fmt: skip
    for response in answers:
        check_envelope(response.ok(), True)
    assert set(answers[-1].json) == KEYS


def test_text_beyond_ascii_is_escaped_and_slashes_are_not(api: Api) -> None:
    content = api.create("org", name="Kite \N{KITE} a/b").ok().content
    assert b'"name":"Kite \\ud83e\\ude81 a/b"' in content


def other(api: Api, token: str | None, **headers: str) -> Reply:
    sent = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return Reply(requests.get(f"{api.url}/rest/workers/me.json", headers=sent | headers, timeout=60))


ROWS = [
    ("no token", 401, "ERROR_UNAUTHORIZED", lambda api: other(api, None)),
    ("an unknown token", 401, "ERROR_UNAUTHORIZED", lambda api: other(api, "svc_at_" + "x" * 43)),
    ("a token of a disabled worker", 401, "ERROR_UNAUTHORIZED", lambda api: api.as_("dora").search("org")),
    ("a token in the query string", 401, "ERROR_UNAUTHORIZED", lambda api: Reply(
        requests.get(f"{api.url}/rest/workers/me.json?access_token={api.token}", timeout=60))),
    ("no privilege to change", 403, "ERROR_PERMISSIONS", lambda api: api.as_("milo").create("group", name="Mine")),
    ("not an administrator", 403, "ERROR_PERMISSIONS", lambda api: api.as_("milo").post(
        "/rest/oauth/tokens/create.json", worker_id=api.ids["milo"])),
    ("a record that may not be read", 403, "ERROR_PERMISSIONS", lambda api: api.as_("olga").record(
        "ticket", made(api, "ticket", group_id=api.ids["private"]))),
    ("nobody may", 403, "ERROR_PERMISSIONS", lambda api: api.remove("toolbar", 1)),
    ("an unknown controller", 404, "ERROR_NOT_FOUND", lambda api: api.get("/rest/nosuch/list.json")),
    ("an unknown path below a known one", 404, "ERROR_NOT_FOUND", lambda api: api.get("/rest/workers/nosuch.json")),
    ("an unknown record type", 404, "ERROR_NOT_FOUND", lambda api: api.record("nosuch", 1)),
    ("no such record", 404, "ERROR_NOT_FOUND", lambda api: api.record("org", 999999999)),
    ("no such record to change", 404, "ERROR_NOT_FOUND", lambda api: api.update("org", 999999999, name="x")),
    ("no such record to delete", 404, "ERROR_NOT_FOUND", lambda api: api.remove("org", 999999999)),
    ("a method that the path has not", 405, "ERROR_METHOD", lambda api: api.delete("/rest/workers/me.json")),
    ("create by GET", 405, "ERROR_METHOD", lambda api: api.get("/rest/records/org/create.json")),
    ("search by PUT", 405, "ERROR_METHOD", lambda api: api.put("/rest/records/org/search.json")),
    ("upsert by DELETE", 405, "ERROR_METHOD", lambda api: api.delete("/rest/records/org/upsert.json")),
    ("an unknown method", 405, "ERROR_METHOD", lambda api: api.call("BREW", "/rest/workers/me.json")),
    ("a body that cannot be read", 400, "ERROR_PARAM_INVALID", lambda api: api.call(
        "POST", "/rest/records/org/create.json", data=b"{", headers={"Content-Type": "application/json"})),
    ("a required field missing", 422, "ERROR_PARAM_REQUIRED", lambda api: api.create("org", city="Oslo")),
    ("no fields", 422, "ERROR_PARAM_REQUIRED", lambda api: api.post("/rest/records/org/create.json")),
    ("no query", 422, "ERROR_PARAM_REQUIRED", lambda api: api.upsert("org", "", name="Kite")),
    ("a bad value", 422, "ERROR_PARAM_INVALID", lambda api: api.create("task", title="a", importance="140")),
    ("an unknown field", 422, "ERROR_PARAM_INVALID", lambda api: api.create("org", name="a", nmae="b")),
    ("an immutable field", 422, "ERROR_PARAM_INVALID", lambda api: api.create("org", name="a", id="7")),
    ("an unknown target", 422, "ERROR_PARAM_INVALID", lambda api: api.create("contact", first_name="a", org_id=999999)),
    ("an unknown filter", 422, "ERROR_SEARCH_FILTERS_INVALID", lambda api: api.search("org", "nosuch:1")),
    ("an unknown filter in an upsert", 422, "ERROR_SEARCH_FILTERS_INVALID", lambda api: api.upsert(
        "org", "nosuch:1", name="Kite")),
    ("an unknown sort", 422, "ERROR_SEARCH_FILTERS_INVALID", lambda api: api.search("org", "sort:nosuch")),
    ("an unknown subtotal", 422, "ERROR_SEARCH_FILTERS_INVALID", lambda api: api.search("org", subtotals="nosuch")),
    ("a subtotal that cannot be counted", 422, "ERROR_SEARCH_FILTERS_INVALID", lambda api: api.search(
        "org", subtotals="created")),
    ("a value that is taken", 409, "ERROR_CONFLICT", lambda api: api.create("address", email="nora@desk.example")),
    ("an upsert that finds two", 409, "ERROR_CONFLICT", lambda api: api.upsert("worker", "id:>0", title="Boss")),
    ("the default group", 409, "ERROR_CONFLICT", lambda api: api.remove("group", api.ids["support"])),
    ("a body above the limit", 413, "ERROR_TOO_LARGE", lambda api: api.call(
        "POST", "/rest/records/org/search.json", data=b"q=" + b"x" * 9_000_000,
        headers={"Content-Type": "application/x-www-form-urlencoded"})),
    ("an address that is too long", 413, "ERROR_TOO_LARGE", lambda api: api.search("org", "x" * 20_000)),
    ("a content type that is not read", 415, "ERROR_PARAM_INVALID", lambda api: api.call(
        "POST", "/rest/records/org/create.json", data=b"<org/>", headers={"Content-Type": "text/xml"})),
    ("a foreign host name", 400, "ERROR_PARAM_INVALID", lambda api: other(api, api.token, Host="evil.example")),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "ask"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_errors_have_their_status_and_code(status: int, code: str, ask, api: Api) -> None:
    response = ask(api)
    assert (response.status, response["__error"]) == (status, code), response
    check_envelope(response, False)
    assert ("WWW-Authenticate" in response.headers) == (status == 401)
    assert ("Allow" in response.headers) == (status == 405)
    for leak in ("Traceback", "SELECT", "server/", ".py", "apsw", "sqlite"):
        assert leak not in response["message"]


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("records/org/1", "DELETE, GET, HEAD, OPTIONS, PUT"), ("records/org/create", "OPTIONS, POST"),
        ("records/org/search", "GET, HEAD, OPTIONS, POST"), ("records/org/upsert", "OPTIONS, PATCH"),
        ("workers/me", "GET, HEAD, OPTIONS"), ("tickets/compose", "OPTIONS, POST"),
    ],
)  # fmt: skip
def test_405_lists_the_supported_methods(path: str, allow: str, api: Api) -> None:
    response = api.call("BREW", f"/rest/{path}.json")
    assert (response.status, response.headers["Allow"]) == (405, allow)


def test_errors_name_the_field_and_the_position_in_a_query(api: Api) -> None:
    response = api.create("task", title="a", importance="140")
    assert response["message"] == "importance: 140 is above 100"
    assert response["errors"] == [{"field": "importance", "message": "importance: 140 is above 100"}]
    response = api.search("ticket", "status:open groop:x")
    assert response["position"] == 12 and "did you mean 'group'?" in response["message"]


def test_a_failed_request_writes_nothing(api: Api) -> None:
    before = api.search("org").ok()["total"], api.search("activity_log").ok()["total"]
    for fields in (
        {"name": "Half", "email_id": "999999"}, {"name": "Half", "links": ["org:999999"]},
        {"name": "Half", "nosuch": "1"}, {"name": "Half", "image": "x"}, {"name": "Half", "links": ["worker:1", "x:1"]},
    ):  # fmt: skip
        assert api.create("org", **fields).status == 422
    ticket = {"subject": "Half", "group_id": api.ids["support"]}
    assert api.create("ticket", **ticket, org="New org", owner_id=api.ids["olga"]).status == 422
    assert api.create("ticket", **ticket, participants="halfway@kite.example", status="nosuch").status == 422
    assert (api.search("org").ok()["total"], api.search("activity_log").ok()["total"]) == before
    assert api.found("address", "email:halfway@kite.example") == []


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.TooMany("x", retry_after=7), 429, "ERROR_RATE_LIMIT"),
        (errors.Unavailable("x", retry_after=7), 503, "ERROR"),
        (errors.Full("x", retry_after=7), 507, "ERROR"),
        (errors.TimedOut("x"), 504, "ERROR"),
        (errors.Rejected("x"), 422, "ERROR_REJECTED"),
        (errors.ScriptError("x"), 422, "ERROR"),
        (errors.HelpdeskError("x"), 500, "ERROR_SERVER"),
    ],
)
def test_errors_that_a_test_cannot_cause(error: errors.HelpdeskError, status: int, code: str) -> None:
    assert web_errors.status_and_code(error) == (status, code)
    assert web_errors.body(error) == {"__error": code, "message": "x"}
    assert web_errors.headers(error) == ({"Retry-After": "7"} if "retry_after" in error.details else {})


def test_every_error_has_a_status() -> None:
    below = [errors.HelpdeskError]
    while below:
        each = below.pop()
        below += each.__subclasses__()
        assert each is errors.HelpdeskError or web_errors.status_and_code(each.__new__(each))[0] != 500


def test_errors_are_200_for_clients_that_expect_it_except_401(tmp_path: Path) -> None:
    started = Server(tmp_path / "data", env={"HELPDESK_REST_ERRORS_AS_200": "yes"})
    try:
        client = started.set_up()
        client.is_checked = False  # the document lists the real statuses
        for response, code in (
            (client.record("org", 999999), "ERROR_NOT_FOUND"),
            (client.create("org"), "ERROR_PARAM_REQUIRED"),
            (client.search("org", "nosuch:1"), "ERROR_SEARCH_FILTERS_INVALID"),
            (client.delete("/rest/workers/me.json"), "ERROR_METHOD"),
        ):
            assert (response.status, response["__status"], response["__error"]) == (200, "error", code)
        assert other(client, None).status == 401
    finally:
        assert started.stop() == 0


def test_all_mistakes_are_reported_at_once(api: Api) -> None:
    sent = {"title": "", "status": "sometimes", "importance": "much", "nonsense": "1", "due": "someday", "id": "3"}
    response = api.create("task", **sent)
    named = [each["field"] for each in response["errors"]]
    assert response.status == 422 and set(named) == set(sent) and len(named) == len(set(named))
    assert response["message"] == response["errors"][0]["message"]
    task = api.create("task", title="Pump").ok()["id"]
    again = api.update("task", task, status="sometimes", importance="200", title="Hose")
    assert {each["field"] for each in again["errors"]} == {"status", "importance"}
    assert api.record("task", task).ok()["title"] == "Pump"


def test_consequences_of_a_mistake_are_not_reported(api: Api) -> None:
    response = api.create("comment", comment="", target__context="nonsense", target_id="7")
    assert {each["field"] for each in response["errors"]} == {"comment", "target__context"}
