"""Bodies and attachments of mails with parts."""

import re

import pytest

from server.mail.parse import ParseLimits, parse

NOW = 1795187045
HEAD = "From: ann@kite.example\nSubject: x\nMIME-Version: 1.0\n"


def part(body: str, *lines: str) -> str:
    return "\n".join([*lines, "", body])


def multi(*parts: str, kind: str = "mixed", boundary: str = "b1") -> str:
    joined = "".join(f"--{boundary}\n{inner}\n" for inner in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\npreamble\n{joined}--{boundary}--\nepilogue\n'


def read(text: str, limits: ParseLimits | None = None):
    return parse((HEAD + text).replace("\n", "\r\n").encode(), NOW, limits or ParseLimits())


def named(name: str, content: str = "content") -> str:
    return part(content, "Content-Type: application/pdf", f"Content-Disposition: attachment; filename={name}")


TEXT = part("Hello", "Content-Type: text/plain")
HTML = part('<p>Hello <img src="cid:pic@x"></p>', "Content-Type: text/html; charset=utf-8")
IMAGE = part("aGk=", "Content-Type: image/jpeg", "Content-ID: <pic@x>", "Content-Transfer-Encoding: base64")


def test_html_only_gives_a_text():
    found = read("Content-Type: text/html\n\n<p>Hello <b>you</b></p><script>no</script>")
    assert (found.text, found.has_plain) == ("Hello you", False)
    assert found.html == "<p>Hello <b>you</b></p><script>no</script>"


def test_alternative_with_an_inline_image():
    related = multi(HTML, IMAGE, kind="related", boundary="b2")
    found = read(multi(TEXT, related, kind="alternative"))
    assert (found.text, found.has_plain) == ("Hello", True)
    assert found.html == '<p>Hello <img src="cid:pic@x"></p>'
    (image,) = found.files
    assert (image.name, image.mime_type, image.content) == ("pic@x.jpg", "image/jpeg", b"hi")
    assert (image.content_id, image.is_inline) == ("pic@x", True)


def test_an_empty_plain_part_gives_way_to_the_html():
    found = read(multi(part(" \n", "Content-Type: text/plain"), HTML, kind="alternative"))
    assert (found.text.strip(), found.has_plain) == ("Hello", False)


def test_texts_without_a_name_are_joined_and_named_ones_are_files():
    other = part("Bye", "Content-Type: text/plain")
    log = part("log", 'Content-Type: text/plain; name="a.log"')
    page = part("<p>", "Content-Type: text/html", "Content-Disposition: attachment; filename=a.html")
    found = read(multi(TEXT, log, page, other))
    assert (found.text, found.html) == ("Hello\nBye", None)
    assert [(file.name, file.content) for file in found.files] == [("a.log", b"log"), ("a.html", b"<p>")]


def test_an_empty_body_is_an_empty_text():
    found = read("\n")
    assert (found.text, found.html, found.has_plain, found.files) == ("", None, False, ())


@pytest.mark.parametrize(
    ("content_type", "lines", "name"),
    [
        ("image/png", ["Content-ID: <logo>"], "logo.png"),
        ("image/gif", [], r"image_\w+\.gif"),
        ("text/calendar; method=REQUEST", [], r"calendar_\w+\.ics"),
        ("application/ics", [], r"calendar_\w+\.ics"),
        ("message/feedback-report", [], r"feedback_report_\w+\.txt"),
        ("message/rfc822", [], r"y\.eml"),
        ("message/delivery-status", [], r"delivery_status_\w+\.txt"),
        ("application/zip", [], r"unnamed_attachment_\w+\.zip"),
        ("application/pgp-signature", [], r"unnamed_attachment_\w+"),
        ("message/rfc822; name=letter.eml", [], r"letter\.eml"),
        ("application/zip; name=a.zip", ["Content-Disposition: attachment; filename=b.zip"], r"b\.zip"),
    ],
)
def test_names_of_unnamed_parts(content_type, lines, name):
    found = read(multi(TEXT, part("Subject: y\n\nz", f"Content-Type: {content_type}", *lines)))
    assert [re.fullmatch(name, file.name) is not None for file in found.files] == [True]
    assert found.files[0].mime_type == content_type.partition(";")[0]


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        ('filename="a b.txt"', "a b.txt"),
        ("filename=a b.txt", "a b.txt"),
        ("filename*=utf-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
        ("filename*=iso-8859-1'en'%A3.txt; filename=pound.txt", "£.txt"),
        ("filename*0*=utf-8''%c3; filename*1*=%a9; filename*2=\".txt\"", "é.txt"),
        ("filename*1=b.txt; filename*0=a", "ab.txt"),
        ('filename="=?utf-8?q?=C3=A9.txt?="', "é.txt"),
        ('filename="=?utf-8?b?w6k=?= =?utf-8?q?=2Etxt?="', "é.txt"),
        ('filename="grün.txt"', "grün.txt"),
        ('filename="../../etc/passwd"', "passwd"),
        (r'filename="C:\tmp\x.txt"', "x.txt"),
        ('filename="say \\"hi\\".txt"', "say hi.txt"),
        ("filename*=utf-8''a%00%0d%0ab%e2%80%aegpj.exe", "a bgpj.exe"),
        ("filename=con.txt", "_con.txt"),
        ("filename*=x-unknown''%e9.txt", "é.txt"),
        ('filename="a.txt', "a.txt"),
        ("filename=.htaccess", ".htaccess"),
        ("FileName = a.txt ; size=3", "a.txt"),
    ],
)
def test_file_names(parameter, name):
    found = read(multi(TEXT, part("x", "Content-Type: a/b", f"Content-Disposition: attachment; {parameter}")))
    assert [file.name for file in found.files] == [name]


