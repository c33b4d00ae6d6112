"""Finds the first mistake in a search, its place in the text, and a correction."""

import re
from collections.abc import Callable

from server.dataclass import dataclass
from server.errors import BadQuery, suggested
from server.record_types.registry import Registry
from server.records.search_help.caret import Named, typed_at
from server.search.compile import unknown_filter
from server.search.control_terms import CONTROLS
from server.search.filters.date import PARTS
from server.search.filters.text_filters import LITERALS

_NAME = re.compile(r"[A-Za-z0-9_.]+(?=:)")
_TOKEN = re.compile(r'\[[^\]]*\]?|"[^"]*"?|[^\s()\[\]"]+|.', re.DOTALL)
_TOLD = re.compile(r"'([^']+)'")
NO_FILTERS = frozenset((*CONTROLS, *PARTS, *LITERALS))  # names before a colon that are not filters


@dataclass(frozen=True, slots=True)
class QueryMistake:
    """A mistake. start, end: its place in the text. instead: the correction, "" if nothing similar is known."""

    message: str
    start: int
    end: int
    instead: str

    def mended(self, q: str) -> str:
        """The search with the correction applied."""
        return f"{q[: self.start]}{self.instead}{q[self.end :]}"


def mistake_in(q: str, uri: str, registry: Registry, find: Named, check: Callable[[str], None]) -> QueryMistake | None:
    """Returns the first mistake in a search, None for a valid one. check: raises BadQuery for an invalid search."""
    try:
        check(q)
    except BadQuery as error:
        mistake = _located(q, error)
        name = _NAME.match(q, mistake.start)
        unknown = _unknown(q, name, uri, registry, find) if name else None
        return _located(q, unknown) if unknown is not None else mistake
    return None


def _unknown(q: str, name: re.Match[str], uri: str, registry: Registry, find: Named) -> BadQuery | None:
    """An unknown filter name is reported before a problem with its value."""
    inner = typed_at(q, name.start(), uri, find).uri
    if not inner or name[0] in NO_FILTERS or find(inner, name[0]) is not None:
        return None
    return unknown_filter(registry.type(inner), name[0], name.start())


def _located(q: str, error: BadQuery) -> QueryMistake:
    position = min(int(str(error.details.get("position") or 0)), len(q))
    token = _TOKEN.match(q, position)
    start, end = token.span() if token else (position, position)
    quoted = _TOLD.search(error.message)  # the exact word, in a list or before a colon
    word = re.compile(re.escape(quoted[1]), re.IGNORECASE).search(q, start, end) if quoted else None
    if word is not None:
        start, end = word.span()
    return QueryMistake(error.message, start, end, suggested(error.message))
