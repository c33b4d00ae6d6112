"""Mail in the console: transports are created and tried, senders set, mailboxes read, the outbox emptied."""

import base64
import html
import re
import smtplib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from server.jobs.job_queue import JOB
from server.mailroom.mailboxes import dead_letters
from tests.console.browser import Browser
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, loaded, place, text_of, value
from tests.mail_servers import LOGIN, ImapServer, Pop3Server
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.smtp_server import SmtpServer

TRANSPORTS, MAILBOXES, OUTBOX = "/admin/mail/transports", "/admin/mail/mailboxes", "/admin/mail/outbox"
FAILED, LISTENER = "/admin/mail/failed", "/admin/mail/listener"
SMTP = "core.mail.transport.smtp"
PASSWORD = "hunter2-of-the-mail-server"


@pytest.fixture(scope="module", autouse=True)
def empty_outbox(nora: Api) -> None:
    """Removes what other tests of the console left in the outbox."""
    for id in nora.found("draft", "is.queued:yes"):
        nora.remove("draft", id).ok()


@pytest.fixture(scope="module")
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as started:
        yield started


def form(smtp: SmtpServer, **changes: str) -> dict[str, str]:
    return {
        "name": "Provider", "extension_id": SMTP, "host": smtp.host, "port": str(smtp.port), "encryption": "none",
        "verify": "1", **changes,
    }  # fmt: skip


def made(signed_in: Visitor, smtp: SmtpServer, **changes: str) -> str:
    """Creates a transport; returns its path."""
    response = signed_in.send(f"{TRANSPORTS}/new", form(smtp, **changes))
    assert response.status_code == 303, response.text
    return place(response)


def waiting(nora: Api, subject: str, to: str = "ana@customer.example") -> int:
    """Puts a mail into the outbox; returns its id."""
    params = {"to": to, "subject": subject, "content": f"Text of {subject}"}
    made = nora.create("draft", type="mail.transactional", name=subject, to=to, params=params, is_queued=1).ok()
    return int(made["id"])


def test_a_transport_is_created_tried_and_removed(signed_in: Visitor, nora: Api, smtp: SmtpServer) -> None:
    path = made(signed_in, smtp, name=HOSTILE)
    page = signed_in.get(path)
    assert "<script>alert" not in page.text and HOSTILE in html.unescape(page.text)
    assert value(page.text, "recipient") == "nora@desk.example"
    response = signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path)
    assert (response.status_code, place(response)) == (303, path)
    # Notifications of other tests may leave through it, too.
    sender, recipients, raw = next(each for each in iter(smtp.take, None) if "ana@customer.example" in each[1])
    assert (sender, recipients) == ("support@localhost", ("ana@customer.example",)) and b"To: ana@customer" in raw
    assert "accepted the email from support@localhost to ana@customer.example" in text_of(signed_in.get(path).text)
    assert place(signed_in.send(f"{path}/delete", {}, page=path)) == "/admin/mail"
    assert signed_in.get(path).status_code == 404


def test_messages_of_the_mail_server_are_shown(signed_in: Visitor, nora: Api) -> None:
    with SmtpServer(refused={"ana@customer.example": "550 5.1.1 <b>nobody</b> of that name"}) as smtp:
        path = made(signed_in, smtp)
        response = signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path)
        assert response.status_code == 422 and "550 5.1.1 <b>nobody</b> of that name" in text_of(response.text)
        assert "<b>nobody</b>" not in response.text
        response = signed_in.send(f"{path}/test", {"recipient": "no address"}, page=path)
        assert response.status_code == 422 and "'no address' is not an email address" in text_of(response.text)
        assert value(response.text, "recipient") == "no address"
    response = signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path)
    assert response.status_code == 422 and "No mail server at 127.0.0.1" in text_of(response.text)
    signed_in.send(f"{path}/delete", {}, page=path)


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_token_replaces_a_password(signed_in: Visitor, nora: Api) -> None:
    service = nora.create("connected_service", name="Mail", extension_id="svc.service.provider.token.bearer").ok()["id"]
    account = nora.create(
        "connected_account", name="Mail of the desk", service_id=service, params={"token": "t0ken"},
        owner__context="svc.contexts.app", owner_id=0,
    ).ok()["id"]  # fmt: skip
    with SmtpServer(token="t0ken") as smtp:
        path = made(signed_in, smtp, username="desk", connected_account=str(account))
        assert f'<option value="{account}" selected>Mail of the desk' in signed_in.get(path).text
        assert signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path).status_code == 303
        smtp.token = "another"
        response = signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path)
        assert response.status_code == 422 and "rejected the token" in text_of(response.text)
        assert "t0ken" not in response.text and "> AUTH XOAUTH2 (left out)" in html.unescape(response.text)
        signed_in.send(f"{path}/delete", {}, page=path)


