"""Meanings of time texts: the tables of the specification, each row a case, and the rules next to them.

All texts are read at Friday 2026-11-20 15:04:05 UTC, in UTC, unless a test says otherwise."""

import doctest
from datetime import UTC, datetime, tzinfo

import pytest

import server.times.calendar_parts
import server.times.durations
import server.times.instants
from server.errors import Invalid
from server.times import (
    Span,
    after,
    bounds,
    days_of_month,
    duration,
    instant,
    months,
    span,
    times_of_day,
    weekdays,
    weeks,
    zone,
)

NOW = 1795187045
HOUR = 3600
DAY = 86400


def unix(text: str, tz: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=tz).timestamp())


TEXTS = [
    # Fixed points
    ("now", 1795187045),
    ("today", 1795132800),
    ("midnight", 1795132800),
    ("noon", 1795176000),
    ("00:00", 1795132800),
    ("12am", 1795132800),
    ("12pm", 1795176000),
    ("today noon", 1795176000),
    ("today 23:59:59", 1795219199),
    ("tomorrow", 1795219200),
    ("yesterday", 1795046400),
    ("tomorrow 8am", 1795248000),
    ("tomorrow 8:30pm", 1795293000),
    ("tomorrow 17:00", 1795280400),
    ("tomorrow noon", 1795262400),
    ("tomorrow midnight", 1795219200),
    ("midnight tomorrow", 1795219200),
    ("yesterday 14:00", 1795096800),
    ("yesterday noon", 1795089600),
    ("TOMORROW 8AM", 1795248000),
    ("  tomorrow", 1795219200),
    # Clock times
    ("8am", 1795161600),
    ("8:30am", 1795163400),
    ("5pm", 1795194000),
    ("5 pm", 1795194000),
    ("5:30 p.m.", 1795195800),
    ("15:30", 1795188600),
    ("17:00:30", 1795194030),
    ("back of 7pm", 1795202100),
    ("front of 5am", 1795149900),
    # A clock time before the day
    ("noon tomorrow", 1795262400),
    ("8am tomorrow", 1795248000),
    ("5pm tomorrow", 1795280400),
    ("9am monday", 1795424400),
    ("noon next friday", 1795780800),
    # Amounts
    ("+2 hours", 1795194245),
    ("+2 hour", 1795194245),
    ("2 hours", 1795194245),
    ("-1 hour", 1795183445),
    ("+90 minutes", 1795192445),
    ("+1 min", 1795187105),
    ("+1 mins", 1795187105),
    ("-5 minutes", 1795186745),
    ("+30 secs", 1795187075),
    ("+10 seconds", 1795187055),
    ("+1 hour 30 minutes", 1795192445),
    ("+1 hour -10 minutes", 1795190045),
    ("+ 2 days", 1795359845),
    ("+0 days", 1795187045),
    ("+1 day", 1795273445),
    ("1 day", 1795273445),
    ("-1 day", 1795100645),
    ("1 day ago", 1795100645),
    ("3 days ago", 1794927845),
    ("+3 days 14:00", 1795442400),
    ("+1 week", 1795791845),
    ("2 weeks", 1796396645),
    ("2 weeks ago", 1793977445),
    ("-2 weeks", 1793977445),
    ("+1 week 9am", 1795770000),
    ("+1 fortnight", 1796396645),
    ("1 fortnight ago", 1793977445),
    ("+1 week 2 days 4 hours 2 seconds", 1795979047),
    ("+1 month", 1797779045),
    ("-1 month", 1792508645),
    ("+3 months", 1803135845),
    ("1 month ago", 1792508645),
    ("-6 months", 1779289445),
    ("+1 year", 1826723045),
    ("-1 year", 1763651045),
    ("eighth day", 1795878245),
    ("now +1 day", 1795273445),
    ("now -1 hour", 1795183445),
    ("tomorrow +2 hours", 1795226400),
    ("today +1 week", 1795737600),
    ("today -7 days", 1794528000),
    ("yesterday noon +1 day", 1795176000),
    # Working days
    ("+1 weekday 9am", 1795424400),
    ("+5 weekdays", 1795791845),
    ("+2 weekdays 17:00", 1795539600),
    ("5 weekdays ago", 1794582245),
    # Weekdays
    ("monday", 1795392000),
    ("friday", 1795132800),
    ("saturday", 1795219200),
    ("Sat", 1795219200),
    ("Friday 2pm", 1795183200),
    ("Monday 9am", 1795424400),
    ("Tuesday 9:15", 1795511700),
    ("this friday", 1795132800),
    ("next friday", 1795737600),
    ("next monday", 1795392000),
    ("next sat", 1795219200),
    ("next tuesday 14:30", 1795530600),
    ("next thursday noon", 1795694400),
    ("last friday", 1794528000),
    ("last monday", 1794787200),
    ("+1 sat", 1795273445),
    ("1 sat ago", 1794668645),
    ("monday +1 week", 1795996800),
    ("+1 week monday", 1795996800),
    ("-1 week monday", 1794787200),
    # Weeks
    ("this week", 1794841445),
    ("next week", 1795446245),
    ("last week", 1794236645),
    ("monday this week", 1794787200),
    ("saturday this week", 1795219200),
    ("sunday this week", 1795305600),
    ("monday next week", 1795392000),
    ("monday next week 9am", 1795424400),
    ("next week monday 9am", 1795424400),
    ("friday next week 5pm", 1795798800),
    ("monday last week", 1794182400),
    ("last week monday", 1794182400),
    # Months and years
    ("this month", 1795187045),
    ("next month", 1797779045),
    ("last month", 1792508645),
    ("this year", 1795187045),
    ("next year", 1826723045),
    ("last year", 1763651045),
    ("first day of this month", 1793545445),
    ("first day of next month", 1796137445),
    ("first day of next month midnight", 1796083200),
    ("last day of this month", 1796051045),
    ("last day of this month 23:59:59", 1796083199),
    ("last day of next month", 1798729445),
    ("last day of next month 17:00", 1798736400),
    ("last day of february", 1772236800),
    ("first day of january", 1767225600),
    ("last day of december", 1798675200),
    ("first day of january 2027", 1798761600),
    ("first day of january next year", 1798761600),
    ("first day of next year", 1825081445),
    ("first monday of january 2027", 1799020800),
    ("third friday of january 2027", 1799971200),
    ("first monday of next month", 1796601600),
    ("last friday of this month", 1795737600),
    ("last mon of next month", 1798416000),
    ("second tuesday of december 2026", 1796688000),
    ("third wednesday of +1 month", 1797379200),
    ("first sat of December 2026", 1796428800),
    ("Jan 1 +1 year", 1798761600),
    ("-1 year January 1", 1735689600),
    # Dates
    ("2026-12-25", 1798156800),
    ("2026-12-25 10:30", 1798194600),
    ("2026-12-25 10:30:15", 1798194615),
    ("2026-12-24 10:30 am", 1798108200),
    ("2026-12-24 10:30 pm", 1798151400),
    ("20261225", 20261225),
    ("20261225T103000", 1798194600),
    ("2026/12/25", 1798156800),
    ("12/25/2026", 1798156800),
    ("12/24/26", 1798070400),
    ("12/25", 1798156800),
    ("25-12-2026", 1798156800),
    ("25.12.2026", 1798156800),
    ("20-Nov-2026", 1795132800),
    ("20-Nov-26", 1795132800),
    ("Nov-20-2026", 1795132800),
    ("2026-Nov-20", 1795132800),
    ("Dec 25", 1798156800),
    ("24 Dec", 1798070400),
    ("Dec 24th", 1798070400),
    ("Jan 1", 1767225600),
    ("July 4", 1783123200),
    ("July 4 2027", 1814659200),
    ("Dec 25 2026", 1798156800),
    ("Dec 24 2026 4pm", 1798128000),
    ("December 25, 2026", 1798156800),
    ("25 December 2026", 1798156800),
    ("24th December 2026", 1798070400),
    ("25 Dec 2026 8am", 1798185600),
    ("January 2027", 1798761600),
    ("2026-12", 1796083200),
    ("2026-W52-5", 1798156800),
    ("2026W525", 1798156800),
    ("2026.359", 1798156800),
    ("2026-360", 1798243200),
    ("10 September 2000", 968544000),
    ("2038-01-20", 2147558400),
    ("9999-12-31", 253402214400),
    # Dates with a zone
    ("2026-12-25T10:30", 1798194600),
    ("2026-12-25T10:30:00", 1798194600),
    ("2026-12-25T10:30:00Z", 1798194600),
    ("2026-12-25T10:30:00+02:00", 1798187400),
    ("2026-12-25T10:30:00-0500", 1798212600),
    ("2026-12-25T10:30:00.123Z", 1798194600),
    ("2026-12-25 10:30:00 UTC", 1798194600),
    ("2026-12-25 10:30 Europe/Berlin", 1798191000),
    ("Fri, 25 Dec 2026 10:30:00 +0000", 1798194600),
    ("Fri, 25 Dec 2026 10:30:00 GMT", 1798194600),
    ("Jan 1 2027 13:00:00 +0000", 1798808400),
    ("20 November 2026 15:04 +0100", 1795183440),
    ("tomorrow 8am EST", 1795266000),
    ("tomorrow 8am America/New_York", 1795266000),
    ("tomorrow 17:00 +02:00", 1795273200),
    ("Fri Nov 20 15:04:05 2026", 1795187045),
    ("Fri Nov 20 15:04:05 UTC 2026", 1795187045),
    # Past the end of a day or month
    ("2027-01-31 +1 month", 1804032000),
    ("2026-12-25 24:00", 1798243200),
    # Numbers
    ("@1800000000", 1800000000),
    ("@1800000000.5", 1800000000),
    ("@0", 0),
    ("1800000000", 1800000000),
    ("0", 0),
    ("2027", 2027),
    ("1530", 1530),
    # Short forms
    ("+2h", 1795194245),
    ("+3 hrs", 1795197845),
    ("+1d", 1795273445),
    ("+15m", 1795187945),
    ("+1w", 1795791845),
    ("+1mo", 1797779045),
    ("+1y", 1826723045),
    ("1h", 1795190645),
    ("9a", 1795165200),
    ("9p", 1795208400),
    ("+1.5 hours", 1795192445),
    ("1.5 hours", 1795192445),
    # Words people try
    ("tomorrow at 8am", 1795248000),
    ("today at 5pm", 1795194000),
    ("in 2 hours", 1795194245),
    ("1 hour from now", 1795190645),
    ("2 days from now", 1795359845),
    ("two days", 1795359845),
    ("two days ago", 1795014245),
    ("a week ago", 1794582245),
    ("never", 0),
    ("Jan 1 next year", 1798761600),
]

