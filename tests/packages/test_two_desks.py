"""Packages between two desks, each a server with its own database: every exportable type is imported there with
other ids and the same meaning, and without secrets."""

import json
import re
from collections.abc import Iterator

import pytest

from server.packages.exported_types import EXPORTED
from tests.packages.parcel import Tree
from tests.service import Api, Server
from tests.telling import telling

IMPORT, EXPORT = "/rest/packages/import.json", "/rest/packages/export.json"
SECRET = "sk-hush-7Kq2"
DIFFERENT = ("automation", "bucket", "custom_field", "workspace_page")  # a script, a parent, choices, nested records
SCRIPT = f"""start:
  http.request/call:
    output: response
    inputs:
      method: POST
      url: https://shop.example/orders?access_token={SECRET}-1
      headers:
        Authorization: Bearer {SECRET}-2
  return:
    status: done
"""
BOUND = "automation/packed:\n  uri: svc:automation:{name}\n  inputs:\n    api_key: {secret}\n    shop: Larch\n"
TRIGGER = "svc.trigger."
# Types that every desk has anyway; records of them shift the ids of the second one.
FILLED = ("calendar", "custom_record", "group", "queue", "role", "snippet", "task")
SCRIPTED = {"automation": "script", "automation_timer": "automations_kata"}  # keys returned with expand
OWN_KEYS = ("guid",)  # fields that each desk chooses


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Api]]:
    """Two desks; ids of the second are higher, since more records were created there."""
    folder = tmp_path_factory.mktemp("desks")
    servers = [Server(folder / name) for name in ("first", "second")]
    first, second = (server.set_up() for server in servers)
    for number in range(3):
        for uri in FILLED:
            more = {"uri": f"kind{number}", "name_plural": "Kinds"} if uri == "custom_record" else {}
            name = "title" if uri in ("snippet", "task") else "name"
            content = {"content": "x"} if uri == "snippet" else {}
            owner = {"owner__context": "app", "owner_id": 0} if uri in ("snippet", "calendar") else {}
            second.create(uri, **{name: f"Filling{number}"}, **more, **content, **owner).ok()
    yield first, second
    for server in servers:
        assert server.stop() == 0


def export(desk: Api, *records: str) -> Tree:
    """Returns the package of records."""
    package: Tree = desk.post(EXPORT, **{"records[]": list(records)}).ok()["package"]
    return package


def bring(desk: Api, package: Tree, **answers: object) -> dict[str, Tree]:
    """Imports with answers; returns {uid: created record}."""
    sent = {f"prompts[{key}]": str(value) for key, value in answers.items()}
    made = desk.post(IMPORT, package_json=json.dumps(package), grants=1, **sent).ok()["records_created"]
    return {uid: each for of_type in made.values() for uid, each in of_type.items()}


def prompts(package: Tree) -> dict[str, Tree]:
    """Returns {key: prompt}."""
    return {each["key"]: each for each in package["package"]["configure"]["prompts"]}


def answers(package: Tree) -> dict[str, str]:
    """Returns an answer to each prompt: a new secret, or the first record of the type."""
    return {key: _answer(key) if each["type"] == "text" else "1" for key, each in prompts(package).items()}


def _answer(key: str) -> str:
    return f"X-Token: new-{key}" if key.endswith("_headers") else f"new-{key}"


def automation(desk: Api, name: str, trigger: str = "webhook.respond", script: str = SCRIPT) -> int:
    return int(desk.create("automation", name=name, extension_id=TRIGGER + trigger, script=script).ok()["id"])


