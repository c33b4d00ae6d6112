"""The tree of behaviors: the order of nodes, switches, loops, subroutines, the end of a run, and its limits."""

import json

import pytest

from server.automation.behaviors import behavior_run as running
from server.automation.behaviors.behavior_service import turns_of
from server.errors import BudgetSpent, HelpdeskError, Unavailable
from tests.automation.bots import Bots, actions, add, bots, node, public, put, when

__all__ = ["bots"]
TRUE, FALSE = {"condition": "_custom_script", "tpl": "1", "oper": "is", "value": "1"}, {"condition": "unknown"}
EXIT = {"action": "_exit", "mode": "stop"}


def call(title):
    return {"action": "_run_subroutine", "subroutine": title}


def loop(source, *nodes, name="item"):
    return node("loop", *nodes, foreach_json=source, as_placeholder=name)


@pytest.mark.parametrize(
    ("nodes", "lines"),
    [
        ([], []),
        ([actions(add("a"), add("b")), actions(add("c"))], ["a", "b", "c"]),
        ([actions(add("a"), status="disabled"), actions(add("b"), status="simulator"), actions(add("c"))], ["c"]),
        ([node("outcome", actions(add("a")), status="disabled"), actions(add("b"))], ["b"]),
        ([actions({"action": "no_such_action"}, add("a"))], ["a"]),
        # Only the first outcome that passes
        ([node("switch", node("outcome", actions(add("a")), **when(FALSE)), node("outcome", actions(add("b"))),
               node("outcome", actions(add("c"))))], ["b"]),
        ([node("switch", node("outcome", actions(add("a")), status="disabled"), node("outcome", actions(add("b"))))],
         ["b"]),
        ([node("switch", node("outcome", actions(add("a")), **when(FALSE))), actions(add("b"))], ["b"]),
        ([node("switch"), actions(add("a"))], ["a"]),
        # Standalone outcomes are conditional blocks
        ([node("outcome", actions(add("a")), **when(TRUE)), node("outcome", actions(add("b")), **when(TRUE)),
          node("outcome", actions(add("c")), **when(FALSE))], ["a", "b"]),
        # Groups: all groups must pass; in each, all conditions or one
        ([node("outcome", actions(add("a")), **when(TRUE, FALSE))], []),
        ([node("outcome", actions(add("a")), **when(TRUE, FALSE, one=True))], ["a"]),
        ([node("outcome", actions(add("a")), **when(FALSE, FALSE, one=True))], []),
        ([node("outcome", actions(add("a")), **when())], ["a"]),
        ([node("outcome", actions(add("a")), groups=[*when(TRUE)["groups"], *when(FALSE)["groups"]])], []),
        ([node("outcome", actions(add("a")), groups=[{"any": "1", "conditions": [FALSE, TRUE]}])], ["a"]),
        ([node("outcome", actions(add("a")), groups=[])], ["a"]),
        # The end
        ([actions(add("a"), EXIT, add("b")), actions(add("c"))], ["a"]),
        ([node("switch", node("outcome", actions(add("a"), EXIT))), actions(add("b"))], ["a"]),
        ([actions(add("a"), EXIT | {"mode": "suspend"}, add("b"))], ["a"]),
        # Subroutines
        ([node("subroutine", actions(add("a")), title="S"), actions(add("b"))], ["b"]),
        ([actions(add("a"), call("S"), add("b")), actions(add("c")),
          node("subroutine", actions(add("s")), title="S")], ["a", "s", "c"]),
        ([actions(call("{{'S'}}")), node("outcome", node("subroutine", actions(add("s")), title="S"))], ["s"]),
        ([actions(add("a"), call("T"), add("b")), node("subroutine", actions(add("s")), title="S")], ["a", "b"]),
        ([actions(call("S"), add("b")), node("subroutine", actions(add("s")), title="S", status="disabled")], ["b"]),
        ([actions(call("S")), node("subroutine", actions(add("s"), EXIT), title="S"), actions(add("b"))], ["s"]),
        # Loops
        ([loop('["x","y"]', actions(add("{{item}} {{item__key}} {{item__counter}} {{item__stack|length}}")))],
         ["x 0 1 1", "y 1 2 0"]),
        ([loop('{"a": 1, "b": 2}', actions(add("{{item__key}}={{item}}")))], ["a=1", "b=2"]),
        ([loop("[{{'1,2,3'}}]", actions(add("{{each}}")), name="each")], ["1", "2", "3"]),
        ([loop('[{"n": {"m": 5}}]', actions(add("{{item.n.m}}")))], ["5"]),
        ([loop("[1]", actions(add("in"))), actions(add("[{{item}}{{item__key}}{{item__stack}}] {{item__counter}}"))],
         ["in", "[] 1"]),
        ([loop("[1,2]", loop("[3,4]", actions(add("{{a}}{{b}} {{b__counter}}")), name="b"), name="a")],
         ["13 1", "14 2", "23 1", "24 2"]),
        ([loop("[1,2,3]", actions(add("{{item}}")), node("outcome", actions(EXIT), **when(
            {"condition": "item", "oper": "is", "value": "2"})))], ["1", "2"]),
        ([loop('["*"]', actions(add("{{item__counter}}")), node("outcome", actions(EXIT), **when(
            {"condition": "item__counter", "oper": "gt", "value": "2"})))], ["1", "2", "3"]),
        ([loop('["a","*"]', actions(add("{{item}}{{item__key}}")), node("outcome", actions(EXIT), **when(
            {"condition": "item__counter", "oper": "is", "value": "3"})))], ["a0", "*1", "*1"]),
        ([loop("[]", actions(add("a"))), actions(add("b"))], ["b"]),
        ([loop("{}", actions(add("a"))), loop("5", actions(add("b"))), loop('"text"', actions(add("c")))], []),
        ([loop("no json", actions(add("a"))), loop("{{ broken", actions(add("b"))), loop("", actions(add("c")))], []),
        ([loop("[1]", actions(add("a")), name="")], []),
    ],
)  # fmt: skip
def test_nodes_run_in_order(bots: Bots, nodes, lines):
    assert bots.response(*nodes) == lines


