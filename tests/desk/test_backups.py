"""Scheduled backups: when the service creates them, and which of them it retains."""

import shutil
import time
from calendar import timegm
from dataclasses import replace
from pathlib import Path
from typing import Any

import peewee
import pytest

from server.context import Service
from server.errors import Damaged, HelpdeskError, Invalid
from server.jobs.job_queue import JOB, JobQueue, body_of
from server.records.service_settings import DEFAULT_SENDER, DEFAULT_TRANSPORT, put
from server.settings import BUILD, VERSION, load
from server.store import backup
from server.store.statements import slot
from server.upkeep import backups
from server.upkeep.backups import KIND, Backup
from tests.records.desk import NOW, Desk

pytestmark = pytest.mark.sqlite("the file of the database")

HOUR, DAY = 3600, 86400


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def service(desk: Desk, folder: Path, **settings: Any) -> Service:
    return replace(desk.service, settings=desk.service.settings.replace(backup_folder=str(folder), **settings))


def at(text: str) -> int:
    return timegm(time.strptime(text, "%Y-%m-%d %H:%M"))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def jobs(desk: Desk) -> int:
    return len(desk.read(lambda tx: tx.find(JOB, kind=KIND)))


def run(desk: Desk, mine: Service, now: int) -> int:
    """Scans and runs the due jobs; returns the number of new backups."""
    before = len(backups.list_backups(mine.settings))
    backups.add_due(mine, now)
    queue = JobQueue(desk.store)
    for each in queue.claim_due(now):
        body = body_of(each.kind)
        assert body is not None
        body(mine, each.payload, now)
        queue.finish(each)
    assert jobs(desk) == 0
    return len(backups.list_backups(mine.settings)) - before


@pytest.mark.parametrize(
    ("now", "hours", "begins", "slot"),
    [
        ("2026-11-20 02:29", 24, "02:30", "2026-11-19 02:30"),
        ("2026-11-20 02:30", 24, "02:30", "2026-11-20 02:30"),
        ("2026-11-20 23:59", 24, "02:30", "2026-11-20 02:30"),
        ("2026-11-20 01:00", 6, "02:30", "2026-11-19 20:30"),
        ("2026-11-20 08:30", 6, "02:30", "2026-11-20 08:30"),
        ("2026-11-20 00:10", 1, "00:15", "2026-11-19 23:15"),
        ("2026-11-20 00:00", 24, "00:00", "2026-11-20 00:00"),
    ],
    ids=[
        "daily, a minute before",
        "daily, on time",
        "daily, in the evening",
        "six-hourly, at night",
        "six-hourly, on time",
        "hourly, after midnight",
        "daily, at midnight",
    ],
)
def test_backups_are_due_at_their_time_of_the_day(
    desk: Desk, folder: Path, now: str, hours: int, begins: str, slot: str
) -> None:
    settings = service(desk, folder, backup_hours=hours, backup_at=begins).settings
    assert backups.slot_of(at(now), settings) == at(slot)


def test_without_a_folder_none_is_created(desk: Desk) -> None:
    assert backups.add_due(desk.service, NOW) is None and jobs(desk) == 0
    assert backups.list_backups(desk.service.settings) == [] and backups.newest(desk.service.settings) is None
    with pytest.raises(HelpdeskError, match="set backup_folder"):
        backups.make(desk.service, NOW)


def test_the_scheduler_creates_one_in_each_slot(desk: Desk, folder: Path) -> None:
    mine = service(desk, folder, backup_hours=6, backup_keep_last=100)
    noon = at("2026-11-20 12:00")
    assert backups.add_due(mine, noon) == at("2026-11-20 14:30")
    assert [run(desk, mine, noon + hours * HOUR) for hours in (0, 1, 2, 3, 4, 8, 9)] == [1, 0, 0, 1, 0, 0, 1]
    (first, *_) = names(folder)
    assert first == "helpdesk-20261120-120000.db" and folder.stat().st_mode & 0o077 == 0
    assert backup.verify(folder / first).tables["worker"] >= 0


@pytest.mark.parametrize(
    ("step", "made"),
    [(-HOUR, 0), (HOUR, 0), (-30 * DAY, 1), (DAY, 1)],
    ids=["an hour back", "an hour ahead", "a month back", "a day ahead"],
)
def test_a_clock_change_causes_neither_a_flood_nor_a_gap(desk: Desk, folder: Path, step: int, made: int) -> None:
    mine = service(desk, folder, backup_keep_last=100)
    noon = at("2026-11-20 12:00")
    assert run(desk, mine, noon) == 1
    assert [run(desk, mine, noon + step + minute * 60) for minute in range(3)] == [made, 0, 0]


def test_after_days_without_the_service_one_is_created(desk: Desk, folder: Path) -> None:
    mine = service(desk, folder)
    assert run(desk, mine, NOW) == 1
    assert [run(desk, mine, NOW + 9 * DAY + minute * 60) for minute in range(3)] == [1, 0, 0]


