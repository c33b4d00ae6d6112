"""Activity points, entries and notifications as sentences."""

import json

import pytest

from server.errors import Forbidden, NotFound, Required
from server.record_types.shared import entries, points

PAGES = {("ticket", 5): "https://desk.example/records/ticket/5"}


def page_of(context, id):
    return PAGES.get((context, id), "")


def body(message, urls=None, /, **variables):
    return {"message": message, "variables": variables, "urls": urls or {}}


def test_each_point_has_a_sentence_with_its_placeholders():
    for id, point in points.POINTS.items():
        assert point.id == id and point.name and point.pattern
        told = entries.plain_text(body(point.pattern, **dict.fromkeys(("actor", *point.placeholders), "x")))
        assert "x" in told and "{{" not in told
    assert points.POINTS["worker.login.failed"].placeholders == ("target", "ip", "user_agent")


def test_a_point_describes_itself():
    assert points.POINTS["task.created"].describe() == {
        "id": "task.created",
        "name": "Task created",
        "options": ["api_create"],
        "text": {"key": "activities.task.created", "value": "{{actor}} created task {{target}}"},
    }


def test_every_placeholder_except_the_actor_needs_a_value():
    made = points.body("Task.Created", {"target": "Count", "more": "kept"}, {"target": "ctx://task:1"})
    assert made["variables"] == {"target": "Count", "more": "kept"} and made["urls"] == {"target": "ctx://task:1"}
    with pytest.raises(Required, match="target"):
        points.body("task.created", {"target": ""})
    with pytest.raises(NotFound, match="did you mean"):
        points.body("task.creatd", {})


@pytest.mark.parametrize(
    ("params", "text", "html"),
    [
        (body("{{ a }} <b>", a="x & y"), "x & y <b>", "x &amp; y &lt;b&gt;"),
        (body("{{a}} left", {"a": "https://x.example/?a=1&b=2"}, a="Ana"), "Ana left",
         '<a href="https://x.example/?a=1&amp;b=2">Ana</a> left'),
        (body("{{a}}", {"a": "ctx://ticket:5"}, a="T"), "T", '<a href="https://desk.example/records/ticket/5">T</a>'),
        (body("{{a}}", {"a": "ctx://ticket:5/some-title"}, a="T"), "T",
         '<a href="https://desk.example/records/ticket/5">T</a>'),
        (body("{{a}}", {"a": "ctx://ticket:6"}, a="T"), "T", "T"),
        (body("{{a}}", {"a": "javascript:alert(1)"}, a="T"), "T", "T"),
        (body("{{a}}", {"a": "https://x.example/ y"}, a="T"), "T", "T"),
        (body("{{a}}", {"a": 'https://x.example/"><script>'}, a="T"), "T",
         '<a href="https://x.example/&quot;&gt;&lt;script&gt;">T</a>'),
        (body("{{gone}} here", a="x"), "here", "here"),
        (body("{{a}}", a=["x"]), "", ""),
        (body("{{a}} of {{b}}", a=3, b=None), "3 of", "3 of"),
        ({"message": "{{a}}", "variables": "x", "urls": []}, "", ""),
        ([], "", ""),
        (None, "", ""),
    ],
)  # fmt: skip
def test_an_entry_as_text_and_as_html(params, text, html):
    assert entries.plain_text(params) == text
    assert entries.html(params, page_of) == html


def test_a_placeholder_in_a_value_is_not_replaced():
    assert entries.plain_text(body("{{a}}", a="{{b}}", b="x")) == "{{b}}"


def test_a_label_is_one_line():
    assert entries.one_line(body("{{a}}", a="x\n  y")) == "x y"


def test_a_notification_reads_as_its_sentence_and_has_a_target(desk, ids):
    task = desk.create("task", title="Count")["id"]
    params = body("{{actor}} wrote", {"actor": f"ctx://worker:{ids['nora']}"}, actor="Nora")
    made = desk.create(
        "notification", worker_id=ids["milo"], activity_point="custom.other", params=json.dumps(params),
        target__context="task", target_id=task,
    )  # fmt: skip
    assert (made["_label"], made["message"]) == ("Nora wrote", "Nora wrote")
    nora_page = f"https://desk.example/records/worker/{ids['nora']}"
    assert made["message_html"] == f'<a href="{nora_page}">Nora</a> wrote'
    assert made["url"] == f"https://desk.example/records/task/{task}"
    assert made["url_markread"] == f"https://desk.example/notifications/{made['id']}"
    assert json.loads(made["event_json"]) == params
    assert made["assignee_id"] == ids["milo"]


def test_a_notification_belongs_to_its_worker(desk, ids):
    made = desk.create("notification", assignee_id=ids["milo"], activity_point="x", params={"message": "Look"})["id"]
    assert desk.found("notification", "", by=ids["olga"]) == []
    with pytest.raises(Forbidden):
        desk.update("notification", made, by=ids["olga"], is_read=1)
    with pytest.raises(Forbidden):
        desk.update("notification", made, by=ids["milo"], worker_id=ids["olga"])
    assert desk.update("notification", made, by=ids["milo"], is_read=1)["is_read"] == 1


