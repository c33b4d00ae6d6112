"""A reply while the server does not respond: nothing leads to the browser's error page, and nothing typed is lost."""

from typing import Any

from playwright.sync_api import expect

from tests.console.browser import Browser
from tests.console.test_tickets import ticket
from tests.console.visitor import Visitor
from tests.service import Api

__all__ = ["ticket"]


def test_a_reply_waits_for_the_server(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    with chromium.page(nora_in_a_browser.url, cookies=nora_in_a_browser.cookies, refused="net::ERR") as page:
        page.goto(f"{ticket['page']}?answer=reply#answer")
        address = page.url
        page.context.set_offline(True)
        page.locator("#content").fill("It leaves tomorrow.")
        page.get_by_role("button", name="Send", exact=False).first.click()
        expect(page.locator("#toasts")).to_contain_text("The server does not respond.")
        assert page.url == address
        expect(page.locator("#content")).to_have_value("It leaves tomorrow.")
        page.context.set_offline(False)
        page.get_by_role("button", name="Send", exact=False).first.click()
        expect(page.locator("#toasts")).to_contain_text("Sending in")


def test_a_text_that_the_server_never_got_comes_back(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    with chromium.page(nora_in_a_browser.url, cookies=nora_in_a_browser.cookies, refused="net::ERR") as page:
        page.context.route("**/draft", lambda route: route.abort())
        page.goto(f"{ticket['page']}?answer=reply#answer")
        page.locator("#content").fill("Half a sentence")
        expect(page.locator("[data-kept]")).to_contain_text("stored in this browser")
        page.goto("/account")
        page.context.unroute_all()
        page.goto(f"{ticket['page']}?answer=reply")
        expect(page.locator("#content")).to_have_value("Half a sentence")
        expect(page.locator("[data-kept]")).to_contain_text("Draft stored")
        assert nora.found("draft", f"ticket.id:{ticket['id']}")
