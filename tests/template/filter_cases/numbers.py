"""Numbers."""

from tests.template.run_cases import Case, Fails

CASES: list[Case] = [
    ("{{ 2 + 3|abs }}", "5"),
    ("{{ -5|abs }}", "-5"),
    ("{{ (-5)|abs }}", "5"),
    ("{{ -2|abs }}", "-2"),
    ("{{ nope|abs }}", "0"),
    ("{{ 255|base_convert(10,16) }}", "ff"),
    ('{{ "ff"|base_convert(16,2) }}', "11111111"),
    ("{{ 123456789|bytes_pretty }}", "123 MB"),
    ("{{ 123456789|bytes_pretty(2) }}", "123.46 MB"),
    ("{{ 999|bytes_pretty }}", "999 bytes"),
    ("{{ 1000|bytes_pretty }}", "1 KB"),
    ("{{ -5|bytes_pretty }}", "-5"),
    ("{{ 1536|bytes_pretty(1) }}", "1.5 KB"),
    ("{{ 3661|secs_pretty }}", "1 hour, 1 min, 1 sec"),
    ("{{ 3661|secs_pretty(1) }}", "1 hour"),
    ("{{ 90061|secs_pretty(2) }}", "1 day, 1 hour"),
    ('{{ "3600"|secs_pretty }}', "1 hour"),
    ("{{ 604800*2 + 5|secs_pretty }}", "1209605"),
    ("{{ (86400*400)|secs_pretty }}", "1 year, 1 month, 5 days, 14 hours"),
    ('{{ "x"|secs_pretty }}', ""),
    ("{{ -60|secs_pretty }}", "-1"),
    ("{{ (-60)|secs_pretty }}", "-1 years, 11 months, 4 weeks, 1 day, 9 hours, 59 mins"),
    ("{{ 90061|secs_pretty }}", "1 day, 1 hour, 1 min, 1 sec"),
    ('{{ [1,2,3,4]|stat("mean") }}', "2.5"),
    ('{{ [1,2,3,4]|stat("median") }}', "2.5"),
    ('{{ [1,2,2]|stat("mode")|json_encode }}', "2"),
    ('{{ [1,2,3,4]|stat("stdevs") }}', "1.29"),
    ('{{ [1,2,3,4]|stat("stdevp",4) }}', "1.118"),
    ('{{ [1,2,3,4]|stat("varp") }}', "1.25"),
    ('{{ [1,2]|stat("nope")|json_encode }}', "null"),
    ('{{ [3,1]|stat("sum") }}', "4"),
    ('{{ [3,1]|stat("count") }}{{ [3,1]|stat("max") }}{{ [3,1]|stat("min") }}', "231"),
    ('{{ [1,3]|stat("vars") }}', "2"),
    ("{{ 1234567.891|number_format }}", "1,234,568"),
    ('{{ "abc"|number_format }}', "0"),
    ("{{ 0.5|number_format }}", "1"),
    ("{{ 1234.5|number_format(2) }}", "1,234.50"),
    ('{{ 1234.5|number_format(2,",",".") }}', "1.234,50"),
    ("{{ 3.14159|round }}", "3"),
    ("{{ 3.14159|round(2) }}", "3.14"),
    ('{{ 2.9|round(0,"floor") }}', "2"),
    ("{{ -2.5|round }}", "-3"),
    ("{{ 1250|round(-2) }}", "1300"),
    ('{{ "2.7"|round }}', "3"),
    ("{{ 2.5|round }}{{ 3.5|round }}{{ -2.5|round }}", "34-3"),
    ("{{ 2.345|round(2) }}", "2.35"),
    ("{{ nope|round }}", "0"),
    ('{{ "-5.5"|abs }}{{ true|abs }}', "5.51"),
    ('{{ "abc"|abs }}', Fails("'abc' is not a number")),
    ("{{ [1]|abs }}", Fails("a list cannot be counted with")),
    ("{{ (-9223372036854775807 - 1)|abs }}", "9.2233720368548E+18"),
    (
        (
            '{{ 1.005|round(2) }} {{ (-0.4)|round }} {{ 2.1|round(0, "ceil") }}'
            ' {{ -1234|round(-2, "floor") }} {{ 7|round(99999) }}'
        ),
        "1.01 0 3 -1200 7",
    ),
    ('{{ 2|round(0, "up") }}', Fails("'round' has the methods common, ceil and floor, not 'up'")),
    ('{{ (9 ** 1000)|round }} {{ "5 apples"|round }} {{ [1]|round }}', "INF 5 0"),
    ("{{ nope|number_format(1) }} {{ 5|number_format(-3) }} {{ []|number_format }}", "0.0 5 0"),
    (
        '{{ (-1234.5)|number_format }} {{ (-0.4)|number_format }} {{ 1234567|number_format(thousands=" ") }}',
        "-1,235 0 1 234 567",
    ),
    ('{{ "zz"|base_convert(36, 10) }} {{ "12x9"|base_convert(8, 10) }} {{ ""|base_convert(10, 2) }}', "1295 10 0"),
    ("{{ 5|base_convert(1, 10) }}", Fails("'base_convert' knows the bases 2 to 36, not 1")),
    (
        '{{ "x"|bytes_pretty }}|{{ 1|bytes_pretty }}|{{ 2500000000000|bytes_pretty(1) }}|{{ "1e6"|bytes_pretty }}',
        "|1 bytes|2.5 TB|1 MB",
    ),
    (
        "{{ 0|secs_pretty }}|{{ nope|secs_pretty }}|{{ 59.9|secs_pretty }}|{{ 3661|secs_pretty(precision=2) }}",
        "0 secs||59 secs|1 hour, 1 min",
    ),
    (
        (
            '{{ [1, "2", 3.5, "x"]|stat("sum") }} {{ []|stat("count") }}'
            ' {{ []|stat("mean")|json_encode }} {{ [5]|stat("vars") }}'
        ),
        "6.5 0 null 0",
    ),
    (
        (
            '{{ {a: 3, b: 1}|stat("median") }} {{ [1, 1, 2, 2]|stat("mode") }}'
            ' {{ [1, 2]|stat("mean", 0) }} {{ nope|stat("sum") }}'
        ),
        "2 1 2 0",
    ),
]
