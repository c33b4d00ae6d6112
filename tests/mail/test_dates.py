"""The Date field: the formats of RFC 5322, and formats of real mail programs."""

from datetime import UTC, datetime

import pytest

from server.mail.date_header import EARLIEST, read_date
from server.mail.parse import parse

NOW = 1_795_600_000
NINE = "2026-11-24T09:00:00"

CERTAIN = {
    # zones
    "Tue, 24 Nov 2026 12:00:00 +03:00": NINE,
    "Tue 24 Nov 2026 04:00:00 -05:00": NINE,
    "Tue, 24 Nov 2026 11:00:00 GMT+0200": NINE,
    "Tue, 24 Nov 2026 11:00:00 GMT+02:00": NINE,
    "Tue, 24 Nov 2026 11:00:00 UTC+2": NINE,
    "Tue, 24 Nov 2026 12:00:00 +0300 (GMT+03:00)": NINE,
    "Tue, 24 Nov 2026 10:00:00+0100": NINE,
    "Tue, 24 Nov 2026 04:00:00 \u22120500": NINE,
    "Tue, 24 Nov 2026 09:00:00 UT": NINE,
    "Tue, 24 Nov 2026 09:00:00 Z": NINE,
    'Tue, 24 Nov 2026 09:00:00 "GMT"': NINE,
    "Tue, 24 Nov 2026 09:00:00 -0000": NINE,
    "Tue, 24 Nov 2026 11:00:00 CEST": NINE,
    "Di, 24 Nov 2026 10:00:00 MEZ": NINE,
    "Tue, 24 Nov 2026 01:00:00 PST": NINE,
    "Tue, 24 Nov 2026 18:00:00 JST": NINE,
    "Tue, 24 Nov 2026 14:30:00 +0530 (IST)": NINE,
    "Tue, 24 Nov 2026 09:00:00": NINE,
    # order and marks
    "24 Nov 2026 09:00 +0000": NINE,
    "Tue,24 Nov 2026 9:00:00 GMT": NINE,
    "Tue, 24-Nov-2026 09:00:00 GMT": NINE,
    "Tue, 24 Nov 2026 10.00.00 +0100": NINE,
    "Tue Nov 24 09:00:00 2026": NINE,
    "Tue Nov 24 10:00:00 CET 2026": NINE,
    "09:00:00 24 Nov 2026": NINE,
    "Tuesday, November 24, 2026 9:00 AM": NINE,
    "Tue Nov 24 2026 10:00:00 GMT+0100 (Central European Standard Time)": NINE,
    "2026-11-24T11:00:00+02:00": NINE,
    "2026-11-24 09:00:00.123Z": NINE,
    "2026/11/24 09:00:00": NINE,
    "24.11.2026 09:00:00": NINE,
    "11/24/2026 9:00:00 AM": NINE,
    "24/11/2026 09:00": NINE,
    "Tue, 24 Nov 2026 12:15 AM": "2026-11-24T00:15:00",
    # languages
    "tis, 24 nov 2026 10:00:00 +0100 (CET)": NINE,
    "mar., 24 nov. 2026 10:00:00 +0100": NINE,
    "\u0432\u0442, 24 \u043d\u043e\u044f 2026 12:00:00 +0300": NINE,
    "\u706b, 24 11 2026 18:00:00 +0900": NINE,
    "Tue, 24 11\u6708 2026 17:00:00 +0800": NINE,
    "2026\u5e7411\u670824\u65e5 17:00:00 +0800": NINE,
    "Do, 5 M\u00e4r 2026 10:00:00 +0100": "2026-03-05T09:00:00",
    "mar., 4 ao\u00fbt 2026 11:00:00 +0200": "2026-08-04T09:00:00",
    "s\u00e1b, 12 dic 2026 10:00:00 +0100": "2026-12-12T09:00:00",
    "ter, 6 out 2026 09:00:00 +0000": "2026-10-06T09:00:00",
    "juin 24, 2026 09:00": "2026-06-24T09:00:00",
    "24 juil. 2026 09:00": "2026-07-24T09:00:00",
    # years
    "24 Nov 26 09:00 +0000": NINE,
    "24 Nov 126 09:00 +0000": NINE,
    "1 May 95 09:00:00 EST": "1995-05-01T14:00:00",
    "Fri, 31 Dec 1999 23:59:60 +0000": "1999-12-31T23:59:59",
    "Tue, 24 Nov 2099 09:00:00 +0000": "2099-11-24T09:00:00",
}
UNCERTAIN = {
    "Tue, 24 Nov 2026 09:00:00 XYZ": "unknown zone XYZ",
    "Tue, 24 Nov 2026 09:00:00 IST": "unknown zone IST",
    "Tue, 24 Nov 2026 09:00:00 +9900": "no such zone",
    "Tue, 24 Nov 2026 09:00:00 +0175": "no such zone",
}
UNREADABLE = (
    "Tue, 24 Nov 2026 29:24:05 +0700",
    "Tue, 31 Feb 2026 10:00:00 +0000",
    "24 Nov 2026 24:00:00 +0000",
    "11/12/2026 22:00:00",
    "99 99 9999 99:99",
    "99999999999999999999999 Nov 2026 10:00",
    "Tue, 24 Lis 2026 10:00:00 +0100",
    "yesterday",
    "1795507200",
    "Tue, 24 Nov 2026",
    "Thu, 01 Jan 1970 00:00:00 +0000",
    "Tue, 1 Jan 1980 00:03:00 +0000",
)


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize("value", CERTAIN)
def test_a_date_is_the_moment_that_its_zone_makes_it(value: str) -> None:
    assert read_date(value) == (seconds(CERTAIN[value]), "")


@pytest.mark.parametrize("value", UNCERTAIN)
def test_an_unknown_zone_is_utc_and_noted(value: str) -> None:
    found = read_date(value)
    assert found.at == seconds(NINE) and UNCERTAIN[value] in found.problem


@pytest.mark.parametrize("value", UNREADABLE)
def test_what_is_no_date_says_so(value: str) -> None:
    found = read_date(value)
    assert found.at == 0 and found.problem


def test_no_date_is_no_problem() -> None:
    assert read_date("  ") == (0, "")


def test_a_date_of_many_digits_takes_no_time() -> None:
    assert read_date("1 " * 100_000).at == read_date("(" * 100_000).at == 0
    assert EARLIEST < NOW


@pytest.mark.parametrize(
    ("date", "received", "expected"),
    [
        ("Tue, 24 Nov 2026 09:00:00 +0000", "from x by y; Mon, 23 Nov 2026 09:00:00 +0000", NINE),
        ("", "from x by y (a; b)\n with ESMTP; Mon, 23 Nov 2026 10:00:00 +0100 (CET)", "2026-11-23T09:00:00"),
        ("Thu, 01 Jan 1970 00:00:00 +0000", "by y; Mon, 23 Nov 2026 09:00:00 +0000", "2026-11-23T09:00:00"),
        ("Tue, 24 Nov 2099 09:00:00 +0000", "by y; Mon, 23 Nov 2026 09:00:00 +0000", "2026-11-23T09:00:00"),
        ("Tue, 24 Nov 2099 09:00:00 +0000", "by y; Mon, 23 Nov 2099 09:00:00 +0000", ""),
        ("", "", ""),
    ],
)
def test_the_believable_date_falls_back_to_the_last_server(date: str, received: str, expected: str) -> None:
    head = f"From: ann@kite.example\nDate: {date}\nReceived: {received}\n\nx\n"
    assert parse(head.encode(), NOW).date == (seconds(expected) if expected else NOW)
