"""Backups: a consistent snapshot of a database in use, complete or absent; and restores that bring it back exactly."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from server.errors import Conflict, Damaged, Full, HelpdeskError, NotFound, Unavailable
from server.store import backup, copying, schema
from server.store.database import Store
from server.store.transaction import Transaction
from tests.store.conftest import PUMP, TABLES, WORDS, add_pump, names

pytestmark = pytest.mark.sqlite("the file of the database")

Usage = namedtuple("Usage", "total used free")
ROOT = Path(__file__).resolve().parents[2]
WRITERS, WRITES = 4, 25


def digest(connection: apsw.Connection) -> str:
    """A digest of all rows of all tables."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    found = hashlib.sha256()
    for (table,) in tables:
        for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2'):
            found.update(json.dumps([table, *row], default=bytes.hex).encode())
    return found.hexdigest()


def digest_of(path: Path) -> str:
    connection = apsw.Connection(str(path))
    try:
        return digest(connection)
    finally:
        connection.close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "backup.db"


@pytest.fixture(autouse=True)
def _folder(target: Path) -> None:
    target.parent.mkdir()


def _filled(path: Path, count: int = 400) -> Path:
    """A closed database of several pages."""
    store = schema.open_store(path, TABLES, [WORDS])
    store.write(lambda tx: [tx.insert(PUMP, {"name": f"pump {n}", "manual": os.urandom(3000)}) for n in range(count)])
    store.close()
    return path


def _reopened(path: Path) -> Store:
    return schema.open_store(path, TABLES, [WORDS])


