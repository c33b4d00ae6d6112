"""Searches the published articles of one shelf by the full-text index.

The articles that have a word are cached with their shelf, as bits of a number: most searches combine words that were
searched before, and need no statement."""

import json
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain, islice
from operator import and_
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.help_center.public_library import PublicArticle, Shelf
from server.record_types.kb_article import KB_TEXT
from server.store import fulltext
from server.store.statements import json_array, slot
from server.store.transaction import Transaction
from server.store.words import Phrase

SEARCH_SECONDS = 2.0  # a visitor does not hold a thread longer
MAX_KNOWN_BITS = 32 * 1024 * 1024  # 4 MiB for each shelf
QUERY_BITS = 1024  # memory of a cached query besides its articles


@dataclass(frozen=True, slots=True)
class Hits:
    """The articles of a shelf that a search found. A bit is set for the article at its place in the shelf. titled:
    those with the words in the title, which come first; others: the rest."""

    shelf: Shelf
    titled: int = 0
    others: int = 0

    def __len__(self) -> int:
        return self.titled.bit_count() + self.others.bit_count()

    def part(self, start: int, end: int) -> list[PublicArticle]:
        """The articles from one position to another, in their order."""
        places = chain(_places_in(self.titled), _places_in(self.others))
        return [self.shelf.in_order[place] for place in islice(places, start, end)]


def search(service: Service, shelf: Shelf, query: str, is_unfinished: bool = False) -> Hits:
    """Returns the articles of a shelf that have all words of a query, those with the words in the title first; else
    those that have words beginning with them. is_unfinished: whether the last word is still being typed. Raises
    OutOfSteps on the event loop, unless all words are known."""
    words = query.split()
    rare = [each for each in words if each.casefold() not in fulltext.STOP_WORDS]
    beginnings = " ".join(each if each.endswith("*") else f"{each}*" for each in rare)
    first = f"{query}*" if is_unfinished and words and not query.endswith("*") else query
    hits = _search(service, shelf, first)
    return hits if hits or beginnings == first else _search(service, shelf, beginnings)


def _search(service: Service, shelf: Shelf, text: str) -> Hits:
    phrases = fulltext.phrases(text)
    if not phrases:
        return Hits(shelf)
    bits = _bits_of_all(service, shelf, [fulltext.phrases_query([each]) for each in phrases])
    titled = 0
    if bits and _may_be_in_titles(shelf, phrases):
        titled = bits & _bits_of_all(service, shelf, [fulltext.phrases_query([each], "title") for each in phrases])
    return Hits(shelf, titled, bits ^ titled)


def _bits_of_all(service: Service, shelf: Shelf, queries: list[str]) -> int:
    """The articles that match all full-text queries. Reading them is 70 % of the time of a search."""
    bits = {each: shelf.known_bits.get(each, 0) for each in queries}
    unknown = [each for each in queries if not bits[each]]
    if unknown:
        bits |= service.store.read(lambda tx: _read_bits(tx, shelf, unknown), seconds=SEARCH_SECONDS)
    return reduce(and_, bits.values())


def _read_bits(tx: Transaction, shelf: Shelf, queries: list[str]) -> dict[str, int]:
    """Reads the articles that match each query, and caches them, except for words that no article has."""
    tx.store.require_thread()
    bits = {each: _bits_of(shelf, json.loads(tx.value(_matching, (each,)))) for each in queries}
    if not tx.lacks_texts:
        if (len(shelf.known_bits) + len(bits)) * (len(shelf.articles) + QUERY_BITS) > MAX_KNOWN_BITS:
            shelf.known_bits.clear()
        shelf.known_bits.update((query, matching) for query, matching in bits.items() if matching)
    return bits


def _bits_of(shelf: Shelf, ids: Iterable[int]) -> int:
    octets, places = bytearray(len(shelf.articles) // 8 + 1), shelf.places
    for place in (places[id] for id in ids if id in places):
        octets[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(octets, "little")


def _places_in(bits: int) -> Iterator[int]:
    """The positions of the bits that are set, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _may_be_in_titles(shelf: Shelf, phrases: list[Phrase]) -> bool:
    """Whether each whole word occurs in a title: a search in titles alone takes as long as one everywhere."""
    whole = (word for each in phrases for word in (each.words[:-1] if each.is_start else each.words))
    return all(word.lower() in shelf.title_words for word in whole)


def _matching() -> Any:
    table = KB_TEXT.sql
    return table.select(json_array(table.rowid)).where(fulltext.match(KB_TEXT, slot(0)))
