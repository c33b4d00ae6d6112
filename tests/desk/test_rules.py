"""Rules: they run when something happens on a ticket or time has passed, in order, and say why."""

from typing import Any

import pytest

from server.automation.rules import rule_building, rule_deletion, rule_list, rule_scan  # registers the scan
from server.automation.rules.rule_list import RuleRun
from server.errors import Invalid, NotFound, all_of
from server.first_start import builtin_records
from server.records import records
from server.records.records import SearchRequest
from tests.desk.conftest import Post

TRIGGER = "svc.trigger.ticket.event"
HOT = [{"kind": "importance", "importance": "90"}]
DAY = 86_400


@pytest.fixture
def desk(desk: Post) -> Post:
    """A desk with the events that rules are bound to."""
    builtin_records.add_missing(desk.context())
    return desk


def rule(desk: Post, title: str, when: list[str], steps: list[dict[str, Any]], *conditions: str, **more: Any) -> int:
    """Creates a rule and returns its id."""
    form = {
        "title": title,
        "when": when,
        "conditions": list(conditions),
        "steps": steps,
        "matches_everything": 1,
        **more,
    }
    record = records.create(desk.context(desk.nora), "automation", {"extension_id": TRIGGER, "form": form})
    return int(record["id"])


def runs(desk: Post, id: int) -> list[RuleRun]:
    return rule_list.runs(desk.context(desk.nora), id)


def titles(desk: Post) -> list[str]:
    return [each.title for each in rule_list.list_rules(desk.context(desk.nora))]


def importance(desk: Post, ticket: int) -> int:
    return int(desk.ticket(ticket)["importance"])


def test_a_rule_runs_on_new_tickets_that_meet_its_conditions(desk: Post) -> None:
    vip = rule(desk, "VIP first", ["created"], HOT, "subject:pump*", "status:open")
    pump, boat = desk.ticket_id(subject="Pump leaks"), desk.ticket_id(subject="Boat")
    desk.run_due()
    assert [importance(desk, each) for each in (pump, boat)] == [90, 50]
    assert [(each.ticket_id, each.events, each.state) for each in runs(desk, vip)] == [(pump, ("created",), "done")]
    [missed] = rule_list.why_not(desk.context(desk.nora), rule_list.find(desk.context(desk.nora), vip))
    assert (missed.ticket_id, missed.event, missed.failing) == (boat, "created", ("subject:pump*",))


def test_rules_set_and_hear_named_statuses(desk: Post) -> None:
    make = {"status": "open"}
    first, second = (desk.create("ticket_status", name=name, **make) for name in ("New", "Checked"))
    rule(desk, "Name it", ["created"], [{"kind": "status", "status": str(first)}], "subject:pump*")
    rule(desk, "Hot once checked", ["changed"], HOT, "status:Checked", fields=["status"])
    ticket = desk.ticket_id(subject="Pump leaks")
    desk.run_due()
    assert (desk.ticket(ticket)["status_name_id"], importance(desk, ticket)) == (first, 50)
    desk.update("ticket", ticket, status_name_id=second)
    desk.run_due()
    assert importance(desk, ticket) == 90


def test_any_condition_suffices_if_the_rule_says_so(desk: Post) -> None:
    rule(desk, "Either", ["created"], HOT, "subject:pump*", "subject:valve*", match="any")
    tickets = [desk.ticket_id(subject=subject) for subject in ("Pump", "Valve", "Boat")]
    desk.run_due()
    assert [importance(desk, each) for each in tickets] == [90, 90, 50]


def test_days_and_times_in_conditions_are_those_of_the_zone_of_the_rule(desk: Post) -> None:
    berlin, utc = (
        rule(desk, zone, ["created"], [{"kind": "note", "text": zone}], 'created:(times:"16:00-16:30")', zone=zone)
        for zone in ("Europe/Berlin", "UTC")
    )
    desk.ticket_id()  # at 15:04 UTC
    desk.run_due()
    assert [[each.state for each in runs(desk, id)] for id in (berlin, utc)] == [["done"], []]
    with pytest.raises(Invalid, match=r"set\.timezone"):
        rule(desk, "Zone", ["created"], HOT, "set.timezone:UTC created:today")


