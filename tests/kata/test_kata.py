"""KATA texts: their trees, lines, values and errors, by tables of cases."""

from itertools import chain
from typing import Any

import pytest

from server import template
from server.errors import KataSyntax
from server.kata import Environment, Generic, Parameters, check, encode, parse
from server.kata.kata_parser import MAX_CHARS, MAX_DEPTH
from server.kata.kata_references import MAX_EXPANDED
from tests.kata import cases
from tests.kata.cases import Case, Fails

PLAIN = (cases.STRUCTURE, cases.KEYS, cases.COMMENTS, cases.BLOCKS, cases.INLINE, cases.ANNOTATED_BLOCKS)


def plain(value: Any) -> Any:
    """Replaces empty lists by empty maps."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value] if value else {}
    return value


def outcome(text: str) -> Any:
    try:
        return plain(Generic(Environment()).value(parse(text).tree))
    except KataSyntax as error:
        return Fails(error.details["code"], error.details.get("line") or error.details["path"])


@pytest.mark.parametrize(
    "case", [*chain(*PLAIN), *(each for each in cases.REFERENCES if "{{" not in each[1])], ids=lambda case: case[0]
)
def test_documents_without_templates(case: Case) -> None:
    _, text, value = case
    assert outcome(text) == value


def filled(text: str, values: dict[str, Any]) -> Any:
    """The values of a document whose templates are rendered with a dictionary."""
    given = Environment(values=values, render=lambda source: template.compile(source).render(values))
    try:
        return plain(Generic(given).value(parse(text).tree))
    except KataSyntax as error:
        return Fails(str(error.details["code"]), str(error.details.get("path", "")) or int(str(error.details["line"])))


@pytest.mark.parametrize("case", [*cases.TEMPLATES, *cases.REFERENCES], ids=lambda case: case[0])
def test_documents_with_templates(case: Case) -> None:
    _, text, value = case
    assert filled(text, cases.VALUES) == value


LINES = [
    ("shop:\n\n  city: Oslo\n\n  zip: 1\nopen: 9", {"shop": 0, "shop:city": 2, "shop:zip": 4, "open": 5}),
    ("# c\ncrew/a:\n  # c\n  lead@int: 7", {"crew/a": 1, "crew/a:lead": 3}),
    ("body@text:\n  a\n  b\nnext: 1", {"body": 0, "next": 3}),
    ("&inner: 5\n&outer:\n  v@ref: inner\nuse@ref: outer", {"use": 1, "use:v": 0}),
    ("use@ref: nope", {"use": 0}),
]


@pytest.mark.parametrize(("text", "lines"), LINES)
def test_each_key_knows_its_line(text: str, lines: dict[str, int]) -> None:
    assert parse(text).lines == lines


TREES = [
    ("body@text:\n  a", {"body": "a"}),
    ("body@text,trim:\n  a", {"body@trim": "a"}),
    ("body@text: a", {"body@text": "a"}),
    ("&n@int: 7\nuse@ref,trim: n", {"use@int,trim": "7"}),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_keys_keep_their_annotations(text: str, tree: dict[str, Any]) -> None:
    assert parse(text).tree == tree


GIVEN: dict[str, Any] = {
    "arr": ["q", "r"], "ea": [], "s": " 5x ", "n": None, "t": True, "o": {"id": 1, "k": 2}, "f": 2.7, "j": '{"a":1}',
    "d": {"a.b": 1, "a": {"b": 2}}, "deep": {"s": "str"},
}  # fmt: skip
PARAMETERS = [
    ("v@key,bool: arr", {"v": True}), ("v@key,bool: ea", {"v": False}), ("v@key,bit: arr", {"v": 1}),
    ("v@key,int: arr", {"v": 1}), ("v@key,int: s", {"v": 5}), ("v@key,int: t", {"v": 1}), ("v@key,int: f", {"v": 2}),
    ("v@key,int: n", {"v": 0}), ("v@key,float: s", {"v": 5.0}), ("v@key,csv: arr", {"v": []}),
    ("v@key,csv: s", {"v": ["5x"]}), ("v@key,list: arr", {"v": ["Array"]}), ("v@key,json: j", {"v": {"a": 1}}),
    ("v@key,json: n", {"v": None}), ("v@key,trim: s", {"v": "5x"}), ("v@key,trim: arr", {"v": ["q", "r"]}),
    ("v@key,date: s", {"v": False}), ("v@key,kata: j", {"v": False}), ("v@key,key: s", {"v": None}),
    ("v@key: o", {"v": {"id": 1, "k": 2}}), ("v@key: a.b", {"v": None}), ("v@key: d:a.b", {"v": 1}),
    ("v@key: d:a:b", {"v": 2}), ("v@key: :d", {"v": None}), ("v@key: d:", {"v": None}), ("v@key:", {"v": {}}),
    ("v@key: arr:1", {"v": "r"}), ("v@key: deep:s:more", {"v": "str"}), ("v@int: 12 monkeys", {"v": 12}),
    ("v@int: 1E+3", {"v": "1E+3"}), ("v@float: 1,5", {"v": 1.0}), ("v@date: nope", {"v": False}),
    ("v@key,optional: n", {}), ("v@key,optional: ea", {"v": []}), ("v@key,optional: t", {"v": True}),
    ("v@json,optional: null", {}), ("v@bool,optional: no", {"v": False}), ("v@int,optional: 0", {"v": 0}),
    ("v@trim,optional:    ", {}), ("v@raw,optional: ", {"v@optional": ""}), ("v@ref: nope", {"v": "nope"}),
    ("v@text,raw: {{x}}", {"v@text": "{{x}}"}), ("v@upper: x", {"v": "x"}), ("v:   pad  ", {"v": "pad  "}),
    ("m:\n  v@key,optional: n\n  w@int: 3", {"m": {"w": 3}}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), PARAMETERS)
def test_parameters_of_commands(text: str, value: Any) -> None:
    found = Parameters(Environment(values=GIVEN)).value(parse(text).tree)
    assert plain(found) == plain(value)
    assert repr(type(found)) == repr(dict)


ROUND = [
    {"a": "x", "b": "", "c": 5, "d": 2.5, "e": True, "f": False, "g": None},
    {"list": ["red", "green"], "odd": [" lead", "a\nb"], "maps": [{"a": 1}, {"b": [2]}]},
    {"text": "one\n\n  two\nthree", "tabs": "\tone\ntwo", "return": "a\r\nb", "blank": "\n"},
    {"deep": {"er": {"still": ["x"]}}, "hash": "# not a comment", "colon": "a: b"},
]


@pytest.mark.parametrize("values", ROUND)
def test_what_is_written_reads_back_as_it_was(values: dict[str, Any]) -> None:
    assert Generic(Environment()).value(parse(encode(values)).tree) == values


TOO_MUCH = [
    ("x: " + "y" * MAX_CHARS, "TOO_LARGE", 1),
    ("\n".join(f"{' ' * depth}a:" for depth in range(MAX_DEPTH + 2)), "TOO_DEEP", MAX_DEPTH + 1),
    ("&a@ref: b\n&b@ref: a\nuse@ref: a", "CYCLE", 2),
    ("&a:\n  x@ref: a\nuse@ref: a", "CYCLE", 2),
]


@pytest.mark.parametrize(("text", "code", "line"), TOO_MUCH, ids=["long", "deep", "in a circle", "holds itself"])
def test_limits_have_a_code_and_a_line(text: str, code: str, line: int) -> None:
    with pytest.raises(KataSyntax) as raised:
        parse(text)
    assert (raised.value.details["code"], raised.value.details["line"]) == (code, line)


def test_definitions_of_definitions_are_bounded() -> None:
    levels = ["&a0:\n  v: 1"]
    for level in range(1, 20):
        levels.append(f"&a{level}:\n  l@ref: a{level - 1}\n  r@ref: a{level - 1}")
    with pytest.raises(KataSyntax, match=f"{MAX_EXPANDED:,} keys"):
        parse("\n".join([*levels, "use@ref: a19"]))


SCHEMA = """
schema:
  attributes:
    start:
      required@bool: yes
      types:
        object:
          attributes:
            log:
              types:
                string:
            step:
              multiple@bool: yes
              types:
                number:
    extra:
      ref: anything
  attributePatterns:
    pattern/x:
      match: x-*
      attributes:
        types:
          bool:
definitions:
  anything:
    types:
      list:
      any:
"""
CHECKS = [
    ("start:\n  log: hi", []),
    ("", ["'start' is required"]),
    ("start: text", ["must be object, this is string"]),
    ("start:\n  lag: hi", ["'lag' is not a known attribute; did you mean 'log'?"]),
    ("start:\n  step/a@int: 1\n  step/b@int: 2", []),
    ("start:\n  log/a: hi", ["'log' does not take a name"]),
    ("start:\n  step@list:\n    a", ["must be number, this is list"]),
    ("start:\nextra: 1\nx-on@bool: yes", []),
    ("start:\nx-on: yes", ["must be bool, this is string"]),
    ("start:\ny-on: yes", ["'y-on' is not a known attribute"]),
]


@pytest.mark.parametrize(("text", "problems"), CHECKS)
def test_values_are_checked_against_a_schema(text: str, problems: list[str]) -> None:
    schema = Generic(Environment()).value(parse(SCHEMA).tree)
    values = Generic(Environment()).value(parse(text).tree)
    assert [each.message for each in check(values, schema)] == problems