UNREADABLE = [
    "1969-12-31",
    "2026-02-30",
    "2026-11-31",
    "29 February 2027",
    "2026-12-25 25:00",
    "2026-12-25 23:60",
    "2026-13-01",
    "13pm",
    "0000-00-00 00:00:00",
    "-1",
    "1e9",
    "half hour",
    "tonight",
    "this morning",
    "end of month",
    "eod",
    "later",
    "big bang",
    "quarter",
    "easter",
    "24/12/2026",
    "24/12/26",
    "last weekday of this month",
    "weekdays",
    "XXI",
    ".",
    "-",
    "foo",
    "mañana",
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_a_text_means_its_instant(text, expected):
    assert instant(text, NOW, UTC) == expected


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_unreadable_text_is_refused_with_its_value_and_examples(text):
    with pytest.raises(Invalid) as error:
        instant(text, NOW, UTC)
    assert f"'{text}'" in error.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1970-01-01"),
        ("  ", "1970-01-01"),
        ("NEVER", "1970-01-01"),
        ("@1800000000", "2027-01-15 08:00"),
        (" 1800000000 ", "2027-01-15 08:00"),
        ("1800000000.75", "2027-01-15 08:00"),
        ("253402300799", "9999-12-31 23:59:59"),
        ("Fri, 25 Dec 26 10:30:00 +0100 (CET)", "2026-12-25 09:30"),
        ("25 Dec 2026 10:30 (EST)", "2026-12-25 15:30"),
        ("2026-12-25T10:30:00+05:30", "2026-12-25 05:00"),
        ("12/25/2026 5:30 PM", "2026-12-25 17:30"),
        ("Friday, 25-Dec-26 10:30:00 GMT", "2026-12-25 10:30"),
        ("2026-12-25 10:30 utc+2", "2026-12-25 08:30"),
        ("tomorrow 1530", "2026-11-21 15:30"),
        ("2026-12-25 10:30 europe/berlin", "2026-12-25 09:30"),
        ("20261225 8am", "2026-12-25 08:00"),
        ("25.12.26", "2026-12-25"),
        ("25-12-70", "1970-12-25"),
        ("25-12-69", "2069-12-25"),
        ("2026-12-31 23:59:60", "2027-01-01"),
        ("2026 Nov 20", "2026-11-20"),
        ("+1 day 2 hours 8am", "2026-11-21 10:00"),
        ("1d12h", "2026-11-22 03:04:05"),
        ("-1d12h", "2026-11-19 03:04:05"),
        ("-1 day 12 hours", "2026-11-20 03:04:05"),
        ("1.5 days", "2026-11-22 03:04:05"),
        ("1.5 years", "2028-05-20 15:04:05"),
        ("an hour ago", "2026-11-20 14:04:05"),
        ("next hour", "2026-11-20 16:04:05"),
        ("-1 sat", "2026-11-14 15:04:05"),
        ("2 days ago 14:00", "2026-11-18 14:00"),
        ("+6 weekdays", "2026-11-30 15:04:05"),
        ("-3mo", "2026-08-20 15:04:05"),
        ("january", "2026-01-20"),
        ("first monday of january next year", "2027-01-04"),
        ("previous friday", "2026-11-13"),
        ("+1HR", "2026-11-20 16:04:05"),
        ("1 Y", "2027-11-20 15:04:05"),
        ("+15M", "2026-11-20 15:19:05"),
    ],
)
def test_a_text_beside_the_tables_means_its_instant(text, expected):
    assert instant(text, NOW, UTC) == unix(expected)


