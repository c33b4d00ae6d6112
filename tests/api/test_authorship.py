"""Only administrators record the words of others; changed words leave a trace, and the previous words are stored."""

from typing import Any

import pytest

from tests.api.minimal import made, number
from tests.service import Api, Reply

OWN = {"content": "Called back.", "headers": "Subject: Call\r\n"}


def ours(api: Api) -> dict[str, Any]:
    """Returns the fields of a message that a worker may record: their own words, from the address of the desk."""
    return OWN | {"ticket_id": made(api, "ticket"), "sender": "support@localhost"}


def received(api: Api) -> tuple[int, int]:
    """Creates a ticket with a message of a customer; returns their ids."""
    raw = f"From: c{number()}@kite.example\r\nSubject: Refund\r\nMessage-Id: <{number()}@kite.example>\r\n\r\nRefund me"
    found = api.parse(raw).ok()
    return found["id"], found["last_message_id"]


def refused(reply: Reply, field: str) -> None:
    assert reply.status == 403 and reply["errors"][0]["field"] == field, reply


FORGED = [
    ("sender_id", {"sender": "forged@corp.example"}),
    ("worker_id", {"worker_id": "nora"}),
    ("worker_id", {"worker": "nora@desk.example"}),
    ("is_outgoing", {"is_outgoing": 0}),
    ("is_not_sent", {"is_not_sent": 0}),
    ("created", {"created": "-1 year"}),
    ("response_time", {"response_time": 1}),
    ("token", {"token": "abcdefghij"}),
    ("hash_header_message_id", {"hash_header_message_id": "0" * 40}),
    ("headers", {"headers": "From: Ceo <ceo@corp.example>\r\nSubject: x\r\n"}),
]


@pytest.mark.parametrize(("field", "values"), FORGED, ids=[str(each[1]) for each in FORGED])
def test_a_worker_cannot_record_words_of_others(field: str, values: dict[str, Any], api: Api) -> None:
    values = {name: api.ids["nora"] if value == "nora" else value for name, value in values.items()}
    for milo in (lambda sent: api.as_("milo").create("message", **sent),
                 lambda sent: api.as_("milo").upsert("message", "id:0", **sent)):  # fmt: skip
        refused(milo(ours(api) | values), field)
    assert api.found("address", "email:forged@corp.example") == []
    if "sender" not in values:  # allowed for administrators
        api.create("message", **ours(api) | {"sender": f"c{number()}@kite.example"} | values).ok()


def test_a_message_that_a_worker_records_is_theirs(api: Api) -> None:
    milo = api.as_("milo")
    found = milo.create("message", **ours(api), expand="sender_").ok()
    assert (found["is_outgoing"], found["is_not_sent"], found["worker_id"]) == (1, 1, api.ids["milo"])
    milo.create("message", **ours(api) | {"sender": "milo@desk.example", "worker_id": api.ids["milo"]}).ok()
    refused(milo.create("message", **ours(api) | {"sender": "olga@desk.example"}), "sender_id")


def test_reusing_the_id_of_another_message_does_not_redirect_replies(api: Api) -> None:
    _, message = received(api)
    headers = f"Subject: x\r\nMessage-Id: {api.record('message', message, 'headers')['headers']['message-id']}\r\n"
    assert api.as_("milo").create("message", **ours(api) | {"headers": headers}).status == 409


CHANGES = [
    ("sender_id", {"sender": "support@localhost"}),
    ("worker_id", {"worker_id": "milo"}),
    ("is_outgoing", {"is_outgoing": 1}),
    ("created", {"created": "-1 year"}),
    ("headers", {"headers": "From: ceo@corp.example\r\n"}),
    ("hash_header_message_id", {"hash_header_message_id": "0" * 40}),
    ("is_not_sent", {"is_not_sent": 1}),
    ("response_time", {"response_time": 7}),
    ("token", {"token": "abcdefghij"}),
]


@pytest.mark.parametrize(("field", "values"), CHANGES, ids=[each[0] for each in CHANGES])
def test_a_worker_cannot_change_the_author_of_a_message(field: str, values: dict[str, Any], api: Api) -> None:
    _, message = received(api)
    before = api.record("message", message, "content,headers").ok().json
    values = {name: api.ids["milo"] if value == "milo" else value for name, value in values.items()}
    for reply in (api.as_("milo").update("message", message, **values),
                  api.as_("milo").upsert("message", f"id:{message}", **values)):  # fmt: skip
        refused(reply, field)
    assert api.record("message", message, "content,headers").json == before
    api.update("message", message, **values).ok()


