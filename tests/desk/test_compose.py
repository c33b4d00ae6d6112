"""Compose: stored records, refusals, and the mail that is sent."""

import re
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

import pytest

from server.errors import Forbidden, HelpdeskError, Invalid, Required, TooLarge
from server.record_types.shared.relation_tables import ATTACHED
from server.records import records
from tests.desk.conftest import NOW, Post
from tests.desk.test_mail_html import body
from tests.smtp_server import SmtpServer


def taken(server: SmtpServer) -> tuple[str, tuple[str, ...], Message]:
    sender, recipients, raw = server.take()
    return sender, recipients, message_from_bytes(raw, policy=default)


def text(part: Message) -> str:
    """Returns the content of a text part, with normalized line ends."""
    return str(part.get_content()).replace("\r\n", "\n").strip()


def test_a_plain_mail_goes_to_the_recipient_who_becomes_the_requester(desk: Post, smtp: SmtpServer) -> None:
    uri, id = desk.compose(to="Ann <Ann@kite.example>", cc="bob@kite.example", content="Hello\r\nAnn")
    assert uri == "ticket"
    sender, recipients, mail = taken(smtp)
    assert sender == "support@desk.example"
    assert recipients == ("Ann@kite.example", "bob@kite.example")
    assert mail["Subject"] == "Boat" and mail["From"] == "Support <support@desk.example>"
    assert mail["To"] == "Ann <Ann@kite.example>"
    assert mail["Cc"] == "bob@kite.example"
    assert mail.get_content_type() == "text/plain"
    assert text(mail) == "Hello\nAnn"
    assert len(mail["References"].split()) == 1 and "In-Reply-To" not in mail and mail["X-Svc-Installation"] == "0" * 32
    message = desk.message(id)
    assert message["message_id"] == mail["Message-ID"].strip()
    assert mail["Message-ID"].strip().endswith("@desk.example>")
    assert (message["is_outgoing"], message["is_not_sent"], message["worker_id"]) == (1, 0, desk.nora)
    assert desk.requesters(id) == ["ann@kite.example"]
    assert desk.all("draft") == []
    ticket = desk.ticket(id)
    assert (ticket["status_id"], ticket["num_messages_out"], ticket["spam_training"]) == (0, 1, "N")
    assert ticket["initial_message_id"] == ticket["latest_message_id"] == message["id"]
    assert ticket["initial_response_message_id"] == 0
    assert desk.activity(id) == ["ticket.moved", "ticket.message.outbound"]


def test_dont_send_stores_everything_and_mails_nothing(desk: Post, smtp: SmtpServer) -> None:
    id = desk.ticket_id(dont_send="1")
    assert desk.message(id)["is_not_sent"] == 1
    assert desk.requesters(id) == ["ann@kite.example"]
    assert smtp.messages == [] and desk.all("draft") == []


def test_unsent_mail_is_saved_at_once(desk: Post) -> None:
    ticket = desk.ticket_id(dont_send="1", send_at="+1 hour")
    assert desk.message(ticket)["is_not_sent"] == 1 and desk.all("draft") == []


def test_dont_send_works_inside_a_write(desk: Post) -> None:
    """The web layer runs small requests on the writer itself."""
    id = desk.service.store.write(lambda tx: desk.ticket_id())
    desk.service.store.write(lambda tx: desk.reply(desk.message(id)["id"], dont_send="1"))
    assert desk.ticket(id)["num_messages"] == 2


def test_dont_send_needs_no_recipient(desk: Post) -> None:
    id = desk.ticket_id(to="", dont_send="1")
    assert desk.requesters(id) == []


