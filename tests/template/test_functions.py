"""Functions that work without a service."""

from server.template.registry import FUNCTIONS
from tests.template.run_cases import NOW, Case, Fails, check, every, render

LISTS: list[Case] = [
    ("{{ max(1,3,2) }}", "3"),
    ("{{ max(arr) }}", "3", {"arr": [3, 1, 2]}),
    ("{{ min(arr) }}", "1", {"arr": [3, 1, 2]}),
    ('{{ array_column(rows,"nm")|json_encode }}', '["x","y"]', {"rows": [{"id": 1, "nm": "x"}, {"id": 2, "nm": "y"}]}),
    ('{{ array_column("x","nm")|json_encode }}', "[]"),
    ('{{ array_combine(["a","b"],[1,2])|json_encode }}', '{"a":1,"b":2}'),
    (
        '{{ array_combine(["a"],[1,2])|json_encode }}',
        Fails("array_combine takes as many values as keys; there are 1 and 2"),
    ),
    ('{{ array_count_values(["a","b","a"])|json_encode }}', '{"a":2,"b":1}'),
    ("{{ array_diff([1,2,3],[2])|json_encode }}", '{"0":1,"2":3}'),
    ('{{ array_intersect([1,2,3],["2",3])|json_encode }}', '{"1":2,"2":3}'),
    ('{{ array_matches(["a@x.io","b@y.io"],["*@x.io"])|json_encode }}', '["a@x.io"]'),
    ('{{ array_matches("abc","A*")|json_encode }}', '["abc"]'),
    ('{{ array_matches(["a"],[])|json_encode }}', "[]"),
    ("{{ array_sort_keys(o)|json_encode }}", '{"a":2,"b":1}', {"o": {"b": 1, "a": 2}}),
    ('{{ array_sum([1,"2",3.5])|json_encode }}', "6.5"),
    ('{{ array_unique([1,"1",2,1])|json_encode }}', '{"0":1,"2":2}'),
    ('{{ max("a","b") }}', "b"),
    ("{{ min([]) }}", Fails("min takes several values, or a list with something in it; this is an e")),
    ('{{ max({"x":5,"y":9}) }}', "9"),
    ("{{ cycle([], 1) }}", Fails("cycle takes a list with something in it, this is an empty list")),
    ('{{ array_sum(rows|column("n")) }}', "7", {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]}),
    ('{{ array_unique(["a","b","a"])|json_encode }}', '["a","b"]'),
    ('{{ cycle(["odd","even"],3) }}', "even"),
    ('{{ max("10",9) }}', "10"),
    ('{{ max("abc",5) }}', "abc"),
]

PATHS: list[Case] = [
    ('{{ attribute(o,"a") }}', "1", {"o": {"a": 1, "b": 2}}),
    ('{{ dict_set({"a":[1]}, "a.[]", 2)|json_encode }}', '{"a":[1,2]}'),
    ('{{ dict_set({"a":{"b":1}}, "a.b", null)|json_encode }}', '{"a":{"b":null}}'),
    ('{{ dict_unset({"a":1,"b":2}, ["a","zz"])|json_encode }}', '{"b":2}'),
    ('{{ jsonpath_set({}, "a.b", 1)|json_encode }}', '{"a":{"b":1}}'),
    ('{{ attribute(o, "zz") }}', "", {"o": {"a": 1}}),
    ('{{ attribute(row,"sku") }}', "p1", {"row": {"sku": "p1", "n": 2}}),
    (
        '{{ dict_set(row,"extra.deep",1)|json_encode }}',
        '{"sku":"p1","n":2,"extra":{"deep":1}}',
        {"row": {"sku": "p1", "n": 2}},
    ),
    ('{{ dict_unset(row,"n")|json_encode }}', '{"sku":"p1"}', {"row": {"sku": "p1", "n": 2}}),
]

