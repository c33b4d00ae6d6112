"""Webhooks over HTTP: requests as automations see them, responses as they decide them, deliveries, addresses."""

import base64
import gzip
import itertools
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import requests

from server.automation.webhooks.location import NOWHERE, WebhookLocation, for_script, set_cookie
from server.automation.webhooks.response_headers import SANDBOX, headers_of
from tests import databases
from tests.automation.told import MAY_ALL
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.service import Api, Server, people
from tests.web.wire import connect, head, hear

TRIGGER = "svc.trigger.webhook.respond"
ECHO = """
start:
  set:
    seen:
      method@key: request_method
      path@key: request_path
      headers@key: request_headers
      params@key: request_params
      body64: {{request_body|base64_encode}}
      ip@key: request_client_ip
      webhook@key: webhook_name
  return:
    status_code@int: 202
    headers:
      Content-Type: application/json
      X-Seen: yes
    body: {{seen|json_encode}}
"""
COUNTING = """
start:
  return:
    headers:
      Set-Cookie@list:
        webhook{{webhook_id}}_a=1
        webhook{{webhook_id}}_b=2
    body: {{request_headers.cookie ?: "-"}}
"""
UNKNOWN, CLIENTS = 1000, 4
WAITING = """
start:
  http.request:
    output: got
    inputs:
      method: GET
      url: URL
  return:
    body: {{got.body}}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("webhooks") / "data"


@pytest.fixture(scope="module")
def nora(data: Path) -> Iterator[Api]:
    server = Server(data)
    client = server.set_up()
    people(client)
    yield client
    assert server.stop() == 0


class Hook:
    """A webhook for one test. id: of the listener. url: its address."""

    made = 0

    def __init__(self, api: Api, script: str, binding: str = "", policy: str = "") -> None:
        Hook.made += 1
        self.api, self.name = api, f"hook.n{Hook.made}"
        fields = {"name": self.name, "extension_id": TRIGGER, "script": script, "policy_kata": policy}
        api.create("automation", **fields).ok()
        binding = binding or "automation/it:\n  uri: svc:automation:NAME"
        fields = {"name": f"Hook {Hook.made}", "automations_kata": binding.replace("NAME", self.name)}
        self.id = api.create("webhook_listener", **fields).ok()["id"]
        self.url = f"{api.url}/webhooks/{api.record('webhook_listener', self.id)['guid']}"

    def call(self, method: str = "POST", path: str = "", **options: Any) -> requests.Response:
        return requests.request(method, self.url + path, timeout=30, **options)

    def deliveries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/rest/webhooks/{self.id}/deliveries.json").ok()["results"]
        return found

    def logged(self) -> list[str]:
        found = self.api.get("/rest/automations/logs/search.json", q=f"automation:(name:{self.name})").ok()["results"]
        return [each["message"] for each in found]


@pytest.fixture(scope="module")
def echo(nora: Api) -> Hook:
    return Hook(nora, ECHO)


def answering(api: Api, answer: str) -> Hook:
    """Creates a webhook that always responds the same."""
    return Hook(api, "start:\n  return:\n" + "\n".join(f"    {line}" for line in answer.strip().split("\n")))


@pytest.mark.parametrize(
    "method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "PURGE", "QUERY", "M-SEARCH"]
)
def test_every_method_reaches_the_automation(echo: Hook, method: str) -> None:
    response = echo.call(method, "/orders/7%20a?Kind-Of=b&x[y]=1")
    seen = response.json()
    assert (response.status_code, response.headers["X-Seen"]) == (202, "yes")
    assert response.headers["Content-Type"] == "application/json"
    assert (seen["method"], seen["path"]) == (method, "orders/7 a")
    assert seen["params"] == {"kind_of": "b", "x": {"y": "1"}}
    assert seen["webhook"].startswith("Hook") and seen["ip"] == "127.0.0.1"


def test_head_runs_it_and_responds_without_a_body(echo: Hook) -> None:
    response = echo.call("HEAD")
    assert (response.status_code, response.content) == (202, b"") and int(response.headers["Content-Length"]) > 0
    assert echo.deliveries()[0]["method"] == "HEAD"


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "X" * 33])
def test_a_method_that_scripts_do_not_know_is_refused(echo: Hook, method: str) -> None:
    assert echo.call(method).status_code == 501


def test_a_method_in_lower_case_is_the_same(echo: Hook) -> None:
    with connect(echo.url) as connection:
        path = echo.url[echo.url.index("/webhooks") :]
        connection.sendall(head(f"propfind {path} HTTP/1.1", "", "Content-Length: 0"))
        assert hear(connection).json["method"] == "PROPFIND"


FORM = b"sku=A-1&size=xl"
PACKED = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": lambda body: zlib.compress(body)[2:-4],  # without a header, as some clients send it
    "identity": bytes,
}


@pytest.mark.parametrize("packing", PACKED)
def test_a_compressed_body_is_decompressed(echo: Hook, packing: str) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8", "Content-Encoding": packing}
    response = echo.call(data=PACKED[packing](FORM), headers=kind)
    seen = response.json()
    assert base64.b64decode(seen["body64"]) == FORM and seen["params"] == {"sku": "A-1", "size": "xl"}
    assert packing == "identity" or "content_encoding" not in seen["headers"]
    delivery = echo.deliveries()[0]["id"]
    assert echo.api.call("POST", f"/rest/webhooks/deliveries/{delivery}/replay.json").ok()


@pytest.mark.parametrize(
    ("packing", "packed", "status", "says"),  # packed inside the test, since a bomb is slow to build
    [
        ("br", lambda: b"\x0b\x02\x80kite\x03", 415, "packed as 'br'"),
        ("zstd", lambda: b"x", 415, "send gzip, deflate"),
        ("gzip, gzip", lambda: gzip.compress(gzip.compress(FORM)), 415, "gzip, gzip"),
        ("gzip", lambda: FORM, 400, "damaged, or not gzip"),
        ("gzip", lambda: gzip.compress(FORM)[:-6], 400, "damaged"),
        ("deflate", lambda: b"kite", 400, "damaged, or not deflate"),
        ("gzip", lambda: gzip.compress(bytes(200 * 1024 * 1024), compresslevel=1), 413, "unpacks to more than"),
    ],
    ids=["brotli", "zstd", "twice", "no gzip", "cut", "no deflate", "a bomb"],
)
def test_a_body_that_cannot_be_decompressed_is_refused_and_runs_nothing(
    echo: Hook, packing: str, packed: Callable[[], bytes], status: int, says: str
) -> None:
    before = len(echo.deliveries())
    response = echo.call(data=packed(), headers={"Content-Encoding": packing})
    assert response.status_code == status and says in response.text
    assert (response.headers.get("Accept-Encoding") == "gzip, deflate") == (status == 415)
    assert len(echo.deliveries()) == before


def test_headers_have_the_names_of_scripts_and_cookies_are_left_out(echo: Hook) -> None:
    sent = {"X-Hub-Signature-256": "sha256=ab", "Cookie": "a=b", "Content-Type": "application/json"}
    headers = echo.call(headers=sent, data=b"{}").json()["headers"]
    assert headers["x_hub_signature_256"] == "sha256=ab" and headers["content_type"] == "application/json"
    assert headers["content_length"] == "2" and "cookie" not in headers


@pytest.mark.parametrize("body", [b"", b'{"a": "\xc3\xa4"}', bytes(range(256)), b"\xff\xfe\x00" * 1000])
def test_bodies_arrive_byte_for_byte(echo: Hook, body: bytes) -> None:
    seen = echo.call(data=body, headers={"Content-Type": "application/octet-stream"}).json()
    assert base64.b64decode(seen["body64"]) == body


def test_form_fields_are_parameters_and_take_precedence_over_the_query(echo: Hook) -> None:
    seen = echo.call(path="?a=query&b=query", data={"a": "form", "c[d][]": "1"}).json()
    assert seen["params"] == {"a": "form", "b": "query", "c": {"d": ["1"]}}
    assert base64.b64decode(seen["body64"]) == b"a=form&c%5Bd%5D%5B%5D=1"


def test_fields_of_a_multipart_form_are_parameters(echo: Hook) -> None:
    seen = echo.call(data={"Title": "Kite"}, files={"photo": ("a.bin", b"\x00\x01")}).json()
    assert seen["params"]["title"] == "Kite"


def test_a_broken_form_still_gets_a_response(echo: Hook) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    seen = echo.call(data=b"--nothing", headers=headers).json()
    assert not seen["params"] and base64.b64decode(seen["body64"]) == b"--nothing"


@pytest.mark.parametrize(("answer", "status", "kind", "body"), [
    ("body: Hello", 200, "text/plain; charset=utf-8", b"Hello"),
    ("status_code@int: 404\nbody: None", 404, "text/plain; charset=utf-8", b"None"),
    ("status_code: 299", 299, "text/plain; charset=utf-8", b""),
    ("body@base64: /wAB", 200, "text/plain; charset=utf-8", b"\xff\x00\x01"),
    ("body@raw,base64: /wAB", 200, "text/plain; charset=utf-8", b"\xff\x00\x01"),
    ("body@json: {\"a\": [1, \"\u00e4\"]}", 200, "application/json", '{"a": [1, "ä"]}'.encode()),
    ("body@json: {\"a\": 1}\nheaders:\n  content-type: application/problem+json", 200, "application/problem+json",
     b'{"a": 1}'),
    ("headers: none\nbody: x", 200, "text/plain; charset=utf-8", b"x"),
])  # fmt: skip
def test_the_automation_sets_the_response(nora: Api, answer: str, status: int, kind: str | None, body: bytes) -> None:
    found = answering(nora, answer).call()
    assert (found.status_code, found.headers.get("Content-Type"), found.content) == (status, kind, body)


def test_unsendable_headers_are_left_out_and_reported(nora: Api) -> None:
    hook = answering(nora, 'headers@json: {"X-A": "1\\r\\nX-B: 2", "Content-Length": "9", "X-Good": "1"}')
    found = hook.call()
    assert found.headers["X-Good"] == "1" and "X-B" not in found.headers and found.headers["Content-Length"] == "0"
    assert len([message for message in hook.logged() if "left out" in message]) == 2


@pytest.mark.parametrize(("answer", "why"), [
    ("headers@json: [\"X-A\"]", "the headers were left out"), ("headers: X-A", "the headers were left out"),
    ("headers@json: {\"X-A\": [1, 2]}", "the header 'X-A' was left out"),
])  # fmt: skip
def test_headers_that_are_not_texts_are_reported(nora: Api, answer: str, why: str) -> None:
    hook = answering(nora, answer)
    found = hook.call()
    assert found.status_code == 200 and "X-A" not in found.headers
    assert [message.startswith(why) for message in hook.logged()] == [True]


@pytest.mark.parametrize("status", [204, 205, 304])
def test_a_response_without_a_body_does_not_affect_the_next_one(nora: Api, status: int) -> None:
    hook = answering(nora, f"status_code@int: {status}\nbody: HTTP/1.1 200 OK")
    with requests.Session() as session:  # one connection
        for _ in range(2):
            found = session.get(hook.url, timeout=30)
            assert (found.status_code, found.content) == (status, b"")
    assert len(hook.logged()) == 2


@pytest.mark.parametrize("headers", [
    {"Content-Type": "text/html"}, {"Content-Type": "image/svg+xml"}, {"Content-Type": "text/plain"},
    {"Content-Type": ""},
    {"Content-Security-Policy": "script-src *"}, {"content-security-policy": "sandbox allow-same-origin allow-scripts"},
    {"Content-Type": "", "X-Content-Type-Options": "none"}, {},
])  # fmt: skip
def test_every_response_begins_with_the_policy_of_the_service(nora: Api, headers: dict[str, str]) -> None:
    hook = answering(nora, f"headers@json: {json.dumps(headers)}\nbody: <b>hi</b>")
    found = hook.call().headers
    own = headers.get("Content-Security-Policy", headers.get("content-security-policy"))
    assert found["Content-Security-Policy"] == ", ".join(filter(None, (SANDBOX, own)))
    assert found["X-Content-Type-Options"] == "nosniff"


def test_a_response_without_a_script_has_the_policy_too(nora: Api) -> None:
    failing = Hook(nora, "start:\n  error: broken").call()
    unknown = requests.get(f"{nora.url}/webhooks/{'x' * 40}", timeout=30)
    assert [each.headers["Content-Security-Policy"] for each in (failing, unknown)] == [SANDBOX, SANDBOX]


@pytest.mark.parametrize("name", [
    "Alt-Svc", "Clear-Site-Data", "Connection", "Content-Length", "Content-Security-Policy-Report-Only",
    "Cross-Origin-Opener-Policy", "NEL", "Permissions-Policy", "Refresh", "Report-To", "Reporting-Endpoints", "Server",
    "Service-Worker-Allowed", "SourceMap", "Strict-Transport-Security", "Transfer-Encoding", "WWW-Authenticate",
    "X-Accel-Buffering", "X-Accel-Redirect", "X-Archive-Files", "X-Content-Security-Policy", "X-Content-Type-Options",
    "X-DNS-Prefetch-Control", "X-Frame-Options", "X-LIGHTTPD-send-file", "X-LiteSpeed-Location",
    "X-Permitted-Cross-Domain-Policies", "X-Reproxy-URL", "X-Send-File", "X-Sendfile", "X-SourceMap", "X-UA-Compatible",
    "X-WebKit-CSP", "X-XSS-Protection", "X_Good", "x-frame-options",
])  # fmt: skip
def test_headers_that_affect_the_whole_origin_are_left_out(name: str) -> None:
    found = headers_of({name: "odd-value", "X-Good": "1", "ETag": "a"}, 1, NOWHERE)
    assert found.named == {"X-Good": "1", "ETag": "a"} and len(found.left_out) == 1 and name in found.left_out[0]


def test_allowed_headers_are_sent_and_others_are_not(nora: Api) -> None:
    sent = {"X-Frame-Options": "ALLOWALL", "Clear-Site-Data": '"*"', "X-Order": "7", "Location": "https://else.example/",
            "Access-Control-Allow-Origin": "*"}  # fmt: skip
    hook = answering(nora, f"headers@json: {json.dumps(sent)}")
    found = hook.call().headers
    assert (found["X-Order"], found["Location"]) == ("7", "https://else.example/")
    assert found["X-Frame-Options"] == "SAMEORIGIN" and "Clear-Site-Data" not in found
    assert len([message for message in hook.logged() if "was left out" in message]) == 2


@pytest.mark.parametrize("cookie", [
    "sid=stolen; Path=/", "__Host-sid=stolen", "visit=x", "webhook8_a=other", "webhook7_=none", "webhook7_a b=1", "x",
    "webhook7_a=1; Max-Age=soon", "webhook7_a=1; Expires=soon", f"webhook7_a={'x' * 5000}", " =webhook7_a",
])  # fmt: skip
def test_a_cookie_outside_the_webhooks_path_is_left_out(cookie: str) -> None:
    found = headers_of({"Set-Cookie": cookie}, 7, NOWHERE)
    assert found.cookies == [] and len(found.left_out) == 1


@pytest.mark.parametrize(("url", "cookie", "expected"), [
    ("http://desk.example/webhooks/t", "webhook7_a=1", "webhook7_a=1; Path=/webhooks/t; HttpOnly; SameSite=Lax"),
    ("https://desk.example/sub/webhooks/t", "webhook7_a=1; Path=/; Domain=desk.example; SameSite=None",
     "webhook7_a=1; Path=/sub/webhooks/t; HttpOnly; SameSite=Lax; Secure"),
    ("http://desk.example/webhooks/t", "webhook7_a=1; samesite=strict; max-age=60; Partitioned",
     "webhook7_a=1; Path=/webhooks/t; HttpOnly; SameSite=Strict; Max-Age=60"),
    ("http://desk.example/webhooks/t", "webhook7_a=1; Expires=Thu, 31 Dec 2026 23:59:59 GMT",
     "webhook7_a=1; Path=/webhooks/t; HttpOnly; SameSite=Lax; Expires=Thu, 31 Dec 2026 23:59:59 GMT"),
])  # fmt: skip
def test_a_cookie_is_limited_to_the_webhooks_path(url: str, cookie: str, expected: str) -> None:
    assert set_cookie(cookie, 7, WebhookLocation.from_url(url)) == expected


def test_cookies_of_the_webhook_are_set_and_returned(nora: Api) -> None:
    hook = Hook(nora, COUNTING)
    with requests.Session() as browser:
        browser.cookies.set("sid", "of-the-console")
        first, second = browser.get(hook.url, timeout=30), browser.get(hook.url + "/x", timeout=30)
    assert [first.text, second.text] == ["-", f"webhook{hook.id}_a=1; webhook{hook.id}_b=2"]
    assert "of-the-console" not in json.dumps(nora.get(f"/rest/webhooks/deliveries/{hook.deliveries()[0]['id']}").json)


@pytest.mark.parametrize(("headers", "kept"), [
    ([("Cookie", "sid=a; webhook7_x=b; webhook77_y=c; __Host-sid=d")], [("Cookie", "webhook7_x=b")]),
    ([("cookie", "sid=a")], []),
    ([("Authorization", "Bearer svc_at_abc"), ("X-Copy", "svc_rt_abc"), ("Authorization", "Basic eA==")],
     [("Authorization", "Basic eA==")]),
])  # fmt: skip
def test_a_script_sees_no_credentials_of_the_helpdesk(
    headers: list[tuple[str, str]], kept: list[tuple[str, str]]
) -> None:
    assert for_script(headers, 7) == kept


def test_a_token_of_the_api_reaches_no_script(nora: Api, echo: Hook) -> None:
    assert "authorization" not in echo.call(headers={"Authorization": f"Bearer {nora.token}"}).json()["headers"]


@pytest.mark.parametrize(("sent", "status"), [
    ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "script"}, 404),
    ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "serviceworker"}, 404),
    ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}, 202),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "script"}, 202),
])  # fmt: skip
def test_a_page_of_the_console_cannot_run_a_response(echo: Hook, sent: dict[str, str], status: int) -> None:
    assert echo.call("GET", headers=sent).status_code == status


def test_a_separate_host_serves_only_webhooks(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", env={"HELPDESK_WEBHOOK_BASE_URL": "http://hooks.example/in"})
    nora = server.set_up()
    hook = answering(nora, 'headers@json: {"Content-Security-Policy": "script-src *", "X-Frame-Options": "ALLOWALL"}')
    apart = {"Host": "hooks.example"}
    there, here = hook.call(headers=apart), hook.call()
    assert there.headers["Content-Security-Policy"] == "script-src *"
    assert there.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert here.headers["Content-Security-Policy"] == f"{SANDBOX}, script-src *"
    found = nora.post(f"/rest/webhooks/{hook.id}/rotate.json").ok()
    assert found["url"] == f"http://hooks.example/in/webhooks/{found['guid']}"
    for path in ("/", "/login", "/rest/workers/me.json", "/oauth/authorize", "/health", "/openapi.json", "/metrics"):
        asked = {**apart, "Authorization": f"Bearer {nora.token}"}
        assert requests.get(server.url + path, headers=asked, timeout=30).status_code == 404, path
    assert server.stop() == 0


@pytest.mark.parametrize(("script", "status", "body"), [
    ("start:\n  set:\n    a: 1", 200, b""),
    ("start:\n  return:\n    other: {{ 1 / 0 }}\n    body: x", 500, b""),
    ("start:\n  set:\n    body: {{ 1 / 0 }}\n  return:\n    body@key: body", 500, b""),
    ("start:\n  set:\n    other: {{ 1 / 0 }}\n  return:\n    body: x", 200, b"x"),
])  # fmt: skip
def test_other_outcomes(nora: Api, script: str, status: int, body: bytes) -> None:
    hook = Hook(nora, script)
    response = hook.call()
    if status == 500:
        require_entry(hook, response)
    else:
        assert (response.status_code, response.content) == (status, body)


@pytest.mark.parametrize("script", [
    "start:\n  error: broken",
    "start:\n  function/x:\n    uri: none.such",
    "start:\n  return:\n    status_code@int: 99",
    "start:\n  return:\n    status_code@int: 700",
    "start:\n  return:\n    body: {{ 1 / 0 }}",
])  # fmt: skip
def test_a_failed_response_names_the_entry_of_the_log(nora: Api, script: str) -> None:
    hook = Hook(nora, script)
    require_entry(hook, hook.call())


def require_entry(hook: Hook, answer: requests.Response) -> None:
    """Asserts that the response is a 500 that names an error of this webhook's automation in the log, as does the
    delivery."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
    number = re.search(r"entry (\d+) of the automation log", answer.text)
    assert number is not None
    entries = hook.api.get("/rest/automations/logs/search.json", q=f"id:{number[1]}").ok()["results"]
    assert [(each["level"], each["automation_name"]) for each in entries] == [(3, hook.name)]
    delivery = hook.api.get(f"/rest/webhooks/deliveries/{hook.deliveries()[0]['id']}.json").ok()
    assert delivery["response"]["body"] == answer.text and delivery["message"]


