"""Retention of webhook deliveries: by age, number and size."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation import log_search
from server.automation.webhooks import received_calls, responding, secret_requests
from server.automation.webhooks.received_calls import (
    BATCH,
    DAY_SECONDS,
    DELIVERY,
    KEPT_DAYS,
    KEPT_FAILURES,
    MAX_BODY_BYTES,
    WebhookDelivery,
    forget_old,
    keep,
)
from server.automation.webhooks.redacting import redacted
from server.automation.webhooks.responding import WebhookRequest
from server.store.transaction import Transaction
from tests.records.desk import NOW, Desk
from tests.steps import steps


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    opened.create("webhook_listener", name="Hook", kept_last=0)
    yield opened
    opened.close()


def add(desk: Desk, count: int, at: int = NOW, body: bytes = b"", status: int = 0, hook: int = 1) -> list[int]:
    received = WebhookRequest("POST", "", "", [], {}, body, "127.0.0.1")

    def write(tx: Transaction) -> list[int]:
        made = [WebhookDelivery.from_request(hook, received, at) for _ in range(count)]
        for each in made:
            each.status = status
        return [keep(tx, each, each.values()) for each in made]

    return desk.store.write(write)


def kept(desk: Desk) -> list[int]:
    return [row[0] for row in desk.read(lambda tx: tx.find(DELIVERY))]


def test_old_ones_are_deleted(desk: Desk) -> None:
    add(desk, BATCH + 1, NOW - KEPT_DAYS * DAY_SECONDS - 1)
    young = add(desk, 1, NOW - KEPT_DAYS * DAY_SECONDS)
    forget_old(desk.service, NOW)
    assert kept(desk) == young


def test_each_webhook_has_its_own_retention(desk: Desk) -> None:
    days = desk.create("webhook_listener", name="Days", kept_days=2, kept_last=0)["id"]
    last = desk.create("webhook_listener", name="Last", kept_days=0, kept_last=3)["id"]
    young = add(desk, 2, NOW - 2 * DAY_SECONDS, hook=days)
    add(desk, 2, NOW - 2 * DAY_SECONDS - 1, hook=days)
    made = add(desk, 5, NOW - 1, hook=last)
    forget_old(desk.service, NOW)
    assert sorted(kept(desk)) == sorted([*young, *made[-3:]])


def test_the_last_failures_stay_whatever_their_age(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.update("webhook_listener", 1, kept_days=0)
    failures = add(desk, KEPT_FAILURES + 2, NOW - 99 * DAY_SECONDS, status=500)
    add(desk, 9, NOW - 1, status=200)
    monkeypatch.setattr(received_calls, "MAX_KEPT", 1)
    forget_old(desk.service, NOW)
    assert kept(desk) == failures[-KEPT_FAILURES:]


def test_secrets_of_a_request_are_not_written(desk: Desk) -> None:
    headers = [("Authorization", "Bearer dear"), ("Cookie", "sid=dear"), ("X-Hub-Signature-256", "sha256=dear"),
               ("webhook-signature", "v1,dear"), ("X-Api-Key", "dear"), ("Accept", "text/html")]  # fmt: skip
    received = WebhookRequest("POST", "", "token=dear&a=1", headers, {}, b"body", "127.0.0.1")
    made = WebhookDelivery.from_request(1, received, NOW)
    made.headers = {"Set-Cookie": "sid=dear", "X-Kite": "up"}
    id = desk.store.write(lambda tx: keep(tx, made, made.values()))
    row = desk.read(lambda tx: received_calls.row_of(tx, id))
    assert "dear" not in str(row) and str(row).count("hidden") == 7 and "text/html" in row["headers"]
    assert "X-Kite" in row["answer_headers"] and "a=1" in row["query"]


def test_secrets_of_the_last_requests_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_requests, "MAX_REMEMBERED", 2)
    memory, secret = secret_requests.WithheldRequests(), [("Authorization", "dear")]
    for id in (1, 2, 3):
        memory.remember(id, secret, "", b"")
    memory.remember(4, secret, "a=" + "x" * secret_requests.MAX_SECRET_CHARS, b"")
    assert [id for id in range(1, 5) if memory.request(id)] == [2, 3] and memory.request(3) == (secret, "", b"")
    memory.remember(5, [], "token=x", b"")
    assert memory.request(5) == ([], "token=x", b"") and memory.request(2) is None


@pytest.mark.parametrize(
    ("headers", "query", "body", "is_held_back"),
    [
        ([("Accept", "x")], "a=1&b=%41+c", b'{"a": 1}', False), ([("X-Token", "x")], "", b"", True),
        ([], "token=x", b"", True), ([], "", b'{"token": "x"}', True), ([], "", b"x" * (MAX_BODY_BYTES + 1), True),
    ],
)  # fmt: skip
def test_a_row_is_redacted(headers: list[tuple[str, str]], query: str, body: bytes, is_held_back: bool) -> None:
    made = WebhookDelivery.from_request(1, WebhookRequest("POST", "", query, headers, {}, body, "127.0.0.1"), NOW)
    assert made.holds_back(made.values()) == is_held_back


def test_a_webhook_removed_during_a_call_still_responds(desk: Desk) -> None:
    script = """start:
  log: going
  record.delete:
    output: gone
    inputs:
      record_type: webhook_listener
      record_id: {{webhook_id}}
  return:
    body: done