GIVEN = {"n5": "5", "arr": [3, 1], "o": {"b": 1}, "nul": None, "nl": "a\n"}
PLACEHOLDERS: list[Case] = [
    ('{{ placeholders_list()|keys|join(",") }}', "n5,arr,o,nul,nl", GIVEN),
    ('{{ svc_placeholders_list("n")|json_encode }}', '{"5":"5","ul":null,"l":"a\\n"}', GIVEN),
    ('{{ svc_placeholders_list("n","z_")|json_encode }}', '{"z_5":"5","z_ul":null,"z_l":"a\\n"}', GIVEN),
    ('{{ placeholders_list(prefix="r.")|keys|join(",") }}', "r.n5,r.arr,r.o,r.nul,r.nl", GIVEN),
    ('{% set own = 1 %}{{ placeholders_list("own")|json_encode }}', "[]", GIVEN),
]


@every(LISTS, PATHS, PLACEHOLDERS)
def test_lists_and_maps(case: Case) -> None:
    check(case)


NUMBERS: list[Case] = [
    ('{{ range(1,3)|join(",") }}', "1,2,3"),
    ('{{ range(0,10,5)|join(",") }}', "0,5,10"),
    ('{{ range(3)|join(",") }}', Fails("'range' needs the argument 'high'")),
    ('{{ clamp_int("7.9") }}', "7"),
    ("{{ clamp_float(-3)|json_encode }}", "-3"),
    ("{{ clamp_float(-3,-10,10)|json_encode }}", "-3"),
    ('{{ validate_number(" 5")|json_encode }}', "true"),
    ('{{ range("a","e",2)|join }}', "ace", {"e": ""}),
    ('{{ range(1,2,0.5)|join(",") }}', "1,1.5,2"),
    ('{{ clamp_int("42",0,10) }}', "10"),
]

DATES: list[Case] = [
    ('{{ date("2024-01-01") < date("2024-02-01") }}', "1"),
    ('{{ date("2024-01-01")|date("Y") }}', "2024"),
    ('{{ date("2024-01-03").diff(date("2024-01-01")).days }}', Fails("a date has no entries; format it with |date")),
    ('{{ date("2024-01-03").timestamp }}', Fails("a date has no entries; format it with |date")),
    ('{{ date_lerp("2024-01-01 to 2024-01-03","day")|json_encode }}', "[1704067200,1704153600,1704240000]"),
    (
        '{{ date_lerp("2024-01-01 to 2024-03-01",unit="month")|map(v => v|date("Y-m-d"))|json_encode }}',
        '["2024-01-01","2024-02-01","2024-03-01"]',
    ),
    ('{{ date(dt) == date("@1700000000") }}', "1", {"dt": 1700000000}),
]


@every(NUMBERS, DATES)
def test_numbers_and_dates(case: Case) -> None:
    check(case)


NOTATIONS: list[Case] = [
    ('{{ json_decode("{\\"a\\":[1,2]}").a[1] }}', "2"),
    ('{{ json_decode("nope")|json_encode }}', "null"),
    ('{{ json_decode("[]")|json_encode }}', "[]"),
    ('{{ kata_parse("bad line")|json_encode }}', "false"),
    ('{{ regexp_match_all("/(\\\\w)(\\\\d)/","a1 b2")|json_encode }}', '[["a1","b2"],["a","b"],["1","2"]]'),
    ('{{ regexp_match_all("/(\\\\w)(\\\\d)/","a1 b2",1)|json_encode }}', '["a","b"]'),
    ('{{ validate_email("nope")|json_encode }}', "false"),
    ('{{ regexp_match_all("/l(\\\\d)/",multi,1)|join(",") }}', "1,2,3", {"multi": "l1\nl2\n\nl3"}),
    ('{{ json_decode("[1,{\\"a\\":null}]")|json_encode }}', '[1,{"a":null}]'),
]

