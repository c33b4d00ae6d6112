"""The steps of rules and macros: their commands do what their form says, and mistakes are found at their places."""

import json
from typing import Any

import pytest

from server.automation import checker, commands
from server.automation.command import COMMANDS
from server.errors import Invalid, all_of
from server.rules import steps
from tests.service import Api

ME = 1
TICKET = "svc.contexts.ticket"


def script_of(values: list[dict[str, Any]]) -> tuple[str, str]:
    """Returns the script of steps and its policy, both without mistakes."""
    checked = steps.read(values)
    script = steps.kata({"start": steps.commands(checked)})
    policy = steps.kata({"commands": steps.policy_commands(checked)})
    assert checker.check(script) == []
    assert checker.check_policy(policy) == []
    return script, policy


def ran(api: Api, ticket: int, *values: dict[str, Any]) -> dict[str, Any]:
    """Runs steps on a ticket, without effects, and returns the variables; no step may fail."""
    script, policy = script_of(list(values))
    given = {"ticket__context": TICKET, "ticket_id": ticket}
    form = {"script": script, "policy": policy, "values": json.dumps(given)}
    result = api.call("POST", "/rest/automations/simulate.json", data=form).ok()
    assert [each["message"] for each in result["log"]] == []
    assert result["state"] == "exit", result
    return dict(result["vars"])


@pytest.fixture
def ticket(nora: Api) -> int:
    group = nora.create("group", name="Rules").ok()["id"]
    ticket = nora.create("ticket", subject="Pump [x](http://x)", group_id=group, participants="ana@kite.example")
    return int(ticket.ok()["id"])


def test_each_step_changes_the_ticket_as_its_form_says(nora: Api, ticket: int) -> None:
    other = nora.create("group", name="Spares").ok()["id"]
    bucket = nora.create("bucket", name="Spam", group_id=other).ok()["id"]
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"kind": "assign", "worker_id": ME}, {"owner_id": ME}),
        ({"kind": "unassign"}, {"owner_id": 0}),
        ({"kind": "move", "place": f"bucket:{bucket}"}, {"bucket_id": bucket, "group_id": other}),
        ({"kind": "move", "place": f"group:{other}"}, {"group_id": other}),
        ({"kind": "status", "status": "waiting"}, {"status": "waiting"}),
        ({"kind": "wait", "until": "+3 days"}, {"status": "waiting"}),
        ({"kind": "close"}, {"status": "closed"}),
        ({"kind": "field", "field": "subject", "value": "Valve"}, {"subject": "Valve"}),
        ({"kind": "importance", "importance": "90"}, {"importance": 90}),
    ]
    for step, expected in cases:
        changed = ran(nora, ticket, step)["step_1"]
        assert {name: changed[name] for name in expected} == expected, step


def test_texts_are_filled_in_and_their_values_are_harmless(nora: Api, ticket: int) -> None:
    field = nora.create("custom_field", name="Colour", context="ticket", type="S", uri="step_colour").ok()["id"]
    snippet = nora.create(
        "snippet", title="Hello", content="About {{subject}}", context="ticket", owner__context="worker", owner_id=ME
    ).ok()["id"]
    values = ran(
        nora,
        ticket,
        {"kind": "note", "text": "# {{subject}}\n  is {{nothing}}here"},
        {"kind": "note", "snippet_id": snippet},
        {"kind": "notify", "text": "Look", "worker_ids": ME, "to_watchers": "1"},
        {"kind": "notify", "text": "Look"},
        {"kind": "tags", "tags": "billing, -old"},
        {"kind": "watch", "worker_id": ME},
        {"kind": "field", "field": f"custom_{field}", "value": "{{red}}"},
        {"kind": "web", "url": "https://shop.example/hook?a={{b}}"},
    )
    assert values["step_1"]["comment"] == "# Pump \\[x\\](http://x)\n  is here"
    assert values["step_2"]["comment"].startswith("About Pump \\[x\\]")


def test_a_reply_leaves_the_rest_of_the_ticket_alone(nora: Api, ticket: int) -> None:
    values = ran(nora, ticket, {"kind": "reply", "worker_id": ME, "text": "We look", "is_automatic": "1"})
    assert values["step_1"]["params"]["is_applied"] == 1
    assert values["step_1"]["params"]["content"] == "We look"


@pytest.mark.parametrize("kind", ["turn", "fewest_open", "group_way"])
def test_the_next_member_of_the_group_is_assigned(nora: Api, ticket: int, kind: str) -> None:
    assert ran(nora, ticket, {"kind": kind})["step_1"]["owner_id"] == 0  # the group has no members


def test_a_macro_runs_as_a_step(nora: Api, ticket: int) -> None:
    script = "start:\n  return:\n    note: Macro\n    changes:\n      owner_id: me\n"
    macro = nora.create("automation", name="step.macro", extension_id="svc.trigger.ticket.macro", script=script)
    step = {"kind": "macro", "macro_id": macro.ok()["id"], "worker_id": ME}
    assert ran(nora, ticket, step)["step_1"]["note"] == "Macro"


def test_mistakes_are_found_at_their_places() -> None:
    with pytest.raises(Invalid) as refused:
        steps.read(
            [
                {"kind": "assign"},
                {"kind": "importance", "importance": "101"},
                {"kind": "reply", "worker_id": "1"},
                {"kind": "web", "url": "ftp://x"},
            ]
        )
    assert [each.details["field"] for each in all_of(refused.value)] == [
        "steps.0.worker_id",
        "steps.1.importance",
        "steps.2.text",
        "steps.3.url",
    ]
    for values in ([], "x", [{"kind": "asign"}], [{"kind": "close", "when": "now"}], [7]):
        with pytest.raises(Invalid):
            steps.read(values)


def test_records_that_steps_name_are_listed() -> None:
    checked = steps.read([{"kind": "move", "place": "bucket:3"}, {"kind": "note", "snippet_id": "4"}])
    assert [(each.place, each.uri, each.id) for each in steps.references(checked)] == [
        (0, "bucket", 3),
        (1, "snippet", 4),
    ]


def test_a_step_notifies_whom_it_names_and_else_the_owner() -> None:
    """Forms that were stored before have one worker or none."""
    kind = {"kind": "notify", "text": "Look"}
    assert steps.read([kind]) == [kind | {"to_owner": "1"}]
    assert steps.read([kind | {"worker_id": "3"}]) == [kind | {"worker_ids": "3"}]
    checked = steps.read([kind | {"worker_ids": [3, 4], "group_id": "5"}])
    assert checked == [kind | {"worker_ids": "3, 4", "group_id": "5"}]
    assert [(each.uri, each.id) for each in steps.references(checked)] == [("worker", 3), ("worker", 4), ("group", 5)]
    for wrong in ({"to_owner": ""}, {"worker_ids": "3, Milo"}):
        with pytest.raises(Invalid):
            steps.read([kind | wrong])


def test_policies_name_only_commands_that_exist() -> None:
    commands.load()
    for kind in steps.KINDS:
        assert kind.policy.keys() <= COMMANDS.keys()
