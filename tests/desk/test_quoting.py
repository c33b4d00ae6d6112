"""What a reply quotes: nothing, the message replied to, or the conversation, as its group chose."""

import re
from email.message import EmailMessage

import pytest

from server.markup import quoted
from server.tickets import quoting, reply_start
from server.tickets.outgoing_identity import outgoing_identity
from tests.desk.conftest import Post
from tests.desk.test_mail_html import body, part, taken
from tests.smtp_server import SmtpServer

CONTENT = "Yes.\n\n#original_message"
HOUR = 3600


@pytest.fixture
def ticket(desk: Post) -> int:
    """A ticket that Ann sent an hour ago."""
    desk.now -= HOUR
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.add_requester(id, "ann@kite.example")
    desk.received(id)
    desk.now += HOUR
    return id


@pytest.fixture
def message(desk: Post, ticket: int) -> int:
    return int(desk.message(ticket)["id"])


def sent(smtp: SmtpServer) -> tuple[str, str, EmailMessage]:
    """Returns the text, the HTML and the whole of the mail that was sent."""
    mail = taken(smtp)
    return part(mail, "plain"), body(part(mail, "html")), mail


def test_a_reply_quotes_the_conversation_with_its_requesters(
    desk: Post, smtp: SmtpServer, ticket: int, message: int
) -> None:
    desk.update("group", desk.support, quoted_history="thread", language="de_DE")
    desk.reply(message, content="First **reply**\n\n#original_message", content_format="markdown")
    assert sent(smtp)[0].count("schrieb") == 1
    desk.reply(message, content="For the team", to="boss@other.example", is_forward="1", with_original="0")
    desk.reply(message, content="Never sent", dont_send="1")
    smtp.take()
    text = "Thanks.\n\nAm 20. November schrieb Nora:\n> First reply"
    again = desk.create("message", ticket_id=ticket, content=text, sender_id=desk.address("ann@kite.example"))
    desk.reply(again, content=CONTENT, content_format="markdown")
    plain, html, _mail = sent(smtp)
    own, *quotations = re.split(r"^Am .* schrieb .*:\n", plain, flags=re.MULTILINE)
    assert own == "Yes.\n\n"
    assert [each.strip() for each in quotations] == ["> Thanks.", "> First **reply**", "> It leaks.\n>\n> Ann"]
    assert "<strong>reply</strong>" in html and "team" not in html and "Never" not in html
    assert [kind for kind, _part in quoted.parts(plain.rstrip())] == ["said", "quote"]


def test_a_quoted_mail_keeps_its_pictures(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    picture = desk.create("attachment", name="p.png", mime_type="image/png", content=b"\x89PNG", uploader_id=desk.nora)
    base = desk.service.base_url
    desk.reply(message, content=f"See ![the pump]({base}/files/{picture})", content_format="markdown")
    sent(smtp)
    own = desk.one("message", ticket_id=ticket, is_outgoing=1)["id"]
    desk.reply(own, content=CONTENT, content_format="markdown", to="ann@kite.example")
    plain, html, mail = sent(smtp)
    [image] = [part for part in mail.walk() if part.get_content_type() == "image/png"]
    related = [part for part in mail.walk() if part.get_content_type() == "multipart/related"]
    assert f'<img src="cid:{image["Content-ID"].strip("<>")}" alt="the pump"' in html and len(related) == 1
    assert "> See the pump\n" in f"{plain}\n"


def test_only_a_group_that_quotes_begins_replies_with_the_line(desk: Post, message: int) -> None:
    def begun() -> str:
        ctx, row = desk.context(desk.nora), desk.one("ticket", id=desk.one("message", id=message)["ticket_id"])
        way = outgoing_identity(ctx, row["group_id"], row["bucket_id"], row["id"])
        return reply_start.of_reply(ctx, row, "reply", message, way).values["content"]

    assert quoting.is_quoting(begun()) is False
    desk.update("group", desk.support, quoted_history="last")
    assert begun().endswith("\n\n#original_message")


def test_a_quotation_is_edited_as_markdown(desk: Post, message: int) -> None:
    desk.update("message", message, content="<b>x</b>\n[a](https://x.example)")
    text = quoting.of_reply(desk.context(desk.nora), message, is_markdown=True).text
    assert text.partition("wrote:\n")[2] == "> \\<b\\>x\\</b\\>\n> \\[a\\](https://x.example)"
