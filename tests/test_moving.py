"""`helpdesk migrate-database`: from a file into a real PostgreSQL and back, complete or not at all; an interrupted move
resumes."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server import app, clock
from server.__main__ import main
from server.errors import Conflict, Damaged, HelpdeskError
from server.jobs.processes import PROCESS
from server.record_types.registry import load as load_types
from server.record_types.shared import custom_types
from server.records import index_backfill
from server.settings import load, shown_value, without_password
from server.store import lock, moving, schema
from server.store.database import Store
from server.store.moving import Mover
from server.store.postgresql.faults import refusal
from server.store.sqlite import SqliteStore
from server.store.transaction import Transaction
from tests.postgresql import Cluster, folder_for
from tests.records.desk import Desk
from tests.telling import telling

pytestmark = pytest.mark.sqlite("from the one to the other, whatever the tests keep their data in")
Run = Callable[..., tuple[int, str, str]]
PHOTO = bytes(range(256)) * 2000  # large enough for several pieces


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(folder_for("move"))
    try:
        made.make()
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture
def database(cluster: Cluster) -> str:
    """The address of an empty database."""
    name = "moved"
    with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    return cluster.address(name)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HELPDESK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed desk: people, tickets, a custom type, a file, a deleted id, a text with a NUL."""
    made = tmp_path / "data"
    made.mkdir(mode=0o700)
    app.open_service(load({}, {}, data_folder=made)).store.close()
    desk = Desk(made)
    people = desk.people()
    desk.create("custom_record", name="Pump", name_plural="Pumps", uri="pump")
    for number in range(30):
        desk.own("org", name=f"Larch {number}")
    desk.create("pump", by=people["nora"], name="P 1")
    last = desk.own("org", name="Gone")
    desk.delete("org", last)
    desk.store.write(lambda tx: schema.META and tx.put(schema.META, {"name": "odd", "value": "a\0b"}))
    desk.store.write(lambda tx: tx.run(lambda: _org().sql.update({_org().sql.name: "nul \0 here"}).where(
        _org().sql.id == 5)))  # fmt: skip
    from server.store import blobs

    desk.store.write(lambda tx: blobs.keep(tx, PHOTO))
    desk.close()
    return made


