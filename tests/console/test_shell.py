"""Parts that every page shares: late forms, messages with undo, the jump, keys, choosers."""

import base64
import html
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.http.navigation import PLACES
from server import clock
from server.access import sessions
from tests.console.browser import Browser, sign_in, violations
from tests.console.conftest import proven
from tests.console.visitor import Visitor, place
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server
from tests.telling import WALK

OURS = {"Sec-Fetch-Site": "same-origin"}
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
SCOPES = 'a:\n  label: A\n  endpoints:\n    - "records/ticket/*"\n'
APP = {"name": "Kept app", "callback_url": "https://kept.example/back", "scopes": "", "do": "save"}


def again(page: str) -> dict[str, str]:
    """Returns the fields of the page that offers to submit a form again."""
    form = re.search(r'<form method="post"[^>]*class="card".*?</form>', page, re.DOTALL)
    assert form is not None, page
    return {html.unescape(name): html.unescape(text) for name, text in HIDDEN.findall(form[0])}


def apps(nora: Api) -> list[int]:
    return nora.found("oauth_app", 'name:"Kept app"')


# -- late forms -------------------------------------------------------------------------------------------------------


def test_a_form_that_needs_the_password_is_done_once_it_is_given(visitor: Visitor, desk: Desk, nora: Api) -> None:
    visitor.sign_in()
    form = {**APP, "_xsrf": visitor.token("/account")}
    proven(desk, visitor, clock.now() - sessions.STEP_UP_SECONDS)
    asked = visitor.post("/admin/apps/new", {**form, "client_secret": "hush"})
    assert asked.status_code == 403 and "Confirm your identity" in asked.text and "hush" not in asked.text
    assert re.search(r'<input(?=[^>]*type="password")[^>]*name="client_secret"', asked.text)
    before, carried = visitor.cookies["sid"], again(asked.text)
    wrong = visitor.post("/admin/apps/new", {**carried, "_proof": "wrong"})
    assert wrong.status_code == 422 and "is wrong" in wrong.text and not apps(nora)
    own = {"_xsrf": carried["_xsrf"]}  # each page has its own token
    assert again(wrong.text) | own == carried
    done = visitor.post("/admin/apps/new", {**carried, "_proof": PASSWORD})
    assert done.status_code in (200, 303) and len(apps(nora)) == 1 and visitor.cookies["sid"] != before
    nora.remove("oauth_app", apps(nora)[0]).ok()


def test_a_form_of_a_signed_out_worker_is_done_after_sign_in(visitor: Visitor, nora: Api) -> None:
    visitor.sign_in()
    form = {**APP, "_xsrf": visitor.token("/account"), "more[a][b]": "kept", "list[]": ["x", "y"]}
    visitor.session.cookies.clear()
    asked = visitor.post("/admin/apps/new", form, headers=OURS)
    carried = again(asked.text)
    assert asked.status_code == 403 and carried["more[a][b]"] == "kept" and carried["name"] == "Kept app"
    assert asked.text.count('name="list[]"') == 2
    proof = {**carried, "_email": "nora@desk.example"}
    nobody = visitor.post("/admin/apps/new", {**proof, "_proof": "wrong"}, headers=OURS)
    assert nobody.status_code == 422 and 'value="nora@desk.example"' in nobody.text and not apps(nora)
    other = {**carried, "_email": "milo@desk.example", "_proof": PASSWORD}
    assert visitor.post("/admin/apps/new", other, headers=OURS).status_code == 403 and not apps(nora)
    visitor.session.cookies.clear()
    carried = again(visitor.post("/admin/apps/new", form, headers=OURS).text)
    done = visitor.post("/admin/apps/new", {**carried, "_email": "nora@desk.example", "_proof": PASSWORD}, headers=OURS)
    assert done.status_code in (200, 303) and len(apps(nora)) == 1 and visitor.is_in
    nora.remove("oauth_app", apps(nora)[0]).ok()


