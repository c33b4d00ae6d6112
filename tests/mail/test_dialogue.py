"""The recorded dialogue with a mail server: complete except secrets and mails, and of limited length."""

import pytest

from server.mail import dialogue
from server.mail.dialogue import Dialogue


@pytest.mark.parametrize(("sent", "is_secret", "line"), [
    ("ehlo [127.0.0.1]\r\n", False, "> ehlo [127.0.0.1]"),
    (b"mail FROM:<a@b.example>\r\n", False, "> mail FROM:<a@b.example>"),
    ("AUTH PLAIN AGRlc2sAaHVudGVyMg==\r\n", True, "> AUTH PLAIN (left out)"),
    ("auth login aHVudGVyMg==\r\n", False, "> auth login (left out)"),
    ("aHVudGVyMg==\r\n", True, "> (left out)"),
    ("EHLO there\r\n", True, "> EHLO there"),
    ("PASS hunter2", False, "> PASS (left out)"),
    ("USER desk", False, "> USER desk"),
    ('KLMN1 LOGIN "desk" "hunter2"', False, "> KLMN1 LOGIN (left out)"),
    ("KLMN1 AUTHENTICATE XOAUTH2", False, "> KLMN1 AUTHENTICATE XOAUTH2 (left out)"),
    ("AUTH XOAUTH2 aHVudGVyMg==", False, "> AUTH XOAUTH2 (left out)"),
    (b"Subject: hunter2\r\n\r\nhunter2\r\n.\r\n", False, "> (a mail of 32 bytes)"),
    ("NOOP \x1b[31mred\x00\r\n", False, "> NOOP  [31mred"),
])  # fmt: skip
def test_secrets_and_mails_are_left_out(sent: str | bytes, is_secret: bool, line: str) -> None:
    found = Dialogue()
    found.sent(sent, is_secret)
    assert found.lines == [line]


def test_answers_are_kept_line_by_line_up_to_an_end() -> None:
    found = Dialogue()
    found.heard(b"250-first\r\n250 sec\xffond\r\n")
    assert found.lines == ["< 250-first", "< 250 sec\ufffdond"]
    found.heard("x" * 10_000)
    assert len(found.lines[-1]) == dialogue.MAX_LINE_CHARACTERS
    for _ in range(dialogue.MAX_LINES):
        found.heard("more")
    assert len(found.lines) == dialogue.MAX_LINES


def test_it_is_recorded_only_where_somebody_asks() -> None:
    assert dialogue.current() is None
    with dialogue.recorded() as outer:
        assert dialogue.current() is outer
        with dialogue.recorded() as inner:
            assert dialogue.current() is inner
        assert dialogue.current() is outer
    assert dialogue.current() is None
