"""`usage.snippets` and `usage.behaviors`."""

import pytest

from server.access.service_actor import own_context
from server.records.metrics import builtin, record
from server.records.usage_flush import write_notes
from server.tickets import snippets
from tests.records.desk import NOW

EVENT = "event.api.custom_request"
APP = {"owner__context": "app", "owner_id": 0}


@pytest.fixture
def used(desk, ids):
    """Two snippets of the service and one of nora's, used by milo and nora."""
    made = dict(ids)
    for title, owner in (("Hello", APP), ("Bye", APP), ("Secret", {"owner__context": "worker", "owner_id": 1})):
        made[title] = desk.create("snippet", title=title, content="Text", **owner)["id"]
    for title, worker, times in (("Hello", "milo", 2), ("Hello", "nora", 1), ("Secret", "nora", 5)):
        for _ in range(times):
            snippets.paste(desk.context(ids[worker]), made[title])
    return made


def test_snippets_are_listed_with_their_uses(ask, used):
    result = ask("type:usage.snippets", used["nora"])
    assert [(row["snippet_title"], row["snippet_uses"]) for row in result["data"]["rows"]] == [
        ("Secret", 5),
        ("Hello", 3),
    ]
    assert result["data"]["columns"].keys() == {"snippet_title", "snippet_uses"}
    assert result["_"] == {"type": "usage.snippets", "format": "table"}
    assert [row["snippet_title"] for row in ask("type:usage.snippets", used["milo"])["data"]["rows"]] == ["Hello"]


def test_snippets_by_month(ask, used):
    result = ask("type:usage.snippets format:timeseries", used["nora"])
    data = result["data"]
    assert data["ts"][0] == "2025-11" and data["ts"][-1] == "2026-11" and len(data["ts"]) == 13
    assert {name: (values[-1], sum(values)) for name, values in data.items() if name != "ts"} == {
        "Secret": (5, 5),
        "Hello": (3, 3),
    }
    assert result["_"]["format_params"]["xaxis_step"] == "month"


def test_uses_of_snippets_are_a_metric_too(ask, desk, used):
    builtin.prepare(own_context(desk.service))
    write_notes(desk.service, NOW)
    series = "series.a:(metric:svc.snippet.uses by:[snippet_id] function:sum)"
    assert ask(f"type:metrics.timeseries range:today {series}", used["nora"])["data"] == {
        "ts": ["2026-11-18"], "a :: Hello": [3], "a :: Secret": [5],
    }  # fmt: skip
    assert "a :: Secret" not in ask(f"type:metrics.timeseries range:today {series}", used["milo"])["data"]


def test_behaviors_are_listed_with_their_runs(ask, desk, ids):
    builtin.prepare(own_context(desk.service))
    bot = desk.create("bot", name="Robo", owner__context="worker", owner_id=ids["nora"])["id"]
    behavior = desk.create("behavior", name="Sort", bot_id=bot, event_point=EVENT)["id"]
    for elapsed in (30, 50):
        dimensions = {"behavior_id": behavior, "event": EVENT}
        record(desk.service, builtin.BEHAVIOR_INVOCATIONS, 1, dimensions, NOW)
        record(desk.service, builtin.BEHAVIOR_DURATION, elapsed, dimensions, NOW)
    record(desk.service, builtin.BEHAVIOR_INVOCATIONS, 1, {"behavior_id": 99}, NOW)
    write_notes(desk.service, NOW)
    (row,) = ask("type:usage.behaviors", ids["nora"])["data"]["rows"]
    assert (row["bot_name"], row["behavior_name"], row["uses"]) == ("Robo", "Sort", 2)
    assert (row["elapsed_ms"], row["avg_elapsed_ms"]) == (80, 40) and row["event"]
    chart = ask("type:usage.behaviors format:timeseries", ids["nora"])["data"]
    assert len(chart["ts"]) == 13 and chart["Sort"][-1] == 2 == sum(chart["Sort"])
    assert ask("type:usage.behaviors", ids["milo"])["data"]["rows"] == []


def test_nothing_used_is_an_empty_table(ask, ids):
    assert ask("type:usage.snippets")["data"]["rows"] == ask("type:usage.behaviors")["data"]["rows"] == []
    assert ask("type:usage.behaviors format:timeseries")["data"].keys() == {"ts"}


def test_other_formats_and_keys_are_refused(refuse):
    assert refuse("type:usage.snippets format:pie").details["field"] == "format"
    assert refuse("type:usage.behaviors of:ticket").details["field"] == "of"
