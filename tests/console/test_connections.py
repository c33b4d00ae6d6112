"""Connected services and accounts in the console: forms in place of JSON, consent at a provider, mailboxes."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, sign_in, violations
from tests.console.visitor import Visitor, loaded, place, text_of, value
from tests.graph_server import Box, GraphServer
from tests.mail_servers import ImapServer, Pop3Server
from tests.oauth_provider import CLIENT, SECRET, OAuthProvider
from tests.outbound.peer import HOST
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")
BASE = "/admin/connections"
OAUTH2 = "svc.service.provider.oauth2"
USER = "support@desk.example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that may send requests to this machine."""
    started = Server(tmp_path_factory.mktemp("connections") / "data", env={"HELPDESK_OUTBOUND_ALLOW": HOST})
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    return server.set_up()


@pytest.fixture(scope="module")
def stored(server: Server, nora: Api) -> Iterator[Desk]:
    """The same database in this process."""
    opened = Desk(Path(server.data))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def signed_in(server: Server, nora: Api) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    return visitor


@pytest.fixture(scope="module")
def provider(server: Server) -> Iterator[OAuthProvider]:
    with OAuthProvider() as running:
        running.redirect_uris = {f"{server.url}/connect/callback"}
        yield running


def created(visitor: Visitor, path: str, **fields: str) -> int:
    """Submits the form of a new record; returns its id."""
    response = visitor.send(path, fields)
    assert response.status_code == 303, text_of(response.text)
    return int(place(response).rpartition("/")[2])


def google(visitor: Visitor, provider: OAuthProvider, **fields: str) -> int:
    """Sets Google up, with the endpoints of the stand-in."""
    endpoints = {f"p_{name}": url for name, url in provider.params().items() if name.endswith("_url")}
    own = {"name": "Google", "p_client_id": CLIENT, "p_client_secret": SECRET, "p_issuer": provider.issuer}
    return created(visitor, f"{BASE}/new?kind=google", **endpoints, **own | fields)


def consented(visitor: Visitor, answer: Any, provider: OAuthProvider, user: str = USER, allow: bool = True) -> Any:
    """Follows the redirect to the provider and back; returns the page that follows."""
    assert answer.status_code == 303, text_of(answer.text)
    back = urlsplit(provider.consent(answer.headers["Location"], user, allow))
    return visitor.get(f"{back.path}?{back.query}")


@pytest.mark.parametrize(
    ("kind", "service", "account"),
    [
        ("google", {"p_client_id": "c", "p_client_secret": "s3cret"}, {"p_refresh_token": "t0ken"}),
        ("microsoft", {"p_client_id": "c", "p_tenant": "desk.example", "p_client_secret": "s3cret"}, {}),
        ("oauth2", {"p_client_id": "c", "p_client_secret": "s3cret", "p_token_url": "https://x.example/t"}, {}),
        ("api_key", {"p_location": "query", "p_name": "key"}, {"p_api_key": "t0ken"}),
        ("bearer", {"p_token_type": "Token"}, {"p_token": "t0ken"}),
        ("basic", {"p_base_url": "https://shop.example/api"}, {"p_username": "ann", "p_password": " t0ken "}),
        ("aws", {"p_region": "eu"}, {"p_access_key_id": "AK", "p_secret_access_key": "t0ken"}),
    ],
)
def test_each_kind_has_its_fields(kind, service, account, signed_in: Visitor, stored: Desk) -> None:
    path = f"{BASE}/{created(signed_in, f'{BASE}/new?kind={kind}', name=f'My {kind}', **service)}"
    params = stored.row("connected_service", int(path.rpartition("/")[2]))["params"]
    assert {f"p_{name}": text for name, text in params.items() if name != "provider"} == service
    page = signed_in.get(path).text
    assert "s3cret" not in page and ("Stored. Leave blank to keep it." in page) == ("p_client_secret" in service)
    response = signed_in.send(path, {**service, "name": "Renamed", "p_client_secret": ""})
    assert response.status_code == 303, text_of(response.text)
    assert stored.row("connected_service", int(path.rpartition("/")[2]))["params"] == params, "a blank secret is kept"

    new = f"{BASE}/accounts/new?service={path.rpartition('/')[2]}"
    id = created(signed_in, new, name="Ours", **{"owner": "everybody", **account})
    assert {f"p_{name}": text for name, text in stored.row("connected_account", id)["params"].items()} == account
    page = signed_in.get(f"{BASE}/accounts/{id}")
    assert "t0ken" not in page.text and page.status_code == 200
    assert signed_in.send(f"{BASE}/accounts/{id}", {"name": "Again", "owner": "everybody"}).status_code == 303
    assert {f"p_{name}": text for name, text in stored.row("connected_account", id)["params"].items()} == account
    assert "t0ken" not in signed_in.get(BASE).text + signed_in.get("/admin/system/audit").text
    assert place(signed_in.send(f"{path}/delete", page=path)) == BASE
    assert signed_in.get(f"{BASE}/accounts/{id}").status_code == 404


