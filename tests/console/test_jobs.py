"""The scheduler in the console: waiting and failed jobs are run again or dropped; timers are run and switched."""

import html
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from server.jobs import job_queue, scheduler
from server.jobs.job_queue import JOB, MAX_ATTEMPTS, OFF, RUN, JobQueue
from tests.console.browser import Browser, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import NOW, Desk
from tests.service import Api, Server

BASE, RUNS, SCANS, TIMERS = "/admin/jobs", "/admin/jobs/runs", "/admin/jobs/scans", "/admin/jobs/timers"
FAR = 4_000_000_000  # Unix seconds; no job of these tests is due before


def job(desk: Desk, **values: Any) -> int:
    """Creates a job that is due in a far future; returns its id."""

    def write(tx: Any) -> int:
        id = JobQueue.add(tx, values.pop("kind", "nobody.does.this"), FAR, values.pop("payload", {"ticket_id": 7}))
        tx.update(JOB, id, values)
        return id

    return desk.store.write(write)


def row(desk: Desk, id: int) -> dict[str, Any] | None:
    found = desk.read(lambda tx: tx.get(JOB, id))
    return None if found is None else dict(zip(JOB.names, found, strict=True))


def test_a_failed_job_is_run_again(signed_in: Visitor, desk: Desk) -> None:
    id = job(desk, failed_at=NOW, attempts=MAX_ATTEMPTS, last_error=f"LookupError: {HOSTILE}")
    page = signed_in.get(f"{BASE}?state=failed").text
    assert HOSTILE in text_of(page) and "<script>alert" not in page
    assert f"{MAX_ATTEMPTS} of {MAX_ATTEMPTS}" in text_of(page) and '"ticket_id": 7' in html.unescape(page)
    response = signed_in.send(f"{BASE}/{id}/run", {}, page=f"{BASE}?state=failed")
    assert (response.status_code, place(response)) == (303, f"{BASE}/{id}")
    found = row(desk, id)
    assert found is not None and found["failed_at"] == 0 and found["due_at"] < FAR and found["attempts"] <= 1
    desk.store.write(lambda tx: tx.delete(JOB, id=id))


def test_a_job_is_dropped_and_the_audit_log_records_it(signed_in: Visitor, desk: Desk) -> None:
    id = job(desk, payload={"note": HOSTILE})
    assert place(signed_in.send(f"{BASE}/{id}/drop", {}, page=BASE)) == BASE
    assert row(desk, id) is None
    page = signed_in.get("/admin/system/audit?q=activity%3Ajob.dropped").text
    assert f"Nora Berg dropped job {id} (nobody.does.this)" in text_of(page) and "<script>alert" not in page
    response = signed_in.send(f"{BASE}/{id}/drop", {}, page="/account")
    assert response.status_code == 404 and f"Job {id}" in text_of(response.text)


def test_a_running_job_is_left_alone(signed_in: Visitor, desk: Desk) -> None:
    id = job(desk, claimed_by="another process", claimed_until=FAR)
    shown = signed_in.get(f"{BASE}?state=running").text
    assert f"nobody.does.this {id}" in text_of(shown) and ">Running</span>" in re.sub(
        r"<span[^>]*>.</span> ?", "", shown
    )
    for what in ("run", "drop"):
        response = signed_in.send(f"{BASE}/{id}/{what}", {}, page="/account")
        assert response.status_code == 409 and "is running right now" in text_of(response.text)
    assert row(desk, id) is not None
    desk.store.write(lambda tx: tx.delete(JOB, id=id))


@pytest.mark.parametrize(("values", "state"), [
    ({}, "waiting"), ({"claimed_by": "x", "claimed_until": FAR}, "running"),
    ({"failed_at": NOW}, "failed"),
])  # fmt: skip
def test_jobs_are_counted_and_listed_by_state_and_kind(
    values: dict[str, Any], state: str, signed_in: Visitor, desk: Desk
) -> None:
    id = job(desk, kind="mail.send", payload={"draft_id": 999_999_999}, **values)
    number = f"<code>mail.send</code> {id}</span>"
    assert number in signed_in.get(f"{BASE}?state={state}&kind=mail.send").text
    assert number in signed_in.get(BASE).text
    for other in {"running", "due", "waiting", "failed"} - {state}:
        assert number not in signed_in.get(f"{BASE}?state={other}").text
    assert number not in signed_in.get(f"{BASE}?kind=backup").text
    counted = signed_in.get(BASE).text
    assert int(re.findall(rf'state={state}">(\d+)</a>', counted)[0]) >= 1
    desk.store.write(lambda tx: tx.delete(JOB, id=id))


