"""Signing in with a provider in a browser: its policies for forms and redirects are only enforced there."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import NARROW, Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server, people
from tests.sign_in.provider import CLIENT, Provider

pytestmark = pytest.mark.exhaustive("a walk through pages that have tests of their own")

SETTINGS = "/admin/people/sign-in"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("browser") / "data", env={"HELPDESK_OUTBOUND_ALLOW": "127.0.0.1"})
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    client = server.set_up()
    people(client)
    return client


@pytest.fixture(scope="module")
def provider(server: Server) -> Iterator[Provider]:
    started = Provider(server.url)
    yield started
    started.stop()


def check(page: Page) -> None:
    """Asserts that a page has no barriers, also on a phone."""
    assert violations(page) == []
    size = page.viewport_size
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert not is_sideways(page)
    if size is not None:
        page.set_viewport_size(size)


def add_provider(page: Page, provider: Provider) -> None:
    """Fills in the form of a new provider, whose claim `staff` leads to Support, and submits it."""
    page.fill("#label", "Acme")
    page.fill("#issuer", provider.issuer)
    page.fill("#client_id", CLIENT["client_id"])
    page.fill("#client_secret", CLIENT["client_secret"])
    page.fill("#domains", "desk.example")
    page.check("#ends_at_provider")
    page.fill("#claim0", "groups")
    page.fill("#value0", "staff")
    page.fill("#target0", "Member of Support")
    page.get_by_role("button", name="Add provider").click()


def test_an_administrator_adds_a_provider_and_workers_sign_in_and_out_with_it(
    chromium: Browser, server: Server, nora: Api, provider: Provider
) -> None:
    admin = Visitor(server.url)
    admin.sign_in()
    with chromium.page(server.url, elsewhere=provider.issuer, cookies=admin.cookies) as page:
        page.goto(SETTINGS)
        check(page)
        page.get_by_role("link", name="Keycloak").click()
        expect(page.locator("pre").first).to_have_text(f"{server.url}/sign-in/callback/keycloak")
        check(page)
        add_provider(page, provider)
        provider.order(account="ada", claims={"name": "Ada Lovelace", "groups": ["staff"]})
        page.get_by_role("button", name="Try sign-in").click()
        trial = page.locator("#trial")
        expect(trial).to_contain_text("creates the worker Ada Lovelace with the address ada@desk.example")
        expect(trial).to_contain_text("yes Member of Support")
        check(page)
        page.get_by_role("button", name="Turn on").click()
        expect(page.locator("h1 + .badge")).to_contain_text("on")
    with chromium.page(server.url, elsewhere=provider.issuer) as page:
        page.goto("/account")
        check(page)
        page.get_by_role("link", name="Sign in with Acme").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Account")
        expect(page.locator("#providers")).to_contain_text("ada@desk.example")
        page.locator(".menu > summary").click()
        page.locator(".menu").get_by_role("button", name="Sign out").click()
        page.get_by_role("button", name="Leave the provider").click()
        expect(page.locator("main")).to_contain_text("You are signed out.")
        page.goto("/account")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