def test_an_activity_entry_reads_as_its_sentence(desk, ids):
    made = desk.create(
        "activity_log", by=ids["nora"], activity_point="custom.other", params=body("{{message}}", message="Done"),
        actor__context="app", actor_id=0, target__context="worker", target_id=ids["milo"],
    )  # fmt: skip
    assert (made["_label"], made["event"], made["actor_id"]) == ("Done", "Other", 0)
    assert made["params"]["variables"] == {"message": "Done"}


@pytest.mark.sqlite("plans of SQLite")
def test_administrative_acts_have_their_own_index(desk, ids):
    def plan(tx):
        asked = []
        tx.connection.exec_trace = lambda cursor, sql, bindings: asked.append((sql, bindings)) or True
        try:
            desk.search(tx, "activity_log", "administrative:yes sort:-created,-id").rows(10)
        finally:
            tx.connection.exec_trace = None
        sql, bindings = asked[-1]
        return tx.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings).fetchall()

    assert "activity_log_by_is_administrative_created" in str(desk.read(plan))


def test_the_log_shows_entries_of_readable_records(desk, ids):
    private = desk.create("group", by=ids["nora"], name="Board", is_private=1)["id"]
    ticket = desk.create("ticket", by=ids["nora"], subject="Canary", group_id=private)["id"]
    task = desk.create("task", by=ids["nora"], title="Count")["id"]
    desk.update("ticket", ticket, by=ids["nora"], status_id=2)
    seen = desk.found("activity_log", "target:task", by=ids["milo"])
    assert len(seen) == 1 and desk.record("activity_log", seen[0], by=ids["milo"])["target_id"] == task
    assert desk.found("activity_log", "target:ticket", by=ids["nora"]) != []
    assert desk.found("activity_log", "target:ticket", by=ids["milo"]) == []


ASSIGNED = points.POINTS["ticket.owner.assigned"].pattern
ANA, BEN = "ctx://svc.contexts.worker:1", "ctx://svc.contexts.worker:2"


@pytest.mark.parametrize(
    ("point", "params", "full", "on_ticket"),
    [
        ("ticket.owner.assigned", body(ASSIGNED, {"actor": ANA, "worker": BEN}, actor="Ana", worker="Ben", target="T"),
         "Ana assigned ticket T to Ben", "Ana assigned the ticket to Ben"),
        ("ticket.owner.assigned", body(ASSIGNED, {"actor": ANA, "worker": ANA}, actor="Ana", worker="Ana", target="T"),
         "Ana took ticket T", "Ana took the ticket"),
        ("ticket.owner.assigned", body(ASSIGNED, {"actor": ANA, "worker": BEN}, actor="Ana", worker="Ana", target="T"),
         "Ana assigned ticket T to Ana", "Ana assigned the ticket to Ana"),
        ("ticket.owner.assigned", body(ASSIGNED, {"actor": ANA}, actor="Ana", worker="Ana", target="T"),
         "Ana took ticket T", "Ana took the ticket"),
        ("ticket.owner.unassigned",
         body("{{actor}} took ticket {{target}} from its owner", actor="Ana", target="[#A] to Rome"),
         "Ana unassigned ticket [#A] to Rome", "Ana unassigned the ticket"),
        ("ticket.status.closed",
         body("{{actor}} set ticket {{target}} to {{status}}", actor="Ana", target="T", status="closed"),
         "Ana closed ticket T", "Ana closed the ticket"),
        ("ticket.status.waiting",
         body("{{actor}} set ticket {{target}} to {{status}}", actor="Ana", target="T", status="waiting"),
         "Ana set ticket T to waiting", "Ana set the ticket to waiting"),
        ("ticket.target.missed", body("Late: the {{goal}} of ticket {{target}}", goal="first response", target="T"),
         "First response overdue: ticket T", "First response overdue"),
        ("ticket.target.missed", body("My {{target}}", target="T"), "My T", "My T"),
        ("custom.other", body("{{message}}", message="Anything"), "Anything", "Anything"),
        ("no.such", body("{{a}}", a="x"), "x", "x"),
        ("ticket.owner.assigned", None, "", ""),
    ],
)  # fmt: skip
def test_an_entry_on_its_ticket_is_shorter_and_names_the_actor(point, params, full, on_ticket):
    assert entries.one_line(params) == full
    assert entries.on_ticket(point, params) == on_ticket


def test_sentences_on_a_ticket_need_no_other_placeholders():
    for id, pattern in points.ON_TICKET.items():
        assert set(points.PLACEHOLDER.findall(pattern)) <= {"actor", *points.POINTS[id].placeholders}, id
    assert {*points.OWN} <= {*(each.pattern for each in points.POINTS.values()), *points.ON_TICKET.values()}
