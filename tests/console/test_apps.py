"""OAuth apps in the console: replaced secrets, users of an app, and confirmation before harm is done."""

import html
import re
from functools import partial

import pytest
import requests
from playwright.sync_api import Page, expect

from server import app as application
from server.record_types import registry
from server.record_types.shared import scope_check
from server.web import reach
from tests.console.browser import Browser, is_sideways, violations
from tests.console.visitor import Visitor, place
from tests.oauth.apps import App, register
from tests.service import Api, Server
from tests.telling import WALK

READ = """"read":
  label: Look at orders
  endpoints:
    - records/org/*: GET
"""
WRITE = """"write":
  label: Change orders
  endpoints:
    - records/org/*
"""


@pytest.fixture
def app(nora: Api) -> App:
    return register(nora, name="Stock & Co", scopes=READ + WRITE)


def form(**changes: str) -> dict[str, str]:
    return {"name": "Stock & Co", "callback_url": "https://stock.example/back", "scopes": READ + WRITE} | changes


def text(page: str) -> str:
    return html.unescape(page)


def known(url: str, app: App) -> tuple[int, str]:
    """Returns status and error for a program that authenticates itself."""
    sent = {"token": "none", **app.login}
    response = requests.post(f"{url}/oauth/introspect", data=sent, timeout=60)
    return response.status_code, response.json().get("error", "")


def test_a_secret_is_replaced_watched_and_ended(signed_in: Visitor, server: Server, app: App) -> None:
    page = f"/admin/apps/{app.id}"
    assert 'value="86400" selected' in signed_in.get(f"{page}/rotate").text
    made = signed_in.send(f"{page}/rotate", {"overlap": "3600"})
    assert "The previous one works until" in text(made.text)
    new = App(app.id, app.client_id, re.findall(r">([a-z0-9]{64})<", made.text)[0])
    rows = re.findall(r"<tr><td class=\"main\" data-label=\"Secret\">.*?</tr>", signed_in.get(page).text, re.DOTALL)
    assert len(rows) == 2 and all("never" in row for row in rows) and re.search("in (1 hour|59 minutes)", rows[1])
    assert known(server.url, app) == known(server.url, new) == (200, "")
    rows = re.findall(r"<tr><td class=\"main\" data-label=\"Secret\">.*?</tr>", signed_in.get(page).text, re.DOTALL)
    assert all("just now" in row for row in rows)
    assert "creating a new one ends the old one" in text(signed_in.get(f"{page}/rotate").text)
    assert place(signed_in.send(f"{page}/end-secret", page=page)) == page
    assert known(server.url, app) == (401, "invalid_client") and known(server.url, new) == (200, "")
    assert "</span> old one<" not in signed_in.get(page).text
    at_once = signed_in.send(f"{page}/rotate", {"overlap": "0"})
    assert "no longer works" in at_once.text and known(server.url, new) == (401, "invalid_client")
    for overlap in ("604801", "-1", "x"):
        assert signed_in.send(f"{page}/rotate", {"overlap": overlap}).status_code == 422


def test_a_public_app_has_no_secret_to_replace(signed_in: Visitor, nora: Api) -> None:
    app = register(nora, is_public=1)
    assert "so it has no secret" in signed_in.get(f"/admin/apps/{app.id}").text
    assert signed_in.send(f"/admin/apps/{app.id}/rotate", {"overlap": "0"}).status_code == 422


def test_scopes_in_use_are_reported_before_they_are_removed(signed_in: Visitor, nora: Api, app: App) -> None:
    nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids["milo"], app_id=app.id, scopes="read write").ok()
    page = f"/admin/apps/{app.id}"
    shown = text(signed_in.get(page).text)
    users = shown[shown.index('id="users"') :]
    assert "Milo Test" in users and "read write" in users and ">2<" in users
    asked = signed_in.send(page, form(scopes=READ))
    assert asked.status_code == 422
    assert "The scope write was removed. What it allowed is no longer possible for 2 tokens of Milo Test" in text(
        asked.text
    )
    assert "write" in nora.record("oauth_app", app.id)["scopes"]
    sure = re.findall(r'name="sure" value="([0-9a-f]+)"', asked.text)[0]
    other = signed_in.send(page, form(scopes='"else":\n  endpoints: ["*"]\n', sure=sure))
    assert other.status_code == 422 and "The scope read was removed" in text(other.text)  # a different question
    assert place(signed_in.send(page, form(scopes=READ, sure=sure))) == "/admin/apps"
    assert nora.record("oauth_app", app.id)["scopes"] == READ
    question = text(signed_in.get(f"{page}/delete").text)
    assert "2 tokens of Milo Test end now. None of them has been used yet." in question
    row = re.findall(rf'<a [^>]*href="{page}">.*?</tr>', signed_in.get("/admin/apps?q=Stock").text, re.DOTALL)[0]
    assert 'data-label="Workers">1<' in row and 'data-label="Active tokens">2<' in row
    assert place(signed_in.send(f"{page}/delete")) == "/admin/apps" and nora.record("oauth_app", app.id).status == 404


