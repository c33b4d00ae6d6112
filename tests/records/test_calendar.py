"""Calendars and their events: validation, permissions, contents, and availability."""

import pytest

from server.errors import Conflict, Forbidden, HelpdeskError
from server.record_types import calendar
from tests.records.desk import NOW

DAY = 86400
TODAY = NOW // DAY * DAY  # 2026-11-18, a Wednesday
APP = {"owner__context": "app"}
SHIFT = {"name": "Shift", "patterns": "weekdays", "event_start": "9am", "event_end": "5pm", "is_available": 1}


@pytest.fixture
def shift(desk, ids):
    """A calendar of the service that is available on weekdays from nine to five; nora uses it."""
    id = desk.create("calendar", name="Shifts", **APP)["id"]
    desk.create("calendar_event_recurring", calendar_id=id, **SHIFT)
    desk.update("worker", ids["nora"], calendar_id=id)
    return id


def at(hours: float, days: int = 0) -> int:
    return TODAY + days * DAY + int(hours * 3600)


@pytest.mark.parametrize(
    ("uri", "fields", "message"),
    [
        ("calendar", {"name": ""}, "name"),
        ("calendar", {"owner_id": 7}, "owner_id"),
        ("calendar", {"owner__context": "ticket"}, "owner__context"),
        ("calendar", {"timezone": "Nowhere/Land"}, "timezone"),
        ("calendar", {"params": "blurb"}, "params"),
        ("calendar", {"params": {"color_busy": "red"}}, "params: color_busy"),
        ("calendar", {"params": {"start_on_mon": "2"}}, "params: start_on_mon"),
        ("calendar", {"params": {"series": "x"}}, "params: series"),
        ("calendar_event", {"name": ""}, "name"),
        ("calendar_event", {"calendar_id": 99}, "calendar_id"),
        ("calendar_event", {"date_start": "blurb"}, "date_start"),
        ("calendar_event", {"date_start": "0"}, "date_start"),
        ("calendar_event", {"date_end": "2026-11-01"}, "date_end"),
        ("calendar_event", {"is_available": "2"}, "is_available"),
        ("calendar_event_recurring", {"patterns": ""}, "patterns"),
        ("calendar_event_recurring", {"patterns": "blurb"}, "patterns: 'blurb'"),
        ("calendar_event_recurring", {"event_start": "blurb"}, "event_start"),
        ("calendar_event_recurring", {"event_end": "+3 months"}, "event_end"),
        ("calendar_event_recurring", {"tz": "Nowhere/Land"}, "tz"),
        ("calendar_event_recurring", {"recur_start": "2026-11-10", "recur_end": "2026-11-01"}, "recur_end"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, shift, uri, fields, message):
    good = {
        "calendar": {"name": "C", **APP},
        "calendar_event": {"calendar_id": shift, "name": "E", "date_start": "2026-11-20"},
        "calendar_event_recurring": {"calendar_id": shift, **SHIFT},
    }[uri]
    with pytest.raises(HelpdeskError, match=f"^{message}"):
        desk.create(uri, **good | fields)
    made = desk.create(uri, **good)["id"]
    with pytest.raises(HelpdeskError, match=f"^{message}"):
        desk.update(uri, made, **fields)


def test_settings_are_checked_and_not_shown(desk, ids):
    made = desk.create("calendar", name="C", params={"start_on_mon": "1", "color_busy": "#AA0000"}, **APP)
    assert "params" not in made
    assert desk.row("calendar", made["id"])["params"] == {"start_on_mon": 1, "color_busy": "#AA0000"}


def test_creating_an_event_is_logged_on_its_calendar(desk, shift):
    desk.create("calendar_event", calendar_id=shift, name="Fair", date_start=at(10))
    for point, name in (("calendar_event.created", "Fair"), ("calendar_event_recurring.created", "Shift")):
        entry = desk.log(point)[0]
        assert (entry["target__context"], entry["target_id"]) == ("svc.contexts.calendar", shift)
        assert entry["params"]["variables"]["event"] == name


def test_events_follow_their_calendar(desk, ids):
    everything = desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    assert everything
    milo, olga = ids["milo"], ids["olga"]
    own = desk.create("calendar", by=milo, name="Milo's", owner__context="worker", owner_id=milo)["id"]
    event = desk.create("calendar_event", by=milo, calendar_id=own, name="Dentist", date_start=at(10))["id"]
    with pytest.raises(Forbidden):
        desk.record("calendar_event", event, by=olga)
    assert desk.found("calendar_event", "", by=olga) == []
    assert desk.found("calendar_event", "", by=milo) == [event]
    with pytest.raises(HelpdeskError, match="no calendar"):
        desk.create("calendar_event", by=olga, calendar_id=own, name="Mine", date_start=at(10))
    hers = desk.create("calendar", by=olga, name="Olga's", owner__context="worker", owner_id=olga)["id"]
    with pytest.raises(HelpdeskError, match="no calendar"):
        desk.update("calendar_event", event, by=milo, calendar_id=hers)
    with pytest.raises(Forbidden):
        desk.delete("calendar_event", event, by=olga)
    desk.delete("calendar_event", event, by=milo)


def test_everyone_reads_calendars_of_the_service_and_administrators_change_them(desk, ids, shift):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    assert desk.found("calendar_event_recurring", "calendar:(name:Shifts)", by=ids["olga"])
    with pytest.raises(Forbidden, match="its calendar"):
        desk.create("calendar_event", by=ids["olga"], calendar_id=shift, name="E", date_start=at(10))
    assert desk.create("calendar_event", by=ids["nora"], calendar_id=shift, name="E", date_start=at(10))["id"]


def test_deleting_a_calendar_deletes_its_events_and_clears_it_in_workers(desk, ids, shift, monkeypatch):
    desk.create("calendar_event", calendar_id=shift, name="E", date_start=at(10))
    monkeypatch.setattr(calendar, "MAX_EVENTS_GONE", 1)
    with pytest.raises(Conflict, match="events"):
        desk.delete("calendar", shift)
    monkeypatch.setattr(calendar, "MAX_EVENTS_GONE", 2)
    desk.delete("calendar", shift)
    assert desk.found("calendar_event", "") == desk.found("calendar_event_recurring", "") == []
    assert desk.row("worker", ids["nora"])["calendar_id"] == 0


def test_a_calendar_shows_its_month(desk, shift):
    desk.create("calendar_event", calendar_id=shift, name="Fair", date_start=at(16), date_end=at(20))
    desk.create("calendar_event", calendar_id=shift, name="Night", date_start=at(22), date_end=at(2, 1))
    plain = desk.record("calendar", shift, expand="scope,weeks,events")
    assert (plain["scope"]["year"], plain["scope"]["month"]) == (2026, 11)
    days = [day for week in plain["weeks"] for day in week]
    assert len(days) == 35 and [day["dom"] for day in days if not day["is_padding"]] == list(range(1, 31))
    assert all("events" not in day for day in days)
    today = plain["events"][str(TODAY)]
    assert [(each["label"], each["ts"], each["ts_end"]) for each in today] == [
        ("Shift", at(9), at(17) - 1), ("Fair", at(16), at(20) - 1), ("Night", at(22), at(24) - 1),
    ]  # fmt: skip
    rest = plain["events"][str(TODAY + DAY)][0]
    assert (rest["label"], rest["ts"], rest["ts_end"]) == ("Night", at(0, 1), at(2, 1) - 1)
    assert (rest["ts_range_start"], rest["ts_range_end"]) == (at(22), at(2, 1) - 1)
    hidden = desk.record("calendar", shift, expand="events_occluded")["events"][str(TODAY)]
    assert [(each["label"], each["ts_end"]) for each in hidden][:2] == [("Shift", at(16) - 1), ("Fair", at(20) - 1)]
    weeks = desk.record("calendar", shift, expand="weeks_events_occluded")["weeks"]
    assert [day["events"] for week in weeks for day in week if day["timestamp"] == TODAY] == [hidden]
    assert desk.record("calendar", shift, expand="weeks_events")["weeks"] != weeks


def test_weeks_may_begin_on_monday_and_days_are_in_the_calendars_zone(desk, ids):
    id = desk.create("calendar", name="C", timezone="Asia/Tokyo", params={"start_on_mon": 1}, **APP)["id"]
    desk.create("calendar_event", calendar_id=id, name="E", date_start=at(20), date_end=at(21))
    shown = desk.record("calendar", id, expand="scope,weeks,events")
    assert shown["weeks"][0][0]["dom"] == 26 and shown["scope"]["timezone"] == "Asia/Tokyo"
    assert list(shown["events"]) == [str(TODAY + DAY - 9 * 3600)]


def test_a_calendar_with_disabled_events_shows_none(desk, shift):
    desk.update("calendar", shift, params={"manual_disabled": 1})
    assert desk.record("calendar", shift, expand="events")["events"] == {}


@pytest.mark.parametrize(
    ("q", "finds"),
    [
        ('isAvailable:"today 10am"', True),
        ('isBusy:"today 10am"', False),
        ('isAvailable:"today 6pm"', False),
        ('isBusy:"today 6pm"', True),
        ('isAvailable:"today 9am to today 5pm"', True),
        ('isAvailable:"today 9am to today 5:01pm"', False),
        ("isBusy:today", True),
        ('isAvailable:["today 6pm","today 10am"]', True),
        ("isAvailable:(since:2026-11-16 until:2026-11-20 days:weekdays times:9a-5p)", True),
        ("isAvailable:(since:2026-11-21 until:2026-11-22 times:9a-5p)", False),
        ('isAvailable:(since:"today" until:"today 11:59pm" times:9-11a)', True),
        ('isAvailable:(since:"tomorrow 9am" until:"tomorrow noon")', True),
        ("isBusy:never", False),
        ("isAvailable:never", False),
    ],
)
def test_workers_are_available_when_their_calendar_says_so(desk, ids, shift, q, finds):
    assert (ids["nora"] in desk.found("worker", q)) is finds
    assert ids["milo"] not in desk.found("worker", q)


def test_a_busy_event_removes_availability(desk, ids, shift):
    desk.create("calendar_event", calendar_id=shift, name="Fair", date_start=at(10), date_end=at(11))
    assert desk.found("worker", 'isAvailable:"today 10:30am"') == []
    assert desk.found("worker", 'isAvailable:"today 11am"') == [ids["nora"]]


def test_availability_of_unreadable_calendars_is_hidden(desk, ids):
    nora = ids["nora"]
    own = desk.create("calendar", name="Nora's", owner__context="worker", owner_id=nora)["id"]
    desk.create("calendar_event_recurring", calendar_id=own, **SHIFT)
    desk.update("worker", nora, calendar_id=own)
    assert desk.found("worker", 'isAvailable:"today 10am"', by=nora) == [nora]
    assert desk.found("worker", 'isAvailable:"today 10am" OR isBusy:"today 10am"', by=ids["milo"]) == []


@pytest.mark.parametrize("q", ["isBusy:blurb", "isAvailable:(blurb:x)", 'isAvailable:"big bang to now"',
                               'isBusy:"9999-12-31 to 9999-12-31"',
                               "isAvailable:(days:weekdays)"])  # fmt: skip
def test_invalid_ranges_are_refused(desk, shift, q):
    with pytest.raises(HelpdeskError, match=r"is(Busy|Available)"):
        desk.found("worker", q)


def test_calendars_are_found_by_the_workers_who_use_them(desk, shift):
    assert desk.found("calendar", "workerAvailability:(firstName:nora)") == [shift]
    assert desk.found("calendar", "workerAvailability:(firstName:milo)") == []
    assert desk.found("worker", "calendar:(name:Shifts)") != []