def test_forms_are_in_the_activity_log(signed_in: Visitor, nora: Api) -> None:
    service = f"{BASE}/{created(signed_in, f'{BASE}/new?kind=bearer', name='Logged')}"
    new = f"{BASE}/accounts/new?service={service.rpartition('/')[2]}"
    account = f"{BASE}/accounts/{created(signed_in, new, name='Ours', owner='everybody', p_token='t0ken')}"
    signed_in.send(account, {"name": "Again", "owner": "everybody"})
    signed_in.send(f"{account}/delete", page=account)
    signed_in.send(service, {"name": "Again"})
    signed_in.send(f"{service}/delete", page=service)
    newest = nora.search("activity_log", "administrative:yes sort:-id", limit=6).ok()["results"]
    assert [each["activity_point"] for each in reversed(newest)] == [
        "connected_service.created", "connected_account.created", "connected_account.changed",
        "connected_account.deleted", "connected_service.changed", "connected_service.deleted",
    ]  # fmt: skip


def test_kinds_without_a_form_are_json(signed_in: Visitor, stored: Desk) -> None:
    page = signed_in.get(f"{BASE}/new")
    assert page.status_code == 200 and "Microsoft 365" in page.text
    id = created(
        signed_in, f"{BASE}/new?kind=json", name="Directory", extension_id="svc.service.provider.ldap",
        params='{"host": "ldap.example"}',
    )  # fmt: skip
    assert stored.row("connected_service", id)["params"] == {"host": "ldap.example"}
    assert signed_in.send(f"{BASE}/{id}", {"name": "LDAP", "params": ""}).status_code == 303
    assert stored.row("connected_service", id)["params"] == {"host": "ldap.example"}
    assert "ldap.example" not in signed_in.get(f"{BASE}/{id}").text
    assert signed_in.get(f"{BASE}/new?kind=nonsense").status_code == 404


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("google", {"p_client_id": ""}, "enter the client id"),
        ("microsoft", {"p_tenant": "../evil"}, "the tenant must be its id"),
        ("google", {"p_client_secret_expires": "soon"}, "Enter a date"),
        ("google", {"p_authorization_url": "javascript:alert(1)"}, "is not http or https"),
        ("google", {"p_token_url": "http://login.example/t"}, "must be reached by https"),
        ("oauth2", {}, "enter the token address, or an issuer"),
        ("oauth2", {"p_issuer": "https://127.0.0.1:1"}, "cannot be reached"),
        ("bearer", {"p_base_url": "ftp://x"}, "is not http or https"),
        ("bearer", {"name": ""}, "name"),
    ],
)
def test_mistakes_are_shown_at_their_field(kind, fields, words, signed_in: Visitor) -> None:
    sent = {"name": "X", "p_client_id": "c", "p_client_secret": "s3cret", **fields}
    response = signed_in.send(f"{BASE}/new?kind={kind}", sent)
    assert response.status_code == 422 and words.lower() in text_of(response.text).lower(), text_of(response.text)
    assert "s3cret" not in response.text


