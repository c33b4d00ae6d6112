"""Outgoing webhooks of a running server: a change is delivered at once, and survives a kill."""

import json
import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.service import Api, Server, people

WAIT_SECONDS = 60


@dataclass
class Told:
    """A server, an administrator's client, and a receiver. arrived: the requests at each path, in order."""

    server: Server
    api: Api
    peer: Peer
    arrived: dict[str, "queue.Queue[Asked]"] = field(default_factory=dict)

    def hook(self, path: str, events: str, answered: Callable[[Asked], bytes | None] | None = None) -> int:
        def take(asked: Asked) -> bytes | None:
            self.arrived[path].put(asked)
            return answered(asked) if answered else answer("thanks")

        self.arrived[path] = queue.Queue()
        self.peer.answers[path] = take
        made = self.api.create("outgoing_webhook", name=path, url=self.peer.url(path), events=events).ok()
        return int(made["id"])

    def next(self, path: str) -> Asked:
        return self.arrived[path].get(timeout=WAIT_SECONDS)


@pytest.fixture(scope="module")
def webhooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with Peer() as peer:
        server = Server(tmp_path_factory.mktemp("outgoing") / "data", env={"HELPDESK_OUTBOUND_ALLOW": HOST})
        try:
            api = server.set_up()
            people(api)
            yield Told(server, api, peer)
        finally:
            code = server.stop()
        assert code == 0


def path_of(id: int, rest: str) -> str:
    return f"/rest/outgoing_webhooks/{id}/{rest}.json"


def test_incoming_mail_is_delivered(webhooks: Told) -> None:
    hook = webhooks.hook("/mail", "ticket.created, message.created")
    parsed = webhooks.api.parse(b"From: ann@told.example\nSubject: Pump\n\nIt leaks.").ok()
    bodies = [json.loads(webhooks.next("/mail").body) for _ in range(2)]
    assert {(each["type"], each["data"]["id"]) for each in bodies} == {
        ("ticket.created", parsed["id"]), ("message.created", parsed["last_message_id"]),
    }  # fmt: skip
    webhooks.api.remove("outgoing_webhook", hook).ok()


def test_incoming_mail_is_announced_in_a_chat(webhooks: Told) -> None:
    webhooks.arrived["/"] = queue.Queue()
    webhooks.peer.answers["/"] = lambda asked: webhooks.arrived["/"].put(asked) or answer('{"id": "x"}')
    url, events = webhooks.peer.url("/topic_of_kite"), "ticket.created, ticket.customer_wrote, ticket.closed"
    hook = webhooks.api.create("outgoing_webhook", name="Chat", program="ntfy", url=url, events=events, has_text=1).ok()
    first = b"From: Ann Lee <ann@told.example>\nMessage-ID: <1@told.example>\nSubject: Hose\n\nIt leaks.\n> Old words"
    ticket = webhooks.api.parse(first).ok()
    message = json.loads(webhooks.next("/").body)
    assert message["title"] == "New ticket from Ann Lee" and message["topic"] == "topic_of_kite"
    assert "It leaks." in message["message"] and "Old words" not in message["message"]
    assert message["click"].endswith(f"/tickets/{ticket['mask']}")
    reply = b"From: ann@told.example\nIn-Reply-To: <1@told.example>\nSubject: Re: Hose\n\nStill."
    assert webhooks.api.parse(reply).ok()["id"] == ticket["id"]
    assert json.loads(webhooks.next("/").body)["title"] == "Ann Lee wrote"
    webhooks.api.update("ticket", ticket["id"], status="closed").ok()
    assert json.loads(webhooks.next("/").body)["title"].startswith("Closed by ")
    webhooks.api.remove("outgoing_webhook", hook["id"]).ok()