def test_a_backup_holds_one_moment_of_a_database_that_is_written(store: Store, path: Path, target: Path) -> None:
    """Every write records the state of all tables at its end; the backup equals one of these states, and so does the
    restored database."""
    moments: dict[int, str] = {}
    add_pump(store, "first", manual=os.urandom(1_500_000))  # the copy needs more than one step
    under_way, half_way = threading.Event(), threading.Event()

    def write(number: int) -> None:
        def work(tx: Transaction) -> None:
            id = tx.insert(PUMP, {"name": f"pump {number}", "litres": number, "manual": os.urandom(2000)})
            moments[id] = digest(tx.connection)

        for _ in range(WRITES):
            store.write(work)
            under_way.set()
            assert half_way.wait(30)

    def progress(done: int, total: int) -> None:
        if done < total and not half_way.is_set():
            before = len(moments)
            half_way.set()
            while len(moments) < before + 20:  # the copy continues after other writes
                store.write(lambda tx: None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for each in threads:
        each.start()
    assert under_way.wait(30)
    size = backup.make(path, target, progress)
    for each in threads:
        each.join()
    assert half_way.is_set() and size == target.stat().st_size
    last = backup.verify(target).tables["pump"]
    assert last < len(moments) and digest_of(target) == moments[last]
    store.close()
    backup.restore(target, path)
    assert digest_of(path) == moments[last]
    again = _reopened(path)
    assert again.check() == [] and len(names(again)) == last
    again.close()


def test_writers_are_not_held_up_by_a_copy(store: Store, path: Path, target: Path) -> None:
    add_pump(store, "first", manual=os.urandom(3_000_000))
    written: list[int] = []
    backup.make(path, target, lambda done, total: written.append(add_pump(store, "more")))
    assert len(written) > 2 and backup.verify(target).tables["pump"] == 1
    assert len(names(store)) == 1 + len(written)


def test_progress_rises_to_all_pages(path: Path, target: Path) -> None:
    seen: list[tuple[int, int]] = []
    backup.make(_filled(path), target, lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 1
    assert seen[-1][0] == seen[-1][1] == target.stat().st_size // 4096


def test_a_backup_is_one_file_that_only_its_owner_reads(path: Path, target: Path) -> None:
    backup.make(_filled(path), target)
    assert [each.name for each in target.parent.iterdir()] == [target.name]
    assert target.stat().st_mode & 0o077 == 0
    backup.verify(target)
    assert [each.name for each in target.parent.iterdir()] == [target.name]


def test_nothing_is_written_over(path: Path, target: Path) -> None:
    target.write_bytes(b"mine")
    with pytest.raises(Conflict, match="is not overwritten"):
        backup.make(_filled(path), target)
    assert target.read_bytes() == b"mine" and len(list(target.parent.iterdir())) == 1


def test_nothing_is_written_over_that_comes_meanwhile(path: Path, target: Path) -> None:
    with pytest.raises(Conflict, match="created in the meantime"):
        backup.make(_filled(path), target, lambda done, total: target.write_bytes(b"mine") and None)
    assert target.read_bytes() == b"mine" and len(list(target.parent.iterdir())) == 1


def test_two_copies_to_one_name_do_not_meet(path: Path, target: Path) -> None:
    _filled(path)
    refused: list[str] = []

    def second(done: int, total: int) -> None:
        if not refused:
            with pytest.raises(Conflict) as raised:
                backup.make(path, target)
            refused.append(raised.value.message)

    backup.make(path, target, second)
    assert "being written by another process" in refused[0]
    backup.verify(target)


def test_a_missing_folder_is_reported(path: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file or directory"):
        backup.make(_filled(path), tmp_path / "absent" / "backup.db")


def test_a_full_disk_is_reported_before_any_write(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying.shutil, "disk_usage", lambda folder: Usage(10**9, 10**9, 1000))
    with pytest.raises(Full, match=r"0 MiB of free room, and 2 MiB are needed"):
        backup.make(_filled(path), target)
    assert list(target.parent.iterdir()) == []


PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from server.errors import HelpdeskError
from server.store import backup
what, source, target, limit, kill = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if "." in kill:
    module, name = kill.rsplit(".", 1)
    setattr(__import__(module, fromlist=["x"]), name, end)
progress = end if kill == "progress" else None
try:
    getattr(backup, what)(source, target, progress)
except HelpdeskError as error:
    print(type(error).__name__, error.message)
    raise SystemExit(1)
"""


def _run(what: str, source: Path, target: Path, limit: int = 0, kill: str = "-") -> "subprocess.CompletedProcess[str]":
    arguments = [what, str(source), str(target), str(limit), kill]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60,
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_disk_that_is_full_half_way_leaves_nothing(path: Path, target: Path) -> None:
    ended = _run("make", _filled(path), target, limit=500_000)
    assert (ended.returncode, ended.stdout.split()[0]) == (1, "Full"), ended
    assert "no space is left" in ended.stdout and list(target.parent.iterdir()) == []


@pytest.mark.parametrize("place", ["progress", "server.store.copying.sync", "server.store.copying.give_name"])
def test_a_backup_that_is_killed_is_no_backup_and_the_next_one_is_whole(path: Path, target: Path, place: str) -> None:
    ended = _run("make", _filled(path), target, kill=place)
    assert ended.returncode == -signal.SIGKILL, ended
    assert not target.exists() and backup.verify(backup_made(path, target)).tables["pump"] == 400
    assert [each.name for each in target.parent.iterdir()] == [target.name]


def backup_made(path: Path, target: Path) -> Path:
    backup.make(path, target)
    return target


@pytest.mark.parametrize(
    "place",
    [
        "progress", "server.store.backup.verify", "server.store.backup._fold_log", "server.store.backup._set_aside",
        "server.store.backup.sync",
    ],
)  # fmt: skip
def test_a_restore_that_is_killed_leaves_the_old_database_or_the_new_one(
    path: Path, target: Path, tmp_path: Path, place: str
) -> None:
    """The last kill comes after the old file got a second name; the new file is not yet in place before it."""
    backup.make(_filled(path, 100), target)
    store = _reopened(path)
    add_pump(store, "later")
    store.close()
    before = digest_of(path)
    ended = _run("restore", target, path, kill=place)
    assert ended.returncode == -signal.SIGKILL, ended
    assert digest_of(path) == before
    backup.restore(target, path)
    assert digest_of(path) == digest_of(target)
    assert not [each for each in path.parent.iterdir() if "restoring" in each.name]


def test_a_restore_keeps_the_database_that_was_there(path: Path, target: Path) -> None:
    backup.make(_filled(path, 10), target)
    store = _reopened(path)
    add_pump(store, "later")
    store.close()
    before = digest_of(path)
    first, second = backup.restore(target, path), backup.restore(target, path)
    assert first.kept is not None and second.kept is not None and first.kept != second.kept
    assert digest_of(first.kept) == before and digest_of(second.kept) == digest_of(target)
    assert first.kept.name.startswith("helpdesk.db.before-restore-") and first.problem == ""


def test_a_log_that_was_left_by_a_crash_is_kept_with_its_database_and_not_played_into_the_backup(
    path: Path, target: Path, tmp_path: Path
) -> None:
    backup.make(_filled(path, 10), target)
    store = _reopened(path)
    add_pump(store, "in the log")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for each in path.parent.glob("helpdesk.db*"):
        (crashed / each.name).write_bytes(each.read_bytes())
    store.close()
    database = crashed / "helpdesk.db"
    restored = backup.restore(target, database)
    assert digest_of(database) == digest_of(target)
    assert restored.kept is not None
    old = _reopened(restored.kept)
    assert "in the log" in names(old)
    old.close()


@pytest.mark.parametrize("moved", range(3))
def test_a_restore_that_is_taken_back_leaves_a_database_wherever_it_is_killed(
    path: Path, target: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Without a database the next start would create an empty one and print a setup link. moved: number of files so
    far."""
    backup.make(_filled(path, 10), target)
    store = _reopened(path)
    add_pump(store, "later")
    store.close()
    before = digest_of(path)
    kept = backup.restore(target, path).kept
    assert kept is not None
    replace, left = Path.replace, [None] * moved

    def until_killed(self: Path, to: Path) -> Path:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return replace(self, to)

    monkeypatch.setattr(Path, "replace", until_killed)
    with suppress(KeyboardInterrupt):
        aside = backup.put_back(path, kept)
        assert digest_of(path) == before and digest_of(aside) == digest_of(target) and not kept.exists()
    assert path.exists() and digest_of(path) in (before, digest_of(target))


def test_a_damaged_database_is_put_aside_as_it_stands(path: Path, target: Path) -> None:
    backup.make(_filled(path, 10), target)
    broken = bytes(200) + path.read_bytes()[200:]
    path.write_bytes(broken)
    wal = path.with_name("helpdesk.db-wal")
    wal.write_bytes(b"what was left")
    restored = backup.restore(target, path)
    assert digest_of(path) == digest_of(target) and not wal.exists()
    assert restored.kept is not None and restored.kept.read_bytes() == broken and "damaged" in restored.problem
    assert restored.kept.with_name(restored.kept.name + "-wal").read_bytes() == b"what was left"


def test_a_restore_into_an_empty_folder_keeps_nothing(path: Path, target: Path, tmp_path: Path) -> None:
    backup.make(_filled(path, 10), target)
    database = tmp_path / "new" / "helpdesk.db"
    database.parent.mkdir()
    restored = backup.restore(target, database)
    assert restored.kept is None and restored.contents.tables["pump"] == 10
    assert [each.name for each in database.parent.iterdir()] == ["helpdesk.db"]
    assert database.stat().st_mode & 0o077 == 0


def test_a_database_that_a_command_uses_is_not_replaced(path: Path, target: Path) -> None:
    backup.make(_filled(path, 10), target)
    used = apsw.Connection(str(path))
    used.execute("BEGIN IMMEDIATE")
    used.execute("UPDATE pump SET litres = 7")
    ended = subprocess.run(
        [sys.executable, "-c", f"import server.store.backup as b; b.BUSY_TIMEOUT_MS = 10\n{PROGRAM}", "restore",
         str(target), str(path), "0", "-"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    used.execute("COMMIT")
    used.close()
    assert ended.returncode == 1 and ended.stdout.startswith("Unavailable") and "another command" in ended.stdout
    store = _reopened(path)
    assert store.read(lambda tx: tx.find(PUMP))[0][2] == 7
    store.close()
    assert not list(path.parent.glob("*restor*"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5000])


def _without_beginning(file: Path) -> None:
    file.write_bytes(bytes(100) + file.read_bytes()[100:])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _text(file: Path) -> None:
    file.write_text("-- no database\n" * 100)


def _changed_inside(file: Path) -> None:
    whole = file.read_bytes()
    place = whole.index(b"pump 5")
    page = place - place % 4096
    file.write_bytes(whole[:page] + bytes(range(256)) * 16 + whole[page + 4096 :])


def _pragma(name: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        connection = apsw.Connection(str(file))
        connection.execute(f"PRAGMA {name}")
        connection.close()

    return change


def _in_use(file: Path) -> None:
    file.with_name(f"{file.name}-wal").write_bytes(b"frames")


REFUSED = [
    (_cut, "its end is missing"),
    (_without_beginning, "not a backup of this program"),
    (_empty, "not a backup of this program"),
    (_text, "not a backup of this program"),
    (_changed_inside, "is damaged"),
    (_pragma("application_id=7"), "another program"),
    (_pragma(f"user_version={schema.SCHEMA_NUMBER + 1}"), "newer version"),
    (_in_use, "a database in use"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_no_whole_backup_of_ours_is_refused_and_the_database_left_as_it_is(
    path: Path, target: Path, change: Callable[[Path], None], words: str
) -> None:
    backup.make(_filled(path, 20), target)
    change(target)
    before = path.read_bytes()
    _refused(lambda: backup.verify(target), words)
    _refused(lambda: backup.restore(target, path), words)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == ["helpdesk.db"]


def _refused(work: Callable[[], object], words: str) -> None:
    with pytest.raises(Damaged) as raised:
        work()
    assert words in raised.value.message


def test_a_missing_backup_is_reported(path: Path, target: Path) -> None:
    for work in (lambda: backup.verify(target), lambda: backup.restore(target, path)):
        with pytest.raises(NotFound, match="there is no backup"):
            work()
    assert not path.exists()


def test_a_restore_without_room_leaves_the_database_as_it_is(path: Path, target: Path) -> None:
    backup.make(_filled(path), target)
    before = path.read_bytes()
    ended = _run("restore", target, path, limit=500_000)
    assert (ended.returncode, ended.stdout.split()[0]) == (1, "Full"), ended
    assert path.read_bytes() == before and not list(path.parent.glob("*restor*"))


def test_a_disk_that_knows_no_links_is_served_too(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*names: object) -> None:
        raise PermissionError("links are not known here")

    _filled(path, 10)
    before = digest_of(path)
    monkeypatch.setattr(os, "link", no_links)
    backup.make(path, target)
    restored = backup.restore(target, path)
    assert restored.kept is not None and digest_of(restored.kept) == digest_of(path) == before
    with pytest.raises(HelpdeskError):
        backup.make(path, target)


def test_where_files_in_use_cannot_be_removed_a_copy_holds_none_open(
    path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: leftovers of a killed copy are removed, and a copy in use is reported."""
    monkeypatch.setattr(copying, "IS_WINDOWS", True)
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(b"left by one that was killed")
    opened: list[int] = []

    def progress(done: int, total: int) -> None:
        opened.append(sum(os.readlink(f"/proc/self/fd/{each}") == str(part) for each in os.listdir("/proc/self/fd")
                          if os.path.islink(f"/proc/self/fd/{each}")))  # fmt: skip

    backup.make(_filled(path, 100), target, progress)
    assert set(opened) == {1}  # removed by SQLite itself
    assert backup.verify(target).tables["pump"] == 100 and not part.exists()
    monkeypatch.setattr(Path, "unlink", _in_use_by_another)
    with pytest.raises(Conflict, match="being written by another process"):
        backup.make(path, target.with_name("other.db"))


def _in_use_by_another(self: Path, missing_ok: bool = False) -> None:
    raise PermissionError(13, "in use")