def test_a_password_is_stored_and_never_shown(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    with SmtpServer(login=("desk", PASSWORD)) as smtp:
        path = made(signed_in, smtp, username="desk", password=PASSWORD)
        for shown in (path, "/admin/mail", "/admin/system/audit"):
            assert PASSWORD not in signed_in.get(shown).text
        # A blank password stays, and is sent to this server only.
        assert signed_in.send(path, form(smtp, username="desk", name="Renamed")).status_code == 303
        assert signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path).status_code == 303
        id = int(path.rpartition("/")[2])
        assert desk.row("mail_transport", id)["params"]["password"] == PASSWORD
        assert signed_in.send(path, form(smtp, username="desk", host="localhost")).status_code == 303
        assert "password" not in desk.row("mail_transport", id)["params"]
        signed_in.send(f"{path}/delete", {}, page=path)


@pytest.mark.parametrize(("changes", "field", "words"), [
    ({"name": ""}, "name", "name"),
    ({"host": ""}, "host", "host is missing"),
    ({"host": "not a host"}, "host", "not a host name"),
    ({"port": "99999"}, "port", "from 1 to 65535"),
    ({"encryption": "rot13"}, "encryption", "not an encryption"),
    ({"password": PASSWORD}, "username", "needs a username"),
    ({"timeout": "301"}, "timeout", "from 1 to 300"),
    ({"connected_account": "7"}, "username", "a connected account needs a username and no password"),
    ({"extension_id": "core.mail.transport.pigeon"}, "extension_id", "not a mail transport"),
])  # fmt: skip
def test_mistakes_of_a_transport_are_shown_at_their_field(
    changes: dict[str, str], field: str, words: str, signed_in: Visitor, smtp: SmtpServer
) -> None:
    response = signed_in.send(f"{TRANSPORTS}/new", form(smtp, **changes))
    assert response.status_code == 422 and words in text_of(response.text).lower()
    assert f'<a href="#{field}">' in response.text and f'id="{field}-error"' in response.text
    assert PASSWORD not in response.text
    if changes.get("name", "Provider"):
        assert value(response.text, "name") == "Provider"


def test_a_sender_is_set_and_waiting_mail_is_sent(signed_in: Visitor, nora: Api, smtp: SmtpServer) -> None:
    signed_in.send("/admin/mail/default", {"transport": "0"}, page="/admin/mail")  # else the first is
    id = waiting(nora, "Waits for a transport")
    loaded(signed_in, f"{OUTBOX}?state=parked", "Waits for a transport")
    path = made(signed_in, smtp)
    transport = path.rpartition("/")[2]
    smtp.forget()
    response = signed_in.send("/admin/mail/senders", {"email": "Desk@Desk.Example ", "transport": transport,
                                                     "is_default": "1"}, page="/admin/mail")  # fmt: skip
    assert response.status_code == 303, text_of(response.text)
    page = text_of(signed_in.get("/admin/mail").text)
    assert "Email can be sent from Desk@Desk.Example" in page and "desk@desk.example" in page
    other = waiting(nora, "Comes from the new one")
    assert smtp.take()[0] == "desk@desk.example"
    assert place(signed_in.send("/admin/mail/default", {"transport": transport}, page="/admin/mail")) == "/admin/mail"
    smtp.take()
    loaded(signed_in, OUTBOX, "The outbox is empty")
    assert signed_in.get(f"{OUTBOX}/{id}").status_code == signed_in.get(f"{OUTBOX}/{other}").status_code == 404
    signed_in.send("/admin/mail/default", {"transport": "0"}, page="/admin/mail")
    address = nora.found("address", "email:desk@desk.example")[0]
    signed_in.send(f"/admin/mail/senders/{address}/remove", {}, page="/admin/mail")
    assert nora.record("address", address).ok()["mail_transport_id"] == 0
    undo = {"email": "desk@desk.example", "transport": transport}  # fields that the message carries
    assert f'name="transport" value="{transport}"' in signed_in.get("/admin/mail").text
    signed_in.send("/admin/mail/senders", undo, page="/admin/mail")
    assert str(nora.record("address", address).ok()["mail_transport_id"]) == str(transport)
    signed_in.send(f"/admin/mail/senders/{address}/remove", {}, page="/admin/mail")
    default = {"email": "support@localhost", "transport": "0", "is_default": "1"}  # restores what other tests expect
    signed_in.send("/admin/mail/senders", default, page="/admin/mail")
    signed_in.send(f"{path}/delete", {}, page=path)