OWNED = {"owner__context": "app", "owner_id": 0}
# {type: fields of a record; ids of `{name}` are created before}
SAMPLES: dict[str, Tree] = {
    "asset": {"name": "Press", **OWNED},
    "automation": {"name": "moved.one", "extension_id": f"{TRIGGER}webhook.respond", "script": SCRIPT},
    "automation_timer": {"name": "Nightly", "automations_kata": "", "is_recurring": 1, "recurring_patterns": "@daily"},
    "bot": {"name": "Greeter", "mention_name": "greeter", **OWNED},
    "brand": {"name": "Kite", "accent": "#0055aa", "host": "help.kite.example"},
    "bucket": {"name": "Returns", "group_id": "group"},
    "calendar": {"name": "Hours", **OWNED},
    "calendar_event": {"name": "Party", "calendar_id": "calendar", "date_start": 1800000000, "date_end": 1800003600},
    "calendar_event_recurring": {"name": "Day", "calendar_id": "calendar", "patterns": "weekdays", "event_start": "9am",
                                 "event_end": "5pm", "tz": "UTC"},
    "call": {"subject": "About the press", "phone": "+49 1"},
    "connected_account": {"name": "Shop", "uri": "shop", "params": {"api_key": SECRET},
                          "service_id": "connected_service", **OWNED},
    "connected_service": {"name": "Shops", "extension_id": "svc.service.provider.api_key", "params": {}},
    "contact_form": {"name": "Write to us", "brand_id": "brand", "group_id": "group", "slug": "sales"},
    "currency": {"name": "Thaler", "symbol": "Th", "code": "THL", "decimal_at": 2},
    "custom_field": {"name": "Boat", "context": "task", "type": "L", "uri": "boat_of"},
    "custom_fieldset": {"name": "Hull", "context": "task", **OWNED},
    "custom_record": {"name": "Boat", "name_plural": "Boats", "uri": "boat"},
    "email_signature": {"name": "Short", "signature": "Bye", **OWNED},
    "group": {"name": "Returns"},
    "html_template": {"name": "Plain", "content": "<p>{{message_body}}</p>", **OWNED},
    "kb_article": {"title": "How", "content": "So", "format": "markdown"},
    "kb_category": {"name": "Manuals"},
    "mail_transport": {"name": "Relay", "extension_id": "core.mail.transport.smtp",
                       "params": {"host": "smtp.shop.example", "port": 465, "encryption": "tls", "username": "desk",
                                  "password": SECRET}},
    "mailbox": {"name": "Inbox", "host": "imap.shop.example", "username": "desk", "password": SECRET, "port": 993,
                "protocol": "imap-ssl", "is_enabled": 0},
    "metric": {"name": "orders.seen", "type": "gauge"},
    "oauth_app": {"name": "Shop app", "callback_url": "https://shop.example/back", "client_secret": SECRET * 3},
    "opportunity": {"title": "Ten presses", "amount": "10"},
    "org": {"name": "Kite"},
    "outgoing_webhook": {"name": "Shop", "url": "https://shop.example/hooks", "events": "ticket.created",
                         "headers": f"X-Token: {SECRET}", "is_disabled": 1},
    "project_board": {"name": "Website"},
    "project_board_column": {"name": "Doing", "board_id": "project_board"},
    "queue": {"name": "orders"},
    "role": {"name": "Buyers", "member_query_worker": "group:(id:{group})"},
    "saved_search": {"name": "Mine", "context": "ticket", "query": "group.id:{group}", **OWNED},
    "service_target": {"name": "Soon", "response_minutes": 60, "group_id": "group", "calendar_id": "calendar"},
    "snippet": {"title": "Hi", "content": "Hello {{x}}", **OWNED},
    "task": {"title": "Oil the press"},
    "tag": {"name": "Oily"},
    "ticket_status": {"name": "Oiled", "status": "waiting", "group_id": "group"},
    "timetracking_activity": {"name": "Oiling"},
    "webhook_listener": {"name": "Orders", "guid": f"{SECRET}-orders"},
    "workspace_list": {"name": "All", "context": "ticket", "tab_id": "workspace_tab"},
    "workspace_page": {"name": "Desk", "extension_id": "core.workspace.page.workspace", **OWNED},
    "workspace_tab": {"name": "Lists", "extension_id": "core.workspace.tab.worklists", "page_id": "workspace_page"},
    "workspace_widget": {"label": "Clock", "extension_id": "clock", "tab_id": "workspace_tab"},
}  # fmt: skip
ADDED_TO = {"automation_event", "toolbar"}  # every desk has the same ones