def test_a_script_of_a_webhook_cannot_wait(nora: Api) -> None:
    waiting = {"script": "start:\n  outcome:\n    then:\n      await:\n        until: 1 hour", "name": "hook.waiting"}
    refused = nora.create("automation", extension_id=TRIGGER, **waiting)
    assert refused.status == 422 and "line 4: a webhook cannot wait" in refused["message"]
    timer = nora.create("automation", extension_id="svc.trigger.automation.timer", **waiting).ok()["id"]
    changed = nora.put(f"/rest/records/automation/{timer}.json", **{"fields[extension_id]": TRIGGER})
    assert changed.status == 422 and "cannot wait" in changed["message"]


def test_simultaneous_equal_deliveries_do_the_guarded_part_once(nora: Api) -> None:
    script = """
start:
  storage.set:
    output: claim
    inputs:
      key: guarded.{{request_params.order}}
      value: {{request_params.sender}}
      expires: +1 day
      if_absent@bool: yes
  outcome/first:
    if@bool: {{claim.is_stored}}
    then:
      record.create:
        output: made
        inputs:
          record_type: task
          fields:
            title: Guarded {{request_params.order}}
  return:
    body: {{claim.value}}
"""
    hook = Hook(nora, script, policy=MAY_ALL)
    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(lambda n: hook.call(params={"order": "o17", "sender": f"s{n}"}), range(10)))
    assert [each.status_code for each in answers] == [200] * 10
    assert len({each.text for each in answers}) == 1, "all see the value of the one that stored it"
    assert nora.search("task", 'title:"Guarded o17"')["total"] == 1


