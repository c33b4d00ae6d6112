"""Searches the published articles of one shelf by the full-text index."""

import json
from typing import Any

from server.context import Service
from server.help_center.public_library import PublicArticle, Shelf
from server.record_types.kb_article import KB_TEXT
from server.store import fulltext
from server.store.statements import json_array, slot
from server.store.transaction import Transaction
from server.store.words import Phrase

SEARCH_SECONDS = 2.0  # a visitor does not hold a thread longer


def search(service: Service, shelf: Shelf, query: str, is_unfinished: bool = False) -> list[PublicArticle]:
    """Returns the articles of a shelf that have all words of a query, those with the words in the title first; else
    those that have words beginning with them. is_unfinished: whether the last word is still being typed."""
    words = query.split()
    rare = [each for each in words if each.casefold() not in fulltext.STOP_WORDS]
    beginnings = " ".join(each if each.endswith("*") else f"{each}*" for each in rare)
    first = f"{query}*" if is_unfinished and words and not query.endswith("*") else query
    articles = _search(service, shelf, first)
    return articles or (_search(service, shelf, beginnings) if beginnings != first else [])


def _search(service: Service, shelf: Shelf, text: str) -> list[PublicArticle]:
    phrases = fulltext.phrases(text)
    if not phrases:
        return []

    def read(tx: Transaction) -> tuple[list[int], set[int]]:
        ids = _ids(tx, fulltext.phrases_query(phrases))
        may_be_titled = ids and _may_be_in_titles(shelf, phrases)
        return ids, set(_ids(tx, fulltext.phrases_query(phrases, column="title"))) if may_be_titled else set()

    ids, titled = service.store.read(read, seconds=SEARCH_SECONDS)
    places = shelf.places
    ordered = sorted(filter(places.__contains__, ids), key=places.__getitem__)
    if titled:
        ordered.sort(key=lambda id: id not in titled)
    return [*map(shelf.articles.__getitem__, ordered)]


def _may_be_in_titles(shelf: Shelf, phrases: list[Phrase]) -> bool:
    """Whether each whole word occurs in a title: a search in titles alone takes as long as one everywhere."""
    whole = (word for each in phrases for word in (each.words[:-1] if each.is_start else each.words))
    return all(word.lower() in shelf.title_words for word in whole)


def _ids(tx: Transaction, query: str) -> list[int]:
    ids: list[int] = json.loads(tx.value(_matching, (query,)))
    return ids


def _matching() -> Any:
    table = KB_TEXT.sql
    return table.select(json_array(table.rowid)).where(fulltext.match(KB_TEXT, slot(0)))
