"""The records that packages create, section by section; references between entries; and that an invalid package
leaves nothing behind."""

import copy
import json
import threading
from dataclasses import replace

import pytest

from server.errors import AdminOnly, Conflict, Invalid, TooLarge
from server.packages import package_document, package_import, requirements
from server.packages.package_import import ATTEMPTS, import_package
from server.packages.preparing import ImportPlan
from server.packages.substitution import Substitution
from server.record_types.record_type import Record
from server.records import records
from tests import databases
from tests.packages.parcel import TASK, Tree, bring, counts, package, task, without_new_ids
from tests.records.desk import Desk

APP = {"owner__context": "app", "owner_id": 0}
FIELD = {"uid": "serial", "name": "Serial", "type": "S", "params": []}
FIELDSET = {"uid": "set", "name": "Machine", "context": "task", "owner": {"context": "app", "id": 0}, "fields": [FIELD]}
NODES = [{"type": "action", "title": "Hi", "status": "live", "params": {"actions": [
    {"action": "_set_custom_var", "value": "{{var_order}} {{{uid.one}}}", "format": "", "var": "answer"},
]}}]  # fmt: skip
BEHAVIOR = {
    "uid": "status", "title": "Order status", "is_disabled": False, "is_private": False, "priority": 50,
    "event": {"key": "event.api.custom_request", "label": "Request", "params": []}, "nodes": NODES,
    "variables": {"var_order": {"key": "var_order", "label": "Order", "type": "S", "is_private": "0", "params": []}},
}  # fmt: skip
ELSEWHERE = {
    "event.mail.received": "mail.received", "event.mail.received.group": "mail.received",
    "event.mail.sent": "mail.sent", "event.mail.moved.group": "mail.moved", "event.record.changed": "record.changed",
    "event.recurrent": "automation.timer", "event.behavior.recurrent": "automation.timer",
    "event.macro.ticket": "automation.function",
}  # fmt: skip
BOT = {"uid": "bot", "name": "Shop bot", "owner": "", "is_disabled": 0, "params": [], "behaviors": [BEHAVIOR]}
PAGE = {"uid": "page", "name": "Desk", "extension_id": "core.workspace.page.workspace", "tabs": [
    {"name": "Numbers", "extension_id": "core.workspace.tab.dashboard", "widgets": [
        {"uid": "clock", "label": "Clock {{{uid.page}}}", "extension_id": "clock", "params": {"id": "{{{uid.one}}}"}},
        {"uid": "gone", "label": "Gone", "extension_id": "clock", "_exclude": "{{{ 1 }}}"},
    ]},
    {"name": "Lists", "extension_id": "core.workspace.tab.worklists", "worklists": [
        {"title": "Open", "model": {"context": "ticket", "columns": ["subject"], "limit": 25, "sort_by": "subject",
                                    "params_required_query": "status:open"}},
        {"name": "Tasks", "context": "task", "columns": ["title"]},
    ]},
]}  # fmt: skip
CALENDAR = {"uid": "hours", "name": "Hours", "params": {"start_on_mon": "1"}, "events": [
    {"uid": "days", "name": "Open", "is_available": True, "tz": "UTC", "event_start": "9am", "event_end": "5pm",
     "recur_start": "", "recur_end": 0, "patterns": "weekdays"},
    {"uid": "party", "name": "Party", "is_available": 0, "date_start": "2027-01-01 10:00", "date_end": 0},
]}  # fmt: skip
SEARCH = {"uid": "mine", "name": "Mine", "context": "ticket", "tag": "", "query": "owner.id:me"}
BINDING = "automation/{{{uid.one}}}:\n  uri: svc:automation:x\n  disabled@bool: yes\n"


def ids_of(made) -> dict[str, int]:
    """Returns {uid: id} of all created records."""
    return {uid: each["id"] for listed in made.records.values() for uid, each in listed.items()}


def on(desk: Desk, uri: str, **equals) -> list[Record]:
    """Returns the records with these column values."""
    record_type = desk.registry.type(uri)
    return [record_type.record(row) for row in desk.read(lambda tx: tx.find(record_type.table, **equals))]


def test_the_result_has_ids_and_labels(desk):
    made = bring(desk, package(task("a"), task("b", _label="Mine #{{{uid.b}}}"), task("c", title="Oil")))
    found = made.records[TASK]
    first = found["a"]["id"]
    assert found == {
        "a": {"id": first, "label": "Count"},
        "b": {"id": first + 1, "label": f"Mine #{first + 1}"},
        "c": {"id": first + 2, "label": "Oil"},
    }


