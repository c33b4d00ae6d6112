"""Old databases open, lose nothing, and end with the same tables as a new one.

tests/data/DATE.db.xz are databases of the program of that day, TAG.db.xz that of a release; each has the same few
records. old_database.py creates further ones, with a record of every type and more."""

import lzma
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from server import app, clock
from server.access import totp
from server.jobs.scheduler import Scheduler
from server.markup.slugs import make_slug
from server.settings import load
from server.tickets.types.ticket_parts.status import OPEN, WAITING
from tests.api.minimal import MINIMAL
from tests.console.visitor import Visitor, place
from tests.old_database import SECOND_FACTOR_OF
from tests.service import BARE, Api, Server, command
from tests.telling import telling

DATA = Path(__file__).parent / "data"
OLD = sorted(DATA.glob("*.db.xz"))
EACH_OLD = {path.name.partition(".")[0]: path for path in OLD}
BY_AGE = telling(EACH_OLD, (min(EACH_OLD), max(EACH_OLD)), "every old database")
WITH_VALUES = {name: path for name, path in EACH_OLD.items() if name < "20261124"}  # before values were split by kind
PATIENCE = 20_000  # scans until the index has the words of all records
SOON_SECONDS = 600  # a code of a second factor is accepted once
YEAR_SECONDS = 365 * 86400
# Since the newest of these databases was left.
ADDED_TYPES = {"brand", "contact_form", "project_board", "project_board_column", "tag", "ticket_status"}
OWN_TYPES = "custom_record_"  # the prefix of tables of custom types
Shape = dict[str, set[str]]


def _unpacked(old: Path, data: Path) -> None:
    """Creates a data folder with an old database."""
    data.mkdir(mode=0o700)
    (data / "helpdesk.db").write_bytes(lzma.decompress(old.read_bytes()))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Shape:
    """The schema of a new database."""
    folder = tmp_path_factory.mktemp("fresh")
    app.open_service(load({}, BARE, data_folder=folder)).store.close()
    return _shape(folder)


def _shape(data: Path) -> Shape:
    """{table: its columns}, and under "" the text of every index and trigger."""
    connection = apsw.Connection(str(data / "helpdesk.db"))
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')} for name in names}
    texts = connection.execute("SELECT sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL")
    found[""] = {row[0] for row in texts}
    connection.close()
    return found


def _rows(data: Path) -> dict[str, int]:
    connection = apsw.Connection(str(data / "helpdesk.db"))
    tables = ("ticket", "message", "address", "org", "task", "comment", "attachment", "worker", "custom_field")
    found = {name: connection.execute(f'SELECT count(*) FROM "{name}"').get for name in tables}
    connection.close()
    return found


def test_there_are_old_databases_and_one_of_every_release() -> None:
    assert len(OLD) >= 3
    asked = subprocess.run(["git", "tag", "--list", "v*"], cwd=DATA.parent, capture_output=True, text=True)
    lacking = set(asked.stdout.split()) - {each.name.removesuffix(".db.xz") for each in OLD}
    assert lacking == set(), "a release leaves its database in tests/data, named after its tag"


def test_no_table_and_no_column_that_ever_was_is_gone(fresh: Shape, tmp_path: Path) -> None:
    """A removed or renamed table or column loses its data: a migration must move it, and be listed here."""
    moved = {("custom_value", "value")}  # moved to number and text by 20261124_1000_custom_values
    gone: set[tuple[str, str]] = set()
    for old in OLD:
        _unpacked(old, tmp_path / old.name)
        for name, columns in _shape(tmp_path / old.name).items():
            if name and not name.startswith(OWN_TYPES):
                gone |= {(name, each) for each in columns - fresh.get(name, set())}
    assert gone == moved