def test_a_proof_from_elsewhere_signs_no_one_in(visitor: Visitor) -> None:
    form = {**APP, "_email": "nora@desk.example", "_proof": PASSWORD}
    visitor.get("/login")
    for token in ("", "0" * 40):
        response = visitor.post("/admin/apps/new", {**form, "_xsrf": token}, headers=OURS)
        assert response.status_code == 403 and not visitor.is_in
    response = visitor.post("/admin/apps/new", form, headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403 and not visitor.is_in


# -- messages with undo -----------------------------------------------------------------------------------------------


def undo_of(page: str) -> tuple[str, list[tuple[str, str]]]:
    """Returns the path and the fields of the Undo that a page shows."""
    form = re.search(r'<div class="toast">.*?<form method="post" action="([^"]*)".*?</form>', page, re.DOTALL)
    assert form is not None, page[-3000:]
    return html.unescape(form[1]), [(html.unescape(a), html.unescape(b)) for a, b in HIDDEN.findall(form[0])]


SAVED: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("group", "/admin/people/groups/{}", {"name": "Undone"}, {"name": "Before"}),
    ("bucket", "/admin/people/buckets/{}", {"name": "Undone"}, {"name": "Before", "group_id": "{group}"}),
    ("role", "/admin/people/roles/{}", {"name": "Undone", "privs_mode": "itemized", "privs": ""}, {
        "name": "Before", "privs_mode": "itemized", "privs": [
        "contexts.svc.contexts.org.create", "contexts.svc.contexts.org.delete"]}),
    ("oauth_app", "/admin/apps/{}", {"name": "Undone", "callback_url": "https://undone.example/", "scopes": SCOPES}, {
        "name": "Before", "callback_url": "https://before.example/", "scopes": SCOPES}),
    ("custom_field", "/admin/fields/{}", {"name": "Undone", "uri": "undone", "options": "X"}, {
        "name": "Before", "uri": "undone_before", "type": "D", "context": "org",
        "params": {"options": [f"Option number {number}" for number in range(60)]}}),
    ("webhook_listener", "/automations/webhooks/{}", {"name": "Undone", "automations_kata": ""}, {
        "name": "Before", "automations_kata": "# ünïcode\n" + "# many words\n" * 300}),
]  # fmt: skip


@pytest.mark.parametrize(("uri", "path", "change", "before"), SAVED, ids=[each[0] for each in SAVED])
def test_a_saved_change_can_be_undone(
    signed_in: Visitor, nora: Api, uri: str, path: str, change: dict[str, Any], before: dict[str, Any]
) -> None:
    group = nora.search("group", "default:yes").ok()["results"][0]["id"]
    fields = {name: str(group) if text == "{group}" else text for name, text in before.items()}
    id = nora.create(uri, **fields).ok()["id"]
    stored, page = nora.record(uri, id).ok().json, path.format(id)
    saved = signed_in.send(page, change)
    assert saved.status_code == 303, re.findall(r'<div class="summary.*?</div>', saved.text, re.DOTALL)
    assert nora.record(uri, id).ok()["name"] == "Undone"
    target, sent = undo_of(signed_in.get("/account").text)
    assert target == page and "toast" not in signed_in.get("/account").text.split("toasts")[1]
    assert signed_in.post(target, sent).status_code == 303
    after = nora.record(uri, id).ok().json
    assert {name: each for name, each in after.items() if not name.startswith("updated")} == {
        name: each for name, each in stored.items() if not name.startswith("updated")
    }
    nora.remove(uri, id).ok()


def test_disabling_a_worker_and_moving_a_field_can_be_undone(signed_in: Visitor, nora: Api) -> None:
    id, page = nora.ids["olga"], f"/admin/people/{nora.ids['olga']}"
    for path in (f"{page}/disable", f"{page}/enable"):
        was = nora.record("worker", id).ok()["is_disabled"]
        if path.endswith("enable"):
            nora.update("worker", id, is_disabled=1).ok()
            was = 1
        assert signed_in.send(path, {"tickets": "keep"}, page=page).status_code == 303
        target, sent = undo_of(signed_in.get(page).text)
        assert nora.record("worker", id).ok()["is_disabled"] != was
        assert signed_in.post(target, sent).status_code == 303
        assert nora.record("worker", id).ok()["is_disabled"] == was
    nora.update("worker", id, is_disabled=0, password=PASSWORD).ok()


def test_irreversible_actions_ask_first_without_scripts_too(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("webhook_listener", name="Asked <b>first").ok()["id"]
    page = f"/automations/webhooks/{id}"
    form = re.search(rf'<form method="post" action="{page}/delete".*?</form>', signed_in.get(page).text, re.DOTALL)
    assert form is not None
    fields = {name: html.unescape(text) for name, text in HIDDEN.findall(form[0])}
    headers = {"Referer": f"{signed_in.url}{page}?page=2"}
    asked = signed_in.post(f"{page}/delete", fields, headers=headers)
    assert asked.status_code == 422 and "Delete Asked &lt;b&gt;first" in asked.text
    assert f'href="{page}?page=2">Cancel' in asked.text and nora.record("webhook_listener", id).status == 200
    form = re.search(r'<form method="post" action="[^"]*" class="row"[^>]*>.*?</form>', asked.text, re.DOTALL)
    assert form is not None
    done = signed_in.post(f"{page}/delete", {name: html.unescape(text) for name, text in HIDDEN.findall(form[0])})
    assert done.status_code == 303 and nora.record("webhook_listener", id).status == 404


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


PNG = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 60, 60, 8, 0, 0, 0, 0)) + _chunk(
    b"IDAT", zlib.compress(b"\0" * 61 * 60)) + _chunk(b"IEND", b"")  # fmt: skip

