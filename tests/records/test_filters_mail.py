"""Searches of tickets, messages and people, and the keys that they and their files show."""

import pytest

from server.records import service_settings

FAMILY = "mail"


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("ticket", "leaks", True),
        ("ticket", "closed", False),
        ("ticket", "text:!leaks", False),
        ("ticket", "status:[o,w]", True),
        ("ticket", "status:open,waiting", True),
        ("ticket", "status:!open", False),
        ("ticket", "group:(name:Support) bucket:(name:Inbox)", True),
        ("ticket", "inGroupsOf:milo", True),
        ("ticket", "inGroupsOfWorker:olga", False),
        ("ticket", "participant:(email:bob@*)", True),
        ("ticket", "participant:(email:help@*)", False),
        ("ticket", "participant.id:>0", True),
        ("ticket", "participant.id:null", False),
        ("ticket", "messages:(isOutgoing:yes)", True),
        ("ticket", "messages.first:(isOutgoing:yes)", False),
        ("ticket", "messages.firstOutgoing:(worker:(firstName:milo))", True),
        ("ticket", "messages.last:(isBroadcast:yes)", True),
        ("ticket", "messages.count:2 messages.count.in:1 messages.count.out:1", True),
        ("ticket", "comments:(author.worker:(firstName:milo))", True),
        ("ticket", "comments.last:(known)", True),
        ("ticket", "worker.commented:milo worker.replied:milo", True),
        ("ticket", "worker.replied:olga", False),
        ("ticket", "worker.replied:none", False),
        ("ticket", "watchers.count:1", True),
        ("ticket", "watchers.count:0", False),
        ("ticket", "watchers.count:<2", True),
        ("ticket", "watchers.count:2...5", False),
        ("ticket", "spam.score:<50", True),
        ("ticket", "spam.score:<0.9", True),
        ("ticket", "spam.score:>0.9", False),
        ("ticket", "spam.score:>1", False),
        ("ticket", "spam.score:0...90", True),
        ("ticket", "spam.training:u", True),
        ("ticket", "owner.id:milo org.id:>0", True),
        ("ticket", "org.tier:gold serialNumber:AB*", True),
        ("ticket", "links.org:(name:kite*)", True),
        ("message", "leaks", True),
        ("message", 'content:("pump leaks")', True),
        ("message", "header.cc:carol@kite.example", True),
        ("message", "header.to:carol", False),
        ("message", "header.deliveredTo:box header.from:ana", True),
        ("message", 'header.messageId:"<Pump-1@kite.example>"', True),
        ("message", 'header.messageId:"<other@kite.example>"', False),
        ("message", 'header.messageId:"<Pump*"', True),
        ("message", "notes:(known)", True),
        ("message", "from:(ana)", True),
        ("message", "attachments:(name:pump.txt)", True),
        ("message", "ticket.bucket.id:>0 ticket.group.id:[1,2,3]", True),
        ("message", "ticket.group.id:null", False),
        ("message", "size:14", True),
        ("address", "kite pumps", True),
        ("address", "ana@kite.example", True),
        ("address", "comments:known", True),
        ("address", "ticket:(subject:pump*)", True),
        ("address", "ticket.id:[1,2]", True),
        ("address", "org.tier:gold", True),
        ("address", "contact:(gender:f)", True),
        ("contact", "ana@kite.example", True),
        ("contact", 'alias:"ana kite"', True),
        ("contact", "alias:ana", False),
        ("contact", "gender:female", True),
        ("contact", "created:today", True),
        ("org", "larch", True),
        ("org", 'alias:"kite pumps"', True),
        ("org", "contacts:(firstName:ana)", True),
        ("org", "ticket:(status:open)", True),
        ("org", "ticket.id:1", True),
        ("org", "comments:(known)", True),
        ("attachment", "on:message", True),
        ("attachment", "on:none", False),
        ("attachment", "on:org", False),
        ("attachment", "on.ticket:(subject:pump*)", True),
        ("attachment", "bundle:(name:x)", False),
        ("attachment", "size:>1kb mimetype:application/octet-stream", True),
        ("comment", "known", True),
        ("comment", "on:message author:worker", True),
        ("comment", "on.message:(leaks)", True),
        ("comment", "on.ticket:(status:open)", False),
        ("comment", "author.worker:(firstName:milo)", True),
        ("draft", "leak", True),
        ("draft", "is.queued:yes worker:(firstName:milo) type:reply", True),
        ("draft", "token:null", False),
    ],
)
def test_filters_find_the_described_records(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


@pytest.mark.parametrize(
    ("q", "by", "found"),
    [
        ("responsibility:100", "milo", True),
        ("responsibility:>50", "milo", True),
        ("responsibility:0", "milo", False),
        ("responsibility:!0", "milo", True),
        ("responsibility:[0,100]", "milo", True),
        ("responsibility:100", "olga", False),
        ("responsibility:0", "olga", False),
        ("inGroupsOf:me", "milo", True),
        ("inGroupsOf:current", "olga", False),
    ],
)
def test_filters_on_the_caller_use_the_caller(filled, q, by, found):
    desk, made = filled
    assert bool(desk.found("ticket", q, by=made[by])) is found


def test_an_order_by_the_caller_depends_on_the_caller(filled):
    desk, made = filled
    for name in ("milo", "olga", "milo"):
        assert len(desk.found("ticket", "sort:-responsibility,subject", by=made[name])) == 2


def test_keys_of_a_message_on_request(filled):
    desk, made = filled
    shown = desk.record("message", made["message"], expand="_label,content,content_html,headers,reply_to,reply_cc")
    assert shown["content"] == "The pump leaks"
    assert shown["content_html"] == '<p>Hi <img src="https://desk.example/files/7"></p>'
    assert shown["headers"]["subject"] == "Café"
    assert shown["headers"]["received"] == "from a\nfrom b"
    assert shown["reply_to"] == "ana@kite.example, bob@kite.example"
    assert shown["reply_cc"] == "carol@kite.example"
    assert shown["_label"].startswith("ana@kite.example wrote on [#")
    plain = desk.record("message", made["message"])
    assert not {"content", "headers", "_label", "content_html"} & plain.keys()


def test_keys_of_a_ticket_on_request(filled):
    desk, made = filled
    names = "requester_emails,participants,signature,signature_html,_messages,latest_incoming_activity"
    shown = desk.record("ticket", made["ticket"], by=made["nora"], expand=names)
    assert shown["requester_emails"] == "ana@kite.example, bob@kite.example"
    assert shown["requesters"][str(made["address"])]["name"] == "Ana Kite"
    assert [each["contact_first_name"] for each in shown["participants"] if each["contact_id"]] == ["Ana"]
    assert shown["signature"] == "Nora of Support"
    assert "Nora of Support" in shown["signature_html"]
    assert list(shown["_messages"]) == [str(made["message"]), str(made["reply"])]
    assert shown["latest_incoming_activity"] == shown["_messages"][str(made["message"])]["created"]
    assert shown["url"] == shown["record_url"] == f"https://desk.example/tickets/{shown['mask']}"


@pytest.mark.parametrize("uri", ["address", "contact", "org"])
def test_the_newest_messages_of_people_are_found(filled, uri):
    desk, made = filled
    shown = desk.record(uri, made[uri], expand="last_sender_message,last_recipient_message")
    assert shown["last_sender_message_id"] == made["message"]
    assert shown["last_recipient_message_id"] == made["reply"]
    assert shown["last_sender_message__context"] == "svc.contexts.message"


def test_a_file_shows_its_records(filled):
    desk, made = filled
    both = [
        {"_context": "svc.contexts.message", "id": made["message"]},
        {"_context": "svc.contexts.ticket", "id": made["ticket"]},
    ]
    assert desk.record("attachment", made["attachment"], expand="on")["on"] == both
    one = desk.record("attachment", made["attachment"], expand="on.ticket")["on"]
    assert [(each["id"], each["subject"]) for each in one] == [(made["ticket"], "Pump leak")]


def test_a_reply_is_not_sent_to_the_default_sender_as_well(filled):
    """The address is ours with or without a mail transport: its mail may use the default one."""
    desk, _ = filled
    own, ticket = desk.own("address", email="help@kite.example"), desk.own("ticket", subject="Help", group_id=1)
    headers = "From: ana@kite.example\nTo: help@kite.example, carol@kite.example\n"
    message = desk.own("message", ticket_id=ticket, sender_id=own, content="Hi", headers=headers)
    assert desk.record("message", message, expand="reply_cc")["reply_cc"] == "help@kite.example, carol@kite.example"
    desk.store.write(lambda tx: service_settings.put(tx, service_settings.DEFAULT_SENDER, own))
    assert desk.record("message", message, expand="reply_cc")["reply_cc"] == "carol@kite.example"
