"""The HTML of outgoing mail: what mail programs get for each way of writing a message."""

import re
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest

from server.errors import Invalid
from server.markup.styles import harmless_style
from server.people.acknowledgement_text import PLACEHOLDERS
from server.records import records
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

BREAKS = "Hi Ann,\n\nIt comes.\n\nKind regards\nAda\n-- \nBoats Ltd\nHarbour 1"


def taken(smtp: SmtpServer) -> EmailMessage:
    mail = message_from_bytes(smtp.take()[2], policy=default)
    assert isinstance(mail, EmailMessage)
    return mail


def part(mail: EmailMessage, kind: str) -> str:
    found = mail.get_body((kind,))
    assert found is not None, f"the mail has no {kind} part"
    return str(found.get_content()).replace("\r\n", "\n")


def body(html: str) -> str:
    """Returns the content of the body, without styles, line ends and the enclosing elements."""
    inner = re.search(r"<body[^>]*>(.*)</body>", html, re.DOTALL)
    assert inner is not None, html
    plain = re.sub(r' (?:style|target|rel)="[^"]*"', "", inner[1])
    whole = re.fullmatch(r"<div>(.*)</div>", re.sub(r"\s*\n\s*", "", plain), re.DOTALL)
    return (whole[1] if whole else re.sub(r"\s*\n\s*", "", plain)).replace("\xa0", "&nbsp;")


def style(html: str, element: str) -> dict[str, str]:
    """Returns the declarations of the first such element."""
    found = re.search(rf'<{element}(?=[\s>])[^>]*? style="([^"]*)"', html)
    assert found is not None, f"no <{element}> with a style in {html}"
    return dict(each.split(": ", 1) for each in found[1].split("; "))


def markdown(desk: Post, smtp: SmtpServer, content: str, **values: Any) -> str:
    """Returns the HTML of a new mail with this Markdown."""
    desk.compose(content=content, content_format="markdown", **values)
    return part(taken(smtp), "html")


@pytest.fixture
def message(desk: Post) -> int:
    """A message of Ann Kite."""
    ticket = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.add_requester(ticket, "ann@kite.example")
    return desk.received(ticket, "ann@kite.example", From="Ann Kite <ann@kite.example>")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (BREAKS, "<p>Hi Ann,</p><p>It comes.</p><p>Kind regards<br>Ada<br>--<br>Boats Ltd<br>Harbour 1</p>"),
        ("- a\n  b\n\n> c\n> d", "<ul><li>a<br>b</li></ul><blockquote><p>c<br>d</p></blockquote>"),
        ("Press <kbd>Ctrl</kbd> or <b>wait</b><br>a day", "<p>Press <kbd>Ctrl</kbd> or <b>wait</b><br>a day</p>"),
        ('<table><tr><td bgcolor="#eee">1</td></tr></table>\n\nmore',
         '<table><tbody><tr><td bgcolor="#eee">1</td></tr></tbody></table><p>more</p>'),
        ("<style>.warn { color: red }</style>\n\n<p class='warn'>Wet</p>", "<p>Wet</p>"),
        ("<script>alert(1)</script><p onclick='x()'>a</p>", "<p>a</p>"),
        ("A List<String> for <your name>", "<p>A List&lt;String&gt; for &lt;your name&gt;</p>"),
    ],
    ids=["line breaks", "list and quotation", "inline HTML", "table", "style", "script", "angle brackets"],
)  # fmt: skip
def test_html_of_markdown(desk: Post, smtp: SmtpServer, content: str, expected: str) -> None:
    assert body(markdown(desk, smtp, content)) == expected


def test_html_is_sent_with_a_text_alternative(desk: Post, smtp: SmtpServer) -> None:
    source = "<h2>Offer</h2>\n\n    <p>Take <b>two</b>\n    boats</p>\n\n#signature"
    signature = desk.create(
        "email_signature", name="Us", signature="Ada\nBoats Ltd", owner__context="svc.contexts.app", owner_id=0
    )
    desk.update("group", desk.support, reply_signature_id=signature)
    desk.compose(content=source, content_format="html")
    mail = taken(smtp)
    assert body(part(mail, "html")) == "<h2>Offer</h2><p>Take <b>two</b>boats</p><p>Ada<br>Boats Ltd</p>"
    assert part(mail, "plain") == "Offer\n\nTake two boats\n\nAda\nBoats Ltd\n"


def test_the_text_part_of_markdown_with_html_has_no_tags(desk: Post, smtp: SmtpServer) -> None:
    desk.compose(content="Take <b>two</b> & *more*", content_format="markdown")
    assert part(taken(smtp), "plain") == "Take two & more\n"


