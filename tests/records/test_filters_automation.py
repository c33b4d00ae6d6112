"""Every filter, order, key, expand and subtotal of the types around automations runs on a real database."""

import pytest

from server.desk import builtin_records
from server.desk.subtotals import subtotals
from server.desk.writing import RecordWriter
from server.records.registry import load
from tests.records.desk import NOW, Desk

TYPES = (
    "bot", "behavior", "automation", "automation_event", "automation_timer", "automation_resource",
    "webhook_listener", "connected_account", "connected_service", "package", "toolbar",
)  # fmt: skip
REGISTRY = load()
FILTERS = [(uri, name) for uri in (*TYPES, "automation_log") for name in REGISTRY.type(uri).filter_by_name]
VALUES = {
    "text": "pump*", "number": "[1,2]", "chooser": ">0", "bool": "yes", "date": '"-1 week"', "watchers": "any",
    "links": "ticket", "deep": "(id:>0)", "enum": "debug", "virtual": "1",
}  # fmt: skip
VARIABLES = {"var_city": {"key": "var_city", "label": "City", "type": "S", "is_private": "0", "params": {}}}


def populate(desk: Desk) -> dict[str, int]:
    """At least one record of each type, everything filled in that others could look at."""
    ids = desk.people()
    builtin_records.add_missing(desk.context())
    app = {"owner__context": "app", "owner_id": 0}
    nora = {"owner__context": "worker", "owner_id": ids["nora"]}
    made = {"bot": desk.create("bot", name="Pump bot", mention_name="pumpy", **app)["id"]}
    made["other"] = desk.create("bot", name="Nora's bot", is_disabled=1, **nora)["id"]
    event = "event.api.custom_request"
    made["behavior"] = desk.create("behavior", name="Status", uri="pump_status", bot_id=made["bot"], event_point=event)[
        "id"
    ]
    for name, bot, private in (("Secret", made["bot"], 1), ("Open", made["other"], 0), ("Own", made["other"], 1)):
        id = desk.create("behavior", name=name, bot_id=bot, is_private=private, event_point=event, priority=3)["id"]
        made[name] = id
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).update("behavior", made["behavior"], {
        "variables": VARIABLES, "nodes": [{"type": "switch", "title": "City?", "nodes": []}],
    }))  # fmt: skip
    made["automation"] = desk.create(
        "automation", name="pump.answer", extension_id="svc.trigger.webhook.respond", description="Says where",
        script="inputs:\n  text/city:\nstart:\n  return:", links=[f"worker:{ids['olga']}"],
    )["id"]  # fmt: skip
    made["automation_event"] = desk.found("automation_event", "name:mail.received")[0]
    made["toolbar"] = desk.found("toolbar", "name:mail.compose")[0]
    made["automation_timer"] = desk.create("automation_timer", name="Pump", is_recurring=1, next_run_at=NOW)["id"]
    made["automation_resource"] = desk.create("automation_resource", name="pump.png", mime_type="image/png")["id"]
    made["webhook_listener"] = desk.create("webhook_listener", name="Pump")["id"]
    made["connected_service"] = desk.create(
        "connected_service", name="Stock", uri="Stock", extension_id="svc.service.provider.oauth2",
        params={"client_secret": "canary"},
    )["id"]  # fmt: skip
    made["connected_account"] = desk.create(
        "connected_account", name="Our stock", uri="our.stock", service_id=made["connected_service"],
        params={"token": "canary"}, owner__context="bot", owner_id=made["bot"],
    )["id"]  # fmt: skip
    made["package"] = desk.own(
        "package", name="Pumps", uri="Pump_set", point="automation", description="All about pumps"
    )
    desk.create(
        "comment", comment="A pump leaks", target__context="automation", target_id=made["automation"],
        author__context="worker", author_id=ids["nora"],
    )
    for level, message in ((3, "no pump"), (7, "pump found")):
        made["automation_log"] = desk.own(
            "automation_log", automation_name="pump.answer", automation_node="start:log", level=level,
            message=message,
        )
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("filled"), REGISTRY)
    yield desk, populate(desk)
    desk.close()


@pytest.mark.parametrize(("uri", "name"), FILTERS)
def test_every_filter_runs(filled, uri, name):
    desk, _ = filled
    value = VALUES[REGISTRY.type(uri).filter_by_name[name].type]
    term = value if name == "text" else f"{name}:{value}"

    def run(tx):
        for q in (term, f"{name}:!{value}", f"({term} OR id:1)"):
            search = desk.search(tx, uri, q)
            assert len(search.rows(500)) == search.total() == len(search.ids(500))
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_sort_every_subtotal_and_every_date_form_runs(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)

    def run(tx):
        for name in record_type.sort_names():
            assert made[uri] in desk.search(tx, uri, f"sort:-{name}").ids(500)
        for name in record_type.subtotals.search:
            assert isinstance(subtotals(desk.search(tx, uri, ""), name, desk.shown(tx)), list)
        for name, each in record_type.filter_by_name.items():
            if each.type == "date":
                desk.search(tx, uri, f"{name}:(since:today until:tomorrow days:weekdays)").ids(5)
                desk.search(tx, uri, f"{name}:never").ids(5)
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_key_and_expand_is_there(filled, uri):
    desk, made = filled
    described = REGISTRY.type(uri).describe()
    names = [each["key"] for each in described["expand"]]
    shown = desk.record(uri, made[uri], expand=",".join([*names, "_label"]))
    wanted = {each["key"] for each in described["keys"] if each["returned"] == "default"}
    assert wanted - shown.keys() == set()
    assert {name for name in names if not name.endswith("_") and name not in shown} == set()


