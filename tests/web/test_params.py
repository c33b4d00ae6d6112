"""Forms as trees, and the parameters that endpoints read from them."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote, unquote_to_bytes

import pytest

from server.errors import HelpdeskError, Invalid, Malformed, Required, TooLarge
from server.web import form_data, json_text, multipart
from server.web.params import (
    MAX_JSON_PARAMETER_BYTES,
    Params,
    Raw,
    Upload,
    decode_form,
    decode_json,
    decode_multipart,
    decode_query,
    merge,
)

pytestmark = pytest.mark.sqlite("the same with any store")

TREES = [
    ("", {}),
    ("a=1", {"a": "1"}),
    ("a=1&a=2", {"a": "2"}),
    ("a[]=1&a[]=2", {"a": ["1", "2"]}),
    ("a[0]=x&a[5]=y", {"a": ["x", "y"]}),
    ("a[5]=y&a[0]=x&a[]=z", {"a": ["x", "y", "z"]}),
    ("a[10]=y&a[9]=x", {"a": ["x", "y"]}),
    ("a[01]=x", {"a": {"01": "x"}}),
    ("a[-1]=x", {"a": {"-1": "x"}}),
    ("a[\u0663]=x", {"a": {"\u0663": "x"}}),
    ("a[]=1&a[k]=2", {"a": {"0": "1", "k": "2"}}),
    ("a[][n]=1&a[][n]=2", {"a": [{"n": "1"}, {"n": "2"}]}),
    ("a[k]=1&a[m][n]=2", {"a": {"k": "1", "m": {"n": "2"}}}),
    ("a[k]=1&a[k]=2", {"a": {"k": "2"}}),
    ("fields[links][]=task:4", {"fields": {"links": ["task:4"]}}),
    ("fields=abc", {"fields": "abc"}),
    ("fields[__class__]=x", {"fields": {"__class__": "x"}}),
    # only the outermost name
    ("a[=1", {"a_": "1"}),
    ("a[b.c=1", {"a_b_c": "1"}),
    ("a.b=1&a+c=2&+d=3", {"a_b": "1", "a_c": "2", "d": "3"}),
    ("a.b[c.d][e f]=1", {"a_b": {"c.d": {"e f": "1"}}}),
    ("a]=1", {"a]": "1"}),
    ("a[[b]=1", {"a": {"[b": "1"}}),
    # encoded characters
    ("a=x+y%20z%2B", {"a": "x y z+"}),
    ("a%5B%5D=1&a%5b%5d=2", {"a": ["1", "2"]}),
    ("a=1;b=2", {"a": "1;b=2"}),
    ("a=b=c", {"a": "b=c"}),
    ("a=", {"a": ""}),
    ("a", {"a": ""}),
    ("=1&&a=2&", {"a": "2"}),
    ("a=100%&b=%zz%4", {"a": "100%", "b": "%zz%4"}),
    ("a=%C3%A9%F0%9F%98%80", {"a": "é😀"}),
    ("%C3%A9=1", {"é": "1"}),
]


@pytest.mark.parametrize(("sent", "tree"), TREES)
def test_form_becomes_this_tree(sent: str, tree: dict[str, object]) -> None:
    assert decode_form(sent.encode()) == tree
    assert decode_query(sent.encode()) == tree
    assert decode_query(sent.encode().decode("latin-1")) == tree


REFUSED = [
    # names that contradict each other
    ("a=1&a[b]=2", Malformed, "a"),
    ("a[b]=2&a=1", Malformed, "a"),
    ("a[b]=1&a[b][c]=2", Malformed, "a"),
    ("a[b][c]=1&a[b]=2", Malformed, "a"),
    ("message=1&message[a]=2", Malformed, "message"),
    # brackets
    ("a[b]c=1", Malformed, "a"),
    ("a[b][c=1", Malformed, "a"),
    ("[a]=1", Malformed, None),
    ("a" + "[b]" * (form_data.MAX_BRACKETS + 1) + "=1", TooLarge, None),
    ("a" + "[" * 100_000 + "=1", TooLarge, None),
    ("a" + "[b]" * 100_000 + "=1", TooLarge, None),
    ("a" * (form_data.MAX_NAME_CHARS + 1) + "=1", TooLarge, None),
    ("%41" * 100_000 + "=1", TooLarge, None),
    ("a%00b=1", Malformed, None),
    # text that is not UTF-8
    ("q=%FF", Malformed, "q"),
    ("a[b]=%C3", Malformed, "a[b]"),
    ("q=%ED%A0%80", Malformed, "q"),
    ("q=%C0%AF", Malformed, "q"),
    ("%FF=1", Malformed, None),
    # number of fields
    ("&".join(f"a{n}=1" for n in range(form_data.MAX_FIELDS + 1)), TooLarge, None),
    ("&" * 100_000, TooLarge, None),
]


@pytest.mark.parametrize(("sent", "error", "field"), REFUSED, ids=range(len(REFUSED)))
def test_bad_form_is_refused(sent: str, error: type[HelpdeskError], field: str | None) -> None:
    with pytest.raises(error) as caught:
        decode_form(sent.encode())
    assert caught.value.details.get("field") == field


def test_form_at_its_limits_is_accepted() -> None:
    assert len(decode_form(b"&".join(b"a[]=1" for _ in range(form_data.MAX_FIELDS)))["a"]) == form_data.MAX_FIELDS
    assert decode_form(b"a" + b"[b]" * form_data.MAX_BRACKETS + b"=1")["a"]
    assert decode_form(b"a" * form_data.MAX_NAME_CHARS + b"=1")
    assert decode_form(b"%F0%9F%98%80" * form_data.MAX_NAME_CHARS + b"=1")


def test_query_string_in_plain_unicode_is_refused() -> None:
    with pytest.raises(Malformed):
        decode_query("q=\u20ac")


def test_index_of_250_digits_is_only_a_position_in_a_list() -> None:
    assert decode_form(f"a[{'9' * 250}]=y&a[1]=x".encode()) == {"a": ["x", "y"]}


def test_body_takes_precedence_over_query_string_without_mixing() -> None:
    assert merge(decode_query("a[x]=1&b=2"), decode_form(b"a[y]=3")) == {"a": {"y": "3"}, "b": "2"}


def test_random_forms_raise_only_our_errors() -> None:
    chance = random.Random(20261120)
    pieces = ["a", "b", "[", "]", "[]", "[0]", "[k]", "=", "&", "+", "%", "%5B", "%FF", "%00", ".", ";", "é", "1"]
    for _ in range(5000):
        sent = "".join(chance.choices(pieces, k=chance.randrange(1, 30))).encode()
        with suppress(Malformed, TooLarge):
            assert isinstance(decode_form(sent), dict)


# --- bytes that must arrive unchanged

EVERY_BYTE = bytes(range(256)) + b"\r\n.\r\n  \x80\xff=%41+&\x00 "


def part(name: str, content: bytes, more: str = "") -> bytes:
    return f'--b0\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + content + b"\r\n"


def cut(*parts: bytes, end: bytes = b"--b0--\r\n") -> dict[str, object]:
    return decode_multipart(b"".join(parts) + end, "multipart/form-data; boundary=b0")


@pytest.mark.parametrize(
    "sent",
    [
        lambda mail: decode_form(b"message=" + quote(mail, safe="").encode()),
        lambda mail: cut(part("message", mail)),
        lambda mail: cut(part("message", mail, '; filename="mail.eml"\r\nContent-Type: message/rfc822')),
        lambda mail: cut(part("x", b"1"), part("message", mail), part("y", b"2")),
    ],
)
def test_mail_arrives_byte_for_byte(sent: Callable[[bytes], dict[str, object]]) -> None:
    assert Params(sent(EVERY_BYTE)).raw("message") == EVERY_BYTE


def test_only_plain_outermost_names_are_raw() -> None:
    tree = decode_form(b"message=%FF&message2=x&fields[content]=y")
    assert type(tree["message"]) is Raw and type(tree["message2"]) is str and type(tree["fields"]["content"]) is str


def test_raw_value_read_as_text_must_be_utf8() -> None:
    assert Params(decode_form(b"content=%C3%A9")).text("content") == "é"
    with pytest.raises(Malformed) as caught:
        Params(decode_form(b"content=%FF")).text("content")
    assert caught.value.details["field"] == "content"


def test_large_values_are_decoded_like_small_ones() -> None:
    chance = random.Random(7)
    pieces = [b"%", b"%41", b"%zz", b"=", b"\r\n", b"a", b"_", b"%0", b"%ff", b"%0D%0A", b"\x00", b".", b"x" * 40_000]
    for _ in range(20):
        value = b"".join(chance.choices(pieces, k=40))
        assert decode_form(b"message=" + value)["message"] == unquote_to_bytes(value)


# --- multipart


def test_parts_become_the_same_tree_as_a_form() -> None:
    tree = cut(part("fields[links][]", b"task:1"), part("fields[links][]", b"org:2"), part("q", "é+%41".encode()))
    assert tree == {"fields": {"links": ["task:1", "org:2"]}, "q": "é+%41"}


def test_file_part_keeps_name_type_and_bytes() -> None:
    tree = cut(part("up[]", EVERY_BYTE, '; filename="C:\\x\\\\ \\"a\\".png"\r\nContent-Type: image/png'))
    assert tree == {"up": [Upload('C:\\x\\ "a".png', "image/png", EVERY_BYTE)]}


@pytest.mark.parametrize(
    ("head", "filename"),
    [
        ('; filename="é.txt"', "é.txt"),
        ("; filename=plain.txt", "plain.txt"),
        ("; filename*=UTF-8''%C3%A9%20x.txt", "é x.txt"),
        ("; filename=\"e.txt\"; filename*=utf-8'de'%C3%A9.txt", "é.txt"),
        ('; FILENAME = "a;b=c.txt" ;', "a;b=c.txt"),
        ('; filename="../../x"', "../../x"),
    ],
)
def test_file_name_is_read_from_the_part_header(head: str, filename: str) -> None:
    upload = cut(part("up", b"x", head))["up"]
    assert upload == Upload(filename, "application/octet-stream", b"x")


def test_empty_file_field_is_not_a_parameter() -> None:
    assert cut(part("up", b"", '; filename=""'), part("a", b"")) == {"a": ""}


@pytest.mark.parametrize(
    "content",
    [
        b"--b0x",
        b"\r\n--b0x\r\n",
        b"\r\n--b0-\r\n",
        b"x--b0--",
        b"\r\n",
        b"\r\n\r\n",
        b"\n--b0\n",
        b"-",
        b"\r\n--b",
        b"",
    ],
)
def test_content_that_resembles_a_boundary_stays_content(content: bytes) -> None:
    assert cut(part("message", content), part("a", b"1")) == {"message": content, "a": "1"}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ('Content-Disposition: form-data; name="a"', "a"),
        ('content-disposition: form-data; name="a.b;c=d"', "a_b;c=d"),
        ('Content-Disposition: form-data; name="a b"', "a_b"),
        ('Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain', "a"),
        ('Content-Disposition: form-data; name="\\\\a"', "\\a"),
        ("Content-Disposition: form-data; name=a", "a"),
        ("Content-Disposition: form-data; name=\"b\"; name*=utf-8''a", "a"),
        ('Content-Disposition: form-data; name="é"', "é"),
    ],
)
def test_the_name_of_a_part_is_read_from_each_form_of_its_head(head: str, name: str) -> None:
    assert cut(f"--b0\r\n{head}\r\n\r\n1\r\n".encode()) == {name: "1"}


def test_preamble_epilogue_and_blanks_after_boundaries_are_skipped() -> None:
    body = b'hello\r\n--b0 \t\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b0-- \r\nbye --b0'
    assert decode_multipart(body, 'Multipart/Form-Data; charset=utf-8; boundary="b0"') == {"a": "1"}
    assert decode_multipart(b"\r\n" + body[7:], "multipart/form-data;boundary=b0") == {"a": "1"}
    assert cut() == {}


HEAD = b'--b0\r\nContent-Disposition: form-data; name="a"'
BROKEN = [
    (b"", Malformed),
    (b"--b0\r\n", Malformed),
    (b"--b0", Malformed),
    (part("a", b"1"), Malformed),
    (part("a", b"1") + b"--b0-", Malformed),
    (HEAD + b"\n\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\n--b0--", Malformed),
    (b"--b0\r\n\r\n\r\n1\r\n--b0--", Malformed),
    (b"--b0\r\n\r\n1\r\n--b0--", Malformed),
    (b"--b0\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b0--", Malformed),
    (b'--b0\r\nContent-Disposition: form-data; name=""\r\n\r\n1\r\n--b0--', Malformed),
    (b'--b0\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--b0--', Malformed),
    (HEAD + b'; name="b"\r\n\r\n1\r\n--b0--', Malformed),
    (HEAD + b'"x\r\n\r\n1\r\n--b0--', Malformed),
    (HEAD + b"; =x\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\n folded: x\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\nno colon\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\nX: a\rb\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\nX: a\xffb\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ==\r\n--b0--", Malformed),
    (HEAD + b"; filename*=latin-1''%E9\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"; filename*=utf-8''%E9\r\n\r\n1\r\n--b0--", Malformed),
    (HEAD + b"\r\n\r\n\xff\r\n--b0--", Malformed),
    (part("a", b"1") + part("a[b]", b"1") + b"--b0--", Malformed),
    (HEAD + b"\r\nX: " + b"y" * multipart.MAX_PART_HEAD_BYTES + b"\r\n\r\n1\r\n--b0--", TooLarge),
    (HEAD + b"\r\n" + b"x" * 100_000 + b"\r\n--b0--", TooLarge),
    (part("a[]", b"1") * (multipart.MAX_PARTS + 1) + b"--b0--", TooLarge),
    (part("a" + "[" * 100_000, b"1") + b"--b0--", TooLarge),
    (part("a" + "[b]" * 80, b"1") + b"--b0--", TooLarge),
]


@pytest.mark.parametrize(("body", "error"), BROKEN, ids=range(len(BROKEN)))
def test_broken_multipart_body_is_refused(body: bytes, error: type[HelpdeskError]) -> None:
    with pytest.raises(error):
        decode_multipart(body, "multipart/form-data; boundary=b0")


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + "x" * 71,
        'multipart/form-data; boundary="a\\"b"',
        'multipart/form-data; boundary="a',
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/mixed; boundary=b0",
        "",
        "multipart/form-data; boundary=\u00e9",
    ],
)
def test_boundary_must_be_readable(content_type: str) -> None:
    with pytest.raises(Malformed):
        decode_multipart(b"--b0--", content_type)


def test_hundred_parts_are_accepted() -> None:
    assert len(Params(cut(part("a[]", b"1") * multipart.MAX_PARTS)).text_list("a")) == multipart.MAX_PARTS


def test_random_multipart_bodies_raise_only_our_errors() -> None:
    chance = random.Random(20261120)
    pieces = [b"--b0", b"\r\n", b"--", b"\r\n--b0\r\n", b'Content-Disposition: form-data; name="a"', b"; filename=x"]
    pieces += [b"\r\n\r\n", b'"', b";", b":", b"=", b"\xff", b"\x00", b"\\", b" ", b"--b0--", b"[", b"]", b"x"]
    for _ in range(5000):
        with suppress(Malformed, TooLarge):
            cut(b"".join(chance.choices(pieces, k=chance.randrange(1, 30))))


# --- JSON


def test_json_object_is_a_tree_of_its_own_values() -> None:
    body = '{"fields": {"subject": "é\\ud83d\\ude00", "importance": 5, "links": []}, "x": null, "y": true, "y": 1.5}'
    assert decode_json(body.encode()) == {
        "fields": {"subject": "é😀", "importance": 5, "links": []},
        "x": None,
        "y": 1.5,
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"a"',
        b"{",
        b"{} {}",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'{"\\udc00": 1}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'{"a": ' + b"9" * 100_000 + b"}",
        b'{"a": ' + b"[" * 32 + b"]" * 32 + b"}",
        b'{"a": ' + b"[" * 100_000,
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000,
    ],
    ids=range(19),
)
def test_bad_json_is_refused(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode_json(body)


def test_json_at_the_depth_limit_is_accepted() -> None:
    assert decode_json(b'{"a": ' + b"[" * 31 + b"]" * 31 + b"}")
    assert json_text.MAX_JSON_DEPTH == 32


# --- reading


def params(sent: str) -> Params:
    return Params(decode_query(sent))


def test_text_is_returned_as_sent() -> None:
    sent = params("a=+x+&b=")
    assert (sent.text("a"), sent.text("b", "default"), sent.text("c"), sent.text("c", "d")) == (" x ", "", None, "d")
    assert "b" in sent and "c" not in sent and sent.names() == ["a", "b"]


@pytest.mark.parametrize("sent", ["", "a="])
@pytest.mark.parametrize(
    "read",
    [
        lambda given: given.text("a", required=True),
        lambda given: given.id("a", required=True),
        lambda given: given.id_list("a", required=True),
        lambda given: given.json("a", required=True),
        lambda given: given.raw("a", required=True),
    ],
)
def test_missing_required_parameter_is_named(sent: str, read: Callable[[Params], object]) -> None:
    with pytest.raises(Required) as caught:
        read(params(sent))
    assert caught.value.details["field"] == "a"


@pytest.mark.parametrize("sent", ["a[]=1", "a[k]=1"])
@pytest.mark.parametrize(
    "read",
    [
        lambda given: given.text("a"),
        lambda given: given.integer("a", 1, 1, 9),
        lambda given: given.flag("a"),
        lambda given: given.id("a"),
        lambda given: given.raw("a"),
    ],
)
def test_list_in_place_of_one_value_is_refused_by_name(sent: str, read: Callable[[Params], object]) -> None:
    with pytest.raises(Invalid) as caught:
        read(params(sent))
    assert caught.value.details["field"] == "a" and type(caught.value) is Invalid


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("7abc", 7),
        ("%20+8", 8),
        ("abc", 1),
        ("-5", 1),
        ("1e3", 1),
        ("251", 250),
        ("9" * 9000, 250),
        ("", 10),
        ("%D9%A3", 1),
    ],
)
def test_limit_is_read_leniently_and_clamped(text: str, number: int) -> None:
    assert params(f"limit={text}").integer("limit", 10, 1, 250) == number
    assert params("").integer("limit", 10, 1, 250) == 10


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1", True),
        ("yes", True),
        ("TRUE", True),
        ("x", True),
        ("0", False),
        ("", False),
        ("False", False),
        ("no", False),
    ],
)
def test_flag_is_read_leniently(text: str, answer: bool) -> None:
    assert params(f"f={text}").flag("f") is answer
    assert params("").flag("f") is False and params("").flag("f", True) is True


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), (str(2**63 - 1), 2**63 - 1)])
def test_id_is_read_from_digits(text: str, number: int) -> None:
    assert params(f"id={text}").id("id") == number


@pytest.mark.parametrize(
    "text",
    ["-1", "%2B1", "1e0", str(2**63), str(2**64), "%D9%A3", "1%00", "+1", "1+", "1%0A", "1.0", "0x1", "9" * 9999],
)
def test_invalid_id_is_refused_by_name(text: str) -> None:
    for sent, read in ((f"id={text}", Params.id), (f"id[]={text}", Params.id_list)):
        with pytest.raises(Invalid) as caught:
            read(params(sent), "id")
        assert caught.value.details["field"] == "id"


def test_missing_id_is_the_default() -> None:
    assert params("").id("id") is None and params("id=").id("id", 0) == 0


def test_lists_accept_one_plain_value() -> None:
    assert params("file_id[]=1&file_id[]=2").id_list("file_id") == [1, 2]
    assert params("file_id=3").id_list("file_id") == [3]
    assert params("file_id=").id_list("file_id") == params("").id_list("file_id") == []
    assert params("s[]=&s[]=x").text_list("s") == ["", "x"]
    for sent in ("s[k]=1", "s[][]=1"):
        with pytest.raises(Invalid):
            params(sent).text_list("s")


def test_value_that_is_not_a_map_is_refused() -> None:
    assert params("fields[a]=1").map("fields") == {"a": "1"}
    assert params("").map("fields") == params("fields=").map("fields") == {}
    for sent in ("fields=abc", "fields[]=1"):
        with pytest.raises(Invalid):
            params(sent).map("fields")
    for sent in ("", "fields="):
        with pytest.raises(Required):
            params(sent).map("fields", required=True)


def test_json_parameter_is_read() -> None:
    assert params("v=" + quote('{"a": [1, "é"]}')).json("v") == {"a": [1, "é"]}
    assert params("v[]=task:1").json("v") == ["task:1"]
    assert params("v=").json("v", {}) == {}
    assert Params(decode_json(b'{"v": {"a": 1}}')).json("v") == {"a": 1}
    with pytest.raises(Malformed) as caught:
        params("v={").json("v")
    assert caught.value.details["field"] == "v"


def test_json_parameter_above_its_limit_is_too_large() -> None:
    fits = json.dumps("x" * (MAX_JSON_PARAMETER_BYTES - 2))
    assert Params({"v": fits}).json("v")
    for text in (fits + " ", json.dumps("é" * (MAX_JSON_PARAMETER_BYTES // 2), ensure_ascii=False)):
        with pytest.raises(TooLarge):
            Params({"v": text}).json("v")


def test_json_body_is_read_with_the_same_accessors() -> None:
    sent = Params(decode_json(b'{"limit": 7, "on": true, "off": false, "none": null, "ids": [1, "2"], "x": 1.5}'))
    assert (sent.integer("limit", 1, 1, 9), sent.flag("on"), sent.flag("off")) == (7, True, False)
    assert (sent.text("none", "d"), sent.id_list("ids"), sent.text("x"), sent.id("limit")) == ("d", [1, 2], "1.5", 7)
    assert "none" not in sent


def test_raw_is_read_from_text_and_file_alike() -> None:
    assert params("a=%C3%A9").raw("a") == "é".encode()
    assert params("").raw("a") == b""
    given = Params(cut(part("up", b"\xff", '; filename="x"'), part("t", b"text", '; filename="y"')))
    upload = given.upload("up")
    assert given.raw("up") == b"\xff" and upload is not None and upload.filename == "x"
    assert given.text("t") == "text" and given.upload("missing") is None
