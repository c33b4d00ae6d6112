"""Paths through a tree of elements: the part of XPath that scripts use. Every step visits each element once.
/a/b  //b  .  ..  *  @name  text()  prefix:name
[2]  [last()]  [@id]  [name]  [@id='x']  [name!='x']  [local-name()='x']  [contains(@id, 'x')]  [starts-with(.,'x')]
[not(...)], several conditions in a row, and paths joined by |"""

import re
from collections.abc import Callable, Iterator

from server.dataclass import dataclass
from server.errors import TemplateFailed
from server.late_pattern import late_pattern
from server.template.run import Rendering
from server.template.shared.xml_tree import Element

MAX_PATH_CHARS = 1000
FOUND_BYTES = 160  # size of an entry in the set of visited elements
_PIECES = late_pattern(r"""(//?)|(\|)|(\[(?:[^\]"']|"[^"]*"|'[^']*')*\])|([^/|\[\]]+)""")
_STEP = late_pattern(r"\.\.?|\*|text\(\)|node\(\)|@(?:\*|[\w.-]+(?::[\w.-]+)?)|[\w.-]+(?::(?:[\w.-]+|\*))?")
_OPERAND = r"(\.|text\(\)|local-name\(\)|name\(\)|@[\w.:-]+|[\w.-]+(?::[\w.-]+)?)"
_LITERAL = r"""("[^"]*"|'[^']*'|-?[0-9]+(?:\.[0-9]+)?)"""
_COMPARISON = late_pattern(rf"{_OPERAND}\s*(?:(!?=)\s*{_LITERAL})?")
_CALL = late_pattern(rf"(contains|starts-with)\(\s*{_OPERAND}\s*,\s*{_LITERAL}\s*\)")
_POSITION = late_pattern(r"(?:position\(\)\s*(=|<=|>=|<|>)\s*)?([0-9]{1,9}|last\(\))")
_NOT = late_pattern(r"not\((.*)\)", re.DOTALL)
Found = Element | str
Fits = Callable[[Element, int, int], bool]  # (element, its position from 1, number of elements)


@dataclass(frozen=True)
class PathStep:
    """One step of a path. name: of the elements. anywhere: at any depth below. fits: the conditions."""

    name: str
    anywhere: bool
    fits: tuple[Fits, ...]


def select(run: Rendering, element: Element, path: str) -> list[Found]:
    """Returns the elements, attributes and texts at a path, relative to an element. Raises TemplateFailed for an
    unsupported path."""
    if len(path) > MAX_PATH_CHARS:
        raise TemplateFailed(f"a path has at most {MAX_PATH_CHARS} characters")
    results: list[Found] = []
    for is_absolute, steps in _parsed(run, path):
        start = element
        while is_absolute and start.parent is not None:
            start = start.parent
        at: list[Found] = [start]
        for step in steps:
            at = list(_taken(run, at, step))
        results += at
    return _unique(results)


# -- walking ----------------------------------------------------------------------------------------------------------


def _taken(run: Rendering, sources: list[Found], step: PathStep) -> list[Found]:
    elements = [each for each in sources if isinstance(each, Element)]
    if step.anywhere:
        elements = _below(run, elements)
    matches: list[Found] = []
    for each in elements:
        children = list(_children(run, each, step.name))
        for fits in step.fits:
            size = len(children)
            run.budget.step(size)
            children = [one for place, one in enumerate(children, 1) if isinstance(one, str) or fits(one, place, size)]
        matches += children
    return _unique(matches)


def _below(run: Rendering, elements: list[Element]) -> list[Element]:
    """Returns the elements and all their descendants in document order."""
    visited: set[int] = set()
    below: list[Element] = []
    for each in elements:
        stack = [each]
        while stack:
            one = stack.pop()
            run.budget.entries(1, FOUND_BYTES)
            if id(one) not in visited:
                visited.add(id(one))
                below.append(one)
                stack += reversed(list(one.children()))
    return below


def _children(run: Rendering, element: Element, name: str) -> Iterator[Found]:
    if name == ".":
        yield element
    elif name == "..":
        if element.parent is not None and element.parent.name:
            yield element.parent
    elif name == "text()":
        run.budget.entries(len(element.parts))
        yield from (part for part in element.parts if isinstance(part, str))
    elif name.startswith("@"):
        run.budget.entries(len(element.attributes))
        yield from (value for key, value in element.attributes.items() if name in ("@*", f"@{key}"))
    else:
        run.budget.entries(len(element.parts))
        yield from (each for each in element.children() if _is_called(each, name))