@pytest.mark.parametrize(
    "text",
    [
        "253402300800",
        "-60 years",
        "@",
        "@-5",
        "8am 9am",
        "midnight 8am",
        "2026-11-01 2026-11-02",
        "monday friday",
        "utc",
        "ago",
        "tomorrow ago",
        "from now",
        "at",
        "in",
        "+1.5 months",
        "1 decade",
        "+999999999 years",
        "999999999 weeks",
        "+0100",
        "8am utc est",
        "8am +02:60",
        "8am +25:00",
        "8am Europe/Nowhere",
        "2026-W54-1",
        "2026-366",
        "2026-000",
        "0000-12-25",
        "2026-12-00",
        "24:01",
        "0am",
        "8:60am",
        "first day of last day of march",
        "tomorrow x",
        "\u0663 hours",
        "10:3\u0663",
        "1d12x",
        "+" * 200,
        "1 day " * 60,
        "9" * 300,
        "a" * 100_000,
    ],
)
def test_more_texts_are_refused(text):
    with pytest.raises(Invalid) as error:
        instant(text, NOW, UTC)
    assert len(error.value.message) < 250


def test_an_unknown_zone_in_a_text_is_named_with_the_nearest():
    with pytest.raises(Invalid, match="Europe/Berlin"):
        instant("tomorrow 8am Europe/Berln", NOW, UTC)


