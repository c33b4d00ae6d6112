"""Full text in PostgreSQL: one tsvector for each record, with the same words and positions as in SQLite's FTS5.

words.py splits the words, not a configuration of PostgreSQL, so that both databases find the same. The first three
parts of an index, which most searches use, are distinguished by the weights A, B and C; words of other parts are
prefixed with the number of their part. So a search in the first three needs no weights, for which PostgreSQL would have
to read each tsvector that its index finds."""

import re
from collections.abc import Iterable, Sequence

from server.store.fulltext import MAX_WORD
from server.store.words import split

WEIGHTS = "ABC"
MAX_PLACE = 16383  # the largest position of a tsvector; later words are found, but not in phrases
MAX_BYTES = 1_000_000  # size of a tsvector, below the limit of PostgreSQL; words beyond it are not found
GAP = 8  # positions between two parts, so that no phrase spans both
PARTED = "_"  # between the number of a part and a word; not a word character
_TERM = re.compile(r'"([^"]*)"(\*?)')
_PART = re.compile(r"\{([^}]*)\}\s*:\s*\(([^)]*)\)")


def as_tsvector(parts: Iterable[str]) -> str:
    """Converts the texts of a record, as words.indexed() returns them in the order of the parts, to a tsvector.

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
            entry = f"{before}{word}"
            size += 2 if entry in places else (len(entry) if entry.isascii() else 4 * len(entry)) + 8
            if size <= MAX_BYTES:
                places.setdefault(entry, []).append(f"{min(place, MAX_PLACE)}{weight}")
        begin = place + GAP
    return " ".join(f"'{word}':{','.join(places[word])}" for word in sorted(places))


def as_tsquery(query: str, columns: Sequence[str]) -> str:
    """Converts a query of fulltext.words_query, or several joined by AND, to a tsquery.

    >>> as_tsquery('"pump" "leak"*', ["subject"])
    "'pump' & 'leak':*"
    >>> as_tsquery('{subject} : ("ana larch")', ["content", "subject"])
    "('ana':B <-> 'larch':B)"
    """
    terms: list[str] = []
    rest = _PART.sub(lambda match: _add_terms(terms, match[2], match[1].split(), columns), query)
    terms += _terms(rest, None, columns)
    return " & ".join(terms)


def _add_terms(collected: list[str], terms: str, names: Sequence[str], columns: Sequence[str]) -> str:
    collected += _terms(terms, names, columns)
    return " "


def _terms(text: str, names: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    terms = []
    for words, star in _TERM.findall(text):
        ways = [_phrase(split(words), bool(star), *way) for way in _ways(tuple(names or ()), tuple(columns))]
        phrases = [way for way in ways if way]
        if phrases:
            terms.append(phrases[0] if len(phrases) == 1 else f"({' | '.join(phrases)})")
    return terms


def _ways(names: tuple[str, ...], columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns [(prefix of the words, weights)] for a search in these parts, or in all for ()."""
    numbers = sorted(columns.index(name) for name in names or columns)
    weights = "".join(WEIGHTS[number] for number in numbers if number < len(WEIGHTS))
    is_all = len(weights) == min(len(columns), len(WEIGHTS))
    ways = [("", "" if is_all else weights)] if weights else []
    return ways + [(f"{number}{PARTED}", "") for number in numbers if number >= len(WEIGHTS)]


def _phrase(words: list[str], is_start: bool, before: str, weights: str) -> str:
    words = [word[: MAX_WORD + 1] for word in words]  # longer words are not indexed, and PostgreSQL limits their length
    marks = [weights] * len(words)
    if is_start and marks:
        marks[-1] = f"*{weights}"
    terms = [f"'{before}{word}'{f':{mark}' if mark else ''}" for word, mark in zip(words, marks, strict=True)]
    return terms[0] if len(terms) == 1 else f"({' <-> '.join(terms)})" if terms else ""
