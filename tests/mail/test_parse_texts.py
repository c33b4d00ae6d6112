"""The text of a mail: charsets of HTML, texts with file names, broken lines, placeholders, encrypted parts."""

import pytest

from server.mail.flowed import join_lines
from server.mail.parse import Mail, parse

NOW = 1_795_600_000
PLACEHOLDER = "Your mail program cannot show HTML. Please use one that can."
TRAINS = {
    "gb18030": "\u9000\u6b3e\uff1a\u8ba2\u5355 7",
    "shift_jis": "\u898b\u7a4d\u66f8\u3092\u9001\u3063\u3066",
    "euc-kr": "\ud658\ubd88 \uc694\uccad\ud569\ub2c8\ub2e4",
    "iso-8859-2": "Za\u017c\u00f3\u0142\u0107 ja\u017a\u0144",
    "iso-8859-1": "Gr\u00fc\u00dfe aus K\u00f6ln",
    "windows-1251": "\u041d\u0435 \u0440\u0430\u0431\u043e\u0442\u0430\u0435\u0442 \u043d\u0430\u0441\u043e\u0441",
    "windows-1256": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643\u0645",
    "utf-8": "Gr\u00fc\u00dfe \u898b",
}
DECLARATIONS = {
    "meta": '<html><head><meta charset="{}"></head><p>',
    "unquoted": "<html><head><META CHARSET={} ><p>",
    "http-equiv": '<meta http-equiv="Content-Type" content="text/html; charset={}"><p>',
    "other way round": "<meta content='text/html;charset={}' http-equiv='content-type'><p>",
    "xhtml": '<?xml version="1.0" encoding="{}"?><html><p>',
    "after styles": "<style>" + "p {{ margin: 0 }} " * 500 + '</style><meta charset="{}"><p>',
}


def read(head: str, body: bytes | str, **limits: int) -> Mail:
    raw = head.encode() + b"\n\n" + (body.encode() if isinstance(body, str) else body)
    return parse(b"From: ann@kite.example\n" + raw, NOW)


def mixed(*parts: bytes | str, kind: str = "mixed") -> Mail:
    pieces = [part.encode() if isinstance(part, str) else part for part in parts]
    body = b"".join(b"--b0\n" + piece + b"\n" for piece in pieces) + b"--b0--\n"
    return read(f"Content-Type: multipart/{kind}; boundary=b0", body)


def part(type: str, body: bytes | str, disposition: str = "", encoding: str = "") -> bytes:
    lines = [f"Content-Type: {type}"]
    lines += [f"Content-Disposition: {disposition}"] if disposition else []
    lines += [f"Content-Transfer-Encoding: {encoding}"] if encoding else []
    return "\n".join(lines).encode() + b"\n\n" + (body.encode() if isinstance(body, str) else body)


@pytest.mark.parametrize("charset", TRAINS)
@pytest.mark.parametrize("declaration", DECLARATIONS)
@pytest.mark.parametrize("type", ["text/html", "TEXT/HTML; CHARSET=US-ASCII", "text/html; charset=x-unknown"])
def test_html_without_a_charset_is_read_in_the_one_that_it_names(charset: str, declaration: str, type: str) -> None:
    words = TRAINS[charset]
    found = read(f"Content-Type: {type}", (DECLARATIONS[declaration].format(charset) + words).encode(charset))
    assert found.text == words and found.html is not None and found.html.endswith(words)


def test_the_charset_of_the_header_wins() -> None:
    html = '<meta charset="windows-1251"><p>Gr\u00fc\u00dfe'.encode("iso-8859-1")
    assert read("Content-Type: text/html; charset=iso-8859-1", html).text == "Gr\u00fc\u00dfe"


def test_a_gateway_that_made_it_utf_8_and_left_the_meta_is_believed_by_its_bytes() -> None:
    html = '<meta charset="windows-1251"><p>Gr\u00fc\u00dfe'.encode()
    assert read("Content-Type: text/html", html).text == "Gr\u00fc\u00dfe"


def test_a_document_that_claims_two_bytes_a_character_has_one() -> None:
    assert read("Content-Type: text/html", b'<meta charset="utf-16"><p>Gr\xfc\xdfe').text == "Gr\u00fc\u00dfe"


