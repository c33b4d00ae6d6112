"""Every filter, order, key and expand of the types of work and administration runs on a real database."""

import pytest

from server.records.registry import load
from tests.records.desk import NOW, Desk

TYPES = (
    "worker", "group", "bucket", "role", "task", "call", "asset", "notification", "activity_log", "oauth_app",
    "custom_field", "custom_fieldset", "html_template", "email_signature", "mail_transport",
)  # fmt: skip
REGISTRY = load()
FILTERS = [
    (uri, name)
    for uri in TYPES
    for name in REGISTRY.type(uri).filter_by_name
]
VALUES = {
    "fulltext": "pump", "text": "pump*", "number": "[1,2]", "chooser": ">0", "bool": "yes", "date": '"-1 week"',
    "worker": "me", "watchers": "any", "links": "ticket", "deep": "(id:>0)", "decimal": ">1",
}  # fmt: skip
SENTENCE = {"message": "{{actor}} left", "variables": {"actor": "Ana & Co"}, "urls": {"actor": "ctx://worker:1"}}


def populate(desk: Desk) -> dict[str, int]:
    """One record of each type, everything filled in that others could look at."""
    ids = desk.people()
    made = {"worker": ids["milo"], "group": ids["support"]}
    app = {"owner__context": "app", "owner_id": 0}
    made["mail_transport"] = desk.create("mail_transport", name="T", extension_id="core.mail.transport.null")["id"]
    made["role"] = desk.create(
        "role", name="Clerks", member_query_worker="group:(name:Support)", privs_mode="itemized",
        privs=["contexts.svc.contexts.task.update"],
    )["id"]  # fmt: skip
    made["email_signature"] = desk.create("email_signature", name="S", signature="Yours", **app)["id"]
    made["html_template"] = desk.create(
        "html_template", name="H", content="<p></p>", signature_id=made["email_signature"], **app
    )["id"]
    made["bucket"] = desk.create(
        "bucket", name="Refunds", group_id=ids["support"], reply_signature_id=made["email_signature"]
    )["id"]
    made["task"] = desk.create("task", title="Pump", owner_id=ids["milo"], links=[f"worker:{ids['olga']}"])["id"]
    made["call"] = desk.create("call", subject="About the pump", phone="555 0100")["id"]
    made["asset"] = desk.create("asset", name="Pump")["id"]
    made["custom_fieldset"] = desk.create("custom_fieldset", name="Technical", context="task", **app)["id"]
    made["custom_field"] = desk.create(
        "custom_field", name="Serial number", uri="serial", type="S", context="task",
        custom_fieldset_id=made["custom_fieldset"],
    )["id"]  # fmt: skip
    desk.update("task", made["task"], serial="AB-12")
    desk.create(
        "comment", comment="A pump leaks", target__context="task", target_id=made["task"], author__context="worker",
        author_id=ids["nora"],
    )
    made["notification"] = desk.create(
        "notification", worker_id=ids["milo"], activity_point="custom.other", params=SENTENCE,
        target__context="task", target_id=made["task"],
    )["id"]  # fmt: skip
    made["oauth_app"] = desk.create("oauth_app", name="Stock", callback_url="https://stock.example/back")["id"]
    made["activity_log"] = desk.create(
        "activity_log", activity_point="custom.other", params=SENTENCE, actor__context="worker",
        actor_id=ids["nora"], target__context="task", target_id=made["task"],
    )["id"]  # fmt: skip
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("filled"), REGISTRY)
    yield desk, populate(desk)
    desk.close()


def value_for(uri: str, name: str) -> str:
    found = REGISTRY.type(uri).filter_by_name[name]
    return f"!{found.describe()['values'][0]}" if found.type == "enum" else VALUES[found.type]


