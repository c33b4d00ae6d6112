"""Outgoing webhooks: requests, their order, and receivers that do not respond."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from server import clock
from server.errors import Conflict, Gone, Invalid
from server.outgoing import courier as couriers
from server.outgoing import deliveries, event_names, pace, retry_schedule
from server.outgoing.courier import Courier
from server.outgoing.pace import Pace
from tests.outbound.peer import Asked, Peer, answer
from tests.outgoing.courier_rounds import Budget, Post
from tests.records.desk import NOW

DAY = 86_400


def body(asked: Asked) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked.body)
    return found


def titles(asked: list[Asked]) -> list[str]:
    return [body(each)["data"]["title"] for each in asked]


def kinds(asked: list[Asked]) -> list[str]:
    return [body(each)["type"] for each in asked]


def test_a_change_is_delivered_and_signed(post: Post) -> None:
    hook = post.hook(headers="X-Token: abc")
    id = post.task()
    [asked] = post.run_rounds()
    at = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert body(asked) == {"type": "task.created", "timestamp": at, "data": post.desk.record("task", id)}
    assert asked.method == "POST" and asked.header("content-type") == "application/json"
    assert asked.header("x-token") == "abc" and asked.header("webhook-timestamp") == str(NOW)
    assert asked.header("webhook-id") and asked.header("webhook-signature")
    [row] = post.rows()
    assert (row["state"], row["status"], row["attempts"], row["response"]) == ("sent", 200, 1, "thanks")
    assert hook["secret"].startswith("whsec_") and "secret" not in post.desk.record("outgoing_webhook", hook["id"])


def test_the_library_of_receivers_verifies_it(tmp_path: Path) -> None:
    """Uses the real clock, because the library compares the time."""
    with Peer() as peer, pytest.MonkeyPatch.context() as patch:
        post = Post(tmp_path, peer, patch)
        patch.undo()
        post.now = clock.now()
        hook = post.hook()
        post.task("Größe – 大小")
        [asked] = post.run_rounds()
        headers = dict(asked.headers)
        assert Webhook(hook["secret"]).verify(asked.body.decode(), headers)["type"] == "task.created"
        with pytest.raises(WebhookVerificationError):
            Webhook("whsec_" + "A" * 44).verify(asked.body.decode(), headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(hook["secret"]).verify(asked.body.decode() + " ", headers)
        changed = post.desk.update("outgoing_webhook", hook["id"], secret="", overlap_until=str(clock.now() + DAY))
        post.courier._is_known = False
        post.task()
        [asked] = post.run_rounds()
        for secret in (hook["secret"], changed["secret"]):
            assert Webhook(secret).verify(asked.body.decode(), dict(asked.headers))
        post.desk.update("outgoing_webhook", hook["id"], overlap_until="now")
        post.courier._is_known = False
        post.task()
        [asked] = post.run_rounds()
        assert Webhook(changed["secret"]).verify(asked.body.decode(), dict(asked.headers))
        with pytest.raises(WebhookVerificationError):
            Webhook(hook["secret"]).verify(asked.body.decode(), dict(asked.headers))
        post.desk.close()


def test_each_webhook_receives_its_events(post: Post) -> None:
    for path, events in (("/a", "task.created"), ("/b", "*.deleted, org.*"), ("/c", "*")):
        post.peer.answers[path] = answer()
        post.hook(events, url=post.peer.url(path))
    id = post.task()
    post.desk.update("task", id, title="Knot")
    post.desk.create("org", name="Kite")
    post.desk.delete("task", id)
    asked = post.run_rounds(8)
    told = {path: [body(each)["type"] for each in asked if each.target == path] for path in ("/a", "/b", "/c")}
    assert told["/a"] == ["task.created"] and told["/b"] == ["org.created", "task.deleted"]
    assert told["/c"] == ["task.created", "task.updated", "org.created", "task.deleted"]
    deleted = next(body(each)["data"] for each in asked if body(each)["type"] == "task.deleted")
    assert deleted == {"id": id, "_type": "task"}


def test_records_of_administrators_are_sent_by_name_only(post: Post) -> None:
    """The address of a webhook is a secret of administrators."""
    post.hook("*")
    post.desk.create("webhook_listener", name="Door")
    post.task()
    assert kinds(post.run_rounds(6)) == ["task.created"]
    post.hook("webhook_listener.created", name="Named")
    post.run_rounds()
    made = post.desk.create("webhook_listener", name="Gate")
    [asked] = post.run_rounds(6)
    assert body(asked)["data"]["guid"] == made["guid"]


def test_a_search_chooses_records(post: Post) -> None:
    post.hook("task.created, task.deleted", query="title:Knot OR title:Whip")
    first, _, _ = (post.task(title) for title in ("Knot", "Splice", "Whip"))
    assert titles(post.run_rounds(8)) == ["Knot", "Whip"] and not post.rows(state="waiting")
    post.desk.delete("task", first)
    assert kinds(post.run_rounds()) == ["task.deleted"]


def test_a_template_makes_the_body(post: Post) -> None:
    post.hook(body='{"text": "{{record.title}} ({{event}})"}')
    post.task()
    [asked] = post.run_rounds()
    assert body(asked) == {"text": "Splice (task.created)"}
    post.hook(name="Plain", body="{{record.title}}", url=post.peer.url("/hook"))
    post.task("Knot")
    assert {each.body for each in post.run_rounds(6)} >= {b"Knot"}


def test_about_one_record_one_after_the_other(post: Post) -> None:
    """Even if the first delivery fails for an unrelated reason, and deliveries about other records overtake it."""
    post.hook()
    first, second = post.task("First"), post.task("Second")
    post.run_rounds(6)
    wrong = [answer(status=400)]
    post.peer.answers["/hook"] = lambda asked: wrong.pop() if wrong else answer()
    for number in range(3):
        post.desk.update("task", first, title=f"First {number}")
    post.desk.update("task", second, title="Second again")
    assert titles(post.run_rounds(6)) == ["First 2", "Second again"]  # the state at the first attempt
    post.now += retry_schedule.WAITS[0]
    ids = [each.header("webhook-id") for each in post.peer.asked]
    assert titles(post.run_rounds(8)) == ["First 2"] * 3 and not post.rows(state="waiting")
    again = [each.header("webhook-id") for each in post.peer.asked][len(ids) :]
    assert again == sorted(again, key=lambda id: int(str(id).rpartition("_")[2])) and again[0] in ids


def test_a_receiver_that_fails_is_left_alone_for_a_while_and_hears_all_of_it_in_the_end(post: Post) -> None:
    hook = post.hook()
    post.peer.answers["/hook"] = answer("busy", status=503)
    for number in range(5):
        post.task(f"Task {number}")
    assert len(post.run_rounds(6)) == 1  # one is tried, the others wait
    state = post.state(hook["id"])
    assert state.failures == 1 and state.failing_since == NOW and "503" in state.error
    post.now += retry_schedule.REST[0]
    assert len(post.run_rounds(6)) == 1
    post.peer.answers["/hook"] = answer()
    post.now += DAY
    assert sorted(titles(post.run_rounds(20))) == [f"Task {number}" for number in range(5)]
    state = post.state(hook["id"])
    assert (state.failures, state.failing_since, state.error) == (0, 0, "") and not post.rows(state="waiting")


def test_a_test_that_is_answered_ends_the_wait_of_a_receiver(post: Post) -> None:
    hook = post.hook()
    post.peer.answers["/hook"] = answer("busy", status=503)
    for number in range(3):
        post.task(f"Task {number}")
    for _ in range(4):
        post.run_rounds(2)
        post.now += retry_schedule.REST[1]
    assert post.state(hook["id"]).failures > 1
    couriers.tried(post.desk.context(), hook["id"])
    post.courier._is_known = False
    assert not post.run_rounds(2) or post.state(hook["id"]).failures
    post.peer.answers["/hook"] = answer()
    couriers.tried(post.desk.context(), hook["id"])
    post.courier._is_known = False
    assert sorted(titles(post.run_rounds(8))) == [f"Task {number}" for number in range(3)]
    assert post.state(hook["id"]).failures == 0


def test_what_is_sent_again_is_the_same(post: Post) -> None:
    post.hook()
    post.peer.answers["/hook"] = answer(status=500)
    id = post.task("Before")
    [first] = post.run_rounds()
    post.desk.update("task", id, title="After")
    post.peer.answers["/hook"] = answer()
    post.now += DAY
    second, third = post.run_rounds(6)
    assert second.body == first.body and second.header("webhook-id") == first.header("webhook-id")
    assert second.header("webhook-timestamp") == str(post.now) and titles([third]) == ["After"]


def test_a_webhook_that_is_changed_during_an_attempt_sends_each_delivery_once(post: Post) -> None:
    def refuse(_: Asked) -> bytes:
        post.courier._is_known = False
        return answer(status=500)

    post.hook()
    post.peer.answers["/hook"] = refuse
    post.task()
    assert len(post.run_rounds()) == 1
    post.peer.answers["/hook"] = answer()
    post.now += DAY
    assert titles(post.run_rounds()) == ["Splice"]


def test_a_receiver_may_say_when_to_come_again(post: Post) -> None:
    post.hook()
    post.peer.answers["/hook"] = answer(status=429, retry_after="7200")
    post.task()
    post.run_rounds()
    [row] = post.rows()
    assert row["due_at"] == NOW + 7200
    post.now += 3600
    assert not post.run_rounds()


def test_a_time_to_come_again_that_is_none_is_ignored(post: Post) -> None:
    post.hook()
    post.peer.answers["/hook"] = answer(status=503, retry_after="9" * 5000)
    post.task()
    post.run_rounds()
    [row] = post.rows()
    assert (row["status"], row["due_at"]) == (503, NOW + retry_schedule.WAITS[0]) and "503" in row["error"]


def test_after_three_days_it_is_disabled_and_administrators_are_notified(post: Post) -> None:
    nora = post.desk.create(
        "worker", first_name="Nora", email="nora@kite.example", is_superuser=1, language="en_US", timezone="UTC"
    )["id"]  # fmt: skip
    hook = post.hook()
    post.peer.answers["/hook"] = answer(status=500)
    post.task()
    attempts = 0
    while not post.desk.record("outgoing_webhook", hook["id"])["is_disabled"]:
        attempts += len(post.run_rounds())
        post.now += 600
        assert post.now < NOW + 4 * DAY
    assert 8 <= attempts <= 1 + len(retry_schedule.WAITS)
    [entry] = post.desk.log("outgoing_webhook.switched_off")
    assert entry["target_id"] == hook["id"]
    [told] = post.desk.found("notification", f"worker.id:{nora}")
    assert post.desk.row("notification", told)["worker_id"] == nora
    post.task()
    assert not post.run_rounds()


def test_gone_means_gone(post: Post) -> None:
    hook = post.hook()
    post.peer.answers["/hook"] = answer(status=410)
    post.task()
    post.run_rounds()
    assert post.desk.record("outgoing_webhook", hook["id"])["is_disabled"] and post.rows()[0]["state"] == "failed"


def test_a_redirect_is_not_followed(post: Post) -> None:
    post.hook()
    post.peer.answers["/hook"] = answer(status=302, location=post.peer.url("/elsewhere"))
    post.task()
    assert [each.target for each in post.run_rounds()] == ["/hook"] and post.rows()[0]["status"] == 302


def test_an_address_inside_is_not_reached(post: Post) -> None:
    post.desk.service = replace(post.desk.service, settings=post.desk.service.settings.replace(outbound_allow=[]))
    post.restart()
    hook = post.hook()
    post.task()
    assert not post.run_rounds() and "is not on the public internet" in post.state(hook["id"]).error


def test_silent_receivers_do_not_delay_others(post: Post) -> None:
    """20 of 200 receivers hang: each gets one request at a time, all together few slots, and the others are served in
    the same rounds."""
    for number in range(200):
        is_silent = number < 20
        post.peer.answers[f"/{number}"] = answer(status=500) if is_silent else answer()
        post.hook(url=post.peer.url(f"/{number}"), name=f"Hook {number}")
    for number in range(3):
        post.task(f"Task {number}")
    asked = [each.target for each in post.run_rounds(8)]
    assert all(asked.count(f"/{number}") == 3 for number in range(20, 200))
    assert all(asked.count(f"/{number}") == 1 for number in range(20))


def test_while_the_service_is_busy_receivers_take_turns(post: Post) -> None:
    for path in ("/a", "/b", "/c"):
        post.peer.answers[path] = answer()
        post.hook(url=post.peer.url(path), name=path)
    for number in range(3):
        post.task(f"Task {number}")
    paths = []
    for _ in range(9):
        post.courier._pace = Budget(1)
        paths += [each.target for each in post.run_rounds(1)]
    assert paths == ["/a", "/b", "/c"] * 3


@pytest.mark.parametrize(
    ("busy", "expected"),
    [(0.0, 60), (1.0, 3), (4.0, 3), (0.5, 30)],
)
def test_sending_takes_what_the_service_leaves_of_a_processor(
    monkeypatch: pytest.MonkeyPatch, busy: float, expected: int
) -> None:
    """busy: CPU seconds that the rest of the service uses each second. A delivery costs 10 ms."""
    passed = used = 0.0
    monkeypatch.setattr(pace.time, "monotonic", lambda: passed)
    monkeypatch.setattr(pace.time, "process_time", lambda: used)
    budget = Pace()
    while budget.claim():
        budget.settle(0.01)
    sent = 0
    for _ in range(60):
        passed += 0.01
        used += 0.01 * busy
        budget.renew()
        while budget.claim():
            budget.settle(0.01)
            used += 0.01
            sent += 1
    assert sent == pytest.approx(expected, abs=2)


def test_a_service_that_is_killed_goes_on(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the change and its delivery, and between the response and its record."""
    post.hook()
    post.run_rounds()
    post.task("First")
    post.restart()
    monkeypatch.setattr(Courier, "_keep", lambda self, attempts: None)
    [first] = post.run_rounds(2)
    post.task("Second")
    monkeypatch.undo()
    monkeypatch.setattr(clock, "now", lambda: post.now)
    post.restart()
    again, second = post.run_rounds(6)
    assert again.header("webhook-id") == first.header("webhook-id") and again.body == first.body
    assert titles([second]) == ["Second"] and len(post.rows(state="sent")) == 2
    post.restart()
    assert not post.run_rounds()


