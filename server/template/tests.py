"""The tests of the language, which follow `is`. expression_parser.py finds out whether a name is `defined`."""

from typing import Any

from server.errors import TemplateFailed
from server.template.registry import test
from server.template.run import Rendering
from server.template.shared.template_host import ask
from server.template.shared.text_values import read
from server.template.shared.wildcards import fits_any, patterns_of
from server.template.shared.xml_tree import XmlNode
from server.template.values import is_numeric, items, number, printed, same, whole


@test("defined", charges_itself=True)
def defined(run: Rendering, value: Any) -> bool:
    """It is there and not null; a key of a map may be null."""
    return value is not None


@test("null", "none", charges_itself=True)
def null(run: Rendering, value: Any) -> bool:
    """It is null or missing."""
    return value is None


@test("empty", charges_itself=True)
def empty(run: Rendering, value: Any) -> bool:
    """It is "", false, null, or an empty list or map; not 0 and not "0"."""
    if isinstance(value, XmlNode):
        return not value.element.parts
    return value is None or value is False or value in ("", [], {})


@test("iterable", charges_itself=True)
def iterable(run: Rendering, value: Any) -> bool:
    """A loop goes over it: a list, a map, an XML node."""
    return isinstance(value, (list, dict, XmlNode))


@test("even", charges_itself=True)
def even(run: Rendering, value: Any) -> bool:
    """It is divisible by two. Raises TemplateFailed if it is not a number."""
    return whole(number(value)) % 2 == 0


@test("odd", charges_itself=True)
def odd(run: Rendering, value: Any) -> bool:
    """It is not divisible by two. Raises TemplateFailed if it is not a number."""
    return whole(number(value)) % 2 == 1


@test("divisible by", charges_itself=True)
def divisible_by(run: Rendering, value: Any, by: Any) -> bool:
    """The division by this number has no remainder. Raises TemplateFailed for zero and if it is not a number."""
    divisor = whole(number(by))
    if not divisor:
        raise TemplateFailed("a division by zero")
    return whole(number(value)) % divisor == 0


@test("same as")
def same_as(run: Rendering, value: Any, other: Any) -> bool:
    """It has the same type and value."""
    return same(value, other, run.budget.step)


@test("numeric", charges_itself=True)
def numeric(run: Rendering, value: Any) -> bool:
    """It is a number, or a text that is one."""
    return is_numeric(value)


@test("pattern")
def pattern(run: Rendering, value: Any, pattern: Any, *further: Any) -> bool:
    """It matches one of the patterns, in which `*` stands for anything, in any letter case; of a list, one of the
    values does."""
    patterns = [each for one in (pattern, *further) for each in patterns_of(run, one)]
    return any(fits_any(run, read(run, each), patterns) for each in _values(value))


@test("prefixed")
def prefixed(run: Rendering, value: Any, start: Any, *further: Any) -> bool:
    """It begins with one of these texts; case counts."""
    return read(run, value).startswith(_texts(run, start, *further))


@test("suffixed")
def suffixed(run: Rendering, value: Any, end: Any, *further: Any) -> bool:
    """It ends with one of these texts; case counts."""
    return read(run, value).endswith(_texts(run, end, *further))


@test("record type")
def record_type(run: Rendering, value: Any, type: Any, *further: Any) -> bool:
    """It names one of these record types, by any of their names."""
    names = _texts(run, type, *further)
    record_type = ask(run, "record_type", printed(value))
    return record_type is not None and any(record_type == ask(run, "record_type", name) for name in names)


def _texts(run: Rendering, *arguments: Any) -> tuple[str, ...]:
    """Returns the texts of arguments that may be lists of texts."""
    return tuple(read(run, each) for one in arguments for each in _values(one))


def _values(value: Any) -> list[Any]:
    return items(value) if isinstance(value, (list, dict)) else [value]


@test("card number")
def card_number(run: Rendering, value: Any) -> bool:
    """It is the number of a payment card: 13 to 19 digits with a valid check digit (Luhn). Blanks and dashes are
    ignored."""
    digits = [int(each) for each in read(run, value) if each in "0123456789"]
    if not 13 <= len(digits) <= 19 or set(read(run, value)) - set("0123456789 -\u00a0"):
        return False
    doubled = (sum(divmod(2 * each, 10)) for each in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and any(digits)
