"""Expressions: literals, operators, access, output, and errors."""

from tests.template.run_cases import Case, Fails, check, every

LITERALS: list[Case] = [
    ("{{ true }}|{{ false }}|{{ null }}|{{ none }}|{{ True }}|{{ None }}", "1|||||"),
    ("{{ 'it''s' }}", Fails("'s' stands where the end of the tag is expected"), {"s": "Hello"}),
    ("{{ 'a\\nb' }}", "a\nb"),
    ('{{ "a\\nb" }}', "a\nb"),
    ("{{ 'x #{n5}' }}", "x #{n5}", {"n5": "5"}),
    ('{{ {a:1,"b":2}|json_encode }}', '{"a":1,"b":2}'),
    ("{{ {(s):1}|json_encode }}", '{"Hello":1}', {"s": "Hello"}),
    ("{{ {n5, s}|json_encode }}", '{"n5":"5","s":"Hello"}', {"n5": "5", "s": "Hello"}),
    ("{{ [1,2,]|json_encode }}", "[1,2]"),
    ("{{ [1, [2, 3]]|json_encode }}", "[1,[2,3]]"),
    ('{{ "q\\"q" }}', 'q"q'),
    ("{{ 'q\\'q' }}", "q'q"),
    ('{{ "\\\\d" }}', "\\d"),
    ("{{ '\\d' }}", "d"),
    ('{{ "\\d" }}', "d"),
    ('{{ "\\u00e9" }}', "u00e9"),
    ('{{ "#{1+1}" }}', "2"),
    ('{{ "\\#{1+1}" }}', "#{1+1}"),
    ('{{ "{{ x }}" }}', "{{ x }}"),
    ("{{ [1,[2,{x:3}]]|json_encode }}", '[1,[2,{"x":3}]]'),
    ('{{ "sum: #{1 + 2}" }}', "sum: 3"),
    ("{{ yes }}{{ no }}{{ nil }}", "1", {"nil": None, "yes": True, "no": False}),
    ("{{ yes|json_encode }}{{ nil|json_encode }}", "truenull", {"nil": None, "yes": True}),
    ('{{ "é/x"|json_encode }}', '"\\u00e9\\/x"'),
    ("{{ arr[1:1]|json_encode }}", "[1]", {"arr": [3, 1, 2]}),
    (
        '{{ {"a":1.0,"b":0.1,"c":null,"d":true,"e":[],"f":{}}|json_encode }}',
        '{"a":1,"b":0.1,"c":null,"d":true,"e":[],"f":[]}',
        {"e": ""},
    ),
]

PRINTING: list[Case] = [
    ("{{ nul }}", "", {"nul": None}),
    ("{{ arr }}", "Array", {"arr": [3, 1, 2]}),
    ("{{ o }}", "Array", {"o": {"a": 1, "b": {"c": 2}}}),
    ("{{ f }}", "1.5", {"f": 1.5}),
    ("{{ nope }}", ""),
    ("{{ html }}", "<b>x</b>", {"html": "<b>x</b>"}),
    ("{{ _charset }}", ""),
    ("{{ nl }}x", "a\nx", {"nl": "a\n"}),
    ("{{ f|json_encode }}", "false", {"f": False}),
    ("{{ nope|json_encode }}", "null"),
    ("{{ 1.0 }}", "1"),
    ("{{ 0.00001 }}", "1.0E-5"),
    ("{{ 100000000000000000000.0 }}", "1.0E+20"),
    ("{{ 7.0 }}", "7"),
    ("{{ 1.23456789012345678 }}", "1.2345678901235"),
]


@every(LITERALS, PRINTING)
def test_values_are_written_and_printed(case: Case) -> None:
    check(case)


