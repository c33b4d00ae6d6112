"""Character sets of bodies as used by senders."""

import pytest

from server.mail.charsets import codec_of, decode
from server.mail.parse import parse

NOW = 1795187045

CASES = [
    ("iso-8859-1", "café £5".encode("latin-1"), "café £5"),
    ("iso-8859-1", b"\x93smart\x94 \x96 \x85", "“smart” – …"),
    ("ISO_8859-15", "5 €".encode("iso8859-15"), "5 €"),
    ("windows-1250", "žluťoučký".encode("cp1250"), "žluťoučký"),
    ("windows-1251", "Привет".encode("cp1251"), "Привет"),
    ("cp1252", "it’s — “so”…".encode("cp1252"), "it’s — “so”…"),
    ("windows-1256", "مرحبا".encode("cp1256"), "مرحبا"),
    ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
    ("KOI8-U", "Київ".encode("koi8-u"), "Київ"),
    ("gb2312", "中文".encode("gb2312"), "中文"),
    ("gb2312", "鎔基".encode("gbk"), "鎔基"),
    ("x-gbk", "鎔".encode("gbk"), "鎔"),
    ("gb18030", "㐀中".encode("gb18030"), "㐀中"),
    ("big5", "繁體".encode("big5"), "繁體"),
    ("ks_c_5601-1987", "한국어 똠".encode("cp949"), "한국어 똠"),
    ("euc-kr", "한국어".encode("euc-kr"), "한국어"),
    ("shift_jis", "日本語①".encode("cp932"), "日本語①"),
    ("euc-jp", "日本語".encode("euc-jp"), "日本語"),
    ("iso-2022-jp", "日本語".encode("iso2022_jp"), "日本語"),
    ("iso-2022-jp", b"\x1b$B-!\x1b(B", "①"),
    ("iso-2022-jp", b"\x1b(I1\x1b(B", "ｱ"),
    ("utf-7", b"caf+AOk-", "café"),
    ("unicode-1-1-utf-7", b"+AOk-", "é"),
    ("utf-16", "hi é".encode("utf-16"), "hi é"),
    ("utf-8", b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
    ("us-ascii", "café".encode(), "café"),
    ("us-ascii", b"caf\xe9", "café"),
    ("utf-8", b"caf\xe9 \x96 na\xefve", "café – naïve"),
    ("utf-8", "Привет, как дела".encode() + b"\xd0", "Привет, как дела\ufffd"),
    ("x-unknown", "café".encode(), "café"),
    ("x-unknown", b"caf\xe9", "café"),
    ("", b"caf\xe9", "café"),
    ("", "日本".encode(), "日本"),
    (" 'UTF-8' ", "é".encode(), "é"),
    ("iso-8859-8-i", "שלום".encode("iso8859-8"), "שלום"),
    ("macintosh", "é".encode("mac-roman"), "é"),
    ("x-mac-ce", "žluť".encode("mac-latin2"), "žluť"),
    ("dos-862", "שלום".encode("cp862"), "שלום"),
    ("cp-850", "Grüße".encode("cp850"), "Grüße"),
    ("ibm-852", "žluť".encode("cp852"), "žluť"),
    ("win-1251", "Привет".encode("cp1251"), "Привет"),
    ("x-windows-1252", "Grüße".encode("cp1252"), "Grüße"),
    ("cp28592", "Žluť".encode("iso8859-2"), "Žluť"),
    ("cp10007", "Привет".encode("mac-cyrillic"), "Привет"),
    ("8859-2", "Žluť".encode("iso8859-2"), "Žluť"),
    ("windows-874", "สวัสดี".encode("cp874"), "สวัสดี"),
    ("windows-1258", b"Ti\xea\xec", "Tiế"),
    ("windows-949", "똠".encode("cp949"), "똠"),
    ("ibm-943", "見積".encode("cp932"), "見積"),
    ("x-mac-japanese", "見積".encode("cp932"), "見積"),
    ("windows-31j", "①㈱".encode("cp932"), "①㈱"),
    ("cp51932", "見積".encode("euc-jp"), "見積"),
    ("csISO2022JP", "日本".encode("iso2022_jp"), "日本"),
    ("MS936", "你好".encode("gbk"), "你好"),
    ("hz-gb-2312", "你好".encode("hz"), "你好"),
    ("utf-8 qq7x", "Grüße".encode(), "Grüße"),
    ("utf-8; format=flowed", "Grüße".encode(), "Grüße"),
    ("charset=koi8-r", "Привет".encode("koi8-r"), "Привет"),
    ("binary", "Grüße".encode(), "Grüße"),
    ("utf-16", "Grüße".encode("utf-16-le") + b"\r\n", "Grüße"),
    ("utf-16", "Grüße".encode("utf-16-be") + b"\r\n", "Grüße"),
    ("utf-16", b"Gruss", "Gruss"),
    ("utf-16", "Grüße".encode(), "Grüße"),
    ("", "日本".encode("iso2022_jp"), "日本"),
    ("", "한국".encode("iso2022_kr"), "한국"),
]


@pytest.mark.parametrize(("label", "content", "text"), CASES)
def test_declared_sets_are_read(label, content, text):
    assert decode(content, label) == text


@pytest.mark.parametrize(("label", "content", "text"), [case for case in CASES if case[0] and b"'" not in case[1]])
def test_the_charset_of_a_part_counts(label, content, text):
    head = f'From: a@b\r\nContent-Type: text/plain; charset="{label}"\r\n\r\n'.encode()
    assert parse(head + content, NOW).text == text


@pytest.mark.parametrize(
    "label",
    ["zlib", "hex", "base64", "bz2", "rot13", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined",
     "uu", "quopri", "mbcs", "../../x", "a" * 5000, "", "\0", "encodings.aliases"],
)  # fmt: skip
def test_only_text_codecs_are_used(label):
    assert codec_of(label) is None
    assert decode(b"x\xc3\xa9", label) == "xé"


def test_nul_is_removed():
    assert decode(b"a\0b") == "ab"
    assert decode("é\0b".encode(), "utf-8") == "éb"


def test_every_known_label_reads_anything():
    from server.mail import charsets

    everything = bytes(range(256)) * 2
    for label in sorted(charsets._KNOWN):
        decode(everything, label).encode("utf-8")


CYRILLIC = "Привет"
RAW_HEADS = [
    ("in an encoded word", b"=?windows-1251?Q?" + CYRILLIC.encode("cp1251") + b"_=E4?=", "utf-8", "Привет д"),
    ("UTF-8 in a word that says otherwise", "=?iso-8859-1?q?Grüße?=".encode(), "", "Grüße"),
    ("in the charset of the body", CYRILLIC.encode("koi8-r"), "koi8-r", CYRILLIC),
    ("UTF-8 though the body is not", CYRILLIC.encode(), "koi8-r", CYRILLIC),
    ("escapes of a Japanese set", "日本語".encode("iso2022_jp"), "iso-2022-jp", "日本語"),
    ("a set that headers cannot be in", b"caf\xe9", "utf-16", "café"),
    ("no set that tells", b"caf\xe9", "utf-8", "café"),
]


@pytest.mark.parametrize(("name", "raw", "label", "text"), RAW_HEADS, ids=[case[0] for case in RAW_HEADS])
@pytest.mark.parametrize("is_multipart", [False, True])
def test_raw_bytes_in_a_header(name, raw, label, text, is_multipart):
    kind = b'Content-Type: text/plain;\r\n charset="' + label.encode() + b'"\r\n'
    if is_multipart:
        head = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + kind + b"\r\nx\r\n--b\r\n"
        head += b'Content-Type: a/b; name="' + raw + b'"\r\n\r\nx\r\n--b--\r\n'
    else:
        head = kind + b"\r\nx"
    found = parse(b"Subject: " + raw + b"\r\nFrom: " + raw + b" <a@b>\r\n" + head, NOW)
    assert (found.subject, found.sender_name) == (text, text)
    assert [file.name for file in found.files] == [text] * is_multipart