@pytest.mark.exhaustive("in a browser as well")
def test_a_job_that_is_run_shows_its_progress(page: Page, signed_in: Visitor, desk: Desk) -> None:
    id = job(desk, kind="database.check", payload={"note": HOSTILE}, failed_at=NOW, last_error=HOSTILE)
    waiting = job(desk, kind="database.check", attempts=3, last_error="It was busy.")
    page.goto(f"{BASE}/{id}")
    expect(page.locator("main")).to_contain_text("Gave up")
    expect(page.locator("main")).to_contain_text(HOSTILE)
    assert violations(page, part="main") == []
    page.get_by_role("button", name="Run again").click()
    page.wait_for_url(f"**{BASE}/{id}")
    expect(page.locator("main")).to_contain_text("It has ended")  # the page reloads itself until then
    expect(page.get_by_role("row", name="done").first).to_contain_text("ms")
    page.goto(f"{BASE}/{waiting}")
    expect(page.locator("main")).to_contain_text(f"3 of {MAX_ATTEMPTS} attempts failed")
    desk.store.write(lambda tx: tx.delete(JOB, id=waiting))
    gone = signed_in.get(f"{BASE}/{waiting}")
    assert gone.status_code == 404 and f"Job {waiting} no longer exists" in gone.text


def test_every_periodic_task_has_a_description() -> None:
    assert [name for name in scheduler.scans() if not scheduler.purpose(name)] == []
    assert [kind for kind in job_queue.kinds() if job_queue.purpose(kind) == kind] in ([], ["nobody.does.this"])


def test_jobs_are_sorted_and_dropped_several_at_once(signed_in: Visitor, desk: Desk) -> None:
    ids = [job(desk, failed_at=NOW, attempts=attempts) for attempts in (2, 1, 3)]
    running = job(desk, claimed_by="another process", claimed_until=FAR)
    page = signed_in.get(BASE, params={"sort": "-attempts", "kind": "", "state": "failed"}).text
    listed = [int(id) for id in re.findall(r"nobody\.does\.this</code> (\d+)", page) if int(id) in ids]
    assert listed == [ids[2], ids[0], ids[1]]
    form = {"list": BASE, "do": "drop", "back": BASE, "ids[]": [*map(str, ids[:2]), str(running)], "_sure": "1"}
    assert place(signed_in.send("/-/bulk", form, page=BASE)) == BASE
    assert f"2 jobs dropped. Refused: {running}: " in text_of(signed_in.get(BASE).text)
    assert [row(desk, id) is None for id in (*ids, running)] == [True, True, False, False]
    for sort in ("began_at", "-ms", "attempt", "kind", "-due_at"):
        assert signed_in.get(RUNS, params={"sort": sort}).status_code == 200
    desk.store.write(lambda tx: [tx.delete(JOB, id=id) for id in (ids[2], running)])


@pytest.mark.parametrize("query", ["state=lost", "kind=<script>", "sort=payload"])
def test_invalid_parameters_are_reported(query: str, signed_in: Visitor) -> None:
    response = signed_in.get(f"{BASE}?{query}")
    assert response.status_code == 422 and "<script>" not in response.text.replace('<script type="module"', "")


def test_a_timer_is_run_and_switched(signed_in: Visitor, nora: Api) -> None:
    id = nora.create(
        "automation_timer", name=HOSTILE, is_recurring=1, recurring_patterns="0 3 * * *", next_run_at=FAR
    ).ok()["id"]
    page = signed_in.get(TIMERS).text
    assert HOSTILE in text_of(page) and "<script>alert" not in page and "0 3 * * *" in page
    assert "at 03:00 UTC" in text_of(page)
    signed_in.send(f"{TIMERS}/{id}/switch", {"off": "1"}, page=TIMERS)
    assert nora.record("automation_timer", id)["is_disabled"]
    signed_in.send(f"{TIMERS}/{id}/run", {}, page=TIMERS)
    assert "is switched off" in text_of(signed_in.get(TIMERS).text)
    assert nora.record("automation_timer", id)["next_run_at"] == FAR
    signed_in.send(f"{TIMERS}/{id}/switch", {"off": "0"}, page=TIMERS)
    signed_in.send(f"{TIMERS}/{id}/run", {}, page=TIMERS)
    found = nora.record("automation_timer", id).ok()
    assert not found["is_disabled"] and found["next_run_at"] < FAR
    assert signed_in.get(f"{TIMERS}?q=wrong%3A1").status_code == 422
    nora.remove("automation_timer", id).ok()