def test_a_text_of_255_characters_is_read_and_a_longer_one_is_not():
    assert instant("tomorrow" + " " * 247, NOW, UTC) == 1795219200
    with pytest.raises(Invalid):
        instant("tomorrow" + " " * 248, NOW, UTC)


# Other zones, other current times

ZONES = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo"]
IN_ZONES = [
    ("now", [1795187045, 1795187045, 1795187045, 1795187045]),
    ("today", [1795132800, 1795129200, 1795161600, 1795186800]),
    ("tomorrow", [1795219200, 1795215600, 1795248000, 1795273200]),
    ("tomorrow 8am", [1795248000, 1795244400, 1795276800, 1795302000]),
    ("monday", [1795392000, 1795388400, 1795420800, 1795359600]),
    ("8am", [1795161600, 1795158000, 1795190400, 1795215600]),
    ("+1 day", [1795273445, 1795273445, 1795273445, 1795273445]),
    ("first day of next month midnight", [1796083200, 1796079600, 1796112000, 1796050800]),
    ("2026-12-25 10:30", [1798194600, 1798191000, 1798223400, 1798162200]),
    ("2026-12-25T10:30:00Z", [1798194600, 1798194600, 1798194600, 1798194600]),
    ("tomorrow 8am UTC", [1795248000, 1795248000, 1795248000, 1795248000]),
]


