"""The days and the times of day that a pattern in words names."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from server.errors import Invalid
from server.record_types.calendars import day_patterns, times_of_day
from server.record_types.calendars.occurrences import Occurrence, RecurringEvent, between, merged, occluded, without


@pytest.mark.parametrize(
    ("line", "days"),
    [
        ("weekdays", [2, 3, 4, 5, 6, 9]),
        ("weekends", [1, 7, 8, 14, 15, 21]),
        ("daily", [1, 2, 3, 4, 5, 6]),
        ("every day", [1, 2, 3, 4, 5, 6]),
        ("every monday", [2, 9, 16, 23, 30]),
        ("mondays", [2, 9, 16, 23, 30]),
        ("mon, wed and fri", [2, 4, 6, 9, 11, 13]),
        ("1st, 15", [1, 15]),
        ("31", []),
        ("first monday of", [2]),
        ("last friday of", [27]),
        ("last day of", [30]),
        ("third thursday of november", [19]),
        ("first monday of january", []),
        ("november 25", [25]),
        ("25 dec", []),
        ("2026-11-03", [3]),
        ("2027-11-03", []),
    ],
)
def test_a_line_names_days_of_a_month(line, days):
    assert sorted(day_patterns.days(line, 2026, 11))[:6] == days


@pytest.mark.parametrize(
    "text",
    ["", "# weekdays", "tomorrow", "today", "+1 day", "now", "next friday", "blurb", "mon, blurb", "0", "32", "9am",
     "weekdays\nblurb", "1795132800", "\n".join(["daily"] * 51), "daily" + " " * 3 + "x" * 300],
)  # fmt: skip
def test_lines_without_days_of_their_own_are_refused(text):
    with pytest.raises(Invalid):
        day_patterns.check(text)


@pytest.mark.parametrize("text", ["weekdays", "# shifts\nMon\n\nTUE", "february 29", "last day of february", "29th"])
def test_lines_that_name_days_are_accepted(text):
    day_patterns.check(text)


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("9am", "5pm", (9, 17)),
        ("09:00", "17:00", (9, 17)),
        ("", "", (0, 24)),
        ("noon", "", (12, 24)),
        ("10pm", "6am", (22, 30)),
        ("10pm", "8 hours", (22, 30)),
        ("00:00", "23:59:59", (0, 24)),
        ("9am", "tomorrow 9am", (9, 33)),
        ("9am", "9am", (9, 33)),
    ],
)
def test_times_of_day(start, end, hours):
    assert times_of_day.seconds_between(start, end) == tuple(3600 * hour for hour in hours)


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        ("blurb", "", "event_start"), ("tomorrow", "", "event_start"), ("900", "", "event_start"),
        ("9am", "blurb", "event_end"), ("9am", "+2 months", "event_end"), ("9am", "1795132800", "event_end"),
    ],
)  # fmt: skip
def test_invalid_times_are_refused_by_name(start, end, field):
    with pytest.raises(Invalid, match=f"^{field}: "):
        times_of_day.seconds_between(start, end)


def moment(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def recurring(lines: str, starts: str, ends: str, zone: str = "UTC", since: int = 0, until: int = 0) -> RecurringEvent:
    model = Occurrence(0, 0, True, "Shift", 1, "recurring", 7)
    return RecurringEvent(tuple(day_patterns.lines(lines)), starts, ends, ZoneInfo(zone), since, until, model)


def found(event: RecurringEvent, start: str, end: str, zone: str = "UTC") -> list[str]:
    listed = between([], [event], moment(start, zone), moment(end, zone))
    return [
        f"{datetime.fromtimestamp(each.start, UTC):%m-%d %H:%M}-{datetime.fromtimestamp(each.end, UTC):%H:%M}"
        for each in listed
    ]


def test_occurrences_that_touch_the_range_are_found_on_both_of_its_sides():
    night = recurring("daily", "10pm", "6am")
    assert found(night, "2026-11-20T00:00", "2026-11-21T00:00") == ["11-19 22:00-06:00", "11-20 22:00-06:00"]
    assert found(night, "2026-11-20T06:00", "2026-11-20T22:00") == []


def test_days_follow_daylight_saving_of_their_zone():
    shift = recurring("daily", "9am", "5pm", "Europe/Berlin")
    assert found(shift, "2027-03-27T12:00", "2027-03-29T12:00") == [
        "03-27 08:00-16:00", "03-28 07:00-15:00", "03-29 07:00-15:00",
    ]  # fmt: skip


def test_a_day_that_has_begun_in_another_zone_is_found():
    shift = recurring("saturday", "6am", "8am", "Pacific/Auckland")
    assert found(shift, "2026-11-20T00:00", "2026-11-20T18:00") == ["11-20 17:00-19:00"]


def test_occurrences_begin_between_the_limits():
    limited = recurring("daily", "9am", "10am", since=moment("2026-11-20T09:30"), until=moment("2026-11-22T09:00"))
    assert found(limited, "2026-11-01T00:00", "2026-12-01T00:00") == ["11-21 09:00-10:00", "11-22 09:00-10:00"]


def test_long_ranges_and_excessive_events_are_refused():
    with pytest.raises(Invalid, match="190 days"):
        found(recurring("daily", "", ""), "2026-01-01T00:00", "2026-12-01T00:00")
    with pytest.raises(Invalid, match="more than 10000 events"):
        between([], [recurring("daily", "", "")] * 400, moment("2026-01-01T00:00"), moment("2026-02-01T00:00"))
    with pytest.raises(Invalid, match="ends before"):
        between([], [], 2, 1)


def test_busy_hides_available():
    def event(start: int, end: int, is_available: bool) -> Occurrence:
        return Occurrence(start, end, is_available, "x", 1, "event", 1)

    shown = occluded([event(0, 100, True), event(10, 20, False), event(15, 30, False), event(90, 120, False)])
    assert [(each.start, each.end) for each in shown if each.is_available] == [(0, 10), (30, 90)]
    assert len(shown) == 5


def test_ranges_are_merged_and_subtracted():
    assert merged([(5, 9), (1, 3), (3, 4), (9, 9), (20, 10)]) == [(1, 4), (5, 9)]
    assert list(without(0, 10, [(2, 3), (4, 5), (9, 30)])) == [(0, 2), (3, 4), (5, 9)]
    assert list(without(2, 3, [(0, 10)])) == []
    assert list(without(5, 5, [(0, 4), (6, 7)])) == [(5, 5)]
    assert list(without(5, 5, [(0, 6)])) == []
