"""Filter calls that would run forever or fill memory: refused with a message, or with a small result."""

from typing import Any

MEGA = 1_000_000
HUGE = 2**63 - 1
STEPS = 200_000  # steps until a refusal; the limit of the service would only make the tests slower


def _nested(depth: int) -> Any:
    """Nested lists."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def _doubled(times: int) -> Any:
    """A small value whose JSON would have two to the power of `times` numbers: each list holds the previous one
    twice."""
    found: list[Any] = [1]
    for _ in range(times):
        found = [found, found]
    return found


VALUES: dict[str, Any] = {
    "a": "a" * MEGA,
    "blanks": " " * MEGA,
    "quotes": '"' * MEGA,
    "opened": "<" * MEGA,
    "tags": "<a" * (MEGA // 2),
    "closed": "<b>" * (MEGA // 3),
    "ends": "\n" * (8 * MEGA),
    "commas": "," * MEGA,
    "ampersands": "&" * MEGA,
    "references": "&#" + "9" * MEGA,
    "percents": "%s" * (MEGA // 2),
    "brackets": "a" + "[a]" * 100 + "=1",
    "opening": "[" * MEGA,
    "maps": '{"a":' * 1000,
    "deep": _nested(500),
    "doubled": _doubled(60),
    "row": [["a" * 1000] * 1000] * 100,
    "many": {f"k{number}": "v" for number in range(10_000)},
    "long_keys": {"a" * length + "b": "c" for length in range(1, 3000)},
    "digits": "9" * MEGA,
    "numbers": list(range(60_000)),
    "texts": ["a" * MEGA + str(number) for number in range(50)],
    "backslashes": '"' + "\\" * MEGA,
    "wide": [float("nan"), float("inf"), 1e308, -1e308, HUGE, -HUGE - 1],
    "emails": "a@b.example, " * 50_000,
    "agent": "Mozilla/5.0 (" * 80_000,
    "url": "http://" + "a:" * 30_000 + "@" * 1000,
    "image": "data:image/jpeg;base64,/9j/" + "/9gA" * 200_000,
}

LONG, MANY, ELEMENTS = "characters is too long", "more steps than it may", "elements is too long"
MEMORY = "more memory than it may"

REFUSED: list[tuple[str, str]] = [
    ('{{ "a"|repeat(9223372036854775807) }}', LONG),
    ('{{ "ab"|repeat(16000000) }}', LONG),
    ('{{ "a"|repeat(1e9) }}', "expected"),
    ('{{ "%999999999d"|format(1) }}', LONG),
    ('{{ "%-999999999s"|format("a") }}', LONG),
    ('{{ "%.999999f"|format(1.5) }}', "at most 400 decimals"),
    ("{{ percents|format }}", "no argument 1"),
    ('{{ percents|format("a") }}', "no argument 2"),
    ('{{ "%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s%1$s"|format(a) }}', LONG),
    ("{{ ends|indent(a) }}", LONG),
    ("{{ ends|nl2br }}", MANY),
    ("{{ ends|split_crlf }}", ELEMENTS),
    ("{{ ends|strip_lines('x') }}", ELEMENTS),
    ("{{ ends|quote }}", ELEMENTS),
    ("{{ a|replace({a: a}) }}", LONG),
    ('{{ a|replace({a: "bbbbbbbbbbbbbbbbb"}) }}', MANY),
    ("{{ a|replace(long_keys) }}", MANY),
    ('{{ a|split("") }}', ELEMENTS),
    ("{{ numbers|merge(numbers)|length }}", ELEMENTS),
    ('{{ commas|split(",") }}', ELEMENTS),
    ('{{ commas|split(",", 9223372036854775807) }}', ELEMENTS),
    ('{{ commas|split(",", -1) }}', ELEMENTS),
    ("{{ commas|split_csv }}", ELEMENTS),
    ('{{ commas|replace({",": "a "})|tokenize }}', MANY),
    ("{{ numbers|join(a) }}", LONG),
    ("{{ [1]|batch(9223372036854775807, 0) }}", ELEMENTS),
    ("{{ [1]|batch(0, 0) }}", "at least 1 entry"),
    ("{{ [1]|batch(-5) }}", "at least 1 entry"),
    ("{{ commas|parse_csv }}", MANY),
    ("{{ row|csv }}", LONG),
    ("{{ doubled|json_encode }}", MANY),
    ("{{ doubled|json_encode(128) }}", LONG),
    ("{{ doubled|kata_encode }}", LONG),
    ("{{ doubled|url_encode }}", "at most 16 lists"),
    ("{{ deep|json_encode }}", "at most 128 lists"),
    ("{{ deep|kata_encode }}", "at most 128 lists"),
    ("{{ deep|url_encode }}", "at most 16 lists"),
    ("{{ opening|json_pretty }}", MANY),
    ("{{ maps|json_pretty }}", "is none"),
    ('{{ ampersands|url_decode("json") }}', "at most 1,000 fields"),
    ('{{ brackets|url_decode("json") }}', "at most 16 brackets"),
    ("{{ digits|base_convert(10, 2) }}", "at most 1,000 digits"),
    ("{{ a|regexp('/' ~ a ~ '/') }}", "at most 10,000 characters"),
    ('{{ a|regexp("/((a{1,100}){1,100}){1,100}/") }}', "cannot be used"),
    ('{{ a|regexp("/(a)\\\\1/") }}', "cannot be used"),
    ("{{ opened|striptags }}", MANY),
    ("{{ numbers|map(x => numbers|join)|length }}", "script"),
    ("{{ numbers|filter(x => numbers|filter(y => true)) }}", MANY),
    ("{{ numbers|reduce((sum, x) => sum ~ sum ~ x, 'a') }}", LONG),
    ("{{ numbers|map(x => x * 7919 % 59999)|sort }}", MANY),
    ("{{ numbers|map(x => x * 7919 % 59999)|sort((x, y) => y <=> x) }}", MANY),
    ("{{ numbers|map(x => texts|sort) }}", "script"),
    ("{{ a|alphanum('', 'bbbbbbbbbbbbbbbbb') }}", LONG),
    ('{{ ("é"|repeat(4000000))|url_encode }}', LONG),
    ('{{ ("é"|repeat(4000000))|json_encode }}', LONG),
    ('{{ ("😀"|repeat(8000000))|upper }}', MEMORY),
    ('{{ ("<"|repeat(8000000))|e }}', LONG),
    ('{{ ("<"|repeat(6000000))|e("js") }}', LONG),
    ('{{ ("a b"|repeat(50000))|permalink(a) }}', LONG),
    ('{{ ("b"|repeat(16000000))|append("b", a) }}', LONG),
    ("{{ a|markdown_to_html }}", "at most 65,536 characters"),
    ('{{ 1|number_format(0, ".", "," ~ a) }}{{ 1234567890123456789|number_format(0, ".", a ~ a ~ a) }}', LONG),
    ('{{ 1|date("l"|repeat(3000000)) }}', MANY),
    ("{{ a|date }}", "a date has at most 255 characters"),
    ("{{ digits|date_modify(digits) }}", "a date has at most 255 characters"),
    ("{{ 1|date('Y', a) }}", "is not a time zone"),
]

BOUNDED: list[tuple[str, int]] = [
    ("{{ a|truncate(9223372036854775807) }}", MEGA),
    ("{{ a|slice(-9223372036854775808, 9223372036854775807)|length }}", 10),
    ("{{ [1, 2]|slice(9223372036854775807, -9223372036854775807)|json_encode }}", 2),
    (
        "{{ a|str_pos('b' , 9223372036854775807) }}{{ a|str_sub(-9223372036854775807, 9223372036854775807)|length }}",
        20,
    ),
    ("{{ 'a'|indent('b', 9223372036854775807) }}", 1),
    ("{{ blanks|trim }}{{ blanks|spaceless }}{{ blanks|permalink }}{{ blanks|quote }}", 1),
    ("{{ quotes|parse_csv|length }}{{ backslashes|parse_csv|length }}", 10),
    ("{{ tags|striptags }}{{ opened|html_to_text|length }}{{ tags|html_to_text|length }}", 20),
    ("{{ ('<!--'|repeat(100000))|striptags }}{{ ('<a\"'|repeat(100000))|striptags }}", 0),
    ("{{ array_column([{a: 1}], doubled)|length }}{{ [{a: 1}]|column(doubled)|length }}", 2),
    ("{{ references|unescape|length }}{{ ampersands|unescape|length }}", 20),
    ("{{ (a ~ '<b>' ~ a)|striptags|length }}", 10),
    ('{{ a|regexp("/(a*)*b/") }}{{ a|regexp("/(a|aa)+$/")|length }}', 10),
    ("{{ wide|stat('sum') }}{{ wide|stat('stdevs') }}{{ wide|stat('median') }}{{ wide|stat('mode') }}", 60),
    ("{{ wide[1]|round(2) }}{{ wide[0]|number_format(2) }}{{ wide[1]|bytes_pretty }}{{ wide[4]|secs_pretty }}", 120),
    ("{{ wide[5]|abs }}{{ wide[2]|round(-9223372036854775807) }}{{ wide[2]|round(9223372036854775807) }}", 60),
    ("{{ 1|number_format(9223372036854775807)|length }}{{ wide[2]|number_format(400)|length }}", 10),
    ('{{ "%d%x%c%e"|format(wide[1], wide[3], 65, wide[0]) }}', 60),
    ("{{ emails|parse_emails|length }}", 3),
    ("{{ agent|parse_user_agent|json_encode }}", 100),
    ("{{ url|parse_url|json_encode }}", 100),
    ("{{ image|image_info|keys|join }}", 6),
    ("{{ a|base64_decode|length }}{{ a|md5 }}{{ a|hash_hmac(a) }}", 120),
    ("{{ digits|url_decode('json')|length }}{{ ('%'|repeat(100000))|url_decode|length }}", 20),
    ("{{ many|keys|length }}{{ many|replace({})|length }}{{ ('k77'|repeat(1000))|replace(many)|length }}", 20),
    ("{{ numbers|merge([1])|length }}{{ numbers|reverse|first }}{{ numbers|column('x')|length }}", 20),
    ("{{ wide[4]|date_pretty(true) }}{{ wide[5]|date_pretty(true) }}{{ wide[1]|date_pretty }}", 80),
    ("{{ a|html_to_text(9223372036854775807)|length }}", 10),
    ("{{ ('**a'|repeat(20000))|markdown_to_html|length }}", 10),
]

# Values of a wrong type for a filter.
ODD: list[Any] = [
    None, True, False, 0, -1, HUGE, -HUGE - 1, 1.5, float("nan"), float("inf"), "", "0", "abc", "é\0\ud800\uffff",
    "%s%", "/a/", "data:image/png;base64,x", "-5 weeks", [], {}, [1, [2], None], {"a": {"b": []}, "7": "x"},
    [[1, 2], {"x": "y"}],
]  # fmt: skip
