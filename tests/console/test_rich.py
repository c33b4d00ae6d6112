"""Messages as rich text: an option of each worker over the same Markdown."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from server.markup import markdown_to_html
from tests.console.browser import violations
from tests.console.test_pasting import PASTE, PICTURE, TABLE
from tests.console.visitor import Visitor
from tests.service import Api
from tests.telling import telling

# Markdown that comes back unchanged, as the mail shows it.
RICH = [
    "",
    "\n\n#signature",
    "Hello",
    "Hello\nworld",
    "a\n\nb",
    "a\n\n\n\nb\n",
    "**bold**, *italic* and ***both***",
    "**a *b* c** d",
    "*a **b***",
    "`code` and ``a`b``",
    "[text](https://x.example/a_b) and **[b](https://x.example/?a=1&b=*2*)**",
    "<https://x.example>",
    "see https://x.example/a_b",
    "![Boat](BASE/files/12) at the pier",
    "- a\n- b\n  - c\n  - d\n- e",
    "1. a\n2. b",
    "3) a\n4) b",
    "* a\n* b",
    "We need:\n- a\n- b\n\nThanks",
    "- a\n  b",
    "> q\n>\n> r\n\nx",
    "On Monday Ida wrote:\n> Hi\n> there",
    "> - a\n> - b\n>\n> > deep",
    "```\nx = 1\n\n  y * 2\n```",
    "| a | b |\n| --- | --- |\n| 1 | **2** |",
    "| a | b |\n|---|--:|\n| x\\|y |  |",
    "2 * 3 and snake_case_name, 50% & more",
    "Kind regards\n-- \nIda",
    "#signature\n\n#original_message",
    "Wow\\![x](https://x.example)",
    "\\# no heading\n1\\. and\n\\- no list",
    "a < b > c, [x] done",
    "**שלום** עולם",
    "Grüße 🙂 *é*",
    "C:\\Users",
]
# Markdown that rich text does not have.
OTHER = [
    "# Head",
    "a\n===",
    "a\n\n---",
    "<b>x</b>",
    "~~x~~",
    "_x_ and __y__",
    "text\n  - x",
    '[a](https://x.example "title")',
    "[a][b]\n\n[b]: https://x.example",
    "    code",
    "[x](javascript:now) and [y](/files/1)",
    "&amp;",
    "a\n| a | b |\n|---|---|",
    "+ a\n\n    more",
]
SKELETON = """async ([address, markdown, html]) => {
  const [{ fromMarkdown, toMarkdown, isRich }, { toElements, toBlocks }] = await Promise.all(
    ["markdown", "elements"].map(name => import(address.replace("console.js", `${name}.js`))));
  const box = document.createElement("div");
  box.append(...toElements(fromMarkdown(markdown)));
  const again = toMarkdown(toBlocks(box));
  const kept = "STRONG EM CODE A IMG UL OL LI BLOCKQUOTE PRE TABLE TH TD".split(" ");
  const bones = node => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/\\s+/g, " ");
    const inner = [...node.childNodes].map(bones).join("");
    const address = node.getAttribute("href") ?? node.dataset.src ?? node.getAttribute("src") ?? "";
    if (!kept.includes(node.nodeName) || (node.nodeName === "A" && address === node.textContent)) {
      return node.nodeName === "BR" ? " " : inner + (node.nodeName === "P" ? " " : "");
    }
    const isBlock = node.nodeName === "CODE" && node.parentNode.nodeName === "PRE";
    return isBlock ? inner : `{${node.nodeName} ${address} ${inner}}`;
  };
  const page = new DOMParser().parseFromString(html, "text/html");
  const shape = root => bones(root).replace(/ +/g, " ").replace(/ (?=[{}])|(?<=[{}]) /g, "").trim();
  return { again, isRich: isRich(markdown), editor: shape(box), mail: shape(page.body) };
}"""


@pytest.fixture(scope="module")
def mask(nora: Api) -> str:
    raw = "From: ana@kite.example\nTo: support@desk.example\nSubject: Rich\n\nIt leaks.\n"
    return str(nora.parse(raw).ok()["mask"])


@pytest.fixture
def rich(nora_in_a_browser: Visitor) -> Iterator[None]:
    nora_in_a_browser.send("/account/tickets", {"destination": "next", "writing": "rich"}, page="/account")
    yield
    nora_in_a_browser.send("/account/tickets", {"destination": "next", "writing": "markdown"}, page="/account")


@pytest.fixture
def editor(same_page: Page, rich: None, nora: Api, request: pytest.FixtureRequest) -> Locator:
    raw = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Rich\n\n{request.node.name}\n"
    same_page.goto(f"/tickets/{nora.parse(raw).ok()['mask']}?answer=reply")
    found = same_page.get_by_role("textbox", name="Message", exact=True)
    expect(found).to_have_class("rich")
    same_page.evaluate("document.querySelector('[data-tools]').inert")
    found.focus()
    return found


def shape(page: Page, markdown: str) -> dict[str, Any]:
    address = page.evaluate("document.querySelector('script[type=module]').src.replace(/[^/]*$/, 'console.js')")
    html = re.sub(r' style="[^"]*"', "", markdown_to_html(markdown, keep_html=True, image_url=lambda url: url))
    found: dict[str, Any] = page.evaluate(SKELETON, [address, markdown, html])
    return found


def test_markdown_comes_back_from_rich_text_unchanged_and_looks_as_in_the_mail(same_page: Page, mask: str) -> None:
    same_page.goto(f"/tickets/{mask}?answer=reply")
    for markdown in RICH:
        found = shape(same_page, markdown)
        assert found["again"] == markdown and found["isRich"], markdown
        assert found["editor"] == found["mail"], markdown


def test_other_markdown_is_recognized(same_page: Page, mask: str) -> None:
    same_page.goto(f"/tickets/{mask}?answer=reply")
    assert [each for each in OTHER if shape(same_page, each)["isRich"]] == []


def test_a_message_is_written_as_rich_text(editor: Locator) -> None:
    page, stored = editor.page, editor.page.locator("#content")
    assert violations(page, part="#answer") == []
    page.keyboard.type("Hello ")
    page.keyboard.press("Control+B")
    page.keyboard.type("bold")
    page.keyboard.press("Control+B")
    page.keyboard.type(" 2*3*4")
    page.keyboard.press("Enter")
    page.keyboard.type("one")
    page.get_by_role("button", name="List", exact=True).click()
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(page.get_by_role("button", name="List", exact=True)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("quoted")
    page.get_by_role("button", name="Quote").click()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("see it")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.keyboard.press("Control+K")
    page.get_by_role("textbox", name="Address of the link").fill("x.example/a")
    page.keyboard.press("Enter")
    page.keyboard.type("now")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Code").click()
    page.keyboard.type("x = 1")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type(":smil")
    expect(page.locator("#content-rich-words [role=option]").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(stored).to_have_value(
        "Hello **bold** 2\\*3\\*4\n\n- one\n- two\n\n> quoted\n\n"
        "see [it](https://x.example/a) now\n\n```\nx = 1\n```\n\n🙂"
    )
    expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    page.reload()
    expect(editor.locator("li")).to_have_text(["one", "two"])
    expect(editor.locator("strong")).to_have_text("bold")
    page.get_by_role("button", name="Preview").click()
    expect(page.frame_locator("iframe[name=preview]").locator("li")).to_have_text(["one", "two"])
    assert violations(page, part="#answer") == []


@pytest.mark.exhaustive("further ways to begin a list")
def test_a_sign_of_markdown_begins_a_list_or_a_quotation(editor: Locator) -> None:
    page, stored = editor.page, editor.page.locator("#content")
    editor.focus()
    page.keyboard.type("1. one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    for _ in range(2):
        page.keyboard.press("Enter")
    page.keyboard.type("> said - so")
    expect(stored).to_have_value(re.compile(r"^1\. one\n2\. two\n\n> said - so\s*$"))


@pytest.mark.exhaustive("a further undo of test_rich_headings.py")
def test_undo_and_redo_reach_typing_and_formatting(editor: Locator) -> None:
    page, stored = editor.page, editor.page.locator("#content")
    page.keyboard.type("one")
    page.get_by_role("button", name="Numbered list").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(stored).to_have_value("1. one\n2. two")
    for expected in ("1. one", "1. one", "one", ""):
        page.keyboard.press("Control+Z")
        expect(stored).to_have_value(expected)
    for _ in range(4):
        page.keyboard.press("Control+Shift+Z")
    expect(stored).to_have_value("1. one\n2. two")


@pytest.mark.exhaustive("further keys of the editor")
def test_the_toolbar_is_one_stop_and_escape_leaves_the_text(editor: Locator) -> None:
    page = editor.page
    page.keyboard.type("word")
    page.keyboard.press("Escape")
    expect(editor).not_to_be_focused()
    page.get_by_role("button", name="B", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="I", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Markdown")).to_be_focused()
    assert page.locator("[data-tools] :is(button, summary)[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    page.locator("#content").fill("# A heading")
    page.get_by_role("button", name="Markdown").click()
    expect(page.get_by_text("Markdown that rich text does not have")).to_be_visible()
    expect(page.locator("#content")).to_be_visible()
    page.locator("#content").fill("- a list")
    page.get_by_role("button", name="Markdown").click()
    expect(editor.locator("li")).to_have_text("a list")


@pytest.mark.exhaustive("further ways to type")
def test_input_methods_compose_words(editor: Locator) -> None:
    page = editor.page
    session = page.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    session.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    session.send("Input.insertText", {"text": "日本"})
    session.detach()
    expect(page.locator("#content")).to_have_value("日本")
    page.keyboard.press("Enter")
    page.keyboard.type("שלום")
    expect(page.locator("#content")).to_have_value("日本\n\nשלום")
    found = editor.locator("p").nth(1).evaluate("each => getComputedStyle(each).unicodeBidi")
    assert found == "plaintext"


def test_a_snippet_is_inserted_at_the_caret_and_one_with_other_markdown_leaves_rich_text(
    editor: Locator, nora: Api
) -> None:
    for title, content in (("Richgreeting", "**Hello**\n\n- one"), ("Richheading", "# Pump")):
        nora.create("snippet", title=title, content=content, owner__context="app", owner_id=0).ok()
    page, stored = editor.page, editor.page.locator("#content")
    page.reload()
    editor.focus()
    for name in ("richg", "richh"):
        page.keyboard.type(f":{name}")
        expect(page.locator("#content-rich-words [role=option]")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(stored).to_have_value(re.compile(r"- one"))
    expect(stored).to_be_visible()
    expect(stored).to_have_value("**Hello**\n\n- one\n\n# Pump")
    expect(page.get_by_text("Markdown that rich text does not have")).to_be_visible()


PASTED = {
    "a table": ({"text/html": TABLE}, "| Part | Price |\n| --- | --- |\n| Pump | 12 |\n"),
    "cells": ({"text/plain": "Part\tPrice\nPump\t1|2"}, "| Part | Price |\n| --- | --- |\n| Pump | 1\\|2 |\n"),
    "a document": (
        {
            "text/html": "<h2>News</h2><p style='color:red'>The <b>pump</b> is <span style='font-weight:700'>new</span>"
            "<script>alert(1)</script></p><ul><li>a<ul><li>b</li></ul></li></ul><div>See <a href='https://x.example'>"
            "it</a> <a href='javascript:alert(1)'>now</a><img src='https://x.example/p.png' alt='Pump'></div>"
        },
        "**News**\n\nThe **pump** is **new**\n\n- a\n  - b\n\nSee [it](https://x.example) nowPump",
    ),
    "a text": ({"text/plain": "# One\ntwo\n\nthree"}, "\\# One\ntwo\n\nthree"),
}


@pytest.mark.parametrize("pasted", telling(PASTED, ("a document",), "every content of a clipboard"))
def test_what_is_pasted_becomes_rich_text(editor: Locator, pasted: tuple[dict[str, str], str]) -> None:
    texts, expected = pasted
    editor.evaluate(PASTE, {"texts": texts, "files": [], "picture": ""})
    expect(editor.page.locator("#content")).to_have_value(expected)
    editor.page.keyboard.press("Control+Z")
    expect(editor.page.locator("#content")).to_have_value("")


@pytest.mark.exhaustive("pictures are tested in the box of Markdown")
def test_a_pasted_picture_stands_in_the_message_and_its_mail(editor: Locator, nora: Api) -> None:
    page = editor.page
    page.keyboard.type("See ")
    editor.evaluate(PASTE, {"texts": {}, "files": ["pump.png"], "picture": PICTURE})
    picture = editor.get_by_role("img", name="pump")
    expect(picture).to_be_visible()
    assert picture.evaluate("each => each.naturalWidth") == 1
    page.keyboard.type(" here")
    expect(page.locator("#content")).to_have_value(re.compile(r"^See !\[pump\]\(http[^)]*/files/\d+\) here$"))
    expect(page.locator("[data-attached] li")).to_have_count(0)
    ticket = page.url.partition("?")[0]
    page.locator(".sends summary").click()
    page.get_by_role("button", name="Save without sending").click()
    page.wait_for_url(re.compile(r"#thread$"))
    page.goto(ticket)
    shown = page.locator(".said-html img")
    expect(shown).to_have_attribute("src", re.compile(r"^/files/\d+$"))
    assert shown.evaluate("each => each.naturalWidth") == 1 and page.locator(".said-list [data-file]").count() == 0
    id = str(shown.get_attribute("src")).rpartition("/")[2]
    assert nora.search("attachment", f"id:{id} on.message:(isOutgoing:yes)").ok()["total"] == 1


@pytest.mark.exhaustive("the same editor in a note")
def test_a_note_is_written_and_shown_as_rich_text(same_page: Page, rich: None, nora: Api) -> None:
    raw = "From: ana@kite.example\nTo: support@desk.example\nSubject: Noted\n\nIt leaks.\n"
    mask = nora.parse(raw).ok()["mask"]
    same_page.goto(f"/tickets/{mask}?answer=note")
    editor = same_page.get_by_role("textbox", name="Note for your colleagues")
    expect(editor).to_have_class("rich")
    assert violations(same_page) == []
    editor.focus()
    same_page.keyboard.type("- look at ")
    same_page.keyboard.press("Control+B")
    same_page.keyboard.type("valve 3")
    same_page.keyboard.press("Control+B")
    same_page.keyboard.press("Enter")
    same_page.keyboard.type("ask @mil")
    same_page.locator("#note-rich-words [role=option]").first.wait_for()
    same_page.keyboard.press("Enter")
    expect(same_page.locator("#note")).to_have_value(re.compile(r"- look at \*\*valve 3\*\*\n- ask @milo"))
    expect(same_page.locator(".note-form > .help").last).to_have_text("Stored as a draft, not saved yet.")
    same_page.reload()
    expect(editor.locator("strong")).to_have_text("valve 3")
    editor.focus()
    same_page.keyboard.press("Control+Enter")
    note = same_page.locator(".noted .said-html")
    expect(note.locator("li")).to_have_text([re.compile("look at valve 3"), re.compile("ask @milo")])
    expect(note.locator("strong")).to_have_text("valve 3")
    expect(editor).to_have_text("")


def test_an_empty_note_is_not_sent(same_page: Page, rich: None, mask: str) -> None:
    same_page.goto(f"/tickets/{mask}?answer=note")
    expect(same_page.get_by_role("textbox", name="Note for your colleagues")).to_have_class("rich")
    same_page.get_by_role("button", name="Add note").click()
    expect(same_page.locator(".toasts")).to_contain_text("Write a note first.")
    expect(same_page.get_by_role("textbox", name="Note for your colleagues")).to_be_focused()


@pytest.mark.exhaustive("the same editor for several tickets")
@pytest.mark.parametrize(
    ("path", "name", "field", "button"),
    [
        ("reply", "Message", "content", "Send 2 replies"),
        ("note", "Note for your colleagues", "note", "Add 2 notes"),
    ],
)
def test_one_text_for_several_tickets_is_rich_text(
    same_page: Page, rich: None, nora: Api, path: str, name: str, field: str, button: str
) -> None:
    raw = "From: ana@kite.example\nTo: support@desk.example\nSubject: {}\n\nIt leaks.\n"
    parsed = [nora.parse(raw.format(f"{path} {n}")).ok().json for n in range(2)]
    ids = ",".join(str(each["id"]) for each in parsed)
    same_page.goto(f"/inbox/{path}?ids={ids}&back=/inbox")
    editor = same_page.get_by_role("textbox", name=name, exact=True)
    expect(editor).to_be_focused()
    expect(editor).to_have_class("rich")
    assert violations(same_page) == []
    same_page.keyboard.type("All is ")
    same_page.keyboard.press("Control+B")
    same_page.keyboard.type("well")
    expect(same_page.locator(f"#{field}")).to_have_value("All is **well**")
    same_page.get_by_role("button", name=button).click()
    expect(same_page.locator("#toasts")).to_contain_text(re.compile("2 (replies sent|notes added)"))
    same_page.goto(f"/tickets/{parsed[0]['mask']}")
    expect(same_page.locator(".said-html strong", has_text="well")).to_be_visible()


@pytest.mark.exhaustive("test_pasting.py pastes tables and pictures")
def test_a_table_is_pasted_into_a_note_and_files_are_not(same_page: Page, mask: str) -> None:
    same_page.goto(f"/tickets/{mask}?answer=note")
    note = same_page.locator("#note")
    note.focus()
    note.evaluate(PASTE, {"texts": {"text/html": TABLE}, "files": [], "picture": ""})
    expect(note).to_have_value(re.compile(r"^\| "))
    note.evaluate(PASTE, {"texts": {}, "files": ["pump.png"], "picture": PICTURE})
    expect(same_page.locator(".toasts")).to_contain_text("No files can be added here.")
