"""Conditions of outcomes: every condition and operator, with missing and invalid values."""

import pytest

from tests.automation.bots import Bots, actions, add, bots, node, public, put, when

__all__ = ["bots"]
# NOW is Wednesday 2026-11-18 11:06:40 UTC.


def asked(name, oper="", **params):
    return {"condition": name, "oper": oper, **params}


def script(tpl, oper, value):
    return asked("_custom_script", oper, tpl=tpl, value=value)


VARIABLES = {
    "var_text": public("S"), "var_long": public("T"), "var_number": public("N"), "var_flag": public("C"),
    "var_date": public("E"), "var_tone": public("D", options="formal\nfriendly"), "var_days": public("X"),
    "var_list": public("ctx_task"), "var_files": public("I"),
}  # fmt: skip
SENT = {
    "var_text": "Blue Whale", "var_long": "", "var_number": "12", "var_flag": "1", "var_date": "2026-11-20 12:00",
    "var_tone": "formal", "var_days": ["mon", "tue"], "var_list": "[]", "var_files": ["1", "2"],
}  # fmt: skip
CASES = [
    # texts
    (asked("var_text", "is", value="blue whale"), True),
    (asked("var_text", "is", value="blue"), False),
    (asked("var_text", "!is", value="blue"), True),
    (asked("var_text", "like", value="blue*"), True),
    (asked("var_text", "like", value="*WHALE"), True),
    (asked("var_text", "like", value="blue"), False),
    (asked("var_text", "!like", value="*e*e"), False),
    (asked("var_text", "contains", value="e w"), True),
    (asked("var_text", "!contains", value="red"), True),
    (asked("var_text", "regexp", value="/^Blue/"), True),
    (asked("var_text", "regexp", value="/^blue/"), False),
    (asked("var_text", "regexp", value="#^blue#i"), True),
    (asked("var_text", "regexp", value="no delimiters"), False),
    (asked("var_text", "!regexp", value="no delimiters"), False),
    (asked("var_text", "regexp", value="/(/"), False),
    (asked("var_text", "gt", value="1"), False),
    (asked("var_text", "!gt", value="1"), False),
    (asked("var_long", "is", value=""), True),
    (asked("var_long", "contains", value=""), True),
    # numbers
    (asked("var_number", "is", value="12"), True),
    (asked("var_number", "is", value="12abc"), True),
    (asked("var_number", "gt", value="11"), True),
    (asked("var_number", "gt", value=12), False),
    (asked("var_number", "lt", value="13"), True),
    (asked("var_number", "!lt", value="13"), False),
    (asked("var_number", "between", value="13"), False),
    # checkboxes
    (asked("var_flag", bool=1), True),
    (asked("var_flag", bool="0"), False),
    (asked("var_flag", "!", bool="0"), True),
    # dates
    (asked("var_date", "between", **{"from": "2026-11-20", "to": "2026-11-21"}), True),
    (asked("var_date", "between", **{"from": "now", "to": "+1 day"}), False),
    (asked("var_date", "!between", **{"from": "now", "to": "+1 day"}), True),
    (asked("var_date", "between", **{"from": "2026-11-20 13:00", "to": "2026-11-20 12:30"}), False),
    (asked("var_date", "between", **{"from": "2026-11-20 11:00", "to": "2026-11-19 13:00"}), True),
    (asked("var_date", "between", **{"from": "no such day", "to": "now"}), False),
    (asked("var_date", "is", **{"from": "2026-11-20", "to": "2026-11-21"}), False),
    # picklists
    (asked("var_tone", "in", values=["friendly", "formal"]), True),
    (asked("var_tone", "in", values=["friendly"]), False),
    (asked("var_tone", "!in", values=["friendly"]), True),
    (asked("var_tone", "in", values=[]), False),
    (asked("var_tone", "is", values=["formal"]), False),
    (asked("var_tone", "in"), False),
    # choices
    (asked("var_days", "is", values=["mon", "tue", "wed"]), True),
    (asked("var_days", "is", values=["mon"]), False),
    (asked("var_days", "in", values=["mon"]), True),
    (asked("var_days", "in", values=["wed"]), False),
    (asked("var_days", "!in", values=["wed"]), True),
    (asked("var_days", "like", values=["mon"]), False),
    # lists
    (asked("var_list", "is", value="0"), True),
    (asked("var_list", "gt", value="0"), False),
    (asked("var_files", "is", value="2"), True),
    # keys of the dictionary
    (asked("behavior_name", "is", value="order STATUS"), True),
    (asked("behavior_bot_name", "contains", value="shop"), True),
    (asked("va_is_disabled", bool="0"), True),
    (asked("va_id", "gt", value="0"), True),
    (asked("set_before", "is", value="yes"), True),
    (asked("set_before", "in", values=["yes"]), True),
    (asked("not_there", "is", value=""), False),
    (asked("not_there", "!is", value="x"), False),
    (asked("_no_such_thing", "!is", value="x"), False),
    ({}, False),
    # scripts
    (script("{{var_number + 1}}", "is", "13"), True),
    (script("  {{var_text}} \n", "is", "BLUE WHALE"), True),
    (script("{{var_text}}", "like", "blue*"), True),
    (script("{{var_text}}", "contains", "whale"), True),
    (script("{{var_text}}", "regexp", "/whale/"), False),
    (script("{{var_text}}", "!regexp", "/whale/"), True),
    (script("{{ broken", "is", ""), False),
    (script("{{ broken", "!is", "x"), False),
    (script("{{ 1 / 0 }}", "!is", "x"), False),
    (script("x", "gt", "1"), False),
    # the calendar and the clock
    (asked("_month_of_year", "is", month=["11"]), True),
    (asked("_month_of_year", "is", month=[1, 12]), False),
    (asked("_month_of_year", "!is", month=[1, 12]), True),
    (asked("_month_of_year", "in", month=[11]), False),
    (asked("_day_of_week", "is", day=[3]), True),
    (asked("_day_of_week", "is", day=["1", "7"]), False),
    (asked("_day_of_month", "is", value="18"), True),
    (asked("_day_of_month", "gt", value="17"), True),
    (asked("_day_of_month", "!lt", value="20"), False),
    (asked("_time_of_day", "between", **{"from": "08:00", "to": "17:00"}), True),
    (asked("_time_of_day", "between", **{"from": "8am", "to": "11am"}), False),
    (asked("_time_of_day", "between", **{"from": "22:00", "to": "12:00"}), True),
    (asked("_time_of_day", "between", **{"from": "22:00", "to": "06:00"}), False),
    (asked("_time_of_day", "!between", **{"from": "22:00", "to": "06:00"}), True),
    (asked("_time_of_day", "between", **{"from": "x", "to": "06:00"}), False),
    (asked("_time_of_day", "is", **{"from": "08:00", "to": "17:00"}), False),
]


