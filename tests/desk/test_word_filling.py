"""Full-text indexes added to existing records are filled in portions, and searches say so until they are complete."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from server import app
from server.record_types.registry import load as load_types
from server.records import index_backfill, records
from server.records.records import NOT_INDEXED, SearchRequest
from server.store import fulltext, schema, sqlite
from server.store.transaction import Transaction
from server.tickets.types.message_parts.message_filters import MESSAGE_TEXT
from server.tickets.types.ticket_parts.bare_words import TICKET_TEXT
from tests.desk.conftest import Post

SUBJECTS = [f"Gondola number{count}" for count in range(5)]
SAYS = "words of older tickets are being put into the index, 0% are there"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Post]:
    """A desk with five tickets, whose indexes of tickets and messages were created by an older program."""
    opened = Post(tmp_path, load_types())
    for subject in SUBJECTS:
        opened.received(opened.create("ticket", subject=subject, group_id=opened.support), Subject=subject)
    for text in (TICKET_TEXT, MESSAGE_TEXT):
        opened.service.store.write(partial(_as_before, text))
    _start(opened)
    yield opened
    opened.close()


def _as_before(text: fulltext.TextIndex, tx: Transaction) -> None:
    fulltext.make(tx, fulltext.TextIndex(text.name, ("other",), text.of))
    tx.connection.execute("DELETE FROM text_fill")
    tx.connection.execute("DELETE FROM meta WHERE name = 'schema'")


def _start(desk: Post) -> None:
    """Prepares the database as a start of the service does."""
    registry, store = desk.service.registry, desk.service.store
    tables = [schema.META, schema.MIGRATION, schema.VERSION, fulltext.TEXT_FILL, *app.all_tables(registry)]
    schema.synchronize(store, tables, registry.texts())
    store.locals.clear()
    index_backfill.look(desk.service, desk.now)


def search(desk: Post, words: str) -> dict[str, Any]:
    return records.search(desk.context(desk.nora), "ticket", SearchRequest(q=words, limit=99))


def fill(desk: Post) -> None:
    while index_backfill.fill(desk.service, desk.now) is not None:
        pass


def test_existing_records_are_indexed_newest_first(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_backfill, "PORTION", 1)
    monkeypatch.setattr(index_backfill, "TURN_PORTIONS", 2)
    response = search(desk, "gondola")
    assert response["total"] == 0 and any(note.startswith(SAYS) for note in response["notes"])
    assert "notes" not in records.search(desk.context(desk.nora), "task", SearchRequest(q="gondola"))
    found = []
    while index_backfill.fill(desk.service, desk.now) is not None:
        found.append([row["subject"] for row in search(desk, "gondola sort:id")["results"]])
        assert "notes" in search(desk, "")
    assert found[-1] == SUBJECTS and [SUBJECTS[len(SUBJECTS) - len(each) :] for each in found] == found
    assert "notes" not in search(desk, "gondola") and desk.read(lambda tx: tx.find(fulltext.TEXT_FILL)) == []


def test_it_resumes_where_it_was_killed(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_backfill, "PORTION", 2)
    monkeypatch.setattr(index_backfill, "TURN_PORTIONS", 1)
    index_backfill.fill(desk.service, desk.now)
    before = desk.read(lambda tx: tx.find(fulltext.TEXT_FILL))
    _start(desk)
    assert desk.read(lambda tx: tx.find(fulltext.TEXT_FILL)) == before != []
    fill(desk)
    assert search(desk, "gondola")["total"] == len(SUBJECTS)


def test_records_changed_in_the_meantime_are_found_as_they_are(desk: Post) -> None:
    desk.update("ticket", desk.all("ticket")[0]["id"], subject="Zeppelin")
    fill(desk)
    assert [search(desk, words)["total"] for words in ("zeppelin", "gondola")] == [
        1,
        len(SUBJECTS),
    ]  # mail words


def test_the_index_follows_only_the_subject(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = desk.create("ticket", subject="Balloon", group_id=desk.support)
    assert search(desk, "balloon")["total"] == 1
    desk.update("ticket", ticket, subject="Airship")
    assert [search(desk, words)["total"] for words in ("balloon", "airship")] == [0, 1]
    monkeypatch.setattr(fulltext, "index", lambda *_: pytest.fail("indexed for nothing"))
    desk.update("ticket", ticket, importance=7)


def test_words_by_earlier_rules_are_reindexed_while_the_others_stay_searchable(
    desk: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of an older program has no words of scripts without spaces."""
    fill(desk)
    desk.create("ticket", subject="退款问题", group_id=desk.support)
    made = []
    original = fulltext.index
    with monkeypatch.context() as earlier:
        earlier.setattr("server.store.words.indexed", lambda text: text)
        desk.service.store.write(lambda tx: original(tx, TICKET_TEXT, 6, {"subject": "退款问题"}))
    desk.service.store.write(lambda tx: tx.put(schema.META, {"name": schema.WORDS, "value": "1"}))
    desk.service.store.write(lambda tx: tx.put(schema.META, {"name": schema.SCHEMA, "value": "of an earlier program"}))
    assert search(desk, "问题")["total"] == 0
    _start(desk)
    monkeypatch.setattr(fulltext, "index", lambda tx, text, id, parts: (made.append(id), original(tx, text, id, parts)))
    assert search(desk, "gondola")["total"] == len(SUBJECTS) and "notes" in search(desk, "gondola")
    fill(desk)
    assert search(desk, "问题")["total"] == 1 and "notes" not in search(desk, "问题")
    assert made == [6]  # texts in ASCII stay as they are


def test_a_new_database_has_words_by_the_present_rules(desk: Post) -> None:
    fill(desk)
    _start(desk)
    assert desk.read(lambda tx: tx.find(fulltext.TEXT_FILL)) == []


@pytest.mark.sqlite("PostgreSQL gathers words by itself")
def test_a_search_says_that_the_newest_words_could_not_be_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 0)
    with closing(Post(tmp_path, load_types())) as desk:
        for number in range(20):
            desk.create("ticket", subject=f"Zeppelin {number}", group_id=desk.support)
        with closing(apsw.Connection(desk.service.store.place)) as other:
            other.execute("BEGIN IMMEDIATE")
            response = search(desk, "zeppelin")
            assert response["total"] < 20 and NOT_INDEXED in response["notes"]
            assert "notes" not in search(desk, "subject:zeppelin")
        response = search(desk, "zeppelin")
        assert response["total"] == 20 and "notes" not in response
