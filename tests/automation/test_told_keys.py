"""The help page of events, held against what automations are handed: every key it names, and no other."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.records.shared.triggers import EVENTS, OTHERS
from tests.api.post import customer
from tests.automation.told import Told, told_office
from tests.service import Api

ENGINE = {"inputs"}  # every binding may add them
KEYS = "{{placeholders_list()|keys|json_encode}}"


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
    "ticket.target": miss,
}
OF_CONSOLE = {"worker.authenticated", "worker.authenticate.failed"}  # tested where people log in


def test_every_event_that_is_told_is_caused_here() -> None:
    assert {name for name, each in EVENTS.items() if not each.is_screen} - OF_CONSOLE == set(CAUSES)


@pytest.mark.parametrize("event", CAUSES)
def test_an_event_hands_over_what_the_help_says(office: Told, event: str) -> None:
    only = "change_type == 'updated' and record__type == 'org'" if event == "record.changed" else ""
    with office.bound(event, _telling(office), only=only):
        CAUSES[event](office)
        found = office.take_told()
    _require(EVENTS[event].keys, found)


def _telling(office: Told) -> str:
    return office.telling("none").replace("none@key: none", f"keys@json: {KEYS}")


def _require(declared: tuple[str, ...], found: dict[str, Any]) -> None:
    """Every key is declared, or one of a declared record; every declared one is there."""
    keys = {key for key in found["keys"] if not key.startswith("__")} - ENGINE
    records = tuple(each for each in declared if each.endswith("_"))
    assert {key for key in keys if key not in declared and not key.startswith(records)} == set()
    assert {each for each in declared if each not in keys and not _is_there(each, keys)} - ENGINE == set()


def _is_there(declared: str, keys: set[str]) -> bool:
    return declared.endswith("_") and any(key.startswith(declared) for key in keys)


def test_a_webhook_hands_over_what_the_help_says(office: Told) -> None:
    name = office.automation("webhook.respond", _telling(office))
    hook = office.api.create("webhook_listener", name="Keys", automations_kata=f"automation/a:\n  uri: {name}").ok()
    _called(office.api, hook["id"])
    _require(OTHERS["webhook.respond"].keys, office.take_told())


def _called(api: Api, id: int) -> None:
    guid = api.record("webhook_listener", id)["guid"]
    assert api.session.post(f"{api.url}/webhooks/{guid}", timeout=30).status_code == 200


def test_a_timer_hands_over_what_the_help_says(office: Told) -> None:
    name = office.automation("automation.timer", _telling(office))
    fields = {"name": "Keys", "next_run_at": "1 second ago", "automations_kata": f"automation/a:\n  uri: {name}"}
    office.api.create("automation_timer", **fields).ok()
    _require(OTHERS["automation.timer"].keys, office.take_told())


def test_a_data_query_hands_over_what_the_help_says(office: Told) -> None:
    name = office.automation("data.query", _telling(office))
    office.api.get("/rest/data/query.json", q=f"type:automation.invoke name:{name} format:table").ok()
    _require(OTHERS["data.query"].keys, office.take_told())