@pytest.mark.parametrize("binding", [
    "# none", "automation/it:\n  uri: NAME\n  disabled@bool: yes",
    "automation/it:\n  uri: NAME\n  disabled@bool: {{request_method == 'POST'}}",
])  # fmt: skip
def test_without_a_binding_it_is_not_found(nora: Api, binding: str) -> None:
    hook = Hook(nora, "start:\n  return:\n    body: x", binding)
    response = hook.call()
    assert (response.status_code, response.content) == (404, b"")


def test_the_first_enabled_binding_responds_with_its_inputs(nora: Api) -> None:
    one = Hook(nora, "start:\n  return:\n    body: one")
    binding = (
        f"automation/a:\n  uri: {one.name}\n  disabled@bool: {{{{request_params.two}}}}\n"
        "automation/b:\n  uri: NAME\n  inputs:\n    level: {{request_params.two}}"
    )
    two = Hook(nora, "inputs:\n  text/level:\nstart:\n  return:\n    body: two {{inputs.level}}", binding)
    assert (two.call().text, two.call(path="?two=7").text) == ("one", "two 7")


@pytest.mark.parametrize("token", ["", "nosuch", "x" * 40, "%00" * 14, "a" * 5000])
def test_an_unknown_address_is_not_found(nora: Api, token: str) -> None:
    response = requests.post(f"{nora.url}/webhooks/{token}", timeout=30)
    assert (response.status_code, response.content) == (404, b"")