def test_an_issuer_is_enough_for_another_provider(signed_in: Visitor, provider: OAuthProvider, stored: Desk) -> None:
    provider.sends_iss = True
    id = created(
        signed_in, f"{BASE}/new?kind=oauth2", name="Keys", p_client_id=CLIENT, p_client_secret=SECRET,
        p_issuer=provider.issuer, p_scope="openid email mail",
    )  # fmt: skip
    params = stored.row("connected_service", id)["params"]
    assert params == provider.params(provider="other", requires_iss="1")
    page = consented(signed_in, signed_in.send(f"{BASE}/{id}/connect", {"purpose": "other"}, f"{BASE}/{id}"), provider)
    assert place(page).startswith(f"{BASE}/accounts/")
    provider.sends_iss = False
    # The stored secret is not sent to another host.
    response = signed_in.send(
        f"{BASE}/{id}", {"name": "Keys", "p_client_id": CLIENT, "p_token_url": "https://x.example/t"}
    )
    assert response.status_code == 422 and "enter the client secret again" in text_of(response.text).lower()
    signed_in.send(f"{BASE}/{id}/delete", page=BASE)


def test_an_account_is_connected_its_state_shown_and_connected_anew(
    signed_in: Visitor, provider: OAuthProvider, stored: Desk, server: Server
) -> None:
    path = f"{BASE}/{google(signed_in, provider)}"
    page = signed_in.get(path)
    assert html.escape(f"{server.url}/connect/callback") in page.text and "https://mail.google.com/" in page.text
    assert f"form-action 'self' {provider.url('')}" in page.headers["Content-Security-Policy"]
    account = place(consented(signed_in, signed_in.send(f"{path}/connect", {"purpose": "mail"}, path), provider))
    page = signed_in.get(account)
    assert f"connected as {USER}, renewed" in text_of(page.text) and "Connected as" in text_of(page.text)
    assert provider.consent_request["scope"] == "https://mail.google.com/ openid email"
    again = consented(signed_in, signed_in.send(f"{account}/connect", {"purpose": "mail"}, account), provider)
    assert place(again) == account and provider.consent_request["login_hint"] == USER
    for allow, user, words in ((False, USER, "Access was not granted"), (True, "x@desk.example", "You signed in as")):
        refused = consented(
            signed_in, signed_in.send(f"{account}/connect", {"purpose": "mail"}, account), provider, user, allow
        )
        assert refused.status_code == 422 and words in text_of(refused.text)
        assert refused.headers["Referrer-Policy"] == "no-referrer" and f'href="{account}"' in refused.text
    stranger = Visitor(server.url)
    assert "/login" in place(stranger.get("/connect/callback?state=x&code=y"))
    assert f"connected {USER} as {USER}" in text_of(signed_in.get("/admin/system/audit").text)
    signed_in.send(f"{path}/delete", page=path)


def test_a_page_of_another_site_begins_nothing(signed_in: Visitor, provider: OAuthProvider) -> None:
    id = google(signed_in, provider)
    assert signed_in.post(f"{BASE}/{id}/connect", {"purpose": "mail"}).status_code == 403
    response = signed_in.send(
        f"{BASE}/{id}/connect", {"purpose": "mail", "next": "https://evil.example/"}, f"{BASE}/{id}"
    )
    assert place(consented(signed_in, response, provider)).startswith("/"), "no open redirect"
    assert value(signed_in.get(f"{BASE}/{id}").text, "p_client_id") == CLIENT
    signed_in.send(f"{BASE}/{id}/delete", page=BASE)


# -- a mailbox in one go -----------------------------------------------------------------------------------------------

