"""Variables of behaviors: every kind with valid and invalid values, and the records that they may refer to."""

import pytest

from server.errors import HelpdeskError, Invalid, Malformed, Required
from server.web.params import Params
from tests.automation.bots import Bots, actions, bots, private, public, put
from tests.records.desk import NOW

__all__ = ["bots"]
TONES = public("D", options="formal\r\n friendly \n\n")


@pytest.mark.parametrize(
    ("variable", "sent", "kept"),
    [
        (public("S", widget="single"), "A-17", "A-17"),
        (public("S", widget="multiple"), "", ""),
        (public("S"), "two\nlines {{no_template}}", "two\nlines {{no_template}}"),
        (public("S"), 12, "12"),
        (public("T"), "any <b>text</b>", "any <b>text</b>"),
        (public("U"), "no address", "no address"),
        (public("N"), "42", 42),
        (public("N"), "12abc", 12),
        (public("N"), "12.9", 12),
        (public("N"), "-3", -3),
        (public("N"), "x", 0),
        (public("N"), "", 0),
        (public("N"), 7, 7),
        (public("N"), "9" * 30, 2**63 - 1),
        (public("O"), "3.7", 3),
        (public("Y"), "100", 100),
        (public("C"), "1", 1),
        (public("C"), "0", 0),
        (public("C"), "", 0),
        (public("C"), "no", 1),
        (public("C"), True, 1),
        (public("C"), False, 0),
        (TONES, "friendly", "friendly"),
        (TONES, "formal", "formal"),
        (public("E"), "1700000000", 1_700_000_000),
        (public("E"), "2026-11-20 00:00", 1_795_132_800),
        (public("E"), "+2 hours", NOW + 7200),
        (public("E"), "", 0),
        (public("M"), ["a", "b"], ["a", "b"]),
        (public("X"), "one", "one"),
        (public("X"), {"a": "1"}, {"a": "1"}),
        (public("F"), "15", "15"),
        (public("I"), ["15", "16"], ["15", "16"]),
        (public("ctx_svc.contexts.task"), "[]", {}),
        (public("ctx_task"), [], {}),
        (public("ctx_task"), "[99, 100]", {}),
    ],
)
def test_accepted_values(bots: Bots, variable, sent, kept):
    assert bots.run(variables={"var_it": variable}, var_it=sent)["var_it"] == kept


@pytest.mark.parametrize(
    ("variable", "sent", "reason"),
    [
        (public("S"), ["a"], "one value"),
        (public("N"), {"a": "1"}, "one value"),
        (TONES, "Friendly", "did you mean 'friendly'"),
        (TONES, "", "formal, friendly"),
        (TONES, " friendly", "not an option"),
        (public("D"), "x", "defines none"),
        (public("E"), "the day after never", "the day after never"),
        (public("E"), "12-34-56-78", "12-34-56-78"),
        (public("W"), "99", "no worker"),
        (public("W"), "0", "no worker"),
        (public("W"), "nora", "no worker"),
        (public("W"), "", "no worker"),
        (public("W"), "9" * 40, "no worker"),
        (public("ctx_task"), "7", "JSON list"),
        (public("ctx_task"), '"7"', "JSON list"),
        (public("ctx_task"), '["x"]', "not an id"),
        (public("ctx_task"), "[true]", "not an id"),
        (public("ctx_task"), "[[1]]", "not an id"),
        (public("ctx_task"), str(list(range(501))), "at most 500"),
        (public("ctx_nothing"), "[1]", "not a record type"),
        (public("L", context="nothing"), "1", "not a record type"),
        (public("L"), "1", "not a record type"),
        (public("L", context="task"), ["1"], "not a list"),
        (public("contexts"), "[]", "make it private"),
    ],
)
def test_refused_values(bots: Bots, variable, sent, reason):
    with pytest.raises(Invalid, match="var_it") as caught:
        bots.run(actions(put("done", "yes")), variables={"var_it": variable}, var_it=sent)
    assert reason in caught.value.message and caught.value.details["field"] == "var_it"


def test_invalid_json_lists_are_refused(bots: Bots):
    with pytest.raises(Malformed, match="var_it"):
        bots.run(variables={"var_it": public("ctx_task")}, var_it="1, 2")


@pytest.mark.parametrize("kind", ["S", "N", "C", "D", "E", "W", "L", "ctx_task", "M", "X"])
def test_every_public_variable_is_required(bots: Bots, kind):
    with pytest.raises(Required, match=r"var_it.*Some value"):
        bots.run(variables={"var_it": public(kind)}, var_other="1")
    with pytest.raises(Required, match="var_it"):
        bots.run(variables={"var_it": public(kind)}, var_it=None)


