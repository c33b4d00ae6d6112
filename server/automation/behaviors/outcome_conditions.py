"""Evaluates the conditions of outcomes.

A condition is false if its subject does not exist or its parameters are invalid; `!` before an operator negates the
result, but not this case."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from server import times
from server.automation.behaviors.action import RISING
from server.automation.behaviors.tree import LIST_PREFIX
from server.errors import HelpdeskError, Invalid
from server.record_types.calendars.availability import covers, free
from server.record_types.calendars.calendar_rows import occurrences
from server.store.transaction import Transaction
from server.template import script_patterns
from server.template.values import items, printed, truthy, whole
from server.wildcards import fits

if TYPE_CHECKING:
    from server.automation.behaviors.behavior_run import BehaviorRun

DAY_SECONDS = 86400
Test = Callable[["BehaviorRun", Any, str, dict[str, Any]], bool]


class Inapplicable(Exception):
    """Raised if a condition cannot be evaluated: it is false, negated or not."""


def passes(run: "BehaviorRun", groups: list[dict[str, Any]]) -> bool:
    """Returns whether all groups pass. A group with `any` needs one true condition, others need all; an empty one
    passes."""
    return all(_group(run, each) for each in groups)


def _group(run: "BehaviorRun", group: dict[str, Any]) -> bool:
    conditions = group.get("conditions") or []
    if not conditions:
        return True
    outcomes = (holds(run, each) for each in conditions)  # lazy: any() and all() stop at the first decisive condition
    return any(outcomes) if truthy(group.get("any")) else all(outcomes)


def holds(run: "BehaviorRun", condition: dict[str, Any]) -> bool:
    """Returns whether one condition is true. Raises BudgetSpent."""
    run.step()
    name, operator = printed(condition.get("condition")), printed(condition.get("oper"))
    is_negated, operator = operator.startswith("!"), operator.removeprefix("!")
    test = BUILT_IN.get(name)
    try:
        if test is not None:
            return test(run, None, operator, condition) is not is_negated
        return _test_of(run, name, condition)(run, run.values.get(name), operator, condition) is not is_negated
    except Inapplicable:
        return False


def _test_of(run: "BehaviorRun", name: str, condition: dict[str, Any]) -> Test:
    """Returns the test for the type of the variable; for other dictionary keys, the one that the condition names."""
    variable = run.behavior.variables.get(name)
    if variable is not None:
        return _lists if variable.type.startswith(LIST_PREFIX) else BY_TYPE[variable.type]
    if name not in run.values and run.values.get(name) is None:
        raise Inapplicable
    return next((test for key, test in BY_PARAMETER.items() if key in condition), _by_operator(condition))


def _by_operator(condition: dict[str, Any]) -> Test:
    return _number if printed(condition.get("oper")).removeprefix("!") in ("gt", "lt") else _text


# -- on values --------------------------------------------------------------------------------------------------------


def _text(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _compare_text(printed(value), operator, printed(condition.get("value")))


def _compare_text(text: str, operator: str, expected: str) -> bool:
    if operator == "is":
        return text.lower() == expected.lower()
    if operator == "contains":
        return expected.lower() in text.lower()
    if operator == "like":
        return fits(text.lower(), expected.lower())
    if operator == "regexp":
        try:
            return script_patterns.compiled(expected).search(text) is not None
        except HelpdeskError:
            raise Inapplicable from None
    raise Inapplicable


def _number(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _compare_number(whole(value), operator, whole(condition.get("value")))


def _compare_number(number: int, operator: str, expected: int) -> bool:
    if operator not in ("is", "gt", "lt"):
        raise Inapplicable
    return number == expected if operator == "is" else number > expected if operator == "gt" else number < expected


def _checkbox(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return truthy(value) is truthy(condition.get("bool"))


def _date(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    if operator not in ("between", ""):
        raise Inapplicable
    start, end = _instants(run, condition)
    return start <= whole(value) <= end


def _instants(run: "BehaviorRun", condition: dict[str, Any]) -> tuple[int, int]:
    start, end = _instant(run, condition, "from"), _instant(run, condition, "to")
    return start, end + DAY_SECONDS if end < start else end


def _instant(run: "BehaviorRun", condition: dict[str, Any], name: str) -> int:
    try:
        return times.instant(printed(condition.get(name)), run.ctx.now, run.ctx.tz)
    except Invalid:
        raise Inapplicable from None


def _picklist(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    if operator != "in":
        raise Inapplicable
    return printed(value) in _texts(condition, "values")


def _choices(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    chosen, options = {printed(each) for each in _several(value)}, _texts(condition, "values")
    if operator not in ("is", "in"):
        raise Inapplicable
    return chosen <= options if operator == "is" else bool(chosen & options)


def _several(value: Any) -> list[Any]:
    return items(value) if isinstance(value, (list, dict)) else [] if value in (None, "") else [value]


def _texts(condition: dict[str, Any], name: str) -> set[str]:
    return {printed(each) for each in _several(condition.get(name))}


def _worker(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    if operator != "in":
        raise Inapplicable
    worker_ids = {whole(each) for each in _several(condition.get("worker_id"))} - {0}
    return whole(value) in worker_ids if worker_ids else not whole(value)


def _lists(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _compare_number(len(items(value)), operator, whole(condition.get("value")))


BY_TYPE: dict[str, Test] = {
    **dict.fromkeys(("S", "T", "U"), _text),
    **dict.fromkeys(("N", "O", "Y", "L"), _number),
    "C": _checkbox,
    "D": _picklist,
    "E": _date,
    "W": _worker,
    **dict.fromkeys(("M", "X"), _choices),
    **dict.fromkeys(("F", "I", "contexts"), _lists),
}
BY_PARAMETER: dict[str, Test] = {"worker_id": _worker, "values": _picklist, "bool": _checkbox, "from": _date}


# -- on nothing of the dictionary -------------------------------------------------------------------------------------


def _script(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    try:
        text = run.render(printed(condition.get("tpl"))).strip()
    except RISING:
        raise
    except HelpdeskError:
        raise Inapplicable from None
    return _compare_text(text, operator, printed(condition.get("value")))


def _month(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _one_of(operator, _here(run).month, condition, "month")


def _weekday(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _one_of(operator, _here(run).isoweekday(), condition, "day")


def _one_of(operator: str, number: int, condition: dict[str, Any], name: str) -> bool:
    if operator != "is":
        raise Inapplicable
    return number in {whole(each) for each in _several(condition.get(name))}


def _day_of_month(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    return _compare_number(_here(run).day, operator, whole(condition.get("value")))


def _time_of_day(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    """Tests the time of day; a range from late to early spans midnight."""
    if operator != "between":
        raise Inapplicable
    now = _seconds(_here(run))
    start, end = (
        _seconds(datetime.fromtimestamp(_instant(run, condition, name), run.ctx.tz)) for name in ("from", "to")
    )
    return start <= now <= end if start <= end else now >= start or now <= end


def _here(run: "BehaviorRun") -> datetime:
    return datetime.fromtimestamp(run.ctx.now, run.ctx.tz)


def _seconds(local: datetime) -> int:
    return local.hour * 3600 + local.minute * 60 + local.second


def _availability(run: "BehaviorRun", value: Any, operator: str, condition: dict[str, Any]) -> bool:
    """Tests whether a calendar is available for the whole time; otherwise it is busy."""
    ctx, calendars = run.ctx, run.ctx.service.registry.type("calendar")
    start, end = _instants(run, condition)

    def read(tx: Transaction) -> bool:
        row = tx.get(calendars.table, whole(condition.get("calendar_id")))
        if row is None:
            raise Inapplicable
        record = calendars.record(row)
        try:
            times = occurrences(tx, [record], start, max(end, start + 1), ctx.tz)
        except Invalid:
            raise Inapplicable from None
        return covers(free(times[record["id"]]), start, end)

    return ctx.service.store.read(read) is truthy(condition.get("is_available"))


BUILT_IN: dict[str, Test] = {
    "_custom_script": _script,
    "_month_of_year": _month,
    "_day_of_week": _weekday,
    "_day_of_month": _day_of_month,
    "_time_of_day": _time_of_day,
    "_calendar_availability": _availability,
}
