"""Tags, surrounding white space, comments, and the delimiters of packages."""

from server.template import PACKAGE
from tests.template.run_cases import Case, Fails, check, every

IF: list[Case] = [
    ("{% if t %}a{% elseif e %}b{% else %}c{% endif %}", "a", {"t": True, "e": ""}),
    ("{% if not e %}y{% endif %}", "y", {"e": ""}),
    ('{% if "a" in ["a","b"] and not (1 > 2) %}ok{% endif %}', "ok"),
    ("{% if tags %}some{% else %}none{% endif %}", "some", {"tags": ["b", "a", "c"]}),
    ('{% if "0" %}t{% else %}f{% endif %}', "f"),
    ('{% if "0.0" %}t{% else %}f{% endif %}', "t"),
    ('{% if " " %}t{% else %}f{% endif %}', "t"),
    ("{% if not (yes and no) %}x{% endif %}", "x", {"yes": True, "no": False}),
]

LOOPS: list[Case] = [
    ("{% for i in 3..1 %}{{i}}{% endfor %}", "321"),
    ("{% for i in arr|filter(v => v > 1) %}{{i}}{% endfor %}", "32", {"arr": [3, 1, 2]}),
    ("{% for k in o %}{{k}}{% endfor %}", "12", {"o": {"a": 1, "b": 2}}),
    ("{% for k in o|keys %}{{k}}{% endfor %}", "ab", {"o": {"a": 1, "b": 2}}),
    ("{% for k,v in arr %}{{k}}={{v}};{% endfor %}", "0=3;1=1;2=2;", {"arr": [3, 1, 2]}),
    ("{% for i in [] %}x{% else %}none{% endfor %}", "none"),
    (
        "{% for i in arr %}{% for j in arr %}{{loop.parent.loop.index}}{{loop.index}} {% endfor %}{% endfor %}",
        "11 12 13 21 22 23 31 32 33 ",
        {"arr": [3, 1, 2]},
    ),
    ('{% for i in arr %}{{loop.cycle("a","b")}}{% endfor %}', "", {"arr": [3, 1, 2]}),
    ("{% for i in arr %}{{loop.previtem}}{% endfor %}", "", {"arr": [3, 1, 2]}),
    ("{% for i in [] %}{% endfor %}{{ loop }}", ""),
    ("{% for i in 1..2 %}{{ i }}{% endfor %}[{{ i }}]", "12[]"),
    ('{% for k, v in {"x":1} %}{{ k }}:{{ v }}{% endfor %}[{{ k }}]', "x:1[]"),
    ('{% for c in "a".."e" %}{{ c }}{% endfor %}', "abcde"),
    ("{% for i in range(10, 0, -5) %}{{i}} {% endfor %}", "10 5 0 "),
    (
        '{% for k, v in row %}{{ k }}={{ v }}{{ loop.last ? "" : "&" }}{% endfor %}',
        "sku=p1&n=2",
        {"row": {"sku": "p1", "n": 2}},
    ),
    ("{% for t in tags|sort %}{{ loop.index }}{{ t }}{% endfor %}", "1a2b3c", {"tags": ["b", "a", "c"]}),
    ("{% for t in [] %}x{% else %}empty{% endfor %}", "empty"),
    ("{% for t in name %}x{% else %}not a list{% endfor %}", "not a list", {"name": "Ana Lund"}),
    (
        "{% for r in rows %}{% for t in tags %}{{ loop.parent.loop.index }}{{ t }} {% endfor %}{% endfor %}",
        "1b 1a 1c 2b 2a 2c ",
        {"tags": ["b", "a", "c"], "rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]},
    ),
    ("{% for i in 1..3 %}{{ i }}{% endfor %}", "123"),
    ('{% for c in "a".."d" %}{{ c }}{% endfor %}', "abcd"),
    ("{% for x in 1..2 %}{{ x }}{% else %}e{% endfor %}", "12"),
    ("{% for x in 5 %}{% else %}e{% endfor %}", "e"),
    ("{% for i in arr %}{% if loop.index is odd %}o{% else %}e{% endif %}{% endfor %}", "oe", {"arr": [1, 2]}),
    (
        "{% for i in arr %}{% for j in arr %}{{ loop.index0 }}{% endfor %}{{ loop.index }}{% endfor %}",
        "011012",
        {"arr": [1, 2]},
    ),
]

LOOP_VARIABLES: list[Case] = [
    ("{% set acc = 0 %}{% for x in arr %}{% set acc = acc + x %}{% endfor %}{{ acc }}", "3", {"arr": [1, 2]}),
    (
        "{% set total = 0 %}{% for r in rows %}{% set total = total + r.n %}{% endfor %}{{ total }}",
        "7",
        {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]},
    ),
    (
        "{% for r in rows %}{% set inner = r.n %}{% endfor %}[{{ inner }}]",
        "[]",
        {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]},
    ),
    (
        "{% set x = 1 %}{% for i in arr %}{% for j in arr %}{% set x = x + 1 %}{% endfor %}{% endfor %}{{ x }}",
        "5",
        {"arr": [1, 2]},
    ),
]

