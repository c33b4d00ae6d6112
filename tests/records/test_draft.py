"""Drafts: their owners, and the effects of queueing them."""

import pytest

from server.errors import Forbidden, Invalid, Required


@pytest.fixture
def everyone(desk, ids):
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    return ids


def test_params_are_a_map_even_when_absent(desk, everyone):
    shown = desk.create("draft", by=everyone["milo"], type="mail.compose", worker_id=everyone["milo"], name="Pump")
    assert shown["params"] == {} and shown["subject"] == shown["_label"] == "Pump"
    assert len(shown["token"]) == 10 and shown["ticket_url"] == ""
    again = desk.update("draft", shown["id"], params='{"to": "ana@kite.example", "content": "Hi"}', expand="content")
    assert again["params"]["to"] == "ana@kite.example" and again["content"] == "Hi"
    assert desk.update("draft", shown["id"], params=[])["params"] == {}
    with pytest.raises(Invalid, match="map"):
        desk.update("draft", shown["id"], params=["a"])


def test_every_draft_except_a_transactional_one_has_an_owner(desk, everyone):
    with pytest.raises(Required, match="worker_id"):
        desk.create("draft", type="mail.compose")
    assert desk.create("draft", type="mail.transactional")["worker_id"] == 0
    with pytest.raises(Invalid):
        desk.create("draft", type="other", worker_id=everyone["milo"])


def test_a_draft_belongs_to_its_worker(desk, everyone):
    made = desk.create("draft", by=everyone["milo"], type="mail.compose", worker_id=everyone["milo"])["id"]
    assert desk.found("draft", "", by=everyone["milo"]) == desk.found("draft", "", by=everyone["nora"]) == [made]
    assert desk.found("draft", "", by=everyone["olga"]) == []
    with pytest.raises(Forbidden):
        desk.update("draft", made, by=everyone["olga"], name="Mine")
    with pytest.raises(Forbidden):
        desk.create("draft", by=everyone["olga"], type="mail.compose", worker_id=everyone["milo"])


def test_drafting_a_reply_requires_the_right_to_change_the_ticket(desk, everyone):
    ticket = desk.create("ticket", subject="Pump", group_id=everyone["support"])["id"]
    fields = {"type": "ticket.reply", "ticket_id": ticket}
    made = desk.create("draft", by=everyone["milo"], worker_id=everyone["milo"], **fields)
    assert made["ticket_url"] == f"https://desk.example/records/ticket/{ticket}?draft={made['id']}#draft{made['id']}"
    with pytest.raises(Forbidden):
        desk.create("draft", by=everyone["olga"], worker_id=everyone["olga"], **fields)


def test_queueing_again_resets_the_count(desk, everyone):
    made = desk.create("draft", type="mail.transactional", queue_fails=10)["id"]
    desk.update("draft", made, is_queued=1)
    assert desk.row("draft", made)["queue_fails"] == 0
    desk.update("draft", made, queue_fails=3)
    desk.update("draft", made, is_queued=1, name="Pump")
    assert desk.row("draft", made)["queue_fails"] == 3