@pytest.mark.parametrize("encoding", ["8bit", "base64", "quoted-printable"])
def test_a_plain_text_without_a_charset_is_read_in_that_of_its_html(encoding: str) -> None:
    import base64
    import quopri

    words, html = (each.encode("gb18030") for each in ("\u9000\u6b3e", '<meta charset="gb18030"><p>\u9000\u6b3e'))
    encode = {"8bit": bytes, "base64": base64.encodebytes, "quoted-printable": quopri.encodestring}[encoding]
    plain = part("text/plain", encode(words), encoding=encoding)
    found = mixed(plain, part("text/html", encode(html), encoding=encoding), kind="alternative")
    assert found.text == "\u9000\u6b3e" and found.has_plain


# -- file names --------------------------------------------------------------------------------------------------------

PDF = part("application/pdf; name=x.pdf", "JVBERg==", "attachment; filename=x.pdf", "base64")


@pytest.mark.parametrize(
    ("type", "disposition"),
    [
        ("text/plain; name=message.txt", ""),
        ("text/plain", 'inline; filename="body.txt"'),
        ("text/html; name=body.html; charset=windows-1252", ""),
        ("text/plain", "attachment"),
        ("text/plain; name=log.txt", "attachment; filename=log.txt"),
        ("text/markdown", ""),
    ],
)
def test_a_mail_that_is_one_text_is_that_text_whatever_its_name(type: str, disposition: str) -> None:
    found = parse(b"From: ann@kite.example\n" + part(type, "The pump leaks."), NOW)
    assert (found.text, found.files) == ("The pump leaks.", ())
    found = read(f"Content-Type: {type}\nContent-Disposition: {disposition}", "The pump leaks.")
    assert (found.text, found.files) == ("The pump leaks.", ())


@pytest.mark.parametrize("disposition", ["", "inline", "inline; filename=mail.txt"])
def test_a_named_text_is_the_body_where_there_is_no_other(disposition: str) -> None:
    found = mixed(part("text/plain; name=mail.txt", "The pump leaks.", disposition), PDF)
    assert found.text == "The pump leaks." and [each.name for each in found.files] == ["x.pdf"]


def test_named_alternatives_are_both_the_body_and_a_later_named_text_is_a_file() -> None:
    plain, html = (
        part("text/plain; name=a.txt", "The pump leaks."),
        part("text/html; name=a.html", "<b>The pump leaks."),
    )
    inner = b"Content-Type: multipart/alternative; boundary=b1\n\n--b1\n" + plain + b"\n--b1\n" + html + b"\n--b1--"
    found = mixed(inner, part("text/plain; name=log.txt", "LOG 1"))
    assert (found.text, found.html) == ("The pump leaks.", "<b>The pump leaks.")
    assert [(each.name, each.content) for each in found.files] == [("log.txt", b"LOG 1")]


@pytest.mark.parametrize("type", ["text/plain", "text/html", "text/plain; name=log.txt"])
def test_an_attached_text_is_a_file_and_no_part_of_the_body(type: str) -> None:
    found = mixed(part("text/plain", "See the log."), part(type, "LOG 1", "attachment"))
    assert found.text == "See the log." and found.html is None
    assert [each.content for each in found.files] == [b"LOG 1"]


