"""The tests of the `is` operator."""

from server.template.registry import TESTS
from tests.template.run_cases import Case, Fails, check, every

CASES: list[Case] = [
    ("{{ 5 is odd and 4 is even }}", "1"),
    ("{{ not 5 is odd }}", ""),
    ("{% if nope is defined %}y{% else %}n{% endif %}", "n"),
    ("{% if n5 is defined %}y{% endif %}", "y", {"n5": "5"}),
    ("{% if nul is defined %}y{% else %}n{% endif %}", "n", {"nul": None}),
    ("{% if o.zz is defined %}y{% else %}n{% endif %}", "n", {"o": {"a": 1, "b": 2}}),
    ('{{ "" is empty }}', "1"),
    ('{{ "0" is empty }}', ""),
    ("{{ false is empty }}", "1"),
    ("{{ {} is empty }}", "1"),
    ("{{ nul is none }}", "1", {"nul": None}),
    ("{{ nope is null }}", "1"),
    ("{{ arr is iterable }}", "1", {"arr": [3, 1, 2]}),
    ("{{ 6 is divisible by(3) }}", "1"),
    ("{{ 6 is divisible by 3 }}", "1"),
    ('{{ s is pattern("hello*") }}', "1", {"s": "Hello World"}),
    ('{{ s is pattern(["x*","*ld"]) }}', "1", {"s": "Hello World"}),
    ('{{ s is prefixed("hel") }}', "", {"s": "Hello World"}),
    ('{{ s is suffixed("x") }}', "", {"s": "Hello World"}),
    ('{{ s is not pattern("z*") }}', "1", {"s": "Hello World"}),
    ("{{ '4111 1111 1111 1111' is card number }}", "1"),
    ("{{ '4111-1111-1111-1111' is card number and 378282246310005 is card number }}", "1"),
    ("{{ '4111 1111 1111 1112' is card number }}", ""),
    ("{{ '411111111111' is card number }}", ""),
    ("{{ '0000 0000 0000 0000' is card number }}", ""),
    ("{{ '4111111111111111x' is card number or '' is card number or [] is card number }}", ""),
    ("{{ 5 is number }}", Fails("there is no test 'number'")),
    ("{{ s is string }}", Fails("there is no test 'string'"), {"s": "Hello World"}),
    ("{{ o is mapping }}", Fails("there is no test 'mapping'"), {"o": {"b": 1, "a": 2}}),
    ("{{ t is true }}", Fails("there is no test 'true'"), {"t": True}),
    ("{{ s is sequence }}", Fails("there is no test 'sequence'"), {"s": "Hello World"}),
    ("{{ 1 is eq 1 }}", Fails("there is no test 'eq'")),
    ('{{ "a" is in ["a"] }}', Fails("there is no test 'in'")),
    ("{{ s is lower }}", Fails("there is no test 'lower'"), {"s": "Hello World"}),
    ("{{ s is callable }}", Fails("there is no test 'callable'"), {"s": "Hello World"}),
    ("{{ s is defined }}", "1", {"s": "Hello World"}),
    ("{{ s is undefined }}", Fails("there is no test 'undefined'"), {"s": "Hello World"}),
    ('{{ "5" is same as("5") }}', "1"),
    ('{% if s == "Hi" and s is not empty %}ok{% endif %}', "ok", {"s": "Hi"}),
    ("{{ v is defined }}", "1", {"v": "val"}),
    ("{{ n is defined }}|", "|", {"n": None}),
    ("{{ s is defined }}", "1", {"s": ""}),
    ("{{ o.b is defined }}|", "1|", {"o": {"a": "", "b": None, "c": 1}}),
    ("{{ o.zz is defined }}|", "|", {"o": {"a": "", "b": None, "c": 1}}),
    ("{{ f is defined }}|", "1|", {"f": False}),
    ("{{ f is null }}", "", {"f": False}),
    ("{{ f is same as(false) }}|", "1|", {"f": False}),
    ("{{ qty is same as(3) }}|", "|", {"qty": "3"}),
    ("{% if nil is null %}null{% endif %}", "null", {"nil": None}),
    ("{% if qty is numeric %}num{% endif %}", "num", {"qty": "3", "num": {"2": "two", "1": "one"}}),
    ("{% if rows is iterable %}it{% endif %}", "it", {"rows": [{"sku": "p1", "n": 2}, {"sku": "p2", "n": 5}]}),
    ("{% if name is iterable %}it{% else %}no{% endif %}", "no", {"name": "Ana Lund", "no": False}),
    ("{% if 9 is divisible by(3) %}d{% endif %}", "d"),
    ("{{ name is nosuch }}", Fails("there is no test 'nosuch'"), {"name": "Ana Lund"}),
    ('{{ name is suffixed("und") }}', "1", {"name": "Ana Lund"}),
    ("{{ rows is not empty }}", "1", {"rows": [{"a": 1}]}),
    ('{{ "a" is not same as("b") }}', "1"),
    ("{{ 5 is divisible by 5 }}", "1"),
    ('{{ nope|date("Y") is numeric }}', "1"),
]


