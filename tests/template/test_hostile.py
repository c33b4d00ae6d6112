"""Attempts to escape from the language or to block the service. Each ends with an error that names its line and within
the budget, or reveals nothing."""

import gc
from typing import Any

import pytest

from server import template
from server.errors import BudgetSpent, ScriptError, TemplateFailed
from server.template import Budget
from server.template.budget import MAX_TEMPLATE_CHARS
from server.template.operators import BINARY
from server.template.registry import FUNCTIONS, TESTS
from server.template.shared.xml_tree import XmlNode
from tests.template.run_cases import Case, Fails, calls, check, every, failure, is_answered, render

pytestmark = pytest.mark.exhaustive("every filter and function with hostile input")

STEPS = 50_000  # enough for every honest case here, and quickly spent


@pytest.fixture(autouse=True, scope="module")
def set_aside() -> None:
    """Freezes existing objects, so that tests that collect garbage scan only their own."""
    gc.freeze()


def small() -> Budget:
    """A budget that hostile templates spend quickly."""
    return Budget(steps=STEPS, memory=40_000_000)


DUNDER = ("__class__", "__dict__", "__init__", "__globals__", "__mro__", "__subclasses__", "__builtins__", "__import__")
HOLDERS = ("t", "5", "1.5", "true", "null", "l", "m", "o", "loop", "range(1, 2)", "date()", "xml", "t|upper", "nope")
VALUES: dict[str, Any] = {"t": "text", "l": [1], "m": {"a": 1}, "o": {"b": {"c": 2}}}


@pytest.mark.parametrize("holder", HOLDERS)
def test_nothing_has_attributes(holder: str) -> None:
    """By a dot, by brackets, by `attribute`, by a composed name: all empty."""
    for name in DUNDER:
        half = len(name) // 2
        ways = (
            f"({holder}).{name}", f"({holder})['{name}']", f"attribute({holder}, '{name}')",
            f"({holder})['{name[:half]}' ~ '{name[half:]}']", f"({holder}).{name}.{name}", f"({holder}).{name}()",
            f"[{holder}]|column('{name}')|first", f"[{holder}]|map(x => x.{name})|first",
        )  # fmt: skip
        for way in ways:
            source = f"{{% set xml = xml_decode('<a/>') %}}[{{{{ {way} }}}}]"
            try:
                assert render(source, VALUES) == "[]"
            except TemplateFailed as refused:
                assert "date" in refused.message and refused.details["line"] == 1