@pytest.mark.parametrize(
    ("values", "error", "field"),
    [
        ({"subject": ""}, Required, "subject"),
        ({"subject": "x" * 256}, Invalid, "subject"),
        ({"subject": "a\r\nBcc: eve@evil.example"}, Invalid, "subject"),
        ({"content": " "}, Required, "content"),
        ({"group_id": ""}, Required, "group_id"),
        ({"group_id": "99"}, Invalid, "group_id"),
        ({"group_id": "x"}, Invalid, "group_id"),
        ({"bucket_id": "99"}, Invalid, "bucket_id"),
        ({"to": ""}, Required, "to"),
        ({"to": "nobody at all"}, Invalid, "to"),
        ({"to": "a@x.example\r\nBcc: eve@evil.example"}, Invalid, "to"),
        ({"cc": "a@x.example\nb@x.example"}, Invalid, "cc"),
        ({"bcc": "a@x.example\0"}, Invalid, "bcc"),
        ({"to": ",".join(f"a{n}@x.example" for n in range(101))}, Invalid, "to"),
        ({"to": ",".join(f"a{n}@x.example" for n in range(20_000))}, Invalid, "to"),
        ({"cc": ",".join(f"a{n}@x.example" for n in range(100))}, Invalid, "to"),
        ({"status": "4"}, Invalid, "status"),
        ({"status": "open"}, Invalid, "status"),
        ({"reopen_at": "some day", "status": "1"}, Invalid, "reopen_at"),
        ({"send_at": "some day"}, Invalid, "send_at"),
        ({"content_format": "rtf"}, Invalid, "content_format"),
        ({"html_template_id": "99"}, Invalid, "html_template_id"),
        ({"owner_id": "99"}, Invalid, "owner_id"),
        ({"org_id": "99"}, Invalid, "org_id"),
        ({"file_id": ["99"]}, Invalid, "file_id"),
        ({"file_id": {"a": "1"}}, Invalid, "file_id"),
        ({"custom_99": "x"}, Invalid, "custom_99"),
        ({"subject": ["a", "b"]}, Invalid, "subject"),
    ],
)
def test_bad_values_are_refused_before_anything_is_stored(
    desk: Post, values: dict[str, Any], error: type[HelpdeskError], field: str
) -> None:
    with pytest.raises(error) as raised:
        desk.compose(**values)
    assert raised.value.details["field"] == field
    assert desk.all("ticket") == [] and desk.all("draft") == []


@pytest.mark.parametrize("name", ["markdown", "parsedown", "Markdown"])
def test_markdown_goes_out_as_text_and_html(desk: Post, smtp: SmtpServer, name: str) -> None:
    _, id = desk.compose(content="See **this** ![x](https://x.example/a.png)", content_format=name)
    mail = taken(smtp)[2]
    assert mail.get_content_type() == "multipart/alternative"
    plain, html = mail.iter_parts()
    assert text(plain) == "See **this** x <https://x.example/a.png>"
    assert "<strong>this</strong>" in html.get_content()
    message = desk.message(id)
    file = desk.one("attachment", id=message["html_attachment_id"])
    assert file["name"] == "original_message.html" and message["content"].startswith("See **this**")


def test_a_template_surrounds_the_html_and_is_not_stored(desk: Post, smtp: SmtpServer) -> None:
    template = desk.create(
        "html_template", name="Frame", owner__context="svc.contexts.app", owner_id=0,
        content="<div>{{message_body}}</div><p onclick='x()'>{{ticket_mask}} {{group_name}} {{worker_full_name}} "
        "{{nothing}}{{message_id_header}}{{message_token}}</p>",
    )  # fmt: skip
    desk.update("group", desk.support, name="Sup<port>", reply_html_template_id=template)
    _, id = desk.compose(content="**Hi** {{ticket_mask}}", content_format="markdown")
    html = list(taken(smtp)[2].iter_parts())[1].get_content()
    ticket, message = desk.ticket(id), desk.message(id)
    assert re.search(r"<div><div><p [^>]*><strong>Hi</strong> \{\{ticket_mask\}\}</p>", html)
    assert f"{ticket['mask']} Sup&lt;port&gt; Nora Berg &lt;{message['message_id'][1:-1]}&gt;{message['token']}" in html
    assert "onclick" not in html


def test_signature_lines_are_replaced_and_others_sent_as_written(desk: Post, smtp: SmtpServer) -> None:
    signature = desk.create(
        "email_signature", name="Short", owner__context="svc.contexts.app", owner_id=0,
        signature="-- {{first_name}}, {{group_name}}", signature_html="<b>{{first_name}}</b>",
    )  # fmt: skip
    desk.update("group", desk.support, reply_signature_id=signature)
    _, id = desk.compose(content="Hi\n#sig\n#cut\n#signature")
    assert desk.message(id)["content"] == "Hi\n-- Nora, Support\n#cut\n-- Nora, Support"
    assert "#cut" in taken(smtp)[2].get_content()
    desk.compose(content="Hi *there*\n\n#sig\n", content_format="markdown")
    plain, html = taken(smtp)[2].iter_parts()
    assert text(plain) == "Hi *there*\n\n-- Nora, Support"
    assert body(html.get_content()) == "<p>Hi <em>there</em></p><b>Nora</b>"
    desk.compose(content="Hi")
    assert "Nora" not in taken(smtp)[2].get_content()