def test_entries_reference_each_other_in_any_order(desk):
    made = ids_of(bring(desk, package(
        {"uid": "widget", "_context": "workspace_widget", "label": "W", "extension_id": "x", "tab_id": "{{{uid.tab}}}"},
        {"uid": "tab", "_context": "tab", "name": "T", "extension_id": "core.workspace.tab.dashboard",
         "page_id": "{{{uid['a page']}}}", "params": {"of": "{{{uid.widget}}}"}},
        {"uid": "a page", "_context": "workspace_page", "name": "P", "extension_id": PAGE["extension_id"], **APP},
        task("x", links=["task:{{{uid.y}}}"]), task("y", title="{{{uid.x}}}"),
    )))  # fmt: skip
    assert desk.row("workspace_widget", made["widget"])["tab_id"] == made["tab"]
    tab = desk.row("workspace_tab", made["tab"])
    assert (tab["page_id"], tab["params"]) == (made["a page"], {"of": str(made["widget"])})
    assert desk.record("task", made["x"], expand="links")["links"] == {TASK: [made["y"]]}
    assert desk.row("task", made["y"])["title"] == str(made["x"])


def test_entries_may_reference_each_other_in_a_circle(desk):
    made = ids_of(bring(desk, package(*(task(f"t{n}", title=f"{{{{{{uid.t{(n + 1) % 3}}}}}}}") for n in range(3)))))
    titles = [desk.row("task", made[f"t{n}"])["title"] for n in range(3)]
    assert titles == [str(made[f"t{(n + 1) % 3}"]) for n in range(3)]


def test_later_records_get_later_ids(desk):
    made = ids_of(bring(desk, package(task("a"))))
    assert desk.create("task", title="After")["id"] == made["a"] + 1


def test_records_are_created_with_the_rights_of_the_service_and_logged_with_the_administrator(desk, ids):
    made = ids_of(bring(desk, package(task("a")), by=ids["nora"]))
    entries = [each for each in desk.log() if each["target_id"] == made["a"] and each["target__context"] == TASK]
    assert [(each["activity_point"], each["actor_id"]) for each in entries] == [("task.created", ids["nora"])]
    [entry] = [each for each in desk.log("package.imported") if each["actor_id"] == ids["nora"]]
    assert (entry["params"]["variables"]["actor"], entry["params"]["variables"]["made"]) == ("Nora Berg", "1 record")


def test_a_fieldset_with_its_fields_and_a_value_for_one(desk):
    made = ids_of(bring(desk, package(
        task("t", **{"custom_{{{uid.serial}}}": "AB-1"}, fieldsets=["{{{uid.set}}}"]), custom_fieldsets=[FIELDSET]
    )))  # fmt: skip
    (field,) = on(desk, "custom_field", custom_fieldset_id=made["set"])
    assert (field["name"], field["uri"], field["type"], field["context"]) == ("Serial", "serial", "S", TASK)
    shown = desk.record("task", made["t"], expand="custom_")
    assert shown["custom"][str(field["id"])] == "AB-1" and "serial" not in made
    again = ids_of(bring(desk, package(custom_fieldsets=[FIELDSET])))
    (other,) = on(desk, "custom_field", custom_fieldset_id=again["set"])
    assert other["uri"] == "serial_2"


def test_a_bot_with_a_behavior_and_an_additional_node(desk, ids):
    made = bring(desk, package(
        task("one"), bots=[BOT | {"owner": {"context": "worker", "id": ids["milo"]}, "params": {"x": "{{{uid.one}}}"}}],
        behavior_nodes=[{"uid": "n", "behavior_id": "{{{uid.status}}}", "parent_id": 0, "title": "Bye",
                         "type": "action", "status": "live", "params": []}],
    ))  # fmt: skip
    found = ids_of(made)
    bot, behavior = desk.row("bot", found["bot"]), desk.row("behavior", found["status"])
    assert (bot["owner__context"], bot["owner_id"]) == ("svc.contexts.worker", ids["milo"])
    assert bot["config"] == {"x": str(found["one"])}
    assert (behavior["bot_id"], behavior["name"], behavior["priority"]) == (found["bot"], "Order status", 50)
    assert behavior["variables"]["var_order"]["label"] == "Order"
    first, second = behavior["nodes"]
    assert first["params"]["actions"][0]["value"] == f"{{{{var_order}}}} {found['one']}"
    assert second["title"] == "Bye"
    assert made.records["svc.contexts.behavior.node"]["n"] == {
        "id": 2, "label": "Bye", "behavior_id": found["status"], "parent_id": 0, "type": "action",
    }  # fmt: skip


