"""Mails designed to hang a parser or fill its memory. A step that is not linear makes one of these run for minutes."""

import tracemalloc

import pytest

from server.mail.parse import parse
from tests.telling import telling

NOW = 1795187045
HEAD = b"From: a@b.example\r\nSubject: x\r\n"
MIXED = HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
MEMORY_BYTES = 300 * 1024 * 1024


def _addresses(count: int) -> bytes:
    return b", ".join(b"u%d@x.example" % number for number in range(count))


def _nested(count: int) -> bytes:
    one = b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n'
    return HEAD + b"".join(one % (number, number) for number in range(count)) + b"\r\ntext"


BOMBS = {
    "100,000 addresses": lambda: b"To: " + _addresses(100_000) + b"\r\n" + HEAD + b"\r\nx",
    "many fields of addresses": lambda: (b"To: " + _addresses(3_000) + b"\r\n") * 200 + HEAD + b"\r\nx",
    "200 KB of commas": lambda: b"To: " + b"," * 200_000 + b"\r\n" + HEAD + b"\r\nx",
    "20,000 encoded words": lambda: b"X: " + b"=?utf-8?q?a?= " * 20_000 + b"\r\n" + HEAD + b"\r\nx",
    "begun encoded words": lambda: b"X: " + b"=?a?q?" * 60_000 + b"\r\n" + HEAD + b"\r\nx",
    "20,000 parameters": lambda: HEAD + b"Content-Type: text/plain" + b"; a=b" * 20_000 + b"\r\n\r\nx",
    "20,000 pieces of a name": lambda: (
        HEAD + b"Content-Type: a/b" + b"".join(b"; name*%d*=%%41" % n for n in range(20_000)) + b"\r\n\r\nx"
    ),
    "20,000 parentheses": lambda: b"To: " + b"(" * 20_000 + b"\r\n" + HEAD + b"\r\nx",
    "nested parentheses": lambda: b"To: " + b"(" * 30_000 + b")" * 30_000 + b"\r\n" + HEAD + b"\r\nx",
    "quotes": lambda: b"To: " + b'"\\' * 30_000 + b"\r\n" + HEAD + b"\r\nx",
    "comments before an @": lambda: b"To: " + b"(a) " * 15_000 + b"@b.example\r\n" + HEAD + b"\r\nx",
    "quoted mailboxes": lambda: b"To: " + b'"a"@' * 15_000 + b"\r\n" + HEAD + b"\r\nx",
    "a route without an end": lambda: b"To: <" + b"@a," * 20_000 + b">\r\n" + HEAD + b"\r\nx",
    "broken lines": lambda: HEAD + (b"broken " * 1_000 + b"\nX-A: b\n") * 500 + b"\nx",
    "begun words of raw bytes": lambda: b"X: " + b"=?a?q?\xff" * 9_000 + b"\r\n" + HEAD + b"\r\nx",
    "types without a charset": lambda: HEAD + b"Content-Type: a/b\n c\n" * 12_000 + b"\n\xff",
    "angles": lambda: b"To: " + b"<" * 60_000 + b"\r\n" + HEAD + b"\r\nx",
    "1 MB of semicolons": lambda: HEAD + b"Content-Type: text/plain" + b";" * 1_000_000 + b"\r\n\r\nx",
    "semicolons in parts": lambda: MIXED + (b"--b\r\nContent-Type: a/b" + b"; " * 8_000 + b"\r\n\r\nx\r\n") * 500,
    "5,000 nested multiparts": lambda: _nested(5_000),
    "5,000 nested messages": lambda: HEAD + b"Content-Type: message/rfc822\r\n\r\n" * 5_000 + b"x",
    "240 KB of comments": lambda: HEAD + b"Content-Type: text/html\r\n\r\n" + b"<!--" * 60_000,
    "5,000 parts": lambda: MIXED + b"--b\r\nContent-Type: text/plain; name=a.txt\r\n\r\nx\r\n" * 5_000,
    "lines like boundaries": lambda: MIXED + b"\n--bx" * 2_000_000,
    "dashes": lambda: HEAD + b"Content-Type: multipart/mixed\r\n\r\n" + b"\n--" * 1_000_000 + b"-" * 1_000_000,
    "a million headers": lambda: HEAD + b"a:\n" * 1_000_000 + b"\n\nx",
    "a million continuations": lambda: HEAD + b"X: y\n" + b" \n" * 1_000_000 + b"Y: z\n\nx",
    "headers in parts": lambda: MIXED + (b"--b\n" + b"a:\n" * 5_000) * 500,
    "ids": lambda: HEAD + b"References: " + b"<a@b>" * 200_000 + b"\r\nIn-Reply-To: " + b"<a@" * 200_000 + b"\r\n\r\nx",
    "digits for a date": lambda: b"Date: " + b"9" * 100_000 + b"\r\n" + HEAD + b"\r\nx",
    "blocks of a delivery status": lambda: (
        HEAD + b"Content-Type: message/delivery-status\r\n\r\n" + b"a:b\n\n" * 1_000_000
    ),
    "padding": lambda: (
        HEAD + b"Content-Type: a/b; name=x\r\nContent-Transfer-Encoding: base64\r\n\r\n" + b"=a" * 3_000_000
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_read_as_far_as_the_limits_allow(name):
    found = parse(BOMBS[name](), NOW)
    assert found.sender == "a@b.example"
    assert len(found.to) <= 500
    assert len(found.files) <= 1_000
    assert len(found.headers) <= 1_000
    assert len(found.references) <= 200
    assert len(found.notes) <= 50


LARGE = {
    "base64 with other characters": lambda: (
        HEAD + b"Content-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n" + (b"QUJD" * 18 + b"!\r\n") * 800_000
    ),
    "short lines": lambda: HEAD + b"\r\n" + ("🚲" + "a\r\n" * 20_000_000).encode(),
    "a million parts": lambda: MIXED + b"--b\r\nContent-Type: text/html\r\n\r\n<p>\xe9\r\n" * 1_000_000,
}
QUICK = ("base64 with other characters", "short lines")


@pytest.mark.parametrize("mail", telling(LARGE, QUICK, "a minute under the tracer of allocations"))
def test_a_mail_near_the_limit_does_not_fill_the_memory(mail):
    raw = mail()
    tracemalloc.start()
    try:
        parse(raw, NOW)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES
    finally:
        tracemalloc.stop()


def test_what_was_left_out_is_noted():
    assert "header To was cut: it is too long" in parse(BOMBS["100,000 addresses"](), NOW).notes
    assert "headers were left out: there are too many" in parse(BOMBS["a million headers"](), NOW).notes
    assert "nested too deeply" in parse(BOMBS["5,000 nested multiparts"](), NOW).notes[0]
    assert parse(BOMBS["5,000 parts"](), NOW).files[-1].content.count(b"--b") == 4_001