def test_the_first_missing_variable_is_named(bots: Bots):
    variables = {"var_zoo": public("S"), "var_ant": public("S")}
    with pytest.raises(Required, match="var_zoo"):
        bots.run(variables=variables)
    with pytest.raises(Required, match="var_ant"):
        bots.run(variables=variables, var_zoo="1")


def test_private_and_unknown_variables_cannot_be_set_from_outside(bots: Bots):
    found = bots.run(variables={"var_own": private("S")}, var_own="x", var_more="y", behavior_id="9", other="z")
    assert not {"var_own", "var_more", "other"} & set(found) and found["behavior_id"] != "9"


def test_workers_are_identified_by_leading_digits(bots: Bots):
    variables = {"var_it": public("W")}
    for text in (f"{bots.ids['milo']}", f" {bots.ids['milo']} Milo"):
        assert bots.run(variables=variables, var_it=text)["var_it"] == bots.ids["milo"]


def test_lists_hold_the_records_in_the_order_sent(bots: Bots):
    first, second = (bots.desk.create("task", title=title)["id"] for title in ("One", "Two"))
    found = bots.run(variables={"var_it": public("ctx_svc.contexts.task")}, var_it=f"[{second}, 99, {first}, {second}]")
    assert [(id, each["title"]) for id, each in found["var_it"].items()] == [(str(second), "Two"), (str(first), "One")]
    assert bots.run(variables={"var_it": public("ctx_task")}, var_it=[str(first)])["var_it"].keys() == {str(first)}


def test_links_give_the_keys_of_their_record(bots: Bots):
    task = bots.desk.create("task", title="Repair")["id"]
    variables = {"var_task_id": public("L", context="task")}
    found = bots.run(actions(put("said", "{{var_task_title}}!")), variables=variables, var_task_id=str(task))
    assert (found["said"], found["var_task_id"], found["var_task__context"]) == ("Repair!", task, "svc.contexts.task")
    found = bots.run(actions(put("said", "{{var_task_title}}!")), variables=variables, var_task_id="99")
    assert (found["said"], found["var_task_id"]) == ("!", 99)
    other = {"var_task": public("L", context="task")}
    assert bots.run(variables=other, var_task=str(task))["var_task"] == task


@pytest.fixture(scope="module")
def secret(bots: Bots) -> int:
    """A ticket that only nora may read."""
    group = bots.desk.create("group", name="Management", is_private=1)["id"]
    return int(bots.desk.create("ticket", subject="Salaries", group_id=group)["id"])


def test_lists_omit_unreadable_records(bots: Bots, secret: int):
    variables = {"var_it": public("ctx_ticket")}
    assert bots.run(variables=variables, var_it=[secret])["var_it"][str(secret)]["subject"] == "Salaries"
    assert bots.run(variables=variables, by="milo", var_it=[secret])["var_it"] == {}


def test_links_to_unreadable_records_are_empty(bots: Bots, secret: int):
    variables, said = {"var_it_id": public("L", context="ticket")}, actions(put("said", "{{var_it_subject}}."))
    assert bots.run(said, variables=variables, var_it_id=secret)["said"] == "Salaries."
    found = bots.run(said, variables=variables, by="milo", var_it_id=secret)
    assert (found["said"], found["var_it_id"]) == (".", secret) and "var_it__context" not in found


def test_expand_loads_readable_records(bots: Bots, secret: int):
    id = bots.keep(actions(put("found_id", f"{secret}"), put("found__context", "svc.contexts.ticket")))
    assert bots.call(id, expand="found_subject, nothing_")["found_subject"] == "Salaries"
    assert "found_subject" not in bots.call(id, by="milo", expand="found_subject")
    assert bots.call(id, by="milo", expand="behavior_bot_")["behavior_bot_name"] == "Shop bot"


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"order": public("S")}, "'order' is not a name"),
        ({"var_Order": public("S")}, "not a name"),
        ({"var_": public("S")}, "not a name"),
        ({"var_" + "x" * 125: public("S")}, "128 characters"),
        ({"var_x": public("B")}, "'B' is not a type"),
        ({"var_x": public("")}, "not a type"),
        ({"var_x": public("ctx_")}, "not a type"),
        ({"var_x": "S"}, "must be a map"),
        ({"var_x": public("S") | {"params": "single"}}, "must be a map"),
        ({f"var_{number}": public("S") for number in range(251)}, "at most 250"),
    ],
)
def test_invalid_variables_are_not_stored(bots: Bots, variables, reason):
    with pytest.raises(HelpdeskError, match="variables") as caught:
        bots.keep(variables=variables)
    assert reason in caught.value.message


def test_a_file_is_not_a_value(bots: Bots):
    tree = Params({"var_it": [b"bytes"]}).tree
    with pytest.raises(Invalid, match="not files"):
        bots.run(variables={"var_it": public("X")}, **tree)