def test_earlier_changes_and_changes_while_disabled_are_not_delivered(post: Post) -> None:
    post.task("Before")
    hook = post.hook()
    post.run_rounds()
    post.desk.update("outgoing_webhook", hook["id"], is_disabled=1)
    post.courier._is_known = False
    post.task("While off")
    assert not post.run_rounds()
    post.desk.update("outgoing_webhook", hook["id"], is_disabled=0)
    post.courier._is_known = False
    post.task("After")
    assert titles(post.run_rounds()) == ["After"]


def test_what_was_sent_is_sent_again_by_request(post: Post) -> None:
    hook, ctx = post.hook(), post.desk.context()
    post.task("First")
    post.now += 3600
    post.task("Second")
    ids = {each.header("webhook-id") for each in post.run_rounds(6)}
    [first, _] = post.rows()
    deliveries.replay(ctx, first["id"])
    post.courier._is_known = False
    assert titles(post.run_rounds()) == ["First"]
    post.desk.update("outgoing_webhook", hook["id"], is_disabled=1)
    with pytest.raises(Conflict):
        deliveries.replay(ctx, first["id"])
    post.courier._is_known = False
    post.task("While off")
    post.run_rounds()
    post.desk.update("outgoing_webhook", hook["id"], is_disabled=0)
    assert deliveries.replay_since(ctx, hook["id"], NOW) == 2
    post.courier._is_known = False
    asked = post.run_rounds(10)
    assert titles(asked) == ["First", "Second", "While off"] and ids < {each.header("webhook-id") for each in asked}
    with pytest.raises(Gone):
        post.desk.store.write(lambda tx: tx.run(lambda: deliveries.changes._LOG.delete()))
        deliveries.replay_since(ctx, hook["id"], NOW - DAY)