NOTHING: list[Case] = [
    ("{{ _self }}{{ _context }}{{ self }}{{ this }}{{ app }}{{ request }}{{ config }}{{ env }}{{ globals }}", ""),
    ("{{ __name__ }}{{ __file__ }}{{ __builtins__ }}{{ cycler }}{{ joiner }}{{ namespace }}{{ lipsum }}", ""),
    ('{{ t.format("{0.__class__}") }}{{ t.mro() }}{{ m.items() }}{{ m.keys }}', "", VALUES),
    ("{{ l.append(2) }}{{ l|length }}", "1", VALUES),
    ('{{ "{0.__class__}"|format(1) }}', "{0.__class__}"),
    ('{{ "%(__class__)s"|format(1) }}', Fails("")),
    ('{{ "{__class__}" ~ "{{ __class__ }}" ~ "${__class__}" }}', "{__class__}{{ __class__ }}${__class__}"),
    ("{% set s = \"{{ 1/0 }}{% include 'x' %}\" %}{{ s }}", "{{ 1/0 }}{% include 'x' %}"),
    ("{{ v }}{{ v|upper|lower }}", "{{ 1/0 }}{{ 1/0 }}", {"v": "{{ 1/0 }}"}),
    ("{{ m|replace({\"a\": \"__class__\"}) }}", "Arr__class__y", VALUES),
    ("{% for x in 1..1 %}{{ loop.__class__ }}{{ loop.parent }}{{ loop._iterable }}{% endfor %}", "Array"),
    ("{{ xml_decode(x).__class__ }}{{ xml_decode(x).element }}{{ xml_decode(x).node }}{{ xml_decode(x).listed }}", "",
     {"x": "<a><b/></a>"}),
    ("{{ xml_decode(x).a }}|{{ xml_decode(x, [], \"html\") }}", "|",
     {"x": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>&x;</a>'}),
    ('{{ xml_decode(x)|json_encode }}', "false",
     {"x": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'}),
    ('{{ xml_xpath(xml_decode("<a/>"), "document(\'/etc/passwd\')") }}', Fails("cannot be used")),
    ('{{ date("' + "1" * 15 + '") is defined }}', Fails("")),
]  # fmt: skip


@every(NOTHING)
def test_there_is_nothing_to_find(case: Case) -> None:
    check(case)


def test_files_are_not_read() -> None:
    assert "_error" in render('{{ "/etc/passwd"|image_info|json_encode }}')


NOT_THERE = [
    "{% include '/etc/passwd' %}", "{% import 'os' as os %}", "{% from 'os' import path %}", "{% extends 'x' %}",
    "{% embed 'x' %}{% endembed %}", "{% block a %}{% endblock %}", "{% macro m() %}{{ m() }}{% endmacro %}",
    "{% use 'x' %}", "{% call m() %}{% endcall %}", "{% exec 'x' %}", "{% debug %}", "{{ open('/etc/passwd') }}",
    "{{ eval('1') }}", "{{ exec('x') }}", "{{ getattr(t, 'x') }}", "{{ type(t) }}", "{{ vars() }}", "{{ globals() }}",
    "{{ source('x') }}", "{{ include('x') }}", "{{ block('x') }}", "{{ constant('X') }}", "{{ dump() }}",
    "{{ template_from_string('{{ 1 }}') }}", "{{ t|attr('x') }}", "{{ t|map('upper') }}", "{{ l|sort('cmp') }}",
    "{{ l|filter('eval') }}", "{{ l|reduce('eval') }}", "{{ t|filter }}", "{{ 5 is callable }}", "{{ (x => x)(1) }}",
    "{{ [x => x] }}", "{{ {a: x => x} }}", "{{ x => x }}", "{% set f = (x => x) %}", "{{ upper(x => x) }}",
    "{{ lambda: 1 }}", "{{ `ls` }}", "{{ $t }}", "{{ @t }}", "{{ t; 1 }}", "{{ t = 1 }}", "{{ t := 1 }}",
    "{{ __import__('os') }}", "{{ t.__class__('x') ~ __class__('x') }}", "{{ run('x') }}", "{{ range(run=1) }}",
    "{{ 'x'|upper(run=1) }}", "{{ 'x'|upper(value=1) }}", "{{ ''|default(**{a: 1}) }}", "{{ max(*[1, 2]) }}",
]  # fmt: skip


@pytest.mark.parametrize("source", NOT_THERE)
def test_what_other_languages_have_is_refused_with_its_line(source: str) -> None:
    failed = failure(f"\n\n{source}", VALUES)
    assert isinstance(failed, TemplateFailed)
    assert failed.details["line"] == 3


TWICE = "{% set a = [1] %}{% set b = [1] %}{% for i in 1..60 %}{% set a = [a, a] %}{% set b = [b, b] %}{% endfor %}"
GREEDY: list[tuple[str, str]] = [
    ("a long range", "{{ 1..1000000000 }}"),
    ("a range by its function", "{{ range(0, 1000000000) }}"),
    ("a range of tiny steps", "{{ range(0, 1, 0.000000001) }}"),
    ("a range without an end", "{{ range(0, 10 ** 308, 10 ** -308) }}"),
    ("a range to infinity", "{{ range(0, 10 ** 308 * 10) }}"),
    ("many ranges", "{% for i in 1..100000 %}{% set x = 1..100000 %}{% endfor %}"),
    ("nested loops", "{% set r = 1..10000 %}{% for a in r %}{% for b in r %}{% set c = 1 %}{% endfor %}{% endfor %}"),
    ("a text that doubles", '{% set s = "abcdefgh" %}{% for i in 1..60 %}{% set s = s ~ s %}{% endfor %}'),
    ("a text in a text that doubles", '{% set s = "abcd" %}{% for i in 1..60 %}{% set s = "#{s}#{s}" %}{% endfor %}'),
    ("a set that doubles", '{% set s = "abcd" %}{% for i in 1..60 %}{% set s %}{{ s }}{{ s }}{% endset %}{% endfor %}'),
    ("an apply that doubles",
     '{% set s = "a" %}{% for i in 1..60 %}{% set s %}{% apply raw %}{{ s~s }}{% endapply %}{% endset %}{% endfor %}'),
    ("a list that doubles", "{% set l = [1] %}{% for i in 1..60 %}{% set l = l|merge(l) %}{% endfor %}"),
    ("maps that hold each other twice, written",
     "{% set m = {a: 1} %}{% for i in 1..60 %}{% set m = {a: m, b: m} %}{% endfor %}{{ m|json_encode }}"),
    ("lists that hold each other twice, compared", TWICE + "{{ a == b }}"),
    ("lists that hold each other twice, in order", TWICE + "{{ a < b }}"),
    ("lists that hold each other twice, alike", TWICE + "{{ a is same as(b) }}"),
    ("lists that hold each other twice, as a member", TWICE + "{{ a in [b] }}"),
    ("arrows in arrows",
     "{% set r = 1..1000 %}{{ r|map(a => r|map(b => r|map(c => c)|length)|length)|length }}"),
    ("an arrow in a sort", "{% set r = 1..2000 %}{{ r|sort((a, b) => r|map(x => x)|length)|length }}"),
    ("has some in has some", "{% set r = 1..2000 %}{{ r has some a => (r has some b => (r has some c => c < 0)) }}"),
    ("many filled keys", "{% for i in 1..1000 %}{% set m = array_fill_keys(1..1000, i) %}{% endfor %}"),
    ("many instants", '{{ date_lerp("1970-01-01 to 9999-12-31", "minute", 1, 100000000) }}'),
    ("many small steps of time",
     '{% for i in 1..1000 %}{% set x = date_lerp("2000-01-01 to 2020-12-31", "day") %}{% endfor %}'),
    ("many shuffles", "{% set r = 1..1000 %}{% for i in r %}{% set x = shuffle(r) %}{% endfor %}"),
    ("many picks", '{% set m = {"a": 1}|merge(1..1000) %}{% for i in 1..1000 %}{% set x = random(m) %}{% endfor %}'),
    ("long random texts", "{% for i in 1..100000 %}{{ random_string(255) ~ random_string(255) }}{% endfor %}"),
    ("sets of long lists", "{% set r = 1..1000 %}{% for i in r %}{% set x = array_diff(r, r) %}{% endfor %}"),
    ("uniques of long lists", "{% set r = 1..1000 %}{% for i in r %}{% set x = array_unique(r) %}{% endfor %}"),
    ("keys out of many rows", "{% set r = 1..1000 %}{% for i in r %}{% do array_extract_keys(r, r) %}{% endfor %}"),
    ("copies of a large map",
     '{% set m = {} %}{% for i in 1..2000 %}{% set m = dict_set(m, "k#{i}", i) %}{% endfor %}'),
    ("patterns of many stars",
     '{% set s = "a"|repeat(100000) %}{{ array_matches([s], array_fill_keys(1..1000, "*a*a*a*b")) }}'),
    ("every character matched", '{{ regexp_match_all("/./", "a"|repeat(100000)) }}'),
    ("a heavy pattern on a long text", '{{ ("ab"|repeat(1000000)) matches "/[ab]*a[ab]{900}c/" }}'),
    ("a pattern that matches nothing everywhere", '{{ regexp_match_all("/x*/", "a"|repeat(100000)) }}'),
    ("long texts compared again and again",
     "{% set s = \"a\"|repeat(8000000) %}{% set t = s ~ \"b\" %}" + "{% set x = s < t %}" * 100),
    ("a long text searched again and again",
     "{% set s = \"a\"|repeat(8000000) %}" + "{% set x = \"b\" in s %}" * 100),
    ("decoded again and again",
     "{% set j = (1..1000)|json_encode %}{% for i in 1..1000 %}{% set x = json_decode(j) %}{% endfor %}"),
    ("placeholders again and again",
     '{% for i in 1..100000 %}{% set y = placeholders_list("", "x"|repeat(999)) %}{% endfor %}'),
    ("cards of many lines", '{{ vobject_parse("BEGIN:A\n" ~ "B:C\n"|repeat(80000)) }}'),
    ("XML of many nodes", '{{ xml_decode("<a>" ~ "<b/>"|repeat(80000) ~ "</a>") }}'),
    ("HTML of many nodes", '{{ xml_decode("<p>"|repeat(80000), [], "html") }}'),
    ("a path through many nodes, each",
     ('{% set x = xml_decode("<a>" ~ "<b><c/></b>"|repeat(1000) ~ "</a>") %}'
     '{{ xml_xpath(x, "//b//c/../../b//c/../../b//c") |map(n => xml_xpath(n, "//c")|length)|length }}')),
    ("one text in a loop", '{% for i in 1..100000 %}{{ "abcdefgh"|repeat(1000) }}{% endfor %}'),
    ("maxima of long lists", "{% set r = 1..1000 %}{% for i in r %}{% set x = max(r) %}{% endfor %}"),
    ("operators in a loop", "{% set r = 1..1000 %}{% for i in r %}{% set x = r + r %}{% endfor %}"),
    ("members in a loop", "{% set r = 1..1000 %}{% for i in r %}{% set x = 0 in r %}{% endfor %}"),
]  # fmt: skip


@pytest.mark.parametrize("source", [source for _, source in GREEDY], ids=[name for name, _ in GREEDY])
def test_greed_spends_the_budget(source: str) -> None:
    failed = failure(f"\n{source}", budget=small())
    assert isinstance(failed, BudgetSpent) or "a range needs an end" in failed.message
    assert int(str(failed.details["line"])) >= 2
    assert failed.message.endswith(f"(line {failed.details['line']})")


LISTS = "{% set a = [] %}{% set b = [] %}{% for i in 1..5000 %}{% set a = [a] %}{% set b = [b] %}{% endfor %}"
DEEP: list[tuple[str, str]] = [
    ("parentheses", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"),
    ("lists", "{{ " + "[" * 5000 + "]" * 5000 + " }}"),
    ("maps", "{{ " + "{a:" * 5000 + "1" + "}" * 5000 + " }}"),
    ("calls", "{{ " + "max(" * 5000 + "1" + ")" * 5000 + " }}"),
    ("signs", "{{ " + "-" * 5000 + "1 }}"),
    ("not", "{{ " + "not " * 5000 + "1 }}"),
    ("powers", "{{ " + "1 ** " * 5000 + "1 }}"),
    ("conditions", "{{ " + "1 ? " * 5000 + "1 }}"),
    ("indexes", "{{ " + "a[" * 5000 + "0" + "]" * 5000 + " }}"),
    ("arrows", "{{ " + "[1]|map(x => " * 2000 + "1" + ")" * 2000 + " }}"),
    ("ifs", "{% if 1 %}" * 5000 + "{% endif %}" * 5000),
    ("loops", "{% for i in 1..2 %}" * 5000 + "{% endfor %}" * 5000),
    ("withs", "{% with %}" * 5000 + "{% endwith %}" * 5000),
    ("applies", "{% apply upper %}" * 5000 + "{% endapply %}" * 5000),
    ("sets", "{% set a %}" * 5000 + "{% endset %}" * 5000),
    ("texts in texts", '{{ "' + '#{"' * 3000 + '"}' * 3000 + '" }}'),
    ("deep in texts in texts", '{{ "' + ("#{" + "(" * 190 + '"') * 19 + ('"' + ")" * 190 + "}") * 19 + '" }}'),
    ("a long sum", "{{ 1" + " + 1" * 10_000 + " }}"),
    ("a long text", "{{ 1" + " ~ 1" * 10_000 + " }}"),
    ("a long path", "{{ a" + ".b" * 10_000 + " }}"),
    ("many filters", "{{ a" + "|upper" * 10_000 + " }}"),
    ("many nulls", "{{ a" + " ?? a" * 10_000 + " }}"),
    ("more words than a template has", "{{ 1 }}" * 37_000 + "{{ 1" + "+1" * 26_000),
    ("no ends", "{% if 1 %}" * 5_000),
    ("no beginnings", "{% endif %}" * 5_000),
    ("closing brackets", "{{ " + "]" * 60_000 + " }}"),
    ("opening brackets", "{{ " + "[" * 60_000),
    ("quotes", "{{ " + "'" * 60_001 + " }}"),
    ("tags without ends", "{{ " * 80_000),
    ("comments without ends", "{# " * 80_000),
    ("blanks", "{{" + " " * 200_000),
    ("too long", "x" * (MAX_TEMPLATE_CHARS + 1)),
    ("cards in cards", '{{ vobject_parse("BEGIN:A\n"|repeat(5000)) }}'),
    ("XML in XML", '{{ xml_decode("<a>"|repeat(5000) ~ "</a>"|repeat(5000)) }}'),
    ("JSON out of lists in lists", LISTS + "{{ a|json_encode }}"),
    ("lists in lists compared", LISTS + "{{ a == b }}"),
    ("paths of many parts", '{{ dict_set({}, "a."|repeat(5000), 1) }}'),
]


@pytest.mark.parametrize("source", [source for _, source in DEEP], ids=[name for name, _ in DEEP])
def test_depth_and_length_end_with_a_line(source: str) -> None:
    with pytest.raises(ScriptError) as caught:
        template.Template(source).render({}, small())
    assert int(str(caught.value.details["line"])) >= 1
    del caught
    gc.collect()  # the partial result is freed, which must not fail either


BOUNDED: list[Case] = [
    ('{{ json_decode("["|repeat(20000)) is null }}', "1"),
    ('{{ json_decode("["|repeat(200) ~ "]"|repeat(200)) is null }}', "1"),
    ('{{ json_decode("1"|repeat(5000)) is null }}|', "1|"),
    ('{{ ("9"|repeat(5000)) == ("9"|repeat(4999)) }}|', "|"),
    ('{{ ("9"|repeat(900)) * 1 }}', "INF"),
    ('{{ "9"|repeat(900) is numeric }}{{ "9"|repeat(1001) is numeric }}', "1"),
    ('{{ ("1" ~ "0"|repeat(400)) + 1 }}', "INF"),
    ("{{ 99999999999999999999999999999999 }}", "1.0E+32"),
    ("{{ 9223372036854775807 + 1 }} {{ -9223372036854775807 - 2 }}", "9.2233720368548E+18 -9.2233720368548E+18"),
    ("{{ 9223372036854775807 * 9223372036854775807 }}", "8.5070591730235E+37"),
    ("{{ 2 ** 1023 * 2 ** 1023 }} {{ (-8) ** 0.5 }} {{ 7 ** 1000 }}", "INF NAN INF"),
    ("{{ (10 ** 308 * 10) // 3 }} {{ (10 ** 308 * 10) % 3 }} {{ -(10 ** 308 * 10) }}", "INF 1 -INF"),
    ("{{ (10 ** 308 * 10) b-and 5 }} {{ -9223372036854775807 b-or 1 }}", "5 -9223372036854775807"),
    ("{{ l[9223372036854775807] }}{{ l[10 ** 30] }}{{ l[-1] }}{{ l[\"1e0\"] }}", "2", {"l": [1, 2]}),
    ("{{ clamp_int(10 ** 300) }}", "9223372036854775807"),
    ('{{ "a"|repeat(30) matches "/^(a+)+$/" }}{{ ("a"|repeat(5000) ~ "b") matches "/^(a+)+$/" }}', "10"),
    ('{{ ("a"|repeat(5000) ~ "b") matches "/(a|a)*(a|aa)*$/" }}', "1"),
    ('{{ ("x"|repeat(50000)) matches "/(x+x+)+y/" }}', "0"),
    ('{{ array_matches(["a"|repeat(5000)], "*a*a*a*a*a*a*a*b")|length }}', "0"),
    ('{{ xml_decode(x)|json_encode }}', "false",
     {"x": '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;">]><a>&d;&d;</a>'}),
    ("{{ cycle(l, 10 ** 300) }}", "2", {"l": [1, 2]}),
    ("{{ random_string(10 ** 300)|length }}{{ random_string(-5)|length }}", "2551"),
    ('{{ date_lerp("9999-12-31 to 9999-12-31", "year", 10 ** 300)|length }}', "1"),
    ('{{ regexp_match_all("/(a)/", "a", 10 ** 300)|json_encode }}', "[]"),
    ("{{ dict_set({}, \"[]\", 1)|json_encode }}{{ dict_set({\"9223372036854775807\": 1}, \"[]\", 2)|keys|last }}",
     "[1]0"),
]  # fmt: skip


@every(BOUNDED)
def test_giants_are_bounded(case: Case) -> None:
    check(case, budget=small())


UNUSABLE: list[Case] = [
    ('{{ "a" matches "/(a{1000}){1000}/" }}', Fails("cannot be used")),
    ('{{ "a" matches "/' + "a" * 20_000 + '/" }}', Fails("a pattern has at most")),
    ('{{ "aa" matches "/(a)\\\\1/" }}', Fails("cannot be used")),
    ('{{ "a" matches "/(?=a)/" }}', Fails("cannot be used")),
    ('{{ "a" matches "/(?R)/" }}', Fails("cannot be used")),
    ('{{ "a" matches "/a/e" }}', Fails("has the flag e")),
    ("{{ 2 ** 1000000 }}", Fails("an exponent must be below")),
    ("{{ 2 ** 1000 ** 1000 }}", Fails("an exponent must be below")),
    ("{{ 1 % 0.5 }}", Fails("a division by zero")),
    ("{{ 5 is divisible by(0) }}", Fails("a division by zero")),
    ('{{ "a".."\U0010ffff" }}', Fails("is not a number")),
    ('{{ xml_xpath(xml_decode("<a/>"), "/a"|repeat(5000)) }}', Fails("a path has at most")),
]


@every(UNUSABLE)
def test_what_cannot_be_used_is_said(case: Case) -> None:
    check(case, budget=small())


def test_values_are_copies() -> None:
    held = {"l": [1, 2], "m": {"a": {"b": 1}}}
    render("{% set x = dict_set(m, 'a.b', 2) %}{% set x = dict_unset(m, 'a') %}{% set x = l|merge([3]) %}"
           "{% set x = shuffle(l) %}{% set x = array_values(l) %}{% set m = 5 %}{% set l = 6 %}", held)  # fmt: skip
    assert held == {"l": [1, 2], "m": {"a": {"b": 1}}}


def test_data_that_holds_itself_ends() -> None:
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    other: dict[str, Any] = {"a": 1}
    other["self"] = other
    given = {"c": circle, "d": other}
    assert render("{{ c.self.self.a }}{{ c }}{{ c|length }}", given) == "1Array2"
    for use in ("c|json_encode", "c == d", "c is same as(d)", "c <=> d", "c|kata_encode", "[c]|sort|json_encode"):
        assert failure(f"\n{{{{ {use} }}}}", given, budget=small()).details["line"] == 2


def test_a_budget_is_shared_by_all_renderings_of_a_run() -> None:
    budget = Budget(steps=1000)
    with pytest.raises(BudgetSpent):
        for _ in range(100):
            render("{% for i in 1..50 %}{% endfor %}", budget=budget)
    assert budget.steps < 0


SLOW = [
    "{% for i in 1..100000 %}{% endfor %}",
    '{{ regexp_match_all("/a(.*b)?/", "a"|repeat(1000)) }}',
    "{{ (1..1000)|map(x => x)|length }}",
    "{{ (1..1000)|sort|length }}",
    "{{ (1..1000)|json_encode }}",
    '{{ xml_decode("<a>" ~ "<b/>"|repeat(1000) ~ "</a>") }}',
    '{{ vobject_parse("BEGIN:A\n" ~ "B:C\n"|repeat(1000)) }}',
]


@pytest.mark.parametrize("source", SLOW)
def test_time_is_looked_at(source: str) -> None:
    failed = failure(f"\n{source}", budget=Budget(ends_at=0.0))
    assert "takes longer than it may" in failed.message
    assert int(str(failed.details["line"])) >= 2


def test_nodes_are_texts_to_everything_else() -> None:
    """An XML node in a value is a text where a text is expected, and gives no access to its tree."""
    assert issubclass(XmlNode, str)
    assert render("{% set n = xml_decode('<a>x<b/></a>') %}{{ n|upper }}{{ n ~ 1 }}{{ n|json_encode }}") == 'Xx1"x"'


ODD: list[Any] = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, float("nan"), float("inf"), "", "0", "abc", "é\0\ud800\uffff",
    "2**70", "9" * 2000, "/a(b)?/", "-5 weeks", "1970-01-01 to now", "day", "<a b='c'>d</a>", "BEGIN:A\nB;C=D:E\nEND:A",
    "a.[].b", "*", [], {}, [1, [2], None], {"a": {"b": []}, "7": "x"}, [[1, 2], {"x": "y"}],
]  # fmt: skip
ASKED = ("svc_", "dns_")  # these need a service; see test_service_functions.py


@pytest.mark.parametrize("name", sorted(name for name in FUNCTIONS if not name.startswith(ASKED)))
def test_no_argument_brings_a_function_down(name: str) -> None:
    for source in calls(FUNCTIONS[name], f"{name}({{}})"):
        for value in ODD:
            for odd in ODD:
                assert is_answered(source, {"v": value, "odd": odd}, budget=small()), (source, value, odd)


@pytest.mark.parametrize("name", sorted(TESTS))
def test_no_argument_brings_a_test_down(name: str) -> None:
    host = {"record_type": lambda name: None}
    for source in calls(TESTS[name], f"(first is {name}({{}}))"):
        for value in ODD:
            for odd in ODD:
                given = {"first": value, "v": odd, "odd": odd}
                assert is_answered(source, given, budget=small(), host=host), (source, given)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_no_value_brings_an_operator_down(name: str) -> None:
    right = "x => x == b" if name.startswith("has ") else "b"
    for value in ODD:
        for odd in ODD:
            given = {"a": value, "b": odd}
            assert is_answered(f"{{{{ (a {name} {right}) is empty }}}}", given, budget=small()), (name, value, odd)


@pytest.mark.parametrize(
    "use",
    [
        "{{ -a }}",
        "{{ +a }}",
        "{{ not a }}",
        "{{ a[b] }}",
        "{{ a[b:c] }}",
        "{{ a ? b : c }}",
        "{% for x, y in a %}{{ x }}{{ y }}{% endfor %}",
        "{% with a %}{{ b }}{% endwith %}",
        "{{ {(a): b, (b): a}|length }}",
        "{{ a ?? b }}",
        '{{ "#{a}#{b}" }}',
        "{{ a }}",
    ],
)
def test_no_value_brings_an_expression_down(use: str) -> None:
    for value in ODD:
        for odd in ODD:
            assert is_answered(use, {"a": value, "b": odd, "c": odd}, budget=small()), (use, value, odd)
