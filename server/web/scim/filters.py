"""The filter language and the paths of PATCH: a bounded parser, and the comparison with a resource. Follows RFC 7644,
sections 3.4.2.2 and 3.5.2."""

import json
import re
from collections.abc import Callable
from typing import Any

from server.dataclass import dataclass
from server.late_pattern import late_pattern
from server.web.scim.schemas import IGNORED, TYPES, Attribute, ResourceType
from server.web.scim.scim_errors import ScimInvalid

MAX_FILTER_CHARS = 2000
MAX_FILTER_TERMS = 50
MAX_FILTER_DEPTH = 8  # brackets
COMPARISONS = ("eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le")
_TOKEN = late_pattern(r"""\s*(?:(?P<sign>[()\[\]])|(?P<text>"(?:[^"\\]|\\.)*+")|(?P<word>[^\s()\[\]"]+))""", re.DOTALL)
_NAME = late_pattern(r"(?:(urn:[A-Za-z0-9:._-]+):)?([A-Za-z$][A-Za-z0-9_$-]*)(?:\.([A-Za-z$][A-Za-z0-9_$-]*))?")


class NotSupported(Exception):
    """An attribute that RFC 7643 or another schema defines and workers do not have."""


@dataclass(frozen=True, slots=True)
class AttributeName:
    """An attribute, and its sub-attribute if one is named. Names are canonical."""

    attribute: Attribute
    sub: Attribute | None = None


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """A comparison of an attribute with a value. operator: one of COMPARISONS, or pr for "is present"."""

    name: AttributeName
    operator: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Combination:
    """Filters of which all, any, or with `not` none, must match."""

    operator: str
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class ValueFilter:
    """A filter on the values of one multi-valued attribute, as in emails[type eq "work"]."""

    attribute: Attribute
    inner: "Filter"


Filter = AttributeComparison | Combination | ValueFilter


@dataclass(frozen=True, slots=True)
class AttributePath:
    """The target of an operation of PATCH. selected: of the values of a multi-valued attribute."""

    name: AttributeName
    selected: Filter | None = None


def parse_filter(text: str, of: ResourceType) -> Filter:
    """Parses a filter of a type of resource. Raises ScimInvalid with invalidFilter."""
    parser = _Parser(text, of.by_name, of.schema, "invalidFilter")
    try:
        parsed = parser.alternatives(0)
    except NotSupported as error:
        raise parser.wrong(f"'{error}' is not supported") from None
    parser.require_end()
    return parsed


def parse_path(text: str, of: ResourceType) -> AttributePath:
    """Parses the path of an operation. Raises ScimInvalid with invalidPath, NotSupported."""
    parser = _Parser(text, of.by_name, of.schema, "invalidPath")
    path = parser.path()
    parser.require_end()
    return path


def matches(each: Filter, resource: dict[str, Any]) -> bool:
    """Whether a resource, or one value of a multi-valued attribute, fulfills a filter."""
    if isinstance(each, Combination):
        if each.operator == "not":
            return not matches(each.parts[0], resource)
        combine: Callable[[Any], bool] = all if each.operator == "and" else any
        return combine(matches(part, resource) for part in each.parts)
    if isinstance(each, ValueFilter):
        values = resource.get(each.attribute.name) or []
        return any(matches(each.inner, value) for value in values)
    values = _values(resource, each.name)
    if each.operator == "pr":
        return any(value not in (None, "", [], {}) for value in values)
    if each.operator == "ne":
        return not any(_equals(value, each) for value in values)
    return any(_compares(value, each) for value in values)


def equalities(each: Filter) -> dict[str, str]:
    """Returns {"attribute.sub": value} of the comparisons with eq that every match fulfills, for a lookup by index."""
    if isinstance(each, AttributeComparison) and each.operator == "eq" and isinstance(each.value, str):
        sub = f".{each.name.sub.name}" if each.name.sub else ""
        return {each.name.attribute.name + sub: each.value}
    if isinstance(each, Combination) and each.operator == "and":
        return {name: value for part in each.parts for name, value in equalities(part).items()}
    if isinstance(each, ValueFilter):
        return {f"{each.attribute.name}.{name}": value for name, value in equalities(each.inner).items()}
    return {}


def _values(resource: dict[str, Any], name: AttributeName) -> list[Any]:
    """The values that a comparison looks at. A multi-valued attribute is compared by its sub-attribute `value`."""
    value = resource.get(name.attribute.name)
    if not name.attribute.is_list:
        value = value.get(name.sub.name) if name.sub and isinstance(value, dict) else value
        return [] if value is None else [value]
    sub = name.sub.name if name.sub else "value"
    return [each[sub] for each in value or [] if each.get(sub) is not None]


def _equals(value: Any, each: AttributeComparison) -> bool:
    if isinstance(value, bool) or isinstance(each.value, bool):
        return value is each.value
    return _folded(value, each) == _folded(each.value, each)


def _compares(value: Any, each: AttributeComparison) -> bool:
    if each.operator == "eq":
        return _equals(value, each)
    if isinstance(value, bool) or not isinstance(value, str) or not isinstance(each.value, str):
        return False
    left, right = _folded(value, each), _folded(each.value, each)
    return {
        "co": right in left,
        "sw": left.startswith(right),
        "ew": left.endswith(right),
        "gt": left > right,
        "ge": left >= right,
        "lt": left < right,
        "le": left <= right,
    }[each.operator]


def _folded(value: Any, each: AttributeComparison) -> Any:
    is_exact = (each.name.sub or each.name.attribute).is_case_exact
    return value.casefold() if isinstance(value, str) and not is_exact else value


