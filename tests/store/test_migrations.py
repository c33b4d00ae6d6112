"""Migrations: run once and in order, each complete or rolled back, with a copy of the file made first."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.store import migrations, schema
from server.store.database import Store
from tests import databases
from tests.store.conftest import TABLES, WORDS, add_pump, names

ROOT = Path(__file__).resolve().parents[2]
Add = Callable[[str, str], None]
COPIES = 0 if databases.is_postgresql() else 1  # left by a migration; PostgreSQL is backed up by its operators


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Adds a migration by its name and the body of `up(tx)`."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    monkeypatch.setattr(migrations, "__path__", [str(folder)])
    added: list[str] = []

    def add_one(name: str, body: str) -> None:
        (folder / f"{name}.py").write_text("def up(tx):\n" + textwrap.indent(body, "    ") + "\n")
        added.append(f"{migrations.__name__}.{name}")

    yield add_one
    for each in added:
        sys.modules.pop(each, None)


def _open(path: Path) -> Store:
    return schema.open_store(path, TABLES, [WORDS])


def _old(path: Path) -> None:
    """A database file from before the migrations."""
    store = _open(path)
    add_pump(store, "old")
    store.close()


def _copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.before-*"))


def _made_earlier(path: Path, seconds: int = 100, *only: Path) -> None:
    """Sets the dates of all or these copies back, as if days had passed between the starts."""
    for copy in only or _copies(path):
        name, _, made_at = copy.name.rpartition("-")
        if made_at.isdigit():
            copy.rename(copy.with_name(f"{name}-{int(made_at) - seconds}"))


def _applied(store: Store) -> list[str]:
    return [row[0] for row in store.read(lambda tx: tx.find(schema.MIGRATION))]


def test_a_migration_runs_once(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_0900_mark", "tx.connection.execute(\"UPDATE pump SET name = name || '!'\")")
    for _ in range(3):
        store = _open(path)
        assert names(store) == ["old!"] and _applied(store) == ["20270101_0900_mark"]
        store.close()
    assert len(_copies(path)) == COPIES


def test_migrations_run_in_the_order_of_their_names(path: Path, add: Add) -> None:
    _old(path)
    add("20270201_b", "tx.connection.execute(\"UPDATE pump SET name = name || ' b'\")")
    add("20270101_a", "tx.connection.execute(\"UPDATE pump SET name = name || ' a'\")")
    store = _open(path)
    assert names(store) == ["old a b"]
    store.close()


def test_a_later_migration_runs_alone(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_a", "tx.connection.execute(\"UPDATE pump SET name = name || ' a'\")")
    _open(path).close()
    add("20270201_b", "tx.connection.execute(\"UPDATE pump SET name = name || ' b'\")")
    store = _open(path)
    assert names(store) == ["old a b"]
    store.close()


def test_a_new_file_has_nothing_to_migrate_and_remembers_that(path: Path, add: Add) -> None:
    add("20270101_a", "raise RuntimeError('ran on a new file')")
    store = _open(path)
    assert _applied(store) == ["20270101_a"] and _copies(path) == []
    store.close()


@pytest.mark.sqlite("the file of the database")
def test_a_copy_from_before_is_left_beside_the_file(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_a", "tx.connection.execute('DELETE FROM pump')")
    _open(path).close()
    (copy,) = _copies(path)
    assert copy.stat().st_mode & 0o077 == 0
    migrations.__path__ = []
    store = _open(copy)
    assert names(store) == ["old"] and store.check() == []
    store.close()


@pytest.mark.sqlite("the file of the database")
def test_a_copy_of_each_migration_stays_and_of_failed_starts_only_the_last(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_a", "tx.connection.execute(\"UPDATE pump SET name = name || ' a'\")")
    _open(path).close()
    _made_earlier(path)
    (first,) = _copies(path)
    aside = path.with_name(f"{path.name}.before-restore-2000000000")
    aside.write_bytes(b"put aside by a restore")
    store = _open(path)
    store.write(lambda tx: tx.connection.execute("UPDATE migration SET applied_at = applied_at - 100"))
    store.close()
    add("20270201_b", "raise RuntimeError('never done')")
    for seconds in (30, 20, 10):
        with pytest.raises(RuntimeError):
            _open(path)
        (last,) = set(_copies(path)) - {first, aside}
        _made_earlier(path, seconds, last)
    assert len(_copies(path)) == 3 and {first, aside} < set(_copies(path))


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_a", "tx.connection.execute('DELETE FROM pump')\nraise RuntimeError('half way')")
    with pytest.raises(RuntimeError, match="half way"):
        _open(path)
    migrations.__path__ = []
    store = _open(path)
    assert names(store) == ["old"] and _applied(store) == [] and store.check() == []
    store.close()


def test_an_earlier_migration_stays_when_a_later_one_fails(path: Path, add: Add) -> None:
    _old(path)
    add("20270101_a", "tx.connection.execute(\"UPDATE pump SET name = 'a'\")")
    add("20270201_b", "tx.connection.execute('DELETE FROM pump')\nraise RuntimeError('half way')")
    with pytest.raises(RuntimeError):
        _open(path)
    migrations.__path__ = []
    store = _open(path)
    assert names(store) == ["a"] and _applied(store) == ["20270101_a"]
    store.close()


PROGRAM = """
import sys
from pathlib import Path
from server.store import migrations, schema
from tests import databases
from tests.store.conftest import TABLES, WORDS
databases.take_over()
migrations.__path__ = [sys.argv[2]]
schema.open_store(Path(sys.argv[1]), TABLES, [WORDS])
"""


@pytest.mark.parametrize("statement", range(4))
def test_a_migration_killed_at_any_statement_leaves_the_old_state(path: Path, add: Add, statement: int) -> None:
    _old(path)
    steps = [
        "tx.connection.execute('CREATE TABLE tank (id INTEGER PRIMARY KEY)')",
        "tx.connection.execute('DELETE FROM pump')",
        "tx.connection.execute('ALTER TABLE pump ADD COLUMN sold INTEGER')",
    ]
    steps.insert(statement, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    add("20270101_a", "\n".join(steps))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(path.parent / "migrations")], cwd=ROOT, timeout=60,
        env={**os.environ, **databases.handed_on(), "PYTHONPATH": str(ROOT)}, capture_output=True,
    )  # fmt: skip
    assert ended.returncode == -9, ended.stderr
    migrations.__path__ = []
    store = _open(path)
    assert names(store) == ["old"] and _applied(store) == [] and store.check() == []
    assert "tank" not in store.read(lambda tx: databases.tables(tx.connection))
    store.close()


KILLED_IN = """
import importlib, os, signal, sys
from pathlib import Path
from server.store import migrations, schema
from server.store.tables import Column, Table
from tests import databases
from tests.store.conftest import TABLES, WORDS
databases.take_over()
path, folder, place, calls = sys.argv[1:]
module, name = place.rsplit(".", 1)
kept, left = getattr(importlib.import_module(module), name), [int(calls)]
def last(*arguments):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return kept(*arguments)
setattr(importlib.import_module(module), name, last)
migrations.__path__ = [folder]
schema.open_store(Path(path), [*TABLES, Table("tank", [Column("name", "TEXT")])], [WORDS])
"""


ADDS = f"server.store.{'postgresql.schema' if databases.is_postgresql() else 'sqlite_schema'}.add_table"


@pytest.mark.parametrize(
    ("place", "calls", "marked"),
    [
        *COPIES * [("server.store.copying.sync", 0, False)],  # the copy is written but not synced
        ("server.store.schema._migrate", 0, False),
        ("server.store.schema._differs", 0, True),  # between the migration and the additive changes
        (ADDS, 4, True),  # during the additive changes
        ("server.store.schema._fingerprint", 1, True),  # everything is added but not recorded
    ],
)
def test_a_start_that_is_killed_leaves_what_the_next_one_goes_on_with(
    path: Path, add: Add, place: str, calls: int, marked: bool
) -> None:
    _old(path)
    add("20270101_mark", "tx.connection.execute(\"UPDATE pump SET name = name || '!'\")")
    folder = path.parent / "migrations"
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_IN, str(path), str(folder), place, str(calls)], cwd=ROOT, timeout=60,
        env={**os.environ, **databases.handed_on(), "PYTHONPATH": str(ROOT)}, capture_output=True,
    )  # fmt: skip
    assert ended.returncode == -9, ended.stderr
    assert _plain(path) == (["old!" if marked else "old"], [])
    _made_earlier(path)
    store = _open(path)
    assert names(store) == ["old!"] and _applied(store) == ["20270101_mark"] and store.check() == []
    store.close()
    assert [schema.kind_of_file(each) for each in _copies(path)] == ["ours"] * COPIES


def _plain(path: Path) -> tuple[list[str], list[str]]:
    """The pumps in a file, and the tables of unfinished starts; reads the file without opening it as a store."""
    with databases.opened(path.parent) as connection:
        found = [row[0] for row in connection.execute("SELECT name FROM pump").fetchall()]
        return found, [name for name in databases.tables(connection) if name == "tank"]
