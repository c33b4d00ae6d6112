"""Calendars, metrics, mailboxes and workspaces."""

from tests.records.desk import NOW, Desk

TYPES = (
    "calendar", "calendar_event", "calendar_event_recurring", "metric", "mailbox", "project_board",
    "project_board_column", "workspace_page", "workspace_tab", "workspace_list", "workspace_widget",
)  # fmt: skip


def populate(desk: Desk) -> dict[str, int]:
    """Creates one record of each type, with the values that other types search for."""
    ids = desk.people()
    app, watched = {"owner__context": "app"}, {"links": [f"worker:{ids['olga']}"]}
    made = {**ids, "calendar": desk.create("calendar", name="Pump shifts", timezone="UTC", **app, **watched)["id"]}
    on = {"calendar_id": made["calendar"], "is_available": 1}
    desk.update("worker", ids["milo"], calendar_id=made["calendar"])
    made["calendar_event"] = desk.create(
        "calendar_event", name="Pump fair", date_start=NOW, date_end=NOW + 60, **on, **watched
    )["id"]
    made["calendar_event_recurring"] = desk.create(
        "calendar_event_recurring", name="Pump watch", patterns="weekdays", tz="Europe/Berlin", **on, **watched
    )["id"]
    made["metric"] = desk.create("metric", name="pump.uses", type="gauge", description="Pump uses", **watched)["id"]
    made["mailbox"] = desk.create("mailbox", name="Pump mail", host="pump.example", username="pump", **watched)["id"]
    made["workspace_page"] = desk.create(
        "workspace_page", name="Pump desk", extension_id="core.workspace.page.workspace", **app
    )["id"]
    made["workspace_tab"] = desk.create(
        "workspace_tab", name="Pump tab", page_id=made["workspace_page"], extension_id="core.workspace.tab.dashboard"
    )["id"]
    tab = {"tab_id": made["workspace_tab"]}
    made["workspace_list"] = desk.create("workspace_list", name="Pump tickets", context="ticket", **tab)["id"]
    made["workspace_widget"] = desk.create(
        "workspace_widget", label="Pumps", extension_id="counter", zone="content", **tab
    )["id"]
    made["project_board"] = desk.create("project_board", name="Pump board", **watched)["id"]
    made["project_board_column"] = desk.create(
        "project_board_column", name="Pump column", board_id=made["project_board"], **watched
    )["id"]
    return made
