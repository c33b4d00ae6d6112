"""http.request in scripts: the request built from its inputs, the visible response, and signing."""

import base64
import gzip
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from server.automation import file_contents
from server.automation.automation_service import perform
from server.automation.commands import http
from server.automation.engine import RunResult, run
from server.automation.host import Script, StandaloneHost
from server.connections import connected_accounts
from server.errors import NotFound, Unavailable
from server.jobs import job_queue
from server.store import lock
from tests.outbound.peer import HOST, Peer, answer, redirect
from tests.records.desk import NOW, Desk

ALLOW = "commands:\n  http.request:\n    allow@bool: yes\n"
SCRIPT = """
start:
  http.request/ask:
    output: o
    inputs:
{inputs}
    on_success:
      set:
        was: success
    on_error:
      set:
        was: error
"""


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as running:
        running.answers["/"] = answer("hi", content_type="text/plain")
        yield running


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A helpdesk that may reach this machine."""
    opened = Desk(tmp_path_factory.mktemp("http"))
    opened.service = replace(opened.service, settings=opened.service.settings.replace(outbound_allow=[HOST]))
    opened.people()
    yield opened
    opened.close()


def script(inputs: str) -> str:
    return SCRIPT.format(inputs="\n".join(f"      {line}" for line in inputs.strip("\n").split("\n")))


def ask(desk: Desk, peer: Peer, inputs: str, path: str = "/", policy: str = ALLOW, **values: Any) -> RunResult:
    """Runs a script that sends one request. inputs: lines of KATA; the URL is added."""
    written = script(f"url: {peer.url(path)}\n{inputs}")
    return perform(desk.context(), Script(written, policy), values)


def answered(found: RunResult) -> dict[str, Any]:
    assert found.variables.get("was") == "success", found.variables.get("o", found.message)
    return dict(found.variables["o"])


def failed(found: RunResult) -> dict[str, Any]:
    assert found.variables.get("was") == "error", found.variables
    return dict(found.variables["o"])


# -- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "method", "headers", "body"),
    [
        ("", "GET", {"content-type": None, "content-length": None}, ""),
        ("method: {{''}}", "GET", {}, ""),
        ("method: delete", "DELETE", {}, ""),
        ("method: POST", "POST", {"content-length": "0"}, ""),
        ("method: POST\nbody: a=b", "POST", {"content-type": None}, "a=b"),
        ("method: POST\nbody: {{who}} & co 😀", "POST", {}, "Ana & co 😀"),
        ("headers@text:\n  X-One: 1\n\n  X-Two:two: 2 ", "GET", {"x-one": "1", "x-two": "two: 2"}, ""),
        ("headers:\n  X-One: {{who}}\n  X-Two@int: 2\n  X-Off@bool: no", "GET",
         {"x-one": "Ana", "x-two": "2", "x-off": ""}, ""),
        ("headers:\n  X-One@list:\n    a\n    b", "GET", {"x-one": "a, b"}, ""),
        ("method: POST\nbody:\n  a: 1\n  b@bool: yes\n  c@bool: no\n  d@key: nothing\n  e: ü &", "POST",
         {"content-type": "application/x-www-form-urlencoded"}, "a=1&b=1&c=0&e=%C3%BC%20%26"),
        ("method: POST\nbody:\n  a:\n    b: 1\n    c@csv: x,y", "POST", {},
         "a%5Bb%5D=1&a%5Bc%5D%5B0%5D=x&a%5Bc%5D%5B1%5D=y"),
        ("method: PUT\nheaders:\n  Content-Type: application/json\nbody:\n  a@int: 1\n  b@csv: x,y\n  c@key: rec",
         "PUT", {"content-type": "application/json"}, '{"a":1,"b":["x","y"],"c":{"k":"/v"}}'),
        ("method: PUT\nheaders:\n  Content-Type: application/vnd.x+json; charset=utf-8\nbody:\n  a@int: 1", "PUT", {},
         '{"a":1}'),
        ("method: PUT\nheaders:\n  Content-Type: application/x-amz-json-1.1\nbody:\n  a@int: 1", "PUT", {}, '{"a":1}'),
        ("method: PUT\nheaders:\n  Content-Type: application/json\nbody@json: {}", "PUT", {}, ""),
        ("method: PATCH\nheaders:\n  Content-Type: application/json\nbody: {\"raw\": 1}", "PATCH", {}, '{"raw": 1}'),
    ],
)  # fmt: skip
def test_inputs_become_a_request(inputs, method, headers, body, desk, peer):
    answered(ask(desk, peer, inputs, who="Ana", rec={"k": "/v"}))
    asked = peer.take()
    assert (asked.method, asked.body.decode()) == (method, body)
    assert {name: asked.header(name) for name in headers} == headers


def test_a_map_is_serialized_as_yaml_for_its_types(desk, peer):
    inputs = "method: POST\nheaders:\n  Content-Type: text/yaml\nbody:\n  a@int: 1\n  b@csv: x,y\n  c: ü"
    answered(ask(desk, peer, inputs))
    assert yaml.safe_load(peer.take().body) == {"a": 1, "b": ["x", "y"], "c": "ü"}


def test_bytes_are_sent_unchanged(desk, peer):
    raw = bytes(range(256))
    answered(ask(desk, peer, f"method: POST\nbody@base64: {base64.b64encode(raw).decode()}"))
    assert peer.take().body == raw


def test_a_file_is_sent_by_its_reference(desk, peer):
    file = file_contents.store(desk.context(), b"\x89PNG\xff", "image/png")
    kind = "method: POST\nheaders:\n  Content-Type: application/vnd.svc.uri\n"
    answered(ask(desk, peer, f"{kind}body: {file['uri']}"))
    assert (peer.take().body, peer.take().header("content-type")) == (b"\x89PNG\xff", "image/png")
    unknown = failed(ask(desk, peer, f"{kind}body: svc:automation_resource:x"))
    assert "there is no automation_resource" in unknown["error"]
    assert "is not a file" in failed(ask(desk, peer, f"{kind}body: svc:ticket:1"))["error"]
    assert "reference to a file" in failed(ask(desk, peer, kind.rstrip()))["error"]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("methd: GET", "did you mean 'method'?"),
        ("method: BREW", "use one of GET"),
        ("headers: no colon here", "has no colon"),
        ("headers:\n  Host: other.example", "'host'"),
        ("headers:\n  X-A: {{'1\\r\\nX-B: 2'}}", "line break"),
        ("headers:\n  X-A:\n    b: 1", "takes a text"),
        ("headers@key: long", "8,192"),
        ("body@bool: yes", "must be a text"),
        ("body@key: huge", "16,777,216"),
        ("timeout: soon", "must be a number"),
        ("timeout@int: 61", "0 to 60 seconds"),
        ("timeout@int: -1", "0 to 60 seconds"),
        ("authentication: svc:connected_account:999", "no connected account"),
        ("authentication: svc:ticket:1", "no connected account"),
        ("response: x", "response"),
        ("response:\n  file: 1", "'file'"),
        ("response:\n  resource:\n    until: 1", "expires"),
        ("response:\n  resource:\n    expires: never ever", "is not a time"),
    ],
)
def test_unsendable_inputs_fail_the_command(inputs, words, desk, peer):
    found = failed(ask(desk, peer, inputs, long={"x": "a" * 8200}, huge="a" * 16_777_217))
    assert words in found["error"] and set(found) == {"error"}
    assert peer.asked == []


@pytest.mark.parametrize(
    "url", ["notaurl", "", "ftp://shop.example/", "http://127.0.0.2/", "http://[::1]/", "http://0x7f.1/",
            "http://169.254.169.254/latest/", "https://ann:pw@shop.example/", "http://" + "a" * 2050],
)  # fmt: skip
def test_unreachable_addresses_fail_the_command(url, desk):
    found = perform(desk.context(), Script(script(f"url: {url}"), ALLOW), {})
    assert failed(found)["error"]


def test_without_a_rule_nothing_is_sent(desk, peer):
    assert "no rule allows it" in failed(ask(desk, peer, "", policy=""))["error"]
    rule = 'commands:\n  http.request:\n    allow@bool: {{inputs.url starts with "https://shop.example/"}}\n'
    assert "no rule allows it" in failed(ask(desk, peer, "", policy=rule))["error"]
    rule = "commands:\n  http.request:\n    allow@bool: {{inputs.method == 'GET' and node.type == 'http.request'}}\n"
    answered(ask(desk, peer, "", policy=rule))
    assert len(peer.asked) == 1


def test_a_response_requires_an_output(desk, peer):
    written = f"start:\n  http.request:\n    inputs:\n      url: {peer.url()}\n"
    found = perform(desk.context(), Script(written, ALLOW), {})
    assert found.state == "failure" and "output" in found.message and peer.asked == []


# -- responses -------------------------------------------------------------------------------------------------------


def test_a_response_is_a_map(desk, peer):
    peer.answers["/a"] = redirect("/b?c=1")
    peer.answers["/b"] = answer('{"x": "ü"}', 201, content_type="Application/JSON; charset=utf-8", X_More="1")
    assert answered(ask(desk, peer, "", "/a")) == {
        "status_code": 201, "url": peer.url("/b?c=1"), "content_type": "application/json", "body": '{"x": "ü"}',
        "headers": {"content-type": "Application/JSON; charset=utf-8", "x-more": "1", "content-length": "11"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "body", "is_data_uri"),
    [
        (b"hi", "text/plain", "hi", False),
        ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1", "grün", False),
        ("grün".encode("utf-16"), 'text/csv; charset="utf-16"', "grün", False),
        ("grün".encode(), "text/plain; charset=no-such", "grün", False),
        (b"gr\xfcn", "application/json", "grün", False),
        ("😀".encode(), "application/problem+json", "😀", False),
        (b"<a/>", "image/svg+xml", "<a/>", False),
        (b"a=1", "application/x-www-form-urlencoded", "a=1", False),
        (b"", "text/plain", "", False),
        (b"hi", "", "hi", False),
        (b"\xff\xfe\x00", "", "data:application/octet-stream;base64,//4A", True),
        (b"\x89PNG", "image/png", "data:image/png;base64,iVBORw==", True),
        (b"hi", "application/octet-stream", "data:application/octet-stream;base64,aGk=", True),
        (gzip.compress(b"hi", mtime=0), "application/gzip", None, True),
    ],
)
def test_bodies_are_texts_or_data_uris(content, kind, body, is_data_uri, desk, peer):
    peer.answers["/"] = answer(content, content_type=kind)
    found = answered(ask(desk, peer, ""))
    expected = body if body is not None else f"data:{kind};base64,{base64.b64encode(content).decode()}"
    assert (found["body"], found.get("is_data_uri", False)) == (expected, is_data_uri)


@pytest.mark.parametrize("status", [400, 404, 410, 500, 503])
def test_a_status_of_400_or_more_is_a_failure_with_the_whole_response(status, desk, peer):
    peer.answers["/"] = answer('{"why": 1}', status, content_type="application/json", x_a="b")
    found = failed(ask(desk, peer, ""))
    assert found == {
        "error": f"{HOST} responded with {status} Said So", "status_code": status, "url": peer.url(),
        "content_type": "application/json", "body": '{"why": 1}',
        "headers": {"content-type": "application/json", "x-a": "b", "content-length": "10"},
    }  # fmt: skip


def test_a_failure_without_a_branch_ends_the_run(desk, peer):
    written = f"start:\n  http.request:\n    output: o\n    inputs:\n      url: {peer.url('/gone')}\n"
    found = perform(desk.context(), Script(written, ALLOW), {})
    assert (found.state, found.message) == ("failure", f"{HOST} responded with 404 Said So")


def test_a_server_that_hangs_up_is_a_failure_without_a_response(desk, peer):
    peer.answers["/"] = b""
    assert set(failed(ask(desk, peer, ""))) == {"error"}


def test_large_responses_are_stored_as_resources(desk, peer):
    content = b"x" * 1_024_001
    peer.answers["/"] = answer(content, content_type="text/plain; charset=utf-8")
    found = answered(ask(desk, peer, ""))
    uri = found.pop("body")
    del found["headers"]
    assert found == {
        "status_code": 200, "url": peer.url(), "content_type": "application/vnd.svc.uri", "is_svc_uri": True,
        "content_type_original": "text/plain", "resource_expires": NOW + 900,
    }  # fmt: skip
    file = file_contents.find(desk.context(), uri)
    assert (file_contents.content(desk.context(), file), file.mime_type) == (content, "text/plain")
    peer.answers["/"] = answer(content[:-1], content_type="text/plain")
    assert answered(ask(desk, peer, ""))["body"] == content[:-1].decode()


@pytest.mark.parametrize(
    ("response", "expires"),
    [
        ("response:\n  resource:", NOW + 900),
        (f"response:\n  resource:\n    expires@int: {NOW + 60}", NOW + 60),
        (f"response:\n  resource:\n    expires: {NOW + 60}", NOW + 60),
        ("response:\n  resource:\n    expires:", NOW + 900),
        ("response:\n  resource:\n    expires: 2100-01-01 00:00", 4_102_444_800),
    ],
)
def test_a_response_can_be_requested_as_a_resource(response, expires, desk, peer):
    peer.answers["/"] = answer("hi", content_type="text/plain")
    found = answered(ask(desk, peer, response))
    assert (found["is_svc_uri"], found["resource_expires"]) == (True, expires)
    assert file_contents.content(desk.context(), file_contents.find(desk.context(), found["body"])) == b"hi"


# -- limits ----------------------------------------------------------------------------------------------------------


def silent(asked: Any) -> None:
    asked.socket.recv(1)  # until the client disconnects


def test_a_request_ends_at_its_time_limit(desk, peer):
    peer.answers["/"] = silent
    found = failed(ask(desk, peer, "timeout@float: 0.1"))
    assert found == {"error": "no complete response within 0.1 seconds"}


def test_a_request_ends_at_the_time_limit_of_the_automation(desk, peer):
    peer.answers["/"] = silent
    found = ask(desk, peer, "timeout: 60", policy=ALLOW + "settings:\n  time_limit_ms: 400\n")
    assert found.state == "error" and "time limit" in found.message


def test_a_token_is_fetched_within_the_time_of_the_automation(desk, peer):
    peer.answers["/token"] = silent
    id = oauth2(desk, peer)
    found = ask(desk, peer, f"authentication: {id}", policy=ALLOW + "settings:\n  time_limit_ms: 400\n")
    assert found.state == "error" and [each.target for each in peer.asked] == ["/token"]


def test_a_simulation_sends_nothing(desk, peer):
    found = perform(desk.context(), Script(script(f"url: {peer.url()}"), ALLOW), {}, dry=True)
    assert "on_simulate" in failed(found)["error"] and peer.asked == []


def test_without_a_service_the_same_rules_apply(peer):
    found = run(Script(script(f"url: {peer.url()}"), ALLOW), {}, StandaloneHost())
    assert "not on the public internet" in failed(found)["error"] and peer.asked == []
    found = run(Script(script(f"url: {peer.url()}\nauthentication: shop"), ALLOW), {}, StandaloneHost())
    assert "needs a running service" in failed(found)["error"]


# -- connected accounts ----------------------------------------------------------------------------------------------


def account(desk: Desk, kind: str, service: dict[str, Any], params: dict[str, Any], **more: Any) -> int:
    made = desk.create("connected_service", name="Shop", extension_id=f"svc.service.provider.{kind}", params=service)
    return int(desk.create(
        "connected_account", name="Ours", owner__context="app", owner_id=0, service_id=made["id"], params=params, **more
    )["id"])  # fmt: skip


def test_a_connected_account_signs(desk, peer):
    id = account(desk, "token.bearer", {"base_url": peer.url()}, {"token": "s3cret"}, uri="shop-bot")
    for reference in (f"svc:connected_account:{id}", "svc:connected_account:shop-bot", "shop-bot", str(id)):
        found = ask(desk, peer, f"authentication: {reference}")
        answered(found)
        assert peer.take().header("authorization") == "Bearer s3cret"
        assert "s3cret" not in json.dumps(found.variables)


def test_an_account_for_another_host_does_not_sign(desk, peer):
    id = account(desk, "token.bearer", {"base_url": "https://shop.example/"}, {"token": "s3cret"})
    found = failed(ask(desk, peer, f"authentication@int: {id}"))
    assert "for https://shop.example/ only" in found["error"] and peer.asked == []


@pytest.mark.parametrize(
    ("kind", "service", "params", "words"),
    [
        ("ldap", {}, {}, "sign no requests"),
        ("http.basic", {}, {}, "no 'username'"),
        ("api_key", {"lokation": "query"}, {"api_key": "k"}, "did you mean 'location'?"),
    ],
)
def test_accounts_that_cannot_sign_give_a_reason(kind, service, params, words, desk, peer):
    id = account(desk, kind, service, params)
    assert words in failed(ask(desk, peer, f"authentication: {id}"))["error"] and peer.asked == []


def test_an_account_without_a_service_does_not_sign(desk, peer):
    id = desk.create("connected_account", name="Ours", owner__context="app", owner_id=0)["id"]
    assert "no connected service" in failed(ask(desk, peer, f"authentication: {id}"))["error"]


def oauth2(desk: Desk, peer: Peer, **params: Any) -> int:
    service = {"token_url": peer.url("/token"), "client_id": "me", "client_secret": "s"}
    return account(desk, "oauth2", service, params)


def kept(desk: Desk, id: int) -> dict[str, Any]:
    return dict(desk.row("connected_account", id)["params"])


def test_tokens_are_fetched_once_and_cached(desk, peer):
    peer.answers["/token"] = answer('{"access_token": "one", "expires_in": 600, "refresh_token": "next"}')
    id = oauth2(desk, peer, refresh_token="first", expires_at=NOW - 1, access_token="old")
    for _ in range(2):
        answered(ask(desk, peer, f"authentication: {id}"))
        assert peer.take().header("authorization") == "Bearer one"
    assert [each.target for each in peer.asked] == ["/token", "/", "/"]
    assert b"refresh_token=first" in peer.asked[0].body
    assert kept(desk, id) == {
        "access_token": "one", "expires_at": NOW + 600, "refresh_token": "next", "token_type": "Bearer",
    }  # fmt: skip


def test_a_token_that_ended_early_is_renewed_once(desk, peer):
    def only_new(asked: Any) -> bytes:
        return answer("hi") if asked.header("authorization") == "Bearer new" else answer("who?", 401)

    peer.answers |= {"/": only_new, "/token": answer('{"access_token": "new", "expires_in": 600}')}
    id = oauth2(desk, peer, access_token="old", expires_at=NOW + 300)
    assert answered(ask(desk, peer, f"method: POST\nbody: a=1\nauthentication: {id}"))["body"] == "hi"
    assert [(each.target, each.body) for each in peer.asked[::2]] == [("/", b"a=1"), ("/", b"a=1")]
    assert kept(desk, id)["access_token"] == "new"

    peer.asked.clear()
    peer.answers["/"] = answer("never", 401)
    assert failed(ask(desk, peer, f"authentication: {id}"))["status_code"] == 401
    assert [each.target for each in peer.asked] == ["/", "/token", "/"]


def test_a_refused_token_is_a_failure_and_changes_nothing(desk, peer):
    peer.answers["/token"] = answer('{"error": "invalid_grant"}', 400)
    id = oauth2(desk, peer, refresh_token="first")
    assert "400 invalid_grant" in failed(ask(desk, peer, f"authentication: {id}"))["error"]
    assert kept(desk, id) == {"refresh_token": "first"}


@pytest.mark.parametrize("holder", ["process 1 at http://127.0.0.1:8200", "process 1", "process OWN at x"])
@pytest.mark.sqlite("the lock of a data folder")
def test_a_command_next_to_a_server_renews_no_token(desk, peer, holder, tmp_path):
    peer.answers["/token"] = answer('{"access_token": "one", "expires_in": 600}')
    id = oauth2(desk, peer, refresh_token="first", expires_at=NOW - 1)
    mine = replace(desk.service, settings=desk.service.settings.replace(data=tmp_path))
    ctx, held = replace(desk.context(), service=mine), lock.FolderLock(tmp_path)
    held.take()
    (tmp_path / lock.NAME).write_text(holder.replace("OWN", str(os.getpid())))
    try:
        if "OWN" in holder:
            assert connected_accounts.access_token(ctx, str(id)) == "one"
        else:
            with pytest.raises(Unavailable, match="the server that runs on the data folder renews it"):
                connected_accounts.access_token(ctx, str(id))
            assert peer.asked == [] and kept(desk, id)["refresh_token"] == "first"
    finally:
        held.release()


def test_a_refresh_token_is_used_by_one_run_at_a_time(desk, peer):
    """Servers treat a second use as theft, and revoke all tokens derived from the first."""
    started, go_on = threading.Event(), threading.Event()

    def slow(asked: Any) -> bytes:
        started.set()
        go_on.wait(60)
        return answer('{"access_token": "one", "expires_in": 600, "refresh_token": "next"}')

    peer.answers["/token"] = slow
    id = oauth2(desk, peer, refresh_token="first")
    found: list[RunResult] = []
    threads = [
        threading.Thread(target=lambda: found.append(ask(desk, peer, f"authentication: {id}"))) for _ in range(4)
    ]
    for each in threads:
        each.start()
    assert started.wait(60)
    go_on.set()
    for each in threads:
        each.join(60)
    assert [answered(each)["status_code"] for each in found] == [200] * 4
    assert [each.target for each in peer.asked].count("/token") == 1


def test_signing_with_an_account_requires_reading_it(desk, peer):
    nora = desk.found("worker", "isAdmin:yes")[0]
    milo = desk.found("worker", "firstName:Milo")[0]
    id = account(desk, "token.bearer", {}, {"token": "t"})
    desk.update("connected_account", id, owner__context="worker", owner_id=nora)
    assert connected_accounts.signer(desk.context(nora), str(id))
    with pytest.raises(NotFound):
        connected_accounts.signer(desk.context(milo), str(id))


# -- again, later ------------------------------------------------------------------------------------------------------

AGAIN = "method: POST\nretry: yes\nheaders:\n  X-Token: abc\nbody: It leaks."


def jobs(desk: Desk) -> list[dict[str, Any]]:
    rows = desk.read(lambda tx: tx.find(job_queue.JOB, kind=http.RETRY))
    return [dict(zip(job_queue.JOB.names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("reply", [answer(status=503), answer(status=429), b""], ids=["503", "429", "nothing"])
def test_a_failed_request_is_sent_again(desk: Desk, peer: Peer, reply: bytes) -> None:
    peer.answers["/again"] = reply
    told, before = answered(ask(desk, peer, AGAIN, "/again")), len(jobs(desk))
    assert told["is_retried"] is True and told["reason"]
    job = jobs(desk)[-1]
    payload = json.loads(job["payload"])
    with pytest.raises(Unavailable):
        http.send_again(desk.service, payload, NOW)
    peer.answers["/again"] = answer("thanks")
    http.send_again(desk.service, payload, NOW)
    asked = peer.asked[-1]
    assert (asked.method, asked.body, asked.header("x-token")) == ("POST", b"It leaks.", "abc") and before >= 1


@pytest.mark.parametrize("reply", [answer("thanks"), answer(status=404)], ids=["200", "404"])
def test_permanent_failures_are_not_sent_again(desk: Desk, peer: Peer, reply: bytes) -> None:
    peer.answers["/once"] = reply
    before = len(jobs(desk))
    found = ask(desk, peer, AGAIN, "/once")
    assert found.variables["was"] == ("error" if b" 404 " in reply else "success") and len(jobs(desk)) == before


def test_without_retry_a_failure_is_final(desk: Desk, peer: Peer) -> None:
    peer.answers["/plain"] = answer(status=503)
    before = len(jobs(desk))
    assert failed(ask(desk, peer, "method: POST", "/plain"))["status_code"] == 503 and len(jobs(desk)) == before


def test_a_body_that_is_too_large_is_not_queued(desk: Desk, peer: Peer) -> None:
    peer.answers["/large"] = answer(status=503)
    found = ask(
        desk, peer, "method: POST\nretry: yes\nbody: {{large}}", "/large", large="x" * (http.MAX_RETRIED_BYTES + 1)
    )
    assert "with retries can have a body of at most" in str(failed(found)) + found.message