@pytest.mark.parametrize(("uri", "name"), FILTERS)
def test_every_filter_runs(filled, uri, name):
    desk, _ = filled
    value = value_for(uri, name)
    term = value if name == "text" else f"{name}:{value}"
    negated = f"{name}:{value[1:] if value.startswith('!') else '!' + value}"

    def run(tx):
        for q in (term, negated, f"({term} OR id:1)"):
            search = desk.search(tx, uri, q)
            assert len(search.rows(500)) == search.total() == len(search.ids(500))
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_sort_and_every_date_form_runs(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)

    def run(tx):
        for name in record_type.sort_names():
            found = desk.search(tx, uri, f"sort:-{name}").ids(500)
            assert made[uri] in found
        for name, each in record_type.filter_by_name.items():
            if each.type == "date":
                desk.search(tx, uri, f"{name}:(since:today until:tomorrow days:weekdays)").ids(5)
                desk.search(tx, uri, f"{name}:never").ids(5)
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_key_and_expand_is_there(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)
    described = record_type.describe()
    names = [each["key"] for each in described["expand"]]
    shown = desk.record(uri, made[uri], expand=",".join([*names, "_label"]))
    wanted = {each["key"] for each in described["keys"] if each["returned"] == "default"}
    assert wanted - shown.keys() == set()
    answers = {name for name in names if not name.endswith("_")}
    assert {name for name in answers if name not in shown and record_type.expand_by_name.get(name)} == set()


@pytest.mark.parametrize("uri", TYPES)
def test_expanding_costs_the_same_for_many_records(filled, uri):
    desk, _ = filled
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in record_type.describe()["expand"]]

    def statements(tx, count):
        rows = desk.search(tx, uri, "").rows(count)
        records = [record_type.record(row) for row in rows]
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
        ("worker", "gender:unknown", True),
        ("worker", "group:(name:Support)", True),
        ("worker", "group.manager:(name:Support)", False),
        ("worker", "role:(name:Clerks)", True),
        ("worker", "mentionName:milo", True),
        ("worker", "alias:milo", True),
        ("worker", "isBusy:today", False),
        ("group", "member:(firstName:milo)", True),
        ("group", "manager:(firstName:milo)", False),
        ("group", "default:yes", True),
        ("bucket", "group:(name:Support)", True),
        ("role", "member:(firstName:milo)", True),
        ("role", "privsMode:itemized", True),
        ("task", "comments:leaks", True),
        ("task", "comments:other", False),
        ("task", "isCompleted:no", True),
        ("task", "isCompleted:yes", False),
        ("task", "status:[o,w]", True),
        ("task", "status:0", True),
        ("task", "owner:(firstName:milo)", True),
        ("task", "watchers:(firstName:olga)", True),
        ("task", "fieldset:(name:Technical)", True),
        ("task", "technical.serialNumber:AB*", True),
        ("task", "links:worker", True),
        ("asset", "owner:none", True),
        ("asset", "owner.app:any", False),
        ("email_signature", "owner.app:any", True),
        ("email_signature", "owner.bot:(name:x)", False),
        ("email_signature", "owner.worker:(id:1)", False),
        ("custom_field", "fieldset:(name:Technical)", True),
        ("custom_field", "type:S", True),
        ("custom_fieldset", "context:svc.contexts.task", True),
        ("html_template", "signature.id:null", False),
        ("notification", "worker:(mention:milo) isRead:no", True),
        ("activity_log", "actor.worker:(firstName:nora)", True),
        ("activity_log", "target.task:(title:pump)", True),
        ("activity_log", "target:ticket", False),
        ("activity_log", "activity:[custom.other,x]", True),
        ("mail_transport", "type:core.mail.transport.null", True),
        ("oauth_app", "callbackUrl:stock.example", True),
    ],
)
def test_filters_find_what_they_say(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


def test_a_date_that_cannot_be_read_is_told_for_calendars_too(filled):
    desk, _ = filled
    with pytest.raises(Exception, match="isBusy"):
        desk.found("worker", "isBusy:blurb")
    assert NOW > 0
