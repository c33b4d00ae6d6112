"""Large files: the scheduler checks and imports their rows, once, with the permissions of the uploader."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.context import Context
from server.errors import Conflict, Forbidden, Invalid, Unavailable
from server.imports import background, row_import, uploads
from server.imports.background import KIND, CsvTask
from server.imports.columns import CsvMapping
from server.imports.uploads import CsvUpload
from server.jobs import job_queue
from server.jobs.job_queue import JOB
from tests.records.desk import NOW, Desk

NAMES = CsvMapping("org", ("name", "website"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    opened.people()
    yield opened
    opened.close()


@pytest.fixture
def nora(desk: Desk) -> Context:
    return desk.context(1)


def uploaded(ctx: Context, text: str = "Kite;https://kite.example\n") -> CsvUpload:
    return uploads.find_upload(ctx, "org", uploads.keep(ctx, "org", "a.csv", f"a;b\n{text}".encode()))


def work(desk: Desk, upload: CsvUpload) -> CsvTask:
    """Runs the scheduler's work on the file."""
    body = job_queue.body_of(KIND)
    assert body is not None
    body(desk.service, {"code": upload.code}, NOW)
    return task(desk, upload)


def task(desk: Desk, upload: CsvUpload) -> CsvTask:
    found = background.task_of(desk.read(lambda tx: uploads.row(tx, upload.code)))
    assert found is not None
    return found


def test_a_trial_is_reported_and_the_file_stays(desk: Desk, nora: Context) -> None:
    upload = uploaded(nora, "Kite;https://kite.example\nLarch;nope\n")
    background.start(nora, upload, NAMES, "_label", is_trial=True)
    assert task(desk, upload).is_running and background.progress(nora, upload.code) == (0, 0)
    done = work(desk, upload)
    assert done.result is not None and not done.is_running
    assert [(each.row, each.target) for each in done.result.mistakes] == [(3, "website")]
    assert done.result.created == 1 and done.result.shown[0]["_label"] == "Kite"
    assert uploads.find_upload(nora, "org", upload.code).content == upload.content and desk.found("org", "") == []
    background.start(nora, upload, NAMES, "_label", is_trial=True)  # again, with other columns


def test_an_import_is_done_once_however_often_its_job_runs(desk: Desk, nora: Context) -> None:
    upload = uploaded(nora)
    background.start(nora, upload, NAMES, "", is_trial=False)
    jobs = desk.read(lambda tx: [row[JOB.position["payload"]] for row in tx.find(JOB, kind=KIND)])
    assert [json.loads(payload) for payload in jobs] == [{"code": upload.code}]
    with pytest.raises(Conflict):
        background.start(nora, upload, NAMES, "", is_trial=False)
    for _ in range(2):
        done = work(desk, upload)
        assert done.result is not None and done.result.created == 1
    assert len(desk.found("org", "name:Kite")) == 1
    assert uploads.find_upload(nora, "org", upload.code).content == b""
    with pytest.raises(Conflict):
        background.start(nora, upload, NAMES, "", is_trial=True)


def test_an_import_with_a_mistake_writes_nothing_and_can_be_begun_again(desk: Desk, nora: Context) -> None:
    upload = uploaded(nora, "Kite;\nLarch;nope\n")
    background.start(nora, upload, NAMES, "", is_trial=False)
    done = work(desk, upload)
    assert done.result is not None and [each.row for each in done.result.mistakes] == [3]
    assert desk.found("org", "") == []
    background.start(nora, upload, CsvMapping("org", ("name", "")), "", is_trial=False)
    done = work(desk, upload)
    assert done.result is not None and done.result.created == 2


