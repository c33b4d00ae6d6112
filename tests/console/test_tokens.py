"""The token generator in the console: its questions and warnings, the list, ending many tokens at once."""

import html
import re
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, expect

from server import clock
from server.access.tokens import TOKEN
from server.store.statements import slot
from tests.console.browser import Browser, is_sideways, violations
from tests.console.conftest import proven
from tests.console.visitor import Visitor, place
from tests.oauth.apps import READING, App, register
from tests.records.desk import Desk
from tests.service import Api, Server, command
from tests.telling import WALK

ME = "/rest/workers/me.json"


@pytest.fixture(scope="module")
def app(nora: Api) -> App:
    return register(nora, name="Nightly", scopes=READING)


def form(nora: Api, app: App, **changes: str) -> dict[str, str]:
    return {"app_id": str(app.id), "worker_id": str(nora.ids["milo"]), "expires": "8 hours", "scopes[]": "me",
            "label": "copies orders"} | changes  # fmt: skip


def made(signed_in: Visitor, sent: dict[str, str]) -> str:
    """Submits the form and returns the access token."""
    response = signed_in.send("/admin/tokens/new", sent)
    assert response.status_code == 200, response.text
    return re.findall(r"svc_at_[A-Za-z0-9_-]{43}", response.text)[0]


def row(page: str, token: str) -> str:
    """Returns the row of a token in a list."""
    found = re.findall(r"<tr>(?:(?!</tr>).)*?</tr>", page, re.DOTALL)
    return html.unescape(next(each for each in found if f"{token[:13]}…{token[-4:]}" in each))


def test_an_unchecked_scope_is_refused_by_name(signed_in: Visitor, nora: Api, app: App) -> None:
    shown = html.unescape(signed_in.get(f"/admin/tokens/new?app_id={app.id}").text)
    assert re.search(r"Know who you are \(1 of \d+ endpoints\)", shown) and 'list="presets"' in shown
    client = Api(nora.url, made(signed_in, form(nora, app)), is_checked=False)
    assert client.get(ME).ok()["id"] == nora.ids["milo"]
    refused = client.search("org")
    assert refused.status == 403 and "the scope 'orgs' does" in refused["message"]
    assert 'scope="orgs"' in refused.headers["WWW-Authenticate"]
    assert client.search("ticket")["message"].endswith("do not cover GET records/ticket/search")


def test_a_long_lifetime_is_confirmed_once(signed_in: Visitor, nora: Api, app: App) -> None:
    sent = form(nora, app, expires="13 months")
    asked = signed_in.send("/admin/tokens/new", sent)
    assert asked.status_code == 422 and "for more than a year" in asked.text
    assert not re.search("svc_at_[A-Za-z0-9_-]{43}", asked.text)
    assert re.search(r'name="scopes\[\]" value="me" checked', asked.text) and "13 months" in asked.text
    made(signed_in, {**sent, "sure": "1"})
    made(signed_in, form(nora, app, expires="1 year"))


def test_the_list_shows_creator_and_end_of_a_token(signed_in: Visitor, nora: Api, app: App, desk: Desk) -> None:
    soon, later = made(signed_in, form(nora, app)), made(signed_in, form(nora, app, expires="30 days"))
    listed = signed_in.get(f"/admin/tokens?app={app.id}&worker={nora.ids['milo']}").text
    assert "▲" in row(listed, soon) and "soon" in row(listed, soon) and "soon" not in row(listed, later)
    for word in ("by Nora Berg", "copies orders", "Nightly", "Milo Test", "never"):
        assert word in row(listed, soon), word
    assert soon not in listed and signed_in.get("/admin/tokens").headers["Cache-Control"] == "no-store"
    path = re.findall(r"/admin/tokens/\d+/revoke", row(listed, soon))[0]
    signed_in.send(path, page="/admin/tokens")
    table = TOKEN.sql
    desk.store.write(lambda tx: tx.run(lambda: table.update({table.expires_at: slot(0)}).where(
        table.prefix == slot(1)), (1_700_000_000, later[:13])))  # fmt: skip
    over = signed_in.get(f"/admin/tokens?app={app.id}&state=over").text
    assert "revoked" in row(over, soon) and "expired" in row(over, later) and "/revoke" not in row(over, later)
    assert "No token matches." in signed_in.get(f"/admin/tokens?app={app.id}&worker=999999").text


def test_a_token_of_the_command_line_is_shown_as_one(signed_in: Visitor, server: Server) -> None:
    token = command("token", "create", "--worker", "nora@desk.example", data=server.data).stdout.decode().strip()
    shown = row(signed_in.get("/admin/tokens").text, token)
    assert "command line" in shown and "by signing in" not in shown