NEVER = ("http:", "javascript:")  # an app with such a callback is refused even with confirmation


@pytest.mark.parametrize(
    ("callbacks", "reasons"),
    [
        ("https://a.example/back\nhttp://127.0.0.1/back\ncom.example.app:/back", []),
        ("https://a.example/back\r\n/back", ["Line 2 must begin with https: or the scheme of an app"]),
        ("https://a.example/#x", ["Line 1 must not have a fragment"]),
        ("http://a.example/", ["Line 1 must begin with https:, unless it leads to this machine"]),
        ("https://*.example/", ["Line 1 is compared character by character"]),
        ("https://a.example/\n\nhttps://a.example/", ["Line 3 is already on line 1"]),
        ("javascript:alert(1)", ["Line 1 must not begin with javascript:"]),
    ],
)
def test_each_callback_address_is_checked(callbacks: str, reasons: list[str], signed_in: Visitor, nora: Api) -> None:
    sent = form(name="Callbacks", callback_url=callbacks)
    response = signed_in.send("/admin/apps/new", sent)
    assert response.status_code == (422 if reasons else 200)
    for reason in reasons:
        assert reason in text(re.findall(r'id="callback_url-error">(.*?)</p>', response.text)[0])
        assert callbacks.replace("\r\n", "\n") in text(response.text).replace("\r\n", "\n")
        sure = re.findall(r'name="sure" value="([0-9a-f]+)"', response.text)[0]  # the token generator needs none
        is_open = callbacks.startswith(NEVER) or "#" in callbacks  # which cannot be confirmed
        assert signed_in.send("/admin/apps/new", {**sent, "sure": sure}).status_code == (422 if is_open else 200)
    ids = nora.found("oauth_app", "name:Callbacks")
    if callbacks.startswith(NEVER) or "#" in callbacks:
        assert ids == []
        return
    assert len(ids) == 1
    nora.remove("oauth_app", ids[0]).ok()


@pytest.mark.parametrize(
    ("endpoints", "found"),
    [
        ('"*"', []),
        ("records/ticket/*: [GET, PUT]", []),
        ("workers/me: GET", []),
        ("records/*/search: [GET, POST]", []),
        ("records/tikcet/*: GET", ["there is no record type 'tikcet'; did you mean 'ticket'?"]),
        ("workers/mee", ["'workers/mee' fits no endpoint; did you mean 'workers/me'?"]),
        ("/rest/workers/me.json",
         ["'rest/workers/me.json' fits no endpoint; write 'workers/me': rest/ and .json are left out"]),
        ("workers/me: DELETE", ["no endpoint that fits takes DELETE; offered are GET"]),
        ("records/*/search: [DELETE, PUT]", ["no endpoint that fits takes DELETE, PUT; offered are GET, POST"]),
    ],
)  # fmt: skip
def test_unknown_endpoints_are_reported_at_their_line(endpoints: str, found: list[str]) -> None:
    application.endpoints()
    written = f"a:\n  label: A\n  endpoints:\n    - {endpoints}\n"
    mistakes = scope_check.mistakes(written, partial(reach.doubt, registry.load()))
    assert mistakes == [(4, reason) for reason in found]


def test_repeated_keys_are_reported() -> None:
    written = "a:\n  label: A\n  label: B\n  endpoints: ['*']\n"
    assert scope_check.mistakes(written) == [(3, "'label' is already on line 2")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/rest/records/org/search.json", 200), ("PUT", "records/org/999999", 404), ("GET", "workers/me", 403),
     ("PATCH", "/rest/workers/me.json", 405), ("GET", "/rest/no/such.json?x=1", 404)],
)  # fmt: skip
def test_the_tester_predicts_the_api(
    method: str, path: str, status: int, signed_in: Visitor, nora: Api, app: App
) -> None:
    page = f"/admin/apps/{app.id}"
    told = signed_in.send(page, form(look="1", try_method=method, try_path=path)).text
    said = re.findall(r"<output>.*?</span> ([^<]+)</span></output>", told, re.DOTALL)[0]
    token = nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids["nora"], app_id=app.id, scopes="read write")
    below = path.removeprefix("/rest/").partition(".json")[0]
    client = Api(nora.url, token.ok()["access_token"], is_checked=False)
    assert client.call(method, f"/rest/{below}.json").status == status
    # Whether a record exists does not depend on scopes.
    assert said.startswith("allowed by") if "org" in path else str(status) in said


