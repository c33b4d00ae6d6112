"""Unsaved input: stored on the server for its worker only, until it is saved or expires."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.context import Context
from server.errors import Invalid, TooLarge
from server.people import form_drafts
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place
from tests.records.desk import NOW, Desk
from tests.service import Api, Server
from tests.telling import WALK, telling


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(Path(tmp_path_factory.mktemp("drafts")))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ines(store: Desk) -> Context:
    return store.context(store.worker("ines"))


@pytest.fixture(scope="module")
def mara(store: Desk) -> Context:
    return store.context(store.worker("mara"))


def test_a_draft_is_visible_to_its_worker_only_and_gone_when_discarded(ines: Context, mara: Context) -> None:
    typed = [("name", "Ünïcode \udc80"), ("scopes[]", "a"), ("scopes[]", "b"), ("name", "last")]
    form_drafts.save(ines, "app:1", typed)
    found = form_drafts.load(ines, "app:1")
    assert found is not None and list(found.fields) == typed and found.updated_at == NOW
    assert (found.text("name"), found.texts("scopes[]"), found.text("other", "-")) == ("last", ["a", "b"], "-")
    assert form_drafts.load(mara, "app:1") is None and form_drafts.load(ines, "app:2") is None
    form_drafts.save(ines, "app:1", [("name", "later")])
    found = form_drafts.load(ines, "app:1")
    assert found is not None and list(found.fields) == [("name", "later")]
    assert (form_drafts.drop(mara, "app:1"), form_drafts.drop(ines, "app:1")) == (False, True)
    assert form_drafts.load(ines, "app:1") is None and not form_drafts.drop(ines, "app:1")


def test_secrets_are_never_stored(ines: Context) -> None:
    names = ("password", "password_again", "Client_Secret", "code", "shared_key", "fields[api_key]", "access_token")
    form_drafts.save(ines, "secrets", [(name, "hush") for name in names] + [("name", "x")])
    found = form_drafts.load(ines, "secrets")
    assert found is not None and list(found.fields) == [("name", "x")]


@pytest.mark.parametrize(
    ("key", "fields", "error"),
    [
        ("", [("a", "b")], Invalid),
        ("k" * (form_drafts.MAX_KEY_CHARS + 1), [], Invalid),
        ("k", [("a", "x" * form_drafts.MAX_DRAFT_CHARS)], TooLarge),
        ("k", [("a", "")] * (form_drafts.MAX_DRAFT_FIELDS + 1), TooLarge),
    ],
)
def test_excessive_drafts_are_refused(
    ines: Context, key: str, fields: list[tuple[str, str]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        form_drafts.save(ines, key, fields)


def test_drafts_expire_and_are_limited_in_number(store: Desk, mara: Context) -> None:
    for number in range(form_drafts.MAX_DRAFTS + 2):
        form_drafts.save(replace(mara, now=NOW + number), f"form:{number}", [("a", "b")])
    assert form_drafts.load(mara, "form:1") is None and form_drafts.load(mara, "form:2") is not None
    oldest = NOW + 2 + form_drafts.RETENTION_SECONDS
    assert form_drafts.load(replace(mara, now=oldest), "form:2") is None
    assert form_drafts.forget_old(store.service, oldest - 1) == oldest
    assert form_drafts.forget_old(store.service, oldest) == oldest + 1
    assert form_drafts.load(mara, "form:2") is None and form_drafts.load(mara, "form:3") is not None


# -- on pages ---------------------------------------------------------------------------------------------------------

NOTE = re.compile(r'<form [^>]*data-draft-note="([^"]*)"( hidden)?>')


def test_without_scripts_a_draft_is_shown_restored_and_discarded(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("webhook_listener", name="Plain").ok()["id"]
    page = f"/automations/webhooks/{id}"
    assert NOTE.findall(signed_in.get(page).text) == [(page, " hidden")]
    for fields in ('[["name", 1]]', '{"a": 1}', "[[1]]", "[1]"):
        assert signed_in.send("/-/draft", {"key": page, "fields": fields}, page=page).status_code == 422
    kept = signed_in.send("/-/draft", {"key": page, "fields": '[["name", "<b>typed"], ["other", "x"]]'}, page=page)
    assert kept.status_code == 200
    shown = signed_in.get(page).text
    assert NOTE.findall(shown) == [(page, "")] and 'value="Plain"' in shown
    taken = signed_in.get(page, params={"draft": page}).text
    assert 'value="&lt;b&gt;typed"' in taken and "not saved yet" in taken
    assert signed_in.send(page, {"name": "", "_draft": page}).status_code == 422
    assert NOTE.findall(signed_in.get(page).text) == [(page, "")]  # a refused form is not saved
    assert signed_in.send(page, {"name": "Saved", "automations_kata": "", "_draft": page}).status_code == 303
    assert NOTE.findall(signed_in.get(page).text) == [(page, " hidden")]
    signed_in.send("/-/draft", {"key": page, "fields": '[["name", "more"]]'}, page=page)
    assert place(signed_in.send("/-/draft/drop", {"_draft": page, "next": page}, page=page)) == page
    assert NOTE.findall(signed_in.get(page).text) == [(page, " hidden")]


@pytest.mark.parametrize(
    "path",
    telling(
        [
            "/admin/apps/new",
            "/admin/people/new",
            "/admin/packages",
            "/admin/fields/new?type=ticket&kind=S",
            "/admin/apps/{app}",
            "/admin/people/{milo}",
        ],
        ("/admin/apps/new", "/admin/people/{milo}"),
        "every long form",
    ),
)
def test_every_long_form_stores_its_input(signed_in: Visitor, nora: Api, path: str) -> None:
    path = path.format(**nora.ids)
    key, text = NOTE.findall(signed_in.get(path).text)[0][0].replace("&amp;", "&"), "typed words"
    assert key == path
    name = "package_json" if "packages" in path else "first_name" if "people" in path else "name"
    kept = signed_in.send("/-/draft", {"key": key, "fields": f'[["{name}", "{text}"]]'}, page="/account")
    assert kept.status_code == 200 and text not in signed_in.get(path).text
    assert text in signed_in.get(path, params={"draft": key}).text
    signed_in.send("/-/draft/drop", {"_draft": key}, page="/account")


@WALK
def test_typed_text_survives_a_closed_page_and_a_lost_connection(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    id = nora.create("webhook_listener", name="Typed").ok()["id"]
    path = f"/automations/webhooks/{id}"
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(path)
        note = page.locator("[data-draft-note]")
        expect(note).to_be_hidden()
        page.fill("#name", "Typed and left")
        expect(page.get_by_text("Stored as a draft")).to_be_visible()
        page.goto("/account")
        page.goto(path)
        expect(note).to_contain_text("You have an unsaved draft:")
        expect(page.locator("#name")).to_have_value("Typed")
        page.get_by_role("link", name="Restore draft").click()
        expect(page.locator("#name")).to_have_value("Typed and left")
        page.locator("form[data-guard] button[type=submit]").click()
        expect(page.locator("#toasts")).to_contain_text("Typed and left saved.")
        expect(note).to_be_hidden()
        page.route("**/-/draft", lambda route: route.fulfill(status=403))
        page.fill("#name", "Typed alone")
        expect(page.get_by_text("Stored in this browser")).to_be_visible()
        page.unroute("**/-/draft")
        page.reload()
        expect(note).to_be_visible()
        assert page.evaluate("localStorage.length") == 0
        page.get_by_role("button", name="Discard").click()
        expect(page.locator("#toasts")).to_contain_text("Draft discarded.")
        expect(note).to_be_hidden()
        page.route("**/-/draft", lambda route: route.fulfill(status=403))
        page.fill("#name", "Somebody else must not see it")
        expect(page.get_by_text("Stored in this browser")).to_be_visible()
        page.locator("form[action='/sign-out']").evaluate(
            "form => { form.addEventListener('submit', event => event.preventDefault()); form.requestSubmit(); }"
        )
        assert page.evaluate("localStorage.length") == 0
