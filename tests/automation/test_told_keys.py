"""The help page of events, compared with the keys that automations receive: exactly the documented ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.record_types.shared.triggers import EVENTS, KEYS, MACRO, OTHERS
from tests.api.post import customer
from tests.automation.told import Told, told_office
from tests.service import Api

ENGINE = {"inputs"}  # every binding may add them
VALUES = "{{placeholders_list()|json_encode}}"
LISTED = "{{placeholders_list()|keys|json_encode}}"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with told_office(tmp_path_factory.mktemp("keys")) as opened:
        yield opened


def mail_in(office: Told) -> Any:
    raw = f"From: {customer()}\r\nTo: support@localhost\r\nSubject: Pump\r\n\r\nIt drips.\r\n"
    return office.api.post("/rest/parser/parse.json", message=raw).ok()


def mail_out(office: Told) -> Any:
    values = {"group_id": office.api.ids["support"], "to": customer(), "subject": "Boat", "content": "Hello"}
    return office.api.compose(**values).ok()


def reply(office: Told) -> Any:
    _, message_id = office.ticket()
    return office.api.reply(message_id=message_id, content="Hello again").ok()


def move(office: Told) -> Any:
    ticket_id, _ = office.ticket()
    return office.api.update("ticket", ticket_id, group_id=office.api.ids["private"], owner_id=0).ok()


def merge(office: Told) -> Any:
    ids = [str(office.ticket()[0]) for _ in range(2)]
    return office.api.post("/rest/tickets/merge.json", **{"ticket_ids[]": ids}).ok()


def remind(office: Told) -> Any:
    fields = {"name": "Call Ana", "remind_at": "1 second ago", "worker_id": office.api.ids["milo"]}
    return office.api.create("reminder", **fields).ok()


def miss(office: Told) -> Any:
    """A ticket that was due an hour ago."""
    office.api.create("service_target", name="Soon", response_minutes=60, importance_min=97).ok()
    fields = {"subject": "Late", "created": "2 hours ago", "importance": 98, "group_id": office.api.ids["support"]}
    return office.api.create("ticket", **fields).ok()


def change(office: Told) -> Any:
    made = office.api.create("org", name="Kite").ok()
    return office.api.update("org", made["id"], name="Kite Ltd").ok()


CAUSES: dict[str, Callable[[Told], Any]] = {
    "mail.draft.validate": mail_out,
    "mail.filter": mail_in,
    "mail.moved": move,
    "mail.received": mail_in,
    "mail.reply.validate": reply,
    "mail.route": mail_in,
    "mail.send": mail_out,
    "mail.sent": mail_out,
    "record.changed": change,
    "record.merge": merge,
    "record.merged": merge,
    "reminder.remind": remind,
    "ticket.event": lambda office: office.api.create("ticket", subject="New", group_id=office.api.ids["support"]).ok(),
    "ticket.target": miss,
}
OF_CONSOLE = {"worker.authenticated", "worker.authenticate.failed"}  # tested where people sign in
OF_CUSTOMERS = {"ticket.rated"}  # tested where customers rate


def test_every_event_is_caused_here() -> None:
    assert {name for name, each in EVENTS.items() if not each.is_screen} - OF_CONSOLE - OF_CUSTOMERS == set(CAUSES)


@pytest.mark.parametrize("event", CAUSES)
def test_an_event_passes_the_documented_keys(office: Told, event: str) -> None:
    only = "change_type == 'updated' and record__type == 'org'" if event == "record.changed" else ""
    with office.bound(event, _reporting_script(office), only=only):
        CAUSES[event](office)
        found = office.take_report()
    _require(EVENTS[event].keys, found)


def _reporting_script(office: Told) -> str:
    return office.reporting_script("none").replace(
        "none@key: none", f"keys@json: {LISTED}\n        values@json: {VALUES}"
    )


def _require(declared: tuple[str, ...], found: dict[str, Any]) -> None:
    """Asserts that every key is declared, or belongs to a declared record, and that every declared key exists."""
    keys = {key for key in found["keys"] if not key.startswith("__")} - ENGINE
    records = tuple(each for each in declared if each.endswith("_"))
    assert {key for key in keys if key not in declared and not key.startswith(records)} == set()
    assert {each for each in declared if each not in keys and not _is_there(each, keys)} - ENGINE == set()
    for name in declared:
        if name.endswith("_"):
            context, id = found["values"].get(f"{name}_context"), found["values"].get(f"{name}id")
            assert isinstance(context, str) and isinstance(id, int), (name, context, id)
        elif name in found["values"]:
            assert isinstance(found["values"][name], KEYS[name].kinds), (name, found["values"][name])


def _is_there(declared: str, keys: set[str]) -> bool:
    return declared.endswith("_") and any(key.startswith(declared) for key in keys)


def test_a_webhook_passes_the_documented_keys(office: Told) -> None:
    name = office.automation("webhook.respond", _reporting_script(office))
    hook = office.api.create("webhook_listener", name="Keys", automations_kata=f"automation/a:\n  uri: {name}").ok()
    _called(office.api, hook["id"])
    _require(OTHERS["webhook.respond"].keys, office.take_report())


def _called(api: Api, id: int) -> None:
    guid = api.record("webhook_listener", id)["guid"]
    assert api.session.post(f"{api.url}/webhooks/{guid}", timeout=30).status_code == 200


def test_a_timer_passes_the_documented_keys(office: Told) -> None:
    office.run_once(_reporting_script(office))
    _require(OTHERS["automation.timer"].keys, office.take_report())


def test_a_data_query_passes_the_documented_keys(office: Told) -> None:
    name = office.automation("data.query", _reporting_script(office))
    office.api.get("/rest/data/query.json", q=f"type:automation.invoke name:{name} format:table").ok()
    _require(OTHERS["data.query"].keys, office.take_report())


def test_a_function_passes_the_documented_keys(office: Told) -> None:
    name = office.automation("automation.function", f"inputs:\n  text/level:\n{_reporting_script(office)}")
    office.run_once(f"start:\n  function:\n    uri: {name}\n    output: o\n    inputs:\n      level: 7\n")
    _require(OTHERS["automation.function"].keys, office.take_report())


def test_a_function_of_templates_passes_the_documented_keys(office: Told) -> None:
    script = f"inputs:\n  text/level:\nstart:\n  return:\n    keys@json: {LISTED}\n    values@json: {VALUES}\n"
    name = office.automation("scripting.function", script)
    steps = office.reporting_script("called").removeprefix("start:\n")
    call = f"{{{{svc_automation('{name}', {{level: '7'}})|json_encode}}}}"
    office.run_once(f"start:\n  set:\n    called@json: {call}\n{steps}")
    _require(OTHERS["scripting.function"].keys, office.take_report()["called"]["return"])


def test_a_macro_passes_the_documented_keys(office: Told) -> None:
    office.automation("ticket.macro", _reporting_script(office))
    [name] = [each["name"] for each in office.api.search("automation", f"trigger:{MACRO}").ok()["results"]]
    id, _ = office.ticket()
    office.api.post(f"/rest/tickets/{id}/macro.json", macro=name).ok()
    _require(OTHERS["ticket.macro"].keys, office.take_report())


def test_a_resource_passes_the_documented_keys(office: Told) -> None:
    name = office.automation("resource.get", _reporting_script(office))
    fields = {"name": "keys", "extension_id": "svc.resource.map", "is_dynamic": 1}
    office.api.create("resource", **fields, automation_kata=f"automation/a:\n  uri: {name}").ok()
    office.run_once("start:\n  file.read:\n    output: o\n    inputs:\n      uri: svc:resource:keys\n")
    _require(OTHERS["resource.get"].keys, office.take_report())


def test_every_key_of_a_trigger_is_documented() -> None:
    declared = {key for each in (*EVENTS.values(), *OTHERS.values()) if not each.is_screen for key in each.keys}
    assert declared == set(KEYS)
    assert {key for key, each in KEYS.items() if key.endswith("_") != (each.kinds == ())} == {"..."}
    assert [key for key, each in KEYS.items() if bool(each.example) != bool(each.kinds)] == []