def test_every_exported_type_has_a_sample():
    assert set(SAMPLES) | ADDED_TO == EXPORTED


def create(desk: Api, uri: str, made: dict[str, int]) -> int:
    """Creates the sample of a type, after the samples that it references. made: {type: id} of all so far."""
    if uri in made:
        return made[uri]
    fields = {}
    for name, value in SAMPLES[uri].items():
        if name.endswith("_id") and value in SAMPLES:
            value = create(desk, value, made)
        elif isinstance(value, str) and "{group}" in value:
            value = value.replace("{group}", str(create(desk, "group", made)))
        fields[name] = value
    if uri == "custom_field":
        fields["params"] = {"context": f"svc.contexts.custom_record.{create(desk, 'custom_record', made)}"}
    made[uri] = int(desk.create(uri, **fields).ok()["id"])
    return made[uri]


@pytest.mark.parametrize("uri", telling(sorted(SAMPLES), DIFFERENT, "every record type"))
def test_a_record_of_each_type_moves(uri, desks, samples):
    first, second = desks
    named = [f"{each}:{id}" for each, id in samples[uri].items()]
    package = export(first, *named)
    assert SECRET not in json.dumps(package)
    made = bring(second, package, **answers(package))
    if uri == "project_board_column":  # results do not name the columns of a board
        board = made[f"project_board_{samples[uri]['project_board']}"]["id"]
        [column] = second.found(uri, f"board.id:{board}")
        made[f"{uri}_{samples[uri][uri]}"] = {"id": column}
    old_id = samples[uri][uri]
    new_id = made[f"{uri}_{old_id}"]["id"]
    ids = {f"{each}_{id}": made[f"{each}_{id}"]["id"] for each, id in samples[uri].items()}
    assert comparable(second, uri, new_id, {}) == comparable(first, uri, old_id, ids)
    remove(second, samples[uri], made)


def test_the_secret_address_of_a_chat_is_entered_again(desks):
    first, second = desks
    address = "https://hooks.slack.com/services/T1/B1/secretpart"
    fields = {"name": "Channel", "program": "slack", "url": address, "events": "ticket.late", "is_disabled": 1}
    id = first.create("outgoing_webhook", **fields).ok()["id"]
    package = export(first, f"outgoing_webhook:{id}")
    assert "secretpart" not in json.dumps(package)
    [key] = prompts(package)
    sent = {"package_json": json.dumps(package), "grants": 1}
    refused = second.post(IMPORT, **sent, **{f"prompts[{key}]": "https://slack.example/x"})
    assert refused.status == 422 and "not an address of Slack" in refused["message"]
    own = "https://hooks.slack.com/services/T2/B2/other"
    [made] = bring(second, package, **{key: own}).values()
    record = second.record("outgoing_webhook", made["id"]).ok()
    assert (record["program"], record["events"], record["url"]) == ("slack", "ticket.late", "https://hooks.slack.com/…")


