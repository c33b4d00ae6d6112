"""Commands on records: their outputs, refusals, and that dry runs are rolled back."""

from typing import Any

import pytest

from server.automation import engine
from server.automation.automation_service import ServiceHost
from server.automation.host import Script, StandaloneHost
from tests import databases
from tests.automation.cases.case import ALLOW
from tests.automation.commanding import done, ran, refused
from tests.records.desk import Desk


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    return desk.people()


@pytest.fixture(autouse=True)
def without_tasks(desk: Desk) -> None:
    for id in desk.found("task", ""):
        desk.delete("task", id)


def task(desk: Desk, **fields: Any) -> int:
    return int(desk.create("task", **{"title": "Pump", **fields})["id"])


def test_a_created_record_loads_fields_on_demand(desk: Desk, ids: dict[str, int]) -> None:
    script = """
start:
  record.create:
    output: made
    inputs:
      record_type: task
      fields:
        title: Pump
        owner_id@int: {{nora}}
        importance@int: 80
  return:
    title@key: made:title
    owner: {{made.owner_first_name}}
    importance@key: made:importance
"""
    found = engine.run(Script(script, ALLOW), {"nora": ids["nora"]}, ServiceHost(desk.context()))
    assert found.returned == {"title": "Pump", "owner": "Nora", "importance": 80}, found.message
    assert desk.found("task", "title:Pump importance:80") == [found.values["made"]["id"]]


def test_the_service_itself_is_the_actor(desk: Desk) -> None:
    done(desk, "record.delete", record_type="task", record_id=task(desk))
    assert desk.log("record.deleted")[-1]["actor__context"] == "svc.contexts.app"


def test_administrative_acts_of_scripts_are_logged_except_in_dry_runs(desk: Desk) -> None:
    before = desk.log()[-1]["id"]
    role = done(desk, "record.create", record_type="role", fields={"name": "Keepers"})["id"]
    done(desk, "record.update", record_type="role", record_id=role, fields={"privs_mode": "all"})
    done(desk, "record.upsert", record_type="role", record_query=f"id:{role}", fields={"name": "Porters"})
    done(desk, "record.delete", record_type="role", record_id=role)
    assert desk.acts(before) == [
        "Helpdesk created the role Keepers", "Helpdesk changed the role Keepers: privs_mode",
        "Helpdesk changed the role Porters: name", f"Helpdesk deleted the role Porters (number {role})",
    ]  # fmt: skip
    script = "start:\n  record.create:\n    inputs:\n      record_type: role\n      fields:\n        name: Nobody\n"
    engine.run(Script(script, ALLOW), {}, ServiceHost(desk.context(), dry=True))
    assert "Nobody" not in str(desk.log())


@pytest.mark.parametrize("expand", ["owner_", ["owner_", "links"]])
def test_expand_loads_immediately(desk: Desk, ids: dict[str, int], expand: Any) -> None:
    fields = {"title": "Pump", "owner_id": ids["nora"]}
    made = done(desk, "record.create", record_type="task", fields=fields, expand=expand)
    assert made["owner_first_name"] == "Nora" and ("links" in made) is (expand != "owner_")


def test_an_update_may_change_nothing(desk: Desk) -> None:
    id = task(desk)
    changed = done(desk, "record.update", record_type="tasks", record_id=str(id), fields={"title": "Valve"})
    assert changed["title"] == "Valve"
    assert done(desk, "record.update", record_type="task", record_id=id, fields={})["title"] == "Valve"


def test_a_script_assigns_a_ticket_by_the_way_of_its_group(desk: Desk, ids: dict[str, int]) -> None:
    id = desk.own("ticket", subject="Boat", group_id=ids["support"])
    assert done(desk, "ticket.assign", ticket_id=id) == {"owner_id": ids["milo"]}
    changed = done(desk, "record.update", record_type="ticket", record_id=id, fields={"owner_id": 0, "assign": "group"})
    assert changed["owner_id"] == 0  # nobody else is a member


def test_a_script_notifies_workers_about_a_ticket(desk: Desk, ids: dict[str, int]) -> None:
    id = desk.own("ticket", subject="Boat", group_id=ids["support"])
    given = {"ticket_id": id, "message": "Look"}
    assert done(desk, "ticket.notify", **given, to=["owner", "watchers"]) == {"worker_ids": []}
    found = done(desk, "ticket.notify", **given, to=[f"worker:{ids['nora']}", f"group:{ids['support']}"])
    assert set(found["worker_ids"]) == {ids["nora"], ids["milo"]}
    assert len(desk.found("notification", "activity:custom.other")) == 2
    for wrong in ("milo", "worker:", "group:99999", "bucket:1"):
        assert "to: " in refused(desk, "ticket.notify", **given, to=[wrong])