CONNECT, SERVERS = "/admin/mail/connect", "/admin/mail/connect/servers"
GMAIL, OUTLOOK = "support@gmail.com", "support@outlook.com"


def servers(imap: Any, smtp: SmtpServer, **fields: str) -> dict[str, str]:
    """The second form, for servers on this machine."""
    return {
        "address": "help@desk.example", "protocol": "imap", "host": imap.host, "port": str(imap.port),
        "username": imap.login[0], "password": imap.login[1], "smtp_host": smtp.host, "smtp_port": str(smtp.port),
        "smtp_encryption": "none", "is_mail_kept": "1", "recipient": "ana@customer.example", **fields,
    }  # fmt: skip


def counts(nora: Api) -> list[int]:
    return [nora.search(uri, "").ok()["total"] for uri in ("mailbox", "mail_transport")]


def test_a_mailbox_with_a_password_is_tested_in_both_directions_and_stored_at_once(
    signed_in: Visitor, nora: Api, stored: Desk
) -> None:
    before = counts(nora)
    with ImapServer() as imap, SmtpServer(login=imap.login) as smtp:
        wrong = (
            ({"password": "wrong"}, ("Server that receives:", "wrong name or password", "Server that sends:")),
            ({"host": "127.0.0.2"}, ("Server that receives:", "> AUTH PLAIN (left out)")),
            ({"smtp_port": "1"}, ("Server that sends:", "* OK ready", "LOGIN (left out)")),
            ({"recipient": "nobody"}, ("is not an email address",)),
            ({"address": "nobody"}, ("is not an email address",)),
            ({"port": "99999"}, ("from 1 to 65535",)),
            ({"smtp_encryption": "rot13"}, ("not an encryption",)),
            ({"password": ""}, ("enter the password",)),
        )
        for fields, words in wrong:
            response = signed_in.send(SERVERS, servers(imap, smtp, **fields), CONNECT)
            text = text_of(response.text)
            assert response.status_code == 422 and all(each.lower() in text.lower() for each in words), (fields, text)
            assert value(response.text, "host") == {"host": imap.host, **fields}["host"], "what was typed stays"
            assert imap.login[1] not in html.unescape(response.text)
        assert counts(nora) == before, "a failed test leaves nothing half made"
        response = signed_in.send(SERVERS, servers(imap, smtp), CONNECT)
        assert response.status_code == 200, text_of(response.text)
        assert "Email to help@desk.example is being fetched" in text_of(response.text)
        assert counts(nora) == [each + 1 for each in before]
        assert smtp.take().recipients == ("ana@customer.example",)
        sender = nora.search("address", "email:help@desk.example").ok()["results"][0]
        transport = nora.search("mail_transport", "text:help@desk.example").ok()["results"][0]
        assert sender["mail_transport_id"] == transport["id"]
        points = [each["activity_point"] for each in nora.search("activity_log", "sort:-id", limit=12).ok()["results"]]
        assert {"mailbox.created", "mail_transport.created", "sender.changed"} <= set(points)
        # A second time updates, also without a test mail.
        page = signed_in.send(SERVERS, servers(imap, smtp, recipient=""), CONNECT)
        assert "are updated" in text_of(page.text) and counts(nora) == [each + 1 for each in before]


def test_a_mailbox_of_pop3_is_connected(signed_in: Visitor, nora: Api) -> None:
    with Pop3Server() as pop, SmtpServer(login=pop.login) as smtp:
        form = servers(pop, smtp, protocol="pop3", address="pop@desk.example", recipient="")
        assert signed_in.send(SERVERS, form, CONNECT).status_code == 200


