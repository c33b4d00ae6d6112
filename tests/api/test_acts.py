"""Administrative actions through the API and the command line: each is in the activity log with its actor, readable
only by those it concerns, and without secrets. The forms of the console are covered by
tests/console/test_acts.py."""

import json
from typing import Any

import pytest

from server import app
from server.record_types.registry import load
from server.record_types.shared.act_sentences import RECORDS, WORDS
from server.web.routes import ENDPOINTS
from tests.api.minimal import MINIMAL, made, number
from tests.service import Api, Server, command

app.endpoints()
pytestmark = pytest.mark.usefixtures("as_before")
REGISTRY = load()
WORKER = "svc.contexts.worker"
SECRET = "s3cret-of-the-kite"
# Changes of records without a name: the field, and a different value each time.
CHANGES: dict[str, Any] = {
    "address": lambda: {"is_banned": 1},
    "activity_log": lambda: {"params": {"message": f"Counted {number()}"}},
    "automation_event": lambda: {"automations_kata": f"automation/a{number()}:\n  uri: {{{{'a'}}}}\n"},
    "toolbar": lambda: {"toolbar_kata": f"interaction/a{number()}:\n  label: A\n"},
    "worker": lambda: {"title": f"Keeper {number()}"},
    "currency": lambda: {"name": f"krone {number()}"},
}
# Endpoints that write, and their entries in the log; the others are listed below with a reason.
ACTS = {
    "POST oauth/tokens/create": ("token.created", lambda api: {"worker_id": api.ids["nora"], "expires": "1 hour"}),
    "POST packages/export": ("data.exported", lambda api: {"records[]": f"org:{made(api, 'org')}"}),
    "POST packages/import": ("package.imported", lambda api: {"package_json": json.dumps({
        "package": {"name": "Kite"}, "records": [{"uid": "a", "_context": "org", "name": "Larch"}],
    })}),
    "PUT groups/members": ("group.roster.changed", lambda api: {"json": json.dumps({
        "groups": {made(api, "group"): {"workers": {api.ids["milo"]: "manager"}}},
    })}),
    "POST invitations/create": ("worker.invited", lambda api: {"emails": f"guest{number()}@desk.example"}),
    "POST invitations/{id}/resend": ("worker.invited.again", lambda api: {}),
    "DELETE invitations/{id}": ("worker.invitation.withdrawn", lambda api: {}),
    "PUT workers/{id}/absence": ("worker.changed", lambda api: {"away_until": "+1 day"}),
    "POST automations/{id}/bind": ("automation_event.changed", lambda api: {}),
    "POST automations/{id}/unbind": ("automation_event.changed", lambda api: {}),
    "POST outgoing_webhooks/{id}/test": ("outgoing_webhook.tried", lambda api: {}),
    "POST outgoing_webhooks/{id}/replay": ("outgoing_webhook.sent_again", lambda api: {"since": "-1 minute"}),
    "POST outgoing_webhooks/deliveries/{id}/replay": ("outgoing_webhook.sent_again", lambda api: {}),
    "POST tags/merge": ("tag.merged", lambda api: {"target_id": made(api, "tag"), "source_id": made(api, "tag")}),
    "POST tags/{id}/unmerge": ("tag.created", lambda api: {}),
    "POST webhooks/{id}/rotate": ("webhook_listener.address.renewed", lambda api: {}),
    "POST webhooks/deliveries/{id}/replay": ("webhook_listener.called", lambda api: {}),
}  # fmt: skip
EXCEPTIONS = {
    "work on tickets and what belongs to them, which has entries of its own": (
        "POST tickets/compose",
        "POST tickets/create",
        "POST tickets/reply",
        "PUT tickets/{id}/requester",
        "DELETE tickets/{id}/requester",
        "POST tickets/{id}/comment",
        "POST tickets/{id}/macro",
        "POST tickets/merge",
        "POST contacts/merge",
        "POST orgs/merge",
        "POST tickets/split",
        "POST calendars/{id}/holidays",
        "POST parser/parse",
        "POST contexts/link",
        "POST contexts/unlink",
        "POST contexts/activity/create",
        "POST comments/create",
        "POST contacts/{id}/note",
        "POST orgs/{id}/note",
        "POST tasks/{id}/note",
    ),
    "files of one's own": ("POST attachments/upload",),
    "reads, whatever its method": ("POST data/query",),
    "writes nothing": ("POST automations/simulate",),
    "is made of other requests, which have their entries": ("POST batch",),
    "every worker may run what bots offer; what it does is told": ("POST bots/behavior/{behavior}/run",),
}
OF_RECORDS = ("records/{uri}/create", "records/{uri}/{id}", "records/{uri}/upsert", "groups/{id}")
OF_ONE_TYPE = "server.web.rest.legacy.single"  # the records API under the names of its types


def newest(api: Api) -> int:
    return int(api.search("activity_log", "sort:-id", limit=1).ok()["results"][0]["id"])


