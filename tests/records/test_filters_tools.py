"""Every filter, order, subtotal, key and expand of the types that workers keep their own work with runs on a real
database: reminders, time, sales, snippets, the knowledge base, files."""

import pytest

from server.desk import records, snippets
from server.errors import BadQuery
from server.records.registry import load
from tests.records.desk import NOW, Desk

TYPES = (
    "reminder", "time_entry", "timetracking_activity", "opportunity", "currency", "saved_search", "queue", "snippet",
    "kb_article", "kb_category", "file_bundle", "resource",
)  # fmt: skip
REGISTRY = load()
FILTERS = [(uri, name) for uri in TYPES for name in REGISTRY.type(uri).filter_by_name]
VALUES = {
    "fulltext": ("pump", '"pump leaks"', "pu*"),
    "text": ("pump*", "pump", '"Pump leak"', "null", "é"),
    "number": ("[1,2]", ">0", "1...5", "null", "3"),
    "chooser": (">0", "[1,2]", "null", "5"),
    "bool": ("yes", "no"),
    "date": ('"-1 week"', "never", "(since:today until:tomorrow days:weekdays)"),
    "worker": ("me", "any", "none", "milo", "2"),
    "watchers": ("any", "me", "(firstName:olga)"),
    "links": ("ticket", "any", "none", "[org,task]"),
    "deep": ("(id:>0)", "pump"),
    "duration": ('">1 hour"', "60"),
    "virtual": ("5",),
}
OWN_VALUES = {
    ("snippet", "myUses"): (">0", "0", "1...5", "[1,2]", '(hits:>0 date:"-30 days")', "(hits:0)"),
    ("snippet", "type"): ("plaintext", "ticket", "svc.contexts.ticket", "tick", "[plaintext,task]"),
    ("snippet", "usableBy.worker"): ("me", "2", "milo"),
    ("file_bundle", "usableBy.worker"): ("me", "2", "milo"),
}  # fmt: skip


def populate(desk: Desk) -> dict[str, int]:
    """One record of each type, and what others can find them by."""
    ids = desk.people()
    made = dict(ids)
    watched = {"links": [f"worker:{ids['olga']}"]}
    app = {"owner__context": "app", "owner_id": 0}
    made["currency"] = desk.create("currency", name="Pump dollar", code="USD", symbol="$", decimal_at=2)["id"]
    made["timetracking_activity"] = desk.create("timetracking_activity", name="Pump repair")["id"]
    made["reminder"] = desk.create(
        "reminder", name="Oil the pump", remind_at=NOW + 60, worker_id=ids["milo"], **watched
    )["id"]
    made["time_entry"] = desk.create(
        "time_entry", mins=90, worker_id=ids["milo"], activity_id=made["timetracking_activity"], **watched
    )["id"]
    made["opportunity"] = desk.create(
        "opportunity", title="Pump for Ana", amount=123450, amount_currency_id=made["currency"], **watched
    )["id"]
    made["saved_search"] = desk.create(
        "saved_search", name="Pump tickets", context="ticket", query="pump status:o", tag="pumps", **app
    )["id"]
    made["snippet"] = desk.create(
        "snippet", title="Pump greeting", content="Hi {{subject}}", context="ticket", **app
    )["id"]
    made["other_snippet"] = desk.create(
        "snippet", title="Milo's", content="Hi", owner__context="worker", owner_id=ids["milo"]
    )["id"]
    for _ in range(3):
        snippets.paste(desk.context(ids["milo"]), made["other_snippet"])
    made["top"] = desk.create("kb_category", name="Devices")["id"]
    made["kb_category"] = desk.create("kb_category", name="Pump", parent_id=made["top"], **watched)["id"]
    made["kb_article"] = desk.create(
        "kb_article", title="Starting the pump", content="# Valve\n\nOpen it *first*.", format="markdown", views=7,
        categories=f"{made['kb_category']},99", **watched,
    )["id"]
    desk.create("kb_article", title="Nowhere", content="<p>Nothing</p>", format="html")
    made["file_bundle"] = desk.create("file_bundle", name="Pump papers", tag="pump.papers", **app, **watched)["id"]
    desk.create("attachment", name="a.pdf", content="pdf", attach=[f"file_bundle:{made['file_bundle']}"])
    made["resource"] = desk.create(
        "resource", name="pump.csv", extension_id="svc.resource.dataset.csv", content="a,b", description="Pump data"
    )["id"]
    made["queue"] = desk.create("queue", name="pump.jobs", **watched)["id"]
    for uri in TYPES:
        desk.create("comment", comment="The pump leaks", target__context=uri, target_id=made[uri])
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("filled"), REGISTRY)
    yield desk, populate(desk)
    desk.close()