@pytest.mark.parametrize(("text", "expected"), IN_ZONES)
def test_a_text_is_read_in_the_zone_of_its_reader(text, expected):
    assert [instant(text, NOW, zone(name)) for name in ZONES] == expected


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        ("2027-01-31 10:00", "+1 month", "2027-03-03 10:00"),
        ("2027-01-31 10:00", "next month", "2027-03-03 10:00"),
        ("2028-01-31 10:00", "+1 month", "2028-03-02 10:00"),
        ("2027-01-31 10:00", "last month", "2026-12-31 10:00"),
        ("2027-01-31 10:00", "first day of next month", "2027-02-01 10:00"),
        ("2027-01-31 10:00", "last day of next month", "2027-02-28 10:00"),
        ("2027-01-31 10:00", "last day of february", "2027-02-28"),
        ("2027-01-31 10:00", "february", "2027-03-03"),
        ("2027-01-31 10:00", "+1 year", "2028-01-31 10:00"),
        ("2028-02-29 10:00", "+1 year", "2029-03-01 10:00"),
        ("2026-11-22 10:00", "sunday", "2026-11-22"),
        ("2026-11-22 10:00", "next sunday", "2026-11-29"),
        ("2026-11-22 10:00", "last sunday", "2026-11-15"),
        ("2026-11-22 10:00", "monday this week", "2026-11-16"),
        ("2026-11-22 10:00", "sunday this week", "2026-11-22"),
        ("2026-11-22 10:00", "+1 weekday", "2026-11-23 10:00"),
        ("2026-11-22 10:00", "-1 weekday", "2026-11-20 10:00"),
        ("2026-11-21 10:00", "+5 weekdays", "2026-11-27 10:00"),
        ("2026-11-21 10:00", "+6 weekdays", "2026-11-30 10:00"),
        ("2026-11-21 10:00", "5 weekdays ago", "2026-11-16 10:00"),
    ],
)
def test_months_roll_over_and_weeks_begin_on_monday(base, text, expected):
    assert instant(text, unix(base), UTC) == unix(expected)


BERLIN = zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        pytest.param(NOW, "2027-03-28 02:30", 1806197400, id="a skipped time is an hour later"),
        pytest.param(NOW, "2026-10-25 02:30", 1792891800, id="of a repeated time the later"),
        pytest.param(
            unix("2027-03-27 12:00", BERLIN), "+1 day", unix("2027-03-28 12:00", BERLIN), id="days by the clock"
        ),
        pytest.param(
            unix("2027-03-27 12:00", BERLIN), "+24 hours", unix("2027-03-28 13:00", BERLIN), id="hours are real"
        ),
        pytest.param(1792888200, "now", 1792888200, id="now in the first of two repeated hours"),
        pytest.param(1792888200, "+30 minutes", 1792890000, id="minutes from within the first of two repeated hours"),
    ],
)
def test_clock_changes(base, text, expected):
    assert instant(text, base, BERLIN) == expected


def test_a_day_with_two_midnights_begins_at_the_first():
    havana = zone("America/Havana")  # 2026-11-01 01:00 was set back to 00:00
    day = span("2026-11-01 to 2026-11-01", NOW, havana)
    assert day.end - day.start + 1 == 25 * HOUR


@pytest.mark.parametrize("name", ["Europe/Berlin", "europe/berlin", "EUROPE/BERLIN", " Europe/Berlin "])
def test_a_zone_is_found_in_any_letter_case(name):
    assert str(zone(name)) == "Europe/Berlin"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Olympus",
        "../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "x" * 10_000,
        "a\0b",
    ],
)
def test_an_unknown_zone_is_refused(name):
    with pytest.raises(Invalid, match="is not a time zone"):
        zone(name)


def test_an_unknown_zone_is_refused_with_the_nearest_name():
    with pytest.raises(Invalid, match="did you mean 'Europe/Berlin'"):
        zone("Europe/Berln")


# Date filters

