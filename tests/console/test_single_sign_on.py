"""A desk moves to sign-in only by a provider, and back: one walk in a browser, with a provider that is not ours."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.browser import Browser
from tests.console.test_passkeys import Key, enter_password
from tests.console.test_provider_sign_in import add_provider
from tests.service import PASSWORD, Server, command
from tests.sign_in.provider import Provider

NORA = "nora@desk.example"


@pytest.mark.exhaustive("a long walk through several pages")
def test_a_desk_moves_to_single_sign_on_and_an_administrator_who_is_locked_out_returns(
    chromium: Browser, tmp_path: Path
) -> None:
    """Ada is created by the provider in the right group, Kim is invited and uses a passkey, Nora finds the way back."""
    started = Server(tmp_path / "data", "--host", "localhost", env={"HELPDESK_OUTBOUND_ALLOW": "127.0.0.1"})
    nora = started.set_up()
    [support] = map(str, nora.found("group", "name:Support"))
    provider = Provider(started.url)
    with chromium.page(started.url, elsewhere=provider.issuer, refused="status of 4") as page:
        page.goto("/login?next=/admin/people/sign-in")
        enter_password(page, NORA)
        page.get_by_role("link", name="Keycloak").click()
        add_provider(page, provider)
        provider.order(account="ada", claims={"name": "Ada Lovelace", "groups": ["staff"]})
        page.get_by_role("button", name="Try sign-in").click()
        expect(page.locator("#trial")).to_contain_text("creates the worker Ada Lovelace")
        page.get_by_role("button", name="Turn on").click()
        expect(page.locator("h1 + .badge")).to_contain_text("on")

        with chromium.page(started.url, elsewhere=provider.issuer) as own:
            before = provider.order(account="ada")
            own.goto("/login")
            own.get_by_role("link", name="Sign in with Acme").click()
            own.wait_for_url("**/inbox**")
            assert provider.order() - before <= 2
        [ada] = nora.found("worker", "email:(email:ada@desk.example)")
        assert list(nora.record("worker", ada, expand="groups").ok()["groups"]) == [support]

        page.goto("/admin/people")
        page.get_by_role("link", name="Invite", exact=True).click()
        page.get_by_label("Email addresses").fill("kim@invited.example")
        page.get_by_label("Invitation", exact=True).select_option("link")
        page.get_by_role("button", name="Invite", exact=True).click()
        link = page.locator("code", has_text="/join/").inner_text()
        with chromium.page(started.url) as own:
            key = Key(own)
            own.goto(link)
            own.get_by_label("First name").fill("Kim")
            own.get_by_label("Password", exact=True).fill(PASSWORD)
            own.get_by_label("Password again").fill(PASSWORD)
            own.get_by_role("button", name="Accept and sign in").click()
            own.wait_for_url("**/inbox")
            own.goto("/account")
            own.get_by_role("link", name="New passkey").click()
            own.get_by_label("Name").fill("Kim's key")
            own.get_by_role("button", name="Create passkey").click()
            own.get_by_role("link", name="I saved them").click()
            own.context.clear_cookies()
            own.goto("/login?next=/account")  # the passkey is suggested for the address, and chosen at once
            expect(own.get_by_role("heading", level=1)).to_have_text("Account")
            key.remove()

        provider.order(account="nora", claims={"name": "Nora Berg"})
        page.context.clear_cookies(domain="127.0.0.1")  # the provider knows this browser as Ada's since the trial
        page.goto("/account")
        page.locator("#providers").get_by_role("button", name="Link").click()
        expect(page.locator("#providers")).to_contain_text(NORA)
        page.context.clear_cookies()
        page.goto("/login?next=/admin/people/sign-in")
        page.get_by_role("link", name="Sign in with Acme").click()
        page.get_by_role("button", name="Sign in with a provider only").click()
        page.get_by_role("dialog").get_by_role("button", name="Sign in with a provider only").click()
        expect(page.get_by_role("button", name="Allow passwords")).to_be_visible()
        page.context.clear_cookies()
        page.goto("/login")
        expect(page.get_by_label("Password", exact=True)).to_have_count(0)
        expect(page.locator("main")).to_contain_text("Passwords are turned off")
        provider.stop()
        back = command("worker", "sign-in-link", NORA, data=started.data).stdout.decode().strip()
        page.goto(back)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{started.url}/")
        page.goto("/admin/people/sign-in")
        page.get_by_role("button", name="Allow passwords").click()
        expect(page.get_by_role("button", name="Sign in with a provider only")).to_be_visible()
        page.context.clear_cookies()
        page.goto("/login?next=/account")
        enter_password(page, NORA)
        expect(page.get_by_role("heading", level=1)).to_have_text("Account")
    assert started.stop() == 0