def test_lost_changes_are_reported_and_delivery_continues(post: Post) -> None:
    post.hook()
    post.run_rounds()
    post.task("Lost")
    post.desk.store.write(lambda tx: tx.run(lambda: deliveries.changes._LOG.delete()))
    assert not post.run_rounds()
    post.task("Found")
    assert titles(post.run_rounds(6)) == ["Found"]


def test_a_thousand_waiting_changes_are_delivered(post: Post) -> None:
    post.hook()
    for number in range(60):
        post.task(f"Task {number:02}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(couriers, "KEPT", 10)
        patch.setattr(couriers, "PAGE", 7)
        assert titles(post.run_rounds(80)) == [f"Task {number:02}" for number in range(60)]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"url": "ftp://shop.example/"}, "url: "),
        ({"url": ""}, "url must not be empty"),
        ({"events": ""}, "events must not be empty"),
        ({"events": "ticket"}, "is not <type>.created"),
        ({"events": "ticket.closed"}, "is not <type>.created"),
        ({"events": "tickets.created"}, "did you mean 'ticket'"),
        ({"events": "notification.created"}, "there are no events of 'notification'"),
        ({"events": "outgoing_webhook.created"}, "there are no events of"),
        ({"events": ", ".join(f"x{number}.created" for number in range(101))}, "at most 100"),
        ({"events": "*", "query": "status:open"}, "events of one record type"),
        ({"events": "ticket.created, task.created", "query": "status:open"}, "events of one record type"),
        ({"events": "task.created", "query": "status:(open"}, ""),
        ({"headers": "X-Token"}, "line 1 is not 'Name: value'"),
        ({"headers": "Host: other.example"}, "'host' cannot be set by a request"),
        ({"headers": "X y: 1"}, "not a header name"),
        ({"body": "{{ record.title"}, "body: "),
        ({"secret": "hush"}, "whsec_ and the base64"),
        ({"secret": "whsec_aGk="}, "whsec_ and the base64"),
    ],
)
def test_a_webhook_that_could_not_work_is_refused(post: Post, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as refused:
        post.hook(**({"events": "task.*"} | fields))
    assert told in refused.value.message


@pytest.mark.parametrize(
    ("patterns", "uri", "event", "is_told"),
    [
        ("ticket.created", "ticket", "created", True), ("ticket.created", "ticket", "updated", False),
        ("ticket.*", "ticket", "deleted", True), ("*.deleted", "org", "deleted", True), ("*", "org", "updated", True),
        ("ticket.created\nmessage.*", "message", "updated", True), ("ticket.*", "task", "created", False),
    ],
)  # fmt: skip
def test_patterns(patterns: str, uri: str, event: str, is_told: bool) -> None:
    assert event_names.matches(event_names.split(patterns), uri, event) is is_told