def test_bcc_is_only_in_the_envelope_and_the_stored_headers(desk: Post, smtp: SmtpServer) -> None:
    _, id = desk.compose(bcc="Eve <eve@kite.example>")
    _, recipients, raw = smtp.take()
    assert recipients == ("ann@kite.example", "eve@kite.example")
    assert b"eve" not in raw.lower()
    assert 'Bcc: "Eve" <eve@kite.example>' in desk.message(id)["headers"]
    assert desk.requesters(id) == ["ann@kite.example"]


def test_files_are_sent_and_attached_to_the_message(desk: Post, smtp: SmtpServer) -> None:
    values = {"name": "plan.pdf", "mime_type": "application/pdf", "content": b"%PDF", "uploader_id": desk.nora}
    file = desk.create("attachment", **values)
    _, id = desk.compose(file_id=[str(file), str(file)])
    attached = list(taken(smtp)[2].iter_attachments())
    assert [(each.get_filename(), each.get_content_type(), each.get_content()) for each in attached] == [
        ("plan.pdf", "application/pdf", b"%PDF")
    ]
    message_id = desk.message(id)["id"]
    rows = desk.read(lambda tx: tx.find(ATTACHED, context="svc.contexts.message", record_id=message_id))
    assert [row[0] for row in rows] == [file]


def test_unreadable_files_are_refused(desk: Post) -> None:
    file = desk.create("attachment", name="a.txt", content=b"secret", uploader_id=desk.nora)
    with pytest.raises(Invalid):
        desk.compose(by=desk.milo, file_id=str(file))


@pytest.mark.parametrize("name", ["to", "cc", "bcc"])
@pytest.mark.parametrize("text", ["junk", "ann@kite.example, Bob <bob>", "ann@kite.example; c@@d", "ann @kite.example"])
def test_unreadable_recipients_are_refused_with_the_text(desk: Post, name: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        desk.compose(**{name: text})
    wrong = text.rpartition(", ")[2].rpartition("; ")[2]
    assert refused.value.message == f"{name}: '{wrong}' is not an email address; use name@host"
    assert refused.value.details["field"] == name
    with pytest.raises(Invalid):
        desk.compose(**{name: text, "dont_send": "1"})


def test_files_too_large_for_a_mail_are_refused(desk: Post) -> None:
    file = desk.create("attachment", name="a.bin", content=b"x", uploader_id=desk.nora)
    desk.write(lambda writing: writing.set("attachment", file, {"size": 30 * 1024 * 1024}))
    with pytest.raises(TooLarge):
        desk.compose(file_id=str(file))


def test_our_images_are_embedded_and_others_stay_links(desk: Post, smtp: SmtpServer) -> None:
    own = desk.create("attachment", name="a.png", mime_type="image/png", content=b"\x89PNG", uploader_id=desk.milo)
    other = desk.create("attachment", name="b.png", mime_type="image/png", content=b"secret", uploader_id=desk.nora)
    base = desk.service.base_url
    desk.compose(
        by=desk.milo,
        content_format="markdown",
        content=f"![a]({base}/files/{own}/a.png) ![b]({base}/rest/attachments/{other}/download.json)",
    )
    raw = smtp.take()[2]
    mail = message_from_bytes(raw, policy=default)
    related = list(mail.walk())
    [image] = [part for part in related if part.get_content_type() == "image/png"]
    assert image.get_content() == b"\x89PNG" and b"secret" not in raw
    html = next(part for part in related if part.get_content_type() == "text/html").get_content()
    assert f"cid:{image['Content-ID'].strip('<>')}" in html and f"/rest/attachments/{other}/" in html
    plain = next(part for part in related if part.get_content_type() == "text/plain").get_content()
    assert plain.split() == ["a", "b"]  # addresses that the reader cannot open are left out


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, (0, 0)),
        ({"status": "0", "reopen_at": "+1 day"}, (0, 0)),
        ({"status": "1", "reopen_at": "+1 day"}, (1, NOW + 86400)),
        ({"status": "2", "reopen_at": str(NOW - 5)}, (2, NOW - 5)),
        ({"status": "3", "reopen_at": "+1 day"}, (3, 0)),
        ({"status": 1}, (1, 0)),
    ],
)
def test_status_and_reopening(desk: Post, values: dict[str, Any], expected: tuple[int, int]) -> None:
    ticket = desk.ticket(desk.ticket_id(**values))
    assert (ticket["status_id"], ticket["reopen_date"]) == expected


