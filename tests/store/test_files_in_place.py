"""Open files are the files in the folder, and a log found at start belongs to its database."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from server.errors import Damaged
from server.store import file_watch
from server.store.file_watch import ENDINGS, require_own_log
from server.store.sqlite import SqliteStore
from server.store.sqlite_schema import APPLICATION_ID
from server.store.transaction import Transaction

pytestmark = pytest.mark.sqlite("the file of the database")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = _store(tmp_path)
    yield opened
    opened.close()


def _store(folder: Path) -> SqliteStore:
    opened = SqliteStore(folder / "a.db")
    opened.write(lambda tx: tx.connection.execute("CREATE TABLE IF NOT EXISTS words (word)").fetchall())
    return opened


def _add(store: SqliteStore, word: str) -> None:
    store.write(lambda tx: _insert(tx, word))


def _insert(tx: Transaction, word: str) -> None:
    tx.connection.execute("INSERT INTO words VALUES (?)", (word,))


def _words(store: SqliteStore) -> list[str]:
    return store.read(lambda tx: [row[0] for row in tx.connection.execute("SELECT word FROM words")])


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_moved_away_stops_reads_and_writes_until_it_is_back(store: SqliteStore, ending: str) -> None:
    _add(store, "before")
    file = Path(f"{store.path}{ending}")
    away = file.rename(f"{file}.away")
    with pytest.raises(Damaged, match=f"{file.name} was removed or replaced"):
        _add(store, "lost")
    with pytest.raises(Damaged):
        _words(store)
    with pytest.raises(Damaged):
        store.check()
    away.rename(file)
    _add(store, "after")
    assert _words(store) == ["before", "after"]


def test_a_file_that_took_the_place_of_another_is_noticed(store: SqliteStore) -> None:
    shutil.copy(store.path, f"{store.path}.copy")
    os.replace(f"{store.path}.copy", store.path)
    assert not store.files.are_in_place
    with pytest.raises(Damaged):
        _add(store, "lost")


def test_what_is_taken_away_during_the_commit_is_not_acknowledged(store: SqliteStore) -> None:
    away = f"{store.path}.away"
    with pytest.raises(Damaged):
        store.write(lambda tx: (_insert(tx, "lost"), store.path.rename(away)))
    Path(away).rename(store.path)
    assert _words(store) == []


def test_closing_leaves_the_log_of_another_database_alone(tmp_path: Path) -> None:
    first = _store(tmp_path)
    _add(first, "first")
    (tmp_path / "away").mkdir()
    for ending in ENDINGS:
        Path(f"{first.path}{ending}").rename(tmp_path / "away" / f"a.db{ending}")
    second = _store(tmp_path)
    _add(second, "second")
    first.close()
    assert second.files.are_in_place
    _add(second, "third")
    assert _words(second) == ["second", "third"]
    second.close()
    again = _store(tmp_path / "away")
    assert _words(again) == ["first"]
    again.close()


def test_reads_look_at_the_folder_once_in_a_while_only(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    known = file_watch._identity
    monkeypatch.setattr(file_watch, "_identity", lambda path: looks.append(path) or known(path))
    monkeypatch.setattr(file_watch.time, "monotonic", lambda: store.files._looked_at)
    for _ in range(5):
        _words(store)
    assert looks == []
    later = store.files._looked_at + file_watch.LOOK_SECONDS
    monkeypatch.setattr(file_watch.time, "monotonic", lambda: later)
    _words(store)
    _words(store)
    assert len(looks) == len(ENDINGS)


# -- at the start ------------------------------------------------------------------------------------------------------


class Pages:
    """A database in WAL mode that is changed at random, partly checkpointed, and killed by copying its files."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "0.db"
        self.kills = 0
        self.open()
        self.connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self.connection.execute("PRAGMA journal_mode=WAL").fetchall()
        self.connection.execute("CREATE TABLE word (id INTEGER PRIMARY KEY, text)")

    def open(self) -> None:
        self.connection = apsw.Connection(str(self.path))
        self.connection.execute("PRAGMA wal_autocheckpoint=40").fetchall()
        self.reader = apsw.Connection(str(self.path))

    def close(self) -> None:
        self.reader.close(True)
        self.connection.close(True)

    def copy_to(self, path: Path) -> Path:
        for ending in ("", "-wal"):
            shutil.copy(f"{self.path}{ending}", f"{path}{ending}")
        return path

    def change(self, rand: random.Random) -> None:
        step, text = rand.random(), bytes(rand.randint(1, 9000))
        if step < 0.6:
            self.connection.execute("INSERT INTO word (text) VALUES (?)", (text,))
        elif step < 0.85:
            self.connection.execute("UPDATE word SET text = 'x' WHERE id = ?", (rand.randint(1, 500),))
        elif step < 0.9:
            self.connection.execute("DELETE FROM word WHERE id = ?", (rand.randint(1, 500),))
        elif step < 0.95:
            self.reader.execute("COMMIT" if self.reader.in_transaction else "BEGIN")
            self.reader.execute("SELECT COUNT(*) FROM word").fetchall()
        elif step < 0.99:
            self._checkpoint(rand)
        else:
            self.kills += 1
            killed = self.copy_to(self.path.with_name(f"{self.kills}.db"))
            self.close()
            self.path = killed
            self.open()

    def _checkpoint(self, rand: random.Random) -> None:
        try:
            self.connection.wal_checkpoint(mode=rand.choice((0, 1, 2, 3)))
        except apsw.BusyError:
            assert self.reader.in_transaction


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    made = Pages(tmp_path)
    yield made
    made.close()


