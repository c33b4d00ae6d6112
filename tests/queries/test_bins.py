"""Bins of dates: every instant is in one bin, through all clock changes, and its search text selects its instants."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from server import times
from server.counting.bins import UNITS, TimeScale
from server.counting.wall_clock import WallClock
from tests.records.desk import NOW
from tests.telling import telling

ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns",
    "Africa/Monrovia", "Pacific/Apia", "America/Havana", "Africa/Cairo",
]  # fmt: skip
# A clock that changes by an hour, and one that changes by half an hour.
EACH_ZONE = telling(ZONES, ["Europe/Berlin", "Australia/Lord_Howe"], "every kind of clock")
LINEAR = [unit for unit in UNITS if not unit.is_cyclic and unit.name != "unix"]


def instants(zone: str) -> list[int]:
    """Instants around each clock change of some years, and elsewhere."""
    clock, chance, found = WallClock(ZoneInfo(zone)), random.Random(3), []
    years = [1971, 1972, 1989, 2010, 2011, 2026]
    for year in years:
        start = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
        for day in range(365):
            at = start + day * 86400
            if clock.offset(at) != clock.offset(at + 86400):
                found += [at + chance.randrange(86400) for _ in range(60)]
    return [*found, *(chance.randrange(1, 2 * NOW) for _ in range(60)), 1, 253402300799]


@pytest.mark.parametrize("zone", EACH_ZONE)
def test_an_instant_lies_in_the_pieces_of_its_bin_and_in_no_others(zone: str) -> None:
    listed = instants(zone)
    for unit in LINEAR:
        calendar = TimeScale(unit, ZoneInfo(zone), NOW)
        bins = calendar.fold(listed, 1)
        assert bins is not None
        pieces = sorted((first, last, entry) for entry in set(bins.values()) for first, last in entry.pieces)
        for at in listed:
            holding = [entry for first, last, entry in pieces if first <= at <= last]
            assert holding == [bins[at]], (unit.name, zone, at)


@pytest.mark.parametrize("zone", EACH_ZONE)
def test_the_texts_of_a_bin_mean_its_pieces(zone: str) -> None:
    tz = ZoneInfo(zone)
    for unit in LINEAR:
        calendar = TimeScale(unit, tz, NOW)
        for entry in set((calendar.fold(instants(zone), 1) or {}).values()):
            spans = [times.span(text, NOW, tz) for text in entry.texts]
            assert [(span.start, span.end) for span in spans] == entry.pieces, (unit.name, entry.label)


@pytest.mark.parametrize("zone", EACH_ZONE)
def test_a_bucket_in_two_bins_is_reported(zone: str) -> None:
    for unit in LINEAR:
        calendar = TimeScale(unit, ZoneInfo(zone), NOW)
        fine = calendar.fold(instants(zone), 1)
        assert fine is not None
        for size in calendar.sizes:
            coarse = calendar.fold({at // size for at in fine}, size)
            assert coarse is None or all(coarse[at // size] is fine[at] for at in fine)
        assert calendar.sizes[-1] == 1


def test_the_repeated_hour_is_one_bin_and_its_minutes_have_two_pieces() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = int(datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp())
    by_name = {unit.name: TimeScale(unit, berlin, NOW) for unit in UNITS}
    bins = {name: calendar.fold([first, first + 3600], 1) or {} for name, calendar in by_name.items()}
    assert bins["hour"][first] is bins["hour"][first + 3600]
    assert bins["hour"][first].pieces == [(first - 1800, first + 5399)]
    assert bins["minute"][first].label == "2026-10-25 02:30" == bins["minute"][first + 3600].label
    assert bins["minute"][first].pieces == [(first, first + 59), (first + 3600, first + 3659)]
    assert bins["minute"][first].term("created").startswith('(created:"') and " OR " in bins["minute"][first].term("x")


def test_an_axis_leaves_out_hours_that_never_were() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    calendar = TimeScale(next(unit for unit in UNITS if unit.name == "hour"), berlin, NOW)
    start = datetime(2026, 3, 29, 0, 30, tzinfo=berlin)
    ends = [int((start + timedelta(hours=hours)).timestamp()) for hours in (0, 4)]
    bins = calendar.fold(ends, 1) or {}
    axis = calendar.axis(bins[ends[0]], bins[ends[1]]) or []
    assert [entry.label[-5:] for entry in axis] == ["00:00", "01:00", "03:00", "04:00"]


def test_the_last_second_that_can_be_stored_has_a_bin_everywhere() -> None:
    for zone in ZONES:
        for unit in UNITS:
            calendar = TimeScale(unit, ZoneInfo(zone), NOW)
            assert calendar.fold([253402300799], 1)