def test_the_tokens_of_an_app_end_together(signed_in: Visitor, nora: Api) -> None:
    app = register(nora, name="Ends", scopes=READING)
    clients = [
        Api(nora.url, made(signed_in, form(nora, app, worker_id=str(nora.ids[name])))) for name in ("milo", "olga")
    ]
    question = signed_in.get(f"/admin/tokens/revoke?app={app.id}").text
    assert "Revoke all tokens of the app Ends?" in question and "4 tokens end now" in question
    assert "/admin/tokens/revoke?" in signed_in.get(f"/admin/tokens?app={app.id}").text
    page = f"/admin/tokens/revoke?app={app.id}"
    assert place(signed_in.send("/admin/tokens/revoke", {"app": str(app.id), "worker": ""}, page)) == ("/admin/tokens")
    assert [each.get(ME).status for each in clients] == [401, 401]
    assert "There are no valid tokens." in signed_in.get(page).text
    assert signed_in.get("/admin/tokens/revoke").status_code == 422
    assert signed_in.send("/admin/tokens/revoke", {"app": "", "worker": ""}, page).status_code == 422
    assert signed_in.get("/admin/tokens/revoke?app=999999").status_code == 404


def test_selected_tokens_end_after_the_password_was_given(signed_in: Visitor, nora: Api, app: App, desk: Desk) -> None:
    page = f"/admin/tokens?app={app.id}"
    clients = [Api(nora.url, made(signed_in, form(nora, app, label=f"chosen {name}"))) for name in "ba"]
    listed = signed_in.get(f"{page}&sort=label&columns=label,token").text
    letters = re.findall(r">chosen (.)<", listed)
    assert letters == sorted(letters) and set(letters) == {"a", "b"} and 'aria-sort="ascending"' in listed
    ids = [re.findall(r'name="ids\[\]" value="(\d+)"', row(listed, each.token))[0] for each in clients]
    sent = {"list": "/admin/tokens", "do": "revoke", "back": page, "ids[]": ids, "_sure": "1"}
    proven(desk, signed_in, 0)
    assert signed_in.send("/-/bulk", sent, page="/account").status_code != 303
    assert [each.get(ME).status for each in clients] == [200, 200]
    proven(desk, signed_in, clock.now())
    assert place(signed_in.send("/-/bulk", sent, page=page)) == page
    assert [each.get(ME).status for each in clients] == [401, 401]
    assert 'id="bulk"' not in signed_in.get(f"{page}&state=over").text
    told = signed_in.get(f"{page}&state=over&format=csv").text
    assert clients[0].token not in told and clients[0].token[:13] in told


