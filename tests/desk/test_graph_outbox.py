"""The queue of mail that leaves through Microsoft Graph: held, tried again, refused, corrected."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.outbox.holds import list_holds
from server.records import records
from tests.desk.conftest import Post
from tests.graph_server import SEND, GraphServer

ANN, BOB = "ann@kite.example", "bob@kite.example"


@pytest.fixture
def server(desk: Post) -> Iterator[GraphServer]:
    """A Microsoft Graph that the desk sends through."""
    desk.set(outbound_allow=["127.0.0.1"])
    with GraphServer() as graph:
        service = desk.create(
            "connected_service", name="Microsoft", extension_id="svc.service.provider.token.bearer", params={}
        )
        account = desk.create(
            "connected_account", name="Support", service_id=service, params={"token": graph.token},
            owner__context="svc.contexts.app", owner_id=0,
        )  # fmt: skip
        sender = desk.one("address", id=desk.sender)["email"]
        graph.users[sender] = graph.box()
        params = {"host": graph.url, "username": sender, "connected_account": str(account)}
        way = desk.create("mail_transport", name="Graph", extension_id="svc.mail.transport.graph", params=params)
        desk.update("address", desk.sender, mail_transport_id=way)
        yield graph


def recipients(server: GraphServer) -> list[tuple[str, ...]]:
    return [each.recipients for each in server.box().sent]


def drafts(desk: Post) -> list[dict[str, Any]]:
    return desk.all("draft")


def test_mail_is_held_as_long_as_the_service_asks_for(desk: Post, server: GraphServer) -> None:
    server.busy, server.wait = 1, "1200"
    desk.compose()
    [hold] = desk.read(list_holds)
    assert hold.retry_at == desk.now + 1200 and "no further requests for 1200 seconds" in hold.error
    desk.compose(to=BOB)
    desk.run_due(1199)
    assert server.box().sent == [] and len(server.asked) == 1
    desk.run_due(1)
    desk.run_due()
    assert sorted(recipients(server)) == [(ANN,), (BOB,)] and drafts(desk) == [] == desk.read(list_holds)


def test_a_missing_permission_holds_mail_until_it_is_granted(desk: Post, server: GraphServer) -> None:
    server.scopes.remove(SEND)
    desk.compose()
    [hold] = desk.read(list_holds)
    assert "the permission Mail.Send" in hold.error
    server.scopes.add(SEND)
    desk.run_due(900)
    assert recipients(server) == [(ANN,)] and drafts(desk) == []


def test_mail_whose_response_was_lost_is_not_sent_again(desk: Post, server: GraphServer) -> None:
    server.faults = {"sendMail": "lost"}
    desk.compose()
    assert recipients(server) == [(ANN,)] and drafts(desk)[0]["is_queued"] == 1
    desk.run_due(300)
    assert recipients(server) == [(ANN,)] and drafts(desk) == []


def test_a_refused_recipient_is_corrected_and_gets_the_mail_alone(desk: Post, server: GraphServer) -> None:
    server.unknown = {"bob@kite.exmple"}
    desk.compose(to=f"{ANN}, bob@kite.exmple")
    assert recipients(server) == [(ANN,)]
    [draft] = drafts(desk)
    assert draft["is_queued"] == 0
    params = draft["params"] | {"to": f"{ANN}, {BOB}"}
    records.update(desk.context(desk.nora), "draft", draft["id"], {"params": params, "is_queued": 1})
    desk.run_due()
    assert recipients(server) == [(ANN,), (BOB,)] and drafts(desk) == []