def test_a_mailbox_at_google_needs_one_setup_and_one_consent(
    signed_in: Visitor, nora: Api, provider: OAuthProvider, stored: Desk
) -> None:
    page = signed_in.send(CONNECT, {"address": GMAIL})
    assert page.status_code == 200 and "Set up Google" in page.text and value(page.text, "host") == "imap.gmail.com"
    setup = re.search(r'href="(/admin/connections/new[^"]*)"', page.text)
    assert setup is not None
    endpoints = {f"p_{name}": url for name, url in provider.params().items() if name.endswith("_url")}
    response = signed_in.send(
        html.unescape(setup[1]),
        {"name": "Google", "p_client_id": CLIENT, "p_client_secret": SECRET, "p_issuer": provider.issuer, **endpoints},
    )
    assert place(response) == f"{CONNECT}?address=support%40gmail.com"
    page = signed_in.send(CONNECT, {"address": GMAIL})
    button = re.search(r'action="(/admin/connections/[0-9]+/connect)"', page.text)
    assert button is not None and provider.url("") in page.headers["Content-Security-Policy"]
    form = {name: value(page.text, name) for name in ("purpose", "login", "next")}
    with ImapServer() as imap, SmtpServer(token="none yet") as smtp:

        def accept(token: str) -> None:
            imap.token = smtp.token = token

        provider.on_token = accept
        consent = signed_in.send(button[1], form, CONNECT)
        here = place(consented(signed_in, consent, provider, GMAIL))
        assert provider.consent_request["login_hint"] == GMAIL
        page = signed_in.get(here)
        assert f"Signs in with the connected account {GMAIL}" in text_of(page.text)
        assert value(page.text, "username") == GMAIL and 'name="password"' not in page.text
        sent = servers(imap, smtp, address=GMAIL, username=GMAIL, account=value(page.text, "account"), password="")
        page = signed_in.send(SERVERS, sent | {"is_default": "1"}, CONNECT)
        assert page.status_code == 200, text_of(page.text)
        assert smtp.take().sender == GMAIL
        account = int(sent["account"])
        shared = servers(imap, smtp, address="team@gmail.com", username="team@gmail.com", account=str(account))
        assert signed_in.send(SERVERS, shared | {"password": ""}, CONNECT).status_code == 200, "a shared mailbox"
        assert imap.asked and signed_in.get(here.replace("support", "team")).status_code == 200
        # The grant dies: the account says so, the mailbox too, and connecting anew brings both back.
        provider.revoke()
        stored.update("connected_account", account, params={**stored.row("connected_account", account)["params"],
                                                            "expires_at": 1})  # fmt: skip
        box = nora.search("mailbox", f"text:{GMAIL}").ok()["results"][0]["id"]
        response = signed_in.send(f"/admin/mail/mailboxes/{box}/check", {}, CONNECT)
        assert "has ended; connect it again" in text_of(response.text)
        path = f"{BASE}/accounts/{account}"
        assert "The provider has refused access since" in text_of(signed_in.get(path).text)
        assert "The access of the connected account" in text_of(signed_in.get("/notifications").text)
        consented(signed_in, signed_in.send(f"{path}/connect", {"purpose": "mail"}, path), provider, GMAIL)
        assert place(signed_in.send(f"/admin/mail/mailboxes/{box}/check", {}, CONNECT)) == "/admin/mail"
        provider.on_token = lambda token: None