ARITHMETIC: list[Case] = [
    ('{{ "abc" + 1 }}', Fails("'abc' is not a number")),
    ('{{ "5 apples" + 1 }}', "6"),
    ("{{ nul + 1 }}", "1", {"nul": None}),
    ("{{ t + 1 }}", "2", {"t": True}),
    ("{{ 7 / 2 }}", "3.5"),
    ("{{ 7 // 2 }}", "3"),
    ("{{ 7 % 3 }}", "1"),
    ("{{ -7 % 3 }}", "-1"),
    ("{{ -7 // 2 }}", "-4"),
    ("{{ 2 ** 3 }}", "8"),
    ("{{ 1000000 * 1000000 }}", "1000000000000"),
    ("{{ 10 / 4 * 2 }}", "5"),
    ('{{ "a" ~ 1 ~ nul ~ t ~ fa ~ 1.5 }}', "a111.5", {"t": True, "fa": False, "nul": None}),
    ("{{ 5 b-xor 3 }}", "6"),
    ("{{ 1 + 2 ~ 3 + 4 }}", "28"),
    ("{{ [1,2] + [3] }}", "Array"),
    ('{{ {"a":1} + {"b":2} |json_encode }}', Fails("a map cannot be counted with")),
    ("{{ 5 // 0 }}", Fails("a division by zero")),
    ("{{ 5 % 2.5 }}", "1"),
    ("{{ 7.5 % 2 }}", "1"),
    ('{{ "3" ~ 4 + 1 }}', "35"),
    ('{{ 2 * "x" }}', Fails("'x' is not a number")),
    ("{{ 10 ** 20 }}", "1.0E+20"),
    ("{{ 4.0 / 2 }}", "2"),
    ('{{ "1e3" * 1 }}', "1000"),
    ('{{ "0x1A" * 1 }}', "0"),
    ('{{ "1,000" * 1 }}', "1"),
    ("{{ true * 5 }}", "5"),
    ("{{ null * 5 }}", "0"),
    ('{{ +"5" }}', "5"),
    ('{{ -"5" }}', "-5"),
    ("{{ qty + 1 }}", "4", {"qty": "3"}),
    ("{{ qty ~ 1 }}", "31", {"qty": "3"}),
    ("{{ qty * price }}", "7.5", {"qty": "3", "price": 2.5}),
    ('{{ "3 pcs" * 2 }}', "6"),
    ("{{ 10 / 4 }}", "2.5"),
    ("{{ 10 // 4 }}", "2"),
    ("{{ -10 // 4 }}", "-3"),
    ("{{ 10 % 4 }}", "2"),
    ("{{ -10 % 4 }}", "-2"),
    ("{{ 100000 * 100000 }}", "10000000000"),
    ("{{ -2 ** 2 }}", "-4"),
    ('{{ "abc" ~ 1 + 2 }}', Fails("'abc1' is not a number")),
    ("{{ 10 - 2 - 3 }}", "5"),
    ("{{ 1/0 }}", Fails("a division by zero")),
    ("{{ 1/3 }}", "0.33333333333333"),
]

COMPARISONS: list[Case] = [
    ("{{ nul == false }}", "1", {"nul": None}),
    ('{{ "" == nul }}', "1", {"nul": None}),
    ('{{ "a" == "A" }}', ""),
    ("{{ [1,2] == [1,2] }}", "1"),
    ("{{ 1 == true }}", "1"),
    ('{{ "10" < "9" }}', ""),
    ('{{ "a" < "b" }}', "1"),
    ('{{ "b" > 1 }}', "1"),
    ("{{ 1 < 2 < 3 }}", ""),
    ("{{ not t == fa }}", "1", {"t": True, "fa": False}),
    ('{{ "a" == true }}', "1"),
    ("{{ [] == false }}", "1"),
    ('{{ "abc" < "abd" }}', "1"),
    ("{{ null < 1 }}", "1"),
    ("{{ [1,2] > [1] }}", "1"),
    ('{{ "2a" > "10" }}', "1"),
    ('{{ 1.5 > "1.4" }}', "1"),
    ("{{ 0.1 + 0.2 == 0.3 }}|", "|"),
    ("{{ qty == 3 }}", "1", {"qty": "3"}),
    ('{{ "03" == "3" }}', "1"),
    ('{{ "3" == "3.0" }}', "1"),
    ('{{ "abc" == 0 }}|', "|"),
    ('{{ nil == "" }}', "1", {"nil": None}),
    ("{{ nil == 0 }}", "1", {"nil": None}),
    ('{{ "a" < "B" }}|', "|"),
    ('{{ "10" > "9" }}', "1"),
    ('{{ "10" > "9a" }}|', "|"),
    ("{{ not 1 == 2 }}|", "|"),
    ("{{ (not 1) == 2 }}|", "|"),
    ('{{ "a" < 5 }}|', "|"),
    ('{{ "" < 5 }}', "1"),
]

