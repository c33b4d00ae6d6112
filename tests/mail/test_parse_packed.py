"""Formats that few programs open: mails inside an S/MIME signature, and winmail.dat of Outlook."""

import base64
import struct
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from cryptography.x509.oid import NameOID

from server.mail import rtf, smime, tnef
from server.mail.parse import OPENED, Mail, ParseLimits, parse

NOW = 1795187045
HEAD = "From: ann@kite.example\r\nSubject: x\r\n"
SIGNED_NOTE = "signed with S/MIME; the signature was not checked"
UNPACKED_NOTE, PARTLY_NOTE = "winmail.dat was unpacked", "winmail.dat was partly unpacked, and stored"


def packed_mail(content: bytes, mime_type: str, name: str, limits: ParseLimits | None = None, before: str = "") -> Mail:
    """A mail with the text `before`, if any, and one part."""
    coded = base64.encodebytes(content).decode()
    one = f"Content-Type: {mime_type}; name={name}\r\nContent-Transfer-Encoding: base64\r\n\r\n{coded}"
    if before:
        one = f"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{before}\r\n--b\r\n{one}\r\n--b--\r\n"
    return parse((HEAD + one).encode(), NOW, limits or ParseLimits())


# -- S/MIME -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ann")])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), 1, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    )
    return made.sign(key, SHA256())


INNER = (
    b"Content-Type: multipart/mixed; boundary=i\r\nFrom: eve@evil.example\r\nSubject: other\r\n\r\n--i\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n--i\r\n"
    b"Content-Type: application/pdf; name=a.pdf\r\n\r\n%PDF\r\n--i--\r\n"
)


def test_the_mail_inside_a_signature_is_shown(key, certificate):
    builder = pkcs7.PKCS7SignatureBuilder().set_data(INNER).add_signer(certificate, key, SHA256())
    signed = builder.sign(Encoding.DER, [pkcs7.PKCS7Options.Binary])
    found = packed_mail(signed, "application/pkcs7-mime; smime-type=signed-data", "smime.p7m")
    (file,) = found.files
    assert (found.text, file.name, file.content) == ("Gr\u00fc\u00dfe", "a.pdf", b"%PDF")
    assert SIGNED_NOTE in found.notes
    # Only the outer mail has the sender.
    assert (found.sender, found.subject) == ("ann@kite.example", "x")


def element(tag: int, *parts: bytes, is_open: bool = False) -> bytes:
    content = b"".join(parts)
    if is_open:
        return bytes([tag, 0x80]) + content + b"\0\0"
    size = len(content).to_bytes(4, "big")
    return bytes([tag, 0x84]) + size + content


def in_signature(content: bytes, is_open: bool = False, kind: int = 2) -> bytes:
    """Signed data around `content`, which is an element; is_open: indefinite lengths with end marks."""
    oid = bytes.fromhex("06092a864886f70d0107")
    inside = element(0x30, oid + b"\x01", element(0xA0, content, is_open=is_open) if content else b"", is_open=is_open)
    data = element(0x30, b"\x02\x01\x01", element(0x31), inside, element(0xA0, b"certificates"), is_open=is_open)
    return element(0x30, oid + bytes([kind]), element(0xA0, data, is_open=is_open), is_open=is_open)


TEXT = b"Content-Type: text/plain\r\n\r\nHello\r\n"
PIECES = element(0x24, *(element(0x04, TEXT[at : at + 7]) for at in range(0, len(TEXT), 7)), is_open=True)


@pytest.mark.parametrize(
    ("content", "mime_type", "name"),
    [
        (in_signature(element(0x04, TEXT)), "application/pkcs7-mime", "smime.p7m"),
        (in_signature(element(0x04, TEXT)), "application/x-pkcs7-mime", "a.p7m"),
        (in_signature(element(0x04, TEXT)), "application/octet-stream", "SMIME.P7M"),
        (in_signature(PIECES, is_open=True), "application/pkcs7-mime", "smime.p7m"),
        (in_signature(element(0x24, element(0x04, TEXT[:9]), element(0x04, TEXT[9:]))), "application/pkcs7-mime", "s"),
    ],
)
def test_each_way_to_write_a_signature(content, mime_type, name):
    found = packed_mail(content, mime_type, name)
    assert (found.text, found.files) == ("Hello", ())