@pytest.mark.exhaustive("every order of kills and checkpoints")
def test_no_log_is_taken_for_a_foreign_one_whatever_happened_before(pages: Pages) -> None:
    rand = random.Random(7)
    for _ in range(1500):
        pages.change(rand)
        require_own_log(pages.path)
    assert pages.kills > 5


def _is_empty(path: Path) -> None:
    path.write_bytes(b"")


def _is_missing(path: Path) -> None:
    path.unlink()


def _is_an_older_copy(path: Path) -> None:
    shutil.copy(path.with_name("old"), path)


def _has_larger_pages(path: Path) -> None:
    path.unlink()
    other = apsw.Connection(str(path.with_name("other")))
    other.execute(f"PRAGMA page_size=8192; PRAGMA application_id={APPLICATION_ID}; CREATE TABLE a (b)")
    other.close()
    path.with_name("other").rename(path)


def _is_of_another_program(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[file_watch.APPLICATION_AT] += 1
    path.write_bytes(content)


FOREIGN = [_is_empty, _is_missing, _is_an_older_copy, _has_larger_pages, _is_of_another_program]


@pytest.mark.parametrize("change", FOREIGN, ids=lambda change: change.__name__.strip("_"))
def test_a_log_beside_a_database_that_it_is_not_of_is_refused_and_kept(
    pages: Pages, tmp_path: Path, change: object
) -> None:
    assert callable(change)
    shutil.copy(pages.path, tmp_path / "old")
    rand = random.Random(1)
    for _ in range(300):
        pages.change(rand)
    killed = pages.copy_to(tmp_path / "killed.db")
    log = Path(f"{killed}-wal").read_bytes()
    change(killed)
    with pytest.raises(Damaged, match=r"killed\.db-wal holds"):
        SqliteStore(killed)
    assert Path(f"{killed}-wal").read_bytes() == log


@pytest.mark.parametrize("torn", [bytes(512), b"\xa5" * 512], ids=["zeros", "noise"])
def test_a_log_whose_last_transaction_a_power_cut_tore_is_read_without_it(tmp_path: Path, torn: bytes) -> None:
    made = tmp_path / "made.db"
    connection = apsw.Connection(str(made))
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA journal_mode=WAL").fetchall()
    connection.execute("CREATE TABLE word (text); INSERT INTO word VALUES ('acknowledged')")
    log = Path(f"{made}-wal")
    whole = log.stat().st_size
    connection.execute("CREATE TABLE other (text)")  # which changes the first page
    content = log.read_bytes()
    assert len(content) > whole
    for start in range(whole + file_watch.FRAME_HEADER.size, len(content), len(torn)):
        cut = tmp_path / f"cut-{start}.db"
        shutil.copy(made, cut)
        left = content[:start] + torn[: len(content) - start] + content[start + len(torn) :]
        if left == content:
            continue
        Path(f"{cut}-wal").write_bytes(left)
        store = SqliteStore(cut)
        try:
            rows = store.read(lambda tx: tx.connection.execute("SELECT text, name FROM word, sqlite_schema").fetchall())
            assert rows == [("acknowledged", "word")], start
        finally:
            store.close()
    connection.close()
