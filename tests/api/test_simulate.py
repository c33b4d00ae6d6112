"""Automations that programs try out: nothing is written or sent."""

import pytest
import requests

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


def test_a_script_runs_and_nothing_is_written(api: Api) -> None:
    name = f"Ann {number()}"
    found = simulate(api, script=SCRIPT, policy=POLICY, values={"name": name}).ok()
    assert found["state"] == "return" and found["return"] == {"title": f"Call {name}"}
    assert [each["message"] for each in found["log"]] == [f"Begun for {name}"]
    assert any("record.create" in str(step) for step in found["trace"])
    assert not api.found("task", f'title:"Call {name}"')


def test_an_automation_runs_as_stored_or_with_another_script(api: Api) -> None:
    fields = {"name": f"try{number()}", "extension_id": "svc.trigger.mail.sent", "policy_kata": POLICY}
    id = api.create("automation", script="start:\n  return:\n    a: 1", **fields).ok()["id"]
    assert simulate(api, automation_id=id).ok()["return"] == {"a": "1"}
    assert simulate(api, automation_id=id, script="start:\n  return:\n    a: 2").ok()["return"] == {"a": "2"}
    assert api.record("automation", id, "script").ok()["script"].endswith("a: 1")


def test_a_ticket_is_passed_to_the_script(api: Api) -> None:
    parsed = api.parse(b"From: ann@simulate.example\nSubject: Pump\n\nIt leaks.").ok()
    script = (
        "start:\n  return:\n    subject: {{ticket_subject}}\n    text: {{message_content|trim}}\n    new: {{new_id}}"
    )
    found = simulate(api, script=script, ticket_id=parsed["id"]).ok()
    assert found["return"] == {"subject": "Pump", "text": "It leaks.", "new": str(parsed["id"])}


def test_failures_are_reported(api: Api) -> None:
    failed = simulate(api, script="start:\n  error: No stock").ok()
    assert failed["state"] == "failure" and "No stock" in failed["message"]
    reaching = (
        "start:\n  http.request:\n    output: o\n    inputs:\n      url: https://kite.example/\n  return:\n    a: 1"
    )
    assert "is not run in a simulation" in simulate(api, script=reaching, policy=POLICY).ok()["message"]


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
def test_invalid_simulations_are_refused(api: Api, sent: dict[str, object], status: int, told: str) -> None:
    refused = simulate(api, **sent)
    assert refused.status == status and told in refused["message"], refused.json


def test_only_administrators_simulate(api: Api) -> None:
    assert simulate(api.as_("milo"), script="start:\n  return:", ticket_id=made(api, "ticket")).status == 403


def test_unknown_names_are_reported(api: Api) -> None:
    script = "start:\n  return:\n    a: {{tickt_id}}\n"
    found = simulate(api, script=script, trigger="svc.trigger.mail.moved").ok()
    [warning] = found["warnings"]
    assert warning["line"] == 3 and "did you mean 'ticket_id'?" in warning["message"]
    assert simulate(api, script=SCRIPT, trigger="svc.trigger.behavior.action").ok()["warnings"] == []


# -- with the values of the last run ----------------------------------------------------------------------------------


def automation(api: Api, trigger: str, script: str) -> tuple[int, str]:
    name = f"last.run{number()}"
    return api.create("automation", name=name, extension_id=trigger, script=script).ok()["id"], name


def test_the_last_run_is_tried_again(api: Api) -> None:
    """With another script, and with additional values."""
    id, _ = automation(api, "svc.trigger.mail.filter", "start:\n  log: here\n")
    refused = simulate(api, automation_id=id, last_run=1)
    assert refused.status == 404 and "has not run yet" in refused["message"]
    api.post(f"/rest/automations/{id}/bind.json").ok()
    api.parse(b"From: ann@last.example\nSubject: First\n\nIt leaks.").ok()
    api.parse(b"From: ben@last.example\nSubject: Second\n\nIt leaks.").ok()
    script = "start:\n  return:\n    subject: {{email_subject}}\n    sender: {{email_sender_email}}\n"
    found = simulate(api, automation_id=id, last_run=1, script=script).ok()
    assert found["return"] == {"subject": "Second", "sender": "ben@last.example"}
    found = simulate(api, automation_id=id, last_run=1, script=script, values={"email_subject": "Third"}).ok()
    assert found["return"] == {"subject": "Third", "sender": "ben@last.example"}
    api.post(f"/rest/automations/{id}/unbind.json").ok()


def test_the_last_run_of_a_webhook_is_its_newest_delivery_without_secrets(api: Api) -> None:
    id, name = automation(api, "svc.trigger.webhook.respond", "start:\n  return:\n    body: ok\n")
    hook = api.create(
        "webhook_listener", name=name, automations_kata=f"automation/a:\n  uri: svc:automation:{name}"
    ).ok()
    sent = requests.post(
        f"{api.url}/webhooks/{hook['guid']}?order=7", data="stock=3", timeout=60,
        headers={"Authorization": "Bearer hush-hush", "Content-Type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert sent.status_code == 200
    script = "start:\n  return:\n    order: {{request_params.order}}\n    stock: {{request_params.stock}}\n"
    found = simulate(api, automation_id=id, last_run=1, script=script).ok()
    assert found["return"] == {"order": "7", "stock": "3"} and "hush" not in str(found["vars"])


@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        ({"last_run": 1}, 422, "automation_id is required"),
        ({"last_run": 1, "automation_id": 999_999}, 404, "no automation 999999"),
    ],
)
def test_a_missing_last_run_is_reported(api: Api, sent: dict[str, object], status: int, told: str) -> None:
    refused = simulate(api, **sent)
    assert refused.status == status and told in refused["message"]


def test_only_administrators_see_values_of_last_runs(api: Api) -> None:
    id, _ = automation(api, "svc.trigger.mail.filter", "start:\n  log: here\n")
    assert simulate(api.as_("milo"), automation_id=id, last_run=1).status == 403
