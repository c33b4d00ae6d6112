"""Data queries that an automation processes."""

from typing import Any

import pytest

from server.automation import data_queries
from server.queries import query_run
from tests.queries.conftest import Ask, Refuse
from tests.records.desk import Desk

assert data_queries.invoke  # registers the query type
QUERY = "svc.trigger.data.query"
ECHO = """
inputs:
  array/days:
  text/to:
    default: nobody
start:
  return:
    data:
      days@key: inputs:days
      to@key: inputs:to
      format@key: query_format
    _:
      source: echo
      type: other
"""
WRITES = """
start:
  log.warn: now
  record.create:
    inputs:
      record_type: task
      fields:
        title: Made
"""
FAILS = "start:\n  log: before\n  error: out of paper"


def automation(desk: Desk, name: str, script: str, trigger: str = QUERY, **more: Any) -> None:
    desk.create("automation", name=name, extension_id=trigger, script=script, **more)


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("type:automation.invoke name:report.dialy", "report", "did you mean 'report.daily'"),
        ("type:automation.invoke name:mail.route", "mail", "is not an automation of svc.trigger.data.query"),
        ("type:automation.invoke inputs:(a:1)", "automation", "needs 'name:'"),
        ("type:automation.invoke name:report.daily input:(a:1)", "input:", "did you mean 'inputs'"),
        ("type:automation.invoke name:report.daily inputs:(a:(b:1))", "(b", "takes one value or a list"),
        ("type:automation.invoke name:report.daily inputs:(tu:me)", "report", "'tu' is not an input"),
        ("type:automation.invoke name:report.broken", "report", "out of paper"),
        ("type:automation.invoke name:report.bytes", "report", "bytes that are not text"),
        ("type:automation.invoke name:report.endless", "report", "cause each other"),
    ],
)
def test_errors_name_their_place(desk: Desk, refuse: Refuse, q: str, at: str, part: str) -> None:
    automation(desk, "report.daily", ECHO)
    automation(desk, "report.broken", FAILS)
    automation(desk, "report.bytes", "start:\n  return:\n    data@base64: /w==")
    automation(
        desk,
        "report.endless",
        "start:\n  data.query:\n    output: x\n    inputs:\n      query: type:automation.invoke name:report.endless",
        policy_kata="commands:\n  data.query:\n    allow: yes",
    )
    automation(desk, "mail.route", "start:", "svc.trigger.mail.route")
    error = refuse(q)
    assert part in error.message and error.details["position"] == q.index(at)


def test_the_answer_is_what_the_automation_returns(desk: Desk, ask: Ask) -> None:
    automation(desk, "report.daily", ECHO)
    found = ask("type:automation.invoke name:report.daily inputs:(days:[1,2]) format:any")
    assert found == {
        "data": {"days": ["1", "2"], "to": "nobody", "format": "any"},
        "_": {"type": "automation.invoke", "format": "any", "source": "echo"},
    }


@pytest.mark.parametrize(
    ("script", "data"),
    [
        ("start:", None),
        ("start:\n  return:\n    a@int: 1", {"a": 1}),
        ("start:\n  return:\n    data@csv: a,b", ["a", "b"]),
    ],
)
def test_other_shapes_of_results(desk: Desk, ask: Ask, script: str, data: Any) -> None:
    automation(desk, "report.daily", script)
    assert ask("type:automation.invoke name:report.daily")["data"] == data


def test_it_may_write_and_its_log_is_kept(desk: Desk, ids: dict[str, int]) -> None:
    automation(desk, "report.daily", WRITES, policy_kata="commands:\n  record.create:\n    allow: yes")
    query_run.evaluate(desk.context(ids["olga"]), "type:automation.invoke name:report.daily")
    assert desk.found("task", "title:Made") == [1]
    table = desk.registry.type("automation_log").table
    [row] = desk.read(lambda tx: tx.find(table))
    entry = dict(zip(table.names, row, strict=True))
    assert (entry["automation_name"], entry["automation_node"]) == ("report.daily", "start:log.warn")
    assert (entry["created_at"], entry["level"], entry["message"]) == (desk.context().now, 4, "now")
