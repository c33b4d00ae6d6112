"""Variables of scripts that are always empty, since nothing assigns them."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.automation import names
from server.packages import recipes
from server.record_types import registry
from server.record_types.registry import Registry
from server.record_types.shared.triggers import PREFIX, TRIGGERS

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
MOVED, HOOK = "mail.moved", "webhook.respond"


@pytest.fixture(scope="module")
def types() -> Registry:
    return registry.load()


def found(types: Registry, script: str, trigger: str = MOVED) -> list[tuple[int, str]]:
    return [(each.line, each.message) for each in names.empty_variables(script, PREFIX + trigger, types)]


KNOWN = {
    "a key of a record": "start:\n  log: {{ticket_subject}} {{ticket_owner_first_name}} {{ticket_custom_size}}",
    "what the service keeps": "start:\n  log: {{__simulate}}",
    "inputs": "inputs:\n  text/a:\nstart:\n  log: {{inputs.a}}",
    "set before": "start:\n  set:\n    a: 1\n  log: {{a}}",
    "set in a branch": "start:\n  log: {{a}}\n  decision:\n    outcome/x:\n      then:\n        set:\n          a: 1",
    "set with an annotation": "start:\n  set:\n    a@int: 1\n  log: {{a}}",
    "set as a path": "start:\n  var.set:\n    inputs:\n      key: a.b\n      value: 1\n  log: {{a.b}}",
    "the output of a command": "start:\n  storage.get:\n    output: o\n    inputs:\n      key: x\n  log: {{o.value}}",
    "the element of a loop": "start:\n  repeat:\n    each@csv: a,b\n    as: e\n    do:\n      log: {{e}} {{e__index}}",
    "both names of a loop": "start:\n  repeat:\n    each@csv: a,b\n    as: k, v\n    do:\n      log: {{k}} {{v}}",
    "a record that is set": "start:\n  set:\n    t__context: ticket\n    t_id: 1\n  log: {{t_subject}}",
    "set in the template": "start:\n  log: {% set a = 1 %}{{a}}{% for b in [1] %}{{b}}{{loop.index}}{% endfor %}",
    "an arrow": "start:\n  log: {{[1]|map(x => x + 1)|join}}",
    "with": "start:\n  log: {% with {a: 1} %}{{a}}{% endwith %}",
    "known to be missing": "start:\n  log: {{a ?? 1}} {{b|default(2)}} {{c is defined}}",
    "a computed name": "start:\n  var.set:\n    inputs:\n      key: {{ticket_mask}}\n      value: 1\n  log: {{a}}",
    "a function": "start:\n  log: {{range(1, 3)|join}}",
    "no script": "start",
}


@pytest.mark.parametrize("name", KNOWN)
def test_variables_that_may_have_a_value_are_not_flagged(types: Registry, name: str) -> None:
    assert found(types, KNOWN[name]) == []


@pytest.mark.parametrize(
    ("script", "line", "told"),
    [
        (
            "start:\n  log: {{tickt_id}}",
            2,
            "'tickt_id' does not exist here, so it is always empty; did you mean 'ticket_id'?",
        ),
        ("start:\n  log: {{ticket_ownr_id}}", 2, "did you mean 'ticket_owner_id'?"),
        ("start:\n  set:\n    order: 1\n  log: {{ordre}}", 4, "did you mean 'order'?"),
        ("start:\n  return:\n    text@raw: x\n    a@key: ticket_subjct", 4, "did you mean 'ticket_subject'?"),
        ("start:\n  log: {{[1]|map(x => y)|join}}", 2, "'y' does not exist here"),
        ('start:\n  log: {{"a #{nme}"}}', 2, "'nme' does not exist here"),
        (
            "start:\n  decision:\n    outcome/a:\n      if@bool: {{isnew}}\n      then:\n        log: x",
            4,
            "'isnew' does not exist here",
        ),
    ],
)
def test_always_empty_variables_are_flagged_with_their_line(types: Registry, script: str, line: int, told: str) -> None:
    [(at, message)] = found(types, script)
    assert at == line and told in message and message.startswith("a warning: ")


def test_a_trigger_determines_the_variables(types: Registry) -> None:
    script = "start:\n  log: {{request_params.a}} {{ticket_subject}}"
    assert [message for _, message in found(types, script, HOOK)] == [
        "a warning: 'ticket_subject' does not exist here, so it is always empty"
    ]
    assert "request_params" in found(types, script, MOVED)[0][1]
    assert found(types, script, "behavior.action") == []  # it passes arbitrary keys


def shipped() -> Iterator[tuple[str, str, str]]:
    """Yields (where, script, trigger) of each shipped automation."""

    def walk(value: Any, where: str) -> Iterator[tuple[str, str, str]]:
        if isinstance(value, dict):
            trigger = str(value.get("extension_id") or value.get("trigger") or "")
            if "start" in str(value.get("script")) and trigger in TRIGGERS:
                yield where, str(value["script"]), trigger
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from walk(each, where)

    for path in sorted(RESOURCES.glob("packages/*.json")):
        yield from walk(json.loads(path.read_text("utf-8")), path.name)
    for path in sorted(RESOURCES.glob("demo/*.toml")):
        yield from walk(tomllib.loads(path.read_text("utf-8")), path.name)


def test_shipped_automations_are_not_flagged(types: Registry) -> None:
    scripts = list(shipped())
    assert scripts
    for where, script, trigger in scripts:
        assert names.empty_variables(script, trigger, types) == [], where
        assert names.unread_answers(script, trigger) == [], where


def test_the_recipes_are_not_flagged() -> None:
    for name in recipes.names():
        for each in recipes.recipe(name).package["records"]:
            if each["_context"] == "automation":
                assert names.unread_answers(each["script"], each["extension_id"]) == [], name


@pytest.mark.parametrize(
    ("trigger", "answer", "told"),
    [
        (HOOK, "status: 201", [(3, "status", "status_code")]),
        (HOOK, "status_code@int: 201\n    body@json: {}\n    headers:\n      x: y", []),
        (HOOK, "body: a\n    heders:\n      x: y", [(4, "heders", "headers")]),
        ("mail.filter", "rejct: yes", [(3, "rejct", "reject")]),
        ("mail.received", "anything: is fine", []),
        ("automation.function", "anything: is fine", []),
        (HOOK, "'{{x}}': 1", []),
    ],
)
def test_unused_keys_of_a_result_are_reported(trigger: str, answer: str, told: list[tuple[int, str, str]]) -> None:
    found = names.unread_answers(f"start:\n  return:\n    {answer}\n", PREFIX + trigger)
    assert len(found) == len(told)
    for mistake, (line, name, near) in zip(found, told, strict=True):
        assert mistake.line == line and f"'{name}'" in mistake.message and f"'{near}'" in mistake.message


def test_each_name_that_a_trigger_passes_is_known(types: Registry) -> None:
    from server.record_types.shared.triggers import EVENTS, OTHERS

    for name, trigger in (EVENTS | OTHERS).items():
        for key in trigger.keys:
            read = f"{key}id" if key.endswith("_") else key
            if re.fullmatch(r"\w+", read):
                assert found(types, f"start:\n  log: {{{{{read}}}}}", name) == []
