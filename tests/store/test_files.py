"""Foreign, damaged and newer files are refused and left unchanged; a lock prevents a second opening."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from server.errors import Damaged
from server.store import schema
from server.store.lock import FolderLock, is_held
from server.store.sqlite import SqliteStore
from server.store.sqlite_schema import APPLICATION_ID
from tests.store.conftest import TABLES, WORDS, add_pump

pytestmark = pytest.mark.sqlite("the file of the database")

ROOT = Path(__file__).resolve().parents[2]


def _open(path: Path) -> SqliteStore:
    return schema.open_store(path, TABLES, [WORDS])


def _ours(path: Path) -> bytes:
    """Creates a database of this program; returns its bytes."""
    store = _open(path)
    for number in range(50):
        add_pump(store, f"pump {number}", manual=os.urandom(500))
    store.close()
    return path.read_bytes()


def _foreign(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE song (title); INSERT INTO song VALUES ('La mer')")
    connection.close()


def _newer(path: Path) -> None:
    _ours(path)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version={schema.SCHEMA_NUMBER + 1}")
    connection.close()


def _changed(start: int, content: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        whole = _ours(path)
        path.write_bytes(whole[:start] + content + whole[start + len(content) :])

    return change


REFUSED = [
    ("a newer file", _newer, "newer version"),
    ("a database of another program", _foreign, "belongs to another program"),
    ("a damaged beginning", _changed(0, bytes(100)), "damaged"),
    ("a damaged beginning in part", _changed(0, b"SQLite format 4\x00"), "damaged"),
    ("another application", _changed(68, b"\x12\x34\x56\x78"), "belongs to another program"),
    ("a text file", lambda path: path.write_text("Dear diary,\n" * 100), "damaged"),
    ("a short file", lambda path: path.write_bytes(b"SQLite"), "damaged"),
]


@pytest.mark.parametrize(("make", "message"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(path: Path, make, message: str) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(Damaged, match=message):
        _open(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_newer_number_that_is_only_in_the_log_is_noticed(path: Path) -> None:
    _ours(path)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version={schema.SCHEMA_NUMBER + 1}")  # in the log while this connection is open
    with pytest.raises(Damaged, match="newer version"):
        _open(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_NUMBER + 1,)
    assert connection.execute("SELECT count(*) FROM pump").fetchone() == (50,)
    connection.close()


@pytest.mark.parametrize("start", [16, 100, 4096, 8192])
def test_damage_behind_the_beginning_is_an_error_of_ours(path: Path, start: int) -> None:
    _changed(start, os.urandom(3000))(path)
    try:
        store = _open(path)
    except Damaged:
        return
    try:
        assert store.check()
    finally:
        store.close()


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    store = _open(path)
    assert add_pump(store, "first") == 1
    store.close()
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID


def test_a_path_that_is_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(Damaged):
        _open(path)


def test_an_older_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(Damaged, match=r"3\.51\.3 or newer"):
        _open(path)
    assert not path.exists()


def test_the_file_is_kept_as_it_must_be(path: Path) -> None:
    store = _open(path)
    asked = ("journal_mode", "foreign_keys", "trusted_schema", "mmap_size", "application_id", "busy_timeout")

    def values(tx) -> list[object]:
        return [tx.connection.execute(f"PRAGMA {name}").fetchone() for name in asked]

    expected = [("wal",), (1,), (0,), (0,), (APPLICATION_ID,), (5000,)]
    assert store.write(values) == expected and store.read(values) == expected
    assert store.write(lambda tx: tx.connection.execute("PRAGMA synchronous").fetchone()) == (2,)  # FULL
    store.close()


def test_closing_folds_the_log_into_the_file(path: Path) -> None:
    _ours(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_second_process_cannot_open_the_database() -> None:
    text = "".join(each.read_text() for each in (ROOT / "server").rglob("*.py"))
    assert not re.search(r"^\s*(?:import|from) sqlite3\b", text, re.MULTILINE)


def test_the_lock_keeps_a_second_one_off(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    assert not is_held(tmp_path)
    first.take()
    assert is_held(tmp_path)
    with pytest.raises(Damaged, match=f"process {os.getpid()}.*stop it first"):
        second.take()
    first.release()
    assert not is_held(tmp_path)
    second.take()
    second.release()


def test_the_lock_is_free_again_after_a_kill(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from server.store.lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); lock.take(); print('taken', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert holder.stdout is not None and holder.stdout.readline() == b"taken\n"
    assert is_held(tmp_path)
    with pytest.raises(Damaged, match=f"process {holder.pid}"):
        FolderLock(tmp_path).take()
    holder.kill()
    holder.communicate()
    lock = FolderLock(tmp_path)
    lock.take()
    lock.release()


def test_the_lock_file_is_for_its_owner(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.take()
    assert (tmp_path / "helpdesk.lock").stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_lock_in_a_folder_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="cannot be written"):
        FolderLock(tmp_path / "absent").take()