def values_for(uri: str, name: str) -> tuple[str, ...]:
    found = REGISTRY.type(uri).filter_by_name[name]
    if found.type == "enum":
        return tuple(found.describe()["values"])
    return OWN_VALUES.get((uri, name)) or VALUES[found.type]


@pytest.mark.parametrize(("uri", "name"), FILTERS)
def test_every_filter_runs(filled, uri, name):
    desk, _ = filled

    def run(tx):
        for value in values_for(uri, name):
            term = value if name == "text" else f"{name}:{value}"
            for q in (term, f"{name}:!{value}", f"({term} OR id:1)"):
                search = desk.search(tx, uri, q)
                assert len(search.rows(500)) == search.total() == len(search.ids(500))
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_sort_finds_the_record(filled, uri):
    desk, made = filled

    def run(tx):
        for name in REGISTRY.type(uri).sort_names():
            assert made[uri] in desk.search(tx, uri, f"sort:-{name}").ids(500)
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_subtotal_counts(filled, uri):
    desk, _ = filled
    names = REGISTRY.type(uri).subtotals.search
    answer = records.search(desk.context(), uri, records.SearchRequest("", subtotals=names))
    assert list(answer["subtotals"]) == list(names)
    for name, listed in answer["subtotals"].items():
        is_from_elsewhere = name in ("fieldset", "links", "watchers", "category.id")
        assert is_from_elsewhere or sum(each["hits"] for each in listed) == answer["total"], name


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
def test_showing_costs_the_same_for_many_records(filled, uri):
    desk, _ = filled
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in record_type.describe()["expand"]]

    def statements(tx, count):
        found = [record_type.record(row) for row in desk.search(tx, uri, "").rows(count)]
        desk.shown(tx).show(record_type, found, names)  # reads what is kept between records
        before = tx.statements
        desk.shown(tx).show(record_type, found, names)
        return tx.statements - before

    alone = desk.read(lambda tx: statements(tx, 1))
    together = desk.read(lambda tx: statements(tx, 50))
    assert together <= alone + 2 * len(names)


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("reminder", "worker:(firstName:milo)", True),
        ("reminder", "owner:(firstName:olga)", False),
        ("reminder", "worker.id:milo closed:no", True),
        ("reminder", "remindAt:tomorrow", False),
        ("time_entry", "leaks", True),
        ("time_entry", "text:leaks comments:pump", True),
        ("time_entry", "text:dry", False),
        ("time_entry", 'timeSpent:">1 hour"', True),
        ("time_entry", "secs:<1000", False),
        ("time_entry", "mins:5400", True),
        ("time_entry", "worker:(firstName:milo) activity.id:>0", True),
        ("opportunity", "amount:>100000 currency.id:>0", True),
        ("opportunity", "status:[o,w]", True),
        ("opportunity", "status:0", True),
        ("opportunity", "status:lost", False),
        ("opportunity", "closedDate:never comments:leaks", True),
        ("currency", "code:us decimalPlaces:2 default:yes", True),
        ("currency", "symbol:$", True),
        ("saved_search", "context:ticket", True),
        ("saved_search", "context:tickets", True),
        ("saved_search", "context:contexts.ti", True),
        ("saved_search", "context:task", False),
        ("saved_search", "tag:pump query:status", True),
        ("snippet", "type:ticket myUses:0", True),
        ("snippet", "type:[plaintext,task]", False),
        ("snippet", "type:!plaintext", True),
        ("snippet", "owner.app:any content:subject", True),
        ("kb_article", "valve", True),
        ("kb_article", "content:valve", True),
        ("kb_article", "content:starting", False),
        ("kb_article", "starting first", True),
        ("kb_article", "category.id:null", False),
        ("kb_article", "category.id:>0 format:2 views:>5", True),
        ("kb_category", "parent.id:null", False),
        ("kb_category", "article.id:>0", True),
        ("file_bundle", "tag:pump comments:leaks", True),
        ("resource", "size:3 type:csv isDynamic:no", True),
        ("resource", "size:>3", False),
        ("queue", "name:jobs watchers:(firstName:olga)", True),
    ],
)
def test_filters_find_what_they_say(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


@pytest.mark.parametrize(
    ("uri", "q", "names"),
    [
        ("opportunity", "status:maybe", "status"),
        ("time_entry", "timeSpent:blurb", "timeSpent"),
        ("saved_search", "links:any", "links"),
        ("snippet", "myUses:often", "myUses"),
        ("snippet", "myUses:(times:5)", "myUses"),
        ("snippet", "myUses:(date:blurb)", "myUses"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(filled, uri, q, names):
    desk, _ = filled
    with pytest.raises(BadQuery, match=names):
        desk.found(uri, q)
