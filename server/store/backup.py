"""Backups: copies of the database that are checked, and put back in its place. Which are made when, and which are kept,
is decided in upkeep/backups.py."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from server import clock
from server.dataclass import dataclass
from server.errors import Damaged, NotFound, Unavailable
from server.store.checkpoints import BUSY_TIMEOUT_MS
from server.store.copying import PART, Progress, copy_database, sync
from server.store.dialect import add_functions
from server.store.schema import PROGRAM, kind_of_file
from server.store.sqlite import damage_of, dangling_of
from server.store.sqlite_schema import SCHEMA_NUMBER

Told = Callable[[str], None]
LOGS = ("-wal", "-journal")  # beside a database that is in use, or was when its computer stopped
SHOWN_PROBLEMS = 3
STEPS = ("reading the structure", "following the references", "counting the rows")  # of looking whether one is sound
REFUSED = {
    "damaged": "{0} is no backup of this program, or its beginning is damaged; choose another one",
    "foreign": "{0} is a database of another program; choose a backup that `helpdesk backup` made",
    "newer": "{0} was made by a newer version of this program; restore it with that version",
    "short": "{0} is cut short: its end is missing. Copy it again from where it was kept, or choose another one",
}


@dataclass(frozen=True)
class Contents:
    """What a sound backup holds. bytes: its size. tables: {name: how many rows}. schema: its number. program: the
    version that had it open last, "" for one that did not note it."""

    bytes: int
    tables: dict[str, int]
    schema: int = SCHEMA_NUMBER
    program: str = ""


@dataclass(frozen=True)
class RestoreResult:
    """kept: the database that was there before, None when there was none. problem: why that one was put aside with its
    log as it stood; "" when it was whole."""

    contents: Contents
    kept: Path | None
    problem: str = ""


def make(database: Path, target: Path, progress: Progress | None = None) -> int:
    """Copy the database, which may be in use, to `target`; answers its size in bytes. Raises Conflict when there is
    such a file, Full, Unavailable."""
    copy_database(database, target, progress)
    return target.stat().st_size


def require_backup(file: Path) -> None:
    """Look at the outside of a file. Raises NotFound, Damaged for one that is foreign, newer, cut short or in use."""
    if not file.is_file():
        raise NotFound(f"there is no backup {file}; check the name")
    kind = kind_of_file(file)
    if kind != "ours":
        raise Damaged(REFUSED[kind].format(file))
    for ending in LOGS:
        log = file.with_name(file.name + ending)
        if log.exists() and log.stat().st_size:
            raise Damaged(
                f"{file} is a database in use and no backup: {log.name} beside it holds a part of it. Make a backup of "
                "it with `helpdesk backup`"
            )


def verify(file: Path, told: Told = lambda what: None) -> Contents:
    """Read all of a backup: SQLite's checks of its structure, and the count of its rows. Changes nothing.

    told: hears of each of the STEPS, such as "step 1 of 3: reading the structure". Raises NotFound, Damaged."""
    require_backup(file)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{file.absolute().as_uri()}?immutable=1", flags=flags)) as connection:
            return _contents(connection, file, told)
    except apsw.Error as error:
        raise Damaged(f"{file} is damaged: {error}; choose another backup") from error


def _contents(connection: apsw.Connection, file: Path, told: Told) -> Contents:
    def step(number: int) -> None:
        told(f"step {number} of {len(STEPS)}: {STEPS[number - 1]}")

    add_functions(connection)
    step(1)
    problems = damage_of(connection)
    step(2)
    problems += dangling_of(connection)
    if problems:
        more = f" and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise Damaged(f"{file} is damaged: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}. Choose another backup")
    number = connection.pragma("user_version")
    if number > SCHEMA_NUMBER:
        raise Damaged(REFUSED["newer"].format(file))
    step(3)
    listed = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY name"
    ).fetchall()
    tables = {str(row[0]): int(connection.execute(f'SELECT count(*) FROM "{row[0]}"').get) for row in listed}
    program = connection.execute(f"SELECT value FROM meta WHERE name = '{PROGRAM}'").get if "meta" in tables else ""
    return Contents(file.stat().st_size, tables, number, str(program or ""))


def restore(
    file: Path, database: Path, progress: Progress | None = None, told: Told = lambda what: None
) -> RestoreResult:
    """Put a backup in the place of the database; who calls holds the lock of its folder.

    A process that is killed on the way leaves the one or the other, whole. Raises what prepare and put_in_place do."""
    contents = prepare(file, database, progress, told, told)
    told("putting it in place")
    kept, problem = put_in_place(database)
    return RestoreResult(contents, kept, problem)


def prepare(
    file: Path,
    database: Path,
    progress: Progress | None = None,
    told: Told = lambda what: None,
    steps: Told = lambda what: None,
) -> Contents:
    """Copy a backup beside the database and check the copy; the database itself, which may be in use, is left alone.

    told: hears what is being done. steps: hears how far the check is, as in verify. Raises NotFound, Damaged for a file
    that is refused, Full, Unavailable."""
    require_backup(file)
    part = _prepared(database)
    remove_unfinished(database)
    told("copying")
    copy_database(file, part, progress, at_rest=True)
    try:
        told("checking")
        return verify(part, steps)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def put_in_place(database: Path) -> tuple[Path | None, str]:
    """Put what was prepared in the place of the database, which nobody may have open. The one that is there is kept
    under another name: answers it, None when there was none, and why it was put aside with its log, as in
    RestoreResult. Raises Unavailable when it is in use, or cannot be put aside; then it is where it was."""
    part = _prepared(database)
    try:
        problem = _fold_log(database)
        kept = _keep(database, "before-restore")
        part.replace(database)
        sync(database.parent)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Unavailable(f"{database} cannot be replaced ({error.strerror}); it is as it was") from error
        raise
    return kept, problem


def put_back(database: Path, kept: Path) -> Path:
    """Take a restore back: the database that was kept has its place again; answers where the restored one is now.
    Nobody may have it open. A process that is killed on the way leaves the one or the other. Raises Unavailable."""
    try:
        aside = _keep(database, "not-restored")
        kept.replace(database)
        for ending in LOGS:
            if kept.with_name(kept.name + ending).exists():
                kept.with_name(kept.name + ending).replace(database.with_name(database.name + ending))
        sync(database.parent)
    except OSError as error:
        raise Unavailable(f"{kept} cannot be put back as {database} ({error.strerror}); do it by hand") from error
    assert aside is not None
    return aside


def _prepared(database: Path) -> Path:
    return database.with_name(f"{database.name}.restoring")


def remove_unfinished(database: Path) -> None:
    """Remove what a restore that was killed has left beside the database."""
    for ending in (".restoring", f".restoring{PART}", f".restoring{PART}-journal"):
        database.with_name(database.name + ending).unlink(missing_ok=True)


def _fold_log(database: Path) -> str:
    """Fold the write-ahead log into the file, so that the file alone is all of it; answers what was in the way of that,
    "" for nothing. A log that stayed would be taken for that of the backup. Raises Unavailable when the database is in
    use."""
    if not database.exists():
        return ""
    if kind_of_file(database) == "damaged":  # SQLite would remove a log that it cannot tell whose it is
        return "its beginning is damaged"
    try:
        with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if connection.pragma("journal_mode", "DELETE") == "delete":
                return ""
    except (apsw.BusyError, apsw.LockedError):
        pass
    except apsw.Error as error:
        return str(error)
    raise Unavailable(f"{database} is used by another command; wait for its end, then try again")


def _keep(database: Path, word: str) -> Path | None:
    """Give the database, and logs that could not be folded in, a second name with this word; answers it. The logs lose
    their own."""
    if not database.exists():
        return None
    kept = _free_name(database.with_name(f"{database.name}.{word}-{clock.now()}"))
    beside = [each for each in (*LOGS, "-shm") if database.with_name(database.name + each).exists()]
    for ending in ("", *beside):
        _second_name(database.with_name(database.name + ending), kept.with_name(kept.name + ending))
    sync(database.parent)
    for ending in beside:
        database.with_name(database.name + ending).unlink()
    return kept


def _free_name(wanted: Path) -> Path:
    found, count = wanted, 1
    while found.exists():
        count += 1
        found = wanted.with_name(f"{wanted.name}-{count}")
    return found


def _second_name(file: Path, name: Path) -> None:
    with contextlib.suppress(OSError):  # a file system without links
        os.link(file, name)
        return
    handle, part = tempfile.mkstemp(dir=name.parent, prefix=name.name, suffix=PART)
    os.close(handle)
    shutil.copyfile(file, part)
    sync(Path(part))
    os.replace(part, name)