def acts(api: Api, since: int) -> list[dict[str, Any]]:
    return list(api.search("activity_log", f"administrative:yes id:>{since} sort:id", limit=100).ok()["results"])


def changes(uri: str) -> dict[str, Any]:
    return dict(CHANGES.get(uri, lambda: {"name": f"kite.{number()}"})())


def test_administrative_operations_on_records_are_acts() -> None:
    for record_type in REGISTRY:
        for operation in WORDS:
            if "admins" in getattr(record_type.access, operation):
                assert operation in record_type.acts, (record_type.uri, operation)
    assert {each.uri: each.acts for each in REGISTRY if each.acts} == {
        uri: frozenset(operations) for uri, (_, operations) in RECORDS.items()
    }


def test_ordinary_work_costs_no_further_statements() -> None:
    for uri in ("ticket", "message", "comment", "draft", "task", "contact", "org", "time_entry"):
        assert REGISTRY.type(uri).acts == frozenset()


@pytest.mark.parametrize("uri", [uri for uri in RECORDS if uri != "rating"])  # nobody writes one
def test_each_operation_on_records_is_logged(uri: str, api: Api) -> None:
    """By create, update, upsert and delete; records that only the service creates are only changed."""
    record_type, operations, before = REGISTRY.type(uri), RECORDS[uri][1], newest(api)
    id = made(api, uri)
    api.update(uri, id, **changes(uri)).ok()
    can_upsert = uri in MINIMAL and "search" in record_type.features
    if can_upsert:
        api.upsert(uri, f"id:{id}", **changes(uri)).ok()
    if "delete" in operations:
        api.remove(uri, id).ok()
    told = [each for each in acts(api, before) if each["activity_point"].startswith(f"{uri}.")]
    mine = [each for each in told if each["target_id"] in (id, 0)]  # creating it may create others of its type
    mine = [each for each in mine if not each["activity_point"].endswith(".renamed")]  # with its former name
    expected = [f"{uri}.{WORDS[each]}" for each in operations]
    if can_upsert and "update" in operations:
        expected.insert(operations.index("update"), f"{uri}.changed")
    assert [each["activity_point"] for each in mine] == expected
    for each in mine:
        assert (each["actor__context"], each["actor_id"]) == (WORKER, api.ids["nora"])
        if each["target_id"]:
            assert each["params"]["urls"]["target"] == f"ctx://{record_type.context}:{id}"


def test_an_update_without_a_change_is_not_logged(api: Api) -> None:
    role, before = api.create("role", name="Keepers").ok(), newest(api)
    api.update("role", role["id"], name="Keepers").ok()
    assert acts(api, before) == []
    assert api.update("role", role["id"], name="Keepers", privs_mode="nosuch").status == 422
    assert acts(api, before) == []  # a refused request changed nothing


def test_every_endpoint_that_writes_is_logged_or_excused() -> None:
    writes = {
        f"{each.method} {each.path}": each for each in ENDPOINTS
        if each.method != "GET" and not each.path.endswith("/search")
        and each.function.__module__ != OF_ONE_TYPE and each.path not in OF_RECORDS
    }  # fmt: skip
    excused = {name for names in EXCEPTIONS.values() for name in names}
    own = {"PUT notifications/{id}"}  # marks one's own notifications as read
    assert set(writes) - own == set(ACTS) | excused and not set(ACTS) & excused


@pytest.mark.parametrize("name", ACTS)
def test_each_endpoint_writes_its_entries(name: str, api: Api) -> None:
    point, form = ACTS[name]
    method, _, path = name.partition(" ")
    if path.startswith("outgoing_webhooks"):
        hook = api.create("outgoing_webhook", name="Kite", url="http://127.0.0.1:9/x", events="currency.deleted").ok()
        tried = api.post(f"/rest/outgoing_webhooks/{hook['id']}/test.json").ok()["id"]
        path = path.format(id=tried if "deliveries" in path else hook["id"])
    elif "webhooks" in path:
        hook = api.create("webhook_listener", name="Kite").ok()
        api.session.post(f"{api.url}/webhooks/{hook['guid']}", data="x", timeout=60)
        made_now = api.get(f"/rest/webhooks/{hook['id']}/deliveries.json").ok()["results"]
        path = path.format(id=made_now[0]["id"] if "deliveries" in path else hook["id"])
    if path.startswith("workers"):
        path = path.format(id=api.ids["milo"])
    if "automations" in path:
        fields = {"name": f"act{number()}", "extension_id": "svc.trigger.mail.sent", "script": "start:\n  log: x\n"}
        id = api.create("automation", **fields).ok()["id"]
        path = path.format(id=id)
        if path.endswith("unbind"):
            api.post(f"/rest/automations/{id}/bind.json").ok()
    if path.startswith("invitations/{id}"):
        invited = api.post("/rest/invitations/create.json", emails=f"guest{number()}@desk.example").ok()
        path = path.format(id=invited["results"][0]["id"])
    if path.startswith("tags/{id}"):
        id = made(api, "tag")
        api.post("/rest/tags/merge.json", target_id=id, source_id=made(api, "tag")).ok()
        path = path.format(id=id)
    sent, before = form(api), newest(api)
    api.call(method, f"/rest/{path}.json", data=sent).ok()
    told = {each["activity_point"]: each for each in acts(api, before)}
    assert told[point]["actor_id"] == api.ids["nora"]