@pytest.mark.parametrize(
    "content",
    [
        in_signature(b""),  # the text is elsewhere
        in_signature(element(0x04, b"%PDF-1.4 a document that somebody signed")),
        in_signature(element(0x04, TEXT), kind=6),
        in_signature(element(0x02, TEXT)),
        in_signature(PIECES, is_open=True)[:-60],
        in_signature(element(0x04, TEXT)).replace(element(0x31), b"\x31\x89" + b"\xff" * 9),
        b"\x30\x80", b"\x30", b"0" * 99,
    ],
)  # fmt: skip
def test_what_is_no_mail_in_a_signature_stays_a_file(content):
    found = packed_mail(content, "application/pkcs7-mime", "smime.p7m")
    assert [(file.name, file.content) for file in found.files] == [("smime.p7m", content)]
    assert (found.text, found.notes) == ("", ())


def test_what_is_encrypted_is_said_to_be():
    found = packed_mail(in_signature(b"", kind=3), "application/pkcs7-mime", "smime.p7m")
    assert found.notes == ("encrypted with S/MIME; only the recipient's key opens it",)
    assert [file.name for file in found.files] == ["smime.p7m"]


def test_signatures_around_signatures_end():
    head = b"Content-Type: application/pkcs7-mime; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    inner = TEXT
    for _ in range(OPENED + 5):
        inner = head + base64.encodebytes(in_signature(element(0x04, inner)))
    found = parse(HEAD.encode() + inner, NOW)
    assert (found.text, [file.name for file in found.files]) == ("", ["smime.p7m"])
    assert found.notes == (SIGNED_NOTE,) * OPENED


def test_pieces_of_a_signed_content_are_bounded(monkeypatch):
    monkeypatch.setattr(smime, "MAX_PIECES", 5)
    assert smime.signed_content(in_signature(PIECES, is_open=True)) is None


# -- winmail.dat ------------------------------------------------------------------------------------------------------


def attribute(id: int, content: bytes, level: int = 1) -> bytes:
    checksum = sum(content) % 0x10000
    return struct.pack("<BHHI", level, id, 6, len(content)) + content + struct.pack("<H", checksum)


def padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)


def value(kind: int, id: int, content: bytes, name: bytes = b"") -> bytes:
    sized = struct.pack("<II", 1, len(content)) + padded(content)
    return struct.pack("<HH", kind, id) + name + (sized if kind in (0x0D, 0x1E, 0x1F, 0x102) else padded(content))


def properties(*values: bytes) -> bytes:
    return struct.pack("<I", len(values)) + b"".join(values)


def winmail(*attributes: bytes) -> bytes:
    return struct.pack("<IH", 0x223E9F78, 1) + b"".join(attributes)


def wide(text: str) -> bytes:
    return (text + "\0").encode("utf-16-le")


NAMED = b"g" * 16 + struct.pack("<II", 1, 6) + padded(wide("ab"))
NUMBERED = b"g" * 16 + struct.pack("<II", 0, 9)
MANY = struct.pack("<HHIH2xH2x", 0x1002, 0x6001, 2, 7, 8)
NEXT, CODEPAGE = attribute(0x9002, b"\0" * 14, 2), attribute(0x9007, struct.pack("<II", 1251, 0))
BILL = "\u0421\u0447\u0451\u0442"
OLD_FILE = (NEXT, attribute(0x8010, f"{BILL}.doc\0".encode("cp1251"), 2), attribute(0x800F, b"bill", 2))
PICTURE = (
    NEXT,
    attribute(0x8010, b"IMAGE0~1.PNG\0", 2),
    attribute(0x800F, b"This cannot be opened here", 2),
    attribute(0x9005, properties(
        value(0x03, 0x8001, b"\1\0\0\0", NUMBERED), value(0x1F, 0x8002, wide("x"), NAMED), MANY,
        value(0x1F, 0x3707, wide("../image \u202e001.png")), value(0x1F, 0x370E, wide("image/png")),
        value(0x1E, 0x3712, b"pic@x\0"), value(0x102, 0x3701, b"PNG"),
    ), 2),
)  # fmt: skip
HTML = value(0x102, 0x1013, '<p>Gr\u00fc\u00dfe <img src="cid:pic@x"></p>\0'.encode()) + b""