RANGES = [
    ("today", "2026-11-20 00:00:00", "2026-11-20 23:59:59"),
    ("yesterday", "2026-11-19 00:00:00", "2026-11-19 23:59:59"),
    ("tomorrow", "2026-11-21 00:00:00", "2026-11-21 23:59:59"),
    ("this week", "2026-11-16 00:00:00", "2026-11-22 23:59:59"),
    ("last week", "2026-11-09 00:00:00", "2026-11-15 23:59:59"),
    ("next week", "2026-11-23 00:00:00", "2026-11-29 23:59:59"),
    ("this month", "2026-11-01 00:00:00", "2026-11-30 23:59:59"),
    ("last month", "2026-10-01 00:00:00", "2026-10-31 23:59:59"),
    ("next month", "2026-12-01 00:00:00", "2026-12-31 23:59:59"),
    ("this year", "2026-01-01 00:00:00", "2026-12-31 23:59:59"),
    ("last year", "2025-01-01 00:00:00", "2025-12-31 23:59:59"),
    ("next year", "2027-01-01 00:00:00", "2027-12-31 23:59:59"),
    ("-1 week", "2026-11-13 00:00:00", "2026-11-20 15:04:05"),
    ("-1 day", "2026-11-19 00:00:00", "2026-11-20 15:04:05"),
    ("-1 month", "2026-10-20 00:00:00", "2026-11-20 15:04:05"),
    ("-2 hours", "2026-11-20 13:04:05", "2026-11-20 15:04:05"),
    ("+1 day", "2026-11-21 00:00:00", "2026-11-20 15:04:05"),
    ("2026-11-01", "2026-11-01 00:00:00", "2026-11-20 15:04:05"),
    ("2026-11-01 to 2026-11-15", "2026-11-01 00:00:00", "2026-11-15 23:59:59"),
    ("2026-11-01 12:00 to 2026-11-15 18:00", "2026-11-01 12:00:00", "2026-11-15 18:00:00"),
    ("January 1 to June 30", "2026-01-01 00:00:00", "2026-06-30 23:59:59"),
    ("jan 1 2026 to jan 31 2026", "2026-01-01 00:00:00", "2026-01-31 23:59:59"),
    ("-1 year to -6 months", "2025-11-20 00:00:00", "2026-05-20 23:59:59"),
    ("today to now", "2026-11-20 00:00:00", "2026-11-20 15:04:05"),
    ("today to today", "2026-11-20 00:00:00", "2026-11-20 23:59:59"),
    ("big bang to now", "1970-01-01 00:00:00", "2026-11-20 15:04:05"),
    ("big bang to -3 days", "1970-01-01 00:00:00", "2026-11-17 23:59:59"),
    ("big bang to first day of this month", "1970-01-01 00:00:00", "2026-11-01 23:59:59"),
    ("first day of this month", "2026-11-01 00:00:00", "2026-11-20 15:04:05"),
    ("first day of this month to last day of this month", "2026-11-01 00:00:00", "2026-11-30 23:59:59"),
    ("monday this week to sunday this week", "2026-11-16 00:00:00", "2026-11-22 23:59:59"),
    ("1795000000", "2026-11-18 11:06:40", "2026-11-20 15:04:05"),
    ("1795000000 to 1795100000", "2026-11-18 11:06:40", "2026-11-19 14:53:20"),
    ("1795000000 to now", "2026-11-18 11:06:40", "2026-11-20 15:04:05"),
    ("yesterday noon to today 6am", "2026-11-19 12:00:00", "2026-11-20 06:00:00"),
    ("2026.11.01 to 2026.11.15", "2026-11-01 00:00:00", "2026-11-15 23:59:59"),
    ("11/01/2026 to 11/15/2026", "2026-11-01 00:00:00", "2026-11-15 23:59:59"),
    ("now to +1 week", "2026-11-20 15:04:05", "2026-11-27 23:59:59"),
    ("now", "2026-11-20 15:04:05", "2026-11-20 15:04:05"),
    ("noon", "2026-11-20 12:00:00", "2026-11-20 15:04:05"),
    ("-90 minutes to -30 minutes", "2026-11-20 13:34:05", "2026-11-20 14:34:05"),
    ("friday", "2026-11-20 00:00:00", "2026-11-20 15:04:05"),
    ("last friday to now", "2026-11-13 00:00:00", "2026-11-20 15:04:05"),
    ("8am to 5pm", "2026-11-20 08:00:00", "2026-11-20 17:00:00"),
    ("tomorrow to +7 days", "2026-11-21 00:00:00", "2026-11-27 23:59:59"),
    ("Nov 1", "2026-11-01 00:00:00", "2026-11-20 15:04:05"),
    ("2026-11", "2026-11-01 00:00:00", "2026-11-30 23:59:59"),
    ("2026", "2026-01-01 00:00:00", "2026-12-31 23:59:59"),
    ("-1 day to -1 day", "2026-11-19 00:00:00", "2026-11-19 23:59:59"),
    ("first monday of january 2027 to now", "2027-01-04 00:00:00", "2026-11-20 15:04:05"),
    ("Jan 1 -1 year to Dec 31 -1 year", "2025-01-01 00:00:00", "2025-12-31 23:59:59"),
    ("monday", "2026-11-23 00:00:00", "2026-11-20 15:04:05"),
    ("2026-11-15 00:00", "2026-11-15 00:00:00", "2026-11-20 15:04:05"),
    ("2026-11-15 to 2026-11-15", "2026-11-15 00:00:00", "2026-11-15 23:59:59"),
]