def test_many_tokens_are_counted_and_shown_page_by_page(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    app = register(nora, name="Many", scopes=READING)
    desk.store.write(lambda tx: [tx.insert(TOKEN, {
        "kind": "access", "hash": f"many{number}", "prefix": "svc_at_many1", "app_id": app.id, "scopes": "me",
        "worker_id": nora.ids["olga"], "label": f"token {number:03}", "created_at": 1, "expires_at": 4_000_000_000,
    }) for number in range(510)])  # fmt: skip
    pages = [signed_in.get(f"/admin/tokens?app={app.id}&page={page}").text for page in (1, 21, 22)]
    assert "1–25 of 510" in pages[0] and "token 509" in pages[0] and "token 009" in pages[1] and "token" in pages[2]
    assert f"/admin/tokens?app={app.id}&amp;page=2" in pages[0] and "token 484" not in pages[0]
    assert "510 tokens end now" in signed_in.get(f"/admin/tokens/revoke?app={app.id}").text
    shown = Visitor(signed_in.url)
    shown.sign_in("olga@desk.example")
    assert "510" in re.findall(r'data-label="Active tokens">(\d+)<', shown.get("/account/apps").text)
    nora.remove("oauth_app", app.id).ok()


def test_users_of_an_app_and_apps_of_a_worker_are_shown_page_by_page(
    signed_in: Visitor, visitor: Visitor, nora: Api, desk: Desk
) -> None:
    first = register(nora, name="Paged 00", scopes=READING)
    ids = [first.id, *(register(nora, name=f"Paged {number:02}", scopes=READING).id for number in range(1, 27))]
    row = {"kind": "access", "prefix": "svc_at_paged", "worker_id": nora.ids["olga"], "created_at": 1,
           "expires_at": 4_000_000_000}  # fmt: skip
    desk.store.write(lambda tx: [
        tx.insert(TOKEN, {**row, "hash": f"paged{number}", "app_id": app_id, "scopes": f"me scope{number:02}"})
        for number, app_id in enumerate([first.id] * 27 + ids[1:])
    ])  # fmt: skip
    pages = [signed_in.get(f"/admin/apps/{first.id}?page={page}").text.partition('id="users"')[2] for page in (1, 2)]
    assert "scope24" in pages[0] and "scope25" not in pages[0] and "scope26" in pages[1]
    assert f"/admin/apps/{first.id}?page=2#users" in pages[0]
    visitor.sign_in("olga@desk.example")
    mine = [visitor.get(f"/account/apps?apps={page}").text.partition('id="tokens"')[0] for page in (1, 2)]
    assert "Paged 00" in mine[0] and "Paged 26" not in mine[0] and "Paged 26" in mine[1] and "?apps=2" in mine[0]
    for id in ids:
        nora.remove("oauth_app", id).ok()


def test_the_input_stays_when_the_scopes_of_another_app_are_shown(signed_in: Visitor, nora: Api, app: App) -> None:
    shown = signed_in.send("/admin/tokens/new", form(nora, app, choose="1", expires="3 days", label="<kept>")).text
    assert "Know who you are" in shown and 'value="3 days"' in shown and "&lt;kept&gt;" in shown
    assert re.search(rf'<option value="{nora.ids["milo"]}" selected', shown.partition('id="tokens"')[0])
    wrong = signed_in.send("/admin/tokens/new", form(nora, app, choose="1", app_id="Nowhere", label="kept"))
    assert wrong.status_code == 422 and "o record has exactly that name" in wrong.text and 'value="kept"' in wrong.text
    filtered = signed_in.get("/admin/tokens?app=Nowhere")
    assert filtered.status_code == 422 and 'id="app-error"' in filtered.text and "Clear the filter" in filtered.text


def test_workers_end_only_their_own_tokens(signed_in: Visitor, visitor: Visitor, nora: Api, app: App) -> None:
    mine, hers = made(signed_in, form(nora, app)), made(signed_in, form(nora, app, worker_id=str(nora.ids["nora"])))
    visitor.sign_in("milo@desk.example")
    listed = visitor.get("/account/apps").text
    assert "copies orders" in row(listed, mine) and f"{hers[:13]}…{hers[-4:]}" not in listed
    path = re.findall(r"/account/tokens/\d+/revoke", row(listed, mine))[0]
    assert signed_in.send(path, page="/account").status_code == 404
    assert visitor.send(path, page="/account").status_code == 303
    assert Api(nora.url, mine).get(ME).status == 401 and Api(nora.url, hers).get(ME).status == 200
    other = re.findall(r"/account/tokens/\d+/revoke", row(signed_in.get("/account/apps").text, hers))[0]
    assert visitor.send(other, page="/account").status_code == 404 and Api(nora.url, hers).get(ME).status == 200


# -- in a browser ------------------------------------------------------------------------------------------------------


@WALK
def test_a_token_is_created_by_keyboard_and_leaving_it_asks_once(phone: Page, signed_in: Visitor, app: App) -> None:
    phone.goto(f"/admin/tokens/new?app_id={app.id}")
    phone.locator("#scopes-1").focus()
    phone.keyboard.press("Space")
    phone.keyboard.press("Tab")
    phone.keyboard.press("Control+a")
    phone.keyboard.type("14 months")
    phone.keyboard.press("Control+Enter")
    expect(phone.get_by_text("for more than a year")).to_be_visible()
    assert violations(phone) == [] and not is_sideways(phone)
    phone.get_by_role("button", name="Create anyway").focus()
    phone.keyboard.press("Enter")
    expect(phone.get_by_role("heading", level=1)).to_have_text("Token created")
    assert violations(phone) == [] and not is_sideways(phone)
    phone.get_by_role("button", name="Test now").focus()
    phone.keyboard.press("Enter")
    expect(phone.get_by_text("Does not work (403)")).to_be_visible()
    expect(phone.locator("#answer")).to_contain_text("the scope 'me' does")
    asked: list[str] = []
    phone.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    phone.get_by_role("link", name="Back to tokens").focus()
    phone.keyboard.press("Enter")
    expect(phone.get_by_role("heading", level=1)).to_have_text("Token created")
    phone.keyboard.press("Enter")
    phone.wait_for_url("**/admin/tokens")
    assert asked == ["beforeunload"]


@pytest.mark.exhaustive("without scripts")
def test_the_tokens_are_downloaded_without_scripts(
    chromium: Browser, server: Server, nora: Api, signed_in: Visitor, tmp_path: Path
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, java_script_enabled=False) as plain:
        plain.goto("/admin/tokens/new")
        plain.fill("#label", "from a file")
        plain.get_by_role("button", name="Create token").click()
        with plain.expect_download() as coming:
            plain.get_by_role("link", name="Download as .env").click()
        coming.value.save_as(tmp_path / "helpdesk.env")
        assert coming.value.suggested_filename == "helpdesk.env"
        values = dict(line.split("=", 1) for line in (tmp_path / "helpdesk.env").read_text().splitlines())
        assert list(values) == ["HELPDESK_URL", "HELPDESK_TOKEN", "HELPDESK_REFRESH_TOKEN"]
        headers = {"Authorization": f"Bearer {values['HELPDESK_TOKEN']}"}
        assert requests.get(values["HELPDESK_URL"] + ME, headers=headers, timeout=60).status_code == 200
        plain.get_by_role("link", name="Back to tokens").click()
        assert values["HELPDESK_TOKEN"] not in plain.content()
        plain.select_option("#worker", str(nora.ids["nora"]))
        plain.get_by_role("button", name="Show", exact=True).click()
        plain.get_by_role("link", name="Revoke all of these").click()
        expect(plain.get_by_role("heading", level=1)).to_have_text("Revoke all tokens of Nora Berg?")
        plain.get_by_role("link", name="Cancel").click()
        expect(plain.get_by_role("heading", level=1)).to_have_text("Tokens")