def _is_called(element: Element, name: str) -> bool:
    if name in ("*", "node()"):
        return True
    prefix, _, local = name.rpartition(":")
    uri = element.prefixes.get(prefix)
    if prefix and uri is not None:
        return element.uri == uri and local in ("*", element.local)
    return element.name == name or (local == "*" and element.name.startswith(f"{prefix}:"))


def _unique(elements: list[Found]) -> list[Found]:
    visited: set[int] = set()
    unique: list[Found] = []
    for each in elements:
        if isinstance(each, str) or id(each) not in visited:
            visited.add(id(each))
            unique.append(each)
    return unique


# -- reading ----------------------------------------------------------------------------------------------------------


def _parsed(run: Rendering, path: str) -> Iterator[tuple[bool, list[PathStep]]]:
    """Yields (whether it begins at the document, its steps) for each path between the bars."""
    steps: list[PathStep] = []
    is_absolute = anywhere = needs_name = False
    place, path = 0, path.strip()
    while place < len(path):
        piece = _PIECES.match(path, place)
        if piece is None:
            raise _unreadable(path)
        place = piece.end()
        slash, bar, condition, name = piece.groups()
        if slash:
            if needs_name:
                raise _unreadable(path)
            is_absolute = is_absolute or not steps
            anywhere, needs_name = slash == "//", True
        elif bar:
            yield is_absolute, _complete(steps, needs_name, path)
            steps, is_absolute, anywhere, needs_name = [], False, False, False
        elif condition:
            if not steps or needs_name:
                raise _unreadable(path)
            last = steps.pop()
            steps.append(
                PathStep(last.name, last.anywhere, (*last.fits, _condition(run, condition[1:-1].strip(), path)))
            )
        else:
            name = name.strip()
            if steps and not needs_name:
                raise _unreadable(path)
            if not _STEP.fullmatch(name):
                raise _unreadable(path)
            steps.append(PathStep(name, anywhere, ()))
            anywhere = needs_name = False
    yield is_absolute, _complete(steps, needs_name, path)


def _complete(steps: list[PathStep], needs_name: bool, path: str) -> list[PathStep]:
    if needs_name or not steps:
        raise _unreadable(path)
    return steps


def _condition(run: Rendering, text: str, path: str) -> Fits:
    if match := _POSITION.fullmatch(text):
        return _position(match[1] or "=", match[2])
    if match := _NOT.fullmatch(text):
        inner = _condition(run, match[1].strip(), path)
        return lambda element, place, size: not inner(element, place, size)
    if match := _CALL.fullmatch(text):
        operand, expected, is_start = match[2], match[3].strip("\"'"), match[1] == "starts-with"
        return lambda element, _, __: any(
            each.startswith(expected) if is_start else expected in each for each in _values(run, element, operand)
        )
    if match := _COMPARISON.fullmatch(text):
        operand, sign, literal = match[1], match[2], (match[3] or "").strip("\"'")
        if sign is None:
            return lambda element, _, __: bool(_values(run, element, operand))
        return lambda element, _, __: any((each == literal) == (sign == "=") for each in _values(run, element, operand))
    raise _unreadable(path)


def _position(sign: str, number_text: str) -> Fits:
    def fits(element: Element, place: int, size: int) -> bool:
        number = size if number_text == "last()" else int(number_text)
        return {
            "=": place == number,
            "<": place < number,
            ">": place > number,
            "<=": place <= number,
            ">=": place >= number,
        }[sign]

    return fits


def _values(run: Rendering, element: Element, operand: str) -> list[str]:
    """Returns the texts that an operand of a condition stands for."""
    if operand == "local-name()":
        return [element.local]
    if operand == "name()":
        return [element.name]
    if operand == ".":
        return [_whole_text(run, element)]
    operands = _children(run, element, operand)
    return [each if isinstance(each, str) else _whole_text(run, each) for each in operands]


def _whole_text(run: Rendering, element: Element) -> str:
    """Returns the text of an element, including that of its descendants."""
    parts: list[str] = []
    stack: list[Found] = [element]
    while stack:
        one = stack.pop()
        run.budget.step()
        if isinstance(one, str):
            run.budget.text(len(one))
            parts.append(one)
        else:
            stack += reversed(one.parts)
    return "".join(parts)


def _unreadable(path: str) -> TemplateFailed:
    return TemplateFailed(f"the path '{path[:80]}' cannot be used; write for example //item[@id='5']/name")
