"""Sent mail as mail programs display it: in light and dark, on a phone, and without the head and its styles as Gmail
and Outlook on the web show it."""

import re
from collections.abc import Iterator
from datetime import UTC

import pytest
from playwright.sync_api import Page

from server.mail.quotation import quote_message
from server.outbox import frame
from server.outbox.content import MARKDOWN, Signature, body_of
from tests.console.browser import Browser
from tests.telling import telling

CONTENT = """Hi Ann,
the seal is worn.

| Part | Price |
|---|---|
| Seal | 3.20 |

See https://boats.example/orders/2026/11/26/4410-2?customer=ann-kite&reference=a-very-long-address-that-must-break-somewhere

```
PRESSURE 0.0 bar, VALVE closed since 2026-11-20 15:04:05 UTC, which is a long line that wraps on a phone
```

#signature

#original_message"""
SIGNATURE = Signature("Ada\nBoats Ltd", "", "Ada\nBoats Ltd")


@pytest.fixture(scope="module")
def mail() -> str:
    """The HTML part of a reply."""
    quotation = quote_message("The pump leaks.\n\nAnn", "Ann Kite", 1_795_187_045, UTC)
    body = body_of(CONTENT, MARKDOWN, SIGNATURE, quotation)
    return frame.document(frame.body_in_frame(body.html or ""), title="Pump", language="en", text=body.text)


@pytest.fixture(scope="module")
def empty_page(chromium: Browser) -> Iterator[Page]:
    with chromium.page("http://127.0.0.1") as opened:
        yield opened


def without_head(html: str) -> str:
    return re.sub(r"<head>.*</head>", "", html, flags=re.DOTALL)


def contrast(page: Page, selector: str) -> float:
    """Returns the contrast of an element's text with the background, as defined by WCAG."""
    return float(page.evaluate(
        """selector => {
          const light = color => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number)
            .map(each => each / 255).map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b };
          const probe = document.body.appendChild(document.createElement('i'));
          probe.style.backgroundColor = 'Canvas';
          const ground = light(getComputedStyle(probe).backgroundColor);
          probe.remove();
          const letters = light(getComputedStyle(document.querySelector(selector)).color);
          return (Math.max(ground, letters) + 0.05) / (Math.min(ground, letters) + 0.05);
        }""",
        selector,
    ))  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", telling({"390": 390, "1000": 1000}, ("390",), "every width"))
@pytest.mark.parametrize("has_head", [True, False])
def test_a_reply_is_readable(empty_page: Page, mail: str, scheme: str, width: int, has_head: bool) -> None:
    page = empty_page
    page.set_viewport_size({"width": width, "height": 600})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto("about:blank")  # discards the colours of the previous page
    page.set_content(mail if has_head else without_head(mail))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"
    for selector in ("p", "a", "td", "code", "blockquote p"):
        assert contrast(page, selector) >= 4.5, selector
        size = page.evaluate("s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize)", selector)
        assert size >= 13, selector
    edges = "s => ['Top', 'Left'].map(side => getComputedStyle(document.querySelector(s))[`border${side}Width`])"
    assert page.evaluate(edges, "td") == ["1px", "1px"] and page.evaluate(edges, "blockquote")[1] == "3px"
    is_dark = page.evaluate("getComputedStyle(document.body).color") == "rgb(255, 255, 255)"
    assert is_dark == (scheme == "dark" and has_head)
    assert page.locator("p", has_text="Ada").first.inner_text() == "Ada\nBoats Ltd"


@pytest.mark.parametrize("has_head", [True, False])
def test_a_mail_with_colours_is_readable_in_the_dark(empty_page: Page, has_head: bool) -> None:
    body = body_of('Hello\n\n<p style="color: #333333">Dark letters</p>', MARKDOWN, Signature(), None)
    mail = frame.document(frame.body_in_frame(body.html or ""), title="x", language="en", text=body.text)
    empty_page.emulate_media(color_scheme="dark")
    empty_page.goto("about:blank")
    empty_page.set_content(mail if has_head else without_head(mail))
    grounds = empty_page.evaluate("getComputedStyle(document.querySelector('div')).backgroundColor")
    letters = empty_page.evaluate("[...document.querySelectorAll('p')].map(each => getComputedStyle(each).color)")
    assert (grounds, letters) == ("rgb(255, 255, 255)", ["rgb(31, 35, 40)", "rgb(51, 51, 51)"])