# -- pictures ---------------------------------------------------------------------------------------------------------


def test_pictures_are_shown_to_readers_of_the_record(
    signed_in: Visitor, visitor: Visitor, nora: Api, server: Server
) -> None:
    id = nora.create("org", name="Acme <b>Works").ok()["id"]
    address = nora.record("org", id).ok()["_image_url"].removeprefix(server.url)
    assert place(visitor.get(address)).startswith("/login?next=%2Favatars")
    drawn = signed_in.get(address)
    assert drawn.headers["Content-Type"] == "image/svg+xml" and drawn.headers["X-Content-Type-Options"] == "nosniff"
    assert ">A</text>" in drawn.text and "sandbox" in drawn.headers["Content-Security-Policy"]
    nora.update("org", id, image=f"data:image/png;base64,{base64.b64encode(PNG).decode()}").ok()
    address = nora.record("org", id).ok()["_image_url"].removeprefix(server.url)
    given = signed_in.get(address)
    assert given.headers["Content-Type"] == "image/png" and given.content == PNG
    assert given.headers["Cache-Control"] == "private, max-age=86400"
    assert signed_in.get(address + "1").headers["Cache-Control"] == "private, max-age=60"
    for path, status in ((f"/avatars/org/{id + 1000}", 404), ("/avatars/nothing/1", 404), ("/avatars/ticket/1", 404)):
        assert signed_in.get(path).status_code == status, path


# -- what scripts add -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(chromium: Browser, server: Server, nora: Api) -> Iterator[Page]:
    """Nora in a browser, signed in just now."""
    with chromium.page(server.url) as opened:
        opened.on("dialog", lambda dialog: dialog.accept())
        sign_in(opened)
        yield opened


