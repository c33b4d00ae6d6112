"""Packages over HTTP and from the command line: the ways to send one, errors with their status, and the first start."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from server import app, settings
from server.access.service_actor import own_context
from server.packages import bundle
from server.packages.package_document import MAX_DEPTH, MAX_PACKAGE_BYTES
from server.records import records
from tests.packages.parcel import Tree, package, task, without_new_ids
from tests.service import ROOT, Api, Server, command

IMPORT, EXPORT = "/rest/packages/import.json", "/rest/packages/export.json"
ASKED = [{"type": "text", "label": "Shop", "key": "shop", "params": {}},
         {"type": "chooser", "label": "Who", "key": "who", "params": {"context": "svc.contexts.worker"}}]  # fmt: skip


def bring(api: Api, value: Tree | str, **more):
    text = value if isinstance(value, str) else json.dumps(value)
    return api.post(IMPORT, package_json=text, **more)


def test_a_package_with_answers_as_a_form(api):
    value = package(task(title="{{{shop}}} {{{who|join('+')}}}"), prompts=ASKED)
    result = bring(api, value, **{"prompts[shop]": "Kite & Co", "prompts[who][]": ["1", "2"]}).ok()
    (made,) = result["records_created"]["svc.contexts.task"].values()
    assert made["label"] == "Kite & Co 1+2" == api.record("task", made["id"]).ok()["title"]
    assert result["__status"] == "success" and "dry_run" not in result.json and "notes" not in result.json


def test_a_package_as_json_as_text_in_json_and_as_a_file(api):
    value = package(task(title="{{{shop}}}"), prompts=ASKED[:1])
    for sent in (
        {"json": {"package_json": value, "prompts": {"shop": "J"}}},
        {"json": {"package_json": json.dumps(value), "prompts": {"shop": "J"}}},
        {"data": {"prompts[shop]": "J"}, "files": {"package_json": ("p.json", json.dumps(value), "application/json")}},
    ):
        found = api.call("POST", IMPORT, **sent).ok()["records_created"]["svc.contexts.task"]["one"]
        assert found["label"] == "J"


def test_a_dry_run_responds_the_same_and_creates_nothing(api):
    before = api.search("task").ok()["total"]
    value = package(task(title="Dry"), settings={"svc.nowhere": {"a": 1}})
    result = bring(api, value, dry_run=1).ok()
    assert result["dry_run"] == 1 and len(result["notes"]) == 1
    assert api.search("task").ok()["total"] == before
    made = bring(api, value).ok()["records_created"]
    assert without_new_ids(made) == without_new_ids(result["records_created"])


@pytest.mark.parametrize("name", ["milo", "olga"])
def test_only_administrators_may(name, api):
    other = api.as_(name)
    for result in (bring(other, package(task())), bring(other, package(), dry_run=1), bring(other, {"a": 1})):
        assert (result.status, result["__error"]) == (403, "ERROR_PERMISSIONS")
    assert other.post(EXPORT, **{"records[]": "snippet:1"}).status == 403


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({}, 422, "ERROR_PARAM_REQUIRED"),
        ({"package_json": ""}, 422, "ERROR_PARAM_REQUIRED"),
        ({"package_json": "{"}, 400, "ERROR_PARAM_INVALID"),
        ({"package_json": b'{"package": "\xff"}'}, 400, "ERROR_PARAM_INVALID"),
        ({"package_json": "[]"}, 422, "ERROR_PARAM_INVALID"),
        ({"package_json": '{"package": {"a": NaN}}'}, 400, "ERROR_PARAM_INVALID"),
        ({"package_json": '{"package": {}}', "prompts": "x"}, 422, "ERROR_PARAM_INVALID"),
        ({"package_json": json.dumps(package(task(), prompts=ASKED))}, 422, "ERROR_PARAM_REQUIRED"),
        ({"package_json": json.dumps(package(task(nothing=1)))}, 422, "ERROR_PARAM_INVALID"),
        ({"package_json": json.dumps(package(requires={"svc_version": "99"}))}, 422, "ERROR_PARAM_INVALID"),
        ({"package_json": json.dumps(package({"uid": "a", "_context": "automation", "name": "starter.x",
                                              "extension_id": "svc.trigger.mail.sent", "script": "stat:"}))},
         422, "ERROR_PARAM_INVALID"),
    ],
)  # fmt: skip
def test_errors_have_a_status_and_a_code(sent, status, code, api):
    result = api.post(IMPORT, **sent)
    assert (result.status, result["__error"]) == (status, code), result


def test_a_duplicate_name_is_a_conflict(api):
    value = package({"uid": "q", "_context": "automation", "name": "taken", "extension_id": "svc.trigger.mail.sent"})
    bring(api, value).ok()
    result = bring(api, value)
    assert (result.status, result["__error"]) == (409, "ERROR_CONFLICT") and "records: 'q': name" in result["message"]


def test_a_secret_that_is_shown_once_is_in_the_response(api):
    app = {"uid": "app", "_context": "oauth_app", "name": "Shop", "callback_url": "https://kite.example/back"}
    (made,) = bring(api, package(app), grants=1).ok()["records_created"].values()
    assert len(made["app"]["client_secret"]) >= 32
    assert "client_secret" not in api.record("oauth_app", made["app"]["id"]).ok().json


ADMINISTRATOR = {
    "uid": "eve", "_context": "worker", "first_name": "Eve", "email": "eve@kite.example", "is_superuser": 1,
    "language": "en_US", "timezone": "UTC",
}  # fmt: skip
GRANTS = [
    (ADMINISTRATOR, "makes Eve (eve@kite.example) an administrator"),
    (ADMINISTRATOR | {"is_superuser": 0}, "lets Eve (eve@kite.example) sign in as a worker"),
    ({"uid": "all", "_context": "role", "name": "Ev'rybody", "privs_mode": "all"},
     "gives all privileges to every worker by the role Ev'rybody"),
    ({"uid": "some", "_context": "role", "name": "Keepers", "privs_mode": "all", "member_query_worker": "isAdmin:no"},
     "gives all privileges to the workers that 'isAdmin:no' finds by the role Keepers"),
    ({"uid": "app", "_context": "oauth_app", "name": "Wide", "callback_url": "https://kite.example/back"},
     "lets the app Wide ask workers for everything that they may do"),
    ({"uid": "app", "_context": "oauth_app", "name": "Narrow", "callback_url": "https://kite.example/back",
      "scopes": "mine:\n  label: read who you are\n  endpoints:\n  - workers/me: GET\n"},
     "lets the app Narrow ask workers for read who you are"),
    ({"uid": "g", "_context": "group", "name": "Keepers", "members": {"manager": "1"}},
     "puts Nora Berg into the group Keepers"),
]  # fmt: skip


POLICY = """commands:
  record.create:
    allow@bool: {{ inputs.record_type == 'worker' }}
  record.get:
    allow@bool: yes
