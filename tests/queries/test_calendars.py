"""`calendar.events` and `calendar.availability`."""

import pytest

from server.errors import BadDataQuery
from tests.records.desk import NOW

DAY = 86400
TODAY = NOW // DAY * DAY  # 2026-11-18, a Wednesday
SHIFT = {"name": "Shift", "patterns": "weekdays", "event_start": "9am", "event_end": "5pm", "is_available": 1}


@pytest.fixture
def shifts(desk, ids):
    """Two calendars of the service, Shifts and Fairs, and one of nora's; the shifts have a busy hour today."""
    made = {}
    for name, owner in (("Shifts", {}), ("Fairs", {}), ("Nora", {"owner_id": ids["nora"]})):
        kind = "worker" if owner else "app"
        made[name] = desk.create("calendar", name=name, owner__context=kind, **owner)["id"]
    made["shift"] = desk.create("calendar_event_recurring", calendar_id=made["Shifts"], **SHIFT)["id"]
    made["lunch"] = desk.create(
        "calendar_event", calendar_id=made["Shifts"], name="Lunch", date_start=at(12.5), date_end=at(13.5)
    )["id"]
    made["party"] = desk.create(
        "calendar_event", calendar_id=made["Nora"], name="Party", date_start=at(22), date_end=at(26), is_available=1
    )["id"]
    return made


def at(hours: float) -> int:
    return TODAY + int(hours * 3600)


def test_events_are_listed_by_day_and_cut_to_it(ask, shifts):
    result = ask("type:calendar.events calendar:(name:Nora) from:today to:tomorrow")
    assert result["_"] == {"type": "calendar.events", "format": "dictionaries"}
    first, second = result["data"]["events"].values()
    assert list(result["data"]["events"]) == [str(TODAY), str(TODAY + DAY)]
    assert first == [{
        "label": "Party", "ts": at(22), "ts_end": at(24) - 1, "ts_range_start": at(22), "ts_range_end": at(26) - 1,
        "is_available": 1, "color": "#A0D95B", "calendar_id": shifts["Nora"],
        "calendar__context": "svc.contexts.calendar", "record__context": "svc.contexts.calendar_event",
        "record_id": shifts["party"],
    }]  # fmt: skip
    assert (second[0]["ts"], second[0]["ts_end"]) == (at(24), at(26) - 1)


def test_without_dates_it_is_a_month_from_today(ask, shifts):
    days = ask("type:calendar.events calendar:(name:Shifts)")["data"]["events"]
    assert min(map(int, days)) == TODAY and len(days) == 23
    assert [each["label"] for each in days[str(TODAY)]] == ["Shift", "Lunch"]


def test_days_are_those_of_the_zone(ask, shifts):
    days = ask("type:calendar.events calendar:(name:Nora) from:today to:today timezone:Asia/Tokyo")["data"]["events"]
    assert days == {}
    days = ask("type:calendar.events calendar:(name:Nora) from:tomorrow to:tomorrow timezone:Asia/Tokyo")
    assert list(days["data"]["events"]) == [str(TODAY + DAY - 9 * 3600)]


def test_only_calendars_that_the_caller_may_read_count(ask, shifts, ids):
    def labels(by):
        days = ask("type:calendar.events from:today to:today", by)["data"]["events"]
        return {each["label"] for day in days.values() for each in day}

    assert labels(ids["milo"]) == {"Shift", "Lunch"}
    assert labels(ids["nora"]) == {"Shift", "Lunch", "Party"}


def test_events_open_what_they_come_from(ask, shifts):
    days = ask("type:calendar.events from:today to:today expand:[record_,calendar_]")["data"]["events"]
    opened = {each["label"]: each for each in days[str(TODAY)]}
    assert opened["Shift"]["record_patterns"] == "weekdays" and opened["Lunch"]["record_date_end"] == at(13.5)
    assert opened["Lunch"]["calendar_name"] == "Shifts"


def test_minutes_of_each_hour_are_added_up(ask, shifts, desk):
    rows = ask('type:calendar.availability calendars:(name:Shifts) range:"today 11:00 to today 15:00"')["data"]
    assert rows[:4] == [
        {"date": "2026-11-18T11:00:00", "value": 60}, {"date": "2026-11-18T12:00:00", "value": 30},
        {"date": "2026-11-18T13:00:00", "value": 30}, {"date": "2026-11-18T14:00:00", "value": 60},
    ]  # fmt: skip
    desk.create("calendar_event_recurring", calendar_id=shifts["Fairs"], **SHIFT)
    both = ask('type:calendar.availability range:"today 11:00 to today 12:59:59"')["data"]
    assert [row["value"] for row in both] == [120, 90]


def test_the_range_is_this_month_and_nobody_is_never_available(ask, shifts):
    rows = ask("type:calendar.availability calendars:(name:Blurb) format:timeblocks")["data"]
    assert len(rows) == 30 * 24 and {row["value"] for row in rows} == {0}
    assert rows[0]["date"] == "2026-11-01T00:00:00"


def test_hours_follow_the_clocks(ask, shifts):
    rows = ask('type:calendar.availability range:"2027-03-28 to 2027-03-28" timezone:Europe/Berlin calendars:(id:0)')
    assert len(rows["data"]) == 23 and rows["data"][2]["date"] == "2027-03-28T03:00:00"


@pytest.mark.parametrize(
    ("q", "field"),
    [
        ("type:calendar.events from:blurb", "from"),
        ("type:calendar.events to:blurb", "to"),
        ("type:calendar.events from:today to:yesterday", "to"),
        ('type:calendar.events from:today to:"+1 year"', "to"),
        ('type:calendar.events from:9999-12-30 to:"9999-12-31"', "to"),
        ('type:calendar.availability range:"9999-12-31 to 9999-12-31"', "range"),
        ("type:calendar.availability range:blurb", "range"),
        ("type:calendar.availability range:2026", "range"),
        ("type:calendar.availability range:never", "range"),
        ("type:calendar.availability calendar:(name:x)", "calendar"),
    ],
)
def test_ranges_and_keys_that_cannot_be_are_refused(refuse, shifts, q, field):
    error = refuse(q)
    assert isinstance(error, BadDataQuery) and error.details["field"] == field


def test_a_hundred_calendars_are_looked_at_and_no_more(ask, refuse, desk, monkeypatch):
    monkeypatch.setattr("server.queries.calendars.MAX_CALENDARS", 2)
    for place in range(3):
        desk.create("calendar", name=f"C{place}", owner__context="app")
    assert "more than 2 calendars" in refuse("type:calendar.availability").message
    assert ask("type:calendar.availability calendars:(limit:2) range:today")["data"]