def test_changes_of_apps_tokens_and_addresses_are_in_the_audit_log(signed_in: Visitor, nora: Api) -> None:
    app = register(nora, name="Audited")
    page = f"/admin/apps/{app.id}"
    signed_in.send(f"{page}/rotate", {"overlap": "3600"})
    signed_in.send(f"{page}/end-secret", page=page)
    signed_in.send(page, form(name="Audited", scopes=READ))
    nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids["milo"], app_id=app.id, scopes="read").ok()
    signed_in.send("/admin/tokens/revoke", {"app": str(app.id)}, f"/admin/tokens/revoke?app={app.id}")
    hook = nora.create("webhook_listener", name="Audited").ok()["id"]
    signed_in.send(f"/automations/webhooks/{hook}/rotate", {"overlap": "0"})
    # The newest ones; other entries of this service are listed there too.
    shown = text(signed_in.get("/admin/system/audit?q=administrative:yes").text)
    told = re.findall(r'data-label="What">(?:<[^>]*>)*(Nora Berg [^<]*Audited[^<]*)', shown)
    assert sorted(told) == sorted([
        "Nora Berg gave the webhook Audited a new address",
        "Nora Berg created the webhook Audited",
        "Nora Berg revoked 2 tokens of Audited",
        "Nora Berg created a token of the app Audited for Milo Test: read",
        "Nora Berg changed the OAuth app Audited: scopes",
        "Nora Berg changed the OAuth app Audited: overlap_until",
        "Nora Berg changed the OAuth app Audited: client_secret, overlap_until",
        "Nora Berg created the OAuth app Audited",
    ])  # fmt: skip


def test_the_consent_question_is_previewed(signed_in: Visitor, app: App) -> None:
    shown = text(signed_in.get(f"/admin/apps/{app.id}").text)
    preview = re.findall(r'id="preview-title".*?</section>', shown, re.DOTALL)[0]
    assert "Look at orders" in preview and "They will be sent to https://stock.example." in preview
    assert re.search(r"<code>read</code> \d+ of \d+ endpoints", shown)
    assert "GET /rest/records/org/{id}.json" in shown and "GET /rest/records/ticket/" not in shown
    nobody = signed_in.send(f"/admin/apps/{app.id}", form(callback_url="nowhere", look="1"))
    assert "workers cannot be asked for consent" in text(nobody.text)


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("a page by keyboard alone")
def test_mistakes_are_reached_by_keyboard_alone(phone: Page, signed_in: Visitor, app: App) -> None:
    phone.goto(f"/admin/apps/{app.id}")
    assert violations(phone) == [] and not is_sideways(phone)
    phone.locator("#scopes").focus()
    phone.keyboard.press("Control+End")
    phone.keyboard.type("    - records/tikcet/*\n")
    expect(phone.locator("#scopes-mistakes")).to_contain_text("Line 9: there is no record type 'tikcet'")
    phone.keyboard.press("Control+Home")
    phone.keyboard.press("F8")
    assert phone.evaluate("document.activeElement.selectionStart") == len(READ + WRITE)
    phone.keyboard.press("Shift+Control+End")
    phone.keyboard.press("Delete")
    phone.locator("#callback_url").focus()
    phone.keyboard.press("Control+End")
    phone.keyboard.type("\n/nowhere")
    expect(phone.get_by_text("Line 2 must begin with https: or the scheme of an app.")).to_be_visible()
    phone.keyboard.press("Control+Enter")
    expect(phone.locator("#summary")).to_be_focused()
    expect(phone.locator("#callback_url-error")).to_contain_text("Line 2 must begin with https:")
    assert violations(phone) == [] and not is_sideways(phone)
    phone.get_by_role("button", name="Save anyway").focus()
    phone.keyboard.press("Enter")
    phone.wait_for_url("**/admin/apps")
    for path in ("rotate", "delete"):
        phone.goto(f"/admin/apps/{app.id}/{path}")
        assert violations(phone) == [] and not is_sideways(phone)


@WALK
def test_a_secret_is_replaced_without_scripts(chromium: Browser, server: Server, signed_in: Visitor, app: App) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, java_script_enabled=False) as plain:
        plain.goto(f"/admin/apps/{app.id}")
        plain.get_by_role("link", name="New secret").click()
        plain.select_option("#overlap", "604800")
        plain.get_by_role("button", name="Create new secret").click()
        secret = plain.locator("#client-secret").inner_text()
        assert known(server.url, App(app.id, app.client_id, secret)) == (200, "")
        plain.get_by_role("link", name="Done").click()
        plain.get_by_role("button", name="End now").click()
        plain.get_by_role("button", name="End now").click()
        expect(plain.locator("#toasts")).to_contain_text("The old secret no longer works.")
        assert secret not in plain.content() and known(server.url, app) == (401, "invalid_client")