def test_conditions(bots: Bots):
    """One behavior evaluates all of them."""
    outcomes = [
        node("outcome", actions(add(str(place))), **when(condition)) for place, (condition, _) in enumerate(CASES)
    ]
    lines = bots.response(actions(put("set_before", "yes")), *outcomes, variables=VARIABLES, **SENT)
    held = {int(line) for line in lines}
    wrong = [condition for place, (condition, holds) in enumerate(CASES) if (place in held) is not holds]
    assert wrong == []


@pytest.mark.parametrize(
    ("sent", "listed", "holds"),
    [("milo", ["milo"], True), ("milo", ["nora"], False), ("milo", ["nora", "milo"], True), ("milo", [], False)],
)
def test_workers(bots: Bots, sent, listed, holds):
    condition = asked("var_who", "in", worker_id=[str(bots.ids[name]) for name in listed])
    asks = node("outcome", actions(add("yes")), **when(condition))
    lines = bots.response(asks, variables={"var_who": public("W")}, var_who=bots.ids[sent])
    assert lines == (["yes"] if holds else [])


def test_a_worker_that_was_never_set_is_no_one(bots: Bots):
    variables = {"var_who": public("W") | {"is_private": "1"}}
    for listed, lines in (([], ["yes"]), ([str(bots.ids["nora"])], [])):
        asks = node("outcome", actions(add("yes")), **when(asked("var_who", "in", worker_id=listed)))
        assert bots.response(asks, variables=variables) == lines


def test_calendars(bots: Bots):
    calendar = bots.desk.create("calendar", name="Shop", owner__context="app", owner_id=0)["id"]
    bots.desk.create(
        "calendar_event", name="Open", calendar_id=calendar, is_available=1,
        date_start="2026-11-18 09:00", date_end="2026-11-18 17:00",
    )  # fmt: skip

    def holds(**params):
        condition = asked("_calendar_availability", params.pop("oper", ""), calendar_id=str(calendar)) | params
        return bots.response(node("outcome", actions(add("yes")), **when(condition))) == ["yes"]

    assert holds(is_available="1", **{"from": "now", "to": "now"})
    assert holds(is_available=1, **{"from": "10:00", "to": "16:00"})
    assert holds(is_available=0, **{"from": "16:00", "to": "18:00"})
    assert not holds(is_available=1, **{"from": "16:00", "to": "18:00"})
    assert holds(oper="!", is_available=1, **{"from": "16:00", "to": "18:00"})
    assert not holds(is_available=0, **{"from": "nothing", "to": "18:00"})
    assert not holds(is_available=0, calendar_id="99", **{"from": "now", "to": "now"})
    assert not holds(is_available=0, **{"from": "1980-01-01", "to": "2200-01-01"})


def test_evaluation_stops_early(bots: Bots):
    """A script that would use up the run's budget is not reached."""
    costly = script("{% for i in 1..90000 %}{% for j in 1..90000 %}{% endfor %}{% endfor %}", "is", "")
    true, false = script("1", "is", "1"), script("1", "is", "2")
    assert bots.response(node("outcome", actions(add("a")), **when(true, costly, one=True))) == ["a"]
    assert bots.response(node("outcome", actions(add("a")), **when(false, costly))) == []
