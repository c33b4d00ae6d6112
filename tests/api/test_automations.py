"""The automation log, webhooks and built-in records over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.records.desk import Desk
from tests.service import Api, Server, people

PATHS = ("/rest/automations/logs/search.json", "/rest/automation/logs/search.json")
KEYS = ["automation_name", "automation_node", "created_at", "id", "level", "level__label", "message"]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The administrator's client of a server whose automations wrote 60 entries: two of three at debug level, some
    errors."""
    server = Server(tmp_path_factory.mktemp("logged") / "data")
    client = server.set_up()
    people(client)
    desk = Desk(server.data)
    for number in range(60):
        desk.own(
            "automation_log", automation_name=f"depot.{number % 2}", automation_node=f"start:log/{number % 3}",
            level=(4, 7, 7)[number % 3] if number % 10 else 3, message=f"Step {number}", created_at=1_700_000_000,
        )  # fmt: skip
    desk.close()
    yield client
    assert server.stop() == 0


def messages(api: Api, q: str, **params: int) -> list[str]:
    return [each["message"] for each in api.get(PATHS[0], q=q, limit=250, **params).ok()["results"]]


@pytest.mark.parametrize("path", PATHS)
def test_entries_come_newest_first_in_pages_counted_from_zero(logged: Api, path: str) -> None:
    first = logged.get(path).ok()
    assert {key: first[key] for key in ("count", "limit", "page", "total")} == {
        "count": 25, "limit": 25, "page": 0, "total": 60,
    }  # fmt: skip
    assert [each["message"] for each in first["results"]] == [f"Step {number}" for number in range(59, 34, -1)]
    assert sorted(first["results"][0]) == KEYS
    last = logged.get(path, page=2).ok()
    assert (last["count"], last["page"], last["results"][-1]["message"]) == (10, 2, "Step 0")
    past = logged.get(path, page=99).ok()
    assert (past["results"], past["total"], past["page"]) == ([], 60, 99)


def test_an_entry_has_the_name_of_its_level(logged: Api) -> None:
    entry = logged.get(PATHS[0], q='message:"Step 58"').ok()["results"][0]
    assert {key: entry[key] for key in KEYS if key != "id"} == {
        "automation_name": "depot.0", "automation_node": "start:log/1", "created_at": 1_700_000_000, "level": 7,
        "level__label": "debug", "message": "Step 58",
    }  # fmt: skip


@pytest.mark.parametrize(("limit", "effective"), [("1", 1), ("250", 250), ("0", 1), ("9999", 250), ("many", 1)])
def test_the_limit_is_clamped(logged: Api, limit: str, effective: int) -> None:
    response = logged.get(PATHS[0], limit=limit).ok()
    assert (response["limit"], response["count"]) == (effective, min(effective, 60))


def test_order_and_pages_in_a_query_are_ignored(logged: Api) -> None:
    plain = logged.get(PATHS[0], q="level:debug").ok()
    for q in ("level:debug sort:id", "level:debug sort:-bogus", "level:debug limit:3", "level:debug page:2"):
        assert logged.get(PATHS[0], q=q).ok().json == plain.json, q


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("level:error", [50, 40, 30, 20, 10, 0]),
        ("level:[warning,error] id:<8", [6, 3, 0]),
        ("level:!debug id:<5", [3, 0]),
        ("automation:(name:depot.1) id:<6", [3, 1]),
        ('automation:(node:"start:log/1") id:<6', [4, 1]),
        ("automation:depot.1 id:<4", [1]),
        ("message:*5", [55, 45, 35, 25, 15, 5]),
        ("message:step", []),
        ("created:today", []),
        ("created:2023 id:<2", [0]),
    ],
)
def test_entries_are_searched(logged: Api, q: str, expected: list[int]) -> None:
    """Ids count from 1, steps from 0."""
    assert messages(logged, q) == [f"Step {number}" for number in expected]


@pytest.mark.parametrize(
    "q",
    [
        "colour:red", "step", "level:loud", "level:e", "level:", "id:x", "automation:(level:debug)",
        "automation:(nod:x)",
    ],
)  # fmt: skip
def test_an_invalid_query_is_refused_with_its_position(logged: Api, q: str) -> None:
    response = logged.get(PATHS[0], q=q)
    assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID")
    assert isinstance(response["position"], int)


def test_only_administrators_read_the_log(logged: Api) -> None:
    for path in PATHS:
        response = logged.as_("milo").get(path)
        assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
    assert logged.as_("milo").search("automation_log", "").ok()["total"] == 0
    assert Api(logged.url, "no token").get(PATHS[0]).status == 401


def test_entries_cannot_be_changed_like_records(logged: Api) -> None:
    assert logged.record("automation_log", 1).status == 405
    assert logged.create("automation_log", message="x").status == 403
    assert logged.update("automation_log", 1, message="x").status == 403
    assert logged.remove("automation_log", 1).status == 403


def test_built_in_records_exist_from_the_first_start(logged: Api) -> None:
    assert logged.search("automation_event", "name:mail.received").ok()["total"] == 1
    toolbar = logged.search("toolbar", "name:mail.compose").ok()["results"][0]
    assert toolbar["extension_id"] == "svc.toolbar.mail.compose"
    for uri, id in (("automation_event", 1), ("toolbar", toolbar["id"])):
        assert logged.create(uri, name="x", extension_id="y").status == 403
        assert logged.remove(uri, id).status == 403
        response = logged.update(uri, id, name="other")
        assert (response.status, response["errors"][0]["field"]) == (422, "name")
        assert logged.update(uri, id, description="Ours").ok()["description"] == "Ours"
    assert logged.create("package", name="P", uri="p", point="x").status == 403


def test_changes_of_built_in_records_survive_a_restart(data: Path) -> None:
    server = Server(data)
    client = server.set_up()
    before = client.search("automation_event", "").ok()["total"]
    client.update("automation_event", 1, description="Ours").ok()
    server.stop()
    server = Server(data)
    try:
        again = Api(server.url, client.token)
        assert again.search("automation_event", "").ok()["total"] == before
        assert again.record("automation_event", 1).ok()["description"] == "Ours"
    finally:
        server.stop()


def test_webhooks_and_credentials_are_hidden_from_others(api: Api) -> None:
    webhook = api.create("webhook_listener", name="Depot").ok()
    assert len(webhook["guid"]) == 40
    milo = api.as_("milo")
    assert milo.record("webhook_listener", webhook["id"]).status == 403
    assert milo.search("webhook_listener", f"guid:{webhook['guid']}").ok()["total"] == 0
    account = api.create(
        "connected_account", name="Stock", owner__context="app", owner_id=0, params={"token": "canary"}
    ).ok()
    for response in (account, milo.record("connected_account", account["id"], expand="params").ok()):
        assert "canary" not in response.response.text and "params" not in response.json


def test_automations_are_written_by_administrators_and_called_by_name(api: Api) -> None:
    script = "start:\n  return:\n    body: Hello \N{KITE}\n"
    fields = {"name": "depot.hello", "extension_id": "svc.trigger.webhook.respond", "script": script}
    made = api.create("automation", expand="script", **fields).ok()
    assert made["script"] == script
    assert api.create("automation", **fields | {"name": "DEPOT.hello"}).status == 409
    assert api.create("automation", **fields | {"name": "b", "extension_id": "mail.sent"}).status == 422
    assert api.as_("milo").create("automation", **fields | {"name": "b"}).status == 403
    assert api.as_("milo").record("automation", made["id"]).ok()["name"] == "depot.hello"
