"""Holidays of calendars: what lists and iCalendar files name, and what clocks skip."""

import pytest

from server.errors import Forbidden, Invalid
from server.imports import holidays
from server.record_types.calendars import holidays as days
from tests.desk.conftest import NOW, Post
from tests.desk.test_targets import DAY, FIVE_PM, HOUR, MONDAY_9, OF_ALL, SCANS, Promises, calendar

assert SCANS
names = pytest.mark.parametrize
FILE = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261225
DTEND;VALUE=DATE:20261227
SUMMARY:Christmas\\, both
  days
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260101
SUMMARY:New Year
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261126
SUMMARY:Thanksgiving
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH
END:VEVENT
BEGIN:VEVENT
DTSTART:20261126T100000Z
SUMMARY:A meeting is no holiday
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261127
STATUS:CANCELLED
SUMMARY:Nor is this
END:VEVENT
END:VCALENDAR
"""


@names(
    ("text", "lines"),
    [
        ("2026-12-25 Christmas", ["2026-12-25 Christmas"]),
        ("25 Dec Christmas\n\n# a remark\n1st of May Labour Day", ["december 25 Christmas", "may 1 Labour Day"]),
        ("25.12. Weihnachten\nEinheit;3. Okt 2026", ["december 25 Weihnachten", "2026-10-03 Einheit"]),
        ("Karfreitag, 3. April 2026", ["2026-04-03 Karfreitag"]),
        ("last Monday of May Memorial Day", ["last monday of may Memorial Day"]),
        ("2026-12-30 to 2027-01-01 Closed", ["2026-12-30 Closed", "2026-12-31 Closed", "2027-01-01 Closed"]),
        ("31 Dec - 1 Jan Closed", ["december 31 Closed", "january 1 Closed"]),
        ("29 Feb Leap", ["february 29 Leap"]),
        ("25 Dec One\n25 Dec Two", ["december 25 One"]),
        (
            FILE.replace("\n", "\r\n"),
            [
                "2026-12-25 Christmas, both days",
                "2026-12-26 Christmas, both days",
                "january 1 New Year",
                "fourth thursday of november Thanksgiving",
            ],
        ),
    ],
)
def test_days_are_read_from_a_text(text: str, lines: list[str]) -> None:
    read = days.read(text)
    assert [each.line for each in read] == lines
    assert [each.days for each in days.read("\n".join(lines))] == [each.days for each in read]


def test_days_with_a_year_can_repeat() -> None:
    assert [each.line for each in days.read("2026-12-25 Christmas", is_yearly=True)] == ["december 25 Christmas"]


@names(
    ("text", "problem"),
    [
        ("25 Dec Christmas\nEaster", "line 2: 'Easter' has no date"),
        ("2026-12-25", "line 1: write the name"),
        ("31.2. Never", "there is no day 31 of month 2"),
        ("2026-01-01 - 2026-12-31 Closed", "at most 62 days"),
        ("12 marbles", "has no date"),
        (
            "\n".join(f"2026-{month:02}-01 - 2026-{month:02}-28 Closed" for month in range(1, 13))
            + "\n2027-01-01 - 2027-02-28 Closed",
            "at most 366 days at once, this has 395",
        ),
    ],
)
def test_a_text_without_days_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        days.read(text)


def test_clocks_skip_holidays(desk: Post) -> None:
    hours = calendar(desk)
    added = holidays.add(desk.context(), hours, "23 Nov Founding day\n2026-11-24 Outing")
    assert len(added.ids) == 2
    promises = Promises(desk, hours)
    assert desk.ticket(promises.ticket())["response_due_at"] == MONDAY_9 + 2 * DAY + 4 * HOUR - (FIVE_PM - NOW)


def test_a_calendar_with_only_holidays_has_all_other_hours(desk: Post) -> None:
    hours = desk.create("calendar", name="Empty", timezone="UTC", **OF_ALL)
    holidays.add(desk.context(), hours, "2026-11-21 Saturday")
    assert Promises(desk, hours).due(desk.create("ticket", subject="Boat", group_id=desk.support))[0] == 240
    desk.now = FIVE_PM + 5 * HOUR
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    assert desk.ticket(id)["response_due_at"] == desk.now + DAY + 4 * HOUR


def test_known_days_stay_as_they_are_and_removed_ones_return(desk: Post) -> None:
    id = desk.create("calendar", name="Hours", timezone="UTC", **OF_ALL)
    holidays.add(desk.context(), id, "25 Dec Christmas\n2026-12-24 Closed")
    again = holidays.add(desk.context(), id, "2027-01-01 New Year\n25.12. Weihnachten")
    assert (len(again.ids), again.known) == (1, 1)
    listed = holidays.of_calendar(desk.context(), id)
    assert [each.line for each in listed.values()] == [
        "december 25 Christmas",
        "2026-12-24 Closed",
        "2027-01-01 New Year",
    ]
    removed = holidays.remove(desk.context(), id, [*listed][:2])
    assert [each.line for each in removed] == ["december 25 Christmas", "2026-12-24 Closed"]
    assert len(holidays.of_calendar(desk.context(), id)) == 1


def test_only_who_may_change_a_calendar_adds_holidays(desk: Post) -> None:
    id = desk.create("calendar", name="Hours", timezone="UTC", owner__context="svc.contexts.worker", owner_id=desk.nora)
    with pytest.raises(Forbidden):
        holidays.add(desk.context(desk.milo), id, "25 Dec Christmas")