def test_deliveries_are_listed_shown_and_sent_again(webhooks: Told) -> None:
    hook = webhooks.hook("/listed", "task.created", lambda asked: answer("no", status=400))
    task = webhooks.api.create("task", title="Splice").ok()["id"]
    first = webhooks.next("/listed")
    listed = webhooks.api.get(path_of(hook, "deliveries")).ok()
    [row] = listed["results"]
    assert listed["total"] == 1 and (row["event"], row["record_id"]) == ("task.created", task)
    assert webhooks.api.get("/rest/outgoing_webhooks/deliveries.json", state="waiting").ok()["total"] >= 1
    assert webhooks.api.get(path_of(hook, "deliveries"), state="odd").status == 422
    shown = webhooks.api.get(f"/rest/outgoing_webhooks/deliveries/{row['id']}.json").ok()
    assert shown["message_id"] == first.header("webhook-id")
    again = webhooks.api.post(f"/rest/outgoing_webhooks/deliveries/{row['id']}/replay.json").ok()
    assert again["state"] == "waiting"
    assert webhooks.next("/listed").header("webhook-id") == first.header("webhook-id")
    assert webhooks.api.post(path_of(hook, "replay"), since="-1 hour").ok()["again"] == 1
    assert webhooks.next("/listed").header("webhook-id") == first.header("webhook-id")
    assert webhooks.api.post(path_of(hook, "replay")).status == 422
    assert webhooks.api.post(path_of(hook, "replay"), since="never ever").status == 422
    webhooks.api.remove("outgoing_webhook", hook).ok()
    assert webhooks.api.get(path_of(hook, "deliveries")).ok()["total"] == 0


def test_a_test_says_how_it_went(webhooks: Told) -> None:
    hook = webhooks.hook("/tried", "task.deleted")
    webhooks.api.update("outgoing_webhook", hook, is_disabled=1).ok()
    tried = webhooks.api.post(path_of(hook, "test")).ok()
    assert (tried["state"], tried["status"], tried["event"], tried["response"]["body"]) == (
        "sent",
        200,
        "test",
        "thanks",
    )
    asked = webhooks.next("/tried")
    assert asked.header("webhook-id") == tried["message_id"] and json.loads(asked.body)["type"] == "test"
    assert json.loads(tried["request"]["body"]) == json.loads(asked.body)
    webhooks.api.update("outgoing_webhook", hook, url=f"http://{HOST}:9/closed").ok()
    failed = webhooks.api.post(path_of(hook, "test")).ok()
    assert failed["state"] == "failed" and failed["status"] == 0 and failed["error"]
    assert webhooks.api.post(path_of(999_999, "test")).status == 404


def test_they_are_for_administrators(webhooks: Told) -> None:
    hook = webhooks.hook("/admins", "task.deleted")
    milo = webhooks.api.as_("milo")
    tried = webhooks.api.post(path_of(hook, "test")).ok()["id"]
    webhooks.next("/admins")
    for method, path in (
        ("GET", path_of(hook, "deliveries")), ("GET", "/rest/outgoing_webhooks/deliveries.json"),
        ("GET", f"/rest/outgoing_webhooks/deliveries/{tried}.json"), ("POST", path_of(hook, "test")),
        ("POST", path_of(hook, "replay")), ("POST", f"/rest/outgoing_webhooks/deliveries/{tried}/replay.json"),
        ("GET", f"/rest/records/outgoing_webhook/{hook}.json"),
    ):  # fmt: skip
        data = {"since": "-1 hour"} if method == "POST" else None
        assert milo.call(method, path, data=data).status == 403, path
    assert milo.create("outgoing_webhook", name="x", url="https://x.example", events="*").status == 403


def test_what_is_on_its_way_when_the_service_is_killed_arrives_again(tmp_path: Path) -> None:
    env = {"HELPDESK_OUTBOUND_ALLOW": HOST}
    with Peer() as peer:
        server = Server(tmp_path / "data", env=env)
        webhooks = Told(server, server.set_up(), peer)
        webhooks.hook("/killed", "task.created", lambda asked: asked.hung_up.wait(0) or asked.socket.recv(1) or None)
        id = webhooks.api.create("task", title="Splice").ok()["id"]
        first = webhooks.next("/killed")
        webhooks.server.process.kill()
        webhooks.server.process.wait(30)
        peer.answers["/killed"] = lambda asked: webhooks.arrived["/killed"].put(asked) or answer("thanks")
        again = Server(tmp_path / "data", env=env)
        try:
            second = webhooks.next("/killed")
        finally:
            assert again.stop() == 0
    assert second.header("webhook-id") == first.header("webhook-id")
    assert json.loads(second.body)["data"]["id"] == id