def _org() -> Any:
    return load_types().type("org").table


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command; returns its exit code, standard output and standard error."""

    def run_one(data: Path, to: Path | str, *more: str, source: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setenv("HELPDESK_DATABASE", source)
        code = main(["migrate-database", "--data", str(data), "--to", str(to), *more])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run_one


def contents(store: Store) -> dict[str, tuple[int, int]]:
    """{table: number of rows and sum of their digests}, of every table of the program except META, which differs
    between the databases."""
    registry = load_types()
    store.read(lambda tx: custom_types.load(tx, registry))
    tables = [*app.all_tables(registry), *(each.table for each in registry.custom), schema.VERSION, schema.MIGRATION]

    def work(tx: Transaction) -> dict[str, tuple[int, int]]:
        found = {table.name: moving._sum_of_table(tx, table) for table in tables}
        return {name: (each.rows, each.sum) for name, each in found.items() if name != schema.META.name}

    return store.read(work, seconds=600)


def at(where: Path | str) -> dict[str, tuple[int, int]]:
    store = schema.opened(where, read_seconds=600)
    try:
        return contents(store)
    finally:
        store.close()


def test_a_desk_moves_to_postgresql_and_back(folder: Path, database: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run(folder, database)
    assert code == 0, err
    assert "no server may run for about 1 minute" in err and "identical to the source" in out
    assert "1 NUL characters in org, which PostgreSQL keeps none of, are U+FFFD now" in out
    before = at(folder / app.DATABASE)
    there = at(database)
    assert {name for name in before if before[name] != there[name]} == {"org"} and before["org"][0] == there["org"][0]

    os.environ["HELPDESK_DATABASE"] = database
    service = app.open_service(load({}, os.environ, data_folder=tmp_path / "other"))
    try:
        assert app.problems_of(service) == []
        with pytest.raises(Conflict):
            _mover(schema.opened(folder / app.DATABASE), service.store)
        new = service.store.write(lambda tx: tx.insert(_org(), {"name": "New"}))
        assert new == 32  # follows the highest id, 31, which was deleted
        while index_backfill.fill(service, clock.now()):
            pass
        assert service.store.read(lambda tx: tx.find(schema.fulltext.TEXT_FILL)) == []
        from server.store import blobs

        kept = service.store.read(lambda tx: [blobs.read(tx, row[0]) for row in tx.find(blobs.BLOB)])
        assert PHOTO in kept
        now = contents(service.store)
    finally:
        service.store.close()

    back = tmp_path / "back.db"
    code, out, err = run(tmp_path / "other", back, source=database)
    assert code == 0, err
    assert at(back) == now
    assert sorted(path.name for path in tmp_path.glob("back*")) == ["back.db"]
    home = tmp_path / "home"
    home.mkdir()
    back.rename(home / app.DATABASE)
    os.environ["HELPDESK_DATABASE"] = ""
    again = app.open_service(load({}, {}, data_folder=home))
    try:
        assert app.problems_of(again) == []
        assert again.store.write(lambda tx: tx.insert(_org(), {"name": "Newer"})) == new + 1
    finally:
        again.store.close()


def _mover(source: Store, target: Store) -> Mover:
    registry = load_types()
    source.read(lambda tx: custom_types.load(tx, registry))
    custom = [each.table for each in registry.custom]
    return Mover(source, target, app.all_tables(registry), custom, registry.texts(), "a desk")


class Cut(Exception):
    """Stands for a killed process."""


def _moved(source: Path, target: Path | str, cut_at: int = 0) -> tuple[Any, list[str]]:
    """Copies until this many rows have arrived."""
    said: list[str] = []
    one, other = schema.opened(source), schema.opened(target, read_seconds=600)

    def progress(done: int, total: int) -> None:
        if cut_at and done >= cut_at:
            raise Cut

    try:
        return one.read(lambda tx: _mover(one, other).run(tx, progress, said.append), seconds=600), said
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("is_changed", telling({"same": False, "changed": True}, ("same",), "after a change as well"))
@pytest.mark.parametrize("is_file", telling({"server": False, "file": True}, ("file",), "in both directions"))
def test_one_that_is_cut_short_is_no_desk_and_goes_on(
    folder: Path, database: str, tmp_path: Path, *, is_file: bool, is_changed: bool
) -> None:
    source, target = folder / app.DATABASE, tmp_path / "copy.db" if is_file else database
    total = sum(rows for rows, _ in at(source).values())
    with pytest.raises(Cut):
        _moved(source, target, total // 2)
    registry = load_types()
    with pytest.raises(Damaged, match="a begun copy of another database"):
        schema.open_store(target, app.all_tables(registry), registry.texts())
    if is_changed:  # the desk was used in between
        store = SqliteStore(source)
        store.write(lambda tx: tx.run(lambda: schema.META.sql.update({schema.META.sql.value: "x"}).where(
            schema.META.sql.name == "odd")))  # fmt: skip
        store.write(lambda tx: tx.update(load_types().type("address").table, 1, {"email": "other@desk.example"}))
        store.close()
    done, said = _moved(source, target)
    assert done.was_begun and done.was_changed == is_changed
    assert any("starts again" in each for each in said) == is_changed
    there, here = at(target), at(source)
    assert {name for name in here if here[name] != there[name]} == {"org"}  # the text with the NUL
    schema.open_store(target, app.all_tables(registry), registry.texts()).close()


@pytest.mark.exhaustive("copies that were interrupted")
def test_a_copy_that_somebody_wrote_into_is_not_taken(folder: Path, database: str) -> None:
    source = folder / app.DATABASE
    with pytest.raises(Cut):
        _moved(source, database, sum(rows for rows, _ in at(source).values()))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE org SET name = 'theirs' WHERE id = 3")
    with pytest.raises(Damaged, match=r"org differs: .* with other contents"):
        _moved(source, database)
    with pytest.raises(Damaged, match="a begun copy"):
        schema.open_store(database, app.all_tables(load_types()), [])


def test_refused(folder: Path, database: str, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no database in" in run(empty, database)[2]
    assert "from one file to another there is `helpdesk backup`" in run(folder, tmp_path / "copy.db")[2]
    assert "must be like postgresql://" in run(folder, "postgresql://u:p@ss@h/d")[2]
    held = lock.FolderLock(folder)
    held.take()
    try:
        assert "is used by a running server" in run(folder, database)[2]
        code, out, _ = run(folder, database, "--estimate")
        assert code == 0 and "rows in" in out
    finally:
        held.release()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE theirs (id int)")
    assert "there are tables in" in run(folder, database)[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP TABLE theirs")

    assert run(folder, database)[0] == 0
    assert "there are tables in" in run(folder, database)[2]
    there = tmp_path / "there.db"
    there.touch()
    assert "already exists" in run(empty, there, source=database)[2]
    assert "is a folder" in run(empty, tmp_path, source=database)[2]
    assert "there is no folder" in run(empty, tmp_path / "no" / "x.db", source=database)[2]
    store = schema.opened(database)
    try:
        running = {"name": "a", "host": "vm1", "pid": 7, "role": "all", "seen_at": clock.now()}
        store.write(lambda tx: tx.insert(PROCESS, running))
        assert "is used by process 7 on vm1; stop it first" in run(empty, tmp_path / "y.db", source=database)[2]
    finally:
        store.close()


def test_commands_know_that_the_database_is_a_server(
    folder: Path, database: str, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run(folder, database)
    monkeypatch.setenv("HELPDESK_DATABASE", database)
    monkeypatch.setenv("HELPDESK_PORT", "0")
    other = tmp_path / "other"
    other.mkdir(mode=0o700)

    def said(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main([*arguments, "--data", str(other)])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    code, out = said("check")
    assert (code, out) == (0, "the database is intact\n")
    code, out = said("doctor")
    assert code == 0, out
    assert "UTF8, citext" in out and "connections; 0 replicas" in out
    assert "they are made in PostgreSQL, not here" in out
    for command in (("backup", str(tmp_path / "x.db")), ("restore", str(folder / app.DATABASE))):
        code, out = said(*command)
        assert code == 1 and "pg_dump and pg_restore" in out and "helpdesk export" in out
    template = tmp_path / "text"
    template.write_text("{{ 1 + 1 }}")
    before = at(database)
    assert said("script", str(template)) == (0, "2")  # uses that database
    assert main(["script", str(template)]) == 0  # uses a temporary database and ignores the variable
    assert at(database) == before


def test_a_password_is_shown_nowhere() -> None:
    address = "postgresql://desk:s3cret@db.example:5432/desk?sslmode=require&sslpassword=s3cret"
    settings = load({}, {"HELPDESK_DATABASE": address})
    assert "s3cret" not in repr(settings) + without_password(address) + shown_value("database", settings.database)
    assert without_password("postgresql://desk@db.example/desk") == "postgresql://desk@db.example/desk"
    for wrong in (
        "postgresql://u:s3@cret@h/d",
        "postgresql://u:s3/cret@h/d",
        "u:s3cret@h",
        "postgresql://u:s3?cret@h/",
    ):
        with pytest.raises(HelpdeskError) as told:
            load({}, {"HELPDESK_DATABASE": wrong})
        assert "cret" not in told.value.message and "%40" in told.value.message
    settings = load({}, {"HELPDESK_DATABASE": "postgresql://u:p%40@h1:5432,h2:5433/d?target_session_attrs=read-write"})
    assert settings.database.endswith("read-write")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('FATAL:  password authentication failed for user "u"', "correct user or password"),
        ("fe_sendauth: no password supplied", "PGPASSWORD"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "u"', "pg_hba.conf"),
        ('FATAL:  database "desk" does not exist', "createdb"),
        ('FATAL:  role "desk" does not exist', "createuser"),
        ("server does not support SSL, but SSL was required", "sslmode"),
        ("FATAL:  the database system is starting up", "cannot be reached"),
        ("connection refused", "cannot be reached"),
    ],
)
def test_connection_errors_are_reported_with_a_remedy(said: str, told: str) -> None:
    assert told in str(refusal(psycopg.OperationalError(f"connection failed:\n{said}"), "postgresql://h/d"))


def test_without_the_driver_the_message_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "server.store.postgresql.store", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "server.store.postgresql.faults", raising=False)
    monkeypatch.delitem(sys.modules, "server.store.postgresql.connection", raising=False)
    with pytest.raises(Damaged, match=r"pip install 'psycopg\[binary\]'"):
        schema.opened("postgresql://h/d")
