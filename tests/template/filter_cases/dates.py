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
        Fails("'nope' is not a time; write for example 'tomorrow 8am', '+2 hours', '2026-12-25 10:30' or Unix seconds"),
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
]