def test_rights_are_those_of_who_uploaded_the_file_when_it_is_done(desk: Desk, nora: Context) -> None:
    role = desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")["id"]
    milo = desk.context(2)
    for change, told in (
        (lambda: desk.update("role", role, privs_mode=""), "you may not create"),
        (lambda: desk.update("worker", 2, is_disabled=1), "no longer exists"),
    ):
        upload = uploaded(milo)
        background.start(milo, upload, NAMES, "", is_trial=False)
        change()
        done = work(desk, upload)
        assert told in done.problem and done.result is None and desk.found("org", "") == []
        desk.update("role", role, privs_mode="all")
    with pytest.raises(Forbidden):
        background.start(
            replace(milo, actor=replace(milo.actor, privileges=frozenset())), upload, NAMES, "", is_trial=True
        )


def test_a_mapping_that_does_not_fit_is_refused_at_once(nora: Context) -> None:
    with pytest.raises(Invalid):
        background.start(nora, uploaded(nora), CsvMapping("org", ("nope", "")), "", is_trial=True)


def test_what_may_work_later_is_left_to_the_scheduler(
    desk: Desk, nora: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = uploaded(nora)
    background.start(nora, upload, NAMES, "", is_trial=False)

    def full(*args: object) -> None:
        raise Unavailable("no room")

    with monkeypatch.context() as patched:
        patched.setattr(row_import, "run", full)
        with pytest.raises(Unavailable):
            work(desk, upload)
    assert task(desk, upload).is_running
    assert work(desk, upload).result is not None


def test_progress_is_reported(desk: Desk, nora: Context) -> None:
    upload = uploaded(nora, "".join(f"Kite {number};\n" for number in range(120)))
    heard: list[tuple[int, int]] = []
    row_import.attempt(nora, upload.table(), NAMES, told=lambda done, total: heard.append((done, total)))
    assert heard == [(0, 120), (50, 120), (100, 120)]
    heard.clear()
    row_import.run(nora, upload, upload.table(), NAMES, lambda done, total: heard.append((done, total)))
    assert heard[-1] == (119, 120) and len(heard) >= 120


# -- large files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def large(desk: Desk, nora: Context, monkeypatch: pytest.MonkeyPatch) -> CsvUpload:
    """A file that counts as large, with two invalid rows: one fails when read, one when written."""
    monkeypatch.setattr(row_import, "MAX_ATOMIC_ROWS", 3)
    monkeypatch.setattr(row_import, "PORTION", 2)
    rows = ["Kite;", "Larch;nope", "Elm;", "Oak;", "Kite Two;", "Ash;", "Fir;"]
    upload = uploaded(nora, "".join(f"{row}\n" for row in rows))
    background.start(nora, upload, NAMES, "", is_trial=False)
    return upload


def test_refused_rows_of_a_large_file_are_skipped_and_reported(desk: Desk, large: CsvUpload) -> None:
    done = work(desk, large)
    assert done.result is not None and not done.is_running
    assert (done.result.created, [(each.row, each.target) for each in done.result.mistakes]) == (6, [(3, "website")])
    assert len(desk.found("org", "")) == 6
    assert [each["params"]["variables"]["what"] for each in desk.log("data.imported")] == [
        "organizations, 6 created, 0 updated"
    ]


@pytest.mark.parametrize(("portions", "written"), [(0, 0), (1, 1), (2, 3)])
def test_the_import_of_a_large_file_goes_on_behind_what_was_written(
    portions: int, written: int, desk: Desk, large: CsvUpload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stands for a kill between two batches."""
    write, left = row_import.PortionedImport._write, [portions]

    def killed(self: row_import.PortionedImport, *given: Any) -> None:
        if not left[0]:
            raise Unavailable("the process ends here")
        left[0] -= 1
        write(self, *given)

    monkeypatch.setattr(row_import.PortionedImport, "_write", killed)
    with pytest.raises(Unavailable):
        work(desk, large)
    assert len(desk.found("org", "")) == written and task(desk, large).is_running
    monkeypatch.setattr(row_import.PortionedImport, "_write", write)
    done = work(desk, large)
    assert done.result is not None
    assert (done.result.created, len(done.result.mistakes), len(desk.found("org", ""))) == (6, 1, 6)
    work(desk, large)
    assert len(desk.found("org", "")) == 6