def test_rules_hear_replies_and_changed_fields(desk: Post) -> None:
    wrote = rule(desk, "Wrote", ["customer_wrote"], HOT)
    replied = rule(desk, "Replied", ["worker_replied"], HOT)
    owned = rule(desk, "Owned", ["changed"], [{"kind": "note", "text": "Owned"}], fields=["owner"])
    ticket = desk.ticket_id()
    desk.run_due()
    assert not any(runs(desk, each) for each in (wrote, replied, owned))
    message = desk.received(ticket)
    desk.run_due()
    assert [len(runs(desk, each)) for each in (wrote, replied, owned)] == [1, 0, 0]
    desk.reply(message, dont_send="1", status="0")
    desk.run_due()
    assert [len(runs(desk, each)) for each in (wrote, replied, owned)] == [1, 1, 0]
    records.update(desk.context(desk.nora), "ticket", ticket, {"subject": "Boat 2"})
    records.update(desk.context(desk.nora), "ticket", ticket, {"owner_id": str(desk.nora)})
    desk.run_due()
    assert desk.comments("ticket", ticket) == ["Owned"]


def test_rules_run_in_their_order_and_one_may_be_the_last(desk: Post) -> None:
    first = rule(desk, "First", ["created"], [{"kind": "note", "text": "1"}], stops=1)
    second = rule(desk, "Second", ["created"], [{"kind": "note", "text": "2"}])
    ctx = desk.context(desk.nora)
    ticket = desk.ticket_id()
    desk.run_due()
    assert desk.comments("ticket", ticket) == ["1"]
    rule_list.move(ctx, second, -1)
    assert titles(desk) == ["Second", "First"]
    ticket = desk.ticket_id()
    desk.run_due()
    assert desk.comments("ticket", ticket) == ["2", "1"]
    rule_list.switch(ctx, first, is_on=False)
    ticket = desk.ticket_id()
    desk.run_due()
    assert desk.comments("ticket", ticket) == ["2"]
    rule_list.switch(ctx, first, is_on=True)
    assert [each.is_off for each in rule_list.list_rules(ctx)] == [False, False]


def test_a_rule_by_time_handles_a_ticket_once(desk: Post) -> None:
    silent = rule(
        desk, "Silent", ["time"], [{"kind": "close"}], "status:waiting", since="message", amount=7, unit="days"
    )
    waiting, still_open = desk.ticket_id(), desk.ticket_id()
    desk.update("ticket", waiting, status_id=1)
    desk.run_due(6 * DAY)
    assert desk.ticket(waiting)["status_id"] == 1
    rule_scan.NEXT_SEARCH.clear(desk.service.store)
    desk.run_due(2 * DAY)
    assert [desk.ticket(each)["status_id"] for each in (waiting, still_open)] == [2, 0]
    desk.update("ticket", waiting, status_id=1)
    rule_scan.NEXT_SEARCH.clear(desk.service.store)
    desk.run_due(60)
    assert desk.ticket(waiting)["status_id"] == 1
    assert [(each.events, each.state) for each in runs(desk, silent)] == [(("time",), "done")]


def test_rules_that_start_each_other_are_refused(desk: Post) -> None:
    rule(desk, "Up", ["changed"], HOT, fields=["importance", "status"])
    with pytest.raises(Invalid) as refused:
        rule(desk, "Down", ["changed"], [{"kind": "importance", "importance": "10"}], fields=["importance"])
    [error] = all_of(refused.value)
    assert error.details["field"] == "when" and "Down → Up → Down" in error.message
    rule(desk, "Same", ["changed"], HOT, fields=["importance"])  # sets the same value: the circle ends


def test_a_rule_that_matches_every_ticket_is_refused_unless_that_is_intended(desk: Post) -> None:
    for conditions in ([], ["subject:pump*"]):
        with pytest.raises(Invalid, match="matches_everything: true") as refused:
            for _ in range(rule_building.LEAST_SAMPLE if conditions else 0):
                desk.ticket_id(subject="Pump")
            rule(desk, "All", ["created"], HOT, *conditions, matches_everything=False)
        assert refused.value.details["field"] == "matches_everything"
    desk.ticket_id(subject="Boat")
    id = rule(desk, "Some", ["created"], HOT, "subject:pump*", matches_everything="0")
    form = records.retrieve(desk.context(desk.nora), "automation", id, "form")["form"]
    records.update(desk.context(desk.nora), "automation", id, {"form": form | {"title": "Renamed"}})
    with pytest.raises(Invalid, match="would match every ticket"):
        records.update(desk.context(desk.nora), "automation", id, {"form": form | {"conditions": []}})
    records.update(
        desk.context(desk.nora), "automation", id, {"form": form | {"conditions": [], "matches_everything": True}}
    )


def test_chains_of_rules_end(desk: Post) -> None:
    turn = [{"kind": "macro", "macro_id": macro(desk), "worker_id": str(desk.nora)}]
    with pytest.raises(Invalid, match="start each other"):
        rule(desk, "Endless", ["changed"], turn)