@pytest.mark.parametrize(("sent", "words"), [
    ({"email": "nobody", "transport": "0", "is_default": "1"}, "'nobody' is not an email address"),
    ({"email": "a@b.example", "transport": "0"}, "choose a mail transport"),
    ({"email": "a@b.example", "transport": "999999"}, "no mail transport 999999"),
    ({"email": HOSTILE, "transport": "0", "is_default": "1"}, "is not an email address"),
])  # fmt: skip
def test_mistakes_of_a_sender_are_reported(sent: dict[str, str], words: str, signed_in: Visitor, nora: Api) -> None:
    response = signed_in.send("/admin/mail/senders", sent, page="/admin/mail")
    assert response.status_code == 422 and words.lower() in text_of(response.text).lower()
    assert "<script>alert" not in response.text


def test_mail_that_a_server_refused_is_sent_again_and_dropped(
    signed_in: Visitor, nora: Api, desk: Desk, smtp: SmtpServer
) -> None:
    path = made(signed_in, smtp)
    transport = path.rpartition("/")[2]
    smtp.refused["gone@customer.example"] = f"550 {HOSTILE}"
    try:
        signed_in.send("/admin/mail/default", {"transport": transport}, page="/admin/mail")
        again, dropped = (waiting(nora, f"Refused {each}", "gone@customer.example") for each in (1, HOSTILE))
        loaded(signed_in, f"{OUTBOX}?state=failed", "Refused 1")
        loaded(signed_in, f"{OUTBOX}?state=failed", f"Refused {HOSTILE}")
        page = signed_in.get(f"{OUTBOX}/{dropped}")
        assert "<script>alert" not in page.text and "Text of Refused" in page.text
        assert "550" in text_of(page.text) and "given up" in text_of(page.text)
        response = signed_in.send(f"{OUTBOX}/{dropped}/drop", {}, page=f"{OUTBOX}/{dropped}")
        assert place(response) == OUTBOX and "dropped. It will not be sent" in text_of(signed_in.get(OUTBOX).text)
        assert nora.record("draft", dropped).status == 404
        smtp.refused.clear()
        smtp.forget()
        signed_in.send(f"{OUTBOX}/{again}/send", {}, page=f"{OUTBOX}/{again}")
        assert smtp.take()[1] == ("gone@customer.example",)
        loaded(signed_in, OUTBOX, "The outbox is empty")
        signed_in.send(f"{OUTBOX}/{again}/send", {}, page="/admin/mail")
        assert "was sent or dropped" in text_of(signed_in.get(OUTBOX).text)
    finally:
        smtp.refused.clear()
        signed_in.send("/admin/mail/default", {"transport": "0"}, page="/admin/mail")
        signed_in.send(f"{path}/delete", {}, page=path)


def test_an_unfinished_draft_is_not_in_the_outbox(signed_in: Visitor, nora: Api) -> None:
    draft = nora.create("draft", type="mail.compose", name="Still written", worker_id=nora.ids["nora"]).ok()["id"]
    assert "Still written" not in signed_in.get(OUTBOX).text
    for path in ("send", "drop"):
        signed_in.send(f"{OUTBOX}/{draft}/{path}", {}, page="/admin/mail")
        assert "no longer in the outbox" in text_of(signed_in.get(OUTBOX).text)
    assert nora.record("draft", draft).ok()["name"] == "Still written"
    assert signed_in.get(f"{OUTBOX}?state=lost").status_code == 422