def test_a_thousand_posts_to_unknown_addresses_are_not_found_and_leave_nothing(nora: Api, data: Path) -> None:
    answering(nora, "body: ok").call()
    before = rows(data)
    unknown = [f"{number:040d}" for number in range(UNKNOWN)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(lambda some: posted(nora.url, some), [unknown[n::CLIENTS] for n in range(CLIENTS)]))
        assert nora.get("/rest/workers/me.json").status == 200
    assert b"".join(answers).count(b"HTTP/1.1 404 ") == UNKNOWN == b"".join(answers).count(b"HTTP/1.1 ")
    assert b"".join(answers).count(b"\r\nContent-Length: 0\r\n") == UNKNOWN
    assert rows(data) == before


def posted(url: str, tokens: list[str]) -> bytes:
    """Returns the responses to posts to these addresses, all on one connection."""
    came = b""
    with connect(url) as connection:
        for token in tokens:
            connection.sendall(head(f"POST /webhooks/{token}/x?y=1 HTTP/1.1", "", "Content-Length: 5") + b"hello")
        while came.count(b"\r\n\r\n") < len(tokens) and (piece := connection.recv(65536)):
            came += piece
    return came


def rows(data: Path) -> dict[str, int]:
    """Returns the number of rows of all tables except those of jobs."""
    with databases.opened(data) as connection:
        names = databases.tables(connection)
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for name in names if not name.startswith(("job", "metric"))
        }  # fmt: skip


