"""The consent page of an app in a real browser: what its policy allows, and what people see.

Its rules are tested in tests/oauth. The app's site is not reachable; that the browser requests it is enough."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from tests.console.browser import PHONE, Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.oauth.apps import CALLBACK, App, challenge, register
from tests.service import PASSWORD, Api
from tests.telling import WITH_AND_WITHOUT_SCRIPTS

SITE = CALLBACK.removesuffix("/back")
REMEMBERING = "/admin/system/settings/oauth_remember_consent"
BACK = re.compile(re.escape(CALLBACK) + r"\?code=")


@pytest.fixture(scope="module")
def app(nora: Api) -> App:
    """A confidential app; its callback is another site."""
    return register(nora)


def _address(app: App, **changes: str) -> str:
    sent = {
        "response_type": "code", "client_id": app.client_id, "scope": "read write", "state": "s1",
        "code_challenge": challenge(), "code_challenge_method": "S256",
    } | changes  # fmt: skip
    return f"/oauth/authorize?{urlencode(sent)}"


def _arrive(page: Page, app: App, **changes: str) -> None:
    """Opens the consent page and signs in on the way."""
    page.goto(_address(app, **changes))
    page.fill("#email", "nora@desk.example")
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url("**/oauth/authorize?*")


@pytest.mark.parametrize("scripts", WITH_AND_WITHOUT_SCRIPTS)
def test_a_worker_signs_in_allows_and_reaches_the_app(
    scripts: bool, chromium: Browser, nora: Api, signed_in: Visitor
) -> None:
    app = register(nora)
    with chromium.page(nora.url, elsewhere=SITE, java_script_enabled=scripts) as page:
        _arrive(page, app)
        with page.expect_request(BACK):
            page.get_by_role("button", name="Allow").click()
    # With remembered consent there is no question. The sign-in form may only lead to us, so a page of ours redirects.
    signed_in.send(REMEMBERING, {"oauth_remember_consent": "1"})
    with chromium.page(nora.url, elsewhere=SITE, java_script_enabled=scripts) as page, page.expect_request(BACK):
        _arrive(page, app)
    signed_in.send(REMEMBERING, {})
    with chromium.page(nora.url, elsewhere=SITE, java_script_enabled=scripts) as page:
        _arrive(page, app)
        page.get_by_text("You allowed it before. It is asking again.").wait_for()


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_worker_refuses_by_keyboard(chromium: Browser, nora: Api, app: App) -> None:
    with chromium.page(nora.url, elsewhere=SITE) as page:
        _arrive(page, app)
        assert page.evaluate("document.activeElement.textContent.trim()") != "Allow"
        page.get_by_role("button", name="Cancel").focus()
        with page.expect_request(re.compile(re.escape(CALLBACK) + r"\?error=access_denied&")):
            page.keyboard.press("Enter")


@pytest.mark.exhaustive("on a phone and in the dark")
def test_the_page_is_accessible(chromium: Browser, nora: Api, app: App, signed_in: Visitor) -> None:
    with chromium.page(nora.url, PHONE, signed_in.cookies, color_scheme="dark") as page:
        page.goto(_address(app))
        assert "Look at orders" in page.inner_text("main") and not is_sideways(page)
        assert violations(page) == []
        page.goto(_address(app, client_id="nobody"))
        assert "No app has this client_id" in page.inner_text("main") and violations(page) == []
