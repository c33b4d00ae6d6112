"""The service itself in the console: health, check-up, settings with their sources, audit log, backups."""

import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tornado.httputil import HTTPHeaders, RequestStartLine

from console.site import Console
from server import clock, settings
from server.access import sessions
from server.errors import AdminOnly
from server.jobs.job_queue import JOB
from server.store.backup import verify
from server.upkeep import backups, checkup, database_check, health, scheduled_jobs
from server.upkeep.health import Health
from server.web.site import Request
from tests import databases
from tests.console.browser import Browser, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import MOST_LOADS, Visitor, loaded, place, text_of
from tests.following import Following
from tests.records.desk import Desk
from tests.service import Api, Server

BASE, CHECKUP, SETTINGS, AUDIT, LOG, BACKUPS = (
    "/admin/system", "/admin/system/checkup", "/admin/system/settings", "/admin/system/audit", "/admin/system/log",
    "/admin/backups",
)  # fmt: skip


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Nora at a service that creates backups, with settings from all sources."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "data").mkdir()
    (folder / "data" / "helpdesk.toml").write_text('backup_keep_last = 4\nsubject_prefix = "<b>Desk</b>"\n')
    environment = {"HELPDESK_BACKUP_FOLDER": str(folder / "backups"), "HELPDESK_BACKUP_AT": "00:00"}
    started = Server(folder / "data", env=environment)
    started.set_up()
    visitor = Visitor(started.url)
    assert visitor.sign_in().status_code == 303
    yield visitor
    assert started.stop() == 0


def test_all_is_well_and_the_report_names_no_one(signed_in: Visitor, nora: Api, server: Server) -> None:
    page = signed_in.get(BASE).text
    assert "warning" in page and "Uptime" in page and settings.VERSION in page
    report = html.unescape(re.findall(r'aria-label="report"><code>(.*?)</code>', page, re.DOTALL)[0])
    assert "database_writable: ok" in report and f"Version: {settings.VERSION}" in report
    for secret in ("@", "nora", "Nora", "/", HOSTILE, nora.token):
        assert secret not in report, secret


def test_each_failed_check_says_so_and_what_to_do(desk: Desk, nora: Api) -> None:
    """Shown by the console of another service on the same database, whose health check reports that everything
    fails."""
    failing = {each.name: False for each in fields(Health) if each.type is bool}
    assert set(failing) == {*checkup.VITAL, "disk_has_room"}
    health.watch(desk.service, lambda seconds: Health(**failing, free_bytes=0), lambda: 0)
    page = opened(desk, nora.ids["nora"], BASE).lower()
    vital = checkup.VITAL | (checkup.VITAL_OF_SERVER if databases.is_postgresql() else {})
    for part, text, advice in vital.values():
        assert f"{part} ✕ problem {text} {advice}".lower() in page, text
    for name in failing:
        assert f"{name}: failing" in page
    health.WATCH.clear(desk.service.store)


def opened(desk: Desk, worker_id: int, path: str, **headers: str) -> str:
    """Returns the text of a page as the console in this process shows it to a worker."""
    lifetime = sessions.Lifetime(3600, 3600)
    now = clock.now()
    id = desk.store.write(lambda tx: sessions.create(tx, worker_id, now, lifetime, "a test", "127.0.0.1"))
    sent = HTTPHeaders({"Host": "desk.example", "Cookie": f"__Host-sid={id}", **headers})
    request = Request(RequestStartLine("GET", path, "HTTP/1.1"), sent, "10.9.8.7", "10.9.8.7")
    console = Console(desk.service)
    request.found = console.resolve(request)
    response = console.respond(request, None)
    assert response.status == 200, response.headers
    return " ".join(text_of(response.body.decode()).split())


def test_the_checkup_verifies_the_path_of_the_request(desk: Desk, nora: Api) -> None:
    assert "You opened this page at desk.example, and links lead there" in opened(desk, nora.ids["nora"], CHECKUP)
    other = opened(desk, nora.ids["nora"], CHECKUP, Host="10.1.1.1:8200")
    assert (
        "You opened this page at 10.1.1.1:8200, but links lead to https://desk.example" in other
        and "Set base_url" in other
    )
    passed_on = opened(desk, nora.ids["nora"], CHECKUP, **{"X-Forwarded-For": "192.0.2.7"})
    assert "10.9.8.7 forwards requests of others and is not trusted" in passed_on
    assert "Set trusted_proxies to its address" in passed_on


def test_the_log_is_filtered_and_followed(signed_in: Visitor, server: Server) -> None:
    signed_in.get("/rest/records/ticket/search.json?q=x")
    shown = text_of(signed_in.get(f"{LOG}?q=path%3D/rest/records/ticket/search.json").text)
    assert "status=401" in shown and "warning and above" in shown
    assert "status=401" not in text_of(signed_in.get(f"{LOG}?level=warning").text)
    empty = signed_in.get(f"{LOG}?q={HOSTILE}")
    assert "No line matches." in empty.text and "<script>alert" not in empty.text
    assert signed_in.get(f"{LOG}?level=loud").status_code == 422
    assert "Refresh" not in signed_in.get(f"{LOG}?live=1").headers
    assert signed_in.cookies["sid"] not in signed_in.get(LOG).text