def test_a_requested_status_is_an_entry(desk: Post) -> None:
    id = desk.ticket_id(status="2")
    assert desk.activity(id) == ["ticket.moved", "ticket.status.closed", "ticket.message.outbound"]


def test_the_bucket_decides_even_if_it_is_of_another_group(desk: Post) -> None:
    other = desk.create("group", name="Sales")
    bucket = desk.create("bucket", name="Leads", group_id=other)
    ticket = desk.ticket(desk.ticket_id(bucket_id=str(bucket)))
    assert (ticket["group_id"], ticket["bucket_id"]) == (other, bucket)
    assert desk.ticket(desk.ticket_id())["bucket_id"] == desk.inbox


def test_owner_org_and_custom_fields(desk: Post) -> None:
    org = desk.create("org", name="Larch")
    address = desk.address("ann@kite.example")
    desk.update("address", address, org_id=org)
    fields = {"name": "Colour", "context": "ticket", "type": "S", "uri": "colour"}
    colour = records.create(desk.context(), "custom_field", fields)["id"]
    id = desk.ticket_id(owner_id=str(desk.olga), **{f"custom_{colour}": "red"})
    ticket = desk.ticket(id)
    assert (ticket["owner_id"], ticket["org_id"]) == (desk.olga, org)
    assert records.retrieve(desk.context(), "ticket", id, "custom_")["custom"] == {str(colour): "red"}
    assert desk.ticket(desk.ticket_id(org_id="0"))["org_id"] == 0


def test_composing_requires_access_to_the_group(desk: Post) -> None:
    private = desk.create("group", name="Management", is_private=1)
    with pytest.raises(Forbidden):
        desk.compose(by=desk.olga, group_id=private, dont_send="1")
    assert desk.all("ticket") == []
    assert desk.compose(group_id=private, dont_send="1")[0] == "ticket"


def test_composing_requires_the_privilege(desk: Post) -> None:
    [role] = desk.all("role")
    desk.update("role", role["id"], privs_mode="itemized", privs=[])
    with pytest.raises(Forbidden):
        desk.compose(by=desk.olga, dont_send="1")


def test_the_mask_is_in_the_sent_subject_but_not_in_the_stored_one(desk: Post, smtp: SmtpServer) -> None:
    desk.set(subject_mask=True, subject_prefix="Depot")
    _, id = desk.compose(subject="Schiff für Ann")
    ticket = desk.ticket(id)
    assert taken(smtp)[2]["Subject"] == f"[Depot #{ticket['mask']}] Schiff für Ann"
    assert ticket["subject"] == "Schiff für Ann"


def test_the_sender_is_that_of_bucket_then_group_then_service(desk: Post, smtp: SmtpServer) -> None:
    transport = desk.one("address", id=desk.sender)["mail_transport_id"]
    group = desk.create("address", email="group@desk.example", mail_transport_id=transport)
    bucket = desk.create("address", email="bucket@desk.example", mail_transport_id=transport)
    desk.update("group", desk.support, reply_address_id=group, reply_personal="{{first_name}} at\nDepot")
    desk.compose()
    assert taken(smtp)[2]["From"] == "Nora at Depot <group@desk.example>"
    desk.update("bucket", desk.inbox, reply_address_id=bucket, reply_personal="Zoë {{worker_last_name}}")
    desk.compose()
    sender, _, mail = taken(smtp)
    assert sender == "bucket@desk.example" and mail["From"].addresses[0].display_name == "Zoë Berg"


def test_without_a_sender_nothing_is_composed(desk: Post) -> None:
    desk.put_setting("default_sender_id", 0)
    desk.write(lambda writing: writing.set("group", desk.support, {"reply_address_id": 0}))
    with pytest.raises(Invalid, match="no sender address is configured"):
        desk.compose()
    assert desk.all("ticket") == []