def test_webhooks_beyond_the_number_of_threads_get_retry_after(tmp_path: Path) -> None:
    env = {"HELPDESK_OUTBOUND_ALLOW": HOST, "HELPDESK_WEBHOOK_THREADS": "8", "HELPDESK_REQUEST_QUEUE": "2"}
    running, go = SimpleQueue[int](), threading.Event()

    def when_told(asked: Asked) -> bytes:
        running.put(1)
        assert go.wait(60)
        return answer("done")

    with Peer() as peer, ThreadPoolExecutor(12) as pool:
        peer.answers["/slow"] = when_told
        server = Server(tmp_path / "data", env=env)
        api = server.set_up()
        hook = Hook(api, WAITING.replace("URL", peer.url("/slow")), policy=MAY_ALL)
        taken = [pool.submit(hook.call) for _ in range(8)]
        assert [running.get(timeout=60) for _ in range(8)] == [1] * 8
        more = [pool.submit(hook.call) for _ in range(4)]  # two may wait
        refused = [each.result() for each in itertools.islice(as_completed(more, timeout=60), 2)]
        assert [each.status_code for each in refused] == [503, 503] and int(refused[0].headers["Retry-After"]) >= 1
        assert running.empty() and api.create("task", title="meanwhile").status == 200
        go.set()
        statuses = [each.result().status_code for each in (*taken, *more)]
        assert server.stop() == 0
    assert sorted(statuses) == [200] * 10 + [503] * 2