SET: list[Case] = [
    ("{% set x = 1 %}{{x}}", "1"),
    ("{% set x, y = 1, 2 %}{{x}}{{y}}", "12"),
    ("{% set x %}a{{n5}}b{% endset %}[{{x}}]", "[a5b]", {"n5": "5"}),
    ("{% do 1+1 %}x", "x"),
    ("{% do o %}x", "x", {"o": {"a": 1}}),
    ('{% set a = [1] %}{% set a = a|merge([2]) %}{{ a|join("-") }}', "1-2"),
    ("{% set a = 1 %}{% set b %}[{{ a }}]{% endset %}{{ b }}", "[1]"),
    ("{% if t %}{% set v = 1 %}{% endif %}{{ v }}", "1", {"t": True}),
    ('{% set x = 1 %}{{ arr|map(v => v + x)|join(",") }}', "2,3", {"arr": [1, 2]}),
]

WITH: list[Case] = [
    ("{% with {a:1} %}{{a}}{{n5}}{% endwith %}[{{a}}]", "15[]", {"n5": "5"}),
    ("{% with {a:1} only %}{{a}}{{arr|length}}{% endwith %}", "13", {"arr": [3, 1, 2]}),
    ("{% with %}{% set b=2 %}{{b}}{% endwith %}[{{b}}]", "2[]"),
    ('{% with {s:"in"} %}{{ s }}{% set s = "z" %}{% endwith %}{{ s }}', "inHi", {"s": "Hi"}),
    ("{% with {who: name} %}{{ who }}{% endwith %}[{{ who }}]", "Ana Lund[]", {"name": "Ana Lund"}),
    ("{% with {x: 1} %}{% set y = 2 %}{{ x + y }}{% endwith %}{{ y }}", "3"),
]

APPLY: list[Case] = [
    ("{% apply upper %}abc{{n5}}x{% endapply %}", "ABC5X", {"n5": "5"}),
    ("{% apply lower|upper %}aBc{% endapply %}", "ABC"),
    ("{% apply spaceless %}<a> <b></b> </a>{% endapply %}", "<a><b></b></a>"),
    ("{% apply upper %}hi {{ name }}{% endapply %}", "HI ANA LUND", {"name": "Ana Lund"}),
]


@every(IF, LOOPS, LOOP_VARIABLES, SET, WITH, APPLY)
def test_tags(case: Case) -> None:
    check(case)


BLANKS: list[Case] = [
    ("{# c #}x", "x"),
    ("{#- c -#}  x", "x"),
    ("a\n{% if t %}\nb\n{% endif %}\nc", "a\nb\nc", {"t": True}),
    ("a {%~ if t ~%} b {%~ endif ~%} c", "abc", {"t": True}),
    ("a\n{# c #}\nb", "a\nb"),
    ("{# note #}x", "x"),
    ("a\n{% if yes %}\nb\n{% endif %}\nc", "a\nb\nc", {"yes": True}),
    ("{%- if yes -%} x {%- endif %}", "x", {"yes": True}),
    ("a\n{{ n5 }}\nb", "a\n5\nb", {"n5": "5"}),
    ("a {{- n5 -}} b", "a5b", {"n5": "5"}),
    ("a {{~ n5 ~}} b", "a5b", {"n5": "5"}),
    ("x\n", "x\n"),
    ("a {{- name -}} b", "aAna Lundb", {"name": "Ana Lund"}),
]


