"""Texts that wait to enter a full-text index of SQLite: searches see them as if they were indexed, through all changes
of texts, transactions and processes."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from server.errors import Full
from server.store import fulltext, schema, sqlite, sqlite_texts
from server.store.database import OutOfSteps, Store, TextsWait
from server.store.statements import slot
from server.store.transaction import Transaction
from tests.store.conftest import LETTER, TABLES, WORDS
from tests.store.group import write_together

pytestmark = pytest.mark.sqlite("PostgreSQL gathers words by itself")

MOMENTS = 1_000_000  # waits until the background work of the writer is done


@pytest.fixture(autouse=True)
def never_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting texts wait until the test does something."""
    monkeypatch.setattr(sqlite_texts, "QUIET_SECONDS", 3600.0)


def index(id: int, name: str, notes: str = "") -> Callable[[Transaction], None]:
    return lambda tx: fulltext.index(tx, WORDS, id, {"name": name, "notes": notes})


def remove(id: int) -> Callable[[Transaction], None]:
    return lambda tx: fulltext.remove(tx, WORDS, id)


def looked(tx: Transaction, words: str) -> list[int]:
    table = WORDS.sql
    rows = tx.rows(lambda: table.select(table.rowid).where(fulltext.match(WORDS, slot(0))), (f'"{words}"',))
    return sorted(row[0] for row in rows)


def found(store: Store, words: str, **options: Any) -> list[int]:
    return store.read(lambda tx: looked(tx, words), **options)


def waiting(store: Store) -> list[int]:
    rows = store.read(lambda tx: tx.connection.execute('SELECT id FROM "pump_words_waiting" ORDER BY id').fetchall())
    return [row[0] for row in rows]


# Changes to a store; then words, and the ids that they match.
CASES: list[tuple[str, list[Callable[[Transaction], Any]], dict[str, list[int]]]] = [
    ("new", [index(1, "garden"), index(2, "garden")], {"garden": [1, 2]}),
    ("of an id below others", [index(7, "garden"), index(3, "cellar")], {"garden": [7], "cellar": [3]}),
    ("changed while it waits", [index(1, "garden"), index(1, "cellar")], {"garden": [], "cellar": [1]}),
    ("changed once it is in", [index(1, "garden"), lambda tx: looked(tx, "garden"), *map(index, range(9, 30), "x" * 21),
                              index(1, "cellar")], {"garden": [], "cellar": [1]}),
    ("removed while it waits", [index(1, "garden"), index(2, "garden"), remove(1)], {"garden": [2]}),
    ("removed once it is in", [index(1, "garden"), lambda tx: looked(tx, "garden"), remove(1)], {"garden": []}),
    ("removed with a change that waits", [index(1, "garden"), lambda tx: looked(tx, "garden"), index(1, "cellar"),
                                          remove(1)], {"garden": [], "cellar": []}),
    ("long", [index(1, "garden"), index(1, "cellar", "valve " * 8000)], {"garden": [], "cellar": [1], "valve": [1]}),
    ("of both parts", [index(1, "garden", "valve")], {"garden": [1], "valve": [1]}),
]  # fmt: skip


