"""Backups in the console: created, read, uploaded, downloaded, and restored while the service runs and others write."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from playwright.sync_api import expect

from server import clock, settings
from server.store import schema
from server.upkeep import backup_plan
from tests.clients import Clients
from tests.console.browser import Browser, is_sideways, sign_in, violations
from tests.console.conftest import proven
from tests.console.visitor import Visitor, loaded, place, text_of
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.telling import WALK

pytestmark = pytest.mark.sqlite("the file of the database")

BASE, RESTORE = "/admin/backups", "/admin/backups/restore"
PATIENCE = 2000  # loads of a page until a job is done
KEPT_ROWS = ("ticket", "message", "task", "address", "attachment")  # excludes tables of recent activity


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("backups")
    env = {"HELPDESK_BACKUP_FOLDER": str(folder / "kept"), "HELPDESK_BACKUP_KEEP_LAST": "1000"}  # removes none
    started = Server(folder / "data", env=env)
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    return server.set_up()


@pytest.fixture(scope="module")
def visitor(server: Server, nora: Api) -> Visitor:
    found = Visitor(server.url)
    assert found.sign_in().status_code == 303
    return found


@pytest.mark.parametrize(("hours", "told"), [
    (24, "every day at 02:30 UTC"), (6, "every day at 02:30, 08:30, 14:30 and 20:30 UTC"),
    (5, "every 5 hours, counted from 02:30 UTC"), (1, "every hour, counted from 02:30 UTC"),
    (168, "every 7 days at 02:30 UTC"), (36, "every 36 hours, counted from 02:30 UTC"),
])  # fmt: skip
def test_the_times_of_backups_are_shown_in_the_workers_zone(hours: int, told: str, tmp_path: Path) -> None:
    assert (
        backup_plan.schedule_text(settings.load({}, {"HELPDESK_BACKUP_HOURS": str(hours)}, data_folder=tmp_path))
        == told
    )


def test_a_new_service_creates_and_serves_backups_without_configuration(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    api, visitor = server.set_up(), Visitor(server.url)
    visitor.sign_in()
    page = visitor.get(BASE)
    assert "Backups are not set up yet" in text_of(page.text) and "Set up backups" in page.text
    assert place(visitor.send(f"{BASE}/set-up", {}, page=BASE)) == BASE
    name = ""
    for _ in range(PATIENCE):
        found = re.search(rf"{BASE}/(helpdesk-[0-9-]+)\"", visitor.get(BASE).text)
        if found and "valid" in text_of(visitor.get(f"{BASE}/{found[1]}").text):
            name = found[1]
            break
    content = visitor.get(f"{BASE}/{name}/download").content
    assert content[:15] == b"SQLite format 3" and (server.data / "backups" / f"{name}.db").read_bytes() == content
    assert api.search("activity_log", "activity:setting.changed").ok()["total"] == 1
    for text in ("/etc", "../elsewhere", ".", str(tmp_path), "backups/../.."):
        refused = visitor.send("/admin/system/settings/backup_folder", {"backup_folder": text})
        assert refused.status_code == 422 and "inside the data folder" in text_of(refused.text), text
    assert place(visitor.send("/admin/system/settings/backup_hours", {"backup_hours": "6"})).startswith("/admin/system")
    assert "every day at 02:30, 08:30" in text_of(visitor.get(BASE).text)
    assert server.stop() == 0
    server = Server(server.data)
    assert server.stop() == 0 and not (tmp_path / "elsewhere").exists()


def kept(server: Server) -> Path:
    return server.data.parent / "kept"


def names(server: Server) -> set[str]:
    return {each.name for each in kept(server).glob("*.db")}


def made(server: Server, visitor: Visitor) -> str:
    """Creates a backup on the page; returns its name without .db."""
    while not names(server) or "A backup is being created" in visitor.get(BASE).text:
        pass  # a scheduled backup, or one that was running when a backup was restored
    before = names(server)
    assert place(visitor.send(BASE, {})) == BASE
    while "A backup is being created" in visitor.get(BASE).text:
        pass
    (new,) = names(server) - before
    return Path(new).stem


def digest(database: Path, but: str = "no such word") -> dict[str, str]:
    """Returns {table: digest of the rows that people wrote}. but: leaves out rows with this word."""
    connection, found = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE), {}
    for table in KEPT_ROWS:
        rows = connection.execute(f'SELECT * FROM "{table}" ORDER BY 1')
        texts = (json.dumps(row, default=bytes.hex) for row in rows)
        found[table] = hashlib.sha256("\n".join(text for text in texts if but not in text).encode()).hexdigest()
    connection.close()
    return found


@pytest.mark.exhaustive("beside a load")
def test_a_backup_taken_under_load_is_restored_under_load(
    server: Server, nora: Api, visitor: Visitor, tmp_path: Path
) -> None:
    """Clients write while the backup is created, others while it is restored; the service comes back by itself."""
    first = Clients(nora, "first", 30, 8)
    assert first.reached.wait(60)
    name = made(server, visitor)
    first.stop()
    first.join()
    wanted = digest(kept(server) / f"{name}.db")
    second = Clients(nora, "second", 30, 8)
    assert second.reached.wait(60)
    assert place(visitor.send(f"{BASE}/{name}/restore", {"typed": f"{name}.db"}, page=BASE)) == RESTORE
    loaded(visitor, RESTORE, f"The database was restored from {name}.db")
    second.stop()
    second.join()
    assert set(second.refused) <= {503}
    (before,) = server.data.glob("helpdesk.db.before-restore-*[0-9]")
    _holds(before, first, second)
    assert digest(before) != wanted
    assert digest(server.data / "helpdesk.db", "secondx") == wanted  # except writes after it came back
    assert nora.search("task", "title:secondx*").ok()["total"] < len(second.acknowledged["task"])
    [entry] = nora.search("activity_log", "activity:backup.restored").ok()["results"]
    told = entry["params"]["variables"]
    assert (told["actor"], told["file"], told["kept"]) == ("Nora Berg", f"{name}.db", before.name)
    assert nora.create("task", title="goes on").status == 200


def _holds(before: Path, *clients: Clients) -> None:
    """Asserts that the previous database contains all writes that were acknowledged before it was set aside."""
    connection = apsw.Connection(str(before))
    there = {row[0] for row in connection.execute("SELECT title FROM task")}
    connection.close()
    for each in clients:
        mine = list(each.acknowledged["task"].values())
        assert mine and set(mine[: len(mine) // 2]) <= there
    assert set(clients[0].acknowledged["task"].values()) <= there  # all of these had ended before


def test_a_restored_database_equals_the_backup_row_by_row(server: Server, nora: Api, visitor: Visitor) -> None:
    id = nora.create("task", title="as it was").ok()["id"]
    name = made(server, visitor)
    wanted = digest(kept(server) / f"{name}.db")
    nora.update("task", id, title="changed since").ok()
    later = nora.create("task", title="later").ok()["id"]
    assert place(visitor.send(f"{BASE}/{name}/restore", {"typed": f"{name}.db"}, page=BASE)) == RESTORE
    loaded(visitor, RESTORE, f"The database was restored from {name}.db")
    assert digest(server.data / "helpdesk.db") == wanted
    assert nora.record("task", id).ok()["title"] == "as it was" and nora.record("task", later).status == 404


def test_a_restore_requires_the_name_and_a_recent_password(server: Server, nora: Api, visitor: Visitor) -> None:
    (name, *_) = sorted(each.removesuffix(".db") for each in names(server))
    for typed in ("", name, f"{name}.db.part"):
        response = visitor.send(f"{BASE}/{name}/restore", {"typed": typed}, page=BASE)
        assert response.status_code == 422 and f"Type the name of the backup, {name}.db" in response.text
    other = Visitor(server.url)
    assert place(other.get(f"{BASE}/{name}")).startswith("/login")
    assert visitor.send(f"{BASE}/helpdesk-20200101-000000/restore", {"typed": "x"}, page=BASE).status_code == 404
    assert visitor.get(f"{BASE}/helpdesk-20200101-000000").status_code == 404


def test_an_old_password_confirmation_has_to_be_renewed(server: Server, nora: Api, visitor: Visitor) -> None:
    (name, *_) = sorted(each.removesuffix(".db") for each in names(server))

    def gave_it(at: int) -> None:
        desk = Desk(server.data)
        proven(desk, visitor, at)
        desk.close()

    gave_it(0)
    id = nora.create("task", title="made before it was asked").ok()["id"]
    for what, form in (("restore", {"typed": f"{name}.db"}), ("remove", {})):
        response = visitor.send(f"{BASE}/{name}/{what}", form, page=BASE)
        assert response.status_code == 403 and "you have not entered your password for a while" in text_of(
            response.text
        )
    assert place(visitor.get(f"{BASE}/{name}/download")).startswith("/confirm")
    gave_it(clock.now())
    assert nora.record("task", id).status == 200 and f"{name}.db" in names(server)


def _cut(whole: bytes) -> bytes:
    return whole[:-5000]


def _foreign(whole: bytes) -> bytes:
    return whole[:68] + b"\0\0\0\7" + whole[72:]


def _newer(whole: bytes) -> bytes:
    return whole[:60] + (schema.SCHEMA_NUMBER + 1).to_bytes(4, "big") + whole[64:]


REFUSED = [(_cut, "is incomplete: its end is missing"), (_foreign, "another program"), (_newer, "newer version"),
           (lambda whole: b"", "choose"), (lambda whole: b"<script>", "not a backup of this program")]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_a_damaged_backup_is_neither_accepted_nor_restored(
    server: Server, nora: Api, visitor: Visitor, change, words: str
) -> None:
    """Uploaded by a form, and copied into the folder by hand."""
    (name, *_) = sorted(names(server))
    whole = (kept(server) / name).read_bytes()
    token = visitor.token(BASE)
    response = visitor.post(f"{BASE}/send", {"_xsrf": token}, files={"file": ("mine.db", change(whole))})
    assert response.status_code == 422 and words in text_of(response.text).lower(), text_of(response.text)
    assert not list(kept(server).glob("uploaded-*"))
    title = nora.create("task", title=f"unharmed by {words}").ok()["id"]
    hand = kept(server) / "uploaded-20250101-000000.db"
    hand.write_bytes(change(whole) or b"-")
    response = visitor.send(f"{BASE}/{hand.stem}/restore", {"typed": hand.name}, page=BASE)
    assert response.status_code == 422 and nora.record("task", title).status == 200
    hand.unlink()


def test_damage_inside_a_backup_is_reported_and_it_is_not_restored(server: Server, nora: Api, visitor: Visitor) -> None:
    """Its beginning is intact, so that only a full read detects the damage."""
    (name, *_) = sorted(names(server))
    whole = (kept(server) / name).read_bytes()
    hand = kept(server) / "uploaded-20250102-000000.db"
    hand.write_bytes(whole[:8192] + bytes(range(256)) * 16 * 20 + whole[8192 + 4096 * 20 :])
    assert visitor.send(f"{BASE}/{hand.stem}/verify", {}, page=BASE).status_code == 303
    assert "is damaged" in loaded(visitor, f"{BASE}/{hand.stem}", "damaged")
    assert place(visitor.send(f"{BASE}/{hand.stem}/restore", {"typed": hand.name}, page=BASE)) == RESTORE
    assert "is damaged" in loaded(visitor, RESTORE, "Not restored")
    assert nora.create("task", title="goes on").status == 200
    assert visitor.send(f"{BASE}/{hand.stem}/remove", {}, page=BASE).status_code == 303 and not hand.exists()


def test_an_unusable_database_is_rolled_back(server: Server, nora: Api, visitor: Visitor) -> None:
    """It is intact, but cannot be upgraded by the program."""
    (name, *_) = sorted(names(server))
    hand = kept(server) / "uploaded-20250103-000000.db"
    hand.write_bytes((kept(server) / name).read_bytes())
    connection = apsw.Connection(str(hand))
    connection.execute("DROP TABLE job; CREATE VIEW job AS SELECT 1 AS id; DELETE FROM meta WHERE name = 'schema'")
    connection.close()
    id = nora.create("task", title="still mine").ok()["id"]
    assert place(visitor.send(f"{BASE}/{hand.stem}/restore", {"typed": hand.name}, page=BASE)) == RESTORE
    assert "the previous one is back in place" in loaded(visitor, RESTORE, "Not restored")
    assert nora.record("task", id).ok()["title"] == "still mine"
    assert list(server.data.glob("helpdesk.db.not-restored-*"))
    hand.unlink()


@WALK
def test_a_backup_is_downloaded_uploaded_read_and_removed_in_a_browser(
    chromium: Browser, server: Server, nora: Api, visitor: Visitor, tmp_path: Path
) -> None:
    name = made(server, visitor)
    with chromium.page(server.url, (320, 640), refused=r"\b503\b") as page:  # the status while the service restarts
        sign_in(page)
        page.goto(BASE)
        page.get_by_role("link", name=f"{name}.db").click()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download").click()
        waiting.value.save_as(tmp_path / "mine.db")
        assert (tmp_path / "mine.db").read_bytes() == (kept(server) / f"{name}.db").read_bytes()
        assert violations(page) == [] and not is_sideways(page)
        page.goto(BASE)
        page.locator("#file").set_input_files(tmp_path / "mine.db")
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_text("Upload verified and stored as uploaded-")).to_be_visible()
        page.get_by_label("Name of the backup").fill("not this")
        page.get_by_role("button", name="Restore").click()
        expect(page.get_by_role("link", name=re.compile("Type the name of the backup"))).to_be_visible()
        typed = page.locator("h1 code").inner_text()
        page.get_by_label("Name of the backup").fill(typed)
        page.get_by_role("button", name="Restore").click()
        _is_back(page, typed)
        assert violations(page) == [] and not is_sideways(page)
    for each in kept(server).glob("uploaded-*"):
        each.unlink()


def _is_back(page, typed: str) -> None:
    """Waits until the page reloads itself; workers who signed in after the backup must sign in again."""
    expect(
        page.get_by_text(f"The database was restored from {typed}").or_(page.get_by_label("Password"))
    ).to_be_visible(timeout=30_000)
    if page.get_by_label("Password").count():
        sign_in(page)
        page.goto(RESTORE)
    expect(page.get_by_text(f"The database was restored from {typed}")).to_be_visible()