def test_a_record_is_read_and_deleted(desk: Desk) -> None:
    id = task(desk)
    assert done(desk, "record.get", record_type="svc.contexts.task", record_id=id)["title"] == "Pump"
    assert done(desk, "record.delete", record_type="task", record_id=id)["title"] == "Pump"
    assert desk.found("task", "") == []


UPSERT: dict[str, Any] = {
    "record_type": "task", "record_query": "title:${title}", "record_query_params": {"title": "Pump"},
}  # fmt: skip


def test_upsert_creates_changes_or_refuses(desk: Desk) -> None:
    first = done(desk, "record.upsert", **UPSERT, fields={"title": "Pump", "importance": 1})["id"]
    assert done(desk, "record.upsert", **UPSERT, fields={"importance": 2})["id"] == first
    assert desk.found("task", "importance:2") == [first]
    second = task(desk)
    assert "finds 2 records" in refused(desk, "record.upsert", **UPSERT, fields={"importance": 3})
    assert desk.found("task", "importance:3") == []
    query = UPSERT | {"record_query": "title:${title} limit:1 sort:-id"}
    assert done(desk, "record.upsert", **query, fields={"importance": 3})["id"] == second


UPSERTS, CREATES, UPDATES = (f"record.{each}:\n    allow: yes\n  " for each in ("upsert", "create", "update"))
RULES = [
    (UPSERTS, False, "run record.create: no rule"),
    (UPSERTS + CREATES, False, ""),
    (UPSERTS + CREATES, True, "run record.update: no rule"),
    (UPDATES + CREATES, True, "run record.upsert: no rule"),
    (UPSERTS + "record.update:\n    allow@bool: {{inputs.record_id == known}}", True, "run record.update: no rule"),
    (UPSERTS + "record.update:\n    allow@bool: {{inputs.record_id > 0}}", True, ""),
    (UPSERTS + "record.update:\n    allow@bool: {{inputs.fields.importance == 2}}", True, ""),
    (
        UPSERTS + "record.create:\n    deny/big@bool: {{inputs.fields.importance > 1}}",
        False,
        "denied by its rule 'deny/big'",
    ),
]


@pytest.mark.parametrize(("rules", "is_there", "message"), RULES)
def test_upsert_needs_permission_for_all_it_does(desk: Desk, rules: str, is_there: bool, message: str) -> None:
    if is_there:
        task(desk)
    fields = {"title": "Pump", "importance": 2}
    found = ran(desk, {"c1": ("record.upsert", UPSERT | {"fields": fields})}, f"commands:\n  {rules}")
    assert message in found.message and (found.state == "failure") is bool(message), found.message
    assert len(desk.found("task", "importance:2")) == (not message)


def test_search_returns_records_by_their_ids(desk: Desk) -> None:
    ids = [task(desk, title=f"Pump {number}", importance=number) for number in (30, 10, 20)]
    found = done(desk, "record.search", record_type="task", record_query="Pump sort:importance")
    assert list(found) == [str(ids[1]), str(ids[2]), str(ids[0])]
    assert done(desk, "record.search", record_type="task", record_query="Pump limit:2").keys() == {
        str(id) for id in ids[:2]
    }
    assert done(desk, "record.search", record_type="task", record_query="Pump limit:1 sort:-importance")["id"] == ids[0]
    assert done(desk, "record.search", record_type="task", record_query="limit:1 title:Valve") is False
    assert done(desk, "record.search", record_type="task", record_query="title:Valve") == {}


@pytest.mark.parametrize(
    ("query", "params", "titles"),
    [
        ("title:${t}", {"t": 'A " ) OR title:B'}, ['A " ) OR title:B']),
        ("title:${t} id:>0", {"t": "B) OR (title:BC"}, []),
        ("title:${t}*", {"t": "B"}, ["B", "BC"]),
        ("title:[${a},${b}]", {"a": "B", "b": "BC"}, ["B", "BC"]),
        ("title:${list}", {"list": ["B", "BC"]}, ["B", "BC"]),
        ("importance:>${n} sort:-id", {"n": 2}, ["BC", "B"]),
        ("(title:${t} OR title:BC) limit:${n}", {"t": "B", "n": 5}, ["B", "BC"]),
        ('title:"${t}"', {"t": "B"}, ["B"]),
    ],
)
def test_values_in_a_search_are_escaped(desk: Desk, query: str, params: dict[str, Any], titles: list[str]) -> None:
    for number, title in enumerate(('A " ) OR title:B', "B", "BC")):
        task(desk, title=title, importance=number + 2)
    found = done(desk, "record.search", record_type="task", record_query=query, record_query_params=params)
    assert [each["title"] for each in found.values()] == titles


