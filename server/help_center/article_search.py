"""Searches the published articles of one shelf by the full-text index."""

from server.context import Service
from server.help_center.public_library import PublicArticle, Shelf
from server.record_types.kb_article import KB_TEXT
from server.store import fulltext
from server.store.statements import slot
from server.store.transaction import Transaction

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
    everywhere, titles = fulltext.words_query(text), fulltext.words_query(text, column="title")
    if everywhere is None or titles is None:
        return []

    def read(tx: Transaction) -> tuple[list[int], set[int]]:
        ids = _ids(tx, everywhere)
        return ids, set(_ids(tx, titles)) if ids else set()

    ids, titled = service.store.read(read, seconds=SEARCH_SECONDS)
    articles = [shelf.articles[id] for id in ids if id in shelf.articles]
    return sorted(articles, key=lambda each: (each.id not in titled, each.position, each.id))


def _ids(tx: Transaction, query: str) -> list[int]:
    table = KB_TEXT.sql
    return [
        row[0] for row in tx.rows(lambda: table.select(table.rowid).where(fulltext.match(KB_TEXT, slot(0))), (query,))
    ]
