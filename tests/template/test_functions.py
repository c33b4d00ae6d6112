"""Functions that need no service."""

from tests.template.run_cases import Case, Fails, check, every

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
]  # fmt: skip

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
]  # fmt: skip

GIVEN = {"n5": "5", "arr": [3, 1], "o": {"b": 1}, "nul": None, "nl": "a\n"}
PLACEHOLDERS: list[Case] = [
    ('{{ placeholders_list()|keys|join(",") }}', "n5,arr,o,nul,nl", GIVEN),
    ('{{ svc_placeholders_list("n")|json_encode }}', '{"5":"5","ul":null,"l":"a\\n"}', GIVEN),
    ('{{ svc_placeholders_list("n","z_")|json_encode }}', '{"z_5":"5","z_ul":null,"z_l":"a\\n"}', GIVEN),
    ('{{ placeholders_list(prefix="r.")|keys|join(",") }}', "r.n5,r.arr,r.o,r.nul,r.nl", GIVEN),
    ('{% set own = 1 %}{{ placeholders_list("own")|json_encode }}', "[]", GIVEN),
]  # fmt: skip


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
]  # fmt: skip

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
]  # fmt: skip


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
]  # fmt: skip

XML: list[Case] = [
    ('{{ xml_decode("<a><b k=\\"v\\">t</b><b>u</b></a>").b }}', "t"),
    ('{{ xml_xpath(xml_decode("<a><b>t</b><b>u</b></a>"),"//b")|length }}', "2"),
    ('{{ xml_attrs(xml_decode("<a k=\\"v\\" m=\\"2\\"/>"))|json_encode }}', '{"k":"v","m":"2"}'),
    ('{{ xml_tag(xml_decode("<a/>")) }}', "a"),
    ('{{ xml_encode(xml_decode("<a><b/></a>")) }}', '<?xml version="1.0"?>\n<a><b/></a>\n'),
    ('{{ xml_decode("<bad")|json_encode }}', "false"),
    ('{{ xml_decode("<p>x<br>y</p>",[],"html") is empty }}', ""),
    ('{{ xml_xpath(xml_xpath_ns(xml_decode("<a xmlns=\\"urn:x\\"><b>q</b></a>"),"z","urn:x"),"//z:b")|first }}', "q"),
]  # fmt: skip

VOBJECTS: list[Case] = [
    (
        '{{ vobject_parse("BEGIN:VCARD\\nFN:Bob\\nTEL;TYPE=home:123\\nEND:VCARD")|json_encode }}',
        '{"VCARD":[{"props":{"FN":[{"params":[],"value":"Bob"}],"TEL":[{"params":{"TYPE":"home"},"value":"123"}]}}]}',
    ),
]  # fmt: skip


@every(NOTATIONS, XML, VOBJECTS)
def test_notations(case: Case) -> None:
    check(case)