@pytest.mark.parametrize("uri", TYPES)
def test_expanding_costs_the_same_for_many_records(filled, uri):
    desk, _ = filled
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in record_type.describe()["expand"]]

    def statements(tx, count):
        records = [record_type.record(row) for row in desk.search(tx, uri, "").rows(count)]
        desk.shown(tx).show(record_type, records, names)  # reads what is kept between records
        before = tx.statements
        desk.shown(tx).show(record_type, records, names)
        return len(records), tx.statements - before

    one, alone = desk.read(lambda tx: statements(tx, 1))
    several, together = desk.read(lambda tx: statements(tx, 50))
    assert one == 1
    assert together <= alone + 2 * len(names) * (several > 1)


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("bot", "pump", True),
        ("bot", "disabled:no", True),
        ("bot", "disabled:yes", False),
        ("bot", "mentionName:pum", True),
        ("bot", "owner:app", True),
        ("bot", "owner.worker:(firstName:nora)", False),
        ("bot", "owner.bot:(id:>0)", False),
        ("behavior", "bot:(name:pump)", True),
        ("behavior", "bot:(name:nora)", False),
        ("behavior", "bot.id:1", True),
        ("behavior", "event:event.api.custom_request", True),
        ("behavior", "event:event.api", False),
        ("behavior", "private:yes", False),
        ("behavior", "uri:pump_status", True),
        ("behavior", "links:none", True),
        ("automation", "trigger:[svc.trigger.webhook.respond,x]", True),
        ("automation", "trigger:svc.trigger.mail.sent", False),
        ("automation", "watchers:(firstName:olga)", True),
        ("automation", "name:answer", True),
        ("automation_event", "extension:svc.trigger.mail.received", True),
        ("automation_event", "extension:svc.trigger.mail", False),
        ("toolbar", "extension:svc.toolbar.mail.compose", True),
        ("automation_timer", "isRecurring:yes lastRanAt:never", True),
        ("automation_timer", 'nextRunAt:"-1 day to +1 day"', True),
        ("automation_timer", "nextRunAt:never", False),
        ("automation_resource", "mimetype:image", True),
        ("automation_resource", "size:0", True),
        ("webhook_listener", "guid:no-such", False),
        ("connected_service", "type:oauth2 uri:stock", True),
        ("connected_account", "service:(name:Stock)", True),
        ("connected_account", "service.id:null", False),
        ("connected_account", "owner:bot", True),
        ("connected_account", "owner.bot:(name:pump)", True),
        ("connected_account", "owner.bot:(name:nora)", False),
        ("connected_account", "created:today", True),
        ("connected_account", "created:never", False),
        ("package", "point:auto uri:pump", True),
        ("package", "fieldset:(id:>0)", False),
        ("package", "description:about", True),
    ],
)
def test_filters_find_what_they_say(filled, uri, q, finds):
    desk, made = filled
    if uri == "automation_resource":  # has no search of its own; other types look at it
        ids = desk.read(lambda tx: desk.search(tx, uri, q).ids(9))
    else:
        ids = desk.found(uri, q)
    assert (made[uri] in ids) is finds


def test_a_bot_may_use_its_own_behaviors_and_what_others_of_its_owner_share(filled):
    desk, made = filled
    every = {made[name] for name in ("behavior", "Secret", "Open")}
    assert set(desk.found("behavior", f"usableBy.bot:{made['bot']}")) == every
    # Nora's bot: its own two, and what the bot of the service shares
    others = {made[name] for name in ("Open", "Own", "behavior")}
    assert set(desk.found("behavior", f"usableBy.bot:{made['other']}")) == others
    assert desk.found("behavior", "usableBy.bot:99") == []


@pytest.mark.parametrize(
    ("q", "messages"),
    [
        ("level:error", ["no pump"]),
        ("level:3", ["no pump"]),
        ("level:[warning,error]", ["no pump"]),
        ("level:!debug", ["no pump"]),
        ("automation:pump.answer", ["no pump", "pump found"]),
        ("automation:PUMP.*", ["no pump", "pump found"]),
        ("automation:pump", []),
        ('automation:(name:pump.answer node:"start:*")', ["no pump", "pump found"]),
        ('automation:(name:x OR node:"start:log") level:debug', ["pump found"]),
        ("automation:(node:start)", []),
        ("automation:!(name:pump.answer)", []),
        ("message:pump*", ["pump found"]),
        ('message:"NO PUMP"', ["no pump"]),
        ("created:today", ["no pump", "pump found"]),
        ("id:>1000", []),
    ],
)
def test_the_automation_log_is_searched(filled, q, messages):
    desk, _ = filled
    record_type = REGISTRY.type("automation_log")

    def run(tx):
        return [record_type.record(row)["message"] for row in desk.search(tx, "automation_log", q).rows(9)]

    assert desk.read(run) == messages