def macro(desk: Post) -> str:
    script = "start:\n  return:\n    note: It\n"
    fields = {"extension_id": "svc.trigger.ticket.macro", "script": script}
    return str(records.create(desk.context(desk.nora), "automation", fields)["id"])


def test_mistakes_are_found_at_their_fields(desk: Post) -> None:
    rule(desk, "Taken", ["created"], HOT)
    with pytest.raises(Invalid) as refused:
        rule(desk, "taken", ["created"], [{"kind": "move", "place": "group:999"}], "nosuch:1", "subject:(a")
    assert [each.details["field"] for each in all_of(refused.value)] == ["conditions.1"]
    with pytest.raises(Invalid) as refused:
        rule(desk, "taken", ["created"], [{"kind": "move", "place": "group:999"}], "nosuch:1")
    fields = [each.details["field"] for each in all_of(refused.value)]
    assert fields == ["conditions.0", "steps.0.place", "title"]


def test_a_rule_is_switched_off_once_a_record_that_it_names_is_deleted(desk: Post) -> None:
    group, worker = desk.create("group", name="Short-lived"), desk.milo
    moves = rule(desk, "Move", ["created"], [*HOT, {"kind": "move", "place": f"group:{group}"}])
    runs_macro = [{"kind": "macro", "macro_id": (gone := macro(desk)), "worker_id": str(desk.nora)}]
    macros = rule(desk, "Macro", ["created"], runs_macro)
    stays = rule(desk, "Stay", ["created"], [{"kind": "assign", "worker_id": str(worker)}])
    ctx = desk.context(desk.nora)
    for uri, id in (("group", group), ("automation", int(gone))):
        records.delete(ctx, uri, id)
    desk.run_due()
    assert [rule_list.find(ctx, each).is_off for each in (moves, macros, stays)] == [True, True, False]
    found = records.search(ctx, "notification", SearchRequest("activity:automation.rule.off"))
    assert any("2. Move to a group or bucket: " in each["message"] for each in found["results"])
    assert rule_list.lost_records(ctx, rule_list.find(ctx, moves))[0][0] == "steps.1.place"


def test_a_rule_notifies_the_owner_watchers_workers_and_members_of_a_group_once(desk: Post) -> None:
    workers = {name: desk.worker(name, "Stern") for name in ("Ada", "Bea", "Cleo", "Dora", "Out")}
    ada, bea, cleo, dora, _out = workers.values()
    group = desk.create("group", name="Night shift", members={ada: "member", dora: "member"})
    form = {"kind": "notify", "text": "Look at {{subject}}", "to_owner": "1", "to_watchers": "1"}
    form |= {"worker_ids": [cleo, ada], "group_id": group}
    notifying = rule(desk, "Notify", ["created"], [form], "subject:pump*")
    changes = {"owner_id": str(ada), "links": [f"worker:{bea}"]}
    records.update(desk.context(desk.nora), "ticket", desk.ticket_id(subject="Pump"), changes)
    desk.run_due()
    assert [each.state for each in runs(desk, notifying)] == ["done"]
    notified = {name: notices(desk, id) for name, id in workers.items()}
    assert notified == {name: ["Look at Pump"] for name in ("Ada", "Bea", "Cleo", "Dora")} | {"Out": []}
    records.delete(desk.context(desk.nora), "worker", cleo)
    desk.run_due()
    assert rule_list.find(desk.context(desk.nora), notifying).is_off


def test_a_rule_replies_in_the_name_of_the_owner_if_the_ticket_has_one(desk: Post) -> None:
    step = {"kind": "reply", "worker_id": str(desk.nora), "by_owner": "1", "text": "From {{worker_first_name}}"}
    id = rule(desk, "Reply", ["changed"], [step], fields=["subject"])
    away = desk.worker("Ada", "Stern")
    for owner, writer in ((desk.milo, desk.milo), (0, desk.nora), (away, desk.nora)):
        ticket = desk.ticket_id()
        desk.received(ticket)
        desk.run_due()
        desk.update("ticket", ticket, owner_id=owner)
        desk.update("worker", away, is_disabled=1)
        desk.update("ticket", ticket, subject="Valve")
        desk.run_due()
        [draft] = [each for each in desk.all("draft", ticket_id=ticket) if each["type"] == "ticket.reply"]
        assert {each.message for each in runs(desk, id)} == {""}
        name = desk.one("worker", id=writer)["first_name"]
        assert (draft["worker_id"], draft["params"]["content"]) == (writer, f"From {name}")