def test_bearer_tokens_are_ignored(echo: Hook) -> None:
    assert echo.call(headers={"Authorization": "Bearer wrong"}).status_code == 202


def test_a_delivery_shows_request_response_and_steps_but_no_secrets(nora: Api, echo: Hook) -> None:
    echo.call(path="/a?api_key=dear&b=c", headers={"Authorization": "Bearer dear", "X-Kite": "up"}, data=b"sent")
    brief = echo.deliveries()[0]
    assert (brief["method"], brief["path"], brief["status"], brief["state"]) == ("POST", "a", 202, "return")
    whole = nora.get(f"/rest/webhooks/deliveries/{brief['id']}.json").ok()
    request, response = whole["request"], whole["response"]
    headers = {name.lower(): value for name, value in request["headers"]}
    assert (headers["authorization"], headers["x-kite"]) == ("(hidden)", "up")
    assert (request["body"], request["query"]) == ("sent", "api_key=%28hidden%29&b=c")
    assert response["status"] == 202 and json.loads(response["body"])["method"] == "POST"
    assert [step["path"] for step in whole["trace"]] == ["start:set", "start:return"]
    assert "seen" in whole["trace"][0]["changed"] and "dear" not in json.dumps([request["headers"], request["query"]])


def test_a_delivery_is_replayed_with_everything_that_was_sent(nora: Api) -> None:
    script = "start:\n  return:\n    status_code@int: 200\n    body: {{request_headers.authorization}} {{request_body}}"
    hook = Hook(nora, script)
    hook.call(path="/x?y=z", headers={"Authorization": "Bearer dear"}, data=b"once")
    first = hook.deliveries()[0]["id"]
    again = nora.post(f"/rest/webhooks/deliveries/{first}/replay.json").ok()
    assert (again["replay_of"], again["response"]["body"]) == (first, "Bearer dear once")
    assert (again["request"]["path"], again["request"]["query"]) == ("x", "y=z")
    assert [each["replay_of"] for each in hook.deliveries()] == [first, 0]


