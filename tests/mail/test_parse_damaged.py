"""Damaged mail is parsed as far as possible; no mail makes parsing fail."""

import random
from pathlib import Path

import pytest

from server.mail.parse import Mail, parse

NOW = 1795187045
HEAD = b"From: ann@kite.example\r\nSubject: x\r\n"
MIXED = HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"


def read(raw: bytes) -> Mail:
    return parse(raw, NOW)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\r\r\n"])
def test_any_line_end(end):
    lines = [b"From: a@b", b"Subject: one", b" two", b"Content-Type: multipart/mixed; boundary=b", b"", b"--b", b"",
             b"text", b"--b", b"Content-Type: a/b; name=x", b"", b"file", b"--b--", b""]  # fmt: skip
    found = read(end.join(lines))
    assert (found.sender, found.subject, found.text.strip(), len(found.files)) == ("a@b", "one two", "text", 1)


def test_mixed_line_ends():
    found = read(b"From: a@b\nSubject: x\r\n\none\r\ntwo\nthree\rfour")
    assert (found.subject, found.text) == ("x", "one\ntwo\nthree\nfour")


@pytest.mark.parametrize(
    "lead",
    [b"\r\n\r\n", b"\n  \n", b"From ann@kite.example Fri Nov 20 10:00:00 2026\n", b"\xef\xbb\xbf", b">From x y\n",
     b"\nFrom ann Fri Nov 20 10:00:00 2026\n"],
)  # fmt: skip
def test_what_is_before_the_headers_is_skipped(lead):
    found = read(lead + HEAD + b"\r\ntext")
    assert (found.sender, found.subject, found.text) == ("ann@kite.example", "x", "text")


def test_no_empty_line_before_the_body():
    found = read(HEAD + b"X-A: b\r\nDear all, this is it\r\nBye: now\r\n")
    assert found.subject == "x"
    assert found.text == "Dear all, this is it\nBye: now"


@pytest.mark.parametrize(
    "line",
    [b"this is not a header", b"Foo Bar: baz", b"X-Without-Colon", b"\xff\xfe", b"one\r\ntwo\r\nthree"],
)
def test_a_broken_line_among_the_headers_is_skipped_and_noted(line):
    found = read(b"From: a@b\r\n" + line + b"\r\nSubject: still there\r\nX-Mine: 1\r\n\r\ntext")
    assert (found.sender, found.subject, found.text) == ("a@b", "still there", "text")
    assert found.notes[0].startswith("skipped a broken line in the headers: ")
    assert len(found.notes) == len(line.splitlines())


def test_a_broken_last_line_belongs_to_the_headers_of_a_mail_with_a_type():
    found = read(HEAD + b"Content-Type: text/html\r\nbroken\r\n\r\n<p>text")
    assert (found.html, found.notes) == ("<p>text", ("skipped a broken line in the headers: broken",))


def test_a_broken_line_in_the_headers_of_a_part_is_skipped():
    found = read(MIXED + b"--b\r\nbroken\r\nContent-Type: text/html\r\n\r\n<p>one\r\n--b--\r\n")
    assert (found.html, len(found.notes)) == ("<p>one", 1)