@pytest.mark.parametrize(
    ("validation", "message"),
    [("{% if found is empty %}nothing found{% endif %}", ""), ("{{found|length}} found", "1 found"), ("  \n ", "")],
)
def test_search_may_be_validated(desk: Desk, validation: str, message: str) -> None:
    task(desk)
    script = f"""
start:
  record.search:
    output: found
    inputs:
      record_type: task
      record_query: title:Pump
      validation@raw: {validation}
    on_error:
      return:
        error@key: found:error
"""
    found = engine.run(Script(script, ALLOW), {}, ServiceHost(desk.context()))
    assert (found.returned or {}).get("error", "") == message, found


BAD = [
    ("record.create", {"record_type": "tsak", "fields": {"title": "x"}}, "did you mean 'task'"),
    ("record.create", {"record_type": "task", "fields": {}}, "'fields' must not be empty"),
    ("record.create", {"record_type": "task", "fields": {"titel": "x"}}, "did you mean 'title'"),
    ("record.create", {"record_type": "task", "fields": {"title": ""}}, "title must not be empty"),
    ("record.create", {"record_type": "task", "fields": {"title": "a\udcff"}}, "bytes that are not text"),
    ("record.create", {"record_type": "automation_log", "fields": {"message": "x"}}, "automation logs"),
    ("record.update", {"record_type": "task", "record_id": 999, "fields": {"title": "x"}}, "there is no task 999"),
    ("record.update", {"record_type": "task", "record_id": 999}, "needs the input 'fields'"),
    ("record.update", {"record_type": "task", "record_id": "x", "fields": {}}, "must be a number"),
    ("record.get", {"record_type": "task", "record_id": 999}, "there is no task 999"),
    ("record.get", {"record_type": "task", "record_id": -1}, "must be an id"),
    ("record.delete", {"record_type": "task", "record_id": 999}, "there is no task 999"),
    ("record.search", {"record_type": "task", "record_query": "titel:x"}, "did you mean 'title'"),
    ("record.search", {"record_type": "task", "record_query": "title:${x}"}, "there is no value for ${x}"),
    ("record.search", {"record_type": "task", "record_query": "${x}", "record_query_params": {"x": [1, 2]}}, "a list"),
    ("record.search", {"record_type": "automation_resource", "record_query": "x"}, "cannot be searched"),
    ("record.upsert", {"record_type": "task", "record_query": "title:(", "fields": {"title": "x"}}, "bracket"),
    ("record.search", {"record_type": "task", "record_query": "x", "record_qery_params": {}}, "did you mean"),
]


@pytest.mark.parametrize(("name", "inputs", "message"), BAD)
def test_impossible_operations_are_reported(desk: Desk, name: str, inputs: dict[str, Any], message: str) -> None:
    assert message.lower() in refused(desk, name, **inputs).lower()


def test_disable_events_suppresses_notifications(desk: Desk, ids: dict[str, int]) -> None:
    id = task(desk, owner_id=ids["nora"])

    def notification_count(**more: Any) -> int:
        before = len(desk.found("notification", ""))
        done(desk, "record.update", record_type="task", record_id=id, fields={"status": "closed"}, **more)
        done(desk, "record.update", record_type="task", record_id=id, fields={"status": "open"})
        return len(desk.found("notification", "")) - before

    assert notification_count(disable_events=True) < notification_count()


WRITING = [
    ("record.create", {"record_type": "task", "fields": {"title": "New"}}),
    ("record.update", {"record_type": "task", "fields": {"title": "Changed"}}),
    ("record.upsert", {"record_type": "task", "record_query": "title:Pump", "fields": {"title": "Changed"}}),
    ("record.upsert", {"record_type": "task", "record_query": "title:None", "fields": {"title": "New"}}),
    ("record.delete", {"record_type": "task"}),
]


@pytest.mark.parametrize(("name", "inputs"), WRITING)
def test_a_dry_run_reports_the_result_and_writes_nothing(desk: Desk, name: str, inputs: dict[str, Any]) -> None:
    id = task(desk)
    if name in ("record.update", "record.delete"):
        inputs = inputs | {"record_id": id}
    before = everything(desk)
    found = done(desk, name, dry=True, **inputs)
    assert found["title"] == inputs.get("fields", {}).get("title", "Pump")
    assert everything(desk) == before


def everything(desk: Desk) -> dict[str, list[Any]]:
    """Returns every row of every table."""

    def read(tx: Any) -> dict[str, list[Any]]:
        names = databases.tables(tx.connection)
        return {name: list(tx.connection.execute(f'SELECT * FROM "{name}"')) for name in names}

    return desk.read(read)


@pytest.mark.parametrize(("name", "inputs"), WRITING)
def test_without_a_service_they_fail_with_a_message(name: str, inputs: dict[str, Any]) -> None:
    given = {"given": {"record_id": 1} | inputs if name in ("record.update", "record.delete") else inputs}
    script = f"start:\n  {name}:\n    inputs@key: given"
    found = engine.run(Script(script, ALLOW), given, StandaloneHost())
    assert found.state == "failure" and "needs a running service" in found.message