def test_a_contact_form_moves_with_its_fields_or_asks_for_them(desks):
    first, second = desks
    kind = {"name": "Kind", "context": "ticket", "type": "D", "uri": "moved_kind", "params": {"options": ["A", "B"]}}
    number = {"name": "Number", "context": "ticket", "type": "S", "uri": "moved_number"}
    ids = {each["uri"]: first.create("custom_field", **each).ok()["id"] for each in (kind, number)}
    gone = first.create("custom_field", name="Gone", context="ticket", type="S", uri="moved_gone").ok()["id"]
    fields = [
        {"field_id": ids["moved_kind"], "is_required": 1},
        {"field_id": ids["moved_number"], "if_field_id": ids["moved_kind"], "if_value": "B"},
        {"field_id": gone},
    ]
    brand = first.create("brand", name="Moved", host="moved.example").ok()["id"]
    form = first.create(
        "contact_form", name="Moved", brand_id=brand, group_id=1, slug="moved", form_fields=json.dumps(fields)
    ).ok()["id"]
    first.remove("custom_field", gone).ok()
    # A number that is another field on the second desk must not be read as that one.
    for name in ("One", "Two", "Three", "Four"):
        second.create(
            "custom_field", name=f"Other {name}", context="ticket", type="S", uri=f"other_{name}".lower()
        ).ok()

    whole = export(first, f"contact_form:{form}", f"brand:{brand}", *(f"custom_field:{id}" for id in ids.values()))
    assert not [key for key in prompts(whole) if key.startswith("custom_field")]
    made = bring(second, whole, **answers(whole))
    there = second.record("contact_form", made[f"contact_form_{form}"]["id"]).ok()
    new = {uri: made[f"custom_field_{id}"]["id"] for uri, id in ids.items()}
    assert [
        (each["field_id"], each["is_required"], each["if_field_id"], each["if_value"]) for each in there["form_fields"]
    ] == [(new["moved_kind"], 1, 0, ""), (new["moved_number"], 0, new["moved_kind"], "B")]
    assert there["is_on"] == 0

    alone = export(first, f"contact_form:{form}")
    keys = {key for key in prompts(alone) if key.startswith("custom_field")}
    assert keys == {f"custom_field_{id}" for id in ids.values()}
    assert {prompts(alone)[key]["label"] for key in keys} == {"Custom Field: Kind", "Custom Field: Number"}
    sent = {key: value for key, value in answers(alone).items() if key not in keys} | {
        f"custom_field_{ids[uri]}": str(new[uri]) for uri in ids
    }
    refused = second.post(IMPORT, package_json=json.dumps(alone), grants=1)
    assert refused.status == 422 and all(key in refused["message"] for key in keys)
    other_brand = second.create("brand", name="Free", host="free.example").ok()["id"]
    sent |= {key: str(other_brand) for key in prompts(alone) if key.startswith("brand")}
    reused = bring(second, alone, **sent)[f"contact_form_{form}"]["id"]
    assert second.record("contact_form", reused).ok()["form_fields"] == there["form_fields"]

    remove(second, {}, {f"contact_form_{form}": {"id": reused}})
    remove(second, {}, {uid: each for uid, each in made.items() if not uid.startswith("custom_field")})

    # Fields that the second desk does not have, and entries that are not in the package, are named.
    wrong = sent | {f"custom_field_{ids['moved_kind']}": str(second.found("custom_field", 'name:"Other One"')[0])}
    other = {f"prompts[{key}]": value for key, value in wrong.items()}
    refused = second.post(IMPORT, package_json=json.dumps(alone), grants=1, **other)
    assert refused.status == 422 and "no field can depend on Other One" in refused["message"], refused["message"]
    whole["records"] = [each for each in whole["records"] if each["_context"] != "custom_field"]
    sent = {f"prompts[{key}]": value for key, value in answers(whole).items()}
    refused = second.post(IMPORT, package_json=json.dumps(whole), grants=1, **sent)
    assert refused.status == 422 and "field 1 names no custom field" in refused["message"], refused["message"]


@pytest.fixture(scope="module")
def samples(desks) -> dict[str, dict[str, int]]:
    """{type: {type: id} of its sample and the samples that it references}, on the first desk."""
    first, _ = desks
    everything: dict[str, int] = {}
    closures: dict[str, dict[str, int]] = {}
    for uri in SAMPLES:
        create(first, uri, everything)
    for uri in SAMPLES:
        closures[uri] = {each: everything[each] for each in sorted(_needed(uri))}
    return closures