def test_keys_after_a_loop(bots: Bots):
    found = bots.run(loop("[7,8]", actions(put("last", "{{item}}"))))
    assert (found["last"], found["item__counter"]) == ("8", 2) and not {"item", "item__key", "item__stack"} & set(found)


def test_long_lists_are_supported(bots: Bots):
    found = bots.run(loop("{{ range(1, 5000)|json_encode }}", actions(put("last", "{{item}}"))))
    assert (found["last"], found["item__counter"]) == ("5000", 5000)


def test_records_in_loops_load_their_keys(bots: Bots):
    org = bots.desk.create("org", name="Acme")["id"]
    contact = bots.desk.create("contact", first_name="Ann", org_id=org)["id"]
    source = json.dumps([{"_context": "svc.contexts.contact", "id": contact}])
    assert bots.response(loop(source, actions(add("{{item.first_name}} of {{item.org_name}}")))) == ["Ann of Acme"]


@pytest.mark.parametrize(
    "nodes",
    [
        [loop('["*"]', actions(put("x", "1")))],
        [loop('["*"]')],
        [node("subroutine", actions(call("S")), title="S"), actions(call("S"))],
        [node("subroutine", actions(call("T")), title="S"), node("subroutine", actions(call("S")), title="T"),
         actions(call("S"))],
        [loop("{{ range(1, 400)|json_encode }}", loop("{{ range(1, 400)|json_encode }}", actions(put("x", "1"))))],
        [actions(put("x", "{% for i in 1..9000 %}{% for j in 1..9000 %}x{% endfor %}{% endfor %}"))],
    ],
)  # fmt: skip
def test_an_endless_run_is_ended(bots: Bots, monkeypatch, nodes):
    monkeypatch.setattr(running, "MAX_STEPS", 2000)
    with pytest.raises(BudgetSpent):
        bots.run(*nodes)