def test_text_without_an_empty_line_before_it_is_not_taken_for_broken_headers():
    found = read(HEAD + b"Dear all,\r\nNote: this is text\r\n\r\nBye")
    assert found.text == "Dear all,\nNote: this is text\n\nBye"
    assert read(HEAD + b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\nX-A: b\r\n\r\n").text.startswith("1\n2")


def test_only_headers():
    assert (read(HEAD).subject, read(HEAD).text) == ("x", "")


def test_only_a_body():
    found = read(b"no headers here\r\nat all")
    assert (found.sender, found.text) == (None, "no headers here\nat all")


def test_a_missing_closing_boundary():
    found = read(MIXED + b"--b\r\n\r\none\r\n--b\r\nContent-Type: a/b; name=x\r\n\r\ntwo")
    assert (found.text, found.files[0].content) == ("one", b"two")


def test_a_boundary_that_is_not_declared_is_guessed():
    found = read(HEAD + b"Content-Type: multipart/mixed\r\n\r\n--=_x\r\n\r\none\r\n--=_x--\r\n")
    assert (found.text, found.notes) == ("one", ("the boundary of the parts was guessed",))


def test_a_multipart_without_parts_is_shown_as_text():
    found = read(MIXED + b"just text\r\n")
    assert found.text == "just text" and found.notes


@pytest.mark.parametrize(
    ("encoding", "body", "text", "is_noted"),
    [
        (b"base64", b"SGVs\r\nbG8=\r\n", "Hello", False),
        (b"BASE64 ", b"SGVsbG8", "Hello", True),
        (b"base64", b"SG!Vs b*G8=", "Hello", True),
        (b"base64", b"SGVsbG8=IHlvdQ==", "Hello you", True),
        (b"base64", b"SGVsbG8gx", "Hello ", True),
        (b"quoted-printable", b"caf=C3=A9 =\r\nx", "café x", False),
        (b"quoted-printable", b"1=2 =ZZ =C3=A9", "1=2 =ZZ é", True),
        (b"7bit (plain)", b"Hello", "Hello", False),
        (b"8bit", "café".encode(), "café", False),
    ],
)
def test_transfer_encodings(encoding, body, text, is_noted):
    found = read(HEAD + b"Content-Transfer-Encoding: " + encoding + b"\r\n\r\n" + body)
    assert found.text == text.rstrip()
    assert [("damaged" in note) for note in found.notes] == [True] * is_noted


def test_an_unknown_transfer_encoding_is_kept_as_a_file():
    found = read(HEAD + b"Content-Transfer-Encoding: x-secret\r\n\r\nabc")
    assert (found.text, found.files[0].content) == ("", b"abc")
    assert "unknown transfer encoding 'x-secret'" in found.notes[0]


def test_no_recipient_is_fine():
    assert read(HEAD + b"\r\nx").to == ()


def test_of_duplicate_headers_the_first_counts_but_all_recipients():
    found = read(b"From: a@b\nTo: c@d\nSubject: one\nFrom: e@f\nTo: g@h\nSubject: two\nCc: i@j\nCc: k@l\n\nx")
    assert (found.sender, found.subject) == ("a@b", "one")
    assert [address for _, address in found.to + found.cc] == ["c@d", "g@h", "i@j", "k@l"]


def test_line_breaks_do_not_come_out_of_decoded_headers():
    found = read(
        b"From: =?utf-8?q?a=0D=0ATo:_x?= <a@b>\n"
        b"Subject: =?utf-8?b?YQ0KQmNjOiBldmls?=\n"
        b"X-Cr: a\rBcc: b\n"
        b"Content-Type: a/b; name*=utf-8''a%0d%0ab\n\nx"
    )
    everything = [found.sender_name, found.subject, found.files[0].name, *[value for _, value in found.headers]]
    assert not any("\r" in text or "\n" in text for text in everything)
    assert len(found.header_text.splitlines()) == 5  # the generated id and four headers


def test_nul_and_lone_surrogates_do_not_come_out():
    found = read(HEAD + b"X: a\0b\r\nContent-Type: text/plain; charset=utf-7\r\n\r\na\0+2AA-b")
    assert found.text == "a\ufffdb"
    assert "\0" not in found.header_text


SAMPLES = [
    HEAD + b"\r\nHello",
    MIXED + b"--b\r\n\r\none\r\n--b\r\nContent-Type: text/html; charset=koi8-r\r\n\r\n<p>\xc1\r\n--b--\r\n",
    MIXED + b'--b\r\nContent-Type: multipart/alternative; boundary="c d"\r\n\r\n--c d\r\n\r\nx\r\n--c d--\r\n'
    b"--b\r\nContent-Type: image/png\r\nContent-ID: <i@x>\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n--b--",
    (
        b'From: "A, B" <a@b>, grp: c@d, e@f;\r\nTo: (c (d)) g@h\r\nDate: Fri, 20 Nov 2026 10:00 +0000\r\n'
        b"Subject: =?utf-8?b?w6k=?= =?gb2312?q?=D6=D0?=\r\nReferences: <a@b> <c@d>\r\n\r\n\xe9"
    ),
    (
        b"From: MAILER-DAEMON@x\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b\r\n"
        b"Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; a@b\r\n"
        b"Status: 5.1.1\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nMessage-Id: <o@x>\r\n\r\n--b--\r\n"
    ),
    HEAD + b"Content-Disposition: attachment; filename*0*=utf-8''a%20; filename*1=b\r\n"
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\n=C3=A9=\r\nx=",
]
_PIECES = [b"\r\n", b"\n", b"\r", b"\0", b"\xff", b"--b", b'"', b"=?", b"?=", b"(", b";", b":", b"<", b",", b"=", b"'",
           b"%", b"*0*=", b"\x1b$B", b"charset=utf-16", b"charset=hz", b"@"]  # fmt: skip


def _mutated(sample: bytes, rand: random.Random) -> bytes:
    raw = bytearray(sample)
    for _ in range(rand.randint(1, 8)):
        at = rand.randrange(len(raw) + 1)
        match rand.randrange(4):
            case 0:
                raw[at : at + rand.randint(1, 20)] = b""
            case 1:
                raw[at:at] = rand.choice(_PIECES)
            case 2:
                raw[at : at + 1] = rand.randbytes(1)
            case _:
                start = rand.randrange(len(raw) + 1)
                raw[at:at] = raw[start : start + rand.randint(1, 200)]
    return bytes(raw)


@pytest.mark.parametrize("seed", range(8))
def test_no_mutation_of_a_mail_makes_parsing_fail(seed):
    rand = random.Random(seed)
    for _ in range(60):
        raw = _mutated(rand.choice(SAMPLES), rand)
        if raw.isspace() or not raw:
            continue
        found = read(raw)
        texts = [found.subject, found.text, found.html or "", found.header_text, found.sender or ""]
        texts += [file.name for file in found.files]
        for text in texts:
            assert "\0" not in text
            text.encode("utf-8")
        assert len({file.name.lower() for file in found.files}) == len(found.files)


def test_random_bytes_are_some_mail():
    rand = random.Random(7)
    for size in range(1, 200):
        found = read(b"x" + rand.randbytes(size))
        assert found.subject and found.message_id_was_made in (True, False)


@pytest.fixture(scope="module")
def python_samples() -> list[bytes]:
    """The messages of Python's test suite if it is installed, else those of this file."""
    try:
        from test import test_email
    except ImportError:
        return SAMPLES
    folder = Path(test_email.__file__).parent / "data"
    return [path.read_bytes() for path in sorted(folder.glob("msg_*.txt"))] or SAMPLES


def test_the_messages_of_python_are_read(python_samples):
    found = [read(raw) for raw in python_samples]
    assert all(mail.subject and mail.header_text for mail in found)
    assert any(mail.files for mail in found)


def test_texts_agree_with_the_email_package(python_samples):
    import email

    for raw in python_samples:
        theirs = email.message_from_bytes(raw)
        if theirs.is_multipart() or theirs.get_content_type() != "text/plain" or theirs.get_filename():
            continue
        expected = theirs.get_payload(decode=True).decode("utf-8", "replace").replace("\r\n", "\n")
        if "\ufffd" not in expected:  # otherwise the charset is neither declared nor UTF-8, and is guessed
            assert read(raw).text == expected.rstrip()