@pytest.mark.parametrize(("text", "start", "end"), RANGES)
def test_a_date_filter_selects_its_range(text, start, end):
    assert span(text, NOW, UTC) == Span(unix(start), unix(end))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("LAST  Week", "2026-11-09", "2026-11-15 23:59:59"),
        ("1970", "1970-01-01", "1970-12-31 23:59:59"),
        ("2100", "2100-01-01", "2100-12-31 23:59:59"),
        ("2101", "1970-01-01 00:35:01", "2026-11-20 15:04:05"),
        ("2026.11", "2026-11-01", "2026-11-30 23:59:59"),
        ("2025 to 2026-02", "2025-01-01", "2026-02-28 23:59:59"),
        ("@1795000000", "2026-11-18 11:06:40", "2026-11-20 15:04:05"),
        (".1 week", "2026-11-13", "2026-11-20 15:04:05"),
        ("8 a.m. to 5:30 p.m.", "2026-11-20 08:00", "2026-11-20 17:30"),
        ("-1.5 hours", "2026-11-20 13:34:05", "2026-11-20 15:04:05"),
        ("-2d to now", "2026-11-18", "2026-11-20 15:04:05"),
        ("never", "1970-01-01", "1970-01-01"),
        ("0", "1970-01-01", "1970-01-01"),
        ("", "1970-01-01", "1970-01-01"),
        ("big bang", "1970-01-01", "2026-11-20 15:04:05"),
        ("1969-12-31 to 1970-01-01", "1969-12-31", "1970-01-01 23:59:59"),
    ],
)
def test_a_date_filter_beside_the_table_selects_its_range(text, start, end):
    assert span(text, NOW, UTC) == Span(unix(start), unix(end))


@pytest.mark.parametrize(
    "text",
    [
        "gibberish",
        "gibberish to now",
        "today to gibberish",
        "today to big bang",
        "today to never",
        "a to b to c",
        "today to now to now",
        "2026-13",
        "0000-01",
        " to now",
        "today to ",
        ">2026-11-16",
        "253402300800",
        "x" * 256,
        "today,yesterday to",
    ],
)
def test_an_unreadable_date_filter_is_refused(text):
    with pytest.raises(Invalid):
        span(text, NOW, UTC)


def test_a_whole_period_is_one_of_the_zone():
    assert span("today", NOW, zone("Asia/Tokyo")) == Span(1795186800, 1795186800 + DAY - 1)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-16", "2026-11-16", "2026-11-16 23:59:59"),
        ("last month", "2026-10-01", "2026-10-31 23:59:59"),
        ("2026", "2026-01-01", "2026-12-31 23:59:59"),
        ("-1 week", "2026-11-13", "2026-11-13 23:59:59"),
        ("-2 hours", "2026-11-20 13:04:05", "2026-11-20 13:04:05"),
        ("1795187045", "2026-11-20 15:04:05", "2026-11-20 15:04:05"),
    ],
)
def test_bounds_are_the_first_and_last_second_of_what_is_named(text, start, end):
    assert bounds(text, NOW, UTC) == Span(unix(start), unix(end))


# Lengths and delays


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("1 hour", HOUR),
        ("90 minutes", 5400),
        ("1h", HOUR),
        ("2hours", 2 * HOUR),
        ("1d12h", 36 * HOUR),
        ("1.5 hours", 5400),
        ("30s", 30),
        ("5m", 300),
        ("1mo", 30 * DAY),
        ("12 months", 360 * DAY),
        ("1 year", 365 * DAY),
        ("2 weeks", 14 * DAY),
        ("1 fortnight", 14 * DAY),
        ("a week", 7 * DAY),
        ("two days", 2 * DAY),
        ("+1 HOUR 30 min", 5400),
        ("1 hour, 30 minutes", 5400),
        ("1.5 months", 45 * DAY),
        ("0.4 seconds", 0),
    ],
)
def test_a_duration_is_in_seconds(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "1 hour ago",
        "-1 hour",
        "-5",
        "1.5",
        "2 weekdays",
        "1 sat",
        "tomorrow",
        "1h2",
        "h",
        "9" * 200,
        "1 day " * 60,
        "999999999 years",
    ],
)
def test_an_unreadable_duration_is_refused(text):
    with pytest.raises(Invalid, match="not a length of time"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 hour", "2026-11-20 16:04:05"),
        ("+1hrs", "2026-11-20 16:04:05"),
        ("30 days", "2026-12-20 15:04:05"),
        ("3 months", "2027-02-20 15:04:05"),
        ("2d", "2026-11-22 15:04:05"),
        ("2027-01-31", "2027-01-31"),
        ("tomorrow", "2026-11-21"),
        ("1800000000", "2027-01-15 08:00"),
    ],
)
def test_a_delay_ends_at_its_instant(text, expected):
    assert after(text, NOW, UTC) == unix(expected)


