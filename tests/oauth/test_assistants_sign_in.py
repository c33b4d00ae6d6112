"""Signing an assistant in: discovery from the first 401, consent, tokens for one resource, metadata documents, and
revoking."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from server.access import token_resources, tokens
from server.access.provider import AuthorizationRefusal
from server.apps import client_documents
from server.errors import HelpdeskError, Invalid, NotAuthenticated, TooLarge, TooMany
from server.outbound import connection
from server.record_types.shared import assistant_scopes
from tests.oauth.apps import CALLBACK, VERIFIER, App, Apps, answer_of, challenge, error_of
from tests.oauth.browser import Browser
from tests.outbound.peer import HOST, Peer, answer, redirect
from tests.records.desk import BASE_URL, NOW, Desk
from tests.service import Api, Server
from tests.smtp_server import CERTIFICATE
from tests.web.assistant_client import Assistant

MCP, REST = f"{BASE_URL}/mcp", f"{BASE_URL}/rest"
ID = "https://app.example/assistant.json"
DOCUMENT = {"client_id": ID, "client_name": "Helper", "redirect_uris": ["https://app.example/back"]}


@pytest.fixture
def with_tools(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns the tools on for the desk in this process."""
    monkeypatch.setitem(desk.service.settings.__dict__, "mcp", True)


def test_from_the_first_refusal_to_a_draft_and_no_further(started: Api) -> None:
    """An assistant that knows nothing but the address signs in with a narrow scope, drafts, and may not send."""
    ticket = started.parse("From: ana@example.com\nTo: h@desk.example\nSubject: Hi\nMessage-Id: <1@x>\n\nHi").ok()["id"]
    app = started.create("oauth_app", name="Helper", callback_url=CALLBACK, is_public=1).ok()
    first = Assistant(started.url, "").send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Authorization=None)
    found = re.search(r'resource_metadata="([^"]+)".*scope="([^"]+)"', first.headers["WWW-Authenticate"])
    assert first.status_code == 401 and found
    resource = requests.get(found[1], timeout=60).json()
    issuer = resource["authorization_servers"][0]
    server = requests.get(f"{issuer}/.well-known/oauth-authorization-server", timeout=60).json()
    assert server["client_id_metadata_document_supported"] and server["code_challenge_methods_supported"] == ["S256"]
    sent = {
        "response_type": "code",
        "client_id": app["client_id"],
        "scope": found[2],
        "redirect_uri": CALLBACK,
        "code_challenge": challenge(),
        "code_challenge_method": "S256",
        "resource": resource["resource"],
    }
    browser = Browser(started.url)
    browser.open(server["authorization_endpoint"].removeprefix(started.url), **sent)
    assert browser.sign_in() == ""
    assert "Write drafts of replies, which a person sends" in browser.page.text
    code = answer_of(browser.send(answer="allow"))["code"]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": VERIFIER,
        "client_id": app["client_id"],
        "redirect_uri": CALLBACK,
        "resource": resource["resource"],
    }
    tokens = requests.post(server["token_endpoint"], data=form, timeout=60).json()
    assert tokens["scope"] == found[2]
    assistant = Assistant(started.url, tokens["access_token"])
    assert assistant.result("draft_reply", ticket_id=ticket, content="Dear Ana")["is_sent"] is False
    refused = assistant.call("send_reply", ticket_id=ticket, content="Sent!")
    assert refused.status_code == 403 and 'scope="mcp:send"' in refused.headers["WWW-Authenticate"]
    assert started.search("message", "isOutgoing:yes").ok()["total"] == 0
    # The token is for the tools alone.
    assert Api(started.url, tokens["access_token"]).get("/rest/workers/me.json").status == 401
    # The administrator sees the app and ends it.
    page = Browser(started.url)
    page.open("/admin/assistants")
    page.sign_in()
    assert "Helper" in page.page.text and f"{started.url}/mcp" in page.page.text
    page.post(f"/admin/assistants/{app['id']}/revoke", page.form()[1])
    page.send()  # the question whether to revoke it
    assert assistant.request("ping").status_code == 401
    assert "No assistant is connected." in page.page.text


