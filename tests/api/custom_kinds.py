"""The kinds of custom fields: accepted values, how they are shown, and refused values."""

from dataclasses import dataclass, field
from typing import Any

GEO, LINKS, SLIDER = "svc.custom_field.geo.point", "svc.custom_field.record.links", "svc.custom_field.slider"


@dataclass
class Kind:
    """letter, settings, [(sent, shown in `custom`, text in custom_<id>)], refused values.

    `{org}`, `{org2}`, `{file}`, `{milo}` stand for ids."""

    letter: str
    params: dict[str, Any] = field(default_factory=dict)
    fits: list[tuple[Any, Any, str]] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)
    several: bool = False


KINDS = [
    Kind("C", {}, [("1", 1, "1"), ("0", 0, "0"), ("yes", 1, "1"), ("false", 0, "0")], ["2", "maybe", ["1"]]),
    Kind("D", {"options": "Gold\nIron"}, [("Gold", "Gold", "Gold"), ("Iron", "Iron", "Iron")],
    ["gold", "Tin", ["Gold"]]),
    Kind("E", {}, [("1715767200", 1715767200, "1715767200"), ("2024-05-15 10:00", 1715767200, "1715767200")],
         ["soonish", ["1"]]),
    Kind("F", {}, [("{file}", "{file}", "{file}")], ["x", "999999", ["{file}"]]),
    Kind("I", {}, [(["{file}", "{file2}"], ["{file}", "{file2}"], "{file}, {file2}"), ("{file}", ["{file}"], "{file}")],
         [["999999"], "x"], True),
    Kind("L", {"context": "org"}, [("{org}", "{org}", "{org}")], ["org:{org}", "999999", "x", "-1", "9" * 19]),
    Kind("M", {}, [(["a", "b"], ["a", "b"], "a, b"), ("one", ["one"], "one"), (["a", "a"], ["a"], "a"),
                   (["-a"], ["-a"], "-a")], ["x" * 256, ["x" * 256]], True),
    Kind("N", {}, [("12", 12, "12"), ("-7", -7, "-7"), ("3.9", 3, "3"), ("9" * 18, int("9" * 18), "9" * 18)],
         ["much", "9" * 20, "1e5", ["1"]]),
    Kind("O", {"decimal_at": 2}, [("12.34", 1234, "1234"), ("5", 500, "500"), ("0.005", 1, "1")],
         ["-1", "much", "nan", "inf", "1_0", "1e400"]),
    Kind("S", {}, [("Kite \N{KITE}", "Kite \N{KITE}", "Kite \N{KITE}"), ("x" * 255, "x" * 255, "x" * 255)],
         ["x" * 256, ["a"], "a\x00"]),
    Kind("T", {}, [("two\nlines", "two\nlines", "two\nlines"), ("x" * 3000, "x" * 3000, "x" * 3000)], [["a"], "\x00"]),
    Kind("U", {}, [("https://kite.example/", "https://kite.example/", "https://kite.example/")],
         ["ftp://kite.example", "kite.example", "javascript:alert(1)", "http://a b"]),
    Kind("W", {}, [("{milo}", "{milo}", "{milo}")], ["milo", "999999", "me", "Milo Test"]),
    Kind("X", {"options": "red\nblue\n-odd"}, [(["red", "blue"], ["red", "blue"], "red, blue"), ("red", ["red"], "red"),
         (["-odd"], ["-odd"], "-odd")],
         ["green", ["green"], ["red", "green"], ["+green"], ["-green"], ["+red", "+green"], [["red"]]], True),
    Kind("Y", {"currency_id": 1}, [("12.34", 1234, "1234"), ("1234567.8", 123456780, "123456780")], ["-1", "much"]),
    Kind(GEO, {}, [("59.9139, 10.7522", "59.913900, 10.752200", "59.913900, 10.752200")],
         ["91, 0", "0, 181", "here", "1", "nan, 0", "1,2,3"]),
    Kind(LINKS, {"context": "org"}, [(["{org}", "{org2}"], ["{org}", "{org2}"], "")], [["999999"], ["x"], ["org:1"]],
         True),
    Kind(SLIDER, {"value_min": "-5", "value_max": "5"}, [("-5", -5, "-5"), ("5", 5, "5")], ["6", "-6", "x"]),
]  # fmt: skip
BY_LETTER = {kind.letter: kind for kind in KINDS}


def filled(value: Any, ids: dict[str, int]) -> Any:
    """Returns the value with ids filled in; a text that consists of an id becomes a number in expected values."""
    if isinstance(value, list):
        return [filled(each, ids) for each in value]
    if isinstance(value, str):
        for name in ("org2", "org", "file2", "file", "milo"):
            value = value.replace(f"{{{name}}}", str(ids[name]))
    return value


def numbered(value: Any) -> Any:
    if isinstance(value, list):
        return [numbered(each) for each in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def uri_of(kind: Kind) -> str:
    return f"kind_{kind.letter.rpartition('.')[2]}".lower()
