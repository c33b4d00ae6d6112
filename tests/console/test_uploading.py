"""Uploads in a browser: their progress, and that no form is sent before they finish."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser import intercept, violations
from tests.service import Api

LARGE = b"name\n" + b"".join(b"Organization %d %s\n" % (number, b"of the north" * 10) for number in range(3_000))


@pytest.fixture
def ticket(nora: Api) -> dict[str, Any]:
    made = nora.parse("From: ana@kite.example\nTo: support@desk.example\nSubject: Upload\n\nSend me the plan.\n").ok()
    return {**made.json, "page": f"/tickets/{made['mask']}"}


def held_back(page: Page, pattern: str) -> list[Route]:
    """Returns the requests to these addresses; each waits until it is continued."""
    found: list[Route] = []
    page.route(pattern, lambda route: found.append(route) if route.request.method == "POST" else route.continue_())
    return found


def first_of(page: Page, held: list[Route]) -> Route:
    """Waits for the first request that is held back, which a busy browser hands over after it shows the progress."""
    while not held:
        page.evaluate("new Promise(requestAnimationFrame)")
    return held[0]


def test_a_form_with_a_large_file_shows_its_progress(page: Page) -> None:
    intercept(page)
    page.goto("/records/org/import")
    page.locator("#file").set_input_files([{"name": "orgs.csv", "mimeType": "text/csv", "buffer": LARGE}])
    waiting = held_back(page, "**/records/org/import")
    page.locator("main form button[type=submit]").first.click()
    expect(page.locator("form .uploading progress")).to_be_visible()
    expect(page.locator("form .uploading")).to_contain_text("MB")
    first_of(page, waiting).continue_()
    expect(page.get_by_text("orgs.csv").first).to_be_visible()
    expect(page.locator(".uploading")).to_have_count(0)
    assert violations(page, part="main") == []


@pytest.mark.exhaustive("every end of an upload")
def test_a_refused_large_file_is_explained_on_the_same_page(page: Page) -> None:
    page.goto("/admin/packages")
    package = {"name": "x.json", "mimeType": "application/json", "buffer": b"{" * 300_000}
    page.locator("#file").set_input_files([package])
    page.locator("form[enctype='multipart/form-data'] button[type=submit]").first.click()
    expect(page.locator("main .wrong, main .note.err, main [role=alert]").first).to_be_visible()
    expect(page.locator(".uploading")).to_have_count(0)


def test_a_reply_waits_for_its_uploads(page: Page, ticket: dict[str, Any]) -> None:
    intercept(page)
    page.goto(f"{ticket['page']}?answer=reply#answer")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type("Here is the plan.")
    waiting = held_back(page, "**/-/files")
    page.locator("#files").set_input_files([{"name": "plan.txt", "mimeType": "text/plain", "buffer": b"P" * 1000}])
    expect(page.locator("[data-attached] progress")).to_be_visible()
    page.locator("#content").press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("Files are still being uploaded.")
    assert page.url.partition("?")[0].endswith(ticket["page"]) and page.locator("#content").input_value()
    first_of(page, waiting).continue_()
    expect(page.get_by_role("checkbox", name="plan.txt")).to_be_checked()