def test_a_winmail_is_unpacked():
    content = winmail(CODEPAGE, attribute(0x9003, properties(HTML, value(0x03, 0x3FDE, struct.pack("<I", 65001)))),
                      *OLD_FILE, *PICTURE)  # fmt: skip
    found = packed_mail(content, "application/ms-tnef", "winmail.dat")
    bill, picture = found.files
    assert (bill.name, bill.mime_type, bill.content) == (f"{BILL}.doc", "application/octet-stream", b"bill")
    assert (picture.name, picture.mime_type, picture.content) == ("image 001.png", "image/png", b"PNG")
    assert (picture.content_id, picture.is_inline) == ("pic@x", True)
    assert found.html == '<p>Gr\u00fc\u00dfe <img src="cid:pic@x"></p>'
    assert (found.text.split()[0], found.notes) == ("Gr\u00fc\u00dfe", (UNPACKED_NOTE,))


def test_what_the_mail_says_by_itself_counts():
    content = winmail(attribute(0x800C, b"Other words\0"), *OLD_FILE)
    found = packed_mail(content, "application/octet-stream", "WINMAIL.DAT", before="Hello")
    assert (found.text, [file.content for file in found.files]) == ("Hello", [b"bill"])


def compressed(words: bytes) -> bytes:
    """The compression of Outlook, with literal bytes only."""
    packed = b"".join(b"\0" + words[at : at + 8] for at in range(0, len(words), 8))
    return struct.pack("<II4sI", len(packed) + 12, len(words), b"LZFu", 0) + packed


RTF_HTML = (
    rb"{\rtf1\ansi\ansicpg1251\fromhtml1 {\fonttbl{\f0 Arial;}}{\*\generator x;}{\*\htmltag64 <p>}"
    rb"\htmlrtf {\f0 no\htmlrtf0 "
    rb"\'d1\'f7\u1105 ?\'f2{\*\htmltag84 <br>}\htmlrtf\par\htmlrtf0 \{1\}{\*\htmltag72 </p>}}}"
)


@pytest.mark.parametrize(
    ("body", "text", "html"),
    [
        (attribute(0x800C, b"Line\r\nline\r\n\0"), "Line\nline", None),
        (attribute(0x9003, properties(value(0x1F, 0x1000, wide(BILL)))), BILL, None),
        (attribute(0x9003, properties(value(0x102, 0x1009, compressed(rb"{\rtf1{\fonttbl x;}a\par\b b\tab\'e9}")))),
         "a\nb\t\u00e9", None),
        (attribute(0x9003, properties(value(0x102, 0x1009, compressed(RTF_HTML)))), f"{BILL}\n{{1}}",
         f"<p>{BILL}<br>{{1}}</p>"),
    ],
)  # fmt: skip
def test_each_way_to_pack_a_text(body, text, html):
    found = packed_mail(winmail(CODEPAGE, body), "application/vnd.ms-tnef", "x")
    assert (found.text, found.html, found.files) == (text, html, ())


def test_pictures_without_a_type_have_that_of_their_name():
    content = winmail(NEXT, attribute(0x8010, b"Boat.JPG\0", 2), attribute(0x800F, b"\xff\xd8\xffjpeg", 2))
    (file,) = packed_mail(content, "application/ms-tnef", "winmail.dat").files
    assert (file.name, file.mime_type) == ("Boat.JPG", "image/jpeg")


def test_a_message_inside_is_kept_as_a_file():
    inner = winmail(attribute(0x800C, b"Forwarded\0"))
    data = properties(value(0x1F, 0x3001, wide("Old mail")), value(0x0D, 0x3701, b"g" * 16 + inner))
    (file,) = packed_mail(winmail(NEXT, attribute(0x9005, data, 2)), "application/ms-tnef", "winmail.dat").files
    assert (file.name, file.mime_type, file.content) == ("Old mail", "application/ms-tnef", inner)