@every(CASES)
def test_tests(case: Case) -> None:
    check(case)


FURTHER: list[Case] = [
    ("{{ '7' is odd }}{{ '8.9' is even }}{{ -3 is odd }}{{ null is even }}{{ true is odd }}", "11111"),
    ("{{ 'x' is odd }}", Fails("'x' is not a number")),
    ("{{ [] is even }}", Fails("a list cannot be counted with")),
    ("{{ '9' is divisible by('3') }}{{ -9 is divisible by 3 }}{{ 9 is divisible by(2) }}", "11"),
    ("{{ 9 is divisible by(0) }}", Fails("a division by zero")),
    ("{{ 1 is same as(1.0) }}{{ 1 is same as('1') }}{{ null is same as(false) }}{{ '' is same as(null) }}", ""),
    ("{{ [1, {a: 2}] is same as([1, {a: 2}]) }}{{ [1] is same as(['1']) }}", "1"),
    ("{{ {a: 1, b: 2} is same as({b: 2, a: 1}) }}{{ {a: 1, b: 2} == {b: 2, a: 1} }}", "1"),
    ("{{ 0 is empty }}{{ '0' is empty }}{{ ' ' is empty }}{{ nope is empty }}{{ nope.x is empty }}", "11"),
    ("{{ nope.x is defined }}{{ m.a is defined }}{{ m['b'] is defined }}{{ l[0] is defined }}{{ l[9] is defined }}",
     "111", {"m": {"a": None, "b": 1}, "l": [None]}),
    ("{{ (m.a) is defined }}{{ m.a|upper is defined }}{{ m.a.b is defined }}{{ m.b.c is not defined }}", "111",
     {"m": {"a": None}}),
    ("{{ '5 ' is numeric }}{{ '1e5' is numeric }}{{ '' is numeric }}{{ true is numeric }}{{ [1] is numeric }}", "11"),
    ("{{ 5 is iterable }}{{ null is iterable }}{{ {} is iterable }}{{ xml_decode('<a/>') is iterable }}", "11"),
    ("{{ 'Hello World' is pattern('x', 'h*o w*') }}{{ 'abc' is pattern 'A?C' }}{{ 'a?c' is pattern 'A?C' }}", "11"),
    ("{{ ['x', 'abc'] is pattern('a*') }}{{ [] is pattern('*') }}{{ null is pattern('') }}", "11"),
    ("{{ 'a.c' is pattern('a.c') }}{{ 'abc' is pattern('a.c') }}{{ 'a\nb' is pattern('a*b') }}", "11"),
    ("{{ 'abc' is prefixed('x', ['y', 'ab']) }}{{ 'abc' is prefixed 'B' }}{{ 55 is prefixed(5) }}", "11"),
    ("{{ 'abc' is suffixed('x', ['y', 'bc']) }}{{ 'abc' is suffixed 'C' }}{{ null is suffixed '' }}", "11"),
    ("{{ 'abc' is pattern }}", Fails("stands where an expression is expected")),
    ("{{ 'abc' is pattern() }}", Fails("'pattern' needs the argument 'pattern'")),
    ("{{ 5 is defined(1) }}", Fails("'defined' takes at most 0 arguments")),
    ("{{ 5 is }}", Fails("stands where a name is expected")),
    ("{{ 5 is evn }}", Fails("there is no test 'evn'; did you mean 'even'?")),
    ("{{ 'x' is record type('ticket') }}", Fails("no service is there to be asked")),
]  # fmt: skip


@every(FURTHER)
def test_more_of_tests(case: Case) -> None:
    check(case)


def test_there_are_these_tests_and_no_others() -> None:
    assert sorted(TESTS) == [
        "card number", "defined", "divisible by", "empty", "even", "iterable", "none", "null", "numeric", "odd",
        "pattern", "prefixed", "record type", "same as", "suffixed",
    ]  # fmt: skip