@pytest.mark.parametrize(("does", "finds"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_words_find_what_was_committed_before(
    store: Store, does: list[Callable[[Transaction], Any]], finds: dict[str, list[int]]
) -> None:
    for write in does:
        store.write(write)
    for words, ids in finds.items():
        assert found(store, words) == ids, words
    assert waiting(store) == [] and store.check() == []


@pytest.mark.parametrize(("does", "finds"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_write_finds_what_it_did_itself(
    store: Store, does: list[Callable[[Transaction], Any]], finds: dict[str, list[int]]
) -> None:
    def write(tx: Transaction) -> dict[str, list[int]]:
        for each in does:
            each(tx)
        return {words: looked(tx, words) for words in finds}

    assert store.write(write) == finds
    assert {words: found(store, words) for words in finds} == finds


def test_texts_wait_until_somebody_looks_for_words(store: Store) -> None:
    store.write(index(1, "garden"))
    store.write(index(2, "cellar"))
    assert waiting(store) == [1, 2]
    assert found(store, "cellar") == [2] and waiting(store) == []


def test_a_search_on_the_event_loop_has_to_restart(store: Store) -> None:
    store.write(index(1, "garden"))
    with pytest.raises(TextsWait) as told:
        found(store, "garden", steps=100_000)
    assert isinstance(told.value, OutOfSteps)  # a read that lacks this restarts on a thread
    with store.as_indexed():
        assert found(store, "garden", steps=100_000) == []
    store.write(lambda tx: store.index_waiting(tx, told.value.names))
    assert found(store, "garden", steps=100_000) == [1]


def test_while_people_search_texts_go_in_at_once(store: Store) -> None:
    assert found(store, "garden") == []
    for id in range(1, sqlite_texts.FEW + 3):
        store.write(index(id, "garden"))
    assert waiting(store) == [sqlite_texts.FEW + 1, sqlite_texts.FEW + 2]
    assert found(store, "garden") == list(range(1, sqlite_texts.FEW + 3))


def test_only_so_many_texts_wait(store: Store) -> None:
    most = 0
    for id in range(1, 301):
        store.write(index(id, "garden", "valve " * 40))
        most = max(most, len(waiting(store)))
    assert 10 < most <= sqlite_texts.ENOUGH_WEIGHT // sqlite_texts.TEXT_WEIGHT
    assert found(store, "garden") == list(range(1, 301))


def test_texts_go_in_when_the_writer_has_nothing_to_do(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_texts, "QUIET_SECONDS", 0.0)
    store.write(index(1, "garden"))
    assert any(not waiting(store) for _ in range(MOMENTS))
    with store.as_indexed():
        assert found(store, "garden") == [1]


def test_texts_go_in_at_the_stop(opened: Callable[..., Store]) -> None:
    store = opened()
    store.write(index(1, "garden"))
    store.close()
    assert waiting(opened()) == []


def test_nothing_waits_of_what_was_undone(store: Store) -> None:
    def failing(tx: Transaction) -> None:
        index(1, "garden")(tx)
        raise ValueError

    def half(tx: Transaction) -> None:
        index(2, "garden")(tx)
        with pytest.raises(ValueError):
            store.write(failing)

    write_together(store, index(3, "garden"), failing, half)
    assert waiting(store) == [2, 3]
    assert found(store, "garden") == [2, 3]


def test_a_write_that_put_all_in_and_was_undone_loses_nothing(store: Store) -> None:
    def failing(tx: Transaction) -> None:
        assert looked(tx, "garden") == [1]
        raise ValueError

    store.write(index(1, "garden"))
    with pytest.raises(ValueError):
        store.write(failing)
    assert waiting(store) == [1] and found(store, "garden") == [1]


KILLED = """
import os, sys
from pathlib import Path
from server.store import fulltext, schema, sqlite_texts
from tests.store.conftest import TABLES, WORDS
sqlite_texts.QUIET_SECONDS = 3600.0
store = schema.open_store(Path(sys.argv[1]), TABLES, [WORDS])
for id in (1, 2):
    store.write(lambda tx: fulltext.index(tx, WORDS, id, {"name": "garden"}))
os._exit(9)
"""


def test_what_waited_when_the_program_was_killed_is_found(path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == 9
    store = schema.open_store(path, TABLES, [WORDS])
    try:
        assert waiting(store) == [1, 2] and found(store, "garden") == [1, 2]
    finally:
        store.close()


def test_what_another_program_wrote_is_found(store: Store, opened: Callable[..., Store]) -> None:
    assert found(store, "garden") == []
    opened().write(index(1, "garden"))
    assert found(store, "garden") == [1]


def test_to_look_after_an_index_changes_nothing(store: Store) -> None:
    store.write(index(1, "garden"))
    assert store.read(lambda tx: schema.problems(tx, schema.base_tables(TABLES), [WORDS])) == []
    assert store.check() == [] and waiting(store) == [1]


def test_where_nothing_can_be_written_a_search_finds_what_is_in_the_index(
    path: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 0)
    store = opened()
    store.write(index(1, "garden"))
    assert found(store, "garden") == [1]
    for id in range(2, 20):
        store.write(index(id, "garden"))
    kept = waiting(store)
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        in_it, lacks_texts = store.read(lambda tx: (looked(tx, "garden"), tx.lacks_texts))
        assert kept and sorted([*in_it, *kept]) == list(range(1, 20)) and lacks_texts
    assert store.read(lambda tx: (looked(tx, "garden"), tx.lacks_texts)) == (list(range(1, 20)), False)
    assert waiting(store) == []


def test_a_file_without_room_has_room_for_words_whose_texts_go(opened: Callable[..., Store]) -> None:
    opened().close()
    store = opened()
    pages = store.read(lambda tx: tx.connection.execute("PRAGMA page_count").fetchone()[0])
    store.close()
    small = opened(max_pages=pages + 60)
    for id in range(1, 32):
        small.write(index(id, "garden", " ".join(f"valve{id}x{number}" for number in range(120))))
    assert waiting(small)
    with pytest.raises(Full):
        for _ in range(MOMENTS):
            small.write(lambda tx: tx.insert(LETTER, {"text": bytes(3000)}))
    assert found(small, "garden") == list(range(1, 32)) and waiting(small) == [] and small.check() == []
