"""Behaviors over HTTP: installed with a package, run by requests, and counted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from server.access.service_actor import own_context
from server.queries import query_run
from server.records.metrics import builtin
from server.records.usage_flush import write_notes
from tests.automation.bots import EVENT, Bots, actions, add, bots, node, private, public, put, when
from tests.records.desk import NOW
from tests.service import Api, Server, people

__all__ = ["bots"]
FRIENDLY = {"condition": "var_tone", "oper": "in", "values": ["friendly"]}
STATUS = {
    "uid": "beh_status", "title": "Order status", "uri": "order_status", "is_disabled": False, "is_private": False,
    "priority": 50, "event": {"key": EVENT, "label": "Custom API request", "params": []},
    "variables": {
        "var_order": public("S", widget="single"), "var_tone": public("D", options="formal\nfriendly"),
        "var_note": private("S", widget="multiple"),
    },
    "nodes": [
        node("switch",
             node("outcome", actions(put("answer", "Hi! Order {{var_order}} is on its way.")), **when(FRIENDLY)),
             node("outcome", actions(put("answer", "Order {{var_order}}: shipped")), groups=[])),
    ],
}  # fmt: skip


def behavior(uid: str, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return STATUS | {"uid": uid, "title": uid, "uri": uid, "variables": {}, "nodes": list(nodes)} | more


LISTS = behavior(
    "lists",
    actions(put("titles", '[{% for t in var_tasks %}"{{t.title}}",{% endfor %}""]', "json"),
            put("map", '{"z": 1, "a": 2}', "json"), add("{{var_tasks|length}} at {{var_when}}, {{var_urgent}}")),
    variables={"var_tasks": public("ctx_svc.contexts.task"), "var_when": public("E"), "var_urgent": public("C")},
)  # fmt: skip
WRITES = behavior("writes", actions({
    "action": "core.bot.action.record.create", "context": "task", "changeset_json": '{"title": "From a bot"}',
    "object_placeholder": "made",
}, put("bad", "{{1 / 0}}")))  # fmt: skip
MAIL = "From: ann@shop.example\r\nTo: support@desk.example\r\nSubject: Where is it\r\n\r\nHello?\r\n"
MAILS = behavior("mails", actions(
    {"action": "core.bot.action.email_parser", "message_source": "{{var_mail}}", "object_placeholder": "ticket"},
    {"action": "send_email", "to": "{{ticket.initial_message_sender_email}}", "subject": "We look", "content": "Soon.",
     "object_placeholder": "draft"},
), variables={"var_mail": public("S", widget="multiple")})  # fmt: skip
ENDLESS = behavior("endless", node("loop", foreach_json='["*"]', as_placeholder="item"))
HOOK = behavior("hook", event={"key": "event.webhook.received", "label": "Webhook received", "params": []})
OFF = behavior("switched_off", is_disabled=True)


def bot(uid: str, name: str, *behaviors: dict[str, Any], **more: Any) -> dict[str, Any]:
    owner = {"context": "svc.contexts.app", "id": 0}
    own = {"uid": uid, "name": name, "owner": owner, "is_disabled": False, "params": {}, "behaviors": list(behaviors)}
    return own | more


@pytest.fixture(scope="module")
def nora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """nora's client; the behaviors are installed with a package."""
    server = Server(tmp_path_factory.mktemp("behaviors") / "data")
    client = server.set_up()
    people(client)
    package = {
        "package": {"name": "Shop", "revision": 1, "requires": {"svc_version": "0.1", "plugins": []},
                    "configure": {"prompts": [], "placeholders": []}},
        "bots": [
            bot("bot_shop", "Shop bot", STATUS, LISTS, WRITES, MAILS, ENDLESS, HOOK, OFF),
            bot("bot_own", "Own bot", behavior("own"),
                owner={"context": "svc.contexts.worker", "id": client.ids["nora"]}),
            bot("bot_off", "Old bot", behavior("of_old_bot"), is_disabled=True),
        ],
    }  # fmt: skip
    made = client.post("/rest/packages/import.json", package_json=json.dumps(package), grants=1).ok()["records_created"]
    client.ids["status"] = made["svc.contexts.behavior"]["beh_status"]["id"]
    client.ids["bot"] = made["svc.contexts.bot"]["bot_shop"]["id"]
    yield client
    assert server.stop() == 0


