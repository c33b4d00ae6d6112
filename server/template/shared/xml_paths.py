"""Paths through a tree of elements: the part of XPath that scripts use. Every step looks at each element once.

/a/b  //b  .  ..  *  @name  text()  prefix:name
[2]  [last()]  [@id]  [name]  [@id='x']  [name!='x']  [local-name()='x']  [contains(@id, 'x')]  [starts-with(.,'x')]
[not(...)], several one after another, and paths joined by |"""

import re
from collections.abc import Callable, Iterator

from server.dataclass import dataclass
from server.errors import TemplateFailed
from server.late_pattern import late_pattern
from server.template.run import Rendering
from server.template.shared.xml_tree import Element

MAX_PATH_CHARS = 1000
FOUND_BYTES = 160  # of an element that is noted as seen
_PIECES = late_pattern(r"""(//?)|(\|)|(\[(?:[^\]"']|"[^"]*"|'[^']*')*\])|([^/|\[\]]+)""")
_STEP = late_pattern(r"\.\.?|\*|text\(\)|node\(\)|@(?:\*|[\w.-]+(?::[\w.-]+)?)|[\w.-]+(?::(?:[\w.-]+|\*))?")
_OPERAND = r"(\.|text\(\)|local-name\(\)|name\(\)|@[\w.:-]+|[\w.-]+(?::[\w.-]+)?)"
_LITERAL = r"""("[^"]*"|'[^']*'|-?[0-9]+(?:\.[0-9]+)?)"""
_COMPARISON = late_pattern(rf"{_OPERAND}\s*(?:(!?=)\s*{_LITERAL})?")
_CALL = late_pattern(rf"(contains|starts-with)\(\s*{_OPERAND}\s*,\s*{_LITERAL}\s*\)")
_POSITION = late_pattern(r"(?:position\(\)\s*(=|<=|>=|<|>)\s*)?([0-9]{1,9}|last\(\))")
_NOT = late_pattern(r"not\((.*)\)", re.DOTALL)
Found = Element | str
Fits = Callable[[Element, int, int], bool]  # the element, its position from 1, and of how many


@dataclass(frozen=True)
class PathStep:
    """One step of a path: the name that is looked for, anywhere below or not, and what must be true of it."""

    name: str
    anywhere: bool
    fits: tuple[Fits, ...]


def select(run: Rendering, element: Element, path: str) -> list[Found]:
    """The elements, attributes and texts of a path, seen from an element. Raises TemplateFailed for other paths."""
    if len(path) > MAX_PATH_CHARS:
        raise TemplateFailed(f"a path has at most {MAX_PATH_CHARS} characters")
    found: list[Found] = []
    for is_absolute, steps in _parsed(run, path):
        start = element
        while is_absolute and start.parent is not None:
            start = start.parent
        at: list[Found] = [start]
        for step in steps:
            at = list(_taken(run, at, step))
        found += at
    return _unique(found)


# -- walking ----------------------------------------------------------------------------------------------------------


def _taken(run: Rendering, found: list[Found], step: PathStep) -> list[Found]:
    elements = [each for each in found if isinstance(each, Element)]
    if step.anywhere:
        elements = _below(run, elements)
    taken: list[Found] = []
    for each in elements:
        listed = list(_children(run, each, step.name))
        for fits in step.fits:
            size = len(listed)
            run.budget.step(size)
            listed = [one for place, one in enumerate(listed, 1) if isinstance(one, str) or fits(one, place, size)]
        taken += listed
    return _unique(taken)


def _below(run: Rendering, elements: list[Element]) -> list[Element]:
    """The elements and all below them, in the order of the document."""
    seen: set[int] = set()
    listed: list[Element] = []
    for each in elements:
        stack = [each]
        while stack:
            one = stack.pop()
            run.budget.made(1, FOUND_BYTES)
            if id(one) not in seen:
                seen.add(id(one))
                listed.append(one)
                stack += reversed(list(one.children()))
    return listed


def _children(run: Rendering, element: Element, name: str) -> Iterator[Found]:
    if name == ".":
        yield element
    elif name == "..":
        if element.parent is not None and element.parent.name:
            yield element.parent
    elif name == "text()":
        run.budget.made(len(element.parts))
        yield from (part for part in element.parts if isinstance(part, str))
    elif name.startswith("@"):
        run.budget.made(len(element.attributes))
        yield from (value for key, value in element.attributes.items() if name in ("@*", f"@{key}"))
    else:
        run.budget.made(len(element.parts))
        yield from (each for each in element.children() if _is_called(each, name))


def _is_called(element: Element, name: str) -> bool:
    if name in ("*", "node()"):
        return True
    prefix, _, local = name.rpartition(":")
    uri = element.prefixes.get(prefix)
    if prefix and uri is not None:
        return element.uri == uri and local in ("*", element.local)
    return element.name == name or (local == "*" and element.name.startswith(f"{prefix}:"))


def _unique(found: list[Found]) -> list[Found]:
    seen: set[int] = set()
    kept: list[Found] = []
    for each in found:
        if isinstance(each, str) or id(each) not in seen:
            seen.add(id(each))
            kept.append(each)
    return kept


# -- reading ----------------------------------------------------------------------------------------------------------


def _parsed(run: Rendering, path: str) -> Iterator[tuple[bool, list[PathStep]]]:
    """Whether it begins at the document, and the steps, of each path between the bars."""
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
    if found := _POSITION.fullmatch(text):
        return _position(found[1] or "=", found[2])
    if found := _NOT.fullmatch(text):
        inner = _condition(run, found[1].strip(), path)
        return lambda element, place, size: not inner(element, place, size)
    if found := _CALL.fullmatch(text):
        operand, wanted, is_start = found[2], found[3].strip("\"'"), found[1] == "starts-with"
        return lambda element, _, __: any(
            each.startswith(wanted) if is_start else wanted in each for each in _values(run, element, operand)
        )
    if found := _COMPARISON.fullmatch(text):
        operand, sign, literal = found[1], found[2], (found[3] or "").strip("\"'")
        if sign is None:
            return lambda element, _, __: bool(_values(run, element, operand))
        return lambda element, _, __: any((each == literal) == (sign == "=") for each in _values(run, element, operand))
    raise _unreadable(path)


def _position(sign: str, wanted: str) -> Fits:
    def fits(element: Element, place: int, size: int) -> bool:
        number = size if wanted == "last()" else int(wanted)
        return {
            "=": place == number,
            "<": place < number,
            ">": place > number,
            "<=": place <= number,
            ">=": place >= number,
        }[sign]

    return fits


def _values(run: Rendering, element: Element, operand: str) -> list[str]:
    """The texts that an operand of a condition stands for."""
    if operand == "local-name()":
        return [element.local]
    if operand == "name()":
        return [element.name]
    if operand == ".":
        return [_whole_text(run, element)]
    found = _children(run, element, operand)
    return [each if isinstance(each, str) else _whole_text(run, each) for each in found]


def _whole_text(run: Rendering, element: Element) -> str:
    """Its text and that of all elements in it."""
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
