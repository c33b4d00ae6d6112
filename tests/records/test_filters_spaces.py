"""Searches of calendars, metrics, mailboxes and workspaces."""

import pytest

from server.errors import BadQuery

FAMILY = "spaces"


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("calendar", "pump", True),
        ("calendar", "owner.app:any", True),
        ("calendar", "owner:worker", False),
        ("calendar", "timezone:UTC", True),
        ("calendar", "watchers:(firstName:olga)", True),
        ("calendar", "workerAvailability:(firstName:milo)", True),
        ("calendar_event", "status:a", True),
        ("calendar_event", "status:[busy]", False),
        ("calendar_event", "calendar:(name:pump*)", True),
        ("calendar_event", "startDate:today", True),
        ("calendar_event", "endDate:never", False),
        ("calendar_event_recurring", "status:available", True),
        ("calendar_event_recurring", "timezone:Europe/Berlin", True),
        ("calendar_event_recurring", "timezone:Europe", False),
        ("metric", "type:gauge", True),
        ("metric", "type:counter", False),
        ("metric", "description:uses", True),
        ("mailbox", "host:pump.example", True),
        ("mailbox", "host:pump", False),
        ("mailbox", "enabled:yes fail.count:0 checkedAt:never", True),
        ("mailbox", "protocol:imap", False),
        ("workspace_page", "type:workspace", True),
        ("workspace_tab", "workspace:(name:pump*)", True),
        ("workspace_tab", "page.id:1 workspace.id:1 pos:0", True),
        ("workspace_list", "type:tickets", True),
        ("workspace_list", "type:task", False),
        ("workspace_list", "tab:(name:pump*) tab.pos:0", True),
        ("workspace_widget", "type:counter zone:content width:1", True),
        ("workspace_widget", "type:chart", False),
    ],
)
def test_filters_find_the_described_records(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


def test_pages_have_no_filter_on_links(filled):
    desk, _ = filled
    with pytest.raises(BadQuery, match="links"):
        desk.found("workspace_page", "links:any")
