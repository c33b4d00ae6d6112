"""Texts changed by patterns: replace, regexp, regexp_replace, format."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from server.digits import is_whole
from server.errors import TemplateFailed
from server.template import script_patterns
from server.template.registry import filter
from server.template.run import Arrow, Rendering
from server.template.shared.list_arguments import entries
from server.template.shared.text_values import TextBuffer, read, read_slowly
from server.template.values import number_or, printed, whole

MAX_PLACES = 400  # digits after the point
CHARS_A_STEP = 256  # compared for one step
_DIRECTIVE = re.compile(r"%(?:([0-9]{1,9})\$)?((?:[-+ 0]|'.)*)([0-9]{1,9})?(?:\.([0-9]{0,9}))?([a-zA-Z%])?", re.DOTALL)
_GROUP = re.compile(r"\$(?:\$|([0-9]{1,2})|\{([A-Za-z0-9_]{1,50})\})", re.ASCII)
_FLAG = re.compile(r"'(.)|([-+ 0])", re.DOTALL)


@filter("replace")
def replace(run: Rendering, value: Any, pairs: Any) -> str:
    """The text with each key of a map replaced by its value, all in one pass, the longest key first. Raises
    TemplateFailed if the argument is not a map."""
    changes = {str(key): printed(each) for key, each in entries(pairs, "replace") if key != ""}
    text = read(run, value)
    if not changes:
        return text
    out, place = TextBuffer(run), 0
    for start, key in _found(run, text, changes):
        out.add(text[place:start])
        out.add(changes[key])
        place = start + len(key)
    out.add(text[place:])
    return out.text()


def _found(run: Rendering, text: str, changes: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yields (position, key) of each match, from left to right, without overlaps."""
    lengths: dict[str, list[int]] = {}
    for key in sorted(changes, key=len, reverse=True):
        key_lengths = lengths.setdefault(key[0], [])
        if not key_lengths or key_lengths[-1] != len(key):
            key_lengths.append(len(key))
    run.budget.step(len(lengths))
    first = re.compile("[" + "".join(map(re.escape, lengths)) + "]")
    place = 0
    while (at := first.search(text, place)) is not None:
        start = place = at.start()
        for length in lengths[text[start]]:
            run.budget.step(1 + length // CHARS_A_STEP)
            part = text[start : start + length]
            if part in changes:
                yield start, part
                place = start + length
                break
        else:
            place += 1


@filter("regexp")
def regexp(run: Rendering, value: Any, pattern: Any, group: Any = 0) -> str:
    """A group of the first match, "" if there is no match. Raises TemplateFailed for an invalid pattern."""
    text, number = read_slowly(run, value), whole(group)
    match = script_patterns.search(run.budget, script_patterns.compiled(printed(pattern)), text)
    if match is None or not 0 <= number <= len(match.groups()):
        return ""
    return match.group(number) or ""


@filter("regexp_replace", takes_arrow=True)
def regexp_replace(run: Rendering, value: Any, pattern: Any, replacement: Any, limit: Any = None) -> str:
    """The text with each match of a pattern replaced. In the replacement, $1 or ${name} is a group, $0 the whole match,
    $$ a dollar sign; it may also be `m => ...` with the list of groups. limit: the maximum number of replacements.
    Raises TemplateFailed for an invalid pattern or an unknown group."""
    text, compiled = read_slowly(run, value), script_patterns.compiled(printed(pattern))
    most = None if limit is None else max(0, whole(limit))
    write = _groups_written(run, compiled, replacement)
    out, place = TextBuffer(run), 0
    for count, match in enumerate(script_patterns.matches(run.budget, compiled, text) if most != 0 else ()):
        out.add(text[place : match.start()])
        for part in write(match):
            out.add(part)
        place = match.end()
        if most is not None and count + 1 >= most:
            break
    out.add(text[place:])
    return out.text()


def _groups_written(run: Rendering, pattern: Any, replacement: Any) -> Callable[[Any], list[str]]:
    """Returns the function that renders the replacement of a match in parts. Raises TemplateFailed."""
    if isinstance(replacement, Arrow):

        def call(match: Any) -> list[str]:
            run.budget.entries(pattern.groups + 1)
            return [printed(replacement([match.group(number) or "" for number in range(pattern.groups + 1)]))]

        return call
    parts, place = list[str | int](), 0
    source = read(run, replacement)
    for each in _GROUP.finditer(source):
        run.budget.step()
        parts += [source[place : each.start()], "$" if each[0] == "$$" else _group(pattern, each[1] or each[2])]
        place = each.end()
    parts.append(source[place:])
    return lambda match: [part if isinstance(part, str) else match.group(part) or "" for part in parts]


def _group(pattern: Any, name: str) -> int:
    """Returns the number of a group by its number or name. Raises TemplateFailed."""
    number = int(name) if is_whole(name) else pattern.groupindex.get(name)
    if number is None or number > pattern.groups:
        raise TemplateFailed(f"the pattern has no group '{name[:50]}'; write $$ for a dollar sign")
    return int(number)


# -- format -----------------------------------------------------------------------------------------------------------


@filter("format")
def format(run: Rendering, value: Any, *arguments: Any) -> str:
    """The text with each directive replaced by an argument: %s, %d, %05.2f, %-8s, %'*8s, %2$s. Raises TemplateFailed
    for an unknown directive or a missing argument."""
    text, out, place, used = read(run, value), TextBuffer(run), 0, 0
    for match in _DIRECTIVE.finditer(text):
        run.budget.step()
        out.add(text[place : match.start()])
        place = match.end()
        if match[0] == "%%":
            out.add("%")
            continue
        index = int(match[1]) - 1 if match[1] else used
        used += not match[1]
        if not 0 <= index < len(arguments):
            raise TemplateFailed(f"'format' has no argument {index + 1} for '{match[0][:30]}'")
        out.add(_written(run, match, arguments[index]))
    out.add(text[place:])
    return out.text()


def _written(run: Rendering, match: re.Match[str], argument: Any) -> str:
    flag_matches = _FLAG.findall(match[2])
    flags = {letter for _, letter in flag_matches}
    pad = next((own or letter for own, letter in reversed(flag_matches) if own or letter in (" ", "0")), " ")
    width, places = int(match[3] or 0), int(match[4]) if match[4] else None
    write = DIRECTIVES.get(match[5] or "")
    if write is None:
        raise TemplateFailed(f"'{match[0][:30]}' is not a directive of 'format'; write %% for a percent sign")
    if match[5] != "s" and (places or 0) > MAX_PLACES:
        raise TemplateFailed(f"a number has at most {MAX_PLACES} decimals")
    formatted = write(argument, places)
    if "+" in flags and match[5] in "deEfFgG" and not formatted.startswith("-"):
        formatted = f"+{formatted}"
    run.budget.text(max(width, len(formatted)))
    if "-" in flags:
        return formatted.ljust(width, pad if match[5] == "s" or pad != "0" else " ")
    if pad == "0" and formatted[:1] in ("-", "+") and match[5] != "s":
        return formatted[0] + formatted[1:].rjust(width - 1, "0")
    return formatted.rjust(width, pad)


def _unsigned(argument: Any) -> int:
    """Returns the bits of a whole number as an unsigned one."""
    return whole(argument) % 2**64


def _decimal(letter: str) -> Callable[[Any, int | None], str]:
    def write(argument: Any, places: int | None) -> str:
        number = float(number_or(argument))
        if not math.isfinite(number):
            return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
        text = f"{number:.{6 if places is None else places}{letter}}"
        mantissa, mark, exponent = text.partition("E" if letter in "EG" else "e")
        if letter in "gG" and mark and "." not in mantissa:
            mantissa += ".0"
        return f"{mantissa}{mark}{int(exponent):+d}" if mark else text

    return write


def _text(argument: Any, places: int | None) -> str:
    return printed(argument)[:places]


def _character(argument: Any, places: int | None) -> str:
    code = whole(argument)
    if not 0 <= code < 0x110000 or 0xD800 <= code < 0xE000:
        raise TemplateFailed(f"{code} is not the number of a character")
    return chr(code)


DIRECTIVES: dict[str, Callable[[Any, int | None], str]] = {
    "s": _text,
    "c": _character,
    "d": lambda argument, places: str(whole(argument)),
    "u": lambda argument, places: str(_unsigned(argument)),
    "x": lambda argument, places: f"{_unsigned(argument):x}",
    "X": lambda argument, places: f"{_unsigned(argument):X}",
    "o": lambda argument, places: f"{_unsigned(argument):o}",
    "b": lambda argument, places: f"{_unsigned(argument):b}",
    "f": _decimal("f"),
    "F": _decimal("f"),
    "e": _decimal("e"),
    "E": _decimal("E"),
    "g": _decimal("g"),
    "G": _decimal("G"),
}