def test_a_mail_is_a_document_with_language_direction_and_fonts(desk: Post, smtp: SmtpServer) -> None:
    desk.update("group", desk.support, language="de_DE")
    html = markdown(desk, smtp, BREAKS, subject="Pumpe <1>")
    assert html.startswith('<!DOCTYPE html>\n<html lang="de" dir="ltr">')
    assert "<title>Pumpe &lt;1&gt;</title>" in html and '<meta name="color-scheme" content="light dark">' in html
    assert style(html, "div")["font-family"].startswith("'segoe ui'") and style(html, "div")["font-size"] == "15px"
    assert "color" not in style(html, "div")  # a program in dark mode chooses its own


def test_styles_of_rendered_markdown(desk: Post, smtp: SmtpServer) -> None:
    html = markdown(desk, smtp, "| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n\n`code`\n\n    pre")
    assert style(html, "td")["border"] == "1px solid #a8b0b9" and style(html, "table")["border-collapse"] == "collapse"
    assert style(html, "blockquote")["border-left"] == "3px solid #a8b0b9"
    assert "monospace" in style(html, "code")["font-family"] and style(html, "pre")["white-space"] == "pre-wrap"


def test_a_text_from_right_to_left(desk: Post, smtp: SmtpServer) -> None:
    html = markdown(desk, smtp, "שלום רב\n\n> כתוב")
    assert '<html lang="en" dir="rtl">' in html and "border-right" in style(html, "blockquote")


def test_colours_of_a_writer_stay_in_light_mode(desk: Post, smtp: SmtpServer) -> None:
    html = markdown(desk, smtp, '<p style="color: #222222">Dark letters</p>')
    assert style(html, "p")["color"] == "#222222" and '<meta name="color-scheme" content="light">' in html
    assert (style(html, "div")["background-color"], style(html, "div")["color"]) == ("#ffffff", "#1f2328")


TEMPLATE = """<!DOCTYPE html><html><head><style>
body { background: #f4f6f8; font-family: Georgia, serif }
.card { background-color: #ffffff; padding: 24px }
.card p { color: #223344 }
#foot { font-size: 12px }
a:hover { color: red }
@media (max-width: 600px) { .card { padding: 8px } }
</style></head><body dir="ltr"><table class="card" width="600"><tr><td>{{message_body}}</td></tr></table>
<p id="foot" onclick="x()">{{group_name}}</p><form></form></body></html>"""


def template(desk: Post, content: str = TEMPLATE) -> dict[str, Any]:
    fields = {"name": "Shop", "content": content, "owner__context": "app", "owner_id": "0"}
    return records.create(desk.context(desk.nora), "html_template", fields)


def test_the_style_sheet_of_a_template_is_applied(desk: Post, smtp: SmtpServer) -> None:
    html = markdown(desk, smtp, "Hello\nAnn\n\n> said", html_template_id=template(desk)["id"])
    assert body(html) == (
        '<div dir="ltr"><table width="600"><tbody><tr><td>'
        "<div><p>Hello<br>Ann</p><blockquote><p>said</p></blockquote></div>"
        "</td></tr></tbody></table><p>Support</p></div>"
    )
    assert style(html, "div")["background-color"] == "#f4f6f8" and "georgia" in style(html, "div")["font-family"]
    assert style(html, "table")["background-color"] == "#ffffff" and style(html, "table")["padding"] == "24px"
    assert style(html, "p")["color"] == "#223344" and "font-size: 12px" in html
    assert style(html, "blockquote")["border-left"]  # the default style, where the template has none
    assert "border: 1px" not in html and '<meta name="color-scheme" content="light">' in html


def test_a_template_reports_what_it_loses(desk: Post) -> None:
    made = template(desk)
    assert made["left_out"].split("\n") == ["@media (max-width: 600px)", "a:hover", "onclick on <p>", "<form>"]
    assert "message_body" in template(desk, "<p>Hello</p>")["left_out"]
    changed = records.update(desk.context(desk.nora), "html_template", made["id"], {"content": "{{message_body}}"})
    assert changed["left_out"] == ""


def test_a_signature_preserves_its_style_sheet_and_reports_what_it_loses(desk: Post, smtp: SmtpServer) -> None:
    html = '<style>.n { color: #004488 }</style><p class="n">{{full_name}}</p><video></video>'
    fields = {"name": "Us", "signature": "Nora", "signature_html": html, "owner__context": "app", "owner_id": "0"}
    signature = records.create(desk.context(desk.nora), "email_signature", fields)
    assert signature["left_out"] == "<video>"
    desk.update("group", desk.support, reply_signature_id=signature["id"])
    sent = markdown(desk, smtp, "Hello\n#signature")
    assert body(sent) == "<p>Hello</p><p>Nora Berg</p>" and 'color: #004488">Nora Berg' in sent