def test_words_before_a_change_are_stored_with_who_and_when(api: Api) -> None:
    ticket, message = received(api)
    api.as_("milo").update("message", message, content="I waive my refund").ok()
    api.as_("milo").update("message", message, content="I waive my refund").ok()  # the same words again
    api.update("message", message, created="-1 day", content="Refund me").ok()
    shown = api.record("message", message, "content,former").ok()
    assert shown["content"] == "Refund me"
    newest, first = shown["former"]
    assert (first["content"], first["actor_id"], first["actor__context"]) == (
        "Refund me", api.ids["milo"], "svc.contexts.worker")  # fmt: skip
    assert newest["content"] == "I waive my refund" and newest["actor_id"] == api.ids["nora"] and newest["created"]
    assert newest["changed_at"] >= first["changed_at"] > 0
    entries = api.search("activity_log", f"target.ticket:(id:{ticket}) activity:ticket.message.changed").ok()["results"]
    told = [each["_label"] for each in entries]
    assert len(told) == 2 and any("Milo Test changed the words of message" in each for each in told)
    assert any("Nora Berg changed the words, the date of message" in each for each in told)
    for name in ("milo", "olga"):
        theirs = api.as_(name).record("message", message, "former,changes").ok()
        assert "former" not in theirs.json and "waive" not in str(theirs.json)
        assert [(each["changed"], each["actor_id"]) for each in theirs["changes"]] == [
            (["content", "created"], api.ids["nora"]), (["content"], api.ids["milo"]),
        ]  # fmt: skip
    assert all(each["changed_at"] > 0 and "content" not in each for each in theirs["changes"])


def test_a_message_can_only_move_to_a_ticket_that_its_mover_may_write(api: Api) -> None:
    ticket, message = received(api)
    there, hidden = made(api, "ticket"), made(api, "ticket", group_id=api.ids["private"])
    milo, olga = api.as_("milo"), api.as_("olga")
    assert milo.update("message", message, ticket_id=hidden).status == 422
    assert olga.update("message", message, ticket_id=there).status == 403
    milo.update("message", message, ticket_id=there).ok()
    for id in (ticket, there):
        entries = api.search("activity_log", f"target.ticket:(id:{id}) activity:ticket.message.moved").ok()["results"]
        assert len(entries) == 1 and "Milo Test moved message" in entries[0]["_label"]


def test_a_message_takes_its_earlier_words_with_it(api: Api) -> None:
    _, message = received(api)
    api.update("message", message, content="Other").ok()
    api.remove("message", message).ok()
    assert api.record("message", message).status == 404


def test_only_administrators_write_scripts_and_policies(api: Api) -> None:
    policy, script = "commands:\n  record.get:\n    allow@bool: yes\n", "start:\n  return:\n    body: xyzzy\n"
    fields = {"extension_id": "svc.trigger.webhook.respond", "script": script, "policy_kata": policy}
    id = api.create("automation", **fields).ok()["id"]
    mine = api.record("automation", id, "script").ok()
    assert (mine["script"], mine["policy_kata"]) == (script, policy)
    milo = api.as_("milo")
    answers = (
        milo.record("automation", id, "script,inputs").ok(),
        milo.search("automation", f"id:{id}", expand="script,policy_kata").ok(),
        milo.get(
            "/rest/data/query.json", q=f"type:worklist.records of:automation query:(id:{id}) expand:[script]"
        ).ok(),
    )
    for response in answers:
        assert "xyzzy" not in response.response.text and "record.get" not in response.response.text
    assert milo.search("automation", "script:*xyzzy*").status == 422


def test_a_change_of_an_addresss_transport_is_logged(api: Api) -> None:
    transport = made(api, "mail_transport", name="Relay")
    address = api.create("address", email="shop@relay.example", mail_transport_id=transport).ok()["id"]
    api.update("address", address, mail_transport_id=0).ok()
    entries = api.search("activity_log", f"activity:sender.changed target.address:(id:{address}) sort:id").ok()
    assert [each["_label"] for each in entries["results"]] == [
        "Nora Berg changed the mail transport of shop@relay.example: Relay",
        "Nora Berg changed the mail transport of shop@relay.example: the default mail transport",
    ]
