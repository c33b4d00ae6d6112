"""Data queries that an automation answers: they are checked, and refused since none can be run."""

import pytest

from tests.records.desk import Desk

QUERY = "svc.trigger.data.query"


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("type:automation.invoke name:report.daily inputs:(days:[1,2] to:me) format:any", "report", "cannot be run"),
        ("type:automation.invoke name:report.dialy", "report", "did you mean 'report.daily'"),
        ("type:automation.invoke name:mail.route", "mail", "is not an automation of svc.trigger.data.query"),
        ("type:automation.invoke inputs:(a:1)", "automation", "needs 'name:'"),
        ("type:automation.invoke name:report.daily input:(a:1)", "input:", "did you mean 'inputs'"),
        ("type:automation.invoke name:report.daily inputs:(a:(b:1))", "(b", "takes one value or a list"),
    ],
)
def test_an_automation_is_looked_for_and_not_run(desk: Desk, refuse, q: str, at: str, part: str) -> None:
    desk.create("automation", name="report.daily", extension_id=QUERY, script="start:")
    desk.create("automation", name="mail.route", extension_id="svc.trigger.mail.route", script="start:")
    error = refuse(q)
    assert part in error.message and error.details["position"] == q.index(at)