"""
    desk.create(
        "automation", name="hook.removes", extension_id=responding.TRIGGER, script=script,
        policy_kata="commands:\n  all:\n    allow@bool: yes\n",
    )  # fmt: skip
    desk.update("webhook_listener", 1, automations_kata="automation/a:\n  uri: svc:automation:hook.removes\n")
    received = WebhookRequest("POST", "", "token=dear", [], {}, b"", "127.0.0.1")
    response, id = responding.deliver(desk.context(), desk.row("webhook_listener", 1), received)
    assert (response.status, response.body, id, kept(desk)) == (200, b"done", 0, [])
    assert secret_requests.withheld(desk.store).request(0) is None
    assert [each["message"] for each in log_search.entries(desk.context(), "", 9, 0)[0]] == ["going"]


def test_beyond_the_number_the_oldest_are_deleted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_calls, "MAX_KEPT", 2)
    ids = add(desk, 5)
    forget_old(desk.service, NOW)
    assert kept(desk) == ids[-2:]


def test_beyond_the_size_the_oldest_are_deleted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_calls, "MAX_KEPT_BYTES", 1000)
    ids = add(desk, 3, body=b"x" * 400)
    small = add(desk, 3, body=b"x" * 10)
    forget_old(desk.service, NOW)
    assert kept(desk) == [*ids[1:], *small]


@pytest.mark.sqlite("plans of SQLite")
def test_sizes_are_computed_without_reading_the_bodies(desk: Desk) -> None:
    def plan(tx: object) -> str:
        connection = tx.connection  # type: ignore[attr-defined]
        asked = "EXPLAIN QUERY PLAN SELECT id, size, answer_size FROM webhook_delivery"
        return str(connection.execute(asked).fetchall())

    assert "COVERING INDEX" in desk.read(plan)


FORM, JSON = "application/x-www-form-urlencoded", "application/json"
PARTS = "multipart/form-data; boundary=b"


def part(name: str, value: str) -> bytes:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()


BODIES = [
    (JSON, b'{"api_key": "sk_live_dear"}', b'{"api_key": "(hidden)"}'),
    (JSON, b'{"a": {"password" : "dear", "b": [{"Access-Token":"dear"}]}, "ok": "fine"}',
     b'{"a": {"password" : "(hidden)", "b": [{"Access-Token":"(hidden)"}]}, "ok": "fine"}'),
    (JSON, b'{"credentials": {"user": "dear", "note": "}\\"dear"}, "n": 1}', b'{"credentials": "(hidden)", "n": 1}'),
    (JSON, b'{"tokens": ["dear", {"x": "dear"}], "pin_token": 12}', b'{"tokens": "(hidden)", "pin_token": "(hidden)"}'),
    (JSON, b'{"token": "dear", "token": "dear"}', b'{"token": "(hidden)", "token": "(hidden)"}'),
    (JSON, b'{"p\\u0061ssword": "dear"}', b'{"p\\u0061ssword": "(hidden)"}'),
    (JSON, b'{"token": null, "secret": "", "is_auth": true}', b'{"token": null, "secret": "", "is_auth": true}'),
    (JSON, b'{"token": "dear', b'{"token": "(hidden)"'),
    (JSON, b'{"token": ["dear", "de', b'{"token": "(hidden)"'),
    (JSON, b'not JSON, "token": dear, x', b'not JSON, "token": "(hidden)", x'),
    ("text/plain", b'{"token": "dear"}', b'{"token": "(hidden)"}'),
    ("", b'{"token": "\xff dear"}', b'{"token": "(hidden)"}'),
    (FORM, b"user=ann&password=dear&x=%20", b"user=ann&password=%28hidden%29&x=%20"),
    (FORM, b"p%61ssword=dear&card[token]=dear&token=", b"p%61ssword=%28hidden%29&card[token]=%28hidden%29&token="),
    (FORM, b"payload=%7B%22token%22%3A%22dear%22%7D&a=1", b"payload=%7B%22token%22%3A%22%28hidden%29%22%7D&a=1"),
    (PARTS, part("client_secret", "dear") + part("a", "fine"), part("client_secret", "(hidden)") + part("a", "fine")),
    ("text/plain", b"the token is in the drawer", b"the token is in the drawer"),
    ("text/plain", b"user=ann&password=dear&x=1", b"user=ann&password=(hidden)&x=1"),
    ("", b"https://kite.example/?api_key=dear&x=1", b"https://kite.example/?api_key=(hidden)&x=1"),
    ("text/plain; charset=utf-8", b"From: ann\r\nAuthorization: Bearer dear\r\npassword = dear me\r\nx: 1",
     b"From: ann\r\nAuthorization: (hidden)\r\npassword = (hidden)\r\nx: 1"),
    ("text/xml", b"<a user='ann' password='dear'><k:token x='1'>dear</k:token><b>fine</b></a>",
     b"<a user='ann' password='(hidden)'><k:token x='1'>(hidden)</k:token><b>fine</b></a>"),
    (JSON, b'{"a": "b", "keys_held": []}', b'{"a": "b", "keys_held": []}'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "expected"), BODIES, ids=range(len(BODIES)))
def test_bodies_are_stored_without_their_secrets(kind: str, body: bytes, expected: bytes, desk: Desk) -> None:
    assert b"dear" not in expected
    received = WebhookRequest("POST", "", "", [("Content-Type", kind)], {}, body, "127.0.0.1")
    made = WebhookDelivery.from_request(1, received, NOW)
    assert made.kept_body == expected
    assert redacted(expected, kind) == expected  # redacting again changes nothing
    id = desk.store.write(lambda tx: keep(tx, made, made.values()))
    row = desk.read(lambda tx: received_calls.row_of(tx, id))
    assert row["body"] == expected and row["size"] == len(body)
    assert received_calls.redacted_delivery(row)["request"]["body"] == expected.decode("utf-8", "replace")


def test_redacting_a_long_body_takes_linear_time(desk: Desk) -> None:
    def lines(count: int) -> int:
        body = b'{"token": "dear", "a": "' + b"x" * 50 + b'"},' * 1
        return steps(lambda text: redacted(body * count, JSON), "")

    assert lines(2000) < 2.2 * lines(1000)
    for bomb in (b'"' * 300_000, b'"token":' * 40_000, b'{"token":' + b"[" * 300_000, b'"a\\' * 100_000):
        redacted(bomb, JSON)
    redacted(b"token" + b"--b\r\n\r\n" * 50_000, PARTS)
