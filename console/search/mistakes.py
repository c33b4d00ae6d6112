"""What is wrong with a search, where in its text, and what was probably meant."""

import re
from collections.abc import Callable

from console.search.caret import Named, typed_at
from server.dataclass import dataclass
from server.errors import BadQuery, suggested
from server.records.registry import Registry
from server.search.compile import unknown_filter
from server.search.controls import CONTROLS
from server.search.filters.date import PARTS
from server.search.filters.text import LITERALS

_NAME = re.compile(r"[A-Za-z0-9_.]+(?=:)")
_TOKEN = re.compile(r'\[[^\]]*\]?|"[^"]*"?|[^\s()\[\]"]+|.', re.DOTALL)
_TOLD = re.compile(r"'([^']+)'")
NO_FILTERS = frozenset((*CONTROLS, *PARTS, *LITERALS))  # names that stand before a colon and are none


@dataclass(frozen=True, slots=True)
class QueryMistake:
    """start, end: its place in the text. instead: what was probably meant to stand there, "" when nothing is near."""

    message: str
    start: int
    end: int
    instead: str

    def mended(self, q: str) -> str:
        """The text with what was probably meant."""
        return f"{q[: self.start]}{self.instead}{q[self.end :]}"


def mistake_in(q: str, uri: str, registry: Registry, named: Named, check: Callable[[str], None]) -> QueryMistake | None:
    """The first mistake of a search of a type, None for a right one. check: raises BadQuery for a wrong one."""
    try:
        check(q)
    except BadQuery as error:
        found = _told(q, error)
        name = _NAME.match(q, found.start)
        unknown = _unknown(q, name, uri, registry, named) if name else None
        return _told(q, unknown) if unknown is not None else found
    return None


def _unknown(q: str, name: re.Match[str], uri: str, registry: Registry, named: Named) -> BadQuery | None:
    """A name that is no filter is worth telling before what its value lacks."""
    inner = typed_at(q, name.start(), uri, named).uri
    if not inner or name[0] in NO_FILTERS or named(inner, name[0]) is not None:
        return None
    return unknown_filter(registry.type(inner), name[0], name.start())


def _told(q: str, error: BadQuery) -> QueryMistake:
    position = min(int(str(error.details.get("position") or 0)), len(q))
    token = _TOKEN.match(q, position)
    start, end = token.span() if token else (position, position)
    quoted = _TOLD.search(error.message)  # the very word, in a list or before a colon
    word = re.compile(re.escape(quoted[1]), re.IGNORECASE).search(q, start, end) if quoted else None
    if word is not None:
        start, end = word.span()
    return QueryMistake(error.message, start, end, suggested(error.message))