LOGIC: list[Case] = [
    ("{{ t or fa }}", "1", {"t": True, "fa": False}),
    ("{{ not t }}", "", {"t": True}),
    ('{{ s or "x" }}', "1", {"s": "Hello"}),
    ("{{ arr has some v => v > 2 }}", "1", {"arr": [3, 1, 2]}),
    ("{{ 0 or 0 }}|", "|"),
    ('{{ "a" or "b" }}', "1"),
    ('{{ not "" }}', "1"),
    ("{{ not t and f }}|", "|", {"t": True, "f": False}),
    ("{{ 7 b-and 3 }}{{ 4 b-or 1 }}", "35"),
]

CONDITIONS: list[Case] = [
    ('{{ e ?: "dflt" }}', "dflt", {"e": ""}),
    ('{{ t ? "y" : "n" }}', "y", {"t": True}),
    ('{{ t ? "y" }}', "y", {"t": True}),
    ("{{ t ? fa ? 1 : 2 : 3 }}", "2", {"t": True, "fa": False}),
    ('{{ "" ? 1 : 2 }}', "2"),
    ('{{ "false" ? 1 : 2 }}', "1"),
    ("{{ {} ? 1 : 2 }}", "2"),
    ('{{ n ?: "x" }}', "x", {"n": None}),
    ('{{ yes ? "on" : "off" }}', "on", {"yes": True}),
    ('{{ no ? "on" }}|', "|", {"no": False}),
    ('{{ nil ?: "none" }}', "none", {"nil": None}),
    ("{{ 1 ?: 2 ?: 3 }}", "1"),
    ('{{ 1 in [1] ? "y" : "n" }}', "y"),
]

NULLS: list[Case] = [
    ('{{ o.zz.y ?? "dflt" }}', "dflt", {"o": {"a": 1, "b": {"c": 2}}}),
    ('{{ s ?? "x" }}', "", {"s": ""}),
    ('{{ v ?? "x" }}', "val", {"v": "val"}),
    ('{{ (v) ?? "x" }}', "val", {"v": "val"}),
    ('{{ o.a ?? "x" }}|', "|", {"o": {"a": "", "b": None, "c": 1}}),
    ('{{ o.b ?? "x" }}', "x", {"o": {"a": "", "b": None, "c": 1}}),
    ('{{ q ?? v ?? "x" }}', "val", {"v": "val"}),
    ("{{ l[0] ?? 9 }}", "1", {"l": [1, 2]}),
    ("{{ l[5] ?? 9 }}", "9", {"l": [1, 2]}),
    ('{{ row.zz.deep ?? "none" }}', "none", {"row": {"sku": "p1", "n": 2}}),
    ('{{ rows[0].zz ?? rows[0].a ?? "d" }}', "1", {"rows": [{"a": 1}]}),
    ('{{ f ?? "x" }}', "", {"f": False}),
    ('{{ [f][0] ?? "x" }}|', "|", {"f": False}),
]