@every(BLANKS)
def test_blanks_and_comments(case: Case) -> None:
    check(case)


REFUSED_TAGS: list[Case] = [
    ("{% set o.a = 5 %}{{o.a}}", Fails("'.' stands where the end of the tag is expected"), {"o": {"a": 1, "b": 2}}),
    (
        "{% for i in arr if i > 1 %}{{i}}{% endfor %}",
        Fails("'if' stands where the end of the tag is expected"),
        {"arr": [3, 1, 2]},
    ),
    (
        "{% for i in arr %}{% if i == 1 %}{% break %}{% endif %}{{i}}{% endfor %}",
        Fails("there is no tag 'break'"),
        {"arr": [3, 1, 2]},
    ),
    ("{% if e %}a{% elif t %}b{% endif %}", Fails("there is no tag 'elif'; did you mean 'elseif'?")),
    ("{% endif %}", Fails("'endif' stands here without the tag that it belongs to")),
    ("{% if e %}a{% else if t %}b{% endif %}", Fails("'if' stands where the end of the tag is expected")),
    ("{% for x in 1..2 %}{% else %}{% else %}{% endfor %}", Fails("'else' stands here without the tag")),
    ("{% spaceless %}x{% endspaceless %}", Fails("there is no tag 'spaceless'")),
    ('{% from "x" import y %}', Fails("there is no tag 'from'")),
    ("{% block x %}{% endblock %}", Fails("there is no tag 'block'")),
    ('{% extends "x" %}', Fails("there is no tag 'extends'")),
    ('{% use "x" %}', Fails("there is no tag 'use'")),
    ("{% for x in 1..3 recursive %}{% endfor %}", Fails("stands where the end of the tag is expected")),
    ("{% for x in 1..3 %}{% continue %}{% endfor %}", Fails("there is no tag 'continue'")),
    ("{% filter upper %}abc{% endfilter %}", Fails("there is no tag 'filter'")),
    ("{% raw %}{{x}}{% endraw %}", Fails("there is no tag 'raw'")),
    ("{% autoescape %}x{% endautoescape %}", Fails("there is no tag 'autoescape'")),
    ("{% macro m() %}x{% endmacro %}", Fails("there is no tag 'macro'")),
    ('{% include "x" %}', Fails("there is no tag 'include'")),
    ('{% embed "x" %}{% endembed %}', Fails("there is no tag 'embed'")),
    ('{% import "x" as y %}', Fails("there is no tag 'import'")),
    ("{% flush %}", Fails("there is no tag 'flush'")),
    ('{% deprecated "x" %}', Fails("there is no tag 'deprecated'")),
    ('{% cache "k" %}x{% endcache %}', Fails("there is no tag 'cache'")),
    ("{% set f = v => v %}x", Fails("'=>' stands where the end of the tag is expected")),
]