class _Parser:
    """Reads tokens from the left. The depth of brackets and the number of comparisons are bounded."""

    def __init__(self, text: str, names: dict[str, Attribute], schema: str, kind: str) -> None:
        self.kind = kind
        self.schema = schema.lower()
        self.names = names
        if len(text) > MAX_FILTER_CHARS:
            raise self.wrong(f"it is longer than {MAX_FILTER_CHARS} characters")
        self.tokens = self._tokens(text)
        self.at = 0
        self.terms = 0

    def wrong(self, reason: str) -> ScimInvalid:
        return ScimInvalid(self.kind, f"the {'filter' if self.kind == 'invalidFilter' else 'path'}: {reason}")

    def _tokens(self, text: str) -> list[str]:
        tokens, place, end = [], 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise self.wrong(f"'{text[place : place + 20]}' cannot be read")
            tokens.append(match["sign"] or match["text"] or match["word"])
            place = match.end()
        return tokens

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        if not token:
            raise self.wrong("it ends too early")
        self.at += 1
        return token

    def require(self, token: str) -> None:
        if self.next() != token:
            raise self.wrong(f"'{token}' is missing")

    def require_end(self) -> None:
        if self.peek():
            raise self.wrong(f"'{self.peek()[:40]}' is unexpected")

    def alternatives(self, depth: int) -> Filter:
        return self._combined("or", lambda: self._combined("and", lambda: self._term(depth)))

    def _combined(self, operator: str, part: Callable[[], Filter]) -> Filter:
        parts = [part()]
        while self.peek().lower() == operator:
            self.at += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else Combination(operator, tuple(parts))

    def _term(self, depth: int) -> Filter:
        self.terms += 1
        if depth >= MAX_FILTER_DEPTH or self.terms > MAX_FILTER_TERMS:
            raise self.wrong(f"at most {MAX_FILTER_TERMS} comparisons, in {MAX_FILTER_DEPTH} brackets")
        token = self.next()
        if token.lower() == "not" and self.peek() == "(":
            return Combination("not", (self._term(depth + 1),))
        if token == "(":
            inner = self.alternatives(depth + 1)
            self.require(")")
            return inner
        name = self.name(token)
        if self.peek() != "[":
            return self._comparison(name)
        selected = self._selection(name, depth + 1)
        if self.peek().startswith("."):  # emails[type eq "work"].value eq "…", which the RFC does not have
            behind = self._comparison(AttributeName(self._below(name.attribute, self.next()[1:])))
            selected = Combination("and", (selected, behind))
        return ValueFilter(name.attribute, selected)

    def _comparison(self, name: AttributeName) -> AttributeComparison:
        operator = self.next().lower()
        if operator == "pr":
            return AttributeComparison(name, operator)
        if operator not in COMPARISONS:
            raise self.wrong(f"'{operator[:20]}' is not an operator; use one of {', '.join(COMPARISONS)}, pr")
        return AttributeComparison(name, operator, self._value(self.next(), name))

    def _value(self, token: str, name: AttributeName) -> Any:
        try:
            value = json.loads(token)
        except ValueError:
            raise self.wrong(f"'{token[:40]}' is not a value; texts are in quotation marks") from None
        if isinstance(value, (dict, list)):
            raise self.wrong(f"'{token[:40]}' is not a value")
        kind = (name.sub or name.attribute).kind
        if kind == "boolean" and isinstance(value, str):  # some providers quote booleans
            value = {"true": True, "false": False}.get(value.lower(), value)
        return value

    def _selection(self, name: AttributeName, depth: int) -> Filter:
        """Parses the filter in square brackets after a multi-valued attribute."""
        if name.sub is not None or not name.attribute.is_list:
            raise self.wrong(f"'{name.attribute.name}' has no values to choose from")
        self.require("[")
        outer, self.names = self.names, name.attribute.by_name
        inner = self.alternatives(depth)
        self.names = outer
        self.require("]")
        return inner

    def name(self, token: str) -> AttributeName:
        """The attribute of a token. Raises ScimInvalid for an unknown one, NotSupported."""
        match = _NAME.fullmatch(token)
        if match is None:
            raise self.wrong(f"'{token[:60]}' is not an attribute")
        schema, first, second = match.groups()
        if schema and schema.lower() != self.schema:
            if schema.lower() in _SCHEMAS:
                raise self.wrong(f"{schema[:100]} is another type of resource")
            raise NotSupported(token[:60])
        attribute = self.names.get(first.lower())
        if attribute is None:
            raise self._unknown(first)
        return AttributeName(attribute, self._below(attribute, second) if second is not None else None)

    def _below(self, attribute: Attribute, name: str) -> Attribute:
        """The sub-attribute of this name. Raises ScimInvalid, NotSupported."""
        sub = attribute.by_name.get(name.lower())
        if sub is None:
            raise self._unknown(name)
        return sub

    def _unknown(self, name: str) -> Exception:
        if name.lower() in IGNORED:
            return NotSupported(name)
        return self.wrong(f"there is no attribute '{name[:60]}'")

    def path(self) -> AttributePath:
        name = self.name(self.next())
        if self.peek() != "[":
            return AttributePath(name)
        selected = self._selection(name, 1)
        rest = self.peek()
        if not rest:
            return AttributePath(name, selected)
        if not rest.startswith("."):
            raise self.wrong(f"'{rest[:40]}' is unexpected")
        self.at += 1
        return AttributePath(AttributeName(name.attribute, self._below(name.attribute, rest[1:])), selected)


_SCHEMAS = frozenset(each.schema.lower() for each in TYPES)