def test_hostile_values_are_refused(signed_in: Visitor, nora: Api) -> None:
    """Params that were stored through the API are checked where they are used."""
    evil = "https://x.example;script-src 'unsafe-inline'/authorize"
    params = {"client_id": "c", "token_url": "https://x.example/t", "authorization_url": evil}
    id = nora.create("connected_service", name="Evil", extension_id=OAUTH2, params=params).ok()["id"]
    for path in (f"{BASE}/{id}", SERVERS, f"{SERVERS}?address=a@gmail.com&account=0"):
        page = signed_in.get(path)
        assert page.status_code == 200 and "x.example" not in page.headers["Content-Security-Policy"]
    assert signed_in.send(f"{BASE}/{id}/connect", {"purpose": "other"}, BASE + "/new").status_code == 422
    assert signed_in.send(f"{BASE}/{id}/connect", {"purpose": "all"}, BASE + "/new").status_code == 422
    for account in ("²", "9" * 30, "-1", "1e3"):
        with ImapServer() as imap, SmtpServer() as smtp:
            assert signed_in.send(SERVERS, servers(imap, smtp, account=account), CONNECT).status_code == 422
    assert signed_in.get(f"{SERVERS}?account=999999").status_code == 404
    assert signed_in.send(f"{BASE}/accounts/new?service=0", {"name": "x", "owner": "everybody"}).status_code == 303
    assert signed_in.get(f"{BASE}/accounts/new?service=999999").status_code == 404
    signed_in.send(f"{BASE}/{id}/delete", page=BASE + "/new")


def test_an_address_that_is_none_is_refused(signed_in: Visitor) -> None:
    response = signed_in.send(CONNECT, {"address": "nobody"})
    assert response.status_code == 422 and "Enter an email address" in text_of(response.text)


def enter_provider(page: Page, provider: OAuthProvider) -> None:
    """Fills in the form of a provider, whose addresses are those of the stand-in, and saves it."""
    page.fill("#p_client_id", CLIENT)
    page.fill("#p_client_secret", SECRET)
    page.locator("form[data-guard] summary").click()
    for name, text in provider.params().items():
        if name.endswith("_url") or name == "issuer":
            page.fill(f"#p_{name}", text)
    page.locator("[data-save]").click()


@pytest.mark.exhaustive("a long walk through several pages")
def test_a_mailbox_from_an_empty_desk_to_the_end_of_its_grant_and_back(
    chromium: Browser, tmp_path: Path, provider: OAuthProvider
) -> None:
    """Everything is found from the start page, without help."""
    started = Server(tmp_path / "data", env={"HELPDESK_OUTBOUND_ALLOW": HOST})
    nora = started.set_up()
    registered, provider.redirect_uris = provider.redirect_uris, {f"{started.url}/connect/callback"}
    with (
        ImapServer(token="none") as imap,
        SmtpServer(token="none") as smtp,
        chromium.page(started.url, elsewhere=provider.url("")) as page,
    ):
        imap.put(b"From: Ana <ana@kite.example>\nTo: support@gmail.com\nSubject: The pump leaks\n\nIt loses oil.\n")

        def accept(token: str) -> None:
            imap.token = smtp.token = token

        provider.on_token = accept
        sign_in(page)
        page.goto("/")
        page.get_by_role("link", name="Connect a mailbox").click()
        page.fill("#address", GMAIL)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("link", name="Set up Google").click()
        assert violations(page) == []
        enter_provider(page, provider)
        expect(page.locator("#address")).to_have_value(GMAIL)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Connect with Google").click()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text(f"Signs in with the connected account {GMAIL}")).to_be_visible()
        assert violations(page) == []
        page.locator("summary", has_text="imap.gmail.com").click()
        page.select_option("#protocol", "imap")
        page.fill("#host", imap.host)
        page.fill("#port", str(imap.port))
        page.fill("#smtp_host", smtp.host)
        page.select_option("#smtp_encryption", "none")
        page.fill("#smtp_port", str(smtp.port))
        page.get_by_role("button", name="Test and connect").click()
        expect(page.get_by_role("heading", name="Mailbox connected")).to_be_visible()
        assert violations(page) == []
        assert smtp.take().sender == GMAIL
        visitor = Visitor(started.url)
        visitor.sign_in()
        loaded(visitor, "/inbox?v=unassigned", "The pump leaks")
        page.goto("/inbox?v=unassigned")
        page.get_by_role("link", name="The pump leaks").first.click()
        page.get_by_role("link", name="Reply to the message from").click()
        page.locator("#content").fill("A new seal is on its way.")
        page.locator("#content").press("Control+Enter")
        response = next(each for each in iter(smtp.take, None) if b"A new seal" in each.raw)
        assert (response.sender, response.recipients) == (GMAIL, ("ana@kite.example",))

        provider.revoke()
        imap.token = smtp.token = "revoked"
        page.goto("/admin/mail")
        page.get_by_role("button", name="Check now").click()
        expect(page.get_by_text("rejected this user name and token")).to_be_visible()
        expect(page.get_by_text("has ended; connect it again").first).to_be_visible()
        page.goto("/notifications")
        expect(page.get_by_text("The access of the connected account")).to_be_visible()
        page.goto("/admin/mail/mailboxes/1")
        page.get_by_role("link", name="Reconnect").click()
        assert violations(page) == []
        page.get_by_role("button", name="Reconnect").click()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text(f"as {GMAIL}, renewed")).to_be_visible()
        imap.put(b"From: Ana <ana@kite.example>\nTo: support@gmail.com\nSubject: And the valve\n\nIt sticks.\n")
        page.goto("/admin/mail")
        page.get_by_role("button", name="Check now").click()
        loaded(visitor, "/inbox?v=unassigned", "And the valve")
        assert nora.search("mailbox", "").ok()["results"][0]["num_fails"] == 0
    provider.redirect_uris, provider.on_token = registered, lambda token: None
    assert started.stop() == 0