def _needed(uri: str) -> set[str]:
    named = {value for name, value in SAMPLES[uri].items() if name.endswith("_id") and value in SAMPLES}
    named |= {"group"} if "{group}" in json.dumps(SAMPLES[uri]) else set()
    named |= {"custom_record"} if uri == "custom_field" else set()
    return {uri}.union(*(_needed(each) for each in named))


def comparable(desk: Api, uri: str, id: int, ids: dict[str, int]) -> Tree:
    """Returns the fields of a record in a form that is equal on both desks. ids: {uid: id there} of a package's
    records."""
    record = desk.record(uri, id, SCRIPTED.get(uri, "")).ok().json
    values = {name: record[name] for name in (*SAMPLES[uri], "params") if name in record and name not in OWN_KEYS}
    for name, value in values.items():
        target = SAMPLES[uri].get(name)
        if name.endswith("_id") and target in SAMPLES:
            values[name] = ids.get(f"{target}_{value}", value)
    text = json.dumps(values)
    for uid, there in ids.items():
        kind, _, here = uid.rpartition("_")
        for form in (f"{kind}.id:%s", f"{kind}:(id:%s", f"contexts.{kind}.%s"):
            text = text.replace(form % here, form % there)
    for n in range(9):
        text = text.replace(f"{SECRET}-{n}", "secret")
    found: Tree = json.loads(re.sub(r"new-secret_\w+", "secret", text))
    return found


def remove(desk: Api, sample: dict[str, int], made: dict[str, Tree]) -> None:
    """Deletes the created records, so that their names are free; children first."""
    left = {uid: each["id"] for uid, each in made.items()}
    for _ in range(4):
        for uid, id in list(left.items()):
            if desk.remove(uid.rpartition("_")[0], id).status in (200, 404):
                del left[uid]
    assert not left


def test_bindings_move_with_their_automation_and_no_secret(desks):
    first, second = desks
    mail = automation(first, "packed.mail", "mail.received")
    hook = automation(first, "packed.hook")
    timer = automation(first, "packed.timer", "automation.timer")
    event = first.found("automation_event", "name:mail.received")[0]
    text = BOUND.format(name="packed.mail", secret=f"{SECRET}-3")
    first.update("automation_event", event, automations_kata=text).ok()
    listener = first.create(
        "webhook_listener", name="Packed", automations_kata=BOUND.format(name="packed.hook", secret=f"{SECRET}-3")
    ).ok()["id"]
    clock = first.create(
        "automation_timer", name="Packed", automations_kata=BOUND.format(name="packed.timer", secret=f"{SECRET}-4"),
        is_recurring=1, recurring_patterns="@daily",
    ).ok()["id"]  # fmt: skip
    package = export(
        first, f"automation:{mail}", f"automation:{hook}", f"automation:{timer}", f"automation_event:{event}",
        f"webhook:{listener}", f"timer:{clock}",
    )  # fmt: skip
    assert SECRET not in json.dumps(package)
    assert len(prompts(package)) == 4  # equal secrets are one prompt
    assert all(each["params"] == {"secret": True} for each in prompts(package).values())
    replies = answers(package)
    made = bring(second, package, **replies)
    there = second.record("automation", made[f"automation_{hook}"]["id"], "script").ok()["script"]
    keys = {each["label"].split()[1]: key for key, each in prompts(package).items()}
    assert f"access_token=new-{keys['access_token']}\n" in there
    assert f"Authorization: Bearer new-{keys['Authorization']}\n" in there
    bound = second.record("automation_event", event, "automations_kata").ok()["automations_kata"]
    shared = next(value for key, value in replies.items() if f"api_key: {value}" in bound)
    assert bound.strip() == BOUND.format(name="packed.mail", secret=shared).strip()
    assert second.record("webhook_listener", made[f"webhook_listener_{listener}"]["id"]).ok()["automations_kata"] == (
        BOUND.format(name="packed.hook", secret=shared)
    )