MEMBERS: list[Case] = [
    ('{{ "1" in arr }}', "1", {"arr": [3, 1, 2]}),
    ("{{ 9 not in arr }}", "1", {"arr": [3, 1, 2]}),
    ('{{ "ell" in s }}', "1", {"s": "Hello"}),
    ('{{ "a" in o }}', "", {"o": {"a": 1, "b": {"c": 2}}}),
    ("{{ 1 in o }}", "1", {"o": {"a": 1, "b": {"c": 2}}}),
    ('{{ "" in s }}', "1", {"s": "Hello"}),
    ('{{ "x" in nul }}', "", {"nul": None}),
    ('{{ 5 in [1,"5"] }}', "1"),
    ('{{ "abc" in ["ABC"] }}', ""),
    ("{{ null in [0] }}", "1"),
    ('{{ 0 in ["a"] }}', ""),
    ('{{ "b" in tags }}', "1", {"tags": ["b", "a", "c"]}),
    ('{{ "p1" in row }}', "1", {"row": {"sku": "p1", "n": 2}}),
    ('{{ "Lund" in name }}', "1", {"name": "Ana Lund"}),
    ('{{ "lund" in name }}|', "|", {"name": "Ana Lund"}),
    ('{{ 3 in "1234" }}', "1"),
    ('{{ not "a" in ["a"] }}|', "|"),
]

TEXT_OPERATORS: list[Case] = [
    ('{{ s starts with "He" }}', "1", {"s": "Hello"}),
    ('{{ s matches "/^h/i" }}', "1", {"s": "Hello"}),
    (
        '{{ s matches "/(unclosed/" }}',
        Fails("the pattern '/(unclosed/' cannot be used: missing ): (unclosed"),
        {"s": "Hello"},
    ),
    ('{{ name starts with "Ana" }}', "1", {"name": "Ana Lund"}),
    ('{{ name ends with "und" }}', "1", {"name": "Ana Lund"}),
    ('{{ "x" matches "/y/" }}|', "0|"),
]

RANGES: list[Case] = [
    ("{{ 1..5 }}", "Array"),
    ('{{ (1..3)|join(",") }}', "1,2,3"),
]


@every(ARITHMETIC, COMPARISONS, LOGIC, CONDITIONS, NULLS, MEMBERS, TEXT_OPERATORS, RANGES)
def test_operators(case: Case) -> None:
    check(case)


ACCESS: list[Case] = [
    ("{{ nope.x }}", ""),
    ("{{ nope.x.y }}", ""),
    ("{{ o.nope }}", "", {"o": {"a": 1, "b": {"c": 2}}}),
    ("{{ o.nope.x }}", "", {"o": {"a": 1, "b": {"c": 2}}}),
    ("{{ arr[9] }}", "", {"arr": [3, 1, 2]}),
    ("{{ arr[0] }}", "3", {"arr": [3, 1, 2]}),
    ("{{ arr.1 }}", "1", {"arr": [3, 1, 2]}),
    ("{{ o.b.c }}", "2", {"o": {"a": 1, "b": {"c": 2}}}),
    ("{{ s[0] }}", "", {"s": "Hello"}),
    ("{{ s[0:2] }}", "He", {"s": "Hello"}),
    ("{{ s.upper() }}", "", {"s": "Hello"}),
    ("{{ arr.length }}", "", {"arr": [1, 2]}),
    ("{{ name[0:3] }}", "Ana", {"name": "Ana Lund"}),
    ('{{ row["sku"] }}', "p1", {"row": {"sku": "p1", "n": 2}}),
    ("{{ row.sku.deep }}|", "|", {"row": {"sku": "p1", "n": 2}}),
    ('{{ tags.1 }}{{ tags[0] }}{{ tags["2"] }}', "abc", {"tags": ["b", "a", "c"]}),
    ("{{ tags[7] }}|", "|", {"tags": ["b", "a", "c"]}),
    ('{{ num.2 }}{{ num["1"] }}{{ num[2] }}', "twoonetwo", {"num": {"2": "two", "1": "one"}}),
    ("{{ {a:{b:[7]}}.a.b[0] }}", "7"),
    ("{{ [1,2][1] }}", "2"),
]