def test_a_stream_has_new_matching_lines_and_none_about_itself(signed_in: Visitor, visitor: Visitor) -> None:
    signed_in.get("/rest/nothing-like-this-1.json")
    latest = f"{LOG}/latest"
    before = signed_in.get(latest, params={"q": "nothing-like-this"}).json()["id"]
    assert before > 0 and signed_in.get(latest, params={"q": "nothing-like-this"}).json()["id"] == before
    assert signed_in.get(latest, params={"q": "system/log"}).json()["id"] == 0
    assert signed_in.get(latest, params={"level": "loud"}).status_code == 422
    client = Api(signed_in.url, "", is_checked=False)
    client.session = signed_in.session
    with Following(client, latest, q="nothing-like-this", since=before) as stream:
        signed_in.get("/rest/records/task/search.json")
        signed_in.get("/rest/nothing-like-this-2.json")
        told = stream.next()
        assert told.data == {"id": int(told.id)} and int(told.id) > before
    assert signed_in.get(latest, params={"q": "nothing-like-this"}).json()["id"] == int(told.id)
    visitor.sign_in("milo@desk.example")
    assert visitor.get(latest).status_code == 403


@pytest.mark.exhaustive("live parts of pages are tested in test_live.py")
def test_lines_appear_while_the_log_is_open(page: Page, signed_in: Visitor) -> None:
    page.goto(f"{LOG}?q=seen-while-looking&live=1")
    expect(page.locator("[data-live-told]")).to_have_text("Live.")
    expect(page.locator("#lines")).to_contain_text("No line matches.")
    signed_in.get("/rest/seen-while-looking.json")
    expect(page.locator("#lines table")).to_contain_text("seen-while-looking.json")


@pytest.mark.sqlite("the file of the database")
def test_the_whole_database_is_read_on_request(signed_in: Visitor, desk: Desk) -> None:
    assert place(signed_in.send(f"{BASE}/database", {}, page=BASE)) == BASE
    assert loaded(signed_in, BASE, "valid Checked just now in")


@pytest.mark.sqlite("the file of the database")
def test_damage_is_reported(desk: Desk, signed_in: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.store, "check", lambda: [f"row 7 missing from index {HOSTILE}"] * 30)
    database_check._look(desk.service, {}, 1_700_000_000)
    page = signed_in.get(BASE).text
    assert "damaged" in page and "row 7 missing" in page and "<script>alert" not in page
    assert page.count("row 7 missing") == database_check.MAX_PROBLEMS + 1  # the verdict shows the first one too
    monkeypatch.undo()
    database_check._look(desk.service, {}, 1_700_000_000)
    assert "damaged" not in signed_in.get(BASE).text