@pytest.mark.parametrize(
    ("uri", "fields"),
    [
        ("mailbox", {"password": "{{{pw}}}"}),
        ("connected_account", {"params": {"api_key": "{{{pw}}}"}, "service_id": 0, "uri": "typed"}),
        ("mail_transport", {"params": SAMPLES["mail_transport"]["params"] | {"password": "{{{pw}}}"}}),
    ],
)
@pytest.mark.parametrize(
    ("params", "value", "notes"),
    [
        ({"secret": True}, "{{{pw}}}", 0),
        ({"secret": True, "default": "known to the author"}, "{{{pw}}}", 1),
        ({"secret": True}, "known to the author", 1),
        ({"secret": True}, "{{{pw}}}{{{pw}}}", 1),
        ({}, "{{{pw}}}", 1),
    ],
)
def test_a_secret_is_typed_only_by_the_importer(uri, fields, params, value, notes, desks):
    _, second = desks
    prompt = {"type": "text", "label": "Password", "key": "pw", "params": params}
    entry = SAMPLES[uri] | fields | {"uid": "one", "_context": uri, "name": "Typed"}
    entry = json.loads(json.dumps(entry).replace("{{{pw}}}", value))
    package = {"package": {"configure": {"prompts": [prompt]}}, "records": [entry]}
    sent = {"package_json": json.dumps(package), "grants": 1, "prompts[pw]": "typed", "dry_run": 1}
    assert len(second.post(IMPORT, **sent).ok().json.get("notes", [])) == notes


def test_all_missing_answers_are_named_at_once(desks):
    first, second = desks
    worker = first.record("worker", 1).ok()["id"]
    task = first.create("task", title="Own", owner_id=worker).ok()["id"]
    box = first.create("mailbox", **SAMPLES["mailbox"] | {"name": "Missing"}).ok()["id"]
    package = export(first, f"task:{task}", f"mailbox:{box}")
    refused = second.post(IMPORT, package_json=json.dumps(package))
    fields = {f"prompts[{key}]" for key in prompts(package)}
    assert (refused.status, refused["__error"]) == (422, "ERROR_PARAM_REQUIRED") and len(fields) == 2
    assert {each["field"] for each in refused["errors"]} == fields
    assert all(field.removeprefix("prompts[")[:-1] in refused["message"] for field in fields)


def test_an_import_returns_client_ids_and_addresses_and_its_dry_run_none(desks):
    _, second = desks
    package = {"package": {}, "records": [
        {"uid": "app", "_context": "oauth_app", "name": "A", "callback_url": "https://shop.example/b"},
        {"uid": "hook", "_context": "webhook_listener", "name": "H"},
    ]}  # fmt: skip
    rehearsed = second.post(IMPORT, package_json=json.dumps(package), dry_run=1).ok()["records_created"]
    assert all(each.keys() == {"id", "label"} for made in rehearsed.values() for each in made.values())
    made = bring(second, package)
    assert made["app"]["client_id"] == second.record("oauth_app", made["app"]["id"]).ok()["client_id"]
    assert made["hook"]["url"] == second.record("webhook_listener", made["hook"]["id"]).ok()["url"]


