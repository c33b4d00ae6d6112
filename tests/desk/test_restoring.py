"""Restores of a running service, as far as they need no server; the rest is in tests/console/test_backups.py."""

from dataclasses import replace
from pathlib import Path

from server.upkeep.restoring import Restore, Restores
from tests.records.desk import NOW, Desk


def test_a_restore_succeeds_although_nothing_can_be_logged(tmp_path: Path) -> None:
    """The disk may be full with two databases on it; a missing log entry must not end the service."""
    desk = Desk(tmp_path)
    desk.close()
    restores = Restores(lambda exchange: None)
    stopping = Restore("helpdesk-20261120-101500.db", "Nora", NOW, "stopping", kept="helpdesk.db.before-restore-1")
    restores.last = stopping
    restores.offer(desk.service)
    assert restores.last == replace(stopping, stage="done")