def test_milo_cannot_change_the_scheduler(visitor: Visitor, desk: Desk, nora: Api) -> None:
    id = job(desk)
    visitor.sign_in("milo@desk.example")
    assert visitor.get(BASE).status_code == visitor.get(TIMERS).status_code == 403
    for what in ("run", "drop"):
        assert visitor.send(f"{BASE}/{id}/{what}", {}, page="/account").status_code == 403
    found = row(desk, id)
    assert found is not None and found["due_at"] == FAR
    desk.store.write(lambda tx: tx.delete(JOB, id=id))


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_job_is_dropped_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor, desk: Desk) -> None:
    id = job(desk, kind="mail.send", payload={"draft_id": 999_999_999}, failed_at=NOW, last_error="no such draft")
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto(BASE)
        page.locator("#state").focus()
        page.keyboard.type("Failed")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**state=failed**")
        page.get_by_role("row", name=f"mail.send {id}").get_by_role("button", name="Drop").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text(f"Drop job {id}")
        page.keyboard.press("Escape")
        assert row(desk, id) is not None
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"Job {id} (mail.send) dropped")).to_be_visible()
    assert row(desk, id) is None


def test_successful_late_and_failed_runs_are_reported(signed_in: Visitor, desk: Desk) -> None:
    def note(error: str, **values: Any) -> None:
        row = {"kind": "mail.send", "job_id": 999_999, "attempt": 3, "began_at": NOW, "due_at": NOW, "ms": 1234}
        desk.store.write(lambda tx: tx.insert(RUN, {**row, **values, "error": error}))

    note("", due_at=NOW - 7200)
    note(HOSTILE)
    page = signed_in.get(f"{RUNS}?kind=mail.send").text
    shown = text_of("".join(each for each in re.findall("<tr>.*?</tr>", page, re.DOTALL) if "999999" in each))
    assert "ran late" in shown and "1234 ms" in shown and HOSTILE in shown and "<script>alert" not in page
    assert shown.count("ran late") == 1 and "failed" in shown and "done" in shown
    assert "999999" not in signed_in.get(f"{RUNS}?kind=backup").text
    assert signed_in.get(f"{RUNS}?kind=nothing").status_code == 422
    desk.store.write(lambda tx: [tx.delete(RUN, id=row[0]) for row in tx.find(RUN, job_id=999_999)])


def test_periodic_tasks_are_switched_and_run(signed_in: Visitor, desk: Desk, nora: Api) -> None:
    name = "reminders due"
    assert name in signed_in.get(SCANS).text and 'name="off" value="0"' not in signed_in.get(SCANS).text
    assert place(signed_in.send(f"{SCANS}/switch", {"name": name, "off": "1"}, page=SCANS)) == SCANS
    assert "switched off. It stays off" in text_of(signed_in.get(SCANS).text)
    assert [row[0] for row in desk.read(lambda tx: tx.find(OFF))] == [name]
    reminder = nora.create("reminder", name="Oil", remind_at="-1 minute", worker_id=nora.ids["nora"]).ok()["id"]
    assert signed_in.send(SCANS, {}).status_code == 303
    assert not nora.record("reminder", reminder)["is_closed"]
    signed_in.send(f"{SCANS}/switch", {"name": name, "off": "0"}, page=SCANS)
    signed_in.send(SCANS, {})
    for _ in range(20_000):
        if nora.record("reminder", reminder)["is_closed"]:
            break
    assert nora.record("reminder", reminder)["is_closed"] and desk.read(lambda tx: tx.find(OFF)) == []
    response = signed_in.send(f"{SCANS}/switch", {"name": "reminder due", "off": "1"}, page=SCANS)
    assert response.status_code == 404 and name in text_of(response.text)
    nora.remove("reminder", reminder).ok()