LINES: list[Case] = [
    ("a\nb\n{{ 1/0 }}", Fails("a division by zero", line=3)),
    ("a\r\nb\r\n{{ 1/0 }}", Fails("a division by zero", line=3)),
    ("{{ 1 }}\n{{ nosuch() }}", Fails("there is no function", line=2)),
    ("{{ [\n1,\n2|nosuch] }}", Fails("there is no filter", line=3)),
    ("{% if a %}\n\n{% foo %}\n{% endif %}", Fails("there is no tag", line=3)),
    ("x\n{% if a %}\n", Fails("'if' has no 'endif'", line=2)),
    ("x\n{% for a in b %}\n{% else %}", Fails("'for' has no 'endfor'", line=2)),
    ("x\n\n{{ a", Fails("a tag has no end", line=3)),
    ('x\n{{ "a\n }}', Fails("a text has no closing quote", line=2)),
    ("x\n{# a", Fails("a comment has no end", line=2)),
    ("x\n{% verbatim %}\na", Fails("verbatim has no endverbatim", line=2)),
    ("{# a\nb #}\n{% set a = 1 %}\n{{ a(1) }}", Fails("there is no function 'a'", line=4)),
    ("{% for i in 1..3 %}\n{{ i / (i - 2) }}\n{% endfor %}", Fails("a division by zero", line=2)),
    ('{% set a %}\n{{ 2 * "x" }}{% endset %}', Fails("'x' is not a number", line=2)),
    ("x\n{{ date() }}", Fails("a date cannot be printed", line=2)),
    ("{% with 5 %}{% endwith %}", Fails("with takes a map")),
    ('\n{{ "a#{1 +}" }}', Fails("stands where an expression is expected", line=2)),
    ("\n{{ a|default(b=1) }}", Fails("'default' takes no argument 'b'", line=2)),
    ("\n{{ range(1, 2, 3, 4) }}", Fails("'range' takes at most 3 arguments", line=2)),
    ("\n{{ range(low=1, low=2) }}", Fails("appears here twice", line=2)),
    ("\n{{ range(low=1, 2) }}", Fails("an argument without a name", line=2)),
    ("\n{{ 5 is divisible by }}", Fails("stands where an expression is expected", line=2)),
    ("\n{{ a ? : 2 }}", Fails("stands where an expression is expected", line=2)),
    ("\n{{ a has some 3 }}", Fails("'has some' takes x => expression", line=2)),
    ("\n{{ }}", Fails("stands where an expression is expected", line=2)),
    ("\n{% set a, b = 1 %}", Fails("as many values as names", line=2)),
    ("\n{% set a, b %}{% endset %}", Fails("takes one name", line=2)),
    ("\n{% 5 %}", Fails("stands where a name is expected", line=2)),
    ("\n{{ a.(b) }}", Fails("stands where the name of an entry is expected", line=2)),
    ("\n{{ {5 6} }}", Fails("stands where ':' is expected", line=2)),
    ("\n{{ 2 ** 1024 }}", Fails("an exponent must be below 1024", line=2)),
    ("\n{{ 0 ** -1 }}", Fails("a division by zero", line=2)),
    ('\n{{ "a" matches "b" }}', Fails("needs delimiters", line=2)),
    ('\n{{ "a" matches "/b/q" }}', Fails("has the flag q", line=2)),
    ('\n{{ "a" matches "/(?<=a)b/" }}', Fails("cannot be used", line=2)),
]


@every(LINES)
def test_an_error_names_its_line(case: Case) -> None:
    check(case)


@every(REFUSED_TAGS)
def test_tags_that_there_are_not(case: Case) -> None:
    check(case)


PACKAGES: list[Case] = [
    ("{{{a}}} and {{b}} {% c %} {# d #}", "A and {{b}} {% c %} {# d #}", {"a": "A"}),
    ("{{{ uid.x_1 }}}", "12", {"uid": {"x_1": 12, "y-2": 13}}),
    ('{{{uid["y-2"]}}}', "13", {"uid": {"x_1": 12, "y-2": 13}}),
    ("{{{uid.nope}}}", "", {"uid": {"x_1": 12, "y-2": 13}}),
    ("{{{nope}}}", ""),
    ("{{% if n > 3 %}}yes{{% endif %}}", "yes", {"n": 5}),
    ("{{# hidden #}}x", "x"),
    ("{{{arr}}}", "Array", {"arr": [1, 2]}),
    ("{{{arr|json_encode}}}", "[1,2]", {"arr": [1, 2]}),
    ("{{{a|upper}}}", "A", {"a": "A"}),
    ("{{{{a}}}}", "Array", {"a": "A"}),
    ("{{{a", Fails("a tag has no end"), {"a": "A"}),
    ("{{{a}}", Fails("'}' closes nothing"), {"a": "A"}),
    ("{{{a}}}\n{{{a}}}", "A\nA", {"a": "A"}),
    ("{{% if 1 %}}\nx\n{{% endif %}}\ny", "x\ny"),
    ("{{{nofunc()}}}", Fails("there is no function 'nofunc'")),
    ('{"x": "{{{a}}}"}', '{"x": "A"}', {"a": "A"}),
    ('{{{a ~ "}"}}}', "A}", {"a": "A"}),
]


@every(PACKAGES)
def test_packages_have_delimiters_of_their_own(case: Case) -> None:
    check(case, PACKAGE)


