"""Words whose articles are cached: a search of them needs no thread."""

from itertools import count

import pytest

from server.help_center import article_search
from server.help_center.public_library import Libraries, Shelf
from server.store.database import OutOfSteps
from tests.records.desk import Desk

STEPS = 20_000
_brands = count(1)


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    host = f"words{next(_brands)}.example"
    brand = desk.create("brand", name=host, host=host, is_public=1)
    for title in ("Pump of steel", "Pump of brass", "Hose of steel"):
        desk.create("kb_article", title=title, status="published", brand_id=brand["id"])
    library = Libraries(desk.service).library(host)
    assert library is not None
    return library.shelf(library.first_language)


def titles(desk: Desk, shelf: Shelf, query: str) -> list[str]:
    hits = article_search.search(desk.service, shelf, query)
    return [each.title for each in hits.part(0, len(hits))]


def titles_on_loop(desk: Desk, shelf: Shelf, query: str) -> list[str]:
    """Searches within a budget, as on the event loop."""
    return desk.store.read_together(lambda: titles(desk, shelf, query), STEPS)


@pytest.mark.sqlite("reads of PostgreSQL never run on the event loop")
def test_only_a_search_of_known_words_runs_on_the_event_loop(desk, shelf):
    with pytest.raises(OutOfSteps):
        titles_on_loop(desk, shelf, "pump steel")
    assert len(titles(desk, shelf, "pump")) == len(titles(desk, shelf, "steel")) == 2
    assert titles_on_loop(desk, shelf, "pump steel") == ["Pump of steel"]
    for beginning in ("pum*", "steel pum", "gold"):
        with pytest.raises(OutOfSteps):
            titles_on_loop(desk, shelf, beginning)


def test_known_words_are_forgotten_when_there_are_too_many(desk, shelf, monkeypatch):
    monkeypatch.setattr(article_search, "MAX_KNOWN_BITS", 2 * (len(shelf.articles) + article_search.QUERY_BITS))
    for query in ("pump", "steel", "brass", "hose", "pump brass"):
        assert titles(desk, shelf, query)
        assert len(shelf.known_bits) <= 2
    assert titles(desk, shelf, "pump steel") == ["Pump of steel"]