def test_a_behavior_for_an_existing_bot(desk):
    bot = desk.create("bot", name="Old", **APP)["id"]
    made = ids_of(bring(desk, package(task("one"), behaviors=[BEHAVIOR | {"bot_id": bot, "uri": "its_name"}])))
    assert desk.row("behavior", made["status"])["bot_id"] == bot


def test_a_workspace_with_tabs_widgets_and_worklists(desk):
    made = ids_of(bring(desk, package(task("one"), workspaces=[PAGE])))
    assert set(made) == {"one", "page"}
    assert desk.row("workspace_page", made["page"])["owner__context"] == "svc.contexts.app"
    numbers, lists = on(desk, "workspace_tab", page_id=made["page"])
    assert (numbers["pos"], lists["pos"]) == (0, 1)
    (clock,) = on(desk, "workspace_widget", tab_id=numbers["id"])
    assert (clock["label"], clock["params"]) == (f"Clock {made['page']}", {"id": str(made["one"])})
    first, second = on(desk, "workspace_list", tab_id=lists["id"])
    assert (first["name"], first["context"], first["columns"]) == ("Open", "svc.contexts.ticket", ["subject"])
    assert (first["render_limit"], first["params_required_query"]) == (25, "status:open")
    assert (second["name"], second["pos"]) == ("Tasks", 1)


def test_a_calendar_with_both_kinds_of_events(desk):
    made = ids_of(bring(desk, package(calendars=[CALENDAR])))
    assert desk.row("calendar", made["hours"])["params"] == {"start_on_mon": 1}
    (days,) = on(desk, "calendar_event_recurring", calendar_id=made["hours"])
    assert (days["patterns"], days["is_available"], days["event_end"]) == ("weekdays", 1, "5pm")
    (party,) = on(desk, "calendar_event", calendar_id=made["hours"])
    assert (party["date_start"], party["is_available"]) == (1798797600, 0)


@pytest.mark.parametrize("owner", ["group:{group}", {"context": "svc.contexts.group", "id": "{group}"}])
def test_a_saved_search_for_a_group(owner, desk, ids):
    given = json.loads(json.dumps(owner).replace("{group}", str(ids["support"])))
    made = ids_of(bring(desk, package(saved_searches=[SEARCH | {"owner": given}])))
    found = desk.row("saved_search", made["mine"])
    assert (found["owner__context"], found["owner_id"], found["query"]) == (
        "svc.contexts.group", ids["support"], "owner.id:me"
    )  # fmt: skip


def test_text_is_appended_to_events_and_toolbars(desk):
    event = on(desk, "automation_event", name="mail.moved")[0]["id"]
    desk.update(
        "automation_event",
        event,
        automations_kata="automation/first:\n  uri: svc:automation:y\n  disabled@bool: yes\n\n\n",
    )
    made = bring(desk, package(
        task("one"), events=[{"event": "mail.moved", "kata": BINDING}],
        toolbars=[{"toolbar": "mail.read", "kata": "interaction/x:\n  label: Go\n"}],
    ))  # fmt: skip
    assert list(made.records) == [TASK]
    assert desk.row("automation_event", event)["automations_kata"] == (
        f"automation/first:\n  uri: svc:automation:y\n  disabled@bool: yes\n\n"
        f"automation/{ids_of(made)['one']}:\n  uri: svc:automation:x\n"
        "  disabled@bool: yes\n"
    )
    assert on(desk, "toolbar", name="mail.read")[0]["toolbar_kata"] == "interaction/x:\n  label: Go\n"


def test_settings_and_preferences_are_stored_by_name(desk, ids):
    made = bring(desk, package(
        task("one"), settings={"svc.core": {"a": "{{{uid.one}}}", "b": [1], "c": 2.5}, "svc.nowhere": {"a": 1}},
        worker_preferences={str(ids["milo"]): {"theme": "dark"}, "99999": {"theme": "light"}},
    ))  # fmt: skip
    kept = dict(desk.read(lambda tx: tx.connection.execute("SELECT name, value FROM service_setting").fetchall()))
    assert kept["plugin:svc.core:a"] == json.dumps(str(ids_of(made)["one"])) and kept["plugin:svc.core:c"] == "2.5"
    assert kept[f"worker:{ids['milo']}:theme"] == '"dark"' and "plugin:svc.core:b" not in kept
    assert [note.partition(";")[0] for note in made.notes] == [
        "settings: svc.core: b is neither text nor number and was left out",
        "settings: there is no plugin 'svc.nowhere'",
        "worker_preferences: there is no worker '99999'",
    ]


