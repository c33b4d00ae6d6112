"""A KATA text becomes a tree of maps and texts, with the line of each key. One pass over the lines.

Keys keep their annotations (`limit@int`); what those mean is in evaluate.py."""

import re
from dataclasses import field
from functools import lru_cache
from typing import Union

from server.dataclass import dataclass
from server.errors import KataSyntax
from server.kata import kata_references

MAX_CHARS = 4 * 1024 * 1024  # per document
MAX_DEPTH = 100  # maps inside maps
# Cached keys, and the most characters of one. They save 9 % of a loop with 10,000 steps.
MAX_KEPT_KEYS, MAX_KEPT_KEY = 2048, 128
MAX_PATH_CHARS = 32 * 1024 * 1024  # paths of all keys together: a long key is repeated in every path below it

Tree = dict[str, Union[str, "Tree"]]

BLOCKS = frozenset(
    ("base64", "bit", "bool", "csv", "date", "float", "int", "json", "list", "raw", "text", "trim")
)  # a key with one of these and an empty value reads the indented lines as its text
_KEY = re.compile(r"(&?[A-Za-z0-9_\-/.*]+)(?:@([A-Za-z0-9,]+))?:(.*)\Z", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_]*\Z")
_SPACES = " \t\f\v"


@dataclass
class Document:
    """tree: maps and texts by key with its annotations, definitions resolved and gone. lines: the line of each key,
    from 0, by its path: the keys from the top without annotations, joined by colons."""

    tree: Tree = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> Document:
    """The document of a text. Raises KataSyntax with `code` and `line`, from 1, at the first mistake."""
    if len(text) > MAX_CHARS:
        raise KataSyntax(
            f"the document has {len(text):,} characters, at most {MAX_CHARS:,} are read", code="TOO_LARGE", line=1
        )
    document = _KataParser(text.replace("\r", "").split("\n")).run()
    kata_references.resolve(document)
    return document


def parts(key: str) -> tuple[str, tuple[str, ...]]:
    """Splits a key into its name and its annotations, in order. Short keys are cached: automations parse the same ones
    on every run."""
    return _kept_parts(key) if len(key) <= MAX_KEPT_KEY else _parts(key)


def _parts(key: str) -> tuple[str, tuple[str, ...]]:
    name, _, annotations = key.partition("@")
    return name, tuple(annotations.split(",")) if annotations else ()


_kept_parts = lru_cache(MAX_KEPT_KEYS)(_parts)


def plain(key: str) -> str:
    """A key without its annotations."""
    return key.partition("@")[0]


def annotations(key: str) -> tuple[str, ...]:
    """The annotations of a key, in their order."""
    return parts(key)[1]


def joined(key: str, annotations: list[str] | tuple[str, ...]) -> str:
    """A key with these annotations."""
    return f"{key}@{','.join(annotations)}" if annotations else key


@dataclass
class _Level:
    """An open map. names: of its keys so far."""

    indent: int
    map: Tree
    path: str
    names: set[str]


class _KataParser:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._document = Document()
        self._levels: list[_Level] = []
        self._opened: _Level | None = None  # the map that the latest key opened, with no indent yet
        self._path_chars = 0

    def run(self) -> Document:
        at = 0
        while at < len(self._lines):
            at = self._line(at)
        return self._document

    def _line(self, at: int) -> int:
        """Parses a line and the block below it; returns the index of the next line."""
        line = self._lines[at]
        text = line.lstrip(" ")
        if not text.strip(" \t"):
            return at + 1
        if text[0] in _SPACES:
            raise _error("INDENT_TAB", at, "indent lines with spaces; this one has a tab before its text")
        if text[0] == "#":
            return at + 1
        match = _KEY.match(text)
        if match is None:
            raise _error("BAD_LINE", at, f"'{text.strip()[:80]}' is not a key with a colon, such as `name: value`")
        key, annotation_text, rest = match.groups()
        indent = len(line) - len(text)
        level = self._level(indent)
        self._check_name(key, at)
        if key in level.names:
            raise _error("DUP_KEY", at, f"'{key[:80]}' appears here twice; keys of one map differ before the @")
        level.names.add(key)
        self._path_chars += len(level.path) + len(key)
        if self._path_chars > MAX_PATH_CHARS:
            raise _error("TOO_LARGE", at, "too many keys stand below long ones")
        path = f"{level.path}:{key}" if level.path else key
        self._document.lines[path] = at
        annotations = annotation_text.split(",") if annotation_text else []
        value = rest.lstrip(_SPACES)
        self._opened = None
        if value:
            level.map[joined(key, annotations)] = value
            return at + 1
        if not BLOCKS.isdisjoint(annotations):
            block, at = self._block(at, indent)
            level.map[joined(key, [each for each in annotations if each != "text"])] = block
            return at
        if len(self._levels) > MAX_DEPTH:
            raise _error("TOO_DEEP", at, f"at most {MAX_DEPTH} maps inside each other")
        opened: Tree = {}
        level.map[joined(key, annotations)] = opened
        self._opened = _Level(-1, opened, path, set())
        return at + 1

    def _level(self, indent: int) -> _Level:
        """The map that a key with this indent goes into."""
        if not self._levels:
            self._levels.append(_Level(indent, self._document.tree, "", set()))
        top = self._levels[-1]
        if indent > top.indent:
            deeper = self._opened or top
            if self._opened is not None:
                self._levels.append(_Level(indent, deeper.map, deeper.path, deeper.names))
            return deeper
        popped = top
        while self._levels and self._levels[-1].indent > indent:
            popped = self._levels.pop()
        if not self._levels:  # further out than the first line: still the top
            popped.indent = indent
            self._levels.append(popped)
        elif self._levels[-1].indent < indent:  # an indent that nothing opened counts as the one it is nearest to
            self._levels.append(popped)
        return self._levels[-1]

    def _check_name(self, key: str, at: int) -> None:
        kind, slash, name = key.partition("/")
        if slash and not _NAME.match(name):
            raise _error(
                "BAD_NAME", at, f"the name '{name[:50]}' of '{kind[:50]}' may hold letters, digits and underscores only"
            )

    def _block(self, key_at: int, indent: int) -> tuple[str, int]:
        """Returns the text of the lines below a key that are indented deeper, and the index of the line after them."""
        lines: list[str] = []
        waiting: list[str] = []  # empty lines belong to the block when a deeper line follows
        at = key_at + 1
        while at < len(self._lines):
            line = self._lines[at]
            text = line.lstrip(" ")
            if text[:1] in ("\t", "\f", "\v"):
                raise _error("INDENT_TAB", key_at, "indent the lines of a text with spaces; one of them has a tab")
            deep = len(line) - len(text)
            if deep <= indent:
                if text:
                    break
                waiting.append("")
            else:
                lines += [*waiting, line]
                waiting.clear()
            at += 1
        return _unindented(lines), at - len(waiting)


def _unindented(lines: list[str]) -> str:
    """The lines without the indent of the first one that has any."""
    width = next((len(line) - len(line.lstrip(" ")) for line in lines if line), 0)
    return "\n".join(line[width:] for line in lines)


def _error(code: str, at: int, reason: str) -> KataSyntax:
    return KataSyntax(f"{reason} (line {at + 1})", code=code, line=at + 1)