def test_a_mailbox_is_created_read_and_removed(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    sent = {"name": HOSTILE, "protocol": "imap", "host": "127.0.0.1", "port": "9", "username": "desk",
            "password": PASSWORD, "is_enabled": "1", "folder": "INBOX"}  # fmt: skip
    response = signed_in.send(f"{MAILBOXES}/new", sent)
    assert response.status_code == 303, text_of(response.text)
    path = place(response)
    page = loaded(signed_in, path, "The last check failed")
    assert "no mail server at 127.0.0.1" in page and PASSWORD not in signed_in.get(path).text
    id = int(path.rpartition("/")[2])
    page = text_of(signed_in.get("/admin/mail").text)
    assert "1 failing" in page and "failed once" in page and "since just now" in page
    response = signed_in.send(f"{path}/check", {}, page="/admin/mail")
    assert response.status_code == 422 and "No mail server at 127.0.0.1" in text_of(response.text)
    # With the box unticked the mailbox is off, and cannot be read.
    off = {name: text for name, text in sent.items() if name not in ("is_enabled", "password")}
    assert signed_in.send(path, off | {"name": "Off"}).status_code == 303
    assert desk.row("mailbox", id)["password"] == PASSWORD and not desk.row("mailbox", id)["is_enabled"]
    signed_in.send(f"{path}/check", {}, page="/admin/mail")
    assert "is switched off" in text_of(signed_in.get("/admin/mail").text)
    response = signed_in.send(path, off | {"host": "elsewhere.example"})
    assert response.status_code == 422 and 'href="#password"' in response.text
    signed_in.send(f"{path}/delete", {}, page=path)
    assert signed_in.get(path).status_code == 404
    assert desk.read(lambda tx: tx.first(JOB, unique_key=f"mailbox.check:{id}")) is None


@pytest.mark.parametrize(("kind", "heard", "wrong"), [
    (ImapServer, "< * OK", "LOGIN (left out)"), (Pop3Server, "< +OK", "PASS (left out)"),
])  # fmt: skip
def test_a_refused_login_is_reported_without_the_password(
    kind: type[ImapServer] | type[Pop3Server], heard: str, wrong: str, signed_in: Visitor
) -> None:
    with kind() as server:
        server.put(b"From: ann@kite.example\nSubject: Fetched by " + wrong[:4].encode() + b"\n\nHello")
        fields = {"name": "Box", "protocol": "imap" if kind is ImapServer else "pop3", "host": server.host,
                  "port": str(server.port), "username": LOGIN[0], "password": PASSWORD, "folder": "INBOX",
                  "is_enabled": "1"}  # fmt: skip
        path = place(signed_in.send(f"{MAILBOXES}/new", fields))
        response = signed_in.send(f"{path}/check", {}, page=path)
        text = text_of(response.text)
        assert response.status_code == 422 and "rejected" in text and PASSWORD not in response.text
        assert heard in text and wrong in text and LOGIN[1] not in text
        assert signed_in.send(path, fields | {"password": LOGIN[1]}).status_code == 303
        assert place(signed_in.send(f"{path}/check", {}, page=path)) == "/admin/mail"
        assert server.emptied.wait(30)
        page = loaded(signed_in, path, "Last arrived just now")
        assert "Next check in" in page
        signed_in.send(f"{path}/delete", {}, page=path)


def test_the_dialogue_with_a_mail_server_is_shown(signed_in: Visitor, nora: Api) -> None:
    with SmtpServer(login=("desk", PASSWORD)) as smtp:
        path = made(signed_in, smtp, username="desk", password="another password")
        response = signed_in.send(f"{path}/test", {"recipient": "ana@customer.example"}, page=path)
        text = text_of(response.text)
        assert response.status_code == 422 and "rejected the user name and password" in text
        assert "> ehlo" in text.lower() and "< 535" in text and "> AUTH" in text and "(left out)" in text
        secret = base64.b64encode(b"\0desk\0another password").decode()
        assert "another password" not in response.text and secret not in response.text
        signed_in.send(f"{path}/delete", {}, page=path)


def test_unaccepted_mail_is_read_retried_and_discarded(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    assert "No failed email" in text_of(signed_in.get(FAILED).text)
    settings, raw = desk.service.settings, f"Subject: =?utf-8?q?Br=C3=B6ken?=\n\n{HOSTILE}".encode()
    dead_letters.keep(settings, f"mailbox-1-{HOSTILE}", raw, f"the email has no sender {HOSTILE}")
    page = signed_in.get(FAILED)
    shown = text_of(page.text)
    assert "Failed (1)" in shown and "has no sender" in shown and "<script>alert" not in page.text
    (key,) = set(re.findall(rf"{FAILED}/([0-9a-f]{{24}})\"", page.text))
    path = f"{FAILED}/{key}"
    page = signed_in.get(path)
    assert "Bröken" in page.text and "<script>alert" not in page.text and HOSTILE in html.unescape(page.text)
    source = signed_in.get(f"{path}/source")
    assert source.content == raw and source.headers["Content-Type"] == "message/rfc822"
    assert source.headers["Content-Disposition"].startswith("attachment")
    assert place(signed_in.send(f"{path}/take", {}, page=path)) == path
    assert "The email could not be processed: the email has no sender" in text_of(signed_in.get(path).text)
    dead_letters.keep(settings, f"mailbox-1-{HOSTILE}", b"From: ann@kite.example\nSubject: Mended\n\nHello")
    assert place(signed_in.send(f"{path}/take", {}, page=path)) == FAILED
    assert "The email is now on ticket" in text_of(signed_in.get(FAILED).text) and nora.found(
        "ticket", "subject:Mended"
    )
    dead_letters.keep(settings, "another", raw)
    (key,) = set(re.findall(rf"{FAILED}/([0-9a-f]{{24}})\"", signed_in.get(FAILED).text))
    signed_in.send(f"{FAILED}/{key}/discard", {}, page=FAILED)
    assert "another.eml discarded" in text_of(signed_in.get(FAILED).text)
    for action in ("take", "discard"):
        signed_in.send(f"{FAILED}/{key}/{action}", {}, page=FAILED)
        assert "no longer stored" in text_of(signed_in.get(FAILED).text)
    assert signed_in.get(f"{FAILED}/{key}").status_code == 404
    assert list((settings.data / dead_letters.FOLDER).iterdir()) == []


def test_the_listener_is_switched_on_the_page(signed_in: Visitor, nora: Api) -> None:
    assert "Switch on" in text_of(signed_in.get("/admin/mail").text)
    form = {"on": "1", "lmtp_host": "127.0.0.1", "lmtp_port": "0", "lmtp_protocol": "lmtp", "lmtp_domains": ""}
    for changes, field in (({"lmtp_port": "many"}, "lmtp_port"), ({"lmtp_host": " "}, "lmtp_host"),
                           ({"lmtp_protocol": "uucp"}, "lmtp_protocol")):  # fmt: skip
        response = signed_in.send(LISTENER, form | changes)
        assert response.status_code == 422 and f'<a href="#{field}">' in response.text, response.text
    with socket.create_server(("127.0.0.1", 0)) as other:
        response = signed_in.send(LISTENER, form | {"lmtp_port": str(other.getsockname()[1])})
        assert response.status_code == 422 and "cannot be listened for" in text_of(response.text)
    assert signed_in.send(LISTENER, form).status_code == 303
    page = text_of(signed_in.get("/admin/mail").text)
    assert "Listens on" in page and "Change" in page
    port = int(re.search(r"lmtp://127\.0\.0\.1:(\d+)", page)[1])  # type: ignore[index]
    with smtplib.LMTP("127.0.0.1", port, timeout=30) as client:
        client.sendmail("ann@kite.example", ["help@desk.example"], b"From: ann@kite.example\nSubject: Handed\n\nHello")
    assert nora.found("ticket", "subject:Handed") and "1 since the start" in text_of(signed_in.get("/admin/mail").text)
    assert "console" in text_of(signed_in.get("/admin/system/settings?q=lmtp_host").text)
    assert signed_in.send(LISTENER, form | {"on": "0"}).status_code == 303
    with pytest.raises(ConnectionRefusedError):
        smtplib.LMTP("127.0.0.1", port, timeout=30)


@pytest.mark.parametrize(("changes", "field"), [
    ({"name": ""}, "name"), ({"host": "a b"}, "host"), ({"port": "0"}, "port"), ({"protocol": "uucp"}, "protocol"),
    ({"timeout_secs": "many"}, "timeout_secs"), ({"connected_account_id": "999999"}, "connected_account_id"),
])  # fmt: skip
def test_mailbox_mistakes_are_shown_at_their_field(changes: dict[str, str], field: str, signed_in: Visitor) -> None:
    sent = {"name": "Box", "protocol": "imap", "host": "127.0.0.1", "port": "9", "username": "desk", **changes}
    response = signed_in.send(f"{MAILBOXES}/new", sent)
    assert response.status_code == 422 and f'<a href="#{field}">' in response.text


def test_milo_cannot_change_mail_settings(visitor: Visitor, nora: Api) -> None:
    assert visitor.sign_in("milo@desk.example").status_code == 303
    for path in ("/admin/mail", f"{TRANSPORTS}/new", f"{MAILBOXES}/new", OUTBOX, FAILED, LISTENER, f"{FAILED}/x"):
        assert visitor.get(path).status_code == 403
    draft = waiting(nora, "Not for milo")
    for path, sent in _FORMS.items():
        response = visitor.send(path.format(draft=draft), sent, page="/account")
        assert response.status_code == 403, path
    assert nora.record("draft", draft).ok()["name"] == "Not for milo"
    nora.remove("draft", draft).ok()


_FORMS: dict[str, dict[str, Any]] = {
    "/admin/mail/senders": {"email": "evil@desk.example", "transport": "0", "is_default": "1"},
    "/admin/mail/default": {"transport": "0"}, f"{TRANSPORTS}/new": {"name": "x", "extension_id": SMTP},
    LISTENER: {"on": "1", "lmtp_host": "0.0.0.0"}, f"{FAILED}/x/take": {}, f"{FAILED}/x/discard": {},
    f"{OUTBOX}/{{draft}}/send": {}, f"{OUTBOX}/{{draft}}/drop": {},
}  # fmt: skip


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_transport_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor, smtp: SmtpServer) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto(f"{TRANSPORTS}/new")
        page.locator("#name").focus()
        page.keyboard.type("By keyboard")
        for text in ("", "", "none", "not a port"):  # kind, host, encryption, port
            page.keyboard.press("Tab")
            page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(page.locator("#summary")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#host")).to_be_focused()
        page.keyboard.type(smtp.host)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type(str(smtp.port))
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/admin/mail/transports/\d+"))
        smtp.forget()
        page.locator("#recipient").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("By keyboard accepted the email from")).to_be_visible()
        assert smtp.take()[1] == ("nora@desk.example",)
        page.get_by_role("button", name="Delete").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("Delete By keyboard?")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/mail")


def test_dns_records_of_mail_domains_are_shown(signed_in: Visitor, nora: Api) -> None:
    group = nora.create("group", name=HOSTILE).ok()["id"]
    other, shared = (nora.upsert("address", f"email:{each}", email=each).ok()["id"] for each in
                     ("orders@desk.example", "shared@desk.example"))  # fmt: skip
    transport = nora.create("mail_transport", name="Routes", extension_id="core.mail.transport.null").ok()["id"]
    for each in (other, shared):
        nora.update("address", each, mail_transport_id=transport).ok()
    bucket = nora.create("bucket", name="Routed", group_id=group, replyto_id=other).ok()["id"]
    late = nora.create("group", name="Later", replyto_id=shared).ok()["id"]
    nora.update("group", group, replyto_id=shared).ok()
    page = signed_in.get("/admin/mail").text
    rows = re.findall("<tr>.*?</tr>", page.partition('id="routing"')[2].partition("</table>")[0], re.DOTALL)
    told = {re.sub("<[^>]*>", "", row.partition("</td>")[0]): html.unescape(row.partition("</td>")[2]) for row in rows}
    assert f"/admin/people/buckets/{bucket}" in told["orders@desk.example"]
    assert f"/admin/people/groups/{group}" in told["shared@desk.example"], "the one made first takes it"
    assert "default group" in told["Any other address"] and HOSTILE not in page
    for to, name, id in (("orders@desk.example", "bucket_id", bucket), ("shared@desk.example", "group_id", group)):
        made = nora.parse(f"From: ana@customer.example\nTo: {to}\nSubject: Routed\n\nHi.\n").ok()["id"]
        assert nora.record("ticket", made).ok()[name] == id, to
    shown = signed_in.get("/admin/mail/dns").text  # sends no query before the button is pressed
    assert "<code>desk.example</code>" in shown and "Check now" in shown and "SPF" not in shown.partition("<main")[2]
    for uri, id in (("group", late), ("group", group), ("mail_transport", transport)):
        nora.remove(uri, id).ok()


def test_many_transports_are_shown_page_by_page(signed_in: Visitor, nora: Api) -> None:
    made = [nora.create("mail_transport", name=f"Way {number:02}", extension_id="core.mail.transport.null").ok()["id"]
            for number in range(27)]  # fmt: skip
    pages = [signed_in.get(f"/admin/mail?out={page}").text for page in (1, 2)]
    listed = [{each for each in made if f'href="/admin/mail/transports/{each}"' in page} for page in pages]
    assert listed[0] | listed[1] == set(made) and not listed[0] & listed[1]
    assert "/admin/mail?out=2#out" in pages[0]
    for each in made:
        nora.remove("mail_transport", each).ok()
