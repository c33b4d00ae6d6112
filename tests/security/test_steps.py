"""Parsers of untrusted text work in linear time: the steps for a piece do not grow with the pieces before it.

A step is a line of Python. One step in a C library is bounded by the size of its input; test_source.py checks
patterns."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from console.http import cookies, visit
from server import kata, times
from server.mail import addresses, hash_commands, mask
from server.mail.parse import parse as parse_mail
from server.markup import link_plain_text, text_of_html
from server.record_types.shared import callbacks, scopes
from server.template.filters.browsers import browser_of
from server.template.tag_parser import parsed
from server.web.form_data import decode_form
from server.web.json_text import loads
from server.web.multipart import decode_multipart
from tests.steps import steps

pytestmark = pytest.mark.sqlite("the same with any store")

LENGTHS = (60, 120, 240)  # pieces
MOST = 2.6  # maximum ratio of steps for twice as many pieces
NOW = 1_795_000_000
HEAD = "From: ana@kite.example\nSubject: x\n"


def mailed(text: str) -> object:
    return parse_mail((HEAD + text).encode(), NOW)


def in_header(name: str) -> Callable[[str], object]:
    return lambda text: mailed(f"{name}: {text}\n\nHello\n")


def in_parts(text: str) -> object:
    return mailed(f"Content-Type: multipart/mixed; boundary=b\n\n{text}")


# {name of the parser: (parser, pieces to repeat)}
READERS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "kata": (
        kata.parse,
        ["a:\n", "a", ":", "a@b,", "&a:\n", "#\n", "  ", "\t", "a:\n ", "a/b/", "a: b\n", "|", "\r", "@"],
    ),
    "template": (
        parsed,
        ["{{a}}", "{{", "{%", "{# #}", "{{ (", "{{ [", "{% if a %}", "a|b", "{{ a.b", "{{ not ", '{{ "', "}}", "~"],
    ),
    "form": (
        lambda text: decode_form(text.encode()),
        ["a=1&", "&", "a[]=1&", "[", "a[b]", "%", "%41", "=", "a[b][c]=1&", "+"],
    ),
    "multipart": (
        lambda text: decode_multipart(text.encode(), "multipart/form-data; boundary=b"),
        ["--b\r\n", "--b", "\r\n", "-", 'Content-Disposition: form-data; name="a"\r\n', '--b\r\na: "\r\n\r\n', ";"],
    ),
    "json": (lambda text: loads(text.encode(), "text"), ["[", '{"a":', '"', "1,", "\\", "[1,", " "]),
    "addresses": (
        addresses.parse_list,
        ["a@b.c, ", "(", "<", ",", '"', "a b ", "@", "=?utf-8?q?a?= ", ";", ":", "\\", "<a@b.c>"],
    ),
    "mail": (mailed, ["A: b\n", "A", ":", "\n", " b\n", "=?utf-8?b?YQ==?=", "\r"]),
    "mail to": (in_header("To"), ["a@b.c, ", "(", '"', "=?utf-8?q?a?= ", "<a@b.c>, "]),
    "mail references": (in_header("References"), ["<a@b> ", "<", ">", "a "]),
    "mail type": (in_header("Content-Type"), ["a; ", "a/b; c=d; ", ";", 'a="', "*0*=a; ", "'"]),
    "mail parts": (
        in_parts,
        ["--b\n", "--b\n\nx\n", "--b--\n", "-", "--b\nContent-Type: multipart/mixed; boundary=b\n\n"],
    ),
    "commands": (lambda text: hash_commands.apply(text, "", ""), ["#a\n", "#", "\n", "#signature\n", "a\n"]),
    "masks": (mask.masks_in, ["[", "[#A-1] ", "#", "]", "[a #", "A-"]),
    "html": (text_of_html, ["<p>", "<", "&amp;", "<a href=x>", "</p>", "<!--", "<table><tr><td>"]),
    "links": (link_plain_text, ["http://a.b ", "a@b.c ", "www.", "(", "a."]),
    "times": (
        lambda text: times.instant(text, NOW, ZoneInfo("UTC")),
        ["+1 day ", "monday ", "1", ":", "-", "1/", "ago "],
    ),
    "scopes": (scopes.parse, ['"a": {label: a, endpoints: ["*"]}\n', "[", "- ", "a: ", "&a ", "#"]),
    "callbacks": (lambda text: callbacks.match(("https://a.b/c",), text), ["https://a.b/c", "/", ":", "@", "\\"]),
    "cookies": (lambda text: cookies.read(text, cookies.SESSION, False), ["sid=a; ", ";", "=", "sid=", "a"]),
    "paths": (visit.own_path, ["/", "a", "//", "\\", "%2f"]),
    "devices": (browser_of, ["Mozilla/5.0 ", "(", ";", "Chrome/1.", "/"]),
}


@pytest.mark.parametrize("name", READERS)
def test_steps_grow_with_the_length_only(name: str) -> None:
    read, pieces = READERS[name]
    steps(read, "a")  # fills caches first, which no text causes
    for piece in pieces:
        counts = [steps(read, piece * number) for number in LENGTHS]
        assert counts[1] <= MOST * counts[0] and counts[2] <= MOST * counts[1], (piece, counts)
