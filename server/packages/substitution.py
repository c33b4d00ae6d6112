"""{{{templates}}} in a package: ordinary templates with other delimiters, so that {{scripts}} are preserved."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from server.dataclass import dataclass
from server.packages.package_document import Tree, at, bad
from server.template import PACKAGE, SCRIPT, Budget, Surroundings
from server.template import compile as compiled_template
from server.template.template_tokens import Delimiters

MAX_RENDERED_CHARS = 64 * 1024 * 1024  # all templates of a package together
_OPENER = re.compile(r"\{\{[{%#]")
_SPECIAL = re.compile(_OPENER.pattern + r"|\r")
_UID = re.compile(r"""\buid\b(?:\s*\.\s*(\w+)|\s*\[\s*(?:'([^']*)'|"([^"]*)")\s*\])?""")
Load = Callable[[str, int, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Expression:
    """An expression of a package's template, without its braces."""

    source: str


class TemplateValues(dict[str, Any]):
    """The values of templates. A missing `owner_email` is read from the record of `owner` in `records`."""

    def __init__(self, load: Load) -> None:
        super().__init__()
        self.records: dict[str, tuple[str, int]] = {}
        self._load = load

    def __missing__(self, name: str) -> Any:
        for stem in sorted(self.records, key=len, reverse=True):
            key = name.removeprefix(f"{stem}_")
            if key != name:
                fields = self._load(*self.records[stem], key)
                if key in fields:
                    return fields[key]
        raise KeyError(name)


class Substitution:
    """Renders the templates of one package, all within one budget."""

    def __init__(self, values: TemplateValues, zone: str, now: int) -> None:
        self.values = values
        self._around = Surroundings(zone, now)
        self._budget = Budget(memory=MAX_RENDERED_CHARS)

    def tree(self, value: Any, where: str) -> Any:
        """Returns a value with all templates rendered, including those in keys. Raises Invalid with the place."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.tree(each, where) for each in value]
        if not isinstance(value, dict):
            return value
        result: Tree = {}
        for name, each in value.items():
            key = self.text(name, where)
            if key in result:
                raise bad(f"{where}: the key '{key[:80]}' appears twice")
            result[key] = self.tree(each, f"{where}: {key[:80]}")
        return result

    def text(self, source: str, where: str) -> str:
        """Renders one text; returns it unchanged if it has no opening delimiter of a package."""
        return self._rendered(source, where, PACKAGE) if _OPENER.search(source) else source

    def script(self, source: str, where: str, **more: Any) -> str:
        """Renders an ordinary template, with further values."""
        return self._rendered(source, where, SCRIPT, {**self.values, **more})

    def _rendered(
        self, source: str, where: str, delimiters: Delimiters, values: Mapping[str, Any] | None = None
    ) -> str:
        with at(where):
            compiled = compiled_template(source, delimiters)
            return compiled.render(self.values if values is None else values, self._budget, self._around)


def uids_in(value: Any) -> set[str]:
    """Returns the uids that the templates in a value use; "" for a uid that is known only when rendered."""
    uids = set()
    for text in _templates(value):
        for match in _UID.finditer(text):
            uids.add(match[1] or match[2] or match[3] or "")
    return uids


def _templates(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _OPENER.search(value):
            yield value
    elif isinstance(value, list):
        for each in value:
            yield from _templates(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _templates(name)
            yield from _templates(each)


def escaped(text: str) -> str:
    """Returns the template that renders to this text.

    >>> escaped("{{{a}}} and {{b}}")
    "{{{'{{{'}}}a}}} and {{b}}"
    """
    return _SPECIAL.sub(_literal, text) if _OPENER.search(text) else text


def spliced(pieces: Sequence[str | Expression]) -> str:
    """Returns the template that renders to these texts with the values of the expressions between them.

    >>> spliced(["{{'", Expression("key"), "'}}"]), spliced(["a {", Expression("b")])
    ("{{'{{{key}}}'}}", "a {{{'{'}}}{{{b}}}")"""
    if not any(isinstance(each, Expression) for each in pieces):
        return escaped("".join(map(str, pieces)))
    parts: list[str] = []
    for each, following in itertools.zip_longest(pieces, pieces[1:]):
        if isinstance(each, Expression):
            parts.append(f"{{{{{{{each.source}}}}}}}")
            continue
        text = each.rstrip("{") if isinstance(following, Expression) else each
        parts.append(_SPECIAL.sub(_literal, text))
        if text != each:  # a brace directly before an opening delimiter would be read as part of it
            parts.append(f"{{{{{{'{each[len(text) :]}'}}}}}}")
    return "".join(parts)


def _literal(match: re.Match[str]) -> str:
    """Returns a literal. Templates convert line ends to line feeds, so carriage returns are escaped as well."""
    return '{{{"\\r"}}}' if match.group() == "\r" else f"{{{{{{'{match.group()}'}}}}}}"
