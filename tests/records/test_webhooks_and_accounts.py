"""Webhooks and connected accounts: secrets that are generated, stored, and shown only to permitted workers."""

import dataclasses
import json
import re

import pytest

from server import settings
from server.errors import BadQuery, Conflict, Forbidden, Invalid, Required
from server.record_types.describe import describe
from tests.records.desk import NOW

APP = {"owner__context": "app", "owner_id": 0}
OAUTH2 = "svc.service.provider.oauth2"


def test_addresses_of_webhooks_cannot_be_guessed(desk):
    guids = [desk.create("webhook_listener", name="W", **more)["guid"] for more in [{}, {"guid": ""}] * 10]
    assert len(set(guids)) == 20 and all(re.fullmatch("[a-z0-9]{40}", guid) for guid in guids)


def test_a_webhook_returns_its_address(desk, ids):
    made = desk.create("webhook_listener", name="W")
    assert made["url"] == f"https://desk.example/webhooks/{made['guid']}"
    changed = desk.update("webhook_listener", made["id"], guid="Another-Secret_01", by=ids["nora"])
    assert changed["url"] == "https://desk.example/webhooks/Another-Secret_01"
    elsewhere = settings.load({"webhook_base_url": "https://hooks.example"}, {}, data_folder=desk.service.settings.data)
    desk.service = dataclasses.replace(desk.service, settings=elsewhere)
    assert desk.record("webhook_listener", made["id"])["url"] == "https://hooks.example/webhooks/Another-Secret_01"


def test_a_webhook_preserves_its_address_until_another_one_is_sent(desk):
    made = desk.create("webhook_listener", name="W")
    assert desk.update("webhook_listener", made["id"], name="New", guid="")["guid"] == made["guid"]
    assert desk.update("webhook_listener", made["id"], guid="Another-Secret_01")["guid"] == "Another-Secret_01"


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"guid": "short"}, Invalid, "guid"),
        ({"guid": "a" * 41}, Invalid, "guid"),
        ({"guid": "with/slash/and/more"}, Invalid, "guid"),
        ({"guid": "0123456789abcdef"}, Conflict, "guid"),
        ({"name": ""}, Required, "name"),
    ],
)
def test_invalid_webhooks_are_refused(desk, fields, error, field):
    desk.create("webhook_listener", name="W", guid="0123456789abcdef")
    with pytest.raises(error, match=field):
        desk.create("webhook_listener", **{"name": "W"} | fields)


@pytest.mark.parametrize(
    ("uri", "fields"),
    [("webhook_listener", {"name": "W"}), ("connected_service", {"name": "S", "extension_id": OAUTH2})],
)
def test_only_administrators_see_webhooks_and_services(desk, ids, uri, fields):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    id = desk.create(uri, by=ids["nora"], **fields)["id"]
    assert desk.found(uri, "", by=ids["nora"]) == [id]
    assert desk.found(uri, "", by=ids["milo"]) == []
    for asked in (
        lambda: desk.record(uri, id, by=ids["milo"]),
        lambda: desk.update(uri, id, by=ids["milo"], name="X"),
        lambda: desk.delete(uri, id, by=ids["milo"]),
        lambda: desk.create(uri, by=ids["milo"], **fields),
    ):
        with pytest.raises(Forbidden):
            asked()


@pytest.fixture
def connected(desk, ids):
    """A service and milo's account there, both with a secret."""
    service = desk.create(
        "connected_service", name="Stock", extension_id=OAUTH2, params={"client_secret": "canary", "n": {"m": "canary"}}
    )["id"]
    account = desk.create(
        "connected_account", name="Mine", service_id=service, owner__context="worker", owner_id=ids["milo"],
        params={"token": "canary"},
    )["id"]  # fmt: skip
    return {"connected_service": service, "connected_account": account}


@pytest.mark.parametrize("uri", ["connected_service", "connected_account"])
def test_settings_and_credentials_are_never_returned(desk, ids, connected, uri):
    id = connected[uri]
    assert "canary" in json.dumps(desk.row(uri, id))
    everything = "params,owner_,service_,service_params,custom_,links,comments"
    answers = [
        desk.record(uri, id, expand=everything),
        desk.update(uri, id, expand=everything, params={"password": "canary"}),
        [desk.record(uri, each, expand=everything) for each in desk.found(uri, "")],
        describe(desk.registry.type(uri)),
    ]
    assert "canary" not in json.dumps(answers) and not any("params" in each for each in answers[:2])
    for q in ("params:canary", "sort:params"):
        with pytest.raises(BadQuery):
            desk.found(uri, q)
    assert desk.row(uri, id)["params"] == {"password": "canary"}


@pytest.mark.parametrize("uri", ["connected_service", "connected_account"])
@pytest.mark.parametrize(("sent", "kept"), [({}, {}), ([], {}), ('{"a": 1}', {"a": 1})])
def test_params_are_a_map(desk, ids, connected, uri, sent, kept):
    desk.update(uri, connected[uri], params=sent)
    assert desk.row(uri, connected[uri])["params"] == kept
    with pytest.raises(Invalid, match="params: takes a map"):
        desk.update(uri, connected[uri], params=["a"])


def test_a_service_deletes_its_accounts(desk, ids, connected):
    other = desk.create("connected_account", name="Other", **APP)["id"]
    desk.delete("connected_service", connected["connected_service"])
    assert desk.found("connected_account", "") == [other]


def test_accounts_require_the_right_to_act_for_their_owner(desk, ids, connected):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    id, own = connected["connected_account"], {"owner__context": "worker", "owner_id": ids["olga"]}
    assert desk.found("connected_account", "", by=ids["olga"]) == []
    with pytest.raises(Forbidden):
        desk.update("connected_account", id, by=ids["olga"], name="X")
    with pytest.raises(Forbidden):
        desk.create("connected_account", by=ids["olga"], name="X", **APP)
    shown = desk.create("connected_account", by=ids["olga"], name="X", uri="My.Own", **own)
    assert (shown["uri"], desk.row("connected_account", shown["id"])["created_at"]) == ("my.own", NOW)
    assert "created_at" not in shown
    assert desk.update("connected_account", id, by=ids["milo"], name="New")["name"] == "New"


@pytest.mark.parametrize(
    ("uri", "fields", "error", "field"),
    [
        ("connected_service", {"extension_id": "svc.service.provider.unknown"}, Invalid, "extension_id"),
        ("connected_service", {"extension_id": ""}, Required, "extension_id"),
        ("connected_service", {"uri": "with_underscore"}, Invalid, "uri"),
        ("connected_service", {"uri": "a" * 65}, Invalid, "uri"),
        ("connected_service", {"uri": "TAKEN"}, Conflict, "uri"),
        ("connected_account", {"uri": "with space"}, Invalid, "uri"),
        ("connected_account", {"uri": "Taken"}, Conflict, "uri"),
        ("connected_account", {"service_id": 99}, Invalid, "service_id"),
        ("connected_account", {"owner_id": 5}, Invalid, "owner_id"),
        ("connected_account", {"created_at": 5}, Invalid, "created_at"),
    ],
)
def test_invalid_services_and_accounts_are_refused(desk, uri, fields, error, field):
    usual = {"name": "S", **(APP if uri == "connected_account" else {"extension_id": OAUTH2})}
    desk.create(uri, **usual | {"uri": "taken"})
    with pytest.raises(error, match=field):
        desk.create(uri, **usual | fields)


def test_a_service_describes_its_login(desk):
    made = desk.create("connected_service", name="S", extension_id=OAUTH2, uri="My-Stock")
    assert (made["extension_name"], made["uri"]) == ("OAuth 2", "my-stock")