"""
MAKER = {"uid": "a", "_context": "automation", "name": "maker", "extension_id": "svc.trigger.webhook.respond",
         "script": "start:\n  return:\n    body: ok\n"}  # fmt: skip
BINDING = "automation/any:\n  uri: svc:automation:maker\n"
EVERY_COMMAND = (
    "email.parse, file.write, function, http.request, metric.increment, queue.pop, queue.push, record.create, "
    "record.delete, record.update, record.upsert, storage.delete, storage.set, ticket.assign, "
    "ticket.create, ticket.macro, ticket.notify"
)
ACTS = "lets the automation maker use record.create with the rights of an administrator"
HOOK = {"uid": "h", "_context": "webhook", "name": "Door", "automations_kata": BINDING}
DOOR = "lets outside programs run the automation maker by the webhook Door"
# Entries that act or speak: records, further sections, and the description of the package.
ACTING = [
    ([MAKER | {"policy_kata": POLICY}], {}, [ACTS]),
    ([MAKER | {"policy_kata": "commands:\n  all:\n    deny/mail@bool: {{ false }}\n    allow@bool: yes\n"}], {},
     [f"lets the automation maker use {EVERY_COMMAND} with the rights of an administrator"]),
    ([MAKER | {"policy_kata": "commands:\n  record.get:\n    allow@bool: yes\n"}], {}, []),
    ([{"uid": "a", "_context": "automation", "name": "rule.all", "extension_id": "svc.trigger.ticket.event", "form": {
        "title": "All", "when": ["created"], "steps": [{"kind": "close"}], "matches_everything": 1}}], {},
     ["lets the automation rule.all use record.update with the rights of an administrator",
      "lets the rule rule.all run on every ticket"]),
    ([MAKER | {"policy_kata": "commands:\n  http.request:\n    deny@bool: yes\n    allow@bool: yes\n"}], {}, []),
    ([MAKER | {"policy_kata": POLICY}, HOOK], {}, [ACTS, f"{DOOR}: record.create, record.get"]),
    ([HOOK, MAKER | {"policy_kata": ""}], {}, []),
    ([MAKER | {"extension_id": "svc.trigger.mail.send"}], {"events": [{"event": "mail.send", "kata": BINDING}]},
     ["runs the automation maker at each event mail.send: an email is about to be sent; it can be changed"]),
    ([{"uid": "t", "_context": "automation_timer", "name": "Nightly", "automations_kata": BINDING},
      MAKER | {"extension_id": "svc.trigger.automation.timer"}], {},
     ["runs the automation maker at the times of the timer Nightly"]),
    ([{"uid": "r", "_context": "resource", "name": "rates", "extension_id": "svc.resource.dataset.csv", "is_dynamic": 1,
       "automation_kata": BINDING}], {}, ["runs the automation maker when the resource rates is opened"]),
    ([], {"bots": [{"uid": "b", "name": "Bot", "owner": "", "is_disabled": 0, "params": [], "behaviors": [{
        "uid": "v", "title": "Promote", "is_disabled": False, "is_private": False, "priority": 50, "variables": [],
        "event": {"key": "event.api.custom_request", "label": "Request", "params": []},
        "nodes": [{"type": "loop", "title": "Each", "status": "live", "params": {}, "nodes": [
            {"type": "action", "title": "Do", "status": "live", "params": {"actions": [
                {"action": "core.bot.action.record.update"}, {"action": "_exit"}]}}]}]}]}]},
     ["lets the behavior Promote use core.bot.action.record.update with the rights of an administrator"]),
    ([{"uid": "x", "_context": "address", "email": "x@kite.example", "worker_id": 1}], {},
     ["makes x@kite.example an address of Nora Berg"]),
    ([{"uid": "t", "_context": "mail_transport", "name": "Relay", "extension_id": "core.mail.transport.null"},
      {"uid": "x", "_context": "address", "email": "x@kite.example", "mail_transport_id": "{{{uid.t}}}"}], {},
     ["adds the mail transport Relay", "sends email from x@kite.example through Relay"]),
    ([{"uid": "m", "_context": "mailbox", "name": "In", "host": "mail.kite.example", "username": "desk"}], {},
     ["turns the email of desk at mail.kite.example into tickets"]),
    ([{"uid": "d", "_context": "draft", "type": "mail.transactional", "to": "ana@kite.example", "is_queued": 1,
       "worker_id": 1}], {}, ["sends an email to ana@kite.example in the name of Nora Berg"]),
    ([{"uid": "d", "_context": "draft", "type": "mail.compose", "worker_id": 2}], {},
     ["adds a draft in the name of Milo Test"]),
    ([{"uid": "c", "_context": "comment", "target__context": "worker", "target_id": 1, "comment": "Hello",
       "author__context": "worker", "author_id": 2}], {}, ["adds a comment in the name of Milo Test"]),
    ([{"uid": "l", "_context": "activity_log", "activity_point": "custom.other", "actor__context": "worker",
       "actor_id": 2, "target__context": "worker", "target_id": 1, "params": {"message": "Hello"}}], {},
     ["writes into the activity log in the name of Milo Test"]),
    ([{"uid": "n", "_context": "notification", "activity_point": "custom.other", "worker_id": 2,
       "params": {"message": "Hello"}}], {}, ["notifies Milo Test"]),
    ([{"uid": "g", "_context": "group", "name": "All", "is_default": 1, "ack_enabled": 1, "ack_text": "Hello"}], {},
     ["makes All the default group, where new tickets go", "acknowledges new tickets of the group All by email"]),
    ([{"uid": "g", "_context": "group", "name": "All", "rating_enabled": 1}], {},
     ["may ask customers of the group All for ratings by email"]),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "sections", "grants"), ACTING, ids=["; ".join(told)[:60] for _, _, told in ACTING])
def test_each_record_that_acts_or_speaks_is_named(
    entries: list[Tree], sections: Tree, grants: list[str], api: Api
) -> None:
    value = package(*entries, **sections)
    dry_run = bring(api, value, dry_run=1).ok()
    assert dry_run.json.get("grants", []) == grants
    if grants:
        refused = bring(api, value)
        assert (refused.status, refused["errors"][0]["field"]) == (422, "grants")
        assert all(each in refused["message"] for each in grants)


@pytest.mark.parametrize(("record", "told"), GRANTS, ids=[told for _, told in GRANTS])
def test_grants_of_a_package_are_named_and_require_consent(record: Tree, told: str, api: Api) -> None:
    uri, value = record["_context"], package(record)
    before = api.search(uri).ok()["total"]
    assert bring(api, value, dry_run=1).ok()["grants"] == [told]
    refused = bring(api, value)
    assert (refused.status, refused["errors"][0]["field"]) == (422, "grants") and told in refused["message"]
    assert bring(api, value, grants=0).status == 422
    assert api.search(uri).ok()["total"] == before
    made = bring(api, value, grants=1).ok()
    assert made["grants"] == [told]
    [listed] = made["records_created"].values()
    [one] = listed.values()
    if uri == "worker":
        api.update("worker", one["id"], is_superuser=0).ok()
    api.remove(uri, one["id"]).ok()


def test_a_package_without_grants_needs_no_consent(api: Api) -> None:
    assert "grants" not in bring(api, package(task())).ok().json


def test_the_command_names_its_own_flags(api: Api, tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_text(json.dumps(package(ADMINISTRATOR)))
    done = command("package", "import", str(file), data=tmp_path / "data")
    told = done.stderr.decode()
    assert done.returncode == 1 and "an administrator. Add --grants to agree; --dry-run lists all of it" in told, told
    assert command("package", "import", "--grants", str(file), data=tmp_path / "data").returncode == 0


def test_an_invalid_record_at_the_end_leaves_nothing(api):
    before = api.search("task").ok()["total"]
    kind = {"uid": "k", "_context": "custom_record", "name": "Raft", "name_plural": "Rafts", "uri": "raft"}
    value = package(*(task(f"t{n}") for n in range(20)), kind, {"uid": "r", "_context": "raft", "name": "R"},
                    events=[{"event": "mail.sent", "kata": "automation/x:\n  urri: y"}])  # fmt: skip
    assert bring(api, value).status == 422
    assert api.search("task").ok()["total"] == before and api.search("raft").status == 404
    assert bring(api, value | {"events": []}).ok()
    assert api.search("raft").ok()["total"] == 1


def test_a_package_may_be_larger_than_other_parameters_up_to_a_limit(api):
    large = package(*(task(f"t{n}", title="x" * 200) for n in range(10)), placeholders=[])
    assert bring(api, json.dumps(large) + " " * MAX_PACKAGE_BYTES).status == 413
    large["package"]["note"] = "x" * (MAX_PACKAGE_BYTES - 10_000)  # ignored, since clients may store anything there
    assert bring(api, large).ok()


@pytest.mark.parametrize(("depth", "status"), [(MAX_DEPTH, 200), (MAX_DEPTH + 1, 400), (100_000, 400)])
def test_the_depth_of_a_package_is_limited(depth, status, api):
    inner = "[" * (depth - 2) + "]" * (depth - 2)
    assert bring(api, f'{{"package": {{"note": {inner}}}}}').status == status


def test_there_are_at_most_5000_entries(api):
    result = bring(api, package(*(task(f"t{n}") for n in range(5001))))
    assert result.status == 413 and "at most 5000 entries" in result["message"]


def test_records_are_exported_and_imported(api):
    snippet = api.create("snippet", title="T", content="{{{x}}} {{y}}", owner__context="app", owner_id=0).ok()["id"]
    sent = api.post(EXPORT, **{"records[]": [f"snippet:{snippet}"], "name": "Mine"}).ok()["package"]
    assert sent["package"]["name"] == "Mine" and list(sent) == ["package", "records"]
    (made,) = bring(api, sent).ok()["records_created"]["svc.contexts.snippet"].values()
    assert api.record("snippet", made["id"]).ok()["content"] == "{{{x}}} {{y}}"
    assert api.post(EXPORT, **{"records[]": "worker:1"}).status == 422
    assert api.post(EXPORT).status == 422


def test_the_responder_echoes_the_request(api, server):
    made = bring(api, bundle.package("webhook-responder"), **{"prompts[name]": "Echo", "prompts[answers]": "yes"}).ok()
    hook = made["records_created"]["svc.contexts.webhook_listener"]["webhook"]["id"]
    guid = api.record("webhook_listener", hook).ok()["guid"]
    result = requests.post(f"{server.url}/webhooks/{guid}/a/b?x=1", headers={"X-Own": "7"}, timeout=30)
    assert result.status_code == 200 and result.headers["Content-Type"].startswith("application/json")
    found = result.json()
    assert (found["method"], found["path"], found["params"]) == ("POST", "a/b", {"x": "1"})
    assert found["headers"]["x_own"] == "7" and found["client_ip"] == "127.0.0.1"


# -- first start and command line -------------------------------------------------------------------------------------

FULL = {"HELPDESK_STARTER_PACKAGE": "yes"}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service as its users start it."""
    server = Server(tmp_path_factory.mktemp("furnished") / "data", env=FULL)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def owner(furnished: Server) -> Api:
    """Its administrator."""
    return furnished.set_up()