XML: list[Case] = [
    ('{{ xml_decode("<a><b k=\\"v\\">t</b><b>u</b></a>").b }}', "t"),
    ('{{ xml_xpath(xml_decode("<a><b>t</b><b>u</b></a>"),"//b")|length }}', "2"),
    ('{{ xml_attrs(xml_decode("<a k=\\"v\\" m=\\"2\\"/>"))|json_encode }}', '{"k":"v","m":"2"}'),
    ('{{ xml_tag(xml_decode("<a/>")) }}', "a"),
    ('{{ xml_encode(xml_decode("<a><b/></a>")) }}', '<?xml version="1.0"?>\n<a><b/></a>\n'),
    ('{{ xml_decode("<bad")|json_encode }}', "false"),
    ('{{ xml_decode("<p>x<br>y</p>",[],"html") is empty }}', ""),
    ('{{ xml_xpath(xml_xpath_ns(xml_decode("<a xmlns=\\"urn:x\\"><b>q</b></a>"),"z","urn:x"),"//z:b")|first }}', "q"),
]

VOBJECTS: list[Case] = [
    (
        '{{ vobject_parse("BEGIN:VCARD\\nFN:Bob\\nTEL;TYPE=home:123\\nEND:VCARD")|json_encode }}',
        '{"VCARD":[{"props":{"FN":[{"params":[],"value":"Bob"}],"TEL":[{"params":{"TYPE":"home"},"value":"123"}]}}]}',
    ),
]


@every(NOTATIONS, XML, VOBJECTS)
def test_notations(case: Case) -> None:
    check(case)