SCOPES: list[Case] = [
    ("{% for i in 1..2 %}{% for i in 7..8 %}{{ i }}{% endfor %}{{ i }} {% endfor %}[{{ i }}]", "781 782 []"),
    ("{% set i = 9 %}{% for i in 1..2 %}{{ i }}{% endfor %}{{ i }}", "129"),
    ("{% for k in 1..2 %}{% if k == 1 %}{% set a = k %}{% endif %}{{ a }}{% endfor %}[{{ a }}]", "1[]"),
    ("{% for x in 1..2 %}{% set p = p + x %}{% endfor %}{{ p }}", "8", {"p": 5}),
    ("{% if 1 %}{% set a = 1 %}{% endif %}{{ a }}{% apply upper %}{% set b = 'x' %}{% endapply %}{{ b }}", "1x"),
    ("{% set a = 1 %}{% with {b: 2} %}{% set a = 3 %}{{ a }}{{ b }}{% endwith %}{{ a }}[{{ b }}]", "321[]"),
    ("{% set a = 1 %}{% with {b: 2} only %}{{ a }}{{ b }}{{ p }}{% endwith %}{{ a }}", "251", {"p": 5}),
    ("{% set a = 1 %}{% with only %}{{ a }}{{ p }}{% endwith %}{{ a }}", "51", {"p": 5}),
    ("{% set a, b = 1, 2 %}{% set a, b = b, a %}{{ a }}{{ b }}", "21"),
    ("{% set s %}a{% set s %}b{% endset %}{{ s }}c{% endset %}{{ s }}", "abc"),
    ("{% apply upper|replace({A: 'x'}) %}a{{ 'b' }}{% apply lower %}C{% endapply %}{% endapply %}", "xBC"),
    ("{% apply join('+') %}ab{% endapply %}{% apply split('b')|join('-') %}abc{% endapply %}", "aba-c"),
    ("{% sandbox %}{% set a = 1 %}{{ a }}{% endsandbox %}{{ a }}", "11"),
    ("{% do 'a'|upper %}{% do l|map(x => x) %}{% do dict_set(l, 'a', 1) %}{{ l|length }}", "1", {"l": [1]}),
    ("{% for a, b in {x: 1, '7': 2} %}{{ a }}{{ b }}{{ a + 0 is odd }} {% endfor %}", Fails("'x' is not a number")),
    ("{% for a, b in {'7': 2} %}{{ a + 1 }}{{ b }}{% endfor %}{% for a in null %}{% else %}none{% endfor %}", "82none"),
    (("{% for a in [[1, 2], [3]] %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}"
     "{{ loop.length }}{{ a|join }} {% endfor %}"), "111212 20123 "),
    (("{% for a in 1..2 %}{% for b in 1..2 %}{{ loop.parent.loop.first }}{{ loop.parent.loop.parent.loop }}"
     "{% endfor %}{% endfor %}"), "11"),
    ("{% for a in [] %}{% else %}{{ loop }}none{% endfor %}", "none"),
    ("{% if a %}1{% elseif b %}2{% elseif c %}3{% else %}4{% endif %}", "3", {"a": "0", "b": [], "c": "0.0"}),
    ("{% verbatim %}{{ a }}{% if %}{# c #}{% endverbatim %}!", "{{ a }}{% if %}{# c #}!"),
    ("a {%- verbatim -%} {{ b }} {%- endverbatim -%} c", "a {{ b }} c"),
]  # fmt: skip


@every(SCOPES)
def test_where_variables_live(case: Case) -> None:
    check(case)


MORE_BLANKS: list[Case] = [
    ("a\n{%- if 1 -%}\n b \n{%- endif -%}\n c", "abc"),
    ("a\n  {{~ 1 ~}}  \nb", "a\n1\nb"),
    ("{% if 1 %}\n\nx{% endif %}", "\nx"),
    ("{# a #}\n\nb", "\nb"),
    ("{{ 1 }}\n{{ 2 }}\n", "1\n2\n"),
    ("  {% if 1 %}\n  a\n  {% endif %}\n", "    a\n  "),
    ("{% set a %}\nx\n{% endset %}[{{ a }}]", "[x\n]"),
    ("a\r\n{{ v }}\rb", "a\nx\r\ny\nb", {"v": "x\r\ny"}),
    ("{#- {{ 1/0 }} {% nope %}\n -#} x", "x"),
    ("{ { 1 } } {", "{ { 1 } } {"),
    ("{{'a'}}{{-'b'-}} c", "abc"),
    ("", ""),
]


@every(MORE_BLANKS)
def test_more_of_blanks(case: Case) -> None:
    check(case)
