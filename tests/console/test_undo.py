"""Undo restores everything: the changed value, and all its consequences."""

import html
import re
from typing import Any
from uuid import uuid4

import pytest

from server.tickets import spam, undo
from server.tickets.spam import SPAM_WORD
from server.tickets.types.ticket_parts.before import TICKET_BEFORE
from tests.console.test_tickets import answer_to
from tests.console.visitor import Visitor, text_of
from tests.records.desk import Desk
from tests.service import Api
from tests.telling import telling

names = pytest.mark.parametrize


@pytest.fixture
def ticket(nora: Api) -> dict[str, Any]:
    """A ticket by mail, with a sender and a word that no other ticket has, so that spam verdicts of others do not
    affect it."""
    word = f"w{uuid4().hex[:20]}"
    head = f"From: Ana Lund <{word}@kite.example>\nTo: support@desk.example\nSubject: Pump\n"
    made = nora.parse(f"{head}Message-ID: <{word}@kite.example>\n\nIt leaks, {word}.\n").ok()
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    return {**made.json, "message": message, "page": f"/tickets/{made['mask']}", "word": word}


def state(desk: Desk, ticket: dict[str, Any]) -> dict[str, Any]:
    """Returns all columns of a ticket except the time of its last change, the spam verdicts of its sender, and how
    often its own word was judged."""

    def read(tx: Any) -> dict[str, Any]:
        tickets, addresses = desk.registry.type("ticket"), desk.registry.type("address")
        record = tickets.record(tx.get(tickets.table, ticket["id"]))
        sender = addresses.record(tx.get(addresses.table, record["first_wrote_address_id"]))
        word = tx.first(SPAM_WORD, word=ticket["word"])
        record.pop("updated")
        record.pop("changed_at", None)
        return {
            **record,
            "senders": (sender["num_spam"], sender["num_nonspam"]),
            "word": word if word and any(word[1:]) else None,
        }

    return desk.store.read(read)


def press_undo(visitor: Visitor, path: str) -> None:
    page = visitor.get(path).text
    [(action, fields)] = re.findall(
        r'<div class="toast">.*?<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page, re.DOTALL
    )
    form: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', fields):
        form.setdefault(name, []).append(html.unescape(value))
    response = visitor.post(action, form)
    assert response.status_code == 303, text_of(response.text)


def shown(visitor: Visitor, page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(was_[^"]+)" value="([^"]*)"', visitor.get(page).text))


def set_status(value: str) -> Any:
    def act(visitor: Visitor, ticket: dict[str, Any]) -> str:
        page = ticket["page"]
        form = {**shown(visitor, page), "name": "status", "value": value}
        assert visitor.send(f"{page}/set", form, page=page).status_code == 303
        return str(page)

    return act


def bulk(do: str) -> Any:
    def act(visitor: Visitor, ticket: dict[str, Any]) -> str:
        form = {"list": "/inbox", "do": do, "ids[]": [str(ticket["id"])]}
        assert visitor.send("/-/bulk", form, page="/inbox").status_code == 303
        return "/inbox"

    return act


def judge(is_spam: str) -> Any:
    def act(visitor: Visitor, ticket: dict[str, Any]) -> str:
        page = ticket["page"]
        assert visitor.send(f"{page}/spam", {"is": is_spam}, page=page).status_code == 303
        return str(page)

    return act


def send_and_close(visitor: Visitor, ticket: dict[str, Any]) -> str:
    page = ticket["page"]
    form = answer_to(ticket, status="2", owner="Milo Test", to=f"{ticket['word']}@kite.example, new@kite.example")
    assert visitor.send(f"{page}/answer", form, page=page).status_code == 303
    return str(page)


def reply_to_several(visitor: Visitor, ticket: dict[str, Any]) -> str:
    page = f"/inbox/reply?ids={ticket['id']}"
    form = {"ids[]": [str(ticket["id"])], "content": "Fixed.", "status": "2"}
    assert visitor.send("/inbox/reply", form, page=page).status_code == 303
    return "/inbox"


ACTS = {
    "close": set_status("closed"), "delete": set_status("deleted"), "spam": judge("1"), "no spam": judge("0"),
    "close several": bulk("close"), "spam of several": bulk("spam"), "send and close": send_and_close,
    "reply to several": reply_to_several,
}  # fmt: skip


@names("learned", telling({"": False, "and the scan has run": True}, ("",), "after the scan"))
@names("kind", list(ACTS))
def test_undo_restores_a_ticket(
    signed_in: Visitor, nora: Api, desk: Desk, ticket: dict[str, Any], kind: str, learned: bool
) -> None:
    nora.create("service_target", name="Soon", response_minutes=30, resolution_minutes=600, importance_min=98).ok()
    nora.update("ticket", ticket["id"], importance=99).ok()
    spam.learn_all(desk.service, 0)
    before, requesters = state(desk, ticket), nora.record("ticket", ticket["id"], "requester_emails").ok().json
    page = ACTS[kind](signed_in, ticket)
    if learned:
        spam.learn_all(desk.service, 0)
    assert state(desk, ticket) != before
    press_undo(signed_in, page)
    spam.learn_all(desk.service, 0)
    after = state(desk, ticket)
    assert {name: (was, after[name]) for name, was in before.items() if after[name] != was} == {}
    now = nora.record("ticket", ticket["id"], "requester_emails").ok().json
    assert now["requester_emails"] == requesters["requester_emails"]


def test_a_later_change_of_another_worker_stays(
    signed_in: Visitor, nora: Api, desk: Desk, ticket: dict[str, Any]
) -> None:
    """Closed, opened and closed again by others: undoing the first opens it, and the first closing time stays."""
    page = set_status("closed")(signed_in, ticket)
    for status in ("open", "waiting"):
        nora.update("ticket", ticket["id"], status=status).ok()
    press_undo(signed_in, page)
    now = state(desk, ticket)
    assert now["status_id"] == 0 and now["closed"] > 0


def test_data_for_undo_is_deleted_after_a_day(
    signed_in: Visitor, nora: Api, desk: Desk, ticket: dict[str, Any]
) -> None:
    set_status("closed")(signed_in, ticket)
    rows = desk.store.read(lambda tx: tx.find(TICKET_BEFORE))
    newest = max(row[TICKET_BEFORE.position["changed_at"]] for row in rows)
    assert undo.forget_old(desk.service, newest + undo.RETAINED_SECONDS) is None
    assert desk.store.read(lambda tx: tx.find(TICKET_BEFORE)) == []
