"""Calendars, metrics, mailboxes and workspaces over HTTP: behaviour that is only visible there."""

import pytest

from tests.service import Api

APP = {"owner__context": "app"}


@pytest.fixture(scope="module")
def shifts(nora: Api) -> int:
    """A calendar of an app that is available every day from 9 to 17 UTC."""
    id = int(nora.create("calendar", name="Shifts", timezone="UTC", **APP).ok()["id"])
    nora.create(
        "calendar_event_recurring", calendar_id=id, name="Shift", patterns="daily", event_start="9am",
        event_end="17:00", is_available=1,
    ).ok()  # fmt: skip
    nora.update("worker", nora.ids["olga"], calendar_id=id).ok()
    return id


def test_workers_are_found_by_their_availability(api: Api, shifts: int) -> None:
    assert api.as_("milo").found("worker", 'isAvailable:"tomorrow 10am"') == [api.ids["olga"]]
    assert api.found("worker", 'isBusy:"tomorrow 6pm"') == [api.ids["olga"]]
    response = api.search("worker", 'isAvailable:"big bang to now"')
    assert response.status == 422 and "190 days" in response["message"]


def test_a_calendar_shows_its_month(api: Api, shifts: int) -> None:
    shown = api.as_("milo").record("calendar", shifts, expand="scope,weeks_events,owner_").ok()
    days = [day for week in shown["weeks"] for day in week]
    assert len(days) in (28, 35, 42) and all(day["events"][0]["label"] == "Shift" for day in days)
    assert shown["scope"]["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("patterns", "named"), [("blurb", "blurb"), ("tomorrow", "tomorrow"), ("weekdays\n99", "99"), ("", "patterns")]
)
def test_a_pattern_without_days_is_reported(api: Api, shifts: int, patterns: str, named: str) -> None:
    response = api.create("calendar_event_recurring", calendar_id=shifts, name="E", patterns=patterns)
    assert response.status == 422 and named in response["message"]


def test_events_on_a_read_only_calendar_are_refused(api: Api, shifts: int) -> None:
    event = {"calendar_id": shifts, "name": "Fair", "date_start": "tomorrow 10am", "date_end": "tomorrow 11am"}
    assert api.as_("milo").create("calendar_event", **event).status == 403
    made = api.create("calendar_event", **event).ok()
    assert made["date_end"] - made["date_start"] == 3600
    assert api.as_("milo").remove("calendar_event", made["id"]).status == 403
    assert api.remove("calendar_event", made["id"]).status == 200


def test_metrics_of_the_service_exist_from_the_start(api: Api) -> None:
    names = {each["name"] for each in api.search("metric", "svc.", limit=50).ok()["results"]}
    assert {"svc.record.search", "svc.workers.active", "svc.tickets.open", "svc.mail.transport.failures"} <= names
    assert api.as_("milo").create("metric", name="mine").status == 403
    assert api.create("metric", name="svc.record.search").status == 409


def test_mailboxes_are_hidden_from_others_and_their_password_from_everyone(api: Api) -> None:
    values = {"name": "Support", "host": "mail.example", "username": "support", "password": "s3cret"}
    made = api.create("mailbox", **values, is_enabled=0).ok()  # else the service would poll it during other tests
    assert "s3cret" not in made.response.text
    assert api.as_("milo").record("mailbox", made["id"]).status == 403
    assert api.as_("milo").search("mailbox").ok()["total"] == 0


def test_a_page_with_tabs_and_widgets_is_returned_whole(api: Api) -> None:
    page = api.create("workspace_page", name="Desk", extension_id="core.workspace.page.workspace", **APP).ok()["id"]
    tab = api.create("workspace_tab", name="All", page_id=page, extension_id="core.workspace.tab.dashboard").ok()["id"]
    api.create("workspace_widget", label="Open", tab_id=tab, extension_id="counter", params={"q": "status:o"}).ok()
    shown = api.as_("milo").record("workspace_page", page, expand="widgets").ok()
    assert shown["tabs"][0]["widgets"][0]["params"] == {"q": "status:o"}
    assert api.as_("milo").remove("workspace_tab", tab).status == 403
    assert api.remove("workspace_page", page).status == 200
    assert api.record("workspace_tab", tab).status == 404
