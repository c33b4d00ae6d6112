"""Headings in rich text: in articles, and nowhere else."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from server.markup import markdown_to_html
from tests.console.browser import PHONE, is_sideways, violations
from tests.console.test_pasting import PASTE
from tests.console.visitor import Visitor
from tests.service import Api

# Markdown that comes back unchanged, with the headings that visitors get: level and text.
RICH = [
    ("## Head", [(2, "Head")]),
    ("a\n\n## Head\n\nb\n\n### Below\n\n- c", [(2, "Head"), (3, "Below")]),
    ("## Head\ntext", [(2, "Head")]),
    ("text\n## Head\n### Below\n- a\n- b", [(2, "Head"), (3, "Below")]),
    ("## Head\n> quoted\n\n## Head\n\n\n```\n## code\n```", [(2, "Head"), (2, "Head")]),
    ("## *A* `b` [c](https://x.example)", [(2, "A b c")]),
    ("## C# and #1", [(2, "C# and #1")]),
    ("## Ends with \\#", [(2, "Ends with #")]),
    ("## 1. First\n\n\\## no heading", [(2, "1. First")]),
    ("## **שלום**\n\n## ## twice", [(2, "שלום"), (2, "## twice")]),
    ("> \\## x\n\n- \\## y", []),
]
# Markdown that rich text does not have, also in articles.
OTHER = [
    "# Head",
    "#### Head",
    "## Head ##",
    "##  Head",
    "## ",
    "> ## Head",
    "- ## Head",
    "Head\n---",
    "## Head  ",
    "- a\n## Head",
]
AGAIN = """async ([address, markdown, hasHeadings]) => {
  const [{ fromMarkdown, toMarkdown, isRich }, { toElements, toBlocks }] = await Promise.all(
    ["markdown", "elements"].map(name => import(address.replace("console.js", `${name}.js`))));
  const box = document.createElement("div");
  box.append(...toElements(fromMarkdown(markdown, hasHeadings)));
  const found = [...box.querySelectorAll("h1, h2, h3, h4")];
  const headings = found.map(each => [Number(each.nodeName[1]), each.textContent]);
  return { again: toMarkdown(toBlocks(box, false, hasHeadings)), isRich: isRich(markdown, hasHeadings), headings };
}"""


@pytest.fixture
def rich(nora_in_a_browser: Visitor) -> Iterator[None]:
    nora_in_a_browser.send("/account/tickets", {"destination": "next", "writing": "rich"}, page="/account")
    yield
    nora_in_a_browser.send("/account/tickets", {"destination": "next", "writing": "markdown"}, page="/account")


@pytest.fixture
def editor(same_page: Page, rich: None) -> Locator:
    same_page.goto("/articles/new")
    found = same_page.get_by_role("textbox", name="Text", exact=True)
    expect(found).to_have_class("rich")
    found.focus()
    return found


def again(page: Page, markdown: str, *, has_headings: bool = True) -> dict[str, Any]:
    address = page.evaluate("document.querySelector('script[type=module]').src.replace(/[^/]*$/, 'console.js')")
    found: dict[str, Any] = page.evaluate(AGAIN, [address, markdown, has_headings])
    return found


def test_headings_come_back_unchanged_and_are_those_of_the_article(same_page: Page) -> None:
    same_page.goto("/articles/new")
    for markdown, headings in RICH:
        found = again(same_page, markdown)
        assert found["again"] == markdown and found["isRich"], markdown
        assert [tuple(each) for each in found["headings"]] == headings, markdown
        shown = re.findall(r"<h(\d)>(.*?)</h\1>", markdown_to_html(markdown))
        assert [(int(level), re.sub("<[^>]*>", "", text)) for level, text in shown] == headings, markdown
    for markdown in OTHER:
        assert not again(same_page, markdown)["isRich"], markdown
    for markdown, headings in RICH:
        if headings:
            assert not again(same_page, markdown, has_headings=False)["isRich"], markdown


@pytest.mark.exhaustive("a long walk; each step has a test of its own")
def test_an_article_is_written_with_headings_and_has_a_table_of_contents(editor: Locator, nora: Api) -> None:
    page, stored = editor.page, editor.page.locator("[name=content]")
    heading = page.get_by_role("button", name="Heading", exact=True)
    below = page.get_by_role("button", name="Subheading")
    assert violations(page) == []
    page.keyboard.type("## Before you begin")
    expect(heading).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="B", exact=True)).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Enter")
    page.keyboard.type("Read *this*.")
    page.keyboard.press("Enter")
    page.keyboard.type("The pump")
    page.keyboard.press("Control+Alt+Digit2")
    page.keyboard.press("Enter")
    page.keyboard.type("Turn it on")
    below.click()
    expect(below).to_have_attribute("aria-pressed", "true")
    expect(heading).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Enter")
    page.keyboard.type("Press the button.")
    expect(stored).to_have_value(
        "## Before you begin\n\nRead \\*this\\*.\n\n## The pump\n\n### Turn it on\n\nPress the button."
    )
    assert violations(page) == []
    page.get_by_label("Title").fill("Pumps with headings")
    page.get_by_role("button", name="Show preview").click()
    preview = page.frame_locator("iframe[name=article-preview]")
    expect(preview.locator(".contents li")).to_have_text(["Before you begin", "The pump", "Turn it on"])
    expect(preview.locator("h3")).to_have_text("Turn it on")
    page.get_by_role("button", name="Save draft").click()
    expect(page).to_have_url(re.compile(r"/articles/[0-9]+$"))
    expect(editor.locator("h2")).to_have_text(["Before you begin", "The pump"])
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert not is_sideways(page) and violations(page) == []
    for id in nora.found("kb_article", 'title:"Pumps with headings"'):
        nora.remove("kb_article", id).ok()


def test_a_heading_is_undone_left_and_changed_by_keys(editor: Locator) -> None:
    page, stored = editor.page, editor.page.locator("[name=content]")
    page.keyboard.type("one")
    page.keyboard.press("Control+Alt+Digit3")
    expect(stored).to_have_value("### one")
    page.keyboard.press("Control+Z")
    expect(stored).to_have_value("one")
    page.keyboard.press("Control+Shift+Z")
    expect(stored).to_have_value("### one")
    page.keyboard.press("Control+Alt+Digit2")
    expect(stored).to_have_value("## one")
    page.keyboard.press("Home")
    page.keyboard.press("Backspace")
    expect(stored).to_have_value("one")
    page.keyboard.press("Control+Alt+Digit2")
    page.keyboard.press("Control+Alt+Digit2")
    expect(stored).to_have_value("one")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    page.keyboard.press("Control+A")
    page.get_by_role("button", name="Heading", exact=True).click()
    expect(stored).to_have_value("## one\n\n## two")
    page.get_by_role("button", name="List", exact=True).click()
    expect(stored).to_have_value("- one\n- two")
    page.get_by_role("button", name="List", exact=True).click()
    page.get_by_role("button", name="Subheading").click()
    page.get_by_role("button", name="Quote").click()
    expect(stored).to_have_value(re.compile(r"^> one\n>\n> two\s*$"))


@pytest.mark.exhaustive("every way to a heading")
def test_pasted_headings_have_two_levels_and_keep_to_the_text(editor: Locator) -> None:
    stored = editor.page.locator("[name=content]")
    html = (
        "<h1>Top</h1><p>a</p><h2><b>Second</b> <i>one</i></h2><ul><li><h3>In a list</h3></li></ul><h4>Deep<br>er</h4>"
    )
    editor.evaluate(PASTE, {"texts": {"text/html": html, "text/plain": "x"}, "files": [], "picture": ""})
    expect(stored).to_have_value(
        re.compile(r"^## Top\n\na\n\n## \**Second\** \*one\*\n\n- \*\*In a list\*\*\n\n### Deep er\s*$")
    )


@pytest.mark.exhaustive("every form with rich text")
def test_a_reply_has_no_headings(same_page: Page, rich: None, nora: Api) -> None:
    raw = "From: ana@kite.example\nTo: support@desk.example\nSubject: No headings\n\nIt leaks.\n"
    same_page.goto(f"/tickets/{nora.parse(raw).ok()['mask']}?answer=reply")
    message = same_page.get_by_role("textbox", name="Message", exact=True)
    expect(message).to_have_class("rich")
    assert same_page.get_by_role("button", name="Heading").count() == 0
    message.focus()
    same_page.keyboard.type("## No heading")
    same_page.keyboard.press("Control+Alt+Digit2")
    expect(same_page.locator("#content")).to_have_value("\\## No heading")