POSTFIX: list[Case] = [
    ("{{ 2 + 3|abs }}", "5"),
    ("{{ -5|abs }}", "-5"),
    ("{{ (-5)|abs }}", "5"),
    ('{{ t ? "a" : "b"|upper }}', "a", {"t": True}),
    ('{{ _context|keys|join(",") }}', ""),
    ("{{ 604800*2 + 5|secs_pretty }}", "1209605"),
    ("{{ (1..3)|length }}", "3"),
    ("{{ rows|first.sku }}", "p1", {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]}),
    ("{{ (rows|first).sku }}", "p1", {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]}),
    ('{{ name|split(" ")[1] }}', "Lund", {"name": "Ana Lund"}),
    ('{{ "sku" in row|keys }}', "1", {"row": {"sku": "p1", "n": 2}}),
    ("{{ name|upper() }}", "ANA LUND", {"name": "Ana Lund"}),
    ("{{ name|slice(start=4) }}", "Lund", {"name": "Ana Lund"}),
    ("{{ 1 .. 3|length }}", "Array"),
]


@every(ACCESS, POSTFIX)
def test_what_stands_behind_a_value(case: Case) -> None:
    check(case)


REFUSED: list[Case] = [
    ("{{ 1e3 }}", Fails("'e3' stands where the end of the tag is expected")),
    ("{{ 1_000 }}", Fails("'_000' stands where the end of the tag is expected")),
    ('{{ "y" if t }}', Fails("'if' stands where the end of the tag is expected"), {"t": True}),
    ('{{ "y" if t else "n" }}', Fails("'if' stands where the end of the tag is expected"), {"t": True}),
    ("{{ !t }}", Fails("'!' has no meaning here"), {"t": True}),
    ("{{ (1,2) }}", Fails("',' stands where ')' is expected")),
    ("{{ 1e5 }}", Fails("'e5' stands where the end of the tag is expected")),
    ("{{ t && fa }}", Fails("'&' has no meaning here"), {"t": True, "fa": False}),
]

REFUSED_FILTERS: list[Case] = [
    ('{{ ["id"]|map("strtoupper")|join }}', Fails("'map' takes an expression such as x => x, not a text")),
    ('{{ [3,1]|sort("strcmp")|join }}', Fails("'sort' takes an expression such as x => x, not a text")),
    ('{{ ["a"]|reduce("strcmp") }}', Fails("'reduce' takes an expression such as x => x, not a text")),
    ('{{ "a"|data_uri }}', Fails("there is no filter 'data_uri'")),
    ('{{ "abc"|u }}', Fails("there is no filter 'u'")),
    ('{{ "abc"|slug }}', Fails("there is no filter 'slug'")),
    ('{{ 65|format_currency("USD") }}', Fails("there is no filter 'format_currency'")),
    ('{{ "a"|country_name }}', Fails("there is no filter 'country_name'")),
    ("{{ [[1,2],[3]]|flatten }}", Fails("there is no filter 'flatten'")),
    ("{{ o|items }}", Fails("there is no filter 'items'"), {"o": {"b": 1, "a": 2}}),
    ('{{ "a"|string }}', Fails("there is no filter 'string'")),
    ('{{ [{"a":1}]|selectattr("a") }}', Fails("there is no filter 'selectattr'")),
    ('{{ "a"|center(5) }}', Fails("there is no filter 'center'")),
    ("{{ [1,2]|random }}", Fails("there is no filter 'random'")),
    ('{{ "a"|safe }}', Fails("there is no filter 'safe'")),
]

REFUSED_FUNCTIONS: list[Case] = [
    ('{{ constant("PHP_VERSION") }}', Fails("there is no function 'constant'")),
    ("{{ dump(1) }}", Fails("there is no function 'dump'")),
    ('{{ source("x") }}', Fails("there is no function 'source'")),
    (
        '{{ template_from_string("x") }}',
        Fails("there is no function 'template_from_string'"),
    ),
    ("{{ parent() }}", Fails("there is no function 'parent'")),
    ('{{ include("x") }}', Fails("there is no function 'include'")),
    ('{{ {"a":[1,2]}|json_encode(constant("JSON_PRETTY_PRINT")) }}', Fails("there is no function 'constant'")),
    ('{{ 5 is constant("X") }}', Fails("there is no test 'constant'")),
    ("{{ nosuch() }}", Fails("there is no function 'nosuch'")),
]