def test_a_new_service_has_the_starter(owner):
    assert {each["title"] for each in owner.search("snippet").ok()["results"]} >= {"Is it solved?"}
    (page,) = owner.search("workspace_page", "").ok()["results"]
    shown = owner.record("workspace_page", page["id"], "widgets").ok()
    assert [len(tab["widgets"]) + len(tab["worklists"]) for tab in shown["tabs"]] == [4, 3]
    assert owner.search("saved_search").ok()["total"] == 4 and owner.search("calendar").ok()["total"] == 1
    assert owner.search("activity_log", "created:today").status == 200


def test_it_is_imported_once_and_deleted_records_stay_deleted(data):
    for found in (4, 0):
        service = app.open_service(settings.load({}, {}, data_folder=data))
        ctx = own_context(service)
        listed = records.search(ctx, "snippet", records.SearchRequest(limit=100))["results"]
        assert len(listed) == found
        for each in listed:
            records.delete(ctx, "snippet", each["id"])
        service.store.close()


def test_a_database_that_began_without_it_stays_without_it(data):
    for env in ({}, FULL):
        found = command("package", "export", "snippet:1", data=data, env=env)
        assert found.returncode == 1 and b"no snippet 1" in found.stderr


def test_packages_from_the_command_line(data, tmp_path):
    tried = command("package", "import", "webhook-responder", "--answer", "name=Orders", "--answer", "answers=no",
                    "--dry-run", data=data)  # fmt: skip
    assert tried.returncode == 0, tried.stderr
    told = json.loads(tried.stdout)["records_created"]["svc.contexts.webhook_listener"]
    assert told["webhook"]["label"] == "Orders"
    file = tmp_path / "own.json"
    file.write_text(json.dumps(package(task(title="{{{who|join}}}"), prompts=ASKED[1:])))
    made = command("package", "import", str(file), "--answer", "who=4", "--answer", "who=5", data=data)
    assert json.loads(made.stdout)["records_created"]["svc.contexts.task"]["one"]["label"] == "45"
    piped = command("package", "import", "-", data=data, stdin=json.dumps(package(task())).encode())
    id = json.loads(piped.stdout)["records_created"]["svc.contexts.task"]["one"]["id"]
    out = command("package", "export", f"task:{id}", "--name", "Out", data=data)
    assert json.loads(out.stdout)["package"]["name"] == "Out"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "nowhere.json"], b"neither a file nor a shipped package 'nowhere.json'"),
        (["import", "webhook-responder"], b"(answers); add --answer name=VALUE --answer answers=VALUE\n"),
        (
            ["import", "webhook-responder", "--answer", "answers=no"],
            b"an answer is missing; add --answer name=VALUE\n",
        ),
        (["import", "webhook-responder", "--answer", "name"], b"--answer takes KEY=VALUE, not 'name'"),
        (["import", "."], b"cannot be read"),
        (["export", "worker:1"], b"cannot be exported"),
    ],
)
def test_the_command_line_reports_mistakes(arguments, words, data):
    found = command("package", *arguments, data=data)
    assert found.returncode == 1 and words in found.stderr and found.stdout == b""


def test_a_file_that_is_not_json_is_reported(data, tmp_path: Path):
    file = tmp_path / "bad.json"
    file.write_bytes(b'{"package": {},\n "records": [}')
    found = command("package", "import", str(file), data=data)
    assert found.returncode == 1 and b"is not valid JSON" in found.stderr and b"line 2" in found.stderr


def test_at_a_terminal_the_command_asks_the_prompts_of_the_package(data: Path) -> None:
    """A real terminal; typed text is the answer, and is not interpreted."""
    parent, child = pty.openpty()
    program = [sys.executable, "-m", "server", "package", "import", "webhook-responder", "--data", str(data)]
    running = subprocess.Popen(program, stdin=child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    os.close(child)
    os.write(parent, b"Orders\nno\n")
    out, errors = running.communicate(timeout=120)
    os.close(parent)
    assert running.returncode == 0, errors
    assert b"Name of the webhook" in errors and b"Answer requests at once?" in errors
    assert "svc.contexts.webhook_listener" in json.loads(out)["records_created"]