@pytest.mark.parametrize("name", ["..", "/", "   ", "x/"])
def test_an_invalid_name_counts_as_unnamed(name):
    assert read(multi(TEXT, named(f'"{name}"'))).files[0].name.startswith("unnamed_attachment_")


def test_long_names_keep_their_extension():
    name = read(multi(TEXT, named('"' + "é" * 5000 + '.pdf"'))).files[0].name
    assert name.endswith("é.pdf") and len(name) <= 200 and len(name.encode()) <= 255


def test_files_of_one_name_are_numbered():
    found = read(multi(TEXT, *map(named, ["a.txt", "a.txt", "a-1.txt", "A.TXT", "noext", "noext"])))
    assert [file.name for file in found.files] == ["a.txt", "a-1.txt", "a-1-1.txt", "A-2.TXT", "noext", "noext-1"]


def test_of_a_file_above_the_limit_the_name_the_size_and_the_reason_are_kept():
    found = read(multi(TEXT, named("big.pdf", "x" * 101), named("ok.pdf", "x" * 100)), ParseLimits(file_bytes=100))
    why = "it has 101 bytes; at most 100 are kept of a file in a mail"
    assert [(file.name, file.content, file.size, file.dropped) for file in found.files] == [
        ("big.pdf", b"", 101, why),
        ("ok.pdf", b"x" * 100, 100, ""),
    ]
    assert found.notes == (f"file big.pdf was not kept: {why}",)


def test_an_attached_message_is_not_opened_and_keeps_its_bytes():
    inner = "From: x@y\nSubject: inner\nContent-Type: multipart/mixed; boundary=b9\n\n--b9\n\nsecret\n--b9--"
    found = read(multi(TEXT, part(inner, "Content-Type: message/rfc822")))
    assert found.text == "Hello"
    assert [file.content for file in found.files] == [inner.replace("\n", "\r\n").encode()]


def test_a_digest_holds_messages():
    found = read(multi(part("Subject: a\n\none"), part("Subject: b\n\ntwo"), kind="digest"))
    assert [file.mime_type for file in found.files] == ["message/rfc822", "message/rfc822"]


def test_the_whole_mail_may_be_a_file():
    found = read("Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\naGk=\n")
    assert (found.text, [(file.name, file.content) for file in found.files]) == ("", [("a.pdf", b"hi")])


def test_boundaries_with_a_common_prefix_are_distinguished():
    inner = multi(part("inner"), boundary="bb")
    found = read(multi(inner, part("outer"), boundary="b"))
    assert found.text == "inner\nouter"


def test_a_text_too_long_is_cut_and_kept_whole_as_a_file():
    found = read(multi(part("0123456789"), TEXT), ParseLimits(text_bytes=6))
    assert found.text == "012345"
    assert [file.content for file in found.files] == [b"0123456789", b"Hello"]
    assert "was cut" in found.notes[0]


@pytest.mark.parametrize(("levels", "texts", "files"), [(3, "0\n1\n2", 0), (2, "0\n1", 1), (1, "0", 1)])
def test_parts_nested_too_deeply_stay_one_file(levels, texts, files):
    nested = ""
    for level in (2, 1, 0):
        nested = multi(*filter(None, [part(str(level)), nested]), boundary=f"level{level}")
    found = read(nested, ParseLimits(levels=levels))
    assert (found.text, len(found.files)) == (texts, files)
    assert len(found.notes) == files


