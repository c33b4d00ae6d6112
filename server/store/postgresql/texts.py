"""Full text as PostgreSQL keeps it: one tsvector for each record, with words and places as SQLite's FTS5 finds them.

Words are those of words.py, not of a configuration of PostgreSQL, so that both databases find the same. The first
three parts of an index, where searches look mostly, are told apart by the weights A, B and C of their words; words of
all others have the number of their part before them. So a search in the first three asks for no weights, for which
PostgreSQL would have to read each tsvector that its index has found."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from server.store.fulltext import MAX_WORD
from server.store.words import split

WEIGHTS = "ABC"
MAX_PLACE = 16383  # what a tsvector can tell; later words are found, but not as parts of phrases
MAX_BYTES = 1_000_000  # of a tsvector, some less than PostgreSQL takes; words of texts that are larger are not found
GAP = 8  # places between two parts, so that no phrase goes from one to the next
PARTED = "_"  # between the number of a part and a word; no word has it
_TERM = re.compile(r'"([^"]*)"(\*?)')
_PART = re.compile(r"\{([^}]*)\}\s*:\s*\(([^)]*)\)")


def as_tsvector(parts: Iterable[str]) -> str:
    """The texts of a record, as words.indexed() returns them, as a tsvector, in the order of the parts of its index.

    >>> as_tsvector(["the pump, the", "leak"])
    "'leak':12B 'pump':2A 'the':1A,3A"
    """
    places: dict[str, list[str]] = {}
    begin = size = 0
    for number, text in enumerate(parts):
        weight, before = (WEIGHTS[number], "") if number < len(WEIGHTS) else ("", f"{number}{PARTED}")
        place = begin
        for place, word in enumerate(split(text), begin + 1):
            if len(word) > MAX_WORD:
                continue
            kept = f"{before}{word}"
            size += 2 if kept in places else (len(kept) if kept.isascii() else 4 * len(kept)) + 8
            if size <= MAX_BYTES:
                places.setdefault(kept, []).append(f"{min(place, MAX_PLACE)}{weight}")
        begin = place + GAP
    return " ".join(f"'{word}':{','.join(places[word])}" for word in sorted(places))


def as_tsquery(query: str, columns: Sequence[str]) -> str:
    """A query of fulltext.words_query, or several joined by AND, as a tsquery.

    >>> as_tsquery('"pump" "leak"*', ["subject"])
    "'pump' & 'leak':*"
    >>> as_tsquery('{subject} : ("ana larch")', ["content", "subject"])
    "('ana':B <-> 'larch':B)"
    """
    found: list[str] = []
    left = _PART.sub(lambda match: _noted(found, match[2], match[1].split(), columns), query)
    found += _terms(left, None, columns)
    return " & ".join(found)


def _noted(found: list[str], terms: str, names: Sequence[str], columns: Sequence[str]) -> str:
    found += _terms(terms, names, columns)
    return " "


def _terms(text: str, names: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    found = []
    for words, star in _TERM.findall(text):
        ways = [_phrase(split(words), bool(star), *way) for way in _ways(tuple(names or ()), tuple(columns))]
        kept = [way for way in ways if way]
        if kept:
            found.append(kept[0] if len(kept) == 1 else f"({' | '.join(kept)})")
    return found


@lru_cache(maxsize=256)
def _ways(names: tuple[str, ...], columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """[(what stands before a word, the weights that it may have)] of a search in these parts, in all for ()."""
    numbers = sorted(columns.index(name) for name in names or columns)
    weights = "".join(WEIGHTS[number] for number in numbers if number < len(WEIGHTS))
    is_all = len(weights) == min(len(columns), len(WEIGHTS))
    ways = [("", "" if is_all else weights)] if weights else []
    return ways + [(f"{number}{PARTED}", "") for number in numbers if number >= len(WEIGHTS)]


def _phrase(words: list[str], is_start: bool, before: str, weights: str) -> str:
    words = [word[: MAX_WORD + 1] for word in words]  # of longer ones none is kept; PostgreSQL takes no endless ones
    marks = [weights] * len(words)
    if is_start and marks:
        marks[-1] = f"*{weights}"
    terms = [f"'{before}{word}'{f':{mark}' if mark else ''}" for word, mark in zip(words, marks, strict=True)]
    return terms[0] if len(terms) == 1 else f"({' <-> '.join(terms)})" if terms else ""