def test_records_of_a_type_that_the_package_creates(desk, ids):
    kind = {"uid": "kind", "_context": "custom_record", "name": "Pump", "name_plural": "Pumps", "uri": "pump"}
    fields = [FIELDSET | {"context": "pump", "fields": [FIELD | {"uid": "valve"}]}]
    made = bring(desk, package(
        {"uid": "first", "_context": "pump", "name": "P-1", "custom_{{{uid.valve}}}": "V"}, kind,
        task("t", links=["pump:{{{uid.first}}}"]), custom_fieldsets=fields,
    ))  # fmt: skip
    found = ids_of(made)
    context = f"svc.contexts.custom_record.{found['kind']}"
    assert made.records[context] == {"first": {"id": 1, "label": "P-1"}}
    assert desk.record("pump", 1, by=ids["nora"], expand="custom_,links")["links"] == {TASK: [found["t"]]}
    assert desk.found("pump", "valve:V", by=ids["nora"]) == [1]
    desk.delete("task", found["t"])
    desk.delete("pump", 1)
    desk.delete("custom_record", found["kind"])


def test_a_type_of_a_failed_package_never_exists(desk):
    kind = {"uid": "kind", "_context": "custom_record", "name": "Pump", "name_plural": "Pumps", "uri": "pump"}
    pump = {"uid": "first", "_context": "pump", "name": "P-1"}
    before = counts(desk)
    for _ in range(2):
        with pytest.raises(Invalid, match="nothing"):
            bring(desk, package(kind, pump, task(nothing=1)))
        assert desk.registry.find("pump") is None and counts(desk) == before
    owned = kind | {"params": {"owners": {"contexts": ["worker"]}, "options": ["avatars"]}}
    made = ids_of(bring(desk, package(owned, pump | {"owner__context": "worker", "owner_id": 1})))
    assert desk.row("pump", made["first"])["owner__context"] == "svc.contexts.worker"


def test_excluded_entries_are_not_created(desk):
    prompts = [{"type": "text", "label": "L", "key": "x", "params": {}}]
    made = bring(desk, package(
        task("a", _exclude="{{{x}}}"), task("b", _exclude="{{{x == 'no'}}}"), task("c", _exclude=0),
        task("d", _exclude=True), {"_exclude": "{{{x}}}"}, task("f", title="[{{{uid.a}}}]"), prompts=prompts,
    ), x="yes")  # fmt: skip
    assert set(ids_of(made)) == {"b", "c", "f"} and made.records[TASK]["f"]["label"] == "[]"


def test_an_empty_package_is_valid(desk):
    before = counts(desk)
    assert bring(desk, {"package": {}}).records == {}
    assert bring(desk, package(custom_fieldsets=[], settings=[], portals=[])).records == {}
    told = {name: before[name] + 2 for name in ("package_import", "activity_log")}  # the entries about both imports
    assert counts(desk) == before | told | {"package_entry": 0}


def test_a_package_can_name_a_fixed_type_next_to_an_id(desk, ids):
    made = ids_of(bring(desk, package(task("a", owner__context="worker", owner_id=ids["milo"]))))
    assert desk.row("task", made["a"])["owner_id"] == ids["milo"]
    with pytest.raises(Invalid, match="'owner__context' is not a field of task"):
        bring(desk, package(task("a", owner__context="group", owner_id=ids["support"])))


# -- a dry run --------------------------------------------------------------------------------------------------------

ALL = package(
    task("one"), custom_fieldsets=[FIELDSET], bots=[BOT], workspaces=[PAGE], saved_searches=[SEARCH],
    calendars=[CALENDAR], events=[{"event": "mail.sent", "kata": BINDING}], settings={"svc.core": {"z": 1}},
)  # fmt: skip


def test_a_dry_run_reports_what_would_be_created_and_creates_nothing(desk):
    before = counts(desk)
    told = import_package(desk.context(), ALL, {}, dry_run=True)
    assert counts(desk) == before
    made = bring(desk, ALL)
    assert without_new_ids(made.records) == without_new_ids(told.records)
    assert replace(made, records={}) == replace(told, records={})
    assert counts(desk)["task"] == before["task"] + 1


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_invalid_record_in_the_last_section_leaves_nothing_behind(dry_run, desk):
    before = counts(desk)
    bad = copy.deepcopy(ALL) | {"toolbars": [{"toolbar": "mail.raed", "kata": "x:\n  y: z\n"}]}
    with pytest.raises(Invalid, match=r"toolbars: entry 1: there is no toolbar 'mail.raed'; did you mean"):
        import_package(desk.context(), bad, {}, dry_run=dry_run)
    assert counts(desk) == before
    assert on(desk, "automation_event", name="mail.sent")[0]["automations_kata"].count("automation/") <= 1