@pytest.mark.parametrize("text", ["now", "5", "0", "", "never", "-1 hour", "today", "gibberish", "+0 days"])
def test_a_delay_must_end_after_now(text):
    with pytest.raises(Invalid):
        after(text, NOW, UTC)


# Parts of the parameter form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8a-noon", ["08:00-12:00"]),
        ("1-6p", ["13:00-18:00"]),
        ("9a-5p", ["09:00-17:00"]),
        ("9-5p", ["09:00-17:00"]),
        ("9am-5:30pm", ["09:00-17:30"]),
        ("11-1p", ["11:00-13:00"]),
        ("11a-2p", ["11:00-14:00"]),
        ("12-1p", ["12:00-13:00"]),
        ("2-3:30p", ["14:00-15:30"]),
        ("2:30-5p", ["14:30-17:00"]),
        ("12a-1a", ["00:00-01:00"]),
        ("22:00-23:59", ["22:00-23:59"]),
        ("8", ["08:00-08:00"]),
        ("13:00", ["13:00-13:00"]),
        ("17:30", ["17:30-17:30"]),
        ("noon", ["12:00-12:00"]),
        ("midnight", ["00:00-00:00"]),
        ("12-1", ["00:00-01:00"]),
        ("9-5", ["09:00-23:59", "00:00-05:00"]),
        ("10p-2a", ["22:00-23:59", "00:00-02:00"]),
        ("0-12", ["00:00-12:00"]),
        ("09:00-17:00", ["09:00-17:00"]),
        ("0-24", ["00:00-23:59"]),
        ("8a-noon,1-6p", ["08:00-12:00", "13:00-18:00"]),
        ("[8A-Noon, 1-6 P.M.]", ["08:00-12:00", "13:00-18:00"]),
    ],
)
def test_times_of_day_are_ranges_of_minutes(text, expected):
    shown = [f"{a // 60:02}:{a % 60:02}-{b // 60:02}:{b % 60:02}" for a, b in times_of_day(text)]
    assert shown == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "25",
        "8:60",
        "24:01",
        "13p",
        "0a",
        "8-9-10",
        "8-",
        "-8",
        "8,soon",
        "8" * 300,
    ],
)
def test_unreadable_times_of_day_are_refused(text):
    with pytest.raises(Invalid):
        times_of_day(text)


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (weekdays, "weekdays", {1, 2, 3, 4, 5}),
        (weekdays, "weekends", {0, 6}),
        (weekdays, "mon,wed,fri", {1, 3, 5}),
        (weekdays, "m,w,f", {1, 3, 5}),
        (weekdays, "thu,f", {4, 5}),
        (weekdays, "su,sa", {0, 6}),
        (weekdays, "Monday", {1}),
        (weekdays, "t,s,tu", {2}),
        (weekdays, "xyz,m", {1}),
        (weekdays, "[th, weekends]", {0, 4, 6}),
        (months, "ja,f,mar", {1, 2, 3}),
        (months, "o,n,d", {10, 11, 12}),
        (months, "jun,jul", {6, 7}),
        (months, "may", {5}),
        (months, "sept", {9}),
        (months, "j,m,a,ap,au", {4, 8}),
        (days_of_month, "1,15,31", {1, 15, 31}),
        (days_of_month, "0", {1}),
        (days_of_month, "40", {31}),
        (weeks, "00,53", {0, 53}),
        (weeks, "60", {53}),
        (weeks, "7,x", {7}),
    ],
)
def test_parts_of_the_calendar(read, text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (weekdays, "t,s"),
        (weekdays, "xyz"),
        (weekdays, ""),
        (months, "j,m,a"),
        (months, "[]"),
        (days_of_month, "x"),
        (days_of_month, "-1"),
        (weeks, ","),
        (weeks, "1" * 300),
    ],
)
def test_a_part_of_which_nothing_is_left_is_refused(read, text):
    with pytest.raises(Invalid):
        read(text)


@pytest.mark.parametrize("module", [server.times.instants, server.times.durations, server.times.calendar_parts])
def test_the_examples_in_docstrings_hold(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