@pytest.mark.parametrize("old", telling(WITH_VALUES, (max(WITH_VALUES),), "every old database"))
def test_values_of_custom_fields_stand_where_their_kind_says(old: Path, data: Path) -> None:
    _unpacked(old, data)
    added = [(1, 7, 0, 2**63 - 1), (1, 8, 0, -1), (2, 7, 0, "Blue"), (2, 7, 1, "12"), (2, 8, 0, ""), (3, 7, 0, 1.0)]
    connection = apsw.Connection(str(data / "helpdesk.db"))
    connection.execute("DELETE FROM custom_value WHERE field_id < 4")
    connection.executemany("INSERT INTO custom_value (field_id, record_id, place, value) VALUES (?, ?, ?, ?)", added)
    before = connection.execute("SELECT field_id, record_id, place, value FROM custom_value").fetchall()
    connection.close()
    app.open_service(load({}, BARE, data_folder=data)).store.close()
    connection = apsw.Connection(str(data / "helpdesk.db"))
    after = connection.execute("SELECT field_id, record_id, place, number, text FROM custom_value").fetchall()
    plan = connection.execute(
        "EXPLAIN QUERY PLAN SELECT record_id FROM custom_value AS t1 "
        "WHERE t1.field_id = ? AND t1.text = ? AND length(t1.text) <= 255", (2, "blue"),
    ).fetchall()  # fmt: skip
    connection.close()
    split = [(*row[:3], *((None, row[3]) if isinstance(row[3], str) else (int(row[3]), None))) for row in before]
    assert sorted(after, key=str) == sorted(split, key=str) and len(after) >= len(added)
    assert "custom_value_by_field_id_text (field_id=? AND text=?)" in plan[0][3]


@pytest.mark.parametrize("old", BY_AGE)
def test_an_old_database_ends_as_a_new_one_is_made(old: Path, data: Path, fresh: Shape) -> None:
    _unpacked(old, data)
    before = _rows(data)
    for _ in range(2):
        app.open_service(load({}, BARE, data_folder=data)).store.close()
    shape = _shape(data)
    lacking = {name: columns - shape.get(name, set()) for name, columns in fresh.items()}
    assert {name: columns for name, columns in lacking.items() if columns} == {}
    assert before.items() <= _rows(data).items() and before["ticket"] >= 1 and before["message"] >= 2
    assert app.check(load({}, BARE, data_folder=data)) == []


