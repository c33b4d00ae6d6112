"""The page where a worker enters the code of a program, in a real browser, while the program polls."""

import pytest
import requests
from playwright.sync_api import Page, expect

from server.access.validator import DEVICE_GRANT
from tests.console.browser import NARROW, Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.oauth.apps import App, register
from tests.service import PASSWORD, Api
from tests.telling import WITH_AND_WITHOUT_SCRIPTS


@pytest.fixture(scope="module")
def terminal(nora: Api) -> App:
    return register(nora, name="Terminal", is_public=1, is_device_flow=1)


def _begin(nora: Api, app: App) -> dict[str, str]:
    form = {"client_id": app.client_id, "scope": "read"}
    response = requests.post(f"{nora.url}/oauth/device_authorization", form, timeout=60)
    assert response.status_code == 200, response.text
    codes: dict[str, str] = response.json()
    return codes


def _poll(nora: Api, app: App, codes: dict[str, str]) -> requests.Response:
    form = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"], "client_id": app.client_id}
    return requests.post(f"{nora.url}/oauth/token", form, timeout=60)


@pytest.mark.parametrize("scripts", WITH_AND_WITHOUT_SCRIPTS)
def test_a_worker_signs_in_and_allows(scripts: bool, chromium: Browser, nora: Api, terminal: App) -> None:
    codes = _begin(nora, terminal)
    with chromium.page(nora.url, size=NARROW, java_script_enabled=scripts) as page:
        page.goto(codes["verification_uri_complete"].removeprefix(nora.url))
        page.fill("#email", "nora@desk.example")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        expect(page.get_by_label("Code")).to_have_value(codes["user_code"])
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", name="Allow Terminal to act on your behalf?")).to_be_visible()
        expect(page.get_by_text("Look at orders")).to_be_visible()
        expect(page.get_by_text("127.0.0.1")).to_be_visible()
        assert not is_sideways(page)
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_role("heading", name="Terminal is signed in")).to_be_visible()
    entries = nora.search("activity_log", "activity:consent.given sort:-id limit:1").ok()["results"]
    assert "Terminal" in str(entries[0])
    tokens = _poll(nora, terminal, codes).json()
    header = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert requests.get(f"{nora.url}/rest/workers/me.json", headers=header, timeout=60).json()["first_name"] == "Nora"


@pytest.mark.exhaustive("every end of the page")
def test_a_worker_refuses(page: Page, nora: Api, terminal: App) -> None:
    codes = _begin(nora, terminal)
    page.goto("/oauth/device")
    page.get_by_label("Code").fill(codes["user_code"].lower())
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="You did not allow Terminal")).to_be_visible()
    response = _poll(nora, terminal, codes)
    assert (response.status_code, response.json()["error"]) == (400, "access_denied")


@pytest.mark.exhaustive("every end of the page")
def test_a_wrong_code_is_explained(page: Page) -> None:
    page.goto("/oauth/device")
    assert violations(page) == []
    page.get_by_label("Code").fill("XXXX-XXXX")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("This code is unknown or has expired")
    expect(page.get_by_label("Code")).to_have_value("XXXX-XXXX")
    assert violations(page) == []


def test_a_form_that_was_not_shown_decides_nothing(signed_in: Visitor, nora: Api, terminal: App) -> None:
    """Another page cannot make the worker allow a code that an attacker sent."""
    codes = _begin(nora, terminal)
    response = signed_in.send("/oauth/device", {"user_code": codes["user_code"], "answer": "allow", "seal": "0.x"})
    assert response.status_code == 422 and "this page has expired" in response.text.lower()
    assert _poll(nora, terminal, codes).json()["error"] == "authorization_pending"