FURTHER_LISTS: list[Case] = [
    ('{{ array_column([{"i":7,"v":1},{"i":9},{"v":3}], "v", "i")|json_encode }}', '{"7":1,"8":3}'),
    ('{{ array_column(null, "v")|json_encode }}', "[]"),
    ('{{ array_combine("a", [1])|json_encode }}', "[]"),
    ('{{ array_combine([true, 2.9], ["x", "y"])|json_encode }}', '{"1":"x","2":"y"}'),
    ('{{ array_count_values([1, "1", "b", [2]])|json_encode }}', '{"1":2,"b":1}'),
    ('{{ array_count_values("x")|json_encode }}', "[]"),
    ('{{ array_diff(null, [1])|json_encode }}{{ array_diff("x", [1])|json_encode }}', "[][]"),
    ('{{ array_diff({"a":1,"b":null}, [""])|json_encode }}', '{"a":1}'),
    ('{{ array_intersect([1], null)|json_encode }}{{ array_intersect("x", [1])|json_encode }}', "[]null"),
    ('{{ array_extract_keys([{"a":1,"b":2},{"b":3},5], ["a","b"])|json_encode }}',
     '[{"a":1,"b":2},{"a":null,"b":3},{"a":null,"b":null}]'),
    ('{{ array_extract_keys([5], 0)|json_encode }}', "[[5]]"),
    ('{{ array_fill_keys(["a", 2], true)|json_encode }}', '{"a":true,"2":true}'),
    ('{{ array_fill_keys(["a"])|json_encode }}', '{"a":null}'),
    ('{{ array_matches(["Ab","cb","x"], ["a*","C?","*B"])|json_encode }}', '["Ab","cb"]'),
    ('{{ array_matches(["a","b"], "b")|json_encode }}', '["b"]'),
    ('{{ array_sort_keys({"b":1, "10":2, "9":3, "a":4})|keys|join(",") }}', "9,10,a,b"),
    ('{{ array_sum({"a":1,"b":"2 kg","c":"x","d":null,"e":true}) }}', "4"),
    ('{{ array_sum([])|json_encode }}{{ array_sum("5")|json_encode }}', "0false"),
    ('{{ array_sum([9223372036854775807, 1]) }}', "9.2233720368548E+18"),
    ('{{ array_unique({"x":"a","y":"A","z":"a"})|json_encode }}', '{"x":"a","y":"A"}'),
    ('{{ array_values({"x":1,"y":[2]})|json_encode }}{{ array_values(null)|json_encode }}', "[1,[2]][]"),
    ('{{ cycle(["a","b","c"], -1) }}{{ cycle({"x":"a","y":"b"}, 2) }}', "ca"),
    ('{{ cycle("ab", 1) }}', Fails("cycle takes a list with something in it, this is a text")),
    ('{{ max([1, "9", "10"]) }}{{ min("b", "a") }}{{ min({"x":2,"y":1}) }}', "10a1"),
    ('{{ max(null, 0, "")|json_encode }}', "null"),
    ("{{ max() }}", Fails("max takes several values")),
    ("{{ max(5) }}", Fails("this is a number")),
    ('{{ date("2024-01-02") == max(date("2024-01-02"), date("2023-01-01")) }}', "1"),
    ('{{ shuffle({"x":1,"y":2})|sort|values|json_encode }}{{ shuffle("x")|json_encode }}', "[1,2][]"),
    ('{{ shuffle(1..50)|sort|values == 1..50 }}', "1"),
    ("{{ random([7]) }}{{ random({\"x\":8}) }}{{ random(\"z\") }}{{ random(0) }}[{{ random(\"\") }}]", "78z0[]"),
    ("{% set r = random(5) %}{{ r >= 0 and r <= 5 }}{% set r = random(-5) %}{{ r >= -5 and r <= 0 }}", "11"),
    ("{{ random() >= 0 }}", "1"),
    ("{% set r = random(1, 6) %}{{ r >= 1 and r <= 6 }}{{ random(3, 3) }}{{ random(-2, \"-2\") }}", "13-2"),
    ("{% set s = [] %}{% for n in 1..200 %}{% set s = s|merge([random(1, 6)]) %}{% endfor %}{{ min(s) }}{{ max(s) }}",
     "16"),
    ("{{ random(6, 1) }}", Fails("random takes the lowest number first, not 6 before 1")),
    ("{{ random(\"abc\", 2) }}{{ random([1], 2) }}", Fails("random takes two numbers")),
    ("{{ random([]) }}", Fails("random takes a list with something in it")),
    ('{{ random_string() matches "/^[A-HJ-NP-Z1-9]{8}$/" }}{{ random_string(20)|length }}', "120"),
    ("{{ random_string(0)|length }},{{ random_string(9999)|length }}", "1,255"),
]  # fmt: skip
FURTHER_PATHS: list[Case] = [
    ('{{ dict_set(null, "a.b.c", 1)|json_encode }}', '{"a":{"b":{"c":1}}}'),
    ('{{ dict_set({}, "a.[].b", 1)|json_encode }}', '{"a":[{"b":1}]}'),
    ('{{ dict_set([1,2], "[]", 3)|json_encode }}', "[1,2,3]"),
    ('{{ dict_set({"a":5}, "a.b", 1)|json_encode }}', '{"a":{"b":1}}'),
    ('{{ dict_set({}, "a.b/c", 1, "/")|json_encode }}', '{"a.b":{"c":1}}'),
    ('{{ dict_set({"5":1}, "[]", 2)|json_encode }}', '{"5":1,"6":2}'),
    ('{% set b = dict_set(a, "x.y", 2) %}{{ a.x.y }}{{ b.x.y }}', "12", {"a": {"x": {"y": 1}}}),
    ('{{ dict_set("text", "a", 1) }}', Fails("dict_set takes a map, this is a text")),
    ('{{ dict_unset({"a":{"b":1,"c":2},"d":3}, ["a.b","d","zz.y"])|json_encode }}', '{"a":{"c":2}}'),
    ('{{ dict_unset([1,2,3], "1")|json_encode }}{{ dict_unset(null, "a")|json_encode }}', '{"0":1,"2":3}[]'),
    ('{% set b = dict_unset(a, "x.y") %}{{ a.x.y }}{{ b.x|json_encode }}', "1[]", {"a": {"x": {"y": 1}}}),
    ('{{ jsonpath_set({"a":[1]}, "a[]", 2)|json_encode }}', '{"a":[1,2]}'),
    ('{{ jsonpath_set(null, "a[].b[]", 2)|json_encode }}', '{"a":[{"b":[2]}]}'),
    ('{{ attribute({"a b":{"c":1}}, "a b").c }}{{ attribute([7,8], 1) }}[{{ attribute("text", "upper") }}]', "18[]"),
]


@every(FURTHER_LISTS, FURTHER_PATHS)
def test_more_of_lists_and_maps(case: Case) -> None:
    check(case)


