"""Slow pages show that they are loading, in a browser."""

import pytest
from playwright.sync_api import expect

from tests.console.browser import Browser, intercept, violations
from tests.console.visitor import Visitor
from tests.service import Server


def test_a_slow_page_says_so_until_it_is_loaded(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        intercept(page)
        page.goto("/admin/system")
        page.route("**/admin/system/checkup", lambda route: route.fulfill(status=204))  # a page that never arrives
        page.get_by_role("link", name="Check-up", exact=True).first.click()
        expect(page.locator("main .waiting progress")).to_have_attribute("aria-label", "Checking the mail servers…")
        expect(page.locator("main .waiting")).to_have_attribute("role", "status")
        assert violations(page, part="main .waiting") == []
        page.unroute("**/admin/system/checkup")
        page.get_by_role("link", name="Check-up", exact=True).first.click()
        page.wait_for_url("**/admin/system/checkup")
        expect(page.locator(".waiting")).to_have_count(0)


@pytest.mark.exhaustive("every kind of click")
def test_with_a_modifier_key_the_current_page_shows_nothing(
    chromium: Browser, server: Server, signed_in: Visitor
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto("/admin/system")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Check-up", exact=True).first.click(modifiers=["Control"])
        opened.value.wait_for_url("**/admin/system/checkup")
        expect(page.locator(".waiting")).to_have_count(0)