def test_the_time_of_a_run_is_limited(bots: Bots, monkeypatch):
    monkeypatch.setattr(running, "MAX_SECONDS", -1.0)
    with pytest.raises(BudgetSpent, match="longer"):
        bots.run(actions(put("x", "1")))


def test_behaviors_leave_threads_for_others(bots: Bots):
    turns = turns_of(bots.desk.service)
    taken = 0
    while turns.acquire(blocking=False):
        taken += 1
    assert taken == bots.desk.service.settings.worker_threads // 2
    with pytest.raises(Unavailable) as caught:
        bots.run(actions(add("a")))
    assert caught.value.details["retry_after"]
    for _ in range(taken):
        turns.release()
    for _ in range(taken + 1):  # a finished run releases its slot
        assert bots.response(actions(add("a"))) == ["a"]


DEEP: dict = node("outcome")
for _ in range(40):
    DEEP = node("outcome", DEEP)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([{"type": "decision"}], "nodes[0]: 'decision' is not a type"),
        ([node("outcome", node("outcomes"))], "nodes[0].nodes[0]: 'outcomes' is not a type of node; did you mean"),
        ([node("switch", actions())], "only outcomes"),
        ([node("action", node("outcome"))], "takes no nodes"),
        ([node("outcome") | {"status": "on"}], "'on' is not a status"),
        ([actions({"do": "x"})], "actions[0] has no action"),
        ([node("action", actions="x")], "list of maps"),
        ([node("outcome", groups=[{"conditions": ["x"]}])], "groups[0].conditions"),
        ([node("outcome", groups={"any": 1})], "list of maps"),
        ([actions(*[{"action": "x"}] * 1001)], "1000 actions"),
        ([node("outcome")] * 5001, "5000 nodes"),
        ([DEEP], "inside each other"),
        (["text"], "not a node"),
        ([node("loop") | {"params": "x"}], "must be a map"),
    ],
)
def test_invalid_trees_are_not_stored(bots: Bots, nodes, reason):
    with pytest.raises(HelpdeskError, match="nodes") as caught:
        bots.keep(*nodes)
    assert reason in caught.value.message


def test_omitted_parts_have_the_defaults_of_packages(bots: Bots):
    tree = [{"type": "outcome", "nodes": [{"type": "action", "params": {"actions": [add("a")]}}], "params": []}]
    assert bots.response(*tree) == ["a"]
    assert bots.run({"type": "action"}, {"type": "loop", "nodes": None}, {"type": "outcome"})["va_id"] == bots.bot


def test_a_simulated_run_does_only_simulatable_actions(bots: Bots):
    create = {"action": "core.bot.action.record.create", "context": "task", "object_placeholder": "made"}
    shy, bold = (create | {"changeset_json": f'{{"title": "{title}"}}'} for title in ("Shy", "Bold"))
    nodes = [
        actions(put("only", "1", is_simulator_only="1"), put("both", "1"), shy),
        actions(put("node", "1"), status="simulator"),
    ]
    found = bots.simulate(*nodes)
    assert (found["only"], found["both"], found["node"]) == ("1", "1", "1") and "made" not in found
    assert bots.desk.found("task", "Shy") == []
    found = bots.simulate(actions(bold | {"run_in_simulator": "1"}))
    assert found["made"]["title"] == "Bold" and len(bots.desk.found("task", "Bold")) == 1
    found = bots.run(*nodes)
    assert "only" not in found and "node" not in found and found["made"]["title"] == "Shy"


def test_the_response_of_a_run(bots: Bots):
    found = bots.run(
        actions(put("answer", "42"), put("__trigger", "x"), put("a__labels", "x"), put("a_types", "x"),
                put("a_loaded", "x"), put("list", "[1, {\"a\": null}]", "json")),
        variables={"var_b": public("S")}, var_b="b",
    )  # fmt: skip
    assert (found["answer"], found["var_b"], found["list"]) == ("42", "b", [1, {"a": None}])
    assert (found["va_name"], found["behavior_name"], found["va_id"]) == ("Shop bot", "Order status", bots.bot)
    assert not {"__trigger", "a__labels", "a_types", "a_loaded"} & set(found) and list(found) == sorted(found)