@WALK
def test_a_late_form_is_done_in_the_browser(page: Page, desk: Desk, nora: Api) -> None:
    page.goto("/admin/apps/new")
    page.fill("#name", "Kept app")
    page.fill("#callback_url", "https://kept.example/back")
    table = sessions.SESSION.sql
    desk.store.write(lambda tx: tx.run(lambda: table.update({table.stepped_up_at: 0}), ()))
    page.get_by_role("button", name="Create app").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your identity")
    assert violations(page) == []
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text("is wrong")
    page.fill("#_proof", PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Kept app")
    id = apps(nora)[0]
    page.context.clear_cookies()
    page.goto("/login")
    sign_in(page)
    page.goto(f"/admin/apps/{id}")
    page.fill("#url", "https://kept.example")
    page.context.clear_cookies()
    page.locator("[data-save]").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to continue")
    assert violations(page) == []
    page.fill("#_email", "nora@desk.example")
    page.fill("#_proof", PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Kept app saved")
    assert nora.record("oauth_app", id).ok()["url"] == "https://kept.example"
    nora.remove("oauth_app", id).ok()


def test_a_message_stays_while_it_is_used_and_is_undone_by_a_key(page: Page, nora: Api) -> None:
    page.clock.install()
    page.goto("/account")
    page.clock.run_for(11_000)  # lets a message of another test disappear
    before = page.input_value("#first_name")
    page.fill("#first_name", "Eleonora")
    page.get_by_role("button", name="Save profile").click()
    toast = page.locator(".toast")
    expect(toast).to_contain_text("saved")
    page.wait_for_load_state()  # keys do nothing before the scripts have run
    page.locator("h1").focus()
    page.keyboard.press("F6")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert violations(page, part="#toasts") == []
    page.clock.run_for(30_000)
    expect(toast).to_be_visible()
    page.keyboard.press("F6")
    page.clock.run_for(9_000)
    expect(toast).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator("#first_name")).to_have_value(before)
    expect(toast).to_be_visible()
    page.clock.run_for(11_000)
    expect(toast).to_have_count(0)


def test_jumping_and_the_keys_of_the_list(page: Page, nora: Api) -> None:
    page.goto("/account")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Jump to")
    expect(box).to_be_focused()
    page.keyboard.type("shop.echo")
    expect(page.get_by_role("option", name="shop.echo Automation")).to_have_attribute("aria-selected", "true")
    assert violations(page, part="#jump") == []
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/automations/{nora.ids['automation']}")
    page.goto("/")
    for keys, path in ((("g", "s"), "/admin/system"), (("g", "a"), "/automations"), (("g", "h"), "/")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"**{path}")
    page.keyboard.press("Control+k")
    page.keyboard.type("nothing-has-this-name")
    expect(page.locator("#jump [role=status]")).to_have_text("No matches.")
    page.keyboard.press("Escape")
    expect(page.locator("#jump")).to_be_hidden()


def test_the_jump_finds_everything_with_a_name(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    for q, path in (
        ("shop.echo", f"/automations/{nora.ids['automation']}"), ("<script>", f"/admin/apps/{nora.ids['app']}"),
        ("milo", f"/admin/people/{nora.ids['milo']}"), ("session_days", "/admin/system/settings?q=session_days"),
        ("kata", "/help/kata"), ("audit", "/admin/system/audit"), ("tickets", "/search/ticket"),
        ("reminders", "/reminders"), ("snooze", "/reminders"), ("canned replies", "/snippets"),
        ("macro", "/help/desk#macros"), ("queue", "/search/bucket"), ("sla", "/admin/targets"),
        ("vacation", "/account#absence"), ("out of office", "/help/desk#away"), ("2fa", "/account/second-factor"),
        ("replying by email", "/help/desk#notifications-and-replying-by-email"), ("customers", "/search/contact"),
        ("undo send", "/admin/system/settings?q=undo_send_seconds"), ("all records", "/records"),
        ("be cancelled", "/admin/system/settings?q=undo_send_seconds"), ('zzz")(', ""), ("x" * 5000, ""),
    ):  # fmt: skip
        shown = signed_in.get("/jump", params={"q": q})
        assert shown.status_code == 200 and (f'href="{path}"' in shown.text or not path), q
        hits = signed_in.get("/-/jump", params={"q": q}).json()["hits"]
        assert bool(hits) == bool(path), q
    visitor.sign_in("milo@desk.example")
    hits = visitor.get("/-/jump", params={"q": "a"}).json()["hits"]
    assert hits and not [each for each in hits if each["path"].startswith("/admin")]
    assert {each["kind"] for each in hits} <= {"Page", "List", "Help", "Ticket", "Contact", "Address", "Organization"}


@pytest.mark.exhaustive("every entry of the rail")
def test_every_place_and_key_leads_to_a_page(signed_in: Visitor) -> None:
    for each in PLACES:
        assert signed_in.get(each.path.partition("#")[0]).status_code in (200, 303), each.path
        hits = signed_in.get("/-/jump", params={"q": each.label}).json()["hits"]
        assert each.path in [hit["path"] for hit in hits], each.path
    shown = html.unescape(signed_in.get("/").text)
    places = dict(re.findall(r'data-go="([^"]*)" data-key="g (.)"', shown))
    assert len(set(places.values())) == len(places) >= 10
    for path in places:
        assert signed_in.get(path).status_code == 200, path


# -- long lists -------------------------------------------------------------------------------------------------------


def test_a_long_list_is_a_search_field(page: Page) -> None:
    page.goto("/-/ui")
    box, sent = page.locator("input#good-list"), page.locator("select#good-list-list")
    expect(box).to_have_attribute("role", "combobox")
    expect(box).to_have_value("Worker 7")
    expect(sent).to_be_hidden()
    box.click()
    options = page.get_by_role("listbox", name="A choice from a long list").get_by_role("option")
    expect(options).to_have_count(30)
    expect(page.get_by_role("option", name="Worker 7")).to_have_attribute("aria-selected", "true")
    assert violations(page, part="main") == []
    page.keyboard.type("2 work")
    expect(options).to_have_text(["Worker 2", "Worker 12", *(f"Worker {each}" for each in range(20, 30))])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value("Worker 12")
    expect(sent).to_have_value("12")
    expect(options.first).to_be_hidden()
    box.fill("worker 3")
    page.keyboard.press("Tab")
    expect(box).to_have_value("Worker 3")
    expect(sent).to_have_value("3")
    box.fill("nobody")
    expect(page.get_by_text("No matches.")).to_be_visible()
    assert box.evaluate("each => each.validationMessage") == "Choose one from the list."
    page.keyboard.press("Tab")
    expect(box).to_have_value("Worker 3")
    assert box.evaluate("each => each.validationMessage") == ""


# -- scripts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/inbox", "/compose", "/automations/new", "/automations/log"])
def test_a_page_names_each_module_that_its_scripts_import(visitor: Visitor, path: str) -> None:
    """A browser then loads all of them in parallel, instead of discovering one after the other."""
    visitor.sign_in()
    page = visitor.get(path).text
    scripts = re.findall(r'<script type="module" src="([^"]+)"', page)
    named = {*scripts, *re.findall(r'<link rel="modulepreload" href="([^"]+)"', page)}
    assert len(scripts) >= 2
    wanted, imported = list(scripts), set()
    while wanted:
        address = wanted.pop()
        folder = address.rpartition("/")[0]
        source = visitor.get(address).text
        for name in re.findall(r'^import (?:.* from )?"\./(.+?)";', source, re.MULTILINE):
            if f"{folder}/{name}" not in imported:
                imported.add(f"{folder}/{name}")
                wanted.append(f"{folder}/{name}")
    assert imported and imported <= named
