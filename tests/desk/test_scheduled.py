"""Jobs as administrators see them, without pages; the pages are tested in tests/console/test_jobs.py."""

from pathlib import Path

from server.jobs.job_queue import JobQueue
from server.records import event_publishing
from server.upkeep import scheduled_jobs
from tests.records.desk import NOW, Desk


def test_the_log_of_a_dropped_job_contains_no_records(tmp_path: Path) -> None:
    """An event's job contains former states of records of any group, which a log entry must not retain longer."""
    desk = Desk(tmp_path)
    desk.own(
        "automation_event",
        name=event_publishing.CHANGED,
        extension_id="x",
        automations_kata="automation/a:\n  uri: {{'a'}}",
    )
    task = desk.create("task", title="Merger talks")["id"]
    desk.update("task", task, title="Merger talks with Acme")
    backup = desk.store.write(lambda tx: JobQueue.add(tx, "backup.verify", NOW, {"name": "helpdesk-1.db"}))
    told, _ = scheduled_jobs.list_jobs(desk.context())
    assert any("Merger" in each.payload for each in told)
    for each in told:
        scheduled_jobs.drop(desk.context(), each.id)
    entries = [each for each in desk.acts() if "dropped job" in each]
    assert len(entries) == len(told) and "Merger" not in str(entries)
    assert f"Helpdesk dropped job {backup} (backup.verify): helpdesk-1.db" in entries
    assert f"{event_publishing.CHANGED}, " in str(entries) and f"record_id {task}" in str(entries)
    desk.close()