FURTHER_NUMBERS: list[Case] = [
    ('{{ clamp_int("x")|json_encode }}{{ clamp_int(null)|json_encode }}{{ clamp_int(-7.9) }}', "falsefalse-7"),
    ('{{ clamp_int("1e30") }} {{ clamp_int(5, "6", 9) }}', "9223372036854775807 6"),
    ('{{ clamp_float("2.5", 0, 2) }} {{ clamp_float(-3.5) }} {{ clamp_float("x")|json_encode }}', "2 -3.5 false"),
    ('{{ range("e", "a", 2)|join }} {{ range(5, 1, 2)|join }} {{ range("1", "3")|join }}', "eca 531 123"),
    ("{{ range(3, 3)|join }} {{ range(3, 3, 9)|join }} {{ range(1, 3, 0)|join }}", "3 3 123"),
    ("{{ range(0, 1, 0.25)|join(\" \") }}", "0 0.25 0.5 0.75 1"),
    ("{{ range(1, 2, 5) }}", Fails("the step of a range is larger than the range")),
    ('{{ range("aa", "cc") }}', Fails("'aa' is not a number")),
    ('{{ range("é", "z") }}', Fails("'é' is not a number")),
    ('{{ ["1e5", "5 ", ".5", "", "0x1A", "1,0", true, null, [1]]|map(v => validate_number(v) ? 1 : 0)|join }}',
     "111000000"),
]  # fmt: skip
FURTHER_DATES: list[Case] = [
    ('{{ date()|date("U") }} {{ date("now")|date("U") }} {{ date(null)|date("U") }}', f"{NOW} {NOW} {NOW}"),
    ('{{ date("2024-01-01", "Europe/Berlin")|date("H:i P", false) }}', "01:00 +01:00"),
    ('{{ date("2024-01-01 00:00 UTC") == date("2024-01-01 01:00", "Europe/Berlin") }}|', "|"),
    ('{{ date("2024-01-01T00:00:00+02:00") < date("2024-01-01T00:00:00Z") }}', "1"),
    ('{{ date("tomorrow") > date() }}{{ date("-1 day") < date() }}', "11"),
    ('{{ date("no such day") }}', Fails("is not a time")),
    ("{{ date([]) }}", Fails("a list is not a date")),
    ("{{ date(0, \"Mars/Olympus\") }}", Fails("Mars/Olympus")),
    ("{{ date() - date() }}", Fails("a date cannot be counted with")),
    ("{{ date() ~ 1 }}", Fails("a date cannot be printed as it is")),
    ("{{ date()|json_encode }}", Fails("a date has no JSON")),
    ('{{ date_lerp("2024-01-01 00:00 to 2024-01-01 01:00", "minute", 30)|map(v => v|date("H:i"))|join(" ") }}',
     "00:00 00:30 01:00"),
    ('{{ date_lerp("2024-01-01 to 2024-01-01", "hour", 6)|map(v => v|date("H"))|join(" ") }}', "00 06 12 18"),
    ('{{ date_lerp("2024-01-01 to 2024-02-01", "week")|map(v => v|date("md"))|join(" ") }}',
     "0101 0108 0115 0122 0129"),
    ('{{ date_lerp("2024-01-31 to 2024-04-30", "month")|map(v => v|date("md"))|join(" ") }}', "0131 0302 0331"),
    ('{{ date_lerp("2020-02-29 to 2024-12-31", "year", 2)|map(v => v|date("Ymd"))|join(" ") }}',
     "20200229 20220301 20240229"),
    ('{{ date_lerp("2024-01-01 to 2024-12-31", "day", limit=3)|length }}', "3"),
    ('{{ date_lerp("2024-01-01 to 2024-12-31", "day", limit=0)|json_encode }}', "[]"),
    ('{{ date_lerp("2024-01-02 to 2024-01-01", "day")|json_encode }}', "[]"),
    ('{{ date_lerp("2024-01-01 to 2024-01-03", "fortnight") }}', Fails("'fortnight' is not a unit of time")),
    ('{{ date_lerp("no such day to now", "day") }}', Fails("is not a time")),
    ('{{ date_lerp("9999-12-30 to 9999-12-31", "day")|length }}', "2"),
]  # fmt: skip