def test_a_failed_one_is_tried_again_and_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    mine = service(desk, blocked / "kept")
    with pytest.raises(HelpdeskError, match="cannot be created"):
        backups.make(mine, NOW)
    blocked.unlink()
    assert run(desk, mine, NOW) == 1


def test_administrators_are_notified_once_until_one_succeeds(desk: Desk, tmp_path: Path) -> None:
    """In the console, and by mail if mail is set up."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    mine = service(desk, blocked / "kept")
    ctx = replace(desk.context(), service=mine)
    nora = desk.worker("Nora", is_superuser=1)
    desk.worker("Milo")

    def fails() -> tuple[int, list[str]]:
        body = body_of(KIND)
        assert body is not None
        with pytest.raises(HelpdeskError):
            body(mine, {}, NOW)
        found = backups.failure(ctx)
        assert found is not None and "cannot be created" in found.error
        notices = desk.found("notification", f"worker.id:{nora}")
        mails = [desk.row("draft", id)["to"] for id in desk.found("draft", "")]
        return len(notices), mails

    assert fails() == fails() == (1, [])
    blocked.unlink()
    assert run(desk, mine, NOW) == 1 and backups.failure(ctx) is None
    shutil.rmtree(blocked)
    blocked.write_text("no folder")
    sender = desk.create("address", email="support@desk.example")["id"]
    transport = desk.create("mail_transport", name="Relay", extension_id="core.mail.transport.null")["id"]
    desk.store.write(lambda tx: [put(tx, DEFAULT_SENDER, sender), put(tx, DEFAULT_TRANSPORT, transport)])
    assert fails() == fails() == (2, ["nora@desk.example"])
    entries = [str(each["params"]) for each in desk.log("custom.other")]
    assert any(backups.SUBJECT in each for each in entries) and not any(str(tmp_path) in each for each in entries)


def test_an_unreadable_folder_is_reported_as_well(tmp_path: Path) -> None:
    """Otherwise the scan would fail repeatedly, and only its log would show it."""
    desk, blocked = Desk(tmp_path), tmp_path / "file"
    blocked.write_text("no folder")
    mine = service(desk, blocked)
    backups.add_due(mine, NOW)
    assert jobs(desk) == 1
    body = body_of(KIND)
    assert body is not None
    with pytest.raises(HelpdeskError):
        body(mine, {}, NOW)
    assert backups.failure(replace(desk.context(), service=mine)) is not None
    desk.close()


def test_each_one_is_read_after_its_creation(desk: Desk, folder: Path) -> None:
    mine = service(desk, folder)
    ctx = replace(desk.context(), service=mine)
    assert run(desk, mine, NOW) == 1
    ((name, look),) = backups.checks(ctx).items()
    assert name in names(folder) and look.problem == "" and look.program == f"{VERSION} ({BUILD})"
    with (folder / name).open("ab") as file:
        file.write(b"more")
    assert backups.checks(ctx) == {}  # the file was replaced


def test_uploads_downloads_and_removals_are_logged(tmp_path: Path, folder: Path) -> None:
    """A backup contains all data of the service, and a download puts it beyond the service's permissions."""
    desk = Desk(tmp_path)
    nora = desk.worker("Nora", is_superuser=1)
    ctx = replace(desk.context(nora), service=service(desk, folder))
    content = backups.make(ctx.service, NOW).path.read_bytes()
    sent = backups.store_upload(ctx, content).path
    assert backups.fetch(ctx, sent.stem).path == sent
    backups.remove(ctx, sent.stem)
    done = [f"Nora {each} the backup {sent.name}" for each in ("uploaded", "downloaded", "removed")]
    assert desk.acts()[-3:] == done
    desk.close()


def test_only_the_remains_of_a_killed_backup_are_removed(desk: Desk, folder: Path) -> None:
    folder.mkdir()
    for name in ("helpdesk-20261101-023000.db.part", "helpdesk-20261101-023000.db.part-journal", "mine.db.part",
                 "helpdesk-notes.db", "helpdesk-20269999-023000.db"):  # fmt: skip
        (folder / name).write_text("x")
    made = backups.make(service(desk, folder, backup_keep_days=0, backup_keep_weeks=0, backup_keep_months=0), NOW)
    assert names(folder) == sorted([made.path.name, "mine.db.part", "helpdesk-notes.db", "helpdesk-20269999-023000.db"])


def test_two_within_one_second_have_different_names(desk: Desk, folder: Path) -> None:
    mine = service(desk, folder)
    assert [backups.make(mine, NOW).at for _ in range(3)] == [NOW, NOW + 1, NOW + 2]


RULES: list[tuple[dict[str, int], list[str]]] = [
    ({"last": 3}, ["12-31 23", "12-31 11", "12-30 23"]),
    ({"days": 2}, ["12-31 23", "12-30 23"]),
    ({"weeks": 2}, ["12-31 23", "12-27 23"]),  # 27 December 2026 is a Sunday
    ({"months": 3}, ["12-31 23", "11-30 23", "10-31 23"]),
    ({"days": 2, "weeks": 2, "months": 2}, ["12-31 23", "12-30 23", "12-27 23", "11-30 23"]),
]


