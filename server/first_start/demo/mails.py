"""The mails of the demo's customers, as bytes in the style of their mail programs."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from html import escape

from server.first_start.demo.demo_files import DemoFile
from server.first_start.demo.desk import OWN_HOST, Person
from server.first_start.demo.plan import MAIL, REPLY, PlannedTicket, Quoted, Step
from server.markup import markdown_to_html

TABLE = '<table border="1" cellpadding="6" style="border-collapse: collapse">'


def message_id(planned: PlannedTicket, place: int) -> str:
    """Returns the id of the message of a step, without angle brackets. place: of the step."""
    return f"{planned.number}.{place}@{OWN_HOST}"


def message_ids(planned: PlannedTicket, place: int) -> tuple[str, ...]:
    """Returns the ids of the messages before a step, the oldest first."""
    return tuple(
        message_id(planned, number) for number, each in enumerate(planned.steps[:place]) if each.kind in (MAIL, REPLY)
    )


def mail_of(step: Step, to: str, subject: str, message_id: str, answers: tuple[str, ...]) -> bytes:
    """Returns the mail of a step. to: the address of the service. answers: ids of the mails before it, the oldest
    first; all ids are without angle brackets."""
    text = f"{step.text}{_quotation(step.quoted)}\n"
    body = _text("plain", text)
    if step.is_html:
        body = _several("alternative", message_id, [body, _text("html", _html(text, step.by))])
    if step.files:
        body = _several("mixed", message_id, [body, *map(_file, step.files)])
    return b"".join((_head(step, to, subject, message_id, answers), b"MIME-Version: 1.0\n", body))


def _head(step: Step, to: str, subject: str, message_id: str, answers: tuple[str, ...]) -> bytes:
    subject = f"Re: {subject}" if answers else subject
    lines = [
        ("From", formataddr((step.by.name, step.by.email))),
        ("To", to),
        ("Subject", subject if subject.isascii() else Header(subject, "utf-8").encode()),
        ("Date", format_datetime(datetime.fromtimestamp(step.at, UTC))),
        ("Message-ID", f"<{message_id}>"),
    ]
    if answers:
        lines += [("In-Reply-To", f"<{answers[-1]}>"), ("References", "\n ".join(f"<{each}>" for each in answers))]
    return "".join(f"{name}: {value}\n" for name, value in lines).encode()


# Built as text: all parts are well-formed here, and the package `email` takes ten times as long.


def _text(subtype: str, text: str) -> bytes:
    head = f"Content-Type: text/{subtype}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
    return f"{head}{text}".encode()


def _file(file: DemoFile) -> bytes:
    head = (
        f"Content-Type: {file.mime_type}\nContent-Transfer-Encoding: base64\n"
        f'Content-Disposition: attachment; filename="{file.name}"\n\n'
    )
    return head.encode() + base64.encodebytes(file.content)


def _several(subtype: str, message_id: str, parts: Sequence[bytes]) -> bytes:
    boundary = f"=_{subtype}.{message_id}"
    head = f'Content-Type: multipart/{subtype}; boundary="{boundary}"\n\n'
    begin = f"--{boundary}\n".encode()
    return head.encode() + b"".join(begin + part + b"\n" for part in parts) + f"--{boundary}--\n".encode()


def _quotation(quoted: Quoted) -> str:
    at, name, text = quoted
    if not text:
        return ""
    lines = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    moment = datetime.fromtimestamp(at, UTC)
    return f"\n\nOn {moment.day} {moment:%B %Y at %H:%M}, {name} wrote:\n\n{lines}"


def _html(text: str, by: Person) -> str:
    host = by.email.rpartition("@")[2]
    who = "<br>".join(escape(each) for each in (by.name, by.title, by.org) if each)
    link = f'<br><a href="https://{host}/">{host}</a>' if by.org else ""
    body = markdown_to_html(text).replace("<table>", TABLE)
    return (
        f'<html><body style="font-family: sans-serif; font-size: 14px">{body}'
        f'<p style="color: #6a737d; border-top: 1px solid #d0d7de">{who}{link}</p></body></html>'
    )