# -- mistakes ---------------------------------------------------------------------------------------------------------


def entry(**changed) -> Tree:
    return {name: value for name, value in (SEARCH | changed).items() if value is not None}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], 'a JSON object with the key "package"'),
        ({}, 'the key "package"'),
        ({"package": "x"}, "an object as well"),
        ({"package": {"name": 5}}, "name must be a text"),
        ({"package": {"configure": "x"}}, "configure must be a map"),
        ({"package": {"configure": {"prompts": "x"}}}, "prompts must be a list of maps"),
        ({"package": {"configure": {"placeholders": [1]}}}, "placeholders must be a list of maps"),
        ({"package": {}, "recrods": [1]}, "'recrods' is not a section of a package; did you mean 'records'?"),
        ({"package": {}, "portals": [{}]}, "portals: this service has no community portals"),
        ({"package": {}, "settings": [1]}, "settings: must be a map"),
        ({"package": {}, "records": {"a": 1}}, "records: must be a list of entries"),
        (package("x"), "records: entry 1 must be a map"),
        (package({"uid": "a"}), "records: 'a': lacks _context"),
        (package({"_context": "task", "uid": ""}), "entry 1: lacks uid"),
        (package({"_context": "task", "uid": 5}), "'5': uid must be a text"),
        (package({"_context": ["task"], "uid": "a"}), "'a': _context must be the name"),
        (package({"_context": "tsk", "uid": "a"}), "'a': _context: 'tsk' is not a record type; did you mean 'task'"),
        (package({"_context": "{{{x}}}", "uid": "a"}), "is not a record type"),
        (package({"_context": "toolbar", "uid": "a"}), "'a': toolbars cannot be created by packages"),
        (package(task("a"), task("a")), "'a': the uid appears twice"),
        (package(task("s"), saved_searches=[SEARCH | {"uid": "s"}]), "saved_searches: 's': the uid appears twice"),
        (package({"_context": "task", "uid": "a"}), "'a': title is required"),
        (package(task("a", titel="x")), "'titel' is not a field of task; did you mean 'title'"),
        (package(task("a", title="")), "'a': title must not be empty"),
        (package(task("a", due="someday maybe")), "'a': due: "),
        (package(task("a", owner_id="{{{uid.a}}}9999")), "'a': owner_id: there is no worker"),
        (package(task("a", id=5)), "'a': id: is set by the service"),
        (package(task("a", _exclude="{{{ x( }}}")), "'a': _exclude: "),
        (package(task("a", _label="{{{ x( }}}")), "'a': "),
        (package(task("a", links=["task:{{{uid.b}}}"])), "'a': links: 'task:'"),
        (package(saved_searches=[entry(tag=None, query=None)]), "saved_searches: 'mine': lacks tag, query"),
        (package(saved_searches=[entry(query="(")]), "saved_searches: 'mine': query: "),
        (package(saved_searches=[entry(owner=5)]), "owner takes a map of context and id"),
        (package(saved_searches=[entry(owner="worker:99999")]), "there is no"),
        (package(custom_fieldsets=[FIELDSET | {"fields": [{"uid": "f"}]}]), "fields: 'f': lacks name, type, params"),
        (package(custom_fieldsets=[FIELDSET | {"fields": [FIELD | {"type": "Q"}]}]), "'serial': type: 'Q'"),
        (package(bots=[{"uid": "b"}]), "bots: 'b': lacks name, owner, is_disabled, params, behaviors"),
        (package(bots=[BOT | {"params": "x"}]), "params takes a map"),
        (package(bots=[BOT | {"behaviors": [BEHAVIOR | {"event": {"key": "event.x"}}]}]), "'event.x' is not an event"),
        *((package(bots=[BOT | {"behaviors": [BEHAVIOR | {"event": {"key": event, "label": "Old"}}]}]), named)
          for event, trigger in ELSEWHERE.items()
          for named in ("bots: 'bot': behaviors: 'status' (Order status)", f"'{event}'", f"svc.trigger.{trigger},")),
        (package({"uid": "b", "_context": "behavior", "name": "B", "bot_id": 1, "event_point": "event.mail.received"}),
         "records: 'b': event_point: behaviors do not respond to 'event.mail.received' here"),
        (package(bots=[BOT | {"behaviors": [BEHAVIOR | {"nodes": [{"type": "actoin", "title": "x"}]}]}]),
         "bots: 'bot': behaviors: 'status': nodes[0]: 'actoin' is not a type of node"),
        (package(behaviors=[BEHAVIOR]), "behaviors: 'status': lacks bot_id"),
        (package(behaviors=[BEHAVIOR | {"bot_id": 99999}]), "bot_id: there is no bot 99999"),
        (package(behavior_nodes=[{"uid": "n", "behavior_id": "9999", "parent_id": 0, "title": "t"}]),
         "behavior_nodes: 'n': behavior_id: there is no behavior '9999'"),
        (package(behavior_nodes=[{"uid": "n", "behavior_id": "9" * 20, "parent_id": 0, "title": "t"}]),
         "behavior_nodes: 'n': behavior_id: there is no behavior '99999999999999999999'"),
        (package(workspaces=[PAGE | {"extension_id": "x"}]), "workspaces: 'page': extension_id"),
        (package(workspaces=[PAGE | {"tabs": [{"name": "x"}]}]), "'page': tabs: entry 1: lacks extension_id"),
        (package(workspaces=[PAGE | {"tabs": [PAGE["tabs"][0] | {"widgets": [{"label": "x"}]}]}]),
         "tabs: entry 1: widgets: entry 1: lacks extension_id"),
        (package(workspaces=[PAGE | {"tabs": [PAGE["tabs"][1] | {"worklists": [{"title": "x", "model": 5}]}]}]),
         "model takes a map"),
        (package(calendars=[CALENDAR | {"events": [{"uid": "e", "name": "x", "is_available": 1}]}]), "lacks tz"),
        (package(calendars=[CALENDAR | {"params": {"color_busy": "red"}}]), "color_busy must be a colour"),
        (package(events=[{"event": "mail.sentt", "kata": "x:\n  y: z"}]), "'mail.sentt'; did you mean 'mail.sent'"),
        (package(events=[{"event": "mail.sent"}]), "events: entry 1: lacks kata"),
        (package(events=[{"event": "mail.sent", "kata": ["x"]}]), "kata must be a text"),
        (package(events=[{"event": "mail.sent", "kata": BINDING.replace("{{{uid.one}}}", "a")}] * 2),
         "events: entry 2: "),
        (package(events=[{"event": "mail.sent", "kata": "automation/x:\n  urri: y\n"}]), "events: entry 1: "),
        (package({"uid": "a", "_context": "automation", "extension_id": "svc.trigger.mail.sent",
                  "script": "start:\n  log.wran: x\n"}), "records: 'a': script: "),
        (package({"uid": "a", "_context": "webhook", "name": "w", "automations_kata": "x"}), "'a': automations_kata"),
        (package(settings={"svc.core": "x"}), "settings: svc.core: must be a map"),
        (package(settings={"svc.core": {"a": "x" * 70_000}}), "more than 65536 characters"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_position(value, words, desk):
    before = counts(desk)
    with pytest.raises((Invalid, Conflict)) as caught:
        bring(desk, value)
    assert words in caught.value.message and caught.value.details["field"] == "package_json"
    assert counts(desk) == before


def test_a_duplicate_of_a_unique_value_is_a_conflict(desk):
    queue = {"uid": "q", "_context": "queue", "name": "orders"}
    bring(desk, package(queue))
    with pytest.raises(Conflict, match="records: 'q': name: 'orders' already belongs to queue"):
        bring(desk, package(queue))


def test_only_administrators_import(desk, ids):
    with pytest.raises(AdminOnly):
        bring(desk, package(task()), by=ids["milo"])
    with pytest.raises(AdminOnly):
        bring(desk, "whatever", by=ids["olga"])
    assert bring(desk, package(task()), by=ids["nora"]).records


def test_entries_and_prompts_are_limited_in_number(desk, monkeypatch):
    monkeypatch.setattr("server.packages.sections.MAX_ENTRIES", 5)
    assert len(bring(desk, package(*(task(f"t{n}") for n in range(5)))).records[TASK]) == 5
    inside = PAGE | {"tabs": PAGE["tabs"] + PAGE["tabs"]}
    for value in (package(*(task(f"t{n}") for n in range(6))), package(workspaces=[inside])):
        with pytest.raises(TooLarge, match="at most 5 entries"):
            bring(desk, value)
    asked = [{"type": "random", "key": "k"}] * (package_document.MAX_PROMPTS + 1)
    with pytest.raises(TooLarge, match="at most 200 placeholders"):
        bring(desk, package(placeholders=asked))


@pytest.mark.parametrize(
    ("version", "other", "lower"),
    [
        ("1.0", "1.0", False), ("1.0", "1.1", True), ("1.10", "1.9", False), ("1", "1.0", True),
        ("1.0.0", "1.0", False), ("1.0dev", "1.0alpha", True), ("1.0a", "1.0alpha", False), ("1.0alpha", "1.0b", True),
        ("1.0b2", "1.0beta1", False),
        ("1.0beta", "1.0RC1", True), ("1.0-rc1", "1.0rc1", False), ("1.0rc2", "1.0", True), ("1.0", "1.0pl1", True),
        ("1.0p1", "1.0pl1", False), ("1.0whatever", "1.0dev", True), ("2", "10", True), ("1.0.0", "1.0p1", True),
    ],
)  # fmt: skip
def test_versions_are_compared_part_by_part(version, other, lower):
    assert requirements.is_lower(version, other) is lower


@pytest.mark.parametrize(
    ("requires", "words"),
    [
        ({}, ""), ({"svc_version": "", "plugins": []}, ""), ({"svc_version": "1.0.0"}, ""),
        ({"svc_version": requirements.SVC_VERSION, "plugins": ["svc.core", "svc.bots.portal.widget"]}, ""),
        ({"svc_version": "99.1"}, "needs version 99.1 of the service"),
        ({"svc_version": 5}, "must be a text"),
        ({"svc_version": "?"}, "must be a text"),
        ({"plugins": ["svc.core", "svc.wehooks", "x"]}, "'svc.wehooks', which is not installed; did you mean"),
        ({"plugins": "svc.core"}, "takes a list"),
        ({"plugins": [["svc.core"]]}, "which is not installed"),
        ("1.0", "requires must be a map"),
    ],
)  # fmt: skip
def test_requirements_are_checked_first(requires, words, desk):
    value = package(task(), requires=requires)
    if not words:
        assert bring(desk, value).records
        return
    with pytest.raises(Invalid) as caught:
        bring(desk, value)
    assert words in caught.value.message


def test_events_can_be_suppressed(desk):
    """A package can request that no job reports its changes."""
    event = on(desk, "automation_event", name="record.changed")[0]["id"]
    desk.create("automation", name="hears", extension_id="svc.trigger.record.changed", script="start:\n  log: x\n")
    desk.update("automation_event", event, automations_kata="automation/x:\n  uri: svc:automation:hears\n")
    try:
        quiet = package(task("a"))
        quiet["package"]["configure"]["options"] = {"disable_events": True}
        jobs = [counts(desk).get("job", 0)]
        for value in (quiet, package(task("a"))):
            bring(desk, value)
            jobs.append(counts(desk).get("job", 0))
        assert jobs[1] == jobs[0] < jobs[2]
    finally:
        desk.update("automation_event", event, automations_kata="")


def test_regular_operations_see_the_created_records(desk):
    made = ids_of(bring(desk, package(task("a", title="Zzymurgy"))))
    found = records.search(desk.context(), "task", records.SearchRequest("zzymurgy"))
    assert [each["id"] for each in found["results"]] == [made["a"]]


EVE = {"_context": "worker", "first_name": "Eve", "language": "en_US", "timezone": "UTC"}
SECRETS = [
    (EVE | {"email": "eve@kite.example"}, "password",
     "the password was left out; workers choose their own through a link"),
    (EVE | {"email": "eve.{{{uid.one}}}@kite.example"}, "password",
     "the password was left out; workers choose their own through a link"),
    ({"_context": "webhook", "name": "H"}, "guid", "guid was left out; the service chooses its own"),
    ({"_context": "automation_resource", "name": "a.txt"}, "token", "token was left out; the service chooses its own"),
    ({"_context": "oauth_app", "name": "A", "callback_url": "https://kite.example/"}, "client_secret",
     "client_secret was left out; the service chooses its own"),
    ({"_context": "draft", "type": "mail.transactional"}, "token", "token was left out; the service chooses its own"),
    ({"_context": "mailbox", "name": "M", "host": "kite.example", "protocol": "imap", "username": "m"}, "password",
     "password was left out; the service chooses its own"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "secret", "note"), SECRETS, ids=[f"{each[0]['_context']}-{each[1]}" for each in SECRETS]
)
def test_no_secret_comes_with_a_package(fields: Tree, secret: str, note: str, desk: Desk) -> None:
    chosen = "known-to-its-author"
    made = import_package(desk.context(), package({"uid": "one", secret: chosen} | fields), {}, grants_agreed=True)
    assert made.notes == [f"records: 'one': {note}"]
    for table in desk.read(lambda tx: databases.tables(tx.connection)):
        rows = desk.read(lambda tx, name=table: tx.connection.execute(f'SELECT * FROM "{name}"').fetchall())
        assert not [row for row in rows if chosen in map(str, row)], table


PARAMS = [
    ({"_context": "connected_account", "name": "A", **APP}, {"token": "known"}, "credentials were left out", {}),
    ({"_context": "connected_service", "name": "S", "extension_id": "svc.service.provider.oauth2"},
     {"client_secret": "known", "client_id": "c"}, "client_secret was left out", {"client_id": "c"}),
    ({"_context": "mail_transport", "name": "T", "extension_id": "core.mail.transport.smtp"},
     {"host": "kite.example", "username": "u", "password": "known"}, "password was left out",
     {"host": "kite.example", "username": "u"}),
]  # fmt: skip


@pytest.mark.parametrize("encode", [dict, json.dumps], ids=["a map", "JSON"])
@pytest.mark.parametrize(("fields", "params", "note", "stored"), PARAMS, ids=[each[0]["_context"] for each in PARAMS])
def test_no_secret_comes_in_the_params_of_a_package(fields, params, note, stored, encode, desk: Desk) -> None:
    entry = {"uid": "one", "params": encode(params)} | fields
    made = import_package(desk.context(), package(entry), {}, grants_agreed=True)
    assert len(made.notes) == 1 and note in made.notes[0]
    assert desk.row(fields["_context"], ids_of(made)["one"])["params"].items() >= stored.items()
    assert "known" not in str(desk.row(fields["_context"], ids_of(made)["one"]))


class Interrupted(ImportPlan):
    """An import that is overtaken by others between its preparation and its write."""

    times = 0
    desk: Desk

    def __init__(self, *given, **named) -> None:
        super().__init__(*given, **named)
        if Interrupted.times:
            Interrupted.times -= 1
            Interrupted.desk.create("task", title="In between")


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("times", [0, 1, ATTEMPTS])
def test_entries_reference_the_final_ids_although_others_came_first(times, dry_run, desk, monkeypatch):
    monkeypatch.setattr(package_import, "ImportPlan", Interrupted)
    Interrupted.desk, Interrupted.times = desk, times
    value = package(task("a", _label="{{{uid.b}}}"), task("b", _label="{{{uid.a}}}"))
    made = import_package(desk.context(), value, {}, dry_run=dry_run).records["svc.contexts.task"]
    assert [made["a"]["label"], made["b"]["label"]] == [str(made["b"]["id"]), str(made["a"]["id"])]
    assert [len(on(desk, "task", id=each["id"])) for each in made.values()] == [int(not dry_run)] * 2
    assert Interrupted.times == 0


def test_the_writer_renders_no_template(desk, ids, monkeypatch):
    threads = []
    rendered = Substitution._rendered

    def noted(self, *given):
        threads.append(threading.current_thread().name)
        return rendered(self, *given)

    monkeypatch.setattr(Substitution, "_rendered", noted)
    bring(desk, package(
        task("one", _label="Mine {{{uid.two}}}"), task("two", title="{{{uid.one}}}"), bots=[BOT], workspaces=[PAGE],
        events=[{"event": "record.changed", "kata": BINDING}], worker_preferences={f"{{{{{{{ids['milo']}}}}}}}": {
            "color": "{{{uid.one}}}"
        }}, settings={"core": {"x": "{{{uid.one}}}"}},
    ))  # fmt: skip
    assert len(threads) >= 8 and "writer" not in threads


def test_a_behavior_that_never_runs_is_reported(desk):
    hook = BEHAVIOR | {"event": {"key": "event.webhook.received", "label": "Webhook"}}
    [note] = bring(desk, package(task("one"), bots=[BOT | {"behaviors": [hook]}])).notes
    assert note.startswith("bots: 'bot': behaviors: 'status'") and "svc.trigger.webhook.respond" in note
    made = bring(desk, package(task("one"), bots=[BOT | {"behaviors": [BEHAVIOR | {"event": "event.macro.bot"}]}]))
    assert made.notes == []
    [id] = desk.found("behavior", "event:event.macro.bot")
    assert desk.row("behavior", id)["name"] == "Order status"
