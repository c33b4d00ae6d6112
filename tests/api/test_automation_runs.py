"""Automations that run in a server: they answer data queries over HTTP, store values, and write a log."""

import pytest

from tests.service import Api

QUERY = "/rest/data/query.json"
LOGS = "/rest/automations/logs/search.json"
COUNTER = """
inputs:
  text/step:
    type: number
    default: 1
start:
  storage.get:
    output: count
    inputs:
      key: http.count
      default@int: 0
  set:
    count@int: {{count + inputs.step}}
  storage.set:
    inputs:
      key: http.count
      value@key: count
  log: now {{count}}
  log.warn/high: {{count > 5 ? 'more than five'}}
  set/broken:
    x: {{1 / (count - count)}}
  return:
    data:
      count@key: count
"""
BROKEN = """
start:
  log: before
  record.get:
    output: gone
    inputs:
      record_type: task
      record_id: 999999
"""
POLICY = "commands:\n  all:\n    allow: yes"


@pytest.fixture(scope="module")
def automated(nora: Api) -> Api:
    for name, script in (("http.counter", COUNTER), ("http.broken", BROKEN)):
        nora.create(
            "automation", name=name, extension_id="svc.trigger.data.query", script=script, policy_kata=POLICY
        ).ok()
    return nora


def logged(api: Api, name: str) -> list[tuple[str, str, str]]:
    """Returns (level, node, message) of the log entries, oldest first."""
    entries = api.get(LOGS, q=f"automation:(name:{name})", limit=250).ok()["results"]
    return [(each["level__label"], each["automation_node"], each["message"]) for each in entries][::-1]


def test_runs_store_values_and_write_a_log(automated: Api) -> None:
    first = automated.get(QUERY, q="type:automation.invoke name:http.counter").ok()
    assert first["data"] == {"count": 1} and first["_"]["type"] == "automation.invoke"
    second = automated.as_("milo").get(QUERY, q="type:automation.invoke name:http.counter inputs:(step:6)").ok()
    assert second["data"] == {"count": 7}
    found = logged(automated, "http.counter")
    assert [each for each in found if each[0] != "error"] == [
        ("debug", "start:log", "now 1"),
        ("debug", "start:log", "now 7"),
        ("warning", "start:log.warn/high", "more than five"),
    ]
    assert [each[1] for each in found if each[0] == "error"] == ["start:set/broken:x"] * 2


def test_a_failing_run_is_reported_to_the_caller_and_in_the_log(automated: Api) -> None:
    response = automated.get(QUERY, q="type:automation.invoke name:http.broken")
    assert response.status == 422 and "there is no task 999999" in response["message"]
    assert response["position"] == len("type:automation.invoke name:")
    assert logged(automated, "http.broken") == [
        ("debug", "start:log", "before"),
        ("error", "", "there is no task 999999"),
    ]
    assert automated.as_("milo").get(LOGS).status == 403