def test_the_switch_in_the_console(api: Api) -> None:
    browser = Browser(api.url)
    browser.open("/admin/assistants")
    browser.sign_in()
    assistant = Assistant(api.url, api.token)
    assert assistant.request("ping").status_code == 404
    browser.send()
    assert assistant.request("ping").status_code == 200
    browser.open("/admin/assistants")
    browser.send()
    assert assistant.request("ping").status_code == 404


def is_accepted_by_tools(apps: Apps, token: str) -> bool:
    try:
        apps.desk.read(lambda tx: tokens.check(tx, token, NOW, token_resources.MCP))
    except NotAuthenticated:
        return False
    return True


@pytest.mark.usefixtures("with_tools")
@pytest.mark.parametrize(
    ("login", "exchange", "bound"),
    [
        (None, None, None),
        (MCP, MCP, MCP),
        (MCP, None, MCP),
        ("HTTPS://DESK.example/mcp/", MCP, MCP),
        (None, REST, REST),
        (BASE_URL, None, BASE_URL),
    ],
)
def test_a_token_is_bound_to_the_resource(
    apps: Apps, login: str | None, exchange: str | None, bound: str | None
) -> None:
    code = apps.code(apps.stock, resource=login)
    pair = apps.exchange(apps.stock, code, resource=exchange).payload
    assert pair is not None
    assert apps.is_good(pair["access_token"]) == (bound != MCP)
    assert is_accepted_by_tools(apps, pair["access_token"]) == (bound in (MCP, BASE_URL))
    later = apps.refresh(apps.stock, pair["refresh_token"]).payload
    assert later is not None and apps.is_good(later["access_token"]) == (bound != MCP)


@pytest.mark.usefixtures("with_tools")
def test_another_resource_is_refused(apps: Apps) -> None:
    for resource in ("https://other.example/mcp", f"{BASE_URL}/admin", "mcp", f"{MCP}?x=1", f"{MCP}#x"):
        refused = apps.ask(apps.stock, resource=resource)
        assert isinstance(refused, AuthorizationRefusal)
        assert answer_of(refused.url)["error"] == "invalid_target"
    code = apps.code(apps.stock, resource=MCP)
    assert error_of(apps.exchange(apps.stock, code, resource=REST)) == (400, "invalid_target")
    pair = apps.exchange(apps.stock, code, resource=MCP).payload
    assert pair is not None
    assert error_of(apps.refresh(apps.stock, pair["refresh_token"], resource=REST)) == (400, "invalid_target")


def test_there_is_no_such_resource_while_the_tools_are_off(apps: Apps) -> None:
    assert isinstance(apps.ask(apps.stock, resource=MCP), AuthorizationRefusal)


def test_narrower_scopes_are_offered_by_apps_whose_scopes_cover_them(apps: Apps) -> None:
    assert apps.asked(apps.stock, scope="mcp:read mcp:draft").scopes[1].label.startswith("Write drafts")
    reader = apps.new(scopes='"read": {label: Look, endpoints: ["*": GET]}')
    own = apps.new(scopes='"mine": {label: Mine, endpoints: ["*"], records: own}')
    for app in (reader, own):
        assert isinstance(apps.ask(app, scope="mcp:send"), AuthorizationRefusal), "an app gets no more than it had"


