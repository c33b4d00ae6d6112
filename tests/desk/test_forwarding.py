"""A forward contains the whole message: its header block, its HTML with pictures, and its files."""

import base64
import re
from email.message import EmailMessage
from email.policy import default

import pytest

from server import mailroom
from tests.desk.conftest import Post
from tests.desk.test_mail_html import body, part, taken
from tests.smtp_server import SmtpServer

HOUR = 3600
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAACAAAB4iG8MwAAAABJRU5ErkJggg==")
STYLE = "<style>.loud { color: #aa0000 }</style>"
HTML = f"<html><head>{STYLE}</head><body><p class=loud>See <img src='cid:p1@kite'> & say</p></body>"


@pytest.fixture
def message(desk: Post) -> int:
    """A mail of Ann Kite with HTML, a picture in it and two files."""
    mail = EmailMessage(policy=default)
    mail["From"], mail["To"], mail["Cc"] = "Ann Kite <ann@kite.example>", "Desk <help@desk.example>", "bob@kite.example"
    mail["Subject"], mail["Message-ID"] = "Leaking pump", "<a@kite.example>"
    mail.set_content("See the picture & say\n")
    mail.add_alternative(HTML, subtype="html")
    html = mail.get_body(("html",))
    assert isinstance(html, EmailMessage)
    html.add_related(PIXEL, "image", "png", cid="<p1@kite>", filename="shot.png")
    mail.add_attachment(b"%PDF-", "application", "pdf", filename="doc.pdf")
    mail.add_attachment(b"a;b", "text", "csv", filename="parts.csv")
    desk.now -= HOUR
    mailroom.receive(desk.context(), mail.as_bytes())
    desk.now += HOUR
    return int(desk.one("message")["id"])


def forward(desk: Post, smtp: SmtpServer, message: int, **values: object) -> EmailMessage:
    desk.reply(message, **{"to": "zed@yard.example", "content": "Please look.", "is_forward": "1"} | values)
    return taken(smtp)


def files(mail: EmailMessage) -> list[str]:
    """Returns the names of attached files; inline ones in brackets."""
    found = [each for each in mail.walk() if each.get_filename()]
    return [f"({each.get_filename()})" if each["Content-ID"] else str(each.get_filename()) for each in found]


def test_a_forward_has_html_pictures_files_and_a_header_block(desk: Post, smtp: SmtpServer, message: int) -> None:
    mail = forward(desk, smtp, message, content_format="markdown")
    assert mail["Subject"] == "Fwd: Leaking pump" and mail["To"] == "zed@yard.example"
    assert files(mail) == ["(shot.png)", "doc.pdf", "parts.csv"]
    html = part(mail, "html")
    (cid,) = re.findall(r'src="cid:([^"]+)"', html)
    (picture,) = [each for each in mail.walk() if each["Content-ID"] == f"<{cid}>"]
    assert picture.get_content() == PIXEL
    assert body(html).replace(cid, "X") == (
        "<p>Please look.</p><p>---------- Forwarded message ----------<br>"
        "<strong>From:</strong> Ann Kite &lt;ann@kite.example&gt;<br>"
        "<strong>Date:</strong> 20 November 2026 at 14:04<br>"
        "<strong>Subject:</strong> Leaking pump<br>"
        "<strong>To:</strong> Desk &lt;help@desk.example&gt;<br><strong>Cc:</strong> bob@kite.example</p>"
        '<div><p>See <img src="cid:X"> &amp; say</p></div>'
    )
    assert 'color: #aa0000">See' in html  # its own style sheet
    assert part(mail, "plain").startswith(
        "Please look.\n\n---------- Forwarded message ----------\nFrom: Ann Kite <ann@kite.example>\n"
        "Date: 20 November 2026 at 14:04\nSubject: Leaking pump\nTo: Desk <help@desk.example>\nCc: bob@kite.example\n\n"
    )
    assert "See the picture & say" in part(mail, "plain")


def test_a_plain_forward_attaches_the_pictures(desk: Post, smtp: SmtpServer, message: int) -> None:
    mail = forward(desk, smtp, message)
    assert mail.get_body(("html",)) is None
    assert sorted(files(mail)) == ["doc.pdf", "parts.csv", "shot.png"]
    assert "Forwarded message" in part(mail, "plain")


def test_subject_place_and_files_of_the_request_take_precedence(desk: Post, smtp: SmtpServer, message: int) -> None:
    (pdf,) = desk.all("attachment", name="doc.pdf")
    content = "Above\n\n#original_message\n\nBelow"
    mail = forward(desk, smtp, message, content=content, file_id=[pdf["id"]], subject="For you")
    text = part(mail, "plain")
    assert mail["Subject"] == "For you" and files(mail) == ["doc.pdf"]
    assert text.index("Above") < text.index("Forwarded message") < text.index("Below")
    bare = forward(desk, smtp, message, content="Only this", with_original="0")
    assert files(bare) == [] and part(bare, "plain") == "Only this\n"


def test_a_forward_does_not_count_as_a_response(desk: Post, smtp: SmtpServer, message: int) -> None:
    forward(desk, smtp, message)
    ticket = desk.ticket(desk.one("message", id=message)["ticket_id"])
    sent = desk.message(ticket["id"])
    assert (ticket["initial_response_message_id"], ticket["elapsed_response_first"]) == (0, 0)
    assert (sent["is_forward"], sent["response_time"], ticket["subject"]) == (1, 0, "Leaking pump")
    desk.reply(message, content="Hello Ann")
    answered = desk.ticket(ticket["id"])
    assert answered["initial_response_message_id"] == desk.message(ticket["id"])["id"] != sent["id"]
    desk.write(lambda writing: writing.delete("message", answered["initial_response_message_id"]))
    assert desk.ticket(ticket["id"])["initial_response_message_id"] == 0


def test_a_scheduled_forward_is_the_same_mail(desk: Post, smtp: SmtpServer, message: int) -> None:
    values = {"to": "zed@yard.example", "content": "Later.", "is_forward": "1", "content_format": "markdown"}
    desk.reply(message, send_at=str(desk.now + HOUR), **values)
    (draft,) = desk.all("draft")
    assert draft["params"]["content"] == "Later.\n\n#original_message" and len(draft["params"]["file_ids"]) == 2
    desk.run_due(HOUR)
    mail = taken(smtp)
    assert files(mail) == ["(shot.png)", "doc.pdf", "parts.csv"]
    assert part(mail, "html").count("Forwarded message") == 1