WHOLE = winmail(CODEPAGE, *OLD_FILE)
BROKEN = [
    WHOLE + b"\1\2" * 9,
    winmail(*OLD_FILE, attribute(0x9005, struct.pack("<I", 2**32 - 1), 2)),
    winmail(*OLD_FILE, attribute(0x9005, properties(value(0x1F, 0x3707, b"")[:-4] + b"\xff\xff\xff\x7f"), 2)),
    winmail(*OLD_FILE, attribute(0x9005, properties(struct.pack("<HHI", 0x1003, 1, 2**32 - 1)), 2)),
    winmail(*OLD_FILE, attribute(0x9003, properties(struct.pack("<HH", 0x77, 1)))),
    winmail(*OLD_FILE, attribute(0x9003, b"")),
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_winmail_gives_what_can_be_read_and_stays(content):
    found = packed_mail(content, "application/ms-tnef", "winmail.dat")
    assert [(file.content) for file in found.files] == [b"bill", content]
    assert found.notes == (PARTLY_NOTE,)


@pytest.mark.parametrize("length", range(0, len(WHOLE), 3))
def test_a_winmail_may_end_anywhere(length):
    found = packed_mail(WHOLE[:length], "application/ms-tnef", "winmail.dat")
    assert all(file.content in (b"bill", b"", WHOLE[:length]) for file in found.files)


def test_files_of_a_winmail_are_under_the_limits_of_mail():
    content = winmail(*OLD_FILE * 6)
    found = packed_mail(content, "application/ms-tnef", "winmail.dat", ParseLimits(parts=4))
    assert [file.content for file in found.files] == [b"bill"] * 3 + [content]
    assert found.notes == (PARTLY_NOTE,)
    (bill,) = packed_mail(WHOLE, "application/ms-tnef", "winmail.dat", ParseLimits(file_bytes=3)).files
    assert (bill.content, bill.size) == (b"", 4) and bill.dropped


def test_attributes_and_values_are_bounded(monkeypatch):
    monkeypatch.setattr(tnef, "MAX_ATTRIBUTES", 3)
    found = tnef.unpack(WHOLE + CODEPAGE)
    assert found is not None and not found.is_whole
    value_by_value = tnef._TnefReader(winmail(*PICTURE), values_left=3)
    with pytest.raises(ValueError):
        value_by_value.attributes()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"x" * 99, struct.pack("<II4sI", 9, 9, b"LZFu", 0),
        struct.pack("<II4sI", 9, 2**32 - 1, b"LZFu", 0) + b"\xff" * 99,
        compressed(b"{" * 99_999), compressed(rb"\u65536\u-1\uc99\'" * 999), compressed(b"}" * 99_999 + b"\\"),
    ],
)  # fmt: skip
def test_damaged_rtf_harms_nothing(content):
    words, is_html = rtf.words_of(rtf.unpacked(content))
    assert not is_html and len(words) < rtf.MAX_RTF_BYTES


def test_an_rtf_that_grows_is_cut():
    # Each reference repeats seventeen bytes.
    packed = (b"\xff" + struct.pack(">8H", *(((207 + 17 * at - 1) % 4096) << 4 | 15 for at in range(8)))) * 9_999
    grown = rtf.unpacked(struct.pack("<II4sI", len(packed) + 12, 2**31, b"LZFu", 0) + packed)
    assert 17 * 8 <= len(grown) <= rtf.MAX_RTF_BYTES


def test_characters_of_two_halves_are_one():
    assert rtf.words_of(rb"{\rtf1 \uc1\u-10179?\u-8640?\u55357?x}") == ("\U0001f640\ufffdx", False)


def test_groups_too_deep_are_closed_again():
    deep = b"{" * (rtf.MAX_GROUPS + 50)
    assert rtf.words_of(rb"{\rtf1 " + deep + b"a" + b"}" * len(deep) + b"b}") == ("ab", False)