def test_an_integration_is_moved_changed_and_updated_from_the_first_desk(desks):
    first, second = desks
    script = "start:\n  return:\n    body: {}\n"
    name = "moving"
    for number in range(3):
        automation(second, f"before.moving.{number}")
    hook = automation(first, f"{name}.hook", script=script.format("one"))
    timed = automation(first, f"{name}.timer", "automation.timer", script="start:\n")
    mailed = automation(first, f"{name}.mail", "mail.received", script="start:\n")
    kind = first.create("custom_record", name="Boat", name_plural="Boats", uri="moving_boat").ok()["id"]
    app = first.create("oauth_app", name="Moving app", callback_url="https://shop.example/one").ok()["id"]
    bound = "automation/{key}:\n  uri: svc:automation:moving.{key}\n  inputs:\n    shop: {shop}\n"
    listener = first.create("webhook_listener", name="Moving", automations_kata=bound.format(key="hook", shop="Larch"))
    timer = first.create(
        "automation_timer", name="Moving", is_recurring=1, recurring_patterns="@daily",
        automations_kata=bound.format(key="timer", shop="Larch"),
    ).ok()["id"]  # fmt: skip
    event = first.found("automation_event", "name:mail.received")[0]
    other = first.record("automation_event", event, "automations_kata")["automations_kata"]
    first.update("automation_event", event, automations_kata=bound.format(key="mail", shop="Larch")).ok()
    records = (
        f"automation:{hook}", f"automation:{timed}", f"automation:{mailed}", f"custom_record:{kind}",
        f"oauth_app:{app}", f"webhook:{listener.ok()['id']}", f"timer:{timer}", f"automation_event:{event}",
    )  # fmt: skip

    def packed() -> Tree:
        return first.post(EXPORT, **{"records[]": list(records), "name": "Moving"}).ok()["package"]

    def send(desk: Api, package: Tree, **more: object) -> Tree:
        sent = {"package_json": json.dumps(package), "grants": 1, "mode": "update"} | more
        return desk.post(IMPORT, **sent).ok().json

    made = {
        uid: each for of_type in send(second, packed())["records_created"].values() for uid, each in of_type.items()
    }
    assert made[f"automation_{hook}"]["id"] != hook and made[f"oauth_app_{app}"]["client_id"]
    assert send(second, packed())["records_updated"] == {}

    # Both desks continue: the second renames its type and adds to the event, the first changes scripts and bindings.
    there = {uid.rpartition("_")[0]: each["id"] for uid, each in made.items()}
    second.update("custom_record", there["custom_record"], name="Ship").ok()
    mine = automation(second, "moving.mine", "mail.received", script="start:\n")
    second.post(f"/rest/automations/{mine}/bind.json").ok()
    first.update("automation", hook, script=script.format("two")).ok()
    first.update("oauth_app", app, callback_url="https://shop.example/two").ok()
    first.update("automation_timer", timer, recurring_patterns="@hourly").ok()
    first.update("automation_event", event, automations_kata=bound.format(key="mail", shop="Birch")).ok()
    rehearsed = send(second, packed(), dry_run=1)
    found = send(second, packed())
    assert found["records_updated"] == rehearsed["records_updated"] and not found["records_created"]
    changed = {
        (context.rpartition(".")[2], each["field"]): each["state"]
        for context, of_type in found["records_updated"].items()
        for told in of_type.values()
        for each in told["changes"]
    }
    assert changed == {
        ("automation", "script"): "changed", ("app", "callback_url"): "changed",
        ("timer", "recurring_patterns"): "changed", ("event", "automation/mail"): "changed",
    }  # fmt: skip
    assert [each["fields"] for of_type in found["records_kept"].values() for each in of_type.values()] == [["name"]]
    assert second.record("custom_record", there["custom_record"])["name"] == "Ship"
    kata = second.record("automation_event", event, "automations_kata")["automations_kata"]
    assert "shop: Birch" in kata and "svc:automation:moving.mine" in kata
    clash = second.update("automation", made[f"automation_{hook}"]["id"], script=script.format("ours")).ok()
    first.update("automation", hook, script=script.format("three")).ok()
    refused = second.post(IMPORT, package_json=json.dumps(packed()), grants=1, mode="update")
    assert refused.status == 409 and f"'automation_{hook}': script" in refused["message"] and clash
    assert send(second, packed(), conflicts="take")["records_updated"]
    assert "three" in second.record("automation", made[f"automation_{hook}"]["id"], "script")["script"]
    first.update("automation_event", event, automations_kata=other).ok()