def test_values_filled_into_a_signature_are_escaped(desk: Post, smtp: SmtpServer) -> None:
    signature = desk.create("email_signature", name="Us", signature="About {{ticket_subject}}\n*Ada*",
                            owner__context="svc.contexts.app", owner_id=0)  # fmt: skip
    desk.update("group", desk.support, reply_signature_id=signature)
    ticket = desk.create("ticket", subject="<b>x</b> [y](https://evil.example)", group_id=desk.support)
    desk.add_requester(ticket, "ann@kite.example")
    desk.reply(desk.received(ticket), content="#signature", content_format="markdown")
    assert body(part(taken(smtp), "html")) == (
        "<p>About &lt;b&gt;x&lt;/b&gt; [y](https://evil.example)<br><em>Ada</em></p>"
    ).replace("(https://evil.example)", '(<a href="https://evil.example">https://evil.example</a>)')


@pytest.mark.parametrize(
    ("language", "zone", "head"),
    [
        ("", "", "On 20 November 2026 at 15:04, Ann Kite wrote:"),
        ("de_CH", "Europe/Zurich", "Am 20. November 2026 um 16:04 schrieb Ann Kite:"),
    ],
    ids=["language of the desk", "language of the group"],
)
def test_the_quotation_of_the_original_message(
    desk: Post, smtp: SmtpServer, message: int, language: str, zone: str, head: str
) -> None:
    desk.update("group", desk.support, language=language, timezone=zone)
    desk.reply(message, content="Yes.\n\n#original_message", content_format="markdown")
    mail = taken(smtp)
    assert body(part(mail, "html")) == (f"<p>Yes.</p><p>{head}</p><blockquote><p>It leaks.</p><p>Ann</p></blockquote>")
    assert part(mail, "plain") == f"Yes.\n\n{head}\n> It leaks.\n>\n> Ann\n"


def test_quotations_are_escaped(desk: Post, smtp: SmtpServer, message: int) -> None:
    text = "# No heading\n<b>x</b> List<String>\n[a](https://x.example)\n\n> older\n  two"
    desk.update("message", message, content=text)
    desk.reply(message, content="#original_message", content_format="markdown")
    assert body(part(taken(smtp), "html")).partition("wrote:</p>")[2] == (
        "<blockquote><p># No heading<br>&lt;b&gt;x&lt;/b&gt; List&lt;String&gt;<br>[a]("
        '<a href="https://x.example">https://x.example</a>)</p><blockquote><p>older</p></blockquote>'
        "<p>&nbsp;&nbsp;two</p></blockquote>"
    )


def test_the_author_of_a_quotation(desk: Post, smtp: SmtpServer, message: int) -> None:
    def quoted(id: int) -> str:
        desk.reply(id, content="#original_message", to="ann@kite.example")
        found = re.search(r"at \d\d:\d\d, (.*) wrote:", part(taken(smtp), "plain"))
        assert found is not None
        return found[1]

    assert quoted(message) == "Ann Kite"
    own = desk.message(desk.one("message", id=message)["ticket_id"])
    assert quoted(own["id"]) == "Nora Berg"
    contact = desk.create("contact", first_name="Anna", last_name="Kite")
    desk.update("address", desk.address("ann@kite.example"), contact_id=contact)
    assert quoted(message) == "Anna Kite"
    assert (
        quoted(desk.received(desk.create("ticket", group_id=desk.support, subject="x"), "b@x.example")) == "b@x.example"
    )


def test_mail_has_the_name_of_its_group(desk: Post, smtp: SmtpServer) -> None:
    desk.compose()
    mail = taken(smtp)
    assert mail["From"].addresses[0].display_name == "Support" and mail["X-Mailer"].startswith("Helpdesk ")
    desk.update("group", desk.support, reply_personal="{{full_name}}")
    desk.compose()
    assert taken(smtp)["From"].addresses[0].display_name == "Nora Berg"


def test_every_property_of_the_look_passes_the_sanitizer() -> None:
    from server.outbox import frame

    for rule in re.findall(r"\{([^{}]*)\}", (frame._LOOK + frame._LETTER + frame._PAPER).replace("SIDE", "left")):
        for declaration in filter(str.strip, rule.split(";")):
            assert harmless_style("table", declaration), declaration


def test_an_unknown_placeholder_is_refused_with_the_known_ones(desk: Post) -> None:
    with pytest.raises(Invalid) as raised:
        records.update(desk.context(desk.nora), "group", desk.support, {"ack_text": "Dear {{sender_name}}"})
    named = re.findall(r"\{\{(\w+)\}\}", raised.value.message)
    assert named == ["sender_name", *PLACEHOLDERS]
    text = " ".join(f"{{{{{each}}}}}" for each in PLACEHOLDERS)
    records.update(desk.context(desk.nora), "group", desk.support, {"ack_text": text})