def test_the_checkup_says_what_to_do(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("mail_transport", name=HOSTILE, extension_id="core.mail.transport.smtp",
                     params={"host": "127.0.0.1", "port": "9"}).ok()["id"]  # fmt: skip
    page = signed_in.get(CHECKUP).text
    assert "<script>alert" not in page and "no mail server at 127.0.0.1" in text_of(page)
    assert ("Set them up under Backups" in text_of(page)) != databases.is_postgresql()
    nora.remove("mail_transport", id).ok()


def test_every_setting_is_listed_with_its_source(other: Visitor) -> None:
    page = other.get(SETTINGS).text
    rows = {
        name: " ".join(text_of(row).split())
        for name, row in re.findall(r'<tr><td data-label="Setting"><code>(\w+)</code></td>(.*?)</tr>', page, re.DOTALL)
    }
    assert list(rows) == [each.name for each in settings.SETTINGS]
    assert re.match(r"[1-9][0-9]+ port command line default: 8200", rows["port"])
    assert rows["backup_at"].startswith("00:00 HELPDESK_BACKUP_AT default: 02:30")
    assert rows["backup_keep_last"].startswith("4 backups helpdesk.toml default: 3")
    assert rows["subject_prefix"].startswith("<b>Desk</b> helpdesk.toml default: empty")
    assert rows["read_seconds"].startswith("5 seconds default Time a read")
    assert rows["metrics_allow"].startswith("127.0.0.0/8, ::1 default")
    assert "<b>Desk" not in page
    found = other.get(f"{SETTINGS}?q=backup_keep")
    assert re.findall(r'data-label="Setting"><code>(\w+)', found.text) == [
        f"backup_keep_{each}" for each in ("last", "days", "weeks", "months")
    ]
    assert "No setting matches" in other.get(f"{SETTINGS}?q={HOSTILE}").text


def test_the_audit_log_is_searched_like_the_api(signed_in: Visitor, nora: Api) -> None:
    made = nora.create("org", name=HOSTILE).ok()["id"]
    nora.remove("org", made).ok()
    page = signed_in.get(f"{AUDIT}?q=activity%3Arecord.deleted").text
    assert HOSTILE in text_of(page).replace("  ", " ") or "alert(1)" in text_of(page)
    assert "<script>alert" not in page and "Nora Berg" in page
    total = nora.search("activity_log", "activity:record.deleted").ok()["total"]
    assert f"of {total}<" in page
    empty = signed_in.get(f"{AUDIT}?q=activity%3Anothing.like.it")
    assert "No matches." in empty.text and "Clear the filter" in empty.text
    assert signed_in.get(f"{AUDIT}?q=colour%3Ared").status_code == 422


def test_the_newest_entry_comes_first_even_within_one_second(signed_in: Visitor, nora: Api) -> None:
    role = nora.create("role", name="Keepers").ok()["id"]
    for name in ("Porters", "Drivers"):
        nora.update("role", role, name=name).ok()
    shown = text_of(signed_in.get(f"{AUDIT}?q=administrative:yes%20activity:role.changed").text)
    assert 0 < shown.index("the role Drivers: name") < shown.index("the role Porters: name")


@pytest.mark.sqlite("the file of the database")
def test_a_backup_created_by_hand_is_intact(other: Visitor) -> None:
    loaded(other, BACKUPS, "helpdesk-")  # the scheduled one
    before = other.get(BACKUPS).text.count('data-label="File"')
    folder = Path(re.findall(r"<dt>Folder</dt><dd><code>(.*?)</code>", other.get(BACKUPS).text)[0])
    assert place(other.send(BACKUPS, {})) == BACKUPS
    for _ in range(MOST_LOADS):
        page = other.get(BACKUPS).text
        if page.count('data-label="File"') > before:
            break
    names = re.findall(r'data-label="File"><a[^>]*><code>(helpdesk-[0-9-]+\.db)</code>', page)
    assert len(names) == before + 1 and names == sorted(names, reverse=True)
    assert verify(folder / names[0]).tables["worker"] == 1
    assert "the newest 4, the last of each of 7 days" in page and "every day at " in page
    assert "are on the disk of the database" in page


@pytest.mark.sqlite("the file of the database")
def test_without_a_folder_the_page_says_what_to_do(signed_in: Visitor) -> None:
    page = signed_in.get(BACKUPS).text
    assert "Set up backups" in page and "Back up now" not in page and "helpdesk restore" in page
    assert "backup_folder = " in page
    response = signed_in.send(BACKUPS, {})
    assert response.status_code == 503
    assert "No backup folder is set" in response.text


@pytest.mark.sqlite("the file of the database")
def test_a_failed_backup_is_reported(tmp_path: Path, other: Visitor) -> None:
    folder = Path(re.findall(r"<dt>Folder</dt><dd><code>(.*?)</code>", other.get(BACKUPS).text)[0])
    (folder / "helpdesk-notes.db").write_text("not ours")
    assert "helpdesk-notes" not in other.get(BACKUPS).text
    moved = folder.rename(folder.with_name("moved"))
    folder.write_text("a file, and no folder")
    try:
        assert "cannot be read" in other.get(BACKUPS).text
    finally:
        folder.unlink()
        moved.rename(folder)


def test_milo_can_see_none_of_it(visitor: Visitor, desk: Desk, nora: Api) -> None:
    visitor.sign_in("milo@desk.example")
    for path in (BASE, CHECKUP, SETTINGS, AUDIT, LOG, BACKUPS):
        assert visitor.get(path).status_code == 403
    for path in (f"{BASE}/database", BACKUPS):
        assert visitor.send(path, {}, page="/account").status_code == 403
    milo = desk.context(nora.ids["milo"])
    for refused in (lambda: database_check.start(milo), lambda: scheduled_jobs.begin(milo, backups.KIND)):
        with pytest.raises(AdminOnly):
            refused()
    assert desk.read(lambda tx: tx.first(JOB, unique_key=backups.KIND)) is None


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_setting_is_found_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto(BASE)
        page.get_by_role("navigation", name="System").get_by_role("link", name="Settings").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/settings")
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.type("masks")
        page.keyboard.press("Enter")
        expect(page.get_by_role("row", name="mail_mask_pattern")).to_be_visible()
        expect(page.get_by_role("row")).to_have_count(2)


def test_a_wrong_clock_is_reported(page: Page) -> None:
    note = page.locator("[data-clock]")
    page.goto(CHECKUP)
    expect(note).to_be_hidden()
    page.clock.set_fixed_time(datetime(2031, 1, 1, tzinfo=UTC))
    page.goto(CHECKUP)
    expect(note).to_contain_text(re.compile("The clocks of this browser and the service differ: [0-9]+ hours"))
    assert violations(page, part="main") == []


@pytest.mark.sqlite("the file of the database")
def test_without_backups_the_page_says_what_to_configure_and_where(signed_in: Visitor, server: Server) -> None:
    page = html.unescape(signed_in.get(BACKUPS).text)
    (line,) = re.findall(r"<code>(backup_folder = .*?)</code>", page)
    assert str(server.data / "helpdesk.toml") in page
    found = settings.load({}, {}, server.data).replace(**tomllib.loads(line))
    assert str(found.backup_folder) == "/var/backups/helpdesk"