@pytest.mark.exhaustive("a long walk through several pages")
def test_a_mailbox_by_microsoft_graph_from_an_empty_desk_to_the_end_of_its_grant_and_back(
    chromium: Browser, tmp_path: Path, provider: OAuthProvider
) -> None:
    started = Server(tmp_path / "data", env={"HELPDESK_OUTBOUND_ALLOW": HOST})
    started.set_up()
    registered, provider.redirect_uris = provider.redirect_uris, {f"{started.url}/connect/callback"}
    with GraphServer() as graph, chromium.page(started.url, elsewhere=provider.url("")) as page:
        graph.users[OUTLOOK] = Box()
        graph.box(OUTLOOK).put(
            b"From: Ana <ana@kite.example>\nTo: support@outlook.com\nSubject: The pump leaks\n\nIt loses oil.\n"
        )

        def accept(token: str) -> None:
            graph.token = token

        provider.on_token = accept
        sign_in(page)
        page.goto("/admin/mail/connect")
        page.fill("#address", OUTLOOK)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("link", name="Set up Microsoft 365").click()
        assert violations(page) == []
        enter_provider(page, provider)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="by Microsoft Graph").click()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text(f"Signs in with the connected account {OUTLOOK}")).to_be_visible()
        assert violations(page) == []
        page.fill("#host", graph.url)
        page.get_by_role("button", name="Test and connect").click()
        expect(page.get_by_role("heading", name="Mailbox connected")).to_be_visible()
        visitor = Visitor(started.url)
        visitor.sign_in()
        loaded(visitor, "/inbox?v=unassigned", "The pump leaks")
        page.goto("/inbox?v=unassigned")
        page.get_by_role("link", name="The pump leaks").first.click()
        page.get_by_role("link", name="Reply to the message from").click()
        page.locator("#content").fill("A new seal is on its way.")
        page.locator("#content").press("Control+Enter")
        graph.until(lambda: any(b"A new seal" in each.raw for each in graph.box(OUTLOOK).sent))

        provider.revoke()
        graph.token = "revoked"
        page.goto("/admin/mail")
        page.get_by_role("button", name="Check now").click()
        expect(page.get_by_text("has ended; connect it again").first).to_be_visible()
        page.goto("/admin/mail/mailboxes/1")
        page.get_by_role("link", name="Reconnect").click()
        page.get_by_role("button", name="Reconnect").click()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text(f"as {OUTLOOK}, renewed")).to_be_visible()
    provider.redirect_uris, provider.on_token = registered, lambda token: None
    assert started.stop() == 0
