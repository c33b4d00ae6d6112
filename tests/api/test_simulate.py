"""Automations that programs try: nothing is written or sent."""

import pytest

from tests.api.minimal import made, number
from tests.service import Api, Reply

POLICY = "commands:\n  record.create:\n    allow@bool: yes\n  http.request:\n    allow@bool: yes\n"
SCRIPT = """
start:
  log: Begun for {{name}}
  record.create:
    output: task
    inputs:
      record_type: task
      fields:
        title: Call {{name}}
  return:
    title: {{task.title}}
"""


def simulate(api: Api, **sent: object) -> Reply:
    return api.call("POST", "/rest/automations/simulate.json", json=sent)


def test_a_script_is_run_and_nothing_is_written(api: Api) -> None:
    name = f"Ann {number()}"
    found = simulate(api, script=SCRIPT, policy=POLICY, values={"name": name}).ok()
    assert found["state"] == "return" and found["return"] == {"title": f"Call {name}"}
    assert [each["message"] for each in found["log"]] == [f"Begun for {name}"]
    assert any("record.create" in str(step) for step in found["trace"])
    assert not api.found("task", f'title:"Call {name}"')


def test_an_automation_is_run_as_it_is_kept_or_with_another_script(api: Api) -> None:
    fields = {"name": f"try{number()}", "extension_id": "svc.trigger.mail.sent", "policy_kata": POLICY}
    id = api.create("automation", script="start:\n  return:\n    a: 1", **fields).ok()["id"]
    assert simulate(api, automation_id=id).ok()["return"] == {"a": "1"}
    assert simulate(api, automation_id=id, script="start:\n  return:\n    a: 2").ok()["return"] == {"a": "2"}
    assert api.record("automation", id, "script").ok()["script"].endswith("a: 1")


def test_a_ticket_is_handed_over(api: Api) -> None:
    parsed = api.parse(b"From: ann@simulate.example\nSubject: Pump\n\nIt leaks.").ok()
    script = (
        "start:\n  return:\n    subject: {{ticket_subject}}\n    text: {{message_content|trim}}\n    new: {{new_id}}"
    )
    found = simulate(api, script=script, ticket_id=parsed["id"]).ok()
    assert found["return"] == {"subject": "Pump", "text": "It leaks.", "new": str(parsed["id"])}


def test_how_it_fails_is_told(api: Api) -> None:
    failed = simulate(api, script="start:\n  error: No stock").ok()
    assert failed["state"] == "failure" and "No stock" in failed["message"]
    reaching = (
        "start:\n  http.request:\n    output: o\n    inputs:\n      url: https://kite.example/\n  return:\n    a: 1"
    )
    assert "is not done in a simulation" in simulate(api, script=reaching, policy=POLICY).ok()["message"]


@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        ({}, 422, "script is required"),
        ({"automation_id": 999999}, 404, "there is no automation"),
        ({"script": "start:\n  return:", "trigger": "mail.sent"}, 422, "there is no trigger 'mail.sent'"),
        ({"script": "start:\n  return:", "values": [1]}, 422, "values: send a map"),
        ({"script": "start:\n  return:", "ticket_id": 999999}, 404, "there is no ticket"),
    ],
)
def test_what_cannot_be_tried_is_refused(api: Api, sent: dict[str, object], status: int, told: str) -> None:
    refused = simulate(api, **sent)
    assert refused.status == status and told in refused["message"], refused.json


def test_it_is_for_administrators(api: Api) -> None:
    assert simulate(api.as_("milo"), script="start:\n  return:", ticket_id=made(api, "ticket")).status == 403
