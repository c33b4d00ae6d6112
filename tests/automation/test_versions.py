"""History of automations: versions, examples, the outcome of the last run."""

from dataclasses import replace

import pytest

from server.automation import automation_service, examples, history, log_search, overview
from server.automation.engine import RunResult
from server.automation.versions import VERSION
from server.errors import AdminOnly, Conflict, NotFound, TooLarge
from server.record_types.shared import record_versions as keeping
from server.records import usage_flush
from tests.records.desk import NOW, Desk

FUNCTION = "svc.trigger.automation.function"
SCRIPT = "start:\n  log: hi\n  return:\n    a: 1\n"


def made(desk: Desk, name: str, script: str = SCRIPT) -> int:
    return int(desk.create("automation", name=name, extension_id=FUNCTION, script=script)["id"])


def numbers(desk: Desk, id: int) -> list[int]:
    return [each.number for each in history.list_versions(desk.context(), id)]


def test_only_the_newest_versions_are_stored(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MAX_VERSIONS", 3)
    id = made(desk, "few")
    for number in range(4):
        desk.update("automation", id, description=f"text {number}")
    assert numbers(desk, id) == [5, 4, 3]
    assert history.texts(desk.context(), id, 3)["description"] == "text 1"
    with pytest.raises(NotFound, match="version 2 of automation"):
        history.texts(desk.context(), id, 2)


def test_fewer_long_versions_are_stored_but_the_previous_one_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MAX_VERSION_CHARS", 100)
    id = made(desk, "long")
    for number in range(3):
        desk.update("automation", id, description=str(number) * 200)
    assert numbers(desk, id) == [4, 3]


def test_the_state_from_before_versions_existed_is_stored_with_the_first_change(desk: Desk) -> None:
    id = made(desk, "old")
    desk.store.write(lambda tx: (
        tx.delete(VERSION, automation_id=id), tx.update(desk.registry.type("automation").table, id, {"version": 0}),
    ))  # fmt: skip
    assert numbers(desk, id) == []
    desk.update("automation", id, description="new")
    listed = history.list_versions(desk.context(), id)
    assert [(each.number, each.actor_name, each.changed) for each in listed] == [
        (2, "Helpdesk", ("description",)),
        (1, "", ()),
    ]
    assert history.restore(desk.context(), id, 1) == 2
    assert desk.record("automation", id)["description"] == "" and numbers(desk, id) == [3, 2, 1]
    assert history.restore(desk.context(), id, 2) == 3 and desk.record("automation", id)["description"] == "new"


def test_all_is_deleted_with_the_automation_and_only_administrators_see_it(desk: Desk) -> None:
    id, milo = made(desk, "gone"), replace(desk.context(), actor=replace(desk.actor(), is_admin=False))
    examples.keep(desk.context(), id, "one", {}, RunResult("exit"))
    for look in (
        lambda: history.list_versions(milo, id), lambda: examples.list_examples(milo, id),
        lambda: log_search.entries(milo, "", 10, 0), lambda: examples.keep(milo, id, "x", {}, RunResult("exit")),
    ):  # fmt: skip
        with pytest.raises(AdminOnly):
            look()
    desk.delete("automation", id)
    assert numbers(desk, id) == [] and examples.list_examples(desk.context(), id) == []
    with pytest.raises(NotFound):
        examples.keep(desk.context(), id, "one", {}, RunResult("exit"))


def test_examples_are_limited_and_checked_within_a_time_limit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    id, ctx = made(desk, "limited"), desk.context()
    monkeypatch.setattr(examples, "MAX_EXAMPLES", 2)
    automation = desk.read(lambda tx: automation_service.find(ctx, tx, "limited"))
    assert automation is not None
    result = examples.simulate(ctx, automation, {})
    for name in ("One", "two", "ONE"):
        examples.keep(ctx, id, name, {}, result)
    with pytest.raises(Conflict, match="at most 2"):
        examples.keep(ctx, id, "three", {}, result)
    with pytest.raises(TooLarge):
        examples.keep(ctx, id, "two", {"a": "x" * examples.MAX_VALUES_CHARS}, result)
    listed = examples.list_examples(ctx, id)
    assert [(each.outcome, each.is_changed) for each in examples.check(ctx, automation, listed)] == [
        (examples.outcome(result), False)
    ] * 2
    monkeypatch.setattr(examples, "CHECK_SECONDS", 0.0)
    assert [(each.outcome, each.is_changed) for each in examples.check(ctx, automation, listed)] == [("", False)] * 2


def test_long_outcomes_are_cut_and_stay_distinct(desk: Desk) -> None:
    one, other = (examples.outcome(RunResult("return", {"a": "x" * 30_000 + end})) for end in ("1", "2"))
    assert one != other and len(one) < 21_000


def test_the_last_run_is_known_before_and_after_it_is_written(desk: Desk) -> None:
    id, ctx = made(desk, "runs"), desk.context()
    automation = desk.read(lambda tx: automation_service.find(ctx, tx, "runs"))
    assert automation is not None and automation.version == 1
    assert overview.overviews(ctx, [id])[id] == overview.Overview()
    automation_service.perform(ctx, automation, {}, dry=True)
    assert overview.overviews(ctx, [id])[id].runs == 0
    automation_service.perform(ctx, automation, {})
    found = overview.overviews(ctx, [id])[id]
    assert (found.last_run_at, found.last_run_state, found.runs, found.failed) == (NOW, "return", 1, 0)
    usage_flush.write_notes(desk.service, NOW)
    found = overview.overviews(ctx, [id])[id]
    assert (found.last_run_at, found.last_run_state) == (NOW, "return")


def test_entries_name_their_run_and_the_version_that_wrote_them(desk: Desk) -> None:
    inner = made(desk, "inner", "start:\n  log: from inside\n")
    outer = "start:\n  log: before\n  function:\n    uri: inner\n    output: x\n  log/after: after\n"
    id, ctx = made(desk, "outer", outer), desk.context()
    desk.update("automation", id, policy_kata="commands:\n  function:\n    allow@bool: yes\n")
    automation = desk.read(lambda tx: automation_service.find(ctx, tx, "outer"))
    assert automation is not None and inner
    for _ in range(2):
        automation_service.perform(ctx, automation, {})
    entries, total = log_search.entries(ctx, "automation:outer", 10, 0)
    assert total == 6 and len({each["run_id"] for each in entries}) == 2
    assert [(each["message"], each["automation_version"]) for each in entries[:3]] == [
        ("after", 2), ("from inside", 0), ("before", 2)
    ]  # fmt: skip
    runs, count = log_search.runs(ctx, "automation:outer", 10, 0)
    assert (count, [(each.count, each.message) for each in runs]) == (2, [(3, "after")] * 2)
    assert log_search.entries(ctx, "", 10, 0, runs[0].id)[1] == 3
    assert log_search.histogram(ctx, "automation:outer", 2).counts == {7: [6, 0]}