@pytest.mark.parametrize(("rules", "kept"), RULES, ids=lambda value: str(value)[:40])
def test_the_rules_retain_the_last_of_days_weeks_and_months(desk: Desk, rules: dict[str, int], kept: list[str]) -> None:
    """Of two backups a day from October to December 2026."""
    first = at("2026-10-01 11:00")
    made = [Backup(Path(f"{n}"), first + n * HOUR * 12) for n in reversed(range(92 * 2))]
    counts = {f"backup_keep_{name}": rules.get(name, 0) for name in ("days", "weeks", "months")}
    settings = desk.service.settings.replace(**counts, backup_keep_last=rules.get("last", 1))
    gone = backups.superfluous(made, settings)
    left = [time.strftime("%m-%d %H", time.gmtime(each.at)) for each in made if each not in gone]
    assert left == kept


def test_old_ones_are_removed_after_a_new_one_exists(desk: Desk, folder: Path) -> None:
    mine = service(desk, folder, backup_keep_last=2, backup_keep_days=0, backup_keep_weeks=0, backup_keep_months=0)
    for day in range(4):
        backups.make(mine, NOW + day * DAY)
    assert [each.at for each in backups.list_backups(mine.settings)] == [NOW + 3 * DAY, NOW + 2 * DAY]


def test_files_set_aside_by_restores_follow_the_same_rules(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    rules = {f"backup_keep_{name}": 0 for name in ("days", "weeks", "months")} | {"backup_keep_last": 2}
    mine = service(desk, tmp_path / "kept", **rules)
    names = [f"helpdesk.db.before-restore-{NOW + day}" for day in range(3)]
    names += [f"helpdesk.db.not-restored-{NOW + 9}", f"helpdesk.db.before-restore-{NOW + 2}-2"]
    others = ["helpdesk.db.before-restore-x", "helpdesk.db.restoring", f"mine.db.before-restore-{NOW}"]
    for name in (*names, *others, f"{names[0]}-wal", f"{names[3]}-wal"):
        (tmp_path / name).write_bytes(b"x")
    assert backups.remove_put_aside(mine, NOW) == NOW + DAY
    left = {each.name for each in tmp_path.iterdir() if not each.name.startswith("helpdesk.db-")} - {"helpdesk.db"}
    kept = {names[3], f"{names[3]}-wal", *others}
    assert left - kept in ({names[2]}, {names[4]}) and kept <= left  # two within one second: either
    assert backups.list_backups(mine.settings) == []
    desk.close()


@pytest.mark.parametrize("text", ["2:30", "24:00", "02:60", "noon", "", "02:30:00"])
def test_an_invalid_time_of_the_day_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="from 00:00 to 23:59"):
        load({}, {"HELPDESK_BACKUP_AT": text})


def exchanged(desk: Desk, database: Path, content: bytes) -> bytes:
    """Replaces the page of a table that these tests do not read; returns the old page. Everything else works, and
    backups copy the damage."""
    table: Any = peewee.Table("sqlite_master")
    page = desk.read(
        lambda tx: tx.value(lambda: table.select(table.c.rootpage).where(table.c.name == slot(0)), ("call",))
    )
    with database.open("r+b") as file:
        file.seek((page - 1) * 4096)
        was = file.read(4096)
        file.seek((page - 1) * 4096)
        file.write(content)
    return was


def test_damaged_backups_do_not_displace_intact_ones(tmp_path: Path, folder: Path) -> None:
    """The database was damaged; later copies follow the retention rules, and so do the intact ones separately."""
    desk, database = Desk(tmp_path), tmp_path / "helpdesk.db"
    mine = service(desk, folder, backup_keep_last=2, backup_keep_days=0, backup_keep_weeks=0, backup_keep_months=0)
    sound = [backups.make(mine, NOW + day * DAY).path.name for day in range(2)]
    desk.store.checkpoint()
    was = exchanged(desk, database, b"?" * 4096)
    for day in range(2, 6):
        with pytest.raises(Damaged):
            backups.make(mine, NOW + day * DAY)
    *others, fourth, fifth = names(folder)
    looks = backups.checks(replace(desk.context(), service=mine))
    assert others == sound and looks[fourth].problem and looks[fifth].problem
    exchanged(desk, database, was)
    sixth, seventh = (backups.make(mine, NOW + day * DAY).path.name for day in (6, 7))
    assert names(folder) == [sixth, seventh]
    desk.close()


def test_reading_a_backup_reports_its_steps(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = service(desk, folder)
    made = backups.make(mine, NOW)
    ctx, seen, verify = replace(desk.context(), service=mine), [], backup.verify

    def watched(file: Path, report: backup.Report) -> backup.Contents:
        def report_and_record(step: str) -> None:
            report(step)
            seen.append(backups.steps(ctx))

        return verify(file, report_and_record)

    monkeypatch.setattr(backup, "verify", watched)
    backups.check(mine, made, NOW)
    assert [each[made.path.name] for each in seen] == [
        "step 1 of 3: reading the structure", "step 2 of 3: following the references", "step 3 of 3: counting the rows",
    ]  # fmt: skip
    assert backups.steps(ctx) == {}