def test_a_mail_of_an_attached_text_and_another_file_has_no_body() -> None:
    found = mixed(part("text/plain; name=log.txt", "LOG 1", "attachment"), PDF)
    assert found.text == "" and [each.name for each in found.files] == ["log.txt", "x.pdf"]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="who"s_in.txt.zip"', "whos_in.txt.zip"),
        ('attachment; filename="a "quoted" word.pdf"; size=3', "a quoted word.pdf"),
        ('attachment; filename="a.pdf" size=3', "a.pdf"),
        ('attachment; filename="a.pdf" (as sent)', "a.pdf"),
        ('attachment; filename="a\\"b.pdf"', "ab.pdf"),
        ("attachment; filename=Rechnung 1; 2.pdf", "Rechnung 1; 2.pdf"),
        ("attachment; filename=Rechnung 1; size=3", "Rechnung 1"),
        ("attachment; filename=a.pdf;", "a.pdf"),
        ("attachment; filename*=utf-8''%C3%9C.pdf; filename=_.pdf", "\u00dc.pdf"),
        ("attachment; filename*=\"us-ascii''Kr%FCmmung.jpg\"", "Kr\u00fcmmung.jpg"),
        ("attachment; filename*=Cp1252''%DCber.pdf", "\u00dcber.pdf"),
        ('attachment; filename="=?utf-8?B?QsO8?= =?utf-8?Q?cher.jpg?="', "B\u00fccher.jpg"),
        ('attachment; filename="C:\\\\Users\\\\ann\\\\Bill.pdf"', "Bill.pdf"),
    ],
)
def test_names_of_files(header: str, name: str) -> None:
    found = mixed(part("text/plain", "See."), part("application/octet-stream", "x", header))
    assert [each.name for each in found.files] == [name]


def test_a_type_in_encoded_words_is_read() -> None:
    found = mixed(part("text/plain", "See."), part("=?utf-8?Q?application/pdf?=; name=a.pdf", "x", "attachment"))
    assert [(each.name, each.mime_type) for each in found.files] == [("a.pdf", "application/pdf")]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("Content-Type: message/rfc822", "Fwd_ pump.eml"),
        ("Content-Type: message/rfc822\nContent-Disposition: attachment", "Fwd_ pump.eml"),
        ("Content-Type: message/rfc822; name=Mail", "Mail.eml"),
        ("Content-Type: message/rfc822; name=mail.EML", "mail.EML"),
    ],
)
def test_a_forwarded_message_is_a_file_that_mail_programs_open(head: str, name: str) -> None:
    inner = "From: x@y.example\nSubject: =?utf-8?q?Fwd=5F?= pump\n\ninner"
    found = mixed(part("text/plain", "See the mail."), f"{head}\n\n{inner}")
    assert [each.name for each in found.files] == [name]


@pytest.mark.parametrize(
    ("type", "suffix"), [("application/pdf", ".pdf"), ("audio/amr", ".amr"), ("text/csv", ".csv"), ("x/y", "")]
)
def test_a_nameless_file_has_the_suffix_of_its_type(type: str, suffix: str) -> None:
    [file] = mixed(part("text/plain", "See."), part(type, "x", "attachment")).files
    assert file.name.startswith("unnamed_attachment_") and file.name.partition(".")[1:] == (
        suffix[:1], suffix[1:],
    )  # fmt: skip


# -- broken lines ------------------------------------------------------------------------------------------------------

LINES = {
    "we opened the pump \nand found two seals.\n": "we opened the pump and found two seals.\n",
    "> quoted \n> words\n>> deeper \n> up": "> quoted words\n>> deeper\n> up",
    "one \n\ntwo": "one\n\ntwo",
    "text \n-- \nAnn\nKite": "text\n-- \nAnn\nKite",
    "> text \n> -- \n> Ann": "> text\n> -- \n> Ann",
    " From the top\n >not quoted": "From the top\n>not quoted",
    "fixed\nlines": "fixed\nlines",
}


@pytest.mark.parametrize("text", LINES)
def test_flowed_lines_are_joined(text: str) -> None:
    assert join_lines(text) == LINES[text]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("format=flowed", "see https://shop.example/a b end"),
        ('FORMAT="Flowed"; DelSp=Yes', "see https://shop.example/ab end"),
        ("format=fixed", "see https://shop.example/a \nb end"),
        ("", "see https://shop.example/a \nb end"),
    ],
)
def test_a_flowed_part_is_joined_as_its_parameters_say(parameters: str, text: str) -> None:
    found = read(f"Content-Type: text/plain; charset=utf-8; {parameters}", "see https://shop.example/a \nb end\n")
    assert found.text == text


# -- placeholders ------------------------------------------------------------------------------------------------------

HTML = "<p>The <b>flowmeter</b> shows kilolitres</p>"


def both(plain: str, html: str) -> Mail:
    return mixed(part("text/plain", plain), part("text/html", html), kind="alternative")


