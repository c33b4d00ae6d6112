"""Arabic and Hebrew among English: text has the direction of its own script."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.visitor import Visitor
from tests.service import Api

SUBJECT = "عاجل: المضخة رقم 12 (Model A-7) معطلة"
TEXT = "مرحبا world 123\n\nHello عالم."
DIRECTION = "each => getComputedStyle(each).direction"


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    raw = (
        f"From: ann@kite.example\nTo: support@desk.example\nSubject: {SUBJECT}\n"
        f"MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        f"Message-ID: <{abs(hash(request.node.name))}@kite.example>\n\n{TEXT}\n"
    )
    made: dict[str, Any] = nora.parse(raw.encode()).ok().json
    return {**made, "page": f"/tickets/{made['mask']}"}


def test_a_ticket_is_read_and_answered_from_right_to_left(page: Page, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?answer=reply")
    for place in ("h1", "#thread .said-text"):
        assert page.locator(place).first.evaluate(DIRECTION) == "rtl", place
    assert (
        page.locator("#thread .said-text").first.evaluate("each => getComputedStyle(each).unicodeBidi") == "plaintext"
    )
    response = page.locator("#content")
    response.fill("שלום 12")
    assert response.evaluate(DIRECTION) == "rtl"
    response.fill("Hello שלום")
    assert response.evaluate(DIRECTION) == "ltr"
    response.fill("שלום עולם 12")
    page.locator("[data-preview]").click()
    preview = page.frame_locator("iframe.preview")
    expect(preview.locator("body")).to_contain_text("שלום")
    expect(preview.locator("[dir=rtl]").first).to_contain_text("שלום")


@pytest.mark.exhaustive("every kind of text")
def test_an_html_email_has_the_direction_of_its_text(page: Page, nora: Api) -> None:
    raw = (
        "From: ann@kite.example\nTo: support@desk.example\nSubject: HTML\nMIME-Version: 1.0\n"
        "Content-Type: text/html; charset=utf-8\n\n<p>مرحبا world</p><p>Hello</p>\n"
    )
    page.goto(f"/tickets/{nora.parse(raw.encode()).ok()['mask']}")
    mail = page.locator("#thread iframe.mail")
    expect(mail.content_frame.locator("p")).to_have_count(2)
    styles = "each => [...each.contentDocument.querySelectorAll('p')].map(p => getComputedStyle(p).unicodeBidi)"
    assert mail.evaluate(styles) == ["plaintext", "plaintext"]
    assert mail.evaluate("each => getComputedStyle(each.contentDocument.body).direction") == "rtl"


@pytest.mark.parametrize(
    "path", ["/inbox?v=unassigned", "/search/ticket", "/search/org?q=kite", "/search/contact?q=kite"]
)
def test_each_name_in_a_list_has_its_own_direction(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], path: str
) -> None:
    name = "شركة Kite 7"
    nora.create("org", name=f"{name} {path}").ok()
    nora.create("contact", first_name="שרה", last_name="Kite").ok()
    page = signed_in.get(path).text
    cells = [
        row for row in page.partition("<tbody>")[2].split("<tr>") if any("\u0590" <= each <= "\u06ff" for each in row)
    ]
    assert cells and all('<a dir="auto"' in row for row in cells)