def run(api: Api, name: Any, method: str = "POST", **sent: Any) -> Any:
    return api.call(method, f"/rest/bots/behavior/{name}/run.json", data=sent)


@pytest.mark.parametrize("form", ["%20{}", "{}%20", "+{}", "%09{}", "{}.0", "{}_", "%D9%A1"])
def test_an_invalid_id_runs_no_behavior(form: str, api: Api):
    assert run(api, form.format(api.ids["status"]), var_order="A-17", var_tone="friendly").status == 404


def test_a_behavior_is_run_by_its_id_or_uri(api: Api):
    for name in (api.ids["status"], "order_status", f"0{api.ids['status']}"):
        found = run(api.as_("olga"), name, var_order="A-17", var_tone="friendly").ok().json
        assert found["answer"] == "Hi! Order A-17 is on its way."
        assert (found["var_order"], found["var_tone"], found["va_name"]) == ("A-17", "friendly", "Shop bot")
        assert (found["behavior_id"], found["behavior_name"]) == (api.ids["status"], "Order status")
        assert found["va_id"] == api.ids["bot"] and "var_note" not in found and found["__status"] == "success"
    assert run(api, "order_status", var_order="", var_tone="formal", var_note="x").ok()["answer"] == "Order : shipped"


def test_parameters_are_accepted_in_every_form(api: Api):
    path, sent = "/rest/bots/behavior/order_status/run.json", {"var_order": "7", "var_tone": "formal"}
    answers = [
        api.call("POST", path, params=sent), api.call("POST", path, json=sent), api.call("POST", path, data=sent),
        api.call("POST", path, files={name: (None, value) for name, value in sent.items()}),
        api.call("POST", path, params={"var_order": "1"} | sent, data=sent),
    ]  # fmt: skip
    assert [each.ok()["answer"] for each in answers] == ["Order 7: shipped"] * 5


def test_lists_and_dates(api: Api):
    ids = [api.create("task", title=title).ok()["id"] for title in ("One", "Two")]
    sent = {"var_when": "2026-11-20 00:00", "var_urgent": "1"}
    in_brackets = {"var_tasks[0]": ids[0], "var_tasks[1]": ids[1]}
    for listed in ({"var_tasks": json.dumps([*ids, 9999])}, {"var_tasks[]": ids}, in_brackets):
        response = run(api, "lists", **listed, **sent).ok()
        assert (response["titles"], response["_response"]) == (["One", "Two", ""], "2 at 1795132800, 1\n")
        assert [each["title"] for each in response["var_tasks"].values()] == ["One", "Two"]
    assert response.content.index(b'"z":1') < response.content.index(b'"a":2')
    assert run(api, "lists", var_tasks="[]", **sent).ok()["var_tasks"] == {}


@pytest.mark.parametrize(
    ("sent", "status", "code", "field"),
    [
        ({"var_tone": "formal"}, 422, "ERROR_PARAM_REQUIRED", "var_order"),
        ({"var_order": "1"}, 422, "ERROR_PARAM_REQUIRED", "var_tone"),
        ({}, 422, "ERROR_PARAM_REQUIRED", "var_order"),
        ({"var_order": "1", "var_tone": "rude"}, 422, "ERROR_PARAM_INVALID", "var_tone"),
        ({"var_order[]": "1", "var_tone": "formal"}, 422, "ERROR_PARAM_INVALID", "var_order"),
        ({"var_order": b"\xff", "var_tone": "formal"}, 400, "ERROR_PARAM_INVALID", None),
    ],
)
def test_parameters_that_are_refused(api: Api, sent, status, code, field):
    response = run(api, "order_status", **sent)
    assert (response.status, response["__error"]) == (status, code), response
    assert field is None or (response["errors"][0]["field"] == field and field in response["message"])


@pytest.mark.parametrize(
    ("who", "name", "status", "code"),
    [
        ("nora", "unknown", 404, "ERROR_NOT_FOUND"),
        ("nora", "99999", 404, "ERROR_NOT_FOUND"),
        ("nora", "9" * 40, 404, "ERROR_NOT_FOUND"),
        ("nora", "0", 404, "ERROR_NOT_FOUND"),
        ("nora", "hook", 422, "ERROR_REJECTED"),
        ("nora", "switched_off", 422, "ERROR_REJECTED"),
        ("nora", "of_old_bot", 422, "ERROR_REJECTED"),
        ("milo", "own", 403, "ERROR_PERMISSIONS"),
        ("nora", "endless", 422, "ERROR"),
    ],
)
def test_behaviors_that_do_not_run(api: Api, who, name, status, code):
    response = run(api.as_(who), name)
    assert (response.status, response["__error"]) == (status, code), response


