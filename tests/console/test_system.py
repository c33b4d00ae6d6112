"""The service itself in the console: health, check-up, settings with their sources, audit log, backups."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server import settings
from server.desk import backups, database_check, scheduled
from server.errors import AdminOnly
from server.jobs.queue import JOB
from server.store.backup import verify
from tests.console.browser import Browser, is_sideways, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place
from tests.records.desk import Desk
from tests.service import Api, Server

BASE, CHECKUP, SETTINGS, AUDIT, BACKUPS = (
    "/admin/system", "/admin/system/checkup", "/admin/system/settings", "/admin/system/audit", "/admin/backups"
)  # fmt: skip
MOST_LOADS = 2000  # of a page, until the scheduler has done something


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Nora at a service that makes backups, with settings from all places."""
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


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def loaded(visitor: Visitor, path: str, words: str) -> str:
    """The text of a page, once these words stand on it: the scheduler has its own pace."""
    for _ in range(MOST_LOADS):
        text = " ".join(text_of(visitor.get(path).text).split())
        if words in text:
            return text
    raise AssertionError(f"'{words}' is not on {path}: {text[-1500:]}")


def test_all_is_well_and_the_report_names_nobody(signed_in: Visitor, nora: Api, server: Server) -> None:
    page = signed_in.get(BASE).text
    assert "all is well" in page and "Up for" in page and settings.VERSION in page
    report = html.unescape(re.findall(r'<div class="snippet"><pre[^>]*><code>(.*?)</code>', page, re.DOTALL)[-1])
    assert "database_writable: ok" in report and f"Version: {settings.VERSION}" in report
    for secret in ("@", "nora", "Nora", "/", HOSTILE, nora.token):
        assert secret not in report, secret


def test_the_whole_database_is_read_when_asked(signed_in: Visitor, desk: Desk) -> None:
    assert place(signed_in.send(f"{BASE}/database", {}, page=BASE)) == BASE
    assert loaded(signed_in, BASE, "sound Read just now in")


def test_damage_is_told(desk: Desk, signed_in: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.store, "check", lambda: [f"row 7 missing from index {HOSTILE}"] * 30)
    database_check._look(desk.service, {}, 1_700_000_000)
    page = signed_in.get(BASE).text
    assert "damaged" in page and "row 7 missing" in page and "<script>alert" not in page
    assert page.count("row 7 missing") == database_check.MAX_PROBLEMS
    monkeypatch.undo()
    database_check._look(desk.service, {}, 1_700_000_000)
    assert "damaged" not in signed_in.get(BASE).text


def test_the_checkup_says_what_to_do(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("mail_transport", name=HOSTILE, extension_id="core.mail.transport.smtp",
                     params={"host": "127.0.0.1", "port": "9"}).ok()["id"]  # fmt: skip
    page = signed_in.get(CHECKUP).text
    assert "<script>alert" not in page and "no mail server at 127.0.0.1" in text_of(page)
    assert "Set backup_folder to a folder on another disk" in text_of(page)
    nora.remove("mail_transport", id).ok()


def test_every_setting_stands_there_with_its_source(other: Visitor) -> None:
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
    assert "No setting fits" in other.get(f"{SETTINGS}?q={HOSTILE}").text


def test_the_audit_log_is_searched_as_the_api_does(signed_in: Visitor, nora: Api) -> None:
    made = nora.create("org", name=HOSTILE).ok()["id"]
    nora.remove("org", made).ok()
    page = signed_in.get(f"{AUDIT}?q=activity%3Arecord.deleted").text
    assert HOSTILE in text_of(page).replace("  ", " ") or "alert(1)" in text_of(page)
    assert "<script>alert" not in page and "Nora Berg" in page
    total = nora.search("activity_log", "activity:record.deleted").ok()["total"]
    assert f"of {total}<" in page
    empty = signed_in.get(f"{AUDIT}?q=activity%3Anothing.like.it")
    assert "Nothing fits." in empty.text and "Clear the filter" in empty.text
    assert signed_in.get(f"{AUDIT}?q=colour%3Ared").status_code == 422


def test_a_backup_is_made_by_hand_and_is_sound(other: Visitor) -> None:
    loaded(other, BACKUPS, "helpdesk-")  # that of the schedule
    before = other.get(BACKUPS).text.count('data-label="File"')
    folder = Path(re.findall(r"<dt>Folder</dt><dd><code>(.*?)</code>", other.get(BACKUPS).text)[0])
    assert place(other.send(BACKUPS, {})) == BACKUPS
    for _ in range(MOST_LOADS):
        page = other.get(BACKUPS).text
        if page.count('data-label="File"') > before:
            break
    names = re.findall(r"<code>(helpdesk-[0-9-]+\.db)</code>", page)
    assert len(names) == before + 1 and names == sorted(names, reverse=True)
    assert verify(folder / names[0]).tables["worker"] == 1
    assert "the newest 4, the last one of 7 days" in page and "every 24 hours" in page
    assert "are on the disk of the database" in page


def test_without_a_folder_the_page_says_what_to_do(signed_in: Visitor) -> None:
    page = signed_in.get(BACKUPS).text
    assert "Set <code>backup_folder</code>" in page and "Make one now" not in page and "helpdesk restore" in page
    answer = signed_in.send(BACKUPS, {})
    assert answer.status_code == 503 and "no folder for backups" in answer.text


def test_what_went_wrong_with_a_backup_is_told(tmp_path: Path, other: Visitor) -> None:
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


def test_milo_may_look_at_none_of_it(visitor: Visitor, desk: Desk, nora: Api) -> None:
    visitor.sign_in("milo@desk.example")
    for path in (BASE, CHECKUP, SETTINGS, AUDIT, BACKUPS):
        assert visitor.get(path).status_code == 403
    for path in (f"{BASE}/database", BACKUPS):
        assert visitor.send(path, {}, page="/account").status_code == 403
    milo = desk.context(nora.ids["milo"])
    for refused in (lambda: database_check.start(milo), lambda: scheduled.begin(milo, backups.KIND)):
        with pytest.raises(AdminOnly):
            refused()
    assert desk.read(lambda tx: tx.first(JOB, unique_key=backups.KIND)) is None


def test_a_setting_is_looked_for_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor) -> None:
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
        assert page.get_by_role("row").count() == 2


PAGES = (
    BASE, CHECKUP, SETTINGS, AUDIT, f"{AUDIT}?q=activity%3Anothing.like.it", BACKUPS, "/admin/mail",
    "/admin/mail/transports/new", "/admin/mail/mailboxes/new", "/admin/mail/outbox", "/admin/jobs",
    "/admin/jobs/timers", "/api", "/api?tag=ticket", "/api/records_ticket_update", "/help", "/help/kata",
)  # fmt: skip


def test_the_pages_fit_a_narrow_screen_and_are_clear_to_axe(
    chromium: Browser, server: Server, signed_in: Visitor
) -> None:
    titles = set()
    with chromium.page(server.url, (320, 640), signed_in.cookies, color_scheme="dark") as page:
        for path in PAGES:
            page.goto(path)
            assert violations(page) == [], path
            assert not is_sideways(page), path
            assert page.locator("h1").count() == 1, path
            titles.add(page.title())
    assert len(titles) >= len(PAGES) - 2  # a search has the title of its list
