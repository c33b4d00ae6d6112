"""Styles of a mail in a browser: none places its text or links over the surrounding page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from server.markup import clean_html
from tests.console.browser import Browser

LINK = "<a href='https://x.example/' style='{}'>x</a>"
MANY_LINES = "<a href='https://x.example/'>" + "x<br>" * 30 + "</a>"
COVERING = [
    LINK.format("padding:2000px"),
    LINK.format("position:fixed;top:0;left:0;width:100%;height:100%"),
    LINK.format("display:inline-block;margin:-200px 0 -500px;padding:200px"),
    LINK.format("border:200px solid"),
    "<div style='font-size:100px;line-height:1'>" + "<span style='font-size:4em'>" * 8 + LINK.format(""),
    f"<div style='height:1px'>{MANY_LINES}</div>",
    f"<div style='margin-top:-300px'>{MANY_LINES}</div>",
    f"<div style='line-height:0'>{MANY_LINES}</div>",
]
AROUND = """<!doctype html><body style="margin:0"><div id="above" style="height:90px"></div>
<div style="display:flex"><div id="beside" style="width:150px"></div><div id="mail" style="flex:1">{}</div></div>
<div id="below" style="height:90px"></div>"""
COVERED = """() => ['above', 'beside', 'below'].filter(id => {
  const area = document.getElementById(id).getBoundingClientRect(), mail = document.getElementById('mail');
  for (let x = area.left + 2; x < area.right; x += 7)
    for (let y = area.top + 2; y < Math.min(area.bottom, innerHeight); y += 7)
      if (document.elementsFromPoint(x, y).some(each => each !== mail && mail.contains(each))) return true;
})"""


@pytest.fixture(scope="module")
def empty_page(chromium: Browser) -> Iterator[Page]:
    with chromium.page("http://127.0.0.1", size=(800, 2000)) as opened:
        yield opened


def covered(page: Page, html: str) -> list[str]:
    page.set_content(AROUND.replace("{}", html))
    found: list[str] = page.evaluate(COVERED)
    return found


@pytest.mark.parametrize("html", COVERING)
def test_nothing_of_a_mail_covers_the_page_around_it(empty_page: Page, html: str) -> None:
    assert covered(empty_page, html) != [], "it covers nothing as it came, so it shows nothing"
    assert covered(empty_page, clean_html(html)) == []


def test_harmless_styles_have_their_effect(empty_page: Page) -> None:
    html = "<p style=\"COLOR:rgb(31, 73, 125);font:x;font-size:11.0pt;font-family:'Calibri',sans-serif\">x</p>"
    empty_page.set_content(AROUND.replace("{}", clean_html(html)))
    shown = empty_page.evaluate(
        "() => (({color, fontSize, fontFamily}) => [color, fontSize, fontFamily])"
        "(getComputedStyle(document.querySelector('p')))"
    )
    assert shown == ["rgb(31, 73, 125)", "14.6667px", "calibri, sans-serif"]
