"""Checks the values of a KATA document against a schema: which keys, of which types, how often."""

import re
from typing import Any

from server.dataclass import dataclass
from server.errors import nearest

MAX_PROBLEMS = 100  # per document; a mistake near the top causes one for every key below it


@dataclass(frozen=True)
class Problem:
    """path: the keys from the top, joined by colons; "" for the document itself."""

    path: str
    message: str


def check(values: Any, schema: dict[str, Any], *, scalars: bool = True) -> list[Problem]:
    """Lists the problems of values; [] if there are none. schema: the map under `schema:`, or a whole document with
    `schema` and `definitions`. scalars: whether to check the types of scalars; before templates are rendered, a text
    may become anything."""
    rules = _map(schema, "schema") if "schema" in schema else schema
    checker = _Checker(_map(schema, "definitions"), scalars)
    checker.map(values if isinstance(values, dict) else {}, rules, "")
    return checker.found[:MAX_PROBLEMS]


class _Checker:
    def __init__(self, definitions: dict[str, Any], scalars: bool) -> None:
        self._definitions = definitions
        self._scalars = scalars
        self.found: list[Problem] = []

    def map(self, values: dict[str, Any], rules: dict[str, Any], path: str) -> None:
        attributes, patterns = _map(rules, "attributes"), _map(rules, "attributePatterns")
        kinds: set[str] = set()
        for key, value in values.items():
            if len(self.found) >= MAX_PROBLEMS:
                return
            here = f"{path}:{key}" if path else key
            kind, slash, _ = key.partition("/")
            rule = attributes.get(kind, attributes.get(key))
            if rule is None:
                rule = self._pattern(key, patterns)
            elif slash and not _is_multiple(rule) and key not in attributes:
                self._add(here, f"'{kind}' does not take a name")
            elif kind in kinds and not _is_multiple(rule):
                self._add(here, f"'{kind}' appears here twice")
            kinds.add(kind)
            if rule is None:
                self._add(here, f"'{key[:80]}' is not a known attribute{nearest(kind, attributes)}")
            else:
                self._value(value, self._referred(rule), here)
        for name, rule in attributes.items():
            if isinstance(rule, dict) and "required" in rule and name not in kinds:
                self._add(path, f"'{name}' is required")

    def _pattern(self, key: str, patterns: dict[str, Any]) -> Any:
        for pattern in patterns.values():
            text = str(pattern.get("match", "")) if isinstance(pattern, dict) else ""
            if text and _matches(text if text.startswith("/") else _wildcard(text), key):
                return _map(pattern, "attributes")
        return None

    def _referred(self, rule: Any) -> dict[str, Any]:
        if isinstance(rule, dict) and rule.get("ref"):
            return {**_map(self._definitions, str(rule["ref"])), **rule}
        return rule if isinstance(rule, dict) else {}

    def _value(self, value: Any, rule: dict[str, Any], path: str) -> None:
        types = rule.get("types")
        if not isinstance(types, dict) or not types:
            self._add(path, "the schema has no type for it")
            return
        for name, below in types.items():
            if self._is(name, value):
                if name == "object" and isinstance(value, dict) and value:
                    self.map(value, below if isinstance(below, dict) else {}, path)
                return
        self._add(path, f"must be {' or '.join(types)}, this is {_kind(value)}")

    def _is(self, name: str, value: Any) -> bool:
        if name == "any":
            return True
        if name == "object":
            return isinstance(value, dict) or value == []
        if name == "list":
            return isinstance(value, (dict, list))
        if isinstance(value, (dict, list)):
            return False
        if not self._scalars:
            return True
        if name == "string":
            return value is None or isinstance(value, str)
        if name == "bool":
            return isinstance(value, bool)
        if name == "bit":
            return value is None or value in (0, 1)
        if name == "number":
            return (isinstance(value, (int, float)) and not isinstance(value, bool)) or _is_number(value)
        return False

    def _add(self, path: str, message: str) -> None:
        self.found.append(Problem(path, message))


def _map(rules: Any, name: str) -> dict[str, Any]:
    """A part of a schema that is a map; an empty one for anything else."""
    entries = rules.get(name)
    return entries if isinstance(entries, dict) else {}


def _is_multiple(rule: Any) -> bool:
    return isinstance(rule, dict) and bool(rule.get("multiple"))


def _wildcard(text: str) -> str:
    """A text where * stands for anything, as a pattern between slashes."""
    return f"/(?s)\\A{'.*'.join(map(re.escape, text.split('*')))}\\z/i"


def _matches(text: str, key: str) -> bool:
    """A pattern between slashes. Users write those, so RE2 reads them, in linear time."""
    import re2  # a large library in C++, which few of the first requests need

    pattern, _, flags = text[1:].rpartition("/")
    options = re2.Options()
    options.case_sensitive = "i" not in flags
    options.log_errors = False
    try:
        return bool(re2.search(pattern, key, options))
    except re2.error:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value))


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "list"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "null" if value is None else "string"