def test_who_may_read_administrative_entries(api: Api) -> None:
    milo, before = api.as_("milo"), newest(api)
    api.update("worker", api.ids["milo"], title=f"Keeper {number()}").ok()
    api.update("worker", api.ids["olga"], title=f"Keeper {number()}").ok()
    api.create("group", name=f"Depot {number()}").ok()
    q = f"id:>{before} administrative:yes"
    assert api.search("activity_log", q).ok()["total"] == 3
    [own] = milo.search("activity_log", q).ok()["results"]
    assert (own["activity_point"], own["target_id"]) == ("worker.changed", api.ids["milo"])
    others = api.search("activity_log", f"{q} activity:group.created").ok()["results"][0]["id"]
    assert milo.record("activity_log", others).status == 403
    assert milo.search("activity_log", f"{q} activity:group.created", **{"subtotals[]": "activity"}).ok()["total"] == 0


def test_administrative_entries_cannot_be_written_or_changed(api: Api) -> None:
    """Not even by administrators; their deletions are logged."""
    before = newest(api)
    fields = {**MINIMAL["activity_log"](api), "activity_point": "Worker.Disabled", "actor__context": "worker"}
    assert api.create("activity_log", **{**fields, "actor_id": api.ids["olga"]}).status == 403
    api.create("role", name="Keepers").ok()
    [entry] = acts(api, before)
    assert api.update("activity_log", entry["id"], params={"message": "Nothing"}).status == 403
    assert api.update("activity_log", entry["id"], activity_point="custom.other").status == 403
    own = made(api, "activity_log")
    assert api.update("activity_log", own, activity_point="worker.disabled").status == 403
    api.remove("activity_log", entry["id"]).ok()
    last = acts(api, before)[-1]
    assert last["activity_point"] == "activity_log.deleted" and "created the role Keepers" in str(last["params"])


def test_administrative_actions_notify_no_one(api: Api) -> None:
    hook = api.create("webhook_listener", name="Kite", links=[f"worker:{api.ids['olga']}"]).ok()["id"]
    last = api.search("notification", "sort:-id", limit=1).ok()["results"]
    api.update("webhook_listener", hook, name="Other").ok()
    assert api.search("notification", f"id:>{last[0]['id'] if last else 0}").ok()["total"] == 0


def test_no_secret_is_in_the_log(api: Api) -> None:
    before = newest(api)
    params = {"host": "127.0.0.1", "port": 9, "encryption": "None", "username": "kite", "password": SECRET}
    secrets: dict[str, dict[str, Any]] = {
        "mailbox": {"password": SECRET},
        "worker": {"password": SECRET},
        "oauth_app": {"client_secret": SECRET, "client_id": f"kite{number()}"},
        "mail_transport": {"extension_id": "core.mail.transport.smtp", "params": params},
        "webhook_listener": {"guid": f"{SECRET}-{number()}"},
        "connected_account": {"params": {"token": SECRET}},
        "automation": {"script": f"start:\n  return:\n    token: {SECRET}\n"},
        "automation_resource": {"token": f"{SECRET}-{number()}"},
    }
    for uri, fields in secrets.items():
        id = int(api.create(uri, **{**MINIMAL[uri](api), **fields}).ok()["id"])
        again = {
            name: value.replace(SECRET, f"{SECRET}-2") if isinstance(value, str) else value
            for name, value in fields.items()
        }
        api.update(uri, id, **again).ok()
        api.remove(uri, id).ok()
    told = acts(api, before)
    assert len(told) >= 2 * len(secrets) and SECRET not in json.dumps(told)
    changed = {each["activity_point"]: each["params"]["variables"] for each in told}
    assert changed["mailbox.changed"]["changes"] == "password"
    assert changed["webhook_listener.changed"]["changes"] == "guid" and "worker.password.set" in changed


def test_commands_are_logged_with_the_command_line_as_actor(api: Api, server: Server) -> None:
    before, email = newest(api), f"ada{number()}@desk.example"
    for arguments in (
        ("worker", "create", "--email", email, "--first-name", "Ada", "--admin"),
        ("token", "create", "--worker", email),
        ("package", "import", "webhook-responder", "--answer", f"name=Kite {number()}", "--answer", "answers=yes"),
    ):
        done = command(*arguments, data=server.data)
        assert done.returncode == 0, done.stderr
    told = acts(api, before)
    points = [each["activity_point"] for each in told]
    assert {"worker.created", "worker.admin.given", "token.created", "package.imported"} <= set(points)
    assert {each["params"]["variables"]["actor"] for each in told} == {"Command line"}
