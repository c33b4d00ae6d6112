"""Every filter, by tables of cases; filters of other template languages are unknown; no filter runs for long or fills
memory."""

from typing import Any

import pytest

from server.errors import ScriptError
from server.template import Budget
from server.template.registry import FILTERS
from tests.telling import telling
from tests.template.filter_cases import dates, encodings, hostile, lists, markup, numbers, texts
from tests.template.run_cases import Case, check, every, failure, render

# Filters and other names of similar template languages, which would open a way out of this one.
UNKNOWN = (
    "attr center count country_name d data_uri dictsort filesizeformat flatten float forceescape format_currency "
    "groupby int items list max min pprint random reject rejectattr safe select selectattr slug string sum tojson u "
    "unique urlencode urlize wordcount wordwrap xmlattr constant map_ system"
).split()


@every(texts.CASES, lists.CASES, numbers.CASES, dates.CASES, encodings.CASES, markup.CASES)
def test_filter(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_filter(name: str) -> None:
    failed = failure("\n{{ a|" + name + " }}", {"a": "b"})
    assert f"there is no filter '{name}'" in failed.message
    assert failed.details["line"] == 2


REFUSED = {source[:60]: (source, wanted) for source, wanted in hostile.REFUSED}


def test_hostile_uses_have_names_of_their_own() -> None:
    assert len(REFUSED) == len(hostile.REFUSED)


@pytest.mark.parametrize("case", telling(REFUSED, [*REFUSED][::6], "every hostile use"))
def test_hostile_use_is_refused(case: tuple[str, str]) -> None:
    source, wanted = case
    failed = failure(source, hostile.VALUES, budget=Budget(steps=hostile.STEPS))
    assert wanted in failed.message


@pytest.mark.parametrize(("source", "most"), hostile.BOUNDED, ids=[source[:60] for source, _ in hostile.BOUNDED])
def test_hostile_use_has_a_small_answer(source: str, most: int) -> None:
    assert len(render(source, hostile.VALUES)) <= most


@pytest.mark.parametrize("name", telling(sorted(FILTERS), sorted(FILTERS)[::8], "every filter"))
def test_no_value_brings_a_filter_down(name: str) -> None:
    """With any value in place of each argument, every filter returns a value or an error that names the line."""
    callee = FILTERS[name]
    most = 2 if callee.most is None else callee.most
    counts = range(callee.least, most + 1)
    sources = [f"{{{{ v|{name}({', '.join(['odd'] * count)})|json_encode }}}}" for count in counts]
    if callee.takes_arrow:
        sources.append(f"{{{{ v|{name}((x, y) => odd)|json_encode }}}}")
    for source in sources:
        for value in hostile.ODD:
            for odd in hostile.ODD:
                assert answered(source, {"v": value, "odd": odd}), (source, value, odd)


def answered(source: str, values: dict[str, Any]) -> bool:
    """Whether a template renders, or fails with an error that names its line."""
    try:
        return render(source, values) != ""
    except ScriptError as error:
        return error.details.get("line") == 1