def test_a_new_address_works_and_the_old_one_for_a_while(nora: Api) -> None:
    hook = answering(nora, "body: ok")
    found = nora.post(f"/rest/webhooks/{hook.id}/rotate.json", overlap_seconds=3600).ok()
    assert found["url"].endswith(found["guid"]) and found["old_until"] > 0
    assert nora.record("webhook_listener", hook.id)["guid"] == found["guid"]
    assert hook.call().text == requests.post(f"{nora.url}/webhooks/{found['guid']}", timeout=30).text == "ok"
    last = nora.post(f"/rest/webhooks/{hook.id}/rotate.json", overlap_seconds=0).ok()
    assert last["old_until"] == 0
    assert requests.post(f"{nora.url}/webhooks/{found['guid']}", timeout=30).status_code == 404
    assert hook.call().text == "ok"


def test_only_administrators_see_deliveries_and_rotate(nora: Api, echo: Hook) -> None:
    milo = nora.as_("milo")
    echo.call()
    id = echo.deliveries()[0]["id"]
    assert milo.get(f"/rest/webhooks/{echo.id}/deliveries.json").status == 403
    assert milo.get(f"/rest/webhooks/deliveries/{id}.json").status == 403
    assert milo.post(f"/rest/webhooks/deliveries/{id}/replay.json").status == 403
    assert milo.post(f"/rest/webhooks/{echo.id}/rotate.json").status == 403