def test_readers_of_a_bot_may_run_its_behaviors(api: Api):
    assert run(api, "own").ok()["va_name"] == "Own bot"
    made = run(api.as_("olga"), "writes").ok()
    assert made["made"]["title"] == "From a bot" and made["bad"] is False
    assert api.record("task", made["made"]["id"]).ok()["title"] == "From a bot"


def test_mail_is_received_and_sent(api: Api):
    found = run(api, "mails", var_mail=MAIL).ok()
    assert found["ticket"]["subject"] == "Where is it"
    assert api.record("ticket", found["ticket"]["id"], "requesters").ok()["requesters"]
    draft = found["draft"]
    assert (draft["type"], draft["to"], draft["name"]) == ("mail.transactional", "ann@shop.example", "We look")
    assert draft["params"] == {"to": "ann@shop.example", "subject": "We look", "content": "Soon."}
    assert run(api, "mails", var_mail="").ok()["ticket"] is None


def test_other_methods_and_paths_are_not_supported(api: Api):
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        response = run(api, "order_status", method)
        assert response.status == 405 and "POST" in response.headers["Allow"]
    for path in ("behavior/order_status/stop", "behavior/order_status", "behaviour/order_status/run", "behavior//run"):
        assert api.post(f"/rest/bots/{path}.json").status in (404, 405), path
    assert Api(api.url, "no token").post("/rest/bots/behavior/order_status/run.json").status == 401


def test_bots_are_listed_and_read(api: Api):
    listed = api.as_("milo").get("/rest/bots/list.json").ok()
    assert [each["name"] for each in listed["results"]] == ["Shop bot", "Old bot"]
    assert api.get(f"/rest/bots/{api.ids['bot']}.json", expand="behaviors").ok()["behaviors"][str(api.ids["status"])][
        "variables"
    ].keys() == {"var_order", "var_tone", "var_note"}


def test_more_is_loaded_and_shown_on_request(api: Api):
    found = run(api, "order_status", var_order="1", var_tone="formal", expand="va_owner_,behavior_bot_").ok()
    assert found["behavior_bot_name"] == "Shop bot"
    assert "behavior_bot_name" not in run(api, "order_status", var_order="1", var_tone="formal").ok().json


def test_the_records_api_does_not_write_tree_and_variables(api: Api):
    for name, value in (("nodes", "[]"), ("variables", "{}")):
        response = api.update("behavior", api.ids["status"], **{name: value})
        assert response.status == 422 and name in response["message"]


def test_a_package_with_an_invalid_tree_is_refused(api: Api):
    package = {
        "package": {"name": "Bad", "revision": 1, "requires": {"svc_version": "0.1", "plugins": []},
                    "configure": {"prompts": [], "placeholders": []}},
        "bots": [bot("bot_bad", "Bad bot", behavior("bad", node("switch", actions())))],
    }  # fmt: skip
    response = api.post("/rest/packages/import.json", package_json=json.dumps(package))
    assert response.status == 422 and "only outcomes" in response["message"]
    assert api.found("bot", 'name:"Bad bot"') == []


def test_runs_are_counted(bots: Bots):
    desk = bots.desk
    builtin.prepare(own_context(desk.service))
    inner = bots.keep(actions(put("x", "1")), name="Inner", uri="inner")
    outer = bots.keep(actions({"action": "_run_behavior", "behavior_id": "inner"}), name="Outer")
    for _ in range(2):
        bots.call(outer)
    bots.call(inner)
    bots.simulate(actions(put("x", "1")))
    write_notes(desk.service, NOW)
    rows = query_run.evaluate(desk.context(bots.ids["nora"]), "type:usage.behaviors")["data"]["rows"]
    assert {row["behavior_name"]: row["uses"] for row in rows} == {"Inner": 3, "Outer": 2}
    assert all(row["elapsed_ms"] > 0 and row["event"] == "Custom API request" for row in rows)