def notices(desk: Post, worker: int) -> list[str]:
    """Returns the texts of automations that a worker was notified of."""
    request = SearchRequest(f"worker.id:{worker} activity:custom.other", 10, expand="message")
    found = records.search(desk.context(desk.nora), "notification", request)["results"]
    return [each["message"] for each in found]


def test_a_rule_whose_group_was_deleted_does_nothing(desk: Post) -> None:
    group = desk.create("group", name="Short-lived")
    steps = [{"kind": "importance", "importance": "90"}, {"kind": "move", "place": f"group:{group}"}]
    id = rule(desk, "Move", ["created"], steps)
    records.delete(desk.context(desk.nora), "group", group)
    ticket = desk.ticket_id()
    desk.run_due()
    assert importance(desk, ticket) == 50
    assert rule_list.find(desk.context(desk.nora), id).is_off
    found = records.search(desk.context(desk.nora), "notification", SearchRequest("activity:automation.rule.off"))
    assert "no longer exists" in found["results"][0]["message"]


def test_a_rule_that_was_edited_as_a_script_is_no_longer_a_form(desk: Post) -> None:
    id = rule(desk, "Scripted", ["created"], HOT, "subject:pump*")
    ctx = desk.context(desk.nora)
    records.update(ctx, "automation", id, {"script": "start:\n  return:\n    stop@bool: no\n"})
    assert rule_list.find(ctx, id).is_script
    desk.ticket_id(subject="Boat")
    desk.run_due()
    assert [each.state for each in runs(desk, id)] == ["done"]


def test_an_earlier_version_brings_its_form_back(desk: Post) -> None:
    from server.automation import history

    id = rule(desk, "Versioned", ["created"], HOT)
    ctx = desk.context(desk.nora)
    records.update(ctx, "automation", id, {"script": "start:\n  return:\n    stop@bool: no\n"})
    history.restore(ctx, id, 1)
    assert not rule_list.find(ctx, id).is_script


def test_a_deleted_rule_leaves_the_order(desk: Post) -> None:
    id = rule(desk, "Gone", ["created"], HOT)
    rule(desk, "Stays", ["created"], HOT)
    records.update(desk.context(desk.nora), "automation", id, {"name": "rule.renamed"})
    assert titles(desk) == ["Gone", "Stays"]
    records.delete(desk.context(desk.nora), "automation", id)
    assert titles(desk) == ["Stays"]


def test_a_deleted_rule_is_restored_at_its_place_with_what_it_has_handled(desk: Post) -> None:
    ctx = desk.context(desk.nora)
    form = {"since": "message", "amount": "1", "unit": "minutes"}
    remind = rule(desk, "Remind", ["time"], [{"kind": "note", "text": "Late"}], "status:open", **form)
    rule(desk, "Last", ["created"], HOT)
    gone, ticket = desk.ticket_id(), desk.ticket_id()
    desk.run_due(120)
    rule_list.switch(ctx, remind, is_on=False)
    before = rule_list.find(ctx, remind), runs(desk, remind)
    assert len(before[1]) == 2 and rule_deletion.delete(ctx, remind)
    assert titles(desk) == ["Last"]
    rule(desk, "Later", ["created"], HOT)
    records.delete(ctx, "ticket", gone)
    assert rule_deletion.restore(ctx, remind) == "Remind"
    assert titles(desk) == ["Remind", "Last", "Later"]
    assert rule_list.find(ctx, remind) == before[0]
    rule_list.switch(ctx, remind, is_on=True)
    desk.run_due(120)
    assert desk.comments("ticket", ticket) == ["Late"], "it does not handle a ticket again"
    with pytest.raises(NotFound):
        rule_deletion.restore(ctx, remind)


def test_tickets_that_match_now_are_counted_and_listed(desk: Post) -> None:
    tickets = [desk.ticket_id(subject="Pump") for _ in range(3)]
    desk.ticket_id(subject="Boat")
    id = rule(desk, "Pumps", ["created"], HOT, "subject:pump*")
    ctx = desk.context(desk.nora)
    form = rule_list.find(ctx, id).form
    assert form is not None
    assert rule_list.matches(ctx, form, 2) == (tickets[:2], 3)
    assert not rule_list.matches_all(ctx, form)
    assert rule_list.holds(ctx, form, tickets[0]) == {"subject:pump*": True}


def test_nothing_is_written_for_events_that_no_rule_waits_for(desk: Post) -> None:
    from server.tickets.rule_events import RULE_EVENT

    desk.ticket_id()
    assert desk.read(lambda tx: tx.find(RULE_EVENT)) == []
    rule(desk, "Replies only", ["worker_replied"], HOT)
    desk.ticket_id()
    assert desk.read(lambda tx: tx.find(RULE_EVENT)) == []