@pytest.mark.parametrize("plain", [PLACEHOLDER, "-", "View online: https://x.example/the/flowmeter/shows/kilolitres"])
def test_a_placeholder_gives_way_to_the_text_of_the_html(plain: str) -> None:
    found = both(plain, HTML)
    assert (found.text, found.has_plain) == ("The flowmeter shows kilolitres", False)
    assert "kilolitres" not in found.other_words


def test_the_words_of_a_placeholder_are_found_too() -> None:
    assert both(PLACEHOLDER, HTML).other_words.split()[:4] == ["your", "mail", "program", "cannot"]


@pytest.mark.parametrize(
    ("plain", "html", "other"),
    [
        ("The flowmeter shows kilolitres", HTML, ""),
        ("The flowmeter shows litres", HTML, "kilolitres"),
        ("Please call me about the leak", "<img src=cid:1 alt=Kite>", "kite"),
        ("It leaks at the seal. " + " ".join(f"word{n}" for n in range(100)), "<p>Kite Ltd, London", "kite ltd london"),
        ("\u9000\u6b3e", "<p>\u9000\u6b3e</p>", ""),
    ],
)
def test_a_text_that_says_what_the_mail_says_stays(plain: str, html: str, other: str) -> None:
    found = both(plain, html)
    assert (found.text, found.has_plain, found.other_words) == (plain, True, other)


def test_a_footer_beside_the_html_is_kept() -> None:
    found = mixed(part("text/html", HTML), part("text/plain", "Confidential: for Bo alone."))
    assert found.text == "The flowmeter shows kilolitres\n\nConfidential: for Bo alone."


# -- encrypted ---------------------------------------------------------------------------------------------------------

ARMOR = "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n=abcd\n-----END PGP MESSAGE-----\n"
PGP_NOTE = "encrypted with OpenPGP; only the recipient's key opens it"


@pytest.mark.parametrize("kind", ['encrypted; protocol="application/pgp-encrypted"', "mixed"])
def test_pgp_mime_says_that_it_is_encrypted(kind: str) -> None:
    found = mixed(
        part("application/pgp-encrypted", "Version: 1\n"),
        part("application/octet-stream; name=encrypted.asc", ARMOR, "inline; filename=encrypted.asc"),
        kind=kind,
    )
    assert found.notes == (PGP_NOTE,) and [each.name for each in found.files] == ["encrypted.asc"]


def test_an_encrypted_text_and_an_encrypted_file_say_so() -> None:
    assert read("Content-Type: text/plain", f"Hello\n{ARMOR}").notes == (PGP_NOTE,)
    assert mixed(part("text/plain", "See."), part("application/pgp; name=a.asc", ARMOR)).notes == (PGP_NOTE,)
    for text in (f"We write '{ARMOR}' so", "Hello\n\n", "Hello\n\n\n", "\n\n", "\nx"):
        assert read("Content-Type: text/plain", text).notes == ()


def test_mail_under_rights_management_says_so() -> None:
    found = mixed(part("text/plain", "Protected."), part("application/x-microsoft-rpmsg-message", "x", "attachment"))
    assert "rights management" in found.notes[0]


@pytest.mark.parametrize("start", ["<!DOCTYPE html>\n<html>", "<html lang=en>", "\n <HTML>"])
def test_html_that_calls_itself_plain_text_is_read_as_html(start: str) -> None:
    html = f"{start}<body><p>The <b>flowmeter</b></p></body></html>"
    for head in ("Content-Type: text/plain", "Subject: no type"):
        found = read(head, html)
        assert found.text == "The flowmeter" and found.html == html.rstrip("\n")
    assert read("Subject: code", "We write <html> there.").text == "We write <html> there."


def test_raw_bytes_of_a_subject_are_read_in_the_charset_of_the_html() -> None:
    subject = "\u9000\u6b3e".encode("gb18030")
    raw = b"From: ann@kite.example\nSubject: " + subject + b'\nContent-Type: text/html\n\n<meta charset="gb18030"><p>x'
    assert parse(raw, NOW).subject == "\u9000\u6b3e"