# -- metadata documents


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_id": "https://app.example/other.json"}, "not its own address"),
        ({"client_id": None}, "not its own address"),
        ({"redirect_uris": []}, "1 to"),
        ({"redirect_uris": "https://app.example/back"}, "1 to"),
        ({"redirect_uris": ["https://app.example/back"] * 21}, "1 to"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "cannot be used"),
        ({"redirect_uris": ["http://app.example/back"]}, "cannot be used"),
        ({"redirect_uris": [{"x": 1}]}, "cannot be used"),
        ({"redirect_uris": ["https://app.example/a\nhttps://evil.example"]}, "cannot be used"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "public clients"),
        ({"client_secret": "x"}, "public clients"),
    ],
)
def test_a_document_that_is_not_one_of_a_client_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        client_documents.read(ID, DOCUMENT | changes)


@pytest.mark.parametrize(
    ("changes", "name", "url"),
    [
        ({}, "Helper", "https://app.example/"),
        ({"client_name": None}, "app.example", "https://app.example/"),
        ({"client_name": " \u202eHel\u0000per\n x"}, "Helper x", "https://app.example/"),
        ({"client_name": "x" * 500}, "x" * 60, "https://app.example/"),
        ({"client_uri": "https://app.example/about"}, "Helper", "https://app.example/about"),
        ({"client_uri": "https://bank.example/"}, "Helper", "https://app.example/"),
        ({"client_uri": "javascript:alert(1)"}, "Helper", "https://app.example/"),
    ],
)
def test_a_document_says_who_it_is_within_bounds(changes: dict[str, Any], name: str, url: str) -> None:
    found = client_documents.read(ID, DOCUMENT | changes, "max-age=600")
    assert (found.name, found.url, found.seconds) == (name, url, 600)


@pytest.mark.usefixtures("with_tools")
@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/client.json",
        "https://localhost/client.json",
        "https://app.example",
        "https://app.example/",
        "https://a@app.example/client.json",
        "https://app.example/a/../client.json",
        "https://app.example/client.json#x",
        "https://APP.example/client.json",
        f"https://app.example/{'x' * 300}",
    ],
)
def test_no_document_is_fetched_from_where_none_can_be(desk: Desk, ids: dict[str, int], client_id: str) -> None:
    client_documents._fetches.clear()
    before = desk.found("oauth_app", "")
    with pytest.raises(HelpdeskError):
        client_documents.require_app(desk.context(ids["milo"]), client_id)
    assert desk.found("oauth_app", "") == before


@pytest.mark.usefixtures("with_tools")
def test_a_worker_does_not_make_the_service_fetch_without_end(desk: Desk, ids: dict[str, int]) -> None:
    client_documents._fetches.clear()
    for _ in range(client_documents.MAX_FETCHES):
        with pytest.raises(HelpdeskError) as error:
            client_documents.require_app(desk.context(ids["olga"]), "https://127.0.0.1/client.json")
        assert not isinstance(error.value, TooMany)
    with pytest.raises(TooMany):
        client_documents.require_app(desk.context(ids["olga"]), "https://127.0.0.1/client.json")


