"""Quotations in an email are folded in its frame, whichever program wrote it, and its inline pictures are listed
once."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import quotations
from tests.console.browser import is_sideways
from tests.service import Api
from tests.telling import telling

OUTLOOK_HEAD = "<b>From:</b> Desk &lt;support@desk.example&gt;<br><b>Sent:</b> Monday<br><b>To:</b> Ana<br>"
HEADS_WITHOUT_ADDRESSES = "<b>Von:</b> Helpdesk<br><b>Gesendet:</b> Montag<br><b>An:</b> Ana<br><b>Betreff:</b> Pumpe"
# {program: (HTML, words above the fold)}; `Old words` are always quoted.
QUOTING = {
    **{program: (html, "Thank you.") for program, html in quotations.HTML.items()},
    "outlook in german, without addresses": (
        f"<div><p>Danke.</p></div><hr><div>{HEADS_WITHOUT_ADDRESSES}</div><div><p>Old words</p></div>", "Danke.",
    ),
    "a line of dashes": (
        f"<p>Thank you.</p><p>-----Original Message-----<br>{OUTLOOK_HEAD}</p><p>Old words</p>", "Thank you.",
    ),
    "text above the quotation in the same block": (
        "<div>Thank you.<br>Desk wrote:<br></div><blockquote>Old words</blockquote>", "Thank you. Desk wrote:",
    ),
}  # fmt: skip
UNFOLDED = {
    "a contact form": "<p>New enquiry</p><b>Name:</b> Ana<br><b>Email:</b> ana@kite.example<br><b>Topic:</b> Pump",
    "an email that is only a header block": f"<p>{OUTLOOK_HEAD}</p><p>Old words</p>",
    "a sentence with a time and a verb": "<p>At 10:00 Desk wrote to me</p><p>that it was sent.</p>",
    "a sentence that ends with a colon": "<p>These are broken:</p><ul><li>Pump</li><li>Valve</li></ul>",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def mailed(nora: Api, html: str) -> str:
    head = "From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: Pump\nMIME-Version: 1.0\n"
    made: dict[str, Any] = nora.parse(f"{head}Content-Type: text/html; charset=utf-8\n\n{html}\n").ok().json
    return f"/tickets/{made['mask']}"


@pytest.mark.parametrize(
    "program",
    telling(
        list(QUOTING),
        ("outlook for windows", "outlook in german, without addresses"),
        "every mail program",
    ),
)
def test_a_quotation_is_folded_with_its_attribution_line(same_page: Page, nora: Api, program: str) -> None:
    html, said = QUOTING[program]
    same_page.goto(mailed(nora, html))
    frame = same_page.locator("#thread iframe.mail")
    mail = frame.content_frame.locator("body")
    expect(mail.locator("summary")).to_have_count(1)
    shown = frame.evaluate(SHOWN)
    assert " ".join(shown.split()) == said
    mail.locator("summary").click()
    expect(mail.get_by_text("Old words")).to_be_visible()


@pytest.mark.parametrize(
    "kind",
    telling(list(UNFOLDED), ("a sentence with a time and a verb",), "every text like a quotation"),
)
def test_text_that_only_looks_like_a_quotation_stays(same_page: Page, nora: Api, kind: str) -> None:
    same_page.goto(mailed(nora, UNFOLDED[kind]))
    frame = same_page.locator("#thread iframe.mail")
    expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
    expect(frame.content_frame.locator("details")).to_have_count(0)


SHOWN = """frame => {
  const body = frame.contentDocument.body.cloneNode(true);
  body.querySelectorAll('details').forEach(each => each.remove());
  body.querySelectorAll('p, div, br').forEach(each => each.after(' '));
  return body.textContent;
}"""
HEIGHT = "each => Math.ceil(each.contentDocument.body.getBoundingClientRect().height) + 8"


@pytest.mark.exhaustive("every place of a blank line")
def test_a_frame_is_no_taller_than_its_words(same_page: Page, nora: Api) -> None:
    same_page.goto(mailed(nora, "<div><p>One line.</p><p>&nbsp;</p><p><br></p><div><br></div></div><br>"))
    frame = same_page.locator("#thread iframe.mail")
    expect(frame.content_frame.locator("br")).to_have_count(0)
    empty = "each => each.offsetHeight - each.contentDocument.querySelector('p').getBoundingClientRect().bottom"
    expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
    assert frame.evaluate(empty) <= 12


def test_an_inline_picture_is_listed_once(same_page: Page, nora: Api) -> None:
    parts = (
        ("text/html", "", '<p>Look: <img src="cid:pump@kite"></p>'),
        ("image/png", "Content-ID: <pump@kite>\nContent-Disposition: inline; filename=pump.png\n", PIXEL),
        (
            "image/png",
            "Content-Disposition: attachment; filename=valve.png\n",
            PIXEL[:-8],
        ),
    )
    body = "".join(
        f"--b\nContent-Type: {kind}\n{head}"
        f"{'' if kind == 'text/html' else 'Content-Transfer-Encoding: base64' + chr(10)}\n{content}\n"
        for kind, head, content in parts
    )
    head = "From: ana@kite.example\nTo: support@desk.example\nSubject: Pump\nMIME-Version: 1.0\n"
    mask = nora.parse(f"{head}Content-Type: multipart/related; boundary=b\n\n{body}--b--\n").ok()["mask"]
    same_page.goto(f"/tickets/{mask}")
    files = same_page.locator("#thread .files li")
    expect(files.filter(has_text="valve.png")).to_be_visible()
    expect(files.filter(has_text="pump.png")).to_be_hidden()


# Blank lines above a quotation: in the same block, in blocks around, below a picture.
BLANK_ABOVE = [
    "<div>One line.<div><br></div></div><br><div><br><blockquote>Old words</blockquote></div>",
    "<p>One line.</p><p>&nbsp;</p><p><br></p><blockquote>Old words</blockquote>",
    "<div>One line.<br><br></div><div><div><br></div><p><blockquote>Old words</blockquote></p><div><br></div></div>",
]
ABOVE = """each => {
  const line = [...each.contentDocument.querySelectorAll('*')]
    .find(inner => inner.firstChild?.data?.includes('One line'));
  const range = each.contentDocument.createRange();
  range.selectNodeContents(line.firstChild);
  const fold = each.contentDocument.querySelector('summary').getBoundingClientRect();
  return [fold.top - range.getBoundingClientRect().bottom, each.offsetHeight - fold.bottom].map(Math.round);
}"""


@pytest.mark.parametrize("html", telling(BLANK_ABOVE, BLANK_ABOVE[-1:], "every place of a blank line"))
def test_no_blank_lines_are_left_around_a_quotation(same_page: Page, nora: Api, html: str) -> None:
    same_page.goto(mailed(nora, html))
    frame = same_page.locator("#thread iframe.mail")
    expect(frame.content_frame.locator("summary")).to_have_count(1)
    expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
    above, below = frame.evaluate(ABOVE)
    assert above <= 24 and below <= 24
    frame.content_frame.locator("summary").click()
    expect(frame.content_frame.get_by_text("Old words")).to_be_visible()


FIXED = """<table width=700 style="width:700px"><tr><td width="700" style="width:700px">
<div style="width:680px;min-width:680px">The pump leaks, as it did in spring, and in the autumn before that; it is
the one below the jetty at the quay.</div></td></tr></table>"""
BEYOND = "each => each.contentDocument.documentElement.scrollWidth - each.contentDocument.documentElement.clientWidth"


@pytest.mark.exhaustive("on a phone")
def test_an_email_with_fixed_widths_fits_into_a_narrow_frame(phone: Page, nora: Api) -> None:
    phone.goto(mailed(nora, FIXED))
    frame = phone.locator("#thread iframe.mail")
    expect(frame.content_frame.locator("html")).to_have_attribute("data-narrow", "")
    expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
    assert frame.evaluate(BEYOND) == 0 and not is_sideways(phone)
    wide = "<td nowrap>Pressure at the quay in bar</td>" * 12
    phone.goto(mailed(nora, f"<table><tr>{wide}</tr></table>"))
    expect(frame.content_frame.locator("td").last).to_be_attached()
    assert frame.evaluate(BEYOND) > 0 and not is_sideways(phone), "columns of a wide table are scrolled to"


# {kind: HTML}; the words are `Thank you.` and the signature ends with `Kite Ltd`.
SIGNED = {
    "dashes in the same block": "<div>Thank you.<br><br><span>-- </span><br><div>Ana<br>Kite Ltd</div></div>",
    "a block of its own": "<p>Thank you.</p><div class='moz-signature'>-- <br>Ana<br>Kite Ltd</div>",
    "above a quotation": (
        "<div>Thank you.</div><div>-- <br>Ana, Kite Ltd</div><div><div>On Mon, 23 Nov 2026 at 10:00, Ida wrote:</div>"
        "<blockquote>Old words</blockquote></div>"
    ),
    "below a quotation": "<p>Thank you.</p><blockquote>Old words</blockquote><p>-- <br>Ana, Kite Ltd</p>",
    "a phone": "<div>Thank you.</div><br><div>Sent from my iPhone of Kite Ltd</div>",
    "a phone in german": "<div>Thank you.</div><div>Von meinem Galaxy gesendet, Kite Ltd</div>",
}


@pytest.mark.parametrize("kind", telling(list(SIGNED), ("above a quotation",), "the signature of every program"))
def test_a_signature_is_folded_by_itself(same_page: Page, nora: Api, kind: str) -> None:
    same_page.goto(mailed(nora, SIGNED[kind]))
    frame = same_page.locator("#thread iframe.mail")
    folded = frame.content_frame.locator("details", has_text="Kite Ltd")
    expect(folded).to_have_count(1)
    assert " ".join(frame.evaluate(SHOWN).split()) == "Thank you."
    expect(folded.locator("summary")).to_have_text("Signature")
    folded.locator("summary").click()
    expect(folded).to_have_attribute("open", "")
    old = frame.content_frame.locator("details", has_text="Old words")
    expect(old).to_have_count(int("quotation" in kind))


@pytest.mark.exhaustive("every text like a signature")
def test_words_that_only_look_like_a_signature_stay(same_page: Page, nora: Api) -> None:
    same_page.goto(mailed(nora, "<p>-- a dash</p><p>Sent from my office: two boxes.</p><p>a --</p><p>Bye</p>"))
    frame = same_page.locator("#thread iframe.mail")
    expect(frame).to_have_css("height", f"{frame.evaluate(HEIGHT)}px")
    expect(frame.content_frame.locator("details")).to_have_count(0)
