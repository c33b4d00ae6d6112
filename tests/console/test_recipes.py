"""Recipes in the console: chosen, filled in, created completely or not at all, and opened in the editor."""

import re

import pytest
from playwright.sync_api import expect

from server.packages import recipes
from tests.console.browser import NARROW, PHONE, Browser, is_sideways, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api, Server
from tests.telling import WALK

BASE = "/automations/recipes"
SECRET = "signing-secret-of-the-tests"
FIELDS = {"p1": "no", "p3": "github@desk.example", "p4": SECRET}


def made(nora: Api, name: str) -> dict[str, int]:
    """Returns the number of records of each type with a name."""
    types = ("automation", "webhook_listener", "connected_account", "connected_service")
    return {each: nora.search(each, f'name:"{name}"').ok()["total"] for each in types}


def test_every_recipe_is_offered_and_has_its_form(signed_in: Visitor, nora: Api) -> None:
    assert f'href="{BASE}"' in signed_in.get("/automations/new").text
    listed = signed_in.get(BASE).text
    for name in recipes.names():
        each = recipes.recipe(name)
        assert f'href="{BASE}/{name}"' in listed and each.about in text_of(listed) and each.needs in text_of(listed)
        shown = signed_in.get(f"{BASE}/{name}")
        assert shown.status_code == 200 and f'href="/help/cookbook/{name}"' in shown.text
        prompts = each.package["package"]["configure"]["prompts"]
        assert [prompt for prompt in prompts if prompt["label"] not in text_of(shown.text)] == []
    assert signed_in.get(f"{BASE}/githup").status_code == 404
    assert signed_in.get(f"{BASE}/../starter").status_code == 404


def test_a_recipe_is_created_with_all_its_records(signed_in: Visitor, nora: Api) -> None:
    group = str(nora.ids["support"])
    path = f"{BASE}/github"
    response = signed_in.send(path, {**FIELDS, "p0": "hub.one", "p2": group})
    assert response.status_code == 303, text_of(response.text)
    [id] = nora.found("automation", 'name:"hub.one"')
    editor = signed_in.get(place(response)).text
    assert place(response) == f"/automations/{id}" and "hub.one created." in text_of(editor)
    assert set(made(nora, "hub.one").values()) == {1}
    [hook] = nora.found("webhook_listener", 'name:"hub.one"')
    binding = nora.record("webhook_listener", hook).ok()["automations_kata"]
    assert f"group_id: {group}" in binding and "disabled@bool: no" in binding and SECRET not in binding
    entries = nora.search("activity_log", "activity:package.imported sort:-id limit:1").ok()["results"]
    assert recipes.recipe("github").title in str(entries[0])


def test_a_recipe_is_created_disabled(signed_in: Visitor, nora: Api) -> None:
    signed_in.send(f"{BASE}/masking", {"p0": "mask.later", "p1": "yes"})
    [event] = nora.search("automation_event", 'name:"mail.filter"', expand="automations_kata").ok()["results"]
    assert "automation/mask_later:\n  uri: svc:automation:mask.later\n  disabled@bool: yes" in event["automations_kata"]


@pytest.mark.parametrize(("changes", "text"), [
    ({"p4": ""}, "Answer this question"), ({"p2": ""}, "Answer this question"), ({"p0": ""}, "Answer this question"),
    ({"p3": "nobody"}, "'nobody' is not one email address"), ({"p3": "a@b.example\nx: y"}, "is not one email address"),
    ({"p0": "a b"}, "must have at most 60 letters"), ({"p0": "x\n  y: z"}, "must have at most 60 letters"),
    ({"p0": HOSTILE}, "must have at most 60 letters"), ({"p0": "{{1}}"}, "must have at most 60 letters"),
    ({"p1": "maybe"}, "'maybe' is not offered"), ({"p2": "x"}, "'x' is not the id of a record"),
])  # fmt: skip
def test_an_invalid_value_creates_nothing_and_stays_in_the_form(
    signed_in: Visitor, nora: Api, changes: dict[str, str], text: str
) -> None:
    before = nora.search("automation").ok()["total"], nora.search("connected_account").ok()["total"]
    sent = {**FIELDS, "p0": "hub.wrong", "p2": str(nora.ids["support"])} | changes
    response = signed_in.send(f"{BASE}/github", sent)
    assert response.status_code == 422 and text in text_of(response.text), text_of(response.text)
    assert (nora.search("automation").ok()["total"], nora.search("connected_account").ok()["total"]) == before
    assert SECRET not in response.text or "p4" in changes
    assert HOSTILE not in response.text


def test_a_duplicate_name_is_reported_at_its_field(signed_in: Visitor, nora: Api) -> None:
    sent = {"p0": "mask.twice", "p1": "yes"}
    assert signed_in.send(f"{BASE}/masking", sent).status_code == 303
    again = signed_in.send(f"{BASE}/masking", sent)
    assert again.status_code == 422 and "This name is already taken" in text_of(again.text)
    assert len(nora.found("automation", 'name:"mask.twice"')) == 1


@WALK
@pytest.mark.parametrize("scripts", [True, False])
def test_a_recipe_in_a_browser_by_the_keyboard_and_on_a_phone(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, nora: Api, signed_in: Visitor, scripts: bool
) -> None:
    size = PHONE if scripts else NARROW
    name = f"form.{'phone' if scripts else 'plain'}"
    cookies = nora_in_a_browser.cookies
    with chromium.page(server.url, size, cookies, java_script_enabled=scripts, color_scheme="dark") as page:
        page.goto("/automations/new")
        page.get_by_role("link", name="Choose a recipe").click()
        if scripts:
            assert violations(page) == [] and not is_sideways(page)
        page.get_by_role("link", name="Receive a contact form").click()
        if scripts:
            assert violations(page) == [] and not is_sideways(page)
        page.get_by_label("Name of the automation").fill(name)
        page.get_by_label("Group", exact=True).select_option(str(nora.ids["support"]))
        page.get_by_label("Heading of the form").fill("Write to us")
        page.get_by_role("button", name="Create automation").press("Enter")
        expect(page).to_have_url(re.compile(r"/automations/[0-9]+$"))
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