def test_a_backup_of_an_older_program_is_restored(data: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup.write_bytes(lzma.decompress(OLD[0].read_bytes()))
    assert command("restore", str(backup), data=data).returncode == 0
    assert command("check", data=data).stdout == b"the database is intact\n"
    connection = apsw.Connection(str(data / "helpdesk.db"))
    assert connection.execute("SELECT number, text FROM custom_value").fetchall() == [(None, "LZ 127")]
    connection.close()


@pytest.mark.parametrize("old", [OLD[0], OLD[-1]], ids=["oldest", "newest"])
def test_the_oldest_and_the_newest_are_served(old: Path, data: Path) -> None:
    """The clock stands soon after its last use: nothing has become due since."""
    _unpacked(old, data)
    off = _left_at(data) + SOON_SECONDS - clock.now()
    server = Server(data, seconds_off=off)
    made = command(
        "token", "create", "--worker", "nora@desk.example", "--expires", "1 day", data=data,
        env={"HELPDESK_CLOCK_OFFSET_SECONDS": str(off)},
    )  # fmt: skip
    api = Api(server.url, made.stdout.decode().strip())
    _has_what_was_put_in(api)
    api.update("ticket", 1, tags="zeppelin").ok()  # a type that these databases lack
    assert api.found("ticket", "tag:zeppelin") == [1]
    if old == OLD[-1]:
        _has_all_types(api)
        assert api.record("kb_article", 1).ok()["slug"] == make_slug(api.record("kb_article", 1).ok()["title"])
        _lets_in_by_second_factor(data, server, off)
    assert api.reply(message_id=1, content="Goes on.", dont_send=1).ok()["num_messages"] == 3
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


@pytest.mark.parametrize("old", BY_AGE)
def test_what_fell_due_while_it_was_left_is_done(old: Path, data: Path) -> None:
    """A year later every scan runs without an error, and the ticket has reopened if it had a date."""
    _unpacked(old, data)
    dated, later = _reopens_at(data) > 0, _left_at(data) + YEAR_SECONDS
    service = app.open_service(load({}, BARE, data_folder=data))
    with ThreadPoolExecutor(1) as pool:
        scheduler = Scheduler(service, pool)
        scheduler.run_due(later)
    service.store.close()
    assert {name: run.error for name, run in scheduler.scanned.items() if run.error} == {}
    assert _status(data) == (OPEN if dated else WAITING) and _reopens_at(data) == 0
    assert app.check(load({}, BARE, data_folder=data)) == []


def _left_at(data: Path) -> int:
    """The last change of its ticket, one of the last events in the database."""
    return _of_the_ticket(data, "updated")


def _reopens_at(data: Path) -> int:
    return _of_the_ticket(data, "reopen_date")


def _status(data: Path) -> int:
    return _of_the_ticket(data, "status_id")


def _of_the_ticket(data: Path, column: str) -> int:
    connection = apsw.Connection(str(data / "helpdesk.db"))
    found = connection.execute(f"SELECT {column} FROM ticket WHERE id = 1").get
    connection.close()
    assert isinstance(found, int)
    return found


def _has_all_types(api: Api) -> None:
    """Checks that a record of every type can be found and shown."""
    shown = 0
    for uri in MINIMAL.keys() - ADDED_TYPES:
        reply = api.search(uri, "", limit=1)
        if reply.status != 405:
            (found,) = reply.ok()["results"]
            assert api.record(uri, found["id"]).ok()["id"] == found["id"], uri
            shown += 1
    assert shown > len(MINIMAL.keys() - ADDED_TYPES) * 0.9


def _lets_in_by_second_factor(data: Path, server: Server, off: int) -> None:
    connection = apsw.Connection(str(data / "helpdesk.db"))
    key = connection.execute("SELECT secret FROM worker_second_factor").get
    connection.close()
    visitor = Visitor(server.url)
    assert place(visitor.sign_in(SECOND_FACTOR_OF)).startswith("/login/code?") and not visitor.is_in
    step = (clock.now() + off) // totp.STEP_SECONDS
    assert place(visitor.send("/login/code", {"code": totp.code(key, step)})) == "/inbox" and visitor.is_in


def _has_what_was_put_in(api: Api) -> None:
    for _ in range(PATIENCE):
        if "notes" not in api.search("ticket", "zeppelin").ok().json:
            break
    else:
        pytest.fail("the index is never filled")
    for words in ("leaking", "leaking larch", "leaking larch.example", "leaking zeppelin"):
        assert api.search("ticket", words).ok()["total"] == 1, words  # the subject, once the index is filled
    (ticket,) = api.search("ticket", "zeppelin", expand="custom_,requesters,latest_message_content").ok()["results"]
    assert ticket["subject"] == "Leaking zeppelin" and ticket["status"] == "waiting" and ticket["num_messages"] == 2
    assert "LZ 127" in _values(ticket) and "ana@larch.example" in str(ticket["requesters"])
    assert "Grüße" in api.record("message", 1, expand="content").ok()["content"]
    (task,) = api.search("task", "links.org:(name:Larch*)").ok()["results"]
    assert task["title"] == "Order gas"
    (comment,) = api.search("comment", "on.ticket:(id:1)").ok()["results"]
    assert comment["comment"] == "Wrote to the works."
    (file,) = api.search("attachment", "name:hull.txt").ok()["results"]
    assert api.get(f"/rest/attachments/{file['id']}/download.json").content == b"aluminium"
    assert api.search("worker", "").ok()["total"] >= 4


def _values(record: dict[str, Any]) -> list[Any]:
    return [value for name, value in record.items() if name.startswith("custom_")]
