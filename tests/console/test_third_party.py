"""A worker signs in to a third-party program through the helpdesk, and revokes its access."""

from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, is_sideways, violations
from tests.console.third_party import ThirdParty, third_party
from tests.console.visitor import Visitor
from tests.oauth.apps import READING, VERIFIER, answer_of, register
from tests.oauth.browser import Browser as Plain
from tests.service import PASSWORD, Api, Server

HELLO = "Hello Milo Test"


@pytest.fixture(scope="module")
def stock(server: Server, nora: Api) -> Iterator[ThirdParty]:
    """The program, registered by nora."""
    with pytest.MonkeyPatch.context() as patched, third_party(server.url) as app:
        patched.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
        made = register(
            nora, url="https://stock.example", callback_url=f"{app.url}/back", scopes=READING, is_pkce_required=1
        )
        app.client_id, app.secret = made.client_id, made.secret
        nora.ids["stock"] = made.id
        yield app


def expect_status(page: Page, text: str) -> None:
    expect(page.locator("#told")).to_have_text(text)


@pytest.mark.exhaustive("an app of another site, from sign-in to the end of its token")
def test_a_worker_signs_in_refreshes_and_revokes_in_a_second_tab(
    chromium: Browser, server: Server, stock: ThirdParty, nora: Api, signed_in: Visitor
) -> None:
    with chromium.page(server.url, elsewhere=stock.url) as page:
        page.goto(stock.url)
        page.get_by_role("link", name="sign-in").click()
        page.fill("#email", "milo@desk.example")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Allow Stock to access your account?")
        expect(page.locator("main")).to_contain_text(f"You will be sent to {stock.url}")
        page.get_by_text("Show requests").click()
        expect(page.locator("main")).to_contain_text("workers/me GET")
        assert page.evaluate("document.activeElement.textContent.trim()") != "Allow"
        page.get_by_role("button", name="Allow").dblclick()  # impatiently
        expect_status(page, HELLO)
        for link, text in (("call", HELLO), ("refresh", "Refreshed"), ("call", HELLO)):
            page.get_by_role("link", name=link).click()
            expect_status(page, text)
        used = signed_in.get(f"/admin/apps/{nora.ids['stock']}").text
        assert "Milo Test" in used and "just now" in used[used.index('id="secrets"') : used.index('id="users"')]

        tab = page.context.new_page()
        tab.goto("/account/apps")
        row = tab.locator("table").first.get_by_role("row", name="Stock")
        expect(row).to_contain_text("Know who you are")
        assert violations(tab) == [] and not is_sideways(tab)
        row.get_by_role("button", name="Revoke").click()
        tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(tab.locator("#toasts")).to_contain_text("can no longer act on your behalf")
        expect(row).to_have_count(0)
        page.get_by_role("link", name="call").click()
        expect_status(page, "The API says 401")

        page.get_by_role("link", name="sign-in").click()
        page.get_by_role("button", name="Cancel").focus()
        page.keyboard.press("Enter")
        expect_status(page, "Not signed in: access_denied")
        page.get_by_role("link", name="sign-in").click()
        page.get_by_role("button", name="Use another account").click()
        page.fill("#email", "olga@desk.example")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        expect(page.locator("main")).to_contain_text("wants to act on your behalf, Olga")


@pytest.mark.exhaustive("an app of another site, from sign-in to the end of its token")
def test_a_new_scope_is_marked_and_it_works_without_scripts(
    chromium: Browser, server: Server, stock: ThirdParty
) -> None:
    with chromium.page(
        server.url, (390, 844), elsewhere=stock.url, java_script_enabled=False, color_scheme="dark"
    ) as page:
        page.goto(stock.address(["me"]))
        page.fill("#email", "milo@desk.example")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        page.get_by_role("button", name="Allow").click()
        expect_status(page, HELLO)
        page.goto(stock.address(["me", "orgs"]))
        items = page.locator("main > ul > li")
        expect(items.nth(0)).not_to_contain_text("new since last time")
        expect(items.nth(1)).to_contain_text("Look at organizations ◆ new since last time")
        page.get_by_role("button", name="Allow").click()
        expect_status(page, HELLO)
        page.goto(stock.address(["me"]))
        expect(page.locator("main")).to_contain_text("You allowed it before. It is asking again.")
    with chromium.page(server.url, (390, 844), elsewhere=stock.url, color_scheme="dark") as page:
        page.goto(stock.address(["me", "orgs"]))
        page.fill("#email", "milo@desk.example")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Allow Stock to access your account?")
        assert violations(page) == [] and not is_sideways(page)


def test_the_page_cannot_be_framed(chromium: Browser, server: Server, stock: ThirdParty) -> None:
    said: list[str] = []
    with pytest.raises(AssertionError), chromium.page(server.url, elsewhere=stock.url) as page:  # it logs errors
        page.on("console", lambda message: said.append(message.text))
        with page.expect_console_message():
            page.goto(f"{stock.url}/framed")
        assert page.frames[1].url.startswith("chrome-error:")
    assert any("frame-ancestors 'none'" in each for each in said), said


def test_the_same_consent_sent_twice_gives_two_codes_that_each_work_once(server: Server, stock: ThirdParty) -> None:
    browser = Plain(server.url)
    browser.open(stock.address(["me"]))
    browser.sign_in()
    target, fields = browser.form()
    first, second = (browser.post(target, {**fields, "answer": "allow"}) for _ in range(2))
    assert first != second
    assert [stock.back(each.removeprefix(stock.url)) for each in (first, second)] == ["Hello Nora Berg"] * 2


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [("state=", "state=x", "no login of ours"), ("iss=http", "iss=https", "Somebody else answers")],
)
def test_the_program_detects_a_response_meant_for_another(
    old: str, new: str, text: str, server: Server, stock: ThirdParty
) -> None:
    browser = Plain(server.url)
    browser.open(stock.address(["me"]))
    browser.sign_in()
    back = browser.send(answer="allow")
    assert text in stock.back(back.removeprefix(stock.url).replace(old, new))


def test_a_stolen_code_is_useless_without_the_verifier(server: Server, stock: ThirdParty) -> None:
    browser = Plain(server.url)
    browser.open(stock.address(["me"]))
    browser.sign_in()
    back = browser.send(answer="allow")
    form = {
        "grant_type": "authorization_code", "code": answer_of(back)["code"], "redirect_uri": f"{stock.url}/back",
        "client_id": stock.client_id, "client_secret": stock.secret, "code_verifier": VERIFIER,
    }  # fmt: skip
    stolen = requests.post(f"{server.url}/oauth/access_token", data=form, timeout=60)
    assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
    assert stock.back(back.removeprefix(stock.url)) == "Hello Nora Berg"
