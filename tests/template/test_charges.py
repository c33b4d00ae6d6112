"""The budget stops every construct of templates on large input, with an unlimited clock: each filter, function, test,
operator and tag is repeated with large values until steps or memory are spent."""

import math
from typing import Any

import pytest

from server.errors import BudgetSpent, ScriptError
from server.template import Budget
from server.template.expression_parser import LEVELS
from server.template.registry import FILTERS, FUNCTIONS, TESTS, Callee
from server.template.tag_parser import TAGS
from tests.telling import telling
from tests.template.run_cases import render

STEPS, MEMORY = 5000, 400_000
TIMES = 200  # repetitions; each costs a few steps by itself
LARGE: dict[str, Any] = {
    "text": "a, b " * 20_000, "list": [f"v{number:03}" for number in range(1000)],
    "map": {f"k{number}": number for number in range(1000)}, "rows": [[number, "x"] for number in range(1000)],
}  # fmt: skip
SMALL: dict[str, Any] = {"text": "a, b", "list": ["v000"], "map": {"k": 1}, "rows": [[1, "x"]]}
# Constructs of constant cost: they read one entry, the size, or the type of a value.
CHEAP = {
    "filters": {"default", "first", "last", "length", "raw", "slice"},
    "functions": {"attribute", "cycle", "random"},
    "tests": {"defined", "empty", "even", "iterable", "none", "null", "numeric", "odd"},
    "operators": {"??", "and", "or", "b-and", "b-or", "b-xor"},
}
OF_TEXTS = {"~", "starts with", "ends with", "matches"}  # they treat a list or a map as the text Array, or as empty
BODIES = {
    "if": "{% if v == w %}{% endif %}", "for": "{% for x in v %}{% endfor %}", "set": "{% set x %}{{ v }}{% endset %}",
    "with": "{% with v %}{% endwith %}", "apply": "{% apply upper %}{{ v }}{% endapply %}",
    "do": "{% do v == w %}", "sandbox": "{% sandbox %}{{ v }}{% endsandbox %}",
}  # fmt: skip


def end_of(source: str, kind: str) -> str:
    """The outcome of this many repetitions: `budget`, `refused`, `cheap` where a small value costs as much, else
    `free`."""
    state, cost = spent(source, LARGE[kind])
    if state != "done":
        return state
    return "cheap" if spent(source, SMALL[kind]) == ("done", cost) else "free"


def spent(source: str, value: Any) -> tuple[str, int]:
    """The outcome, and the steps spent."""
    budget = Budget(STEPS, MEMORY, math.inf)
    try:
        render(source * TIMES, {"v": value, "w": value * 1 if isinstance(value, (str, list)) else dict(value)},
               budget=budget)  # fmt: skip
    except BudgetSpent:
        return "budget", 0
    except ScriptError:
        return "refused", 0
    return "done", STEPS - budget.steps + MEMORY - budget.memory


def sources(callee: Callee, form: str, *first: str) -> list[str]:
    """Calls with the minimum number of arguments, and with one more; the last is an arrow function where one is
    accepted."""
    most = callee.least + 1 if callee.most is None else min(callee.least + 1, callee.most)
    found = []
    for count in range(callee.least, most + 1):
        given = [*first, *["v"] * count][: len(first) + count] if not callee.takes_arrow else ["x => x"] * count
        found.append(f"{{% do {form.format(', '.join(given))} %}}")
    return found


def ends(calls: list[str]) -> set[str]:
    return {end_of(call, kind) for call in calls for kind in LARGE}


@pytest.mark.parametrize("name", telling(sorted(FILTERS), sorted(FILTERS)[::8], "every filter"))
def test_every_filter_is_stopped(name: str) -> None:
    found = ends(sources(FILTERS[name], f"v|{name}({{}})"))
    assert "free" not in found and ("cheap" in found) <= (name in CHEAP["filters"])


@pytest.mark.parametrize("name", telling(sorted(FUNCTIONS), sorted(FUNCTIONS)[::8], "every function"))
def test_every_function_is_stopped(name: str) -> None:
    found = ends(sources(FUNCTIONS[name], f"{name}({{}})"))
    needs_nothing = not FUNCTIONS[name].least  # the cost of a call without a value is constant
    assert "free" not in found and ("cheap" in found) <= (name in CHEAP["functions"] or needs_nothing)


@pytest.mark.parametrize("name", sorted(TESTS))
def test_every_test_is_stopped(name: str) -> None:
    found = ends([f"{{% do v is {name}{'(w)' if TESTS[name].least else ''} %}}"])
    assert "free" not in found and ("cheap" in found) <= (name in CHEAP["tests"])


@pytest.mark.parametrize("name", sorted(set(LEVELS) - {"is", "is not"}))
def test_every_operator_is_stopped(name: str) -> None:
    arrow = {"has some": "(x => false)", "has every": "(x => true)"}
    kinds = ["text"] if name in OF_TEXTS else [*LARGE]
    found = {end_of(f"{{% do v {name} {arrow.get(name, 'w')} %}}", kind) for kind in kinds}
    assert "free" not in found and ("cheap" in found) <= (name in CHEAP["operators"])


@pytest.mark.parametrize("name", sorted(TAGS))
def test_every_tag_is_stopped(name: str) -> None:
    kinds = {"with": ["map"], "for": ["list", "map", "rows"]}.get(name, ["text"])
    assert {end_of(BODIES[name], kind) for kind in kinds} == {"budget"}


@pytest.mark.exhaustive("the largest renderings")
def test_a_rendering_has_its_part_of_a_larger_budget() -> None:
    whole = Budget(steps=100_000_000, memory=10**9, ends_at=math.inf)
    with pytest.raises(BudgetSpent, match="more steps"):
        render("{% for a in 1..2000 %}{% for b in 1..2000 %}{% endfor %}{% endfor %}", budget=whole)
    assert 98_000_000 < whole.steps < 100_000_000
    with pytest.raises(BudgetSpent, match="more memory"):
        render('{% for a in 1..100 %}{% set x = "a"|repeat(2000000) %}{% endfor %}', budget=whole)
    assert 860_000_000 < whole.memory < 10**9


@pytest.mark.parametrize(("text", "width"), [("a" * 1000, 1), ("é" * 1000, 1), ("€" * 1000, 2), ("😀" * 1000, 4)])
def test_a_text_is_charged_by_the_bytes_that_it_takes(text: str, width: int) -> None:
    budget = Budget(ends_at=math.inf)
    before = budget.memory
    budget.text(len(text), text)
    assert before - budget.memory == 1000 * width


def test_a_rendering_that_waits_for_others_has_its_own_time_left_but_no_more_than_its_caller() -> None:
    whole = Budget(ends_at=math.inf)
    with whole.part() as part:
        before = part.ends_at
        part.exclude_wait(30)
        assert part.ends_at == before + 30
        whole.end()
        with pytest.raises(BudgetSpent, match="takes longer"):
            part.exclude_wait(30)