def test_the_deliveries_of_all_webhooks(nora: Api, echo: Hook) -> None:
    echo.call()
    mine = nora.get("/rest/webhooks/deliveries.json", webhook_id=echo.id).ok()
    assert {each["webhook_id"] for each in mine["results"]} == {echo.id}
    assert [each["id"] for each in mine["results"]] == [each["id"] for each in echo.deliveries()]
    parts = [nora.get("/rest/webhooks/deliveries.json", answer=each).ok()["total"] for each in ("done", "failed")]
    assert sum(parts) == nora.get("/rest/webhooks/deliveries.json", limit=1).ok()["total"]
    wrong = nora.get("/rest/webhooks/deliveries.json", answer="fail")
    assert wrong.status == 422 and "use done or failed" in wrong["message"]
    assert nora.as_("milo").get("/rest/webhooks/deliveries.json").status == 403


@pytest.mark.parametrize("path", ["webhooks/999999/deliveries", "webhooks/deliveries/999999"])
def test_unknown_ids_are_not_found(nora: Api, path: str) -> None:
    assert nora.get(f"/rest/{path}.json").status == 404


def test_a_body_may_be_a_file(nora: Api) -> None:
    fields = {"name": "logo.png", "extension_id": "svc.resource.image", "content": "data:image/png;base64,/wAB"}
    nora.create("resource", **fields).ok()
    hook = answering(nora, "body: svc:resource:logo.png\nheaders:\n  Content-Type: image/png")
    response = hook.call("GET")
    assert (response.status_code, response.headers["Content-Type"], response.content) == (
        200,
        "image/png",
        b"\xff\x00\x01",
    )
    missing = answering(nora, "body: svc:resource:none.png").call("GET")
    assert missing.status_code == 500


def test_a_dynamic_file_is_created_on_request(nora: Api) -> None:
    script = "start:\n  return:\n    file:\n      content: made {{resource_name}}\n      expires_at: {{TIME}}"
    for number, (until, expected) in enumerate((("'1 hour'", "1"), ("''", "2"))):
        name = f"made{number}.csv"
        fields = {"name": f"make.{number}", "extension_id": "svc.trigger.resource.get"}
        made = nora.create("automation", **fields, script=script.replace("TIME", until)).ok()["id"]
        binding = f"automation/a:\n  uri: make.{number}"
        nora.create("resource", name=name, extension_id="svc.resource.dataset.csv", is_dynamic=1,
                    automation_kata=binding).ok()  # fmt: skip
        hook = answering(nora, f"body: svc:resource:{name}")
        assert hook.call("GET").text == f"made {name}"
        nora.update("automation", made, script="start:\n  return:\n    file:\n      content: 2").ok()
        assert hook.call("GET").text == (f"made {name}" if expected == "1" else "2")