@every(REFUSED, REFUSED_FILTERS, REFUSED_FUNCTIONS)
def test_what_the_language_does_not_have(case: Case) -> None:
    check(case)


PRECEDENCE: list[Case] = [
    ("{{ 2 ** 3 ** 2 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ (-2) ** 2 }}", "512 0.5 -4 4"),
    ("{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 2 * 3 ~ 4 }} {{ 10 - 4 - 3 }} {{ 12 / 2 / 3 }}", "7 9 64 3 2"),
    ("{{ not 1 in [0] ? 1 : 2 }} {{ 1 not in [0] ? 1 : 2 }} {{ not 2 * 0 ? 1 : 2 }}", "1 1 1"),
    ("{{ 1 or 0 and 0 ? 1 : 2 }} {{ (1 or 0) and 0 ? 1 : 2 }}", "1 2"),
    ("{{ 6 b-and 3 b-or 8 }} {{ 6 b-or 3 b-and 1 }} {{ 6 b-xor 3 }} {{ -1 b-and 255 }}", "10 7 5 255"),
    ("{{ 1 ? 0 ? 1 : 2 : 3 }} {{ 0 ? 1 : 0 ? 2 : 3 }} {{ 0 ?: 0 ?: 4 }} {{ 0 ? 1 }}|", "2 3 4 |"),
    ("{{ a.b ?? a.c ?? 5 }} {{ a.c ?? 5 }} {{ nope.x.y ?? 6 }} {{ a.d ?? 7 }}|", "5 5 6 0|",
     {"a": {"b": None, "d": 0}}),
    ("{{ 1..3|length }}{{ (1..3)|length }} {{ 5..1|first }} {{ (3 .. 1)|join }}", "Array3 Array 321"),
    ("{{ (1 + 1)..(2 + 2)|length is iterable ? 1 : 0 }}{{ 1 + 1..4 ? 1 : 0 }}", "11"),
    ("{{ 4 is odd or 3 is odd ? 1 : 0 }}{{ not 4 is odd ? 1 : 0 }}{{ 4 is not odd ? 1 : 0 }}", "111"),
    ("{{ 2 + 3 <=> 4 }} {{ 1 <=> 1 }} {{ \"a\" <=> \"b\" }}", "1 0 -1"),
    ("{{ [1, 2] has every v => v > 0 }}{{ [] has some v => true }}{{ [] has every v => false }}", "11"),
    ("{{ [1, 2] has every v => v > 1 ? 0 : 1 }}|{{ ([1, 2] has some v => v > 1) ? 5 : 6 }}", "|5"),
    ("{{ null has some v => true }}|{{ \"abc\" has every v => false }}", "|1"),
    ("{{ {b: 1, in: 2, not: 3, \"c d\": 4, (1 + 1): 5, 7: 6}|json_encode }}",
     '{"b":1,"in":2,"not":3,"c d":4,"2":5,"7":6}'),
    ("{{ {a: 1, a: 2}.a }}{{ {\"0\": 5, \"1\": 6}|json_encode }}{{ {\"1\": 5}|json_encode }}", '2[5,6]{"1":5}'),
    ("{{ [1, 2] + [7, 8, 9] == [1, 2, 9] ? 1 : 0 }}{{ ({a: 1} + {a: 2, b: 3})|json_encode }}", '1{"a":1,"b":3}'),
    ("{{ \"a#{\"b#{1 + 1}\"}c\" }} {{ \"#{m.x}#{'}'}\" }} {{ '#{m.x}' }}", "ab2c 5} #{m.x}", {"m": {"x": 5}}),
    ('{{ "\\x41\\101\\t|\\q\\/" }}', "AA\t|q/"),
    ("{{ l[1:1]|json_encode }}{{ l[:2]|json_encode }}{{ l[1:]|json_encode }}{{ t[1:2] }}{{ t[:1] }}",
     "[2][1,2][2,3]bca", {"l": [1, 2, 3], "t": "abcd"}),
    ("{{ l.1 }}{{ l['1'] }}{{ l[1.9] }}{{ l[true] }}[{{ l['x'] }}{{ l[-1] }}{{ t[0] }}{{ 5[0] }}]", "2222[]",
     {"l": [1, 2, 3], "t": "abcd"}),
    ("{{ m[null] }}{{ m[''] }}{{ m[1] }}{{ m['1'] }}{{ m[true] }}", "eeooo", {"m": {"": "e", "1": "o"}}),
    ("{{ '5 ' == 5 ? 1 : 0 }}{{ ' 5' == '5.0' ? 1 : 0 }}{{ '5x' == 5 ? 1 : 0 }}{{ '1e1' == 10 ? 1 : 0 }}", "1101"),
    ("{{ [1, 2] == {\"0\": 1, \"1\": 2} ? 1 : 0 }}{{ [1] == [\"1\"] ? 1 : 0 }}{{ [1] == 1 ? 1 : 0 }}", "110"),
    ("{{ 5 starts with 5 ? 1 : 0 }}{{ \"Abc\" starts with \"a\" ? 1 : 0 }}{{ \"abc\" ends with \"\" ? 1 : 0 }}", "001"),
    ("{{ 5 in 5 ? 1 : 0 }}{{ 5 in null ? 1 : 0 }}{{ 12 in \"3123\" ? 1 : 0 }}{{ [1] in [[1]] ? 1 : 0 }}", "0011"),
    ("{{ TRUE }}{{ FALSE }}{{ NULL is null ? 1 : 0 }}{{ NONE is null ? 1 : 0 }}{{ True is null ? 1 : 0 }}", "1111"),
    ("{{ true + true }} {{ null - 1 }} {{ '1.5' + '1' }} {{ '3 kg' * '2 m' }} {{ '.5' + 0 }}", "2 -1 2.5 6 0.5"),
    ("{{ 7.9 % 4.9 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 2 }} {{ 6 / 4 }} {{ 6 / 3 }}", "3 -1 1 -4 1.5 2"),
    ("{{ a|default(b)|default(c|default('d')) }} {{ 'x'|upper ~ 'y'|upper }} {{ ('x' ~ 'y')|upper }}", "d XY XY"),
    ("{{ [1, 2, 3]|join(and='&', glue=',') }}", "1,2&3"),
    ("{{ [3, 1]|sort|first + 1 }} {{ {a: \"x\"}.a|upper }} {{ \"a b\"|split(\" \").1 }}", "2 X b"),
    ("{{ [1, 2]|map(x => [3, 4]|map(y => x * y)|join(\"+\"))|join(\" \") }}", "3+4 6+8"),
    ("{% set n = 2 %}{{ [1, 2]|map(n => n * 10)|join }}{{ n }}{{ [1]|map((v, k) => k ~ n ~ v)|join }}", "10202021"),
    ("{{ 'a' 'b' }}", Fails("'b' stands where the end of the tag is expected")),
    ("{{ 0x1F }}", Fails("'x1F' stands where the end of the tag is expected")),
    ("{{ a++ }}", Fails("stands where an expression is expected")),
    ("{{ a xor b }}", Fails("'xor' stands where the end of the tag is expected")),
    ("{{ [...a] }}", Fails("'...' stands where an expression is expected")),
    ("{{ {a b} }}", Fails("'b' stands where '}' is expected")),
    ("{{ null < [1] ? 1 : 0 }}{{ [1] + 1 }}", Fails("a list cannot be counted with")),
    ("{{ 1 is divisible by }}", Fails("stands where an expression is expected")),
    ("{{ 'x'|join(end=1) }}", Fails("'join' takes no argument 'end'")),
]  # fmt: skip


@every(PRECEDENCE)
def test_how_expressions_hold_together(case: Case) -> None:
    check(case)