@every(FURTHER_NUMBERS, FURTHER_DATES)
def test_more_of_numbers_and_dates(case: Case) -> None:
    check(case)


def test_days_of_a_range_keep_their_time_through_the_change_of_clocks() -> None:
    source = '{{ date_lerp("2024-03-30 to 2024-04-01", "day")|map(v => v|date("d H:i P"))|join(", ") }}'
    assert render(source, zone="Europe/Berlin") == "30 00:00 +01:00, 31 00:00 +01:00, 01 00:00 +02:00"


CARDS = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:Plan\\, part one\\nand\r\n  more\r\n"
    'ATTENDEE;CN="Doe; Ann";ROLE=CHAIR:mailto:ann@x.example\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nEND:VEVENT\r\n'
    "END:VCALENDAR\r\n"
)
FURTHER_NOTATIONS: list[Case] = [
    ('{{ json_decode("{}")|json_encode }}{{ json_decode(5) }}{{ json_decode(null)|json_encode }}', "[]5null"),
    ('{{ json_decode(j)|json_encode }}', "null", {"j": "[" * 200 + "]" * 200}),
    ('{{ json_decode(j)|json_encode }}', "null", {"j": "[NaN]"}),
    ('{{ json_decode(j) }}', "1.0E+30", {"j": "1" + "0" * 30}),
    ('{{ kata_parse("a@int: 5\\nb:\\n  c: {{x}}")|json_encode }}', '{"a@int":"5","b":{"c":"{{x}}"}}'),
    ("{{ kata_parse(5)|json_encode }}{{ kata_parse(null)|json_encode }}", "[][]"),
    ('{{ regexp_match_all("/(a)(x)?/", "aba")|json_encode }}', '[["a","a"],["a","a"],["",""]]'),
    ('{{ regexp_match_all("/(a)/", "b")|json_encode }}', "[[],[]]"),
    ('{{ regexp_match_all("/(a)/", "b", 1)|json_encode }}', "[]"),
    ('{{ regexp_match_all("/a/", "b")|json_encode }}', "[[]]"),
    ('{{ regexp_match_all("/(?P<n>[0-9])/", "a1b2", "n")|join }}', "12"),
    ('{{ regexp_match_all("/(a)/", "a", "n") }}', Fails("the pattern has no group 'n'")),
    ('{{ regexp_match_all("/(a)/", "a", 9)|json_encode }}', "[]"),
    ('{{ regexp_match_all("a", "a") }}', Fails("needs delimiters")),
    ('{{ regexp_match_all("/a/", t) }}', Fails("bytes that are not text"), {"t": "\udcff"}),
    ('{{ t matches "/a/" }}', Fails("bytes that are not text"), {"t": "\udcff"}),
    ('{{ "a" matches t }}', Fails("bytes that are not text"), {"t": "/\udcff/"}),
    (('{% for a in ["a@b.example", " a@b.example ", "a@b.example, c@d.example", "A <a@b.example>", "", null, 5] %}'
     "{{ validate_email(a) ? 1 : 0 }}{% endfor %}"), "1100000"),
    ("{{ vobject_parse(c).VCALENDAR[0].props.VERSION[0].value }}", "2.0", {"c": CARDS}),
    ("{{ vobject_parse(c).VCALENDAR[0].children.VEVENT|length }}", "2", {"c": CARDS}),
    ("{{ vobject_parse(c).VCALENDAR[0].children.VEVENT[0].props.SUMMARY[0].value }}", "Plan, part one\nand more",
     {"c": CARDS}),
    ("{{ vobject_parse(c).VCALENDAR[0].children.VEVENT[0].props.ATTENDEE[0]|json_encode(64) }}",
     '{"params":{"CN":"Doe; Ann","ROLE":"CHAIR"},"value":"mailto:ann@x.example"}', {"c": CARDS}),
    ('{{ vobject_parse("nothing\\nof: this")|json_encode }}{{ vobject_parse(5)|json_encode }}', "[][]"),
    ('{{ vobject_parse("BEGIN:A\\nEND:B\\nX;T=a;T=b:1\\nEND:A\\nY:2")|json_encode }}',
     '{"A":[{"props":{"X":[{"params":{"T":"a,b"},"value":"1"}]}}]}'),
]  # fmt: skip
PAGE = '<a k="1" x:l="2" xmlns:x="urn:x"><b id="one">t</b><b id="two">u<c/>v</b><x:d>w</x:d></a>'
FURTHER_XML: list[Case] = [
    ("{{ xml_decode(p).b.1 }}{{ xml_decode(p).b[0] }}[{{ xml_decode(p).nope.more }}]", "uvt[]", {"p": PAGE}),
    ("{% for b in xml_decode(p).b %}{{ xml_attr(b, \"id\") }}={{ b }};{% endfor %}", "one=t;two=uv;", {"p": PAGE}),
    ("{% for k, b in xml_decode(p) %}{{ k }}{{ xml_tag(b) }} {% endfor %}", "0b 1b 2d ", {"p": PAGE}),
    ('{{ xml_xpath(xml_decode(p), "//b[@id=\'two\']", 0) }}', "uv", {"p": PAGE}),
    ('{{ xml_xpath(xml_decode(p), "//b", 1) }}[{{ xml_xpath(xml_decode(p), "//b", 2) }}]', "uv[]", {"p": PAGE}),
    ('{{ xml_xpath(xml_decode(p), "//b/@id")|join(",") }}', "one,two", {"p": PAGE}),
    ('{{ xml_xpath(xml_decode(p, {"y": "urn:x"}), "//y:d", 0) }}', "w", {"p": PAGE}),
    ('{{ xml_xpath(xml_decode(p), "//b[") }}', Fails("the path '//b[' cannot be used"), {"p": PAGE}),
    ('{{ xml_attr(xml_decode(p), "k") }}{{ xml_attr(xml_decode(p), "z", "none") }}', "1none", {"p": PAGE}),
    ('{{ xml_encode(xml_decode(p).b[1]) }}', '<b id="two">u<c/>v</b>', {"p": PAGE}),
    (("{% for v in [xml_tag(1), xml_encode([]), xml_attr(null, \"a\"), xml_attrs({}), xml_xpath(\"a\", \"b\"), "
     "xml_xpath_ns(1, \"a\", \"b\"), xml_decode(null)] %}{{ v is same as(false) ? 1 : 0 }}{% endfor %}"), "1111111"),
    ('{{ xml_decode(p) }}', "", {"p": '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>'}),
    ('{{ xml_xpath(xml_decode("<ul><li>a<li>b</ul>", [], "html"), "//li")|join(",") }}', "a,b"),
    ('{{ xml_decode("<a/>") is empty }}{{ xml_decode("<a>0</a>") is empty }}|', "1|"),
    ('{{ xml_decode("<a>x</a>") ~ "y" }}{{ xml_decode("<a>x</a>")|upper }}', "xyX"),
]  # fmt: skip


@every(FURTHER_NOTATIONS, FURTHER_XML)
def test_more_of_notations(case: Case) -> None:
    check(case)


NAMES = """array_column array_combine array_count_values array_diff array_intersect array_extract_keys array_fill_keys
array_matches array_sort_keys array_sum array_unique array_values attribute clamp_int clamp_float cycle date date_lerp
dict_set dict_unset dns_get_record dns_host_by_ip json_decode jsonpath_set kata_parse max min placeholders_list
svc_placeholders_list random random_string range regexp_match_all shuffle svc_automation svc_avatar_url
svc_avatar_image svc_calendar_time_elapsed svc_extract_uris svc_file_url svc_fill svc_has_priv svc_record_readable
svc_record_writeable svc_snippet svc_url validate_email validate_number vobject_parse xml_decode xml_encode xml_tag
xml_attr xml_attrs xml_xpath xml_xpath_ns"""


def test_there_are_these_functions_and_no_others() -> None:
    assert sorted(FUNCTIONS) == sorted(NAMES.split())