def test_parts_over_the_limit_stay_one_file():
    found = read(multi(*[part(str(number)) for number in range(10)]), ParseLimits(parts=6))
    assert found.text == "0\n1\n2\n3"
    assert [file.mime_type for file in found.files] == ["multipart/mixed"]
    assert b"\r\n9\r\n" in found.files[0].content and b"\r\n4\r\n" in found.files[0].content


@pytest.mark.parametrize(
    ("name", "content", "mime_type"),
    [
        ("Offer.PDF", "%PDF-1.7", "application/pdf"),
        ("a.gif", "GIF89a", "image/gif"),
        ("page.pdf", "<script>", "application/octet-stream"),
        ("a.exe", "%PDF-1.7", "application/octet-stream"),
        ("a.png", "GIF89a", "application/octet-stream"),
    ],
)
def test_a_file_without_a_type_has_that_of_its_name_if_it_begins_so(name: str, content: str, mime_type: str) -> None:
    lines = ("Content-Type: application/octet-stream", f"Content-Disposition: attachment; filename={name}")
    [file] = read(multi(TEXT, part(content, *lines))).files
    assert (file.name, file.mime_type) == (name, mime_type)


# -- signatures, other forms, calendars -------------------------------------------------------------------------------

PGP_SIGNATURE = part("-----BEGIN PGP SIGNATURE-----", "Content-Type: application/pgp-signature; name=signature.asc")
SMIME_SIGNATURE = part("0", "Content-Type: application/x-pkcs7-signature; name=smime.p7s")
AMP = part("<html amp4email><body>Hello</body></html>", "Content-Type: text/x-amp-html")


@pytest.mark.parametrize(
    ("signature", "note"),
    [
        (PGP_SIGNATURE, "signed with OpenPGP; the signature was not checked"),
        (SMIME_SIGNATURE, "signed with S/MIME; the signature was not checked"),
    ],
)
def test_the_signature_of_an_email_is_a_remark_and_not_a_file(signature: str, note: str) -> None:
    signed = read(multi(multi(TEXT, named("a.pdf"), boundary="b2"), signature, kind="signed"))
    assert (signed.text, [file.name for file in signed.files], signed.notes) == ("Hello", ["a.pdf"], (note,))
    alone = read(multi(TEXT, signature, kind="signed"))
    assert (alone.text, alone.files, alone.notes) == ("Hello", (), (note,))


@pytest.mark.parametrize("kind", ["mixed", "alternative"])
def test_the_signature_of_a_file_stays(kind: str) -> None:
    """It signs an attached file, and whoever opens that needs it."""
    found = read(multi(TEXT, named("a.pdf"), PGP_SIGNATURE, kind=kind))
    assert ([file.name for file in found.files], found.notes) == (["a.pdf", "signature.asc"], ())
    other = read(multi(TEXT, named("a.pdf"), kind="signed"))
    assert [file.name for file in other.files] == ["a.pdf"]


def test_a_form_of_the_same_text_for_other_programs_is_left_out() -> None:
    found = read(multi(TEXT, AMP, HTML, kind="alternative"))
    assert (found.text, found.files) == ("Hello", ()) and found.html is not None
    for text in (multi(AMP, kind="alternative"), multi(TEXT, AMP)):
        assert [file.mime_type for file in read(text).files] == ["text/x-amp-html"], "nothing else shows it"


APPOINTMENT = "BEGIN:VCALENDAR\nMETHOD:REQUEST\nSUMMARY;LANGUAGE=de:{}\nEND:VCALENDAR"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Visit about the pump", "Visit about the pump.ics"),
        ("Pumpe\\, grün", "Pumpe, grün.ics"),
        ("../../etc/passwd", "passwd.ics"),
        ("x" * 500, f"{'x' * 80}.ics"),
    ],
)
def test_an_appointment_is_named_by_its_title(title: str, name: str) -> None:
    calendar = part(APPOINTMENT.format(title), "Content-Type: text/calendar; method=REQUEST")
    [file] = read(multi(TEXT, calendar, kind="alternative")).files
    assert file.name == name


def test_an_invitation_that_is_also_attached_is_one_file() -> None:
    content = APPOINTMENT.format("Visit")
    calendar = part(content, "Content-Type: text/calendar; method=REQUEST")
    both = multi(TEXT, calendar, kind="alternative", boundary="b2")
    attached = part(content, "Content-Type: application/ics; name=invite.ics")
    assert [file.name for file in read(multi(both, attached)).files] == ["invite.ics"]
    other = part(f"{content}\n", "Content-Type: application/ics; name=invite.ics")
    assert [file.name for file in read(multi(both, other)).files] == ["Visit.ics", "invite.ics"]
