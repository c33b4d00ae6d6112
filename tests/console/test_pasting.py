"""Pasting into a reply: text takes precedence over the picture of it that office programs add. Pictures stand in the
message, cells become a table."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service import Api
from tests.telling import telling

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CELLS = "Part\tPrice\nPump\t12"
ROWS = "| Part | Price |\n| --- | --- |\n| Pump | 12 |"
TABLE = "<table><tr><td>Part</td><td>Price</td></tr><tr><td>Pump</td><td>12</td></tr></table>"
PASTE = """(text, clipboard) => {
  const data = new DataTransfer();
  for (const [type, value] of Object.entries(clipboard.texts)) data.setData(type, value);
  for (const name of clipboard.files) {
    const bytes = Uint8Array.from(atob(clipboard.picture), each => each.charCodeAt(0));
    data.items.add(new File([bytes, name], name, { type: "image/png" }));
  }
  const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  text.focus();
  return text.dispatchEvent(event) ? data.getData("text/plain") : "";
}"""
WRITE = """([text, html, picture]) => {
  const bytes = Uint8Array.from(atob(picture), each => each.charCodeAt(0));
  const blob = (content, type) => new Blob([content], { type });
  return navigator.clipboard.write([new ClipboardItem({
    "text/plain": blob(text, "text/plain"), "text/html": blob(html, "text/html"),
    "image/png": blob(bytes, "image/png"),
  })]);
}"""


@pytest.fixture
def answer(same_page: Page, nora: Api, request: pytest.FixtureRequest) -> Page:
    raw = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Paste\n\n{request.node.name}\n"
    same_page.goto(f"/tickets/{nora.parse(raw).ok()['mask']}?answer=reply")
    expect(same_page.locator("[data-tools]")).to_be_visible()
    same_page.locator("#content").fill("")
    return same_page


def test_cells_of_a_spreadsheet_are_pasted_as_a_table(answer: Page) -> None:
    """With the real clipboard."""
    answer.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer.evaluate(WRITE, [CELLS, TABLE, PICTURE])
    answer.locator("#content").focus()
    answer.keyboard.press("Control+V")
    expect(answer.locator("#content")).to_have_value(ROWS)
    expect(answer.locator("[data-attached] li")).to_have_count(0)
    answer.locator("#content").fill("")
    answer.keyboard.press("Control+Shift+V")
    expect(answer.locator("#content")).to_have_value(CELLS)


PASTED = {
    "text and a picture": ({"text/plain": "A note", "text/html": "<p>A note</p>"}, ["image.png"], "A note", ""),
    "text of two lines": ({"text/plain": "image\nand more"}, ["image.png"], "image\nand more", ""),
    "a picture alone": ({}, ["image.png"], "", "![image](FILE)"),
    "a picture of a page": ({"text/html": "<img src='https://kite.example/p'>"}, ["image.png"], "", "![image](FILE)"),
    "a table": ({"text/html": TABLE}, ["image.png"], "", ROWS),
    "cells": ({"text/plain": CELLS}, [], "", ROWS),
    "lines with tabs": ({"text/plain": "\tx = 1\n\ty = 2"}, [], "\tx = 1\n\ty = 2", ""),
    "formatted text": ({"text/html": "<p>A note</p>"}, ["image.png"], "", "A note"),
    "a picture with its name": ({"text/plain": "pump.png"}, ["pump.png"], "", "![pump](FILE)"),
    "a picture with its path": ({"text/plain": "/home/ana/pump.png"}, ["pump.png"], "", "![pump](FILE)"),
    "a picture and blanks": ({"text/plain": "  "}, ["image.png"], "", "![image](FILE)"),
}


@pytest.mark.parametrize("pasted", telling(PASTED, ("text and a picture",), "every content of a clipboard"))
def test_a_picture_is_inserted_only_when_there_is_nothing_else(
    answer: Page, pasted: tuple[dict[str, str], list[str], str, str]
) -> None:
    texts, files, by_browser, by_script = pasted
    clipboard: dict[str, Any] = {"texts": texts, "files": files, "picture": PICTURE}
    assert answer.locator("#content").evaluate(PASTE, clipboard) == by_browser
    expected = re.escape(by_script).replace("FILE", r"http://[^)]*/files/\d+")
    expect(answer.locator("#content")).to_have_value(re.compile(f"^{expected}$"))
    expect(answer.locator("[data-attached] li")).to_have_count(0)


DROP = """(place, picture) => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob(picture), each => each.charCodeAt(0));
  data.items.add(new File([bytes, "drop"], "valve.png", { type: "image/png" }));
  place.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_a_picture_is_inserted_where_it_is_dropped_on_the_message_and_attached_elsewhere(answer: Page) -> None:
    answer.locator(".toolbar").evaluate(DROP, PICTURE)
    expect(answer.locator("[data-attached]")).to_contain_text("valve.png")
    expect(answer.locator("#content")).to_have_value("")
    answer.locator("#content").evaluate(DROP, PICTURE)
    expect(answer.locator("#content")).to_have_value(re.compile(r"^!\[valve\]\(http.*/files/\d+\)$"))
    expect(answer.locator("[data-attached] li")).to_have_count(1)
