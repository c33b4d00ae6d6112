"""Setting up in the console: the steps of the setup link, what is tried first, and the whole path to a script's
token."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, expect

from server.first_start import demo
from tests import databases
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place, text_of, value
from tests.mail_servers import LOGIN, Pop3Server
from tests.service import PASSWORD, Api, Server, command
from tests.smtp_server import SmtpServer
from tests.telling import WALK

PERSON = {"first_name": "Nora", "last_name": "Berg", "email": "nora@desk.example", "timezone": "Europe/Berlin"}
SETTINGS = "/admin/system/settings"
MOST_TABS = 80  # Tab presses to reach any control of a page
PASSWORDS = {"password": PASSWORD, "password_again": PASSWORD}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("setup") / "data")
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Visitor:
    """Nora, in the session in which she became the administrator."""
    visitor = Visitor(server.url)
    response = visitor.post(server.setup_link.removeprefix(server.url), PERSON | PASSWORDS)
    assert (response.status_code, place(response)) == (303, "/setup/address")
    return visitor


@pytest.fixture(scope="module")
def api(server: Server, nora: Visitor) -> Api:
    made = command("token", "create", "--worker", "nora@desk.example", data=server.data)
    return Api(server.url, made.stdout.decode().strip())


def steps_of(nora: Visitor, path: str) -> list[str]:
    """Returns the steps that a page lists; completed ones are marked."""
    listed = re.findall(r"<li[^>]*>(.*?)</li>", nora.get(path).text.partition('class="steps"')[2].partition("</ol>")[0])
    return [re.sub(r"<[^>]*>", "", each) for each in listed]


def test_the_steps_can_be_left_and_resumed(server: Server, nora: Visitor) -> None:
    assert place(nora.get("/setup")) == "/setup/address" and nora.is_in
    assert steps_of(nora, "/setup/mail") == ["✓ You (done)", "Address", "Mail", "Incoming email", "Start"]
    assert "Setup is not finished" in text_of(nora.get("/").text)
    assert Visitor(server.url).get("/setup").headers["Location"].startswith("/login")
    response = nora.send("/setup/skip", {"step": "you"}, page="/setup/mail")
    assert response.status_code == 422 and "is not a step" in text_of(response.text)


@pytest.mark.parametrize(("changes", "field", "words"), [
    ({"base_url": "desk.example"}, "base_url", "https://desk.example"),
    ({"base_url": ""}, "base_url", "enter the address"),
    ({"base_url": "https://desk.example"}, "base_url", "your browser is at"),
    ({"sender": "nobody"}, "sender", "not an email address"),
    ({"mail_mask_pattern": "{TICKET}"}, "mail_mask_pattern", "add L, N or C"),
    ({"mail_mask_pattern": "{LLL"}, "mail_mask_pattern", "brace"),
])  # fmt: skip
def test_mistakes_of_the_address_are_shown_at_their_field(
    changes: dict[str, str], field: str, words: str, server: Server, nora: Visitor
) -> None:
    form = {"base_url": server.url, "sender": "help@desk.example", "mail_mask_pattern": "LLL-NNNN"} | changes
    response = nora.send("/setup/address", form)
    assert response.status_code == 422 and words.lower() in text_of(response.text).lower()
    assert f'<a href="#{field}">' in response.text
    assert [value(response.text, name) for name in form] == list(form.values())
    assert (value(nora.get("/setup/address").text, "sender"), "Address") == (
        "support@localhost",
        steps_of(nora, "/setup/mail")[1],
    )


def test_the_address_applies_at_once(server: Server, nora: Visitor, api: Api) -> None:
    form = {"base_url": "http://localhost:1/", "sender": "help@desk.example", "mail_mask_pattern": "LLL-NNNN"}
    assert place(nora.send("/setup/address", form | {"anyway": "1"})) == "/setup/mail"
    assert steps_of(nora, "/setup/start")[1] == "✓ Address (done)"
    assert api.get("/openapi.json").json["servers"] == [{"url": "http://localhost:1"}]
    assert api.get("/.well-known/oauth-authorization-server").json["issuer"] == "http://localhost:1"
    (app,) = api.search("oauth_app", "", expand="callback_url").ok()["results"]
    assert app["callback_url"] == "http://localhost:1/oauth/callback"
    for url in ("http://desk.lan", "http://localhost:1"):
        assert place(nora.send("/setup/address", form | {"base_url": url, "anyway": "1"})) == "/setup/mail", url
        (app,) = api.search("oauth_app", "", expand="callback_url").ok()["results"]
        assert app["callback_url"] == ("" if url == "http://desk.lan" else url) + "/oauth/callback"
    mask = api.parse("From: ana@larch.example\nSubject: first\n\nHello").ok()["mask"]
    assert re.fullmatch(r"[A-Z]{3}-\d{4}", mask)
    assert api.found("address", "email:help@desk.example")
    row = nora.get("/admin/system/settings?q=mail_mask_pattern").text
    assert "<code>console</code>" in row and "LLL-NNNN" in row
    assert place(nora.send("/setup/address", form | {"base_url": server.url})) == "/setup/mail"
    # It follows from host and port, so it is not stored: another port is another address.
    assert "<code>console</code>" not in nora.get("/admin/system/settings?q=base_url").text


def test_a_mail_server_is_tried_before_it_is_stored(nora: Visitor, api: Api) -> None:
    with SmtpServer(refused={"ana@customer.example": "550 5.1.1 nobody of that name"}) as smtp:
        form = {"host": smtp.host, "port": str(smtp.port), "encryption": "none", "recipient": "ana@customer.example"}
        response = nora.send("/setup/mail", form)
        assert response.status_code == 422 and "550 5.1.1 nobody of that name" in text_of(response.text)
        assert "> rcpt TO:<ana@customer.example>" in text_of(response.text) and "Save without testing" in text_of(
            response.text
        )
        response = nora.send("/setup/mail", form | {"host": "not a host"})
        assert response.status_code == 422 and '<a href="#host">' in response.text
        assert api.search("mail_transport", "").ok()["total"] == 0
        assert place(nora.send("/setup/mail", form | {"recipient": "nora@desk.example"})) == "/setup/receive"
        sender, recipients, _ = smtp.take()
        assert (sender, recipients) == ("help@desk.example", ("nora@desk.example",))
        assert place(nora.send("/setup/mail", form | {"host": "mail.example", "anyway": "1"})) == "/setup/receive"
    names = [each["name"] for each in api.search("mail_transport", "sort:id").ok()["results"]]
    assert names == ["127.0.0.1", "mail.example"]
    assert nora.get("/admin/mail").text.count("No default") == 1


def test_a_mailbox_is_opened_before_it_is_stored(nora: Visitor, api: Api) -> None:
    if value(nora.get("/setup/address").text, "sender") == "support@localhost":
        assert value(nora.get("/setup/receive").text, "username") == ""  # not the name of an existing mailbox
        sender = {"email": "help@desk.example", "transport": "0", "is_default": "1"}
        nora.send("/admin/mail/senders", sender, page="/admin/mail")
    page = nora.get("/setup/receive").text
    assert value(page, "username") == "help@desk.example" and "hand over email" in text_of(page)
    with Pop3Server() as box:
        form = {"protocol": "pop3", "host": box.host, "port": str(box.port), "username": LOGIN[0],
                "password": "wrong", "is_mail_kept": "1"}  # fmt: skip
        response = nora.send("/setup/receive", form)
        assert response.status_code == 422 and "rejected this user name and password" in text_of(response.text)
        assert "Save without testing" in text_of(response.text) and "> USER" in text_of(response.text).upper()
        for change, field in (({"port": "many"}, "port"), ({"host": ""}, "host"), ({"username": ""}, "username")):
            response = nora.send("/setup/receive", form | change)
            assert response.status_code == 422 and f'<a href="#{field}">' in response.text
        assert api.search("mailbox", "").ok()["total"] == 0
        box.put(b"From: ana@larch.example\nSubject: By the mailbox\n\nHello\n")
        assert nora.send("/setup/receive", form | {"password": LOGIN[1]}).status_code == 303
        for _ in range(20_000):
            if api.search("ticket", 'subject:"By the mailbox"').ok()["total"]:
                break
        (stored,) = api.search("mailbox", "").ok()["results"]
        assert (stored["host"], stored["is_mail_kept"], len(box.mails)) == (box.host, 1, 1)
    untried = form | {"host": "pop.kite.example", "port": "", "anyway": "1"}
    assert nora.send("/setup/receive", untried).status_code == 303
    for each in api.search("mailbox", "sort:id").ok()["results"]:
        api.delete(f"/rest/records/mailbox/{each['id']}.json").ok()


@WALK
def test_demo_data_is_loaded_and_removed(nora: Visitor, api: Api) -> None:
    uris = (
        "draft",
        "calendar",
        "service_target",
        "ticket",
        "org",
        "address",
        "message",
        "worker",
        "group",
        "contact",
        "task",
        "snippet",
        "activity_log",
    )
    for step in ("address", "mail", "receive"):
        assert nora.send("/setup/skip", {"step": step}, page="/setup/mail").status_code == 303
    before = {uri: api.search(uri, "").ok()["total"] for uri in uris}
    assert place(nora.send("/setup/demo", {}, page="/setup/start")) == "/"
    assert api.search("ticket", "").ok()["total"] == before["ticket"] + demo.TICKETS
    assert {api.search("ticket", f"status:{status}").ok()["total"] > 2 for status in ("open", "waiting", "closed")} == {
        True
    }
    assert api.search("draft", "is.queued:yes").ok()["total"] == 0  # nothing may be sent
    assert nora.send("/setup/demo", {}, page="/setup/start").status_code == 409
    page = nora.get("/")
    assert "Remove demo data" in page.text and "Setup is not finished" not in page.text
    nora.send("/setup/demo/remove", {}, page="/")
    after = {uri: api.search(uri, "").ok()["total"] for uri in before}
    assert after == before | {"activity_log": before["activity_log"] + 2}  # entries for loading and removing it
    assert "Remove demo data" not in nora.get("/").text.partition('id="toasts"')[0]


def test_the_list_of_things_to_try_ticks_itself_off(nora: Visitor, api: Api) -> None:
    def done() -> list[str]:
        listed = re.findall(r'<span class="mark( done)?".*?<div>(.*?)</div>', nora.get("/").text, re.DOTALL)
        return [re.sub(r"<[^>]*>.*", "", re.sub(r"^<[^>]*>", "", text)) for is_done, text in listed if is_done]

    api.parse("From: ana@larch.example\nSubject: no demo\n\nHello").ok()
    backups = ["Set up backups"] if databases.is_postgresql() else []  # a task of the operators on PostgreSQL
    assert done() == ["Send yourself a test ticket", "Create a token", *backups]
    nora.send("/start/ticket", {}, page="/")
    (ticket,) = api.search("ticket", "subject:helpdesk", expand="requesters").ok()["results"]
    assert "nora@desk.example" in str(ticket)
    api.create("worker", first_name="Milo", email="milo@desk.example", language="en_US", timezone="UTC").ok()
    assert "Invite a worker" in done()
    nora.send("/start/away", {}, page="/")
    assert "Get started" not in nora.get("/").text
    nora.send("/start/back", {}, page="/")
    assert "Get started" in nora.get("/").text


@pytest.mark.parametrize(("name", "text", "words"), [
    ("mailbox_poll_seconds", "0", "from 1 to 86400"), ("mailbox_poll_seconds", "often", "whole number"),
    ("mail_mask_pattern", "{x}", "add L, N or C"),
])  # fmt: skip
def test_mistakes_of_a_setting_are_reported(name: str, text: str, words: str, nora: Visitor) -> None:
    response = nora.send(f"{SETTINGS}/{name}", {name: text})
    assert response.status_code == 422 and words in text_of(response.text) and value(response.text, name) == text


def test_settings_are_changed_at_run_time(nora: Visitor, api: Api) -> None:
    response = nora.send(f"{SETTINGS}/mail_mask_pattern", {"mail_mask_pattern": "{Z}NN-NNN"})
    assert place(response) == f"{SETTINGS}?q=mail_mask_pattern"
    assert re.fullmatch(r"Z\d\d-\d{3}", api.parse("From: ana@larch.example\nSubject: x\n\nHello").ok()["mask"])
    page = nora.get(place(response)).text
    assert "<code>console</code>" in page and 'name="mail_mask_pattern"' in page  # to reset it
    nora.send(f"{SETTINGS}/subject_mask", {"subject_mask": "1"})
    assert "checked" in nora.get(f"{SETTINGS}/subject_mask").text
    nora.send(f"{SETTINGS}/subject_mask", {})
    assert "<code>console</code>" not in nora.get(f"{SETTINGS}?q=subject_mask").text
    assert place(nora.get(f"{SETTINGS}/lmtp_port")) == "/admin/mail/listener"
    assert nora.get(f"{SETTINGS}/port").status_code == nora.get(f"{SETTINGS}/bogus").status_code == 404


def test_the_settings_show_when_mail_stalls(server: Server, nora: Visitor) -> None:
    assert "could not be processed" not in nora.get("/settings").text
    kept = server.data / "failed-mail" / "mailbox-1.eml"
    kept.parent.mkdir()
    kept.write_bytes(b"broken")
    told = text_of(nora.get("/settings").text)
    assert "some email could not be processed and is stored" in told[told.index("Mail ▲ : ") : told.index("Sender DNS")]
    nora.send("/admin/mail/failed/" + re.findall(r"/failed/([0-9a-f]{24})", nora.get("/admin/mail/failed").text)[0] +
              "/discard", {}, page="/admin/mail/failed")  # fmt: skip
    assert "could not be processed" not in nora.get("/settings").text


@WALK
def test_from_an_empty_folder_to_a_script_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    started = Server(tmp_path / "data", "--host", "0.0.0.0")
    granted = ["clipboard-read", "clipboard-write"]
    with chromium.page(started.url, permissions=granted, timezone_id="Europe/Zurich") as page:
        page.goto(started.setup_link)
        expect(page.get_by_label("First name")).to_be_focused()
        for text in ("Nora", "Berg", "nora@desk.example", PASSWORD, PASSWORD):
            page.keyboard.type(text)
            page.keyboard.press("Tab")
        expect(page.get_by_role("combobox", name="Time zone")).to_have_value("Europe/Zurich")
        page.keyboard.press("Enter")
        page.wait_for_url("**/setup/address")
        expect(page.get_by_role("note")).to_contain_text("Others on the network can read along")
        _go_to(page, "Replies come from")
        page.keyboard.press("Control+A")
        page.keyboard.type("help@desk.example")
        page.keyboard.press("Enter")
        page.wait_for_url("**/setup/mail")
        _go_to(page, "Keep email in the outbox")
        page.keyboard.press("Enter")
        page.wait_for_url("**/setup/receive")
        _go_to(page, "Continue without a mailbox")
        page.keyboard.press("Enter")
        page.wait_for_url("**/setup/start")
        _go_to(page, "Add demo data")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{started.url}/")
        expect(page.get_by_role("heading", name="Get started")).to_be_visible()
        _go_to(page, "Create a token")
        page.keyboard.press("Enter")
        page.wait_for_url("**/admin/tokens/new")
        _go_to(page, "Purpose")
        page.keyboard.type("first script")
        page.keyboard.press("Enter")
        _go_to(page, re.compile("^Copy.*access token", re.IGNORECASE))
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text(re.compile("cop", re.IGNORECASE))
        token = page.evaluate("navigator.clipboard.readText()")
        page.goto("/")
        expect(page.get_by_role("listitem").filter(has_text="Create a token")).to_contain_text("(done)")
    headers = {"Authorization": f"Bearer {token}"}
    me = requests.get(f"{started.url}/rest/workers/me.json", headers=headers, timeout=30)
    assert me.status_code == 200 and me.json()["full_name"] == "Nora Berg"
    _move_to_https(Visitor(started.url))
    started.stop()


def _move_to_https(visitor: Visitor) -> None:
    """Moves to https: the warning disappears, and the session cookie gets the name that requires https."""
    visitor.sign_in()
    assert "Others on the network can read along" in visitor.get("/help").text
    form = {"base_url": "https://desk.example", "sender": "help@desk.example", "mail_mask_pattern": "LLL-NNNN"}
    response = visitor.send("/setup/address", form | {"anyway": "1"})
    assert response.status_code == 303 and "__Host-sid=" in response.headers["Set-Cookie"]


def _go_to(page: Page, name: str | re.Pattern[str]) -> None:
    """Presses Tab until the control with this name or label has the focus."""
    wanted = page.get_by_label(name).or_(page.get_by_role("button", name=name)).or_(page.get_by_role("link", name=name))
    element = wanted.first.element_handle()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if element.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"{name} is not reached by Tab")