def test_a_document_becomes_an_app_that_asks_for_tools(
    desk: Desk, ids: dict[str, int], apps: Apps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(desk.service.settings.__dict__, "mcp", True)
    context = desk.context(ids["milo"])
    document = client_documents.read(ID, DOCUMENT)
    desk.store.write(lambda tx: client_documents._save(context, tx, ID, document))
    client_documents.require_app(context, ID)  # is cached: nothing is fetched
    app = App(desk.found("oauth_app", "name:Helper")[0], ID, "")
    asked = apps.asked(app, scope=" ".join(assistant_scopes.DEFAULT), redirect_uri="https://app.example/back")
    assert (asked.document_host, asked.app_name) == ("app.example", "Helper")
    assert isinstance(apps.ask(app, scope="mcp:read", redirect_uri="https://app.example/back/"), AuthorizationRefusal)
    assert isinstance(apps.ask(app, scope="api", redirect_uri="https://app.example/back"), AuthorizationRefusal)
    assert isinstance(apps.ask(app, code_challenge=None, code_challenge_method=None), AuthorizationRefusal)
    # The document changes: its callbacks follow, and what an administrator restricted stays.
    other = client_documents.read(ID, DOCUMENT | {"redirect_uris": ["https://app.example/new"], "client_name": "New"})
    desk.store.write(lambda tx: client_documents._save(context, tx, ID, other))
    assert desk.record("oauth_app", app.id)["callback_url"] == "https://app.example/new"
    assert any("Milo created the OAuth app Helper" in each for each in desk.acts())
    # An app that an administrator registered is not replaced by a document.
    own = desk.create("oauth_app", name="Own", client_id="https://own.example/x", callback_url=CALLBACK)
    client_documents.require_app(context, "https://own.example/x")
    assert desk.record("oauth_app", own["id"])["name"] == "Own"
    monkeypatch.setitem(desk.service.settings.__dict__, "mcp", False)
    assert isinstance(apps.ask(app, scope="mcp:read", redirect_uri="https://app.example/new"), AuthorizationRefusal)


# -- documents over https


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A web site whose certificate is trusted."""
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    connection.tls_context.cache_clear()
    with Peer(is_tls=True) as peer:
        yield peer
    connection.tls_context.cache_clear()


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (answer("{}"), Invalid),
        (answer("[]"), Invalid),
        (answer("<html>"), Invalid),
        (answer(b"[" * 10_000), Invalid),
        (answer("{}", 404), Invalid),
        (redirect("/other.json"), Invalid),
        (answer(b" " * (client_documents.MAX_DOCUMENT_BYTES + 1)), TooLarge),
    ],
)
def test_a_site_that_serves_something_else_is_refused(
    desk: Desk, ids: dict[str, int], site: Peer, monkeypatch: pytest.MonkeyPatch, response: Any, error: type[Exception]
) -> None:
    monkeypatch.setitem(desk.service.settings.__dict__, "mcp", True)
    monkeypatch.setitem(desk.service.settings.__dict__, "outbound_allow", (HOST,))
    client_documents._fetches.clear()
    site.answers |= {"/client.json": response, "/other.json": answer(json.dumps(DOCUMENT))}
    with pytest.raises(error):
        client_documents.require_app(desk.context(ids["milo"]), site.url("/client.json"))
    assert len(site.asked) == 1, "a redirect is not followed"


def test_an_unknown_app_signs_in_by_its_document(site: Peer, tmp_path: Path) -> None:
    """The document is fetched for a worker who is signed in, once, and the consent page names its site."""
    client_id = site.url("/client.json")
    document = DOCUMENT | {"client_id": client_id, "redirect_uris": ["http://localhost/back"]}
    site.answers["/client.json"] = answer(json.dumps(document))
    server = Server(tmp_path / "data", env={"HELPDESK_MCP": "yes", "HELPDESK_OUTBOUND_ALLOW": HOST})
    try:
        nora = server.set_up()
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": "http://localhost:4711/back",
            "code_challenge": challenge(),
            "code_challenge_method": "S256",
            "resource": f"{server.url}/mcp",
        }
        browser = Browser(server.url)
        browser.open("/oauth/authorize", **asked)
        assert site.asked == [], "nothing is fetched for somebody who is not signed in"
        browser.sign_in()
        text = browser.page.text
        assert f"<strong>{HOST}:{site.port}</strong>" in text and "It runs on your computer" in text
        code = answer_of(browser.send(answer="allow"))["code"]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": VERIFIER,
            "client_id": client_id,
            "redirect_uri": asked["redirect_uri"],
        }
        found = requests.post(f"{server.url}/oauth/access_token", data=form, timeout=60).json()
        assert found["scope"].split() == list(assistant_scopes.DEFAULT)
        assert Assistant(server.url, found["access_token"]).result("list_groups")["groups"]
        assert len(site.asked) == 1, "the document is cached"
        assert nora.search("oauth_app", "name:Helper").ok()["total"] == 1
    finally:
        server.stop()
