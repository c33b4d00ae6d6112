"""Dates."""

from tests.template.run_cases import Case, Fails

CASES: list[Case] = [
    ("{{ ts|date }}", "November 14, 2023 22:13", {"ts": 1700000000}),
    ('{{ ts|date("Y-m-d H:i:s") }}', "2023-11-14 22:13:20", {"ts": 1700000000}),
    ('{{ tss|date("Y-m-d H:i:s") }}', "2023-11-14 22:13:20", {"tss": "1700000000"}),
    (
        '{{ "2024-02-29 10:00"|date("D, d M Y g:ia T P e U N z t L") }}',
        "Thu, 29 Feb 2024 10:00am UTC +00:00 UTC 1709200800 4 59 29 1",
    ),
    ('{{ "2024-02-29 10:00"|date("c") }}', "2024-02-29T10:00:00+00:00"),
    ('{{ "2024-02-29 10:00"|date("r") }}', "Thu, 29 Feb 2024 10:00:00 +0000"),
    ('{{ "2024-02-29 10:00"|date("Y-m-d H:i","America/New_York") }}', "2024-02-29 05:00"),
    ('{{ "2024-02-29 10:00"|date("Y-m-d H:i",false) }}', "2024-02-29 10:00"),
    (
        '{{ "nope"|date("Y") }}',
        Fails("is not a time"),
    ),
    ('{{ date("2024-01-01")|date("Y") }}', "2024"),
    ('{{ "2024-01-01"|date("\\\\Y") }}', "Y"),
    ('{{ "2024-01-01 UTC"|date("U") + 5 }}', "1704067205"),
    ('{{ 1700000000|date("Y-m-d\\\\TH:i:sP") }}', "2023-11-14T22:13:20+00:00"),
    ('{{ "2024-02-30"|date("Y-m-d") }}', "2024-03-01"),
    ('{{ nope|date("Y") is numeric }}', "1"),
    ('{{ "2024-01-31"|date_modify("+1 month")|date("Y-m-d") }}', "2024-03-02"),
    ('{{ "2024-01-31"|date_modify("last day of next month")|date("Y-m-d") }}', "2024-02-29"),
    ('{{ "2024-01-15 UTC"|date_modify("+1 month")|date("D j M Y") }}', "Thu 15 Feb 2024"),
    (
        "{{ nope|date('Y-m-d H:i') }} {{ ''|date('U') }} {{ false|date('U') }} {{ 'now'|date('U') }}",
        "2023-11-14 22:13 1700000000 1700000000 1700000000",
    ),
    ("{{ 0|date('c') }} {{ '-1'|date('U') }} {{ 1700000000.9|date('U') }}", "1970-01-01T00:00:00+00:00 -1 1700000000"),
    (
        "{{ '2024-12-30 00:05:09'|date('l S w W o F m n y A h G i s v u I O Z B \\\\a\\\\t') }}",
        "Monday th 1 01 2025 December 12 12 24 AM 12 0 05 09 000 000000 0 +0000 0 045 at",
    ),
    (
        "{{ '2024-07-15 10:30 Europe/Berlin'|date('c T e I Z', false) }}",
        "2024-07-15T10:30:00+02:00 CEST Europe/Berlin 1 7200",
    ),
    ("{{ '2024-07-15 10:30 Europe/Berlin'|date('c') }}", "2024-07-15T08:30:00+00:00"),
    ("{{ '2024-01-01T10:00:00-05:30'|date('c e T', false) }}", "2024-01-01T10:00:00-05:30 -05:30 -05:30"),
    (
        "{{ 1700000000|date('H:i', '+02:00') }}{{ 1700000000|date(tz='Asia/Tokyo', format=null) }}",
        "00:13November 15, 2023 07:13",
    ),
    ("{{ 1|date('Y', 'Nowhere/Land') }}", Fails("is not a time zone")),
    ("{{ [1]|date }}", Fails("a list is not a date")),
    ("{{ 99999999999999|date }}", Fails("is not a date; the years are 1 to 9999")),
    ("{{ '2024-01-15 10:30'|date_modify('tomorrow')|date('c') }}", "2024-01-16T00:00:00+00:00"),
    ("{{ '2024-01-15 10:30'|date_modify('-90 mins')|date('c', 'Europe/Berlin') }}", "2024-01-15T10:00:00+01:00"),
    ("{{ '2024-01-15'|date_modify('+1 fortnightish') }}", Fails("is not a time")),
    ("{{ '2024-01-15'|date_modify('+1 day') }}", Fails("a date cannot be printed")),
    (
        "{{ 1699990000|date_pretty }}, {{ 1700000000|date_pretty }}, {{ 1700300000|date_pretty }}",
        "2 hours ago, just now, 3 days",
    ),
    (
        "{{ 1699999940|date_pretty }}, {{ '1699000000'|date_pretty }}, {{ date('-1 day')|date_pretty }}",
        "1 min ago, 1 week ago, 1 day ago",
    ),
    ("{{ 259200|date_pretty(true) }} {{ (-3600)|date_pretty(is_delta=true) }}", "+3 days -1 hour"),
    ("{{ 0|date_pretty }}{{ nope|date_pretty }}{{ 'x'|date_pretty }}{{ 0|date_pretty(true) }}", ""),
]
