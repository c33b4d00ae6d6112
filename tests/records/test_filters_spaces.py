"""Every filter, order, subtotal, key and expand of calendars, metrics, mailboxes and workspaces runs on a real
database."""

import pytest

from server.desk import records
from server.errors import BadQuery
from server.records.registry import load
from tests.records.desk import NOW, Desk

TYPES = (
    "calendar", "calendar_event", "calendar_event_recurring", "metric", "mailbox", "workspace_page", "workspace_tab",
    "workspace_list", "workspace_widget",
)  # fmt: skip
REGISTRY = load()
FILTERS = [(uri, name) for uri in TYPES for name in REGISTRY.type(uri).filter_by_name]
VALUES = {
    "text": ("pump*", "pump", '"Pump shifts"', "null", "é"),
    "number": ("[1,2]", ">0", "1...5", "null", "3"),
    "chooser": (">0", "[1,2]", "null", "5"),
    "bool": ("yes", "no"),
    "date": ('"-1 week"', "never", "(since:today until:tomorrow days:weekdays)"),
    "watchers": ("any", "me", "(firstName:olga)"),
    "links": ("ticket", "any", "none", "[org,task]"),
    "deep": ("(id:>0)", "pump"),
}


def populate(desk: Desk) -> dict[str, int]:
    """One record of each type, and what others can find them by."""
    ids = desk.people()
    app, watched = {"owner__context": "app"}, {"links": [f"worker:{ids['olga']}"]}
    made = {"calendar": desk.create("calendar", name="Pump shifts", timezone="UTC", **app, **watched)["id"]}
    on = {"calendar_id": made["calendar"], "is_available": 1}
    desk.update("worker", ids["milo"], calendar_id=made["calendar"])
    made["calendar_event"] = desk.create(
        "calendar_event", name="Pump fair", date_start=NOW, date_end=NOW + 60, **on, **watched
    )["id"]
    made["calendar_event_recurring"] = desk.create(
        "calendar_event_recurring", name="Pump watch", patterns="weekdays", tz="Europe/Berlin", **on, **watched
    )["id"]
    made["metric"] = desk.create("metric", name="pump.uses", type="gauge", description="Pump uses", **watched)["id"]
    made["mailbox"] = desk.create("mailbox", name="Pump mail", host="pump.example", username="pump", **watched)["id"]
    made["workspace_page"] = desk.create(
        "workspace_page", name="Pump desk", extension_id="core.workspace.page.workspace", **app
    )["id"]
    made["workspace_tab"] = desk.create(
        "workspace_tab", name="Pump tab", page_id=made["workspace_page"], extension_id="core.workspace.tab.dashboard"
    )["id"]
    tab = {"tab_id": made["workspace_tab"]}
    made["workspace_list"] = desk.create("workspace_list", name="Pump tickets", context="ticket", **tab)["id"]
    made["workspace_widget"] = desk.create(
        "workspace_widget", label="Pumps", extension_id="counter", zone="content", **tab
    )["id"]
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("filled"), REGISTRY)
    yield desk, populate(desk)
    desk.close()


@pytest.mark.parametrize(("uri", "name"), FILTERS)
def test_every_filter_runs(filled, uri, name):
    desk, _ = filled
    found = REGISTRY.type(uri).filter_by_name[name]
    values = tuple(found.describe()["values"]) if found.type == "enum" else VALUES[found.type]

    def run(tx):
        for value in values:
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
        is_from_elsewhere = name in ("fieldset", "links", "watchers")
        assert is_from_elsewhere or sum(each["hits"] for each in listed) == answer["total"], name


@pytest.mark.parametrize("uri", TYPES)
def test_every_key_and_expand_is_there(filled, uri):
    desk, made = filled
    described = REGISTRY.type(uri).describe()
    names = [each["key"] for each in described["expand"]]
    shown = desk.record(uri, made[uri], expand=",".join([*names, "_label"]))
    wanted = {each["key"] for each in described["keys"] if each["returned"] == "default"}
    assert wanted - shown.keys() == set()
    lands_elsewhere = {
        "events_occluded", "weeks_events", "weeks_events_occluded", "widgets_data", *(
            ("widgets", "worklists") if uri == "workspace_page" else ()
        ),
    }  # fmt: skip
    assert {name for name in names if not name.endswith("_")} - lands_elsewhere - shown.keys() == set()


@pytest.mark.parametrize("uri", TYPES)
def test_expanding_costs_the_same_for_many_records(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in record_type.describe()["expand"]]
    desk.create("calendar", name="Second", owner__context="app")

    def statements(tx, count):
        row = tx.get(record_type.table, made[uri])
        records = [record_type.record(row)] * count
        desk.shown(tx).show(record_type, records, names)  # reads what is kept between records
        before = tx.statements
        desk.shown(tx).show(record_type, records, names)
        return tx.statements - before

    assert desk.read(lambda tx: statements(tx, 20)) == desk.read(lambda tx: statements(tx, 1))


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("calendar", "pump", True),
        ("calendar", "owner.app:any", True),
        ("calendar", "owner:worker", False),
        ("calendar", "timezone:UTC", True),
        ("calendar", "watchers:(firstName:olga)", True),
        ("calendar", "workerAvailability:(firstName:milo)", True),
        ("calendar_event", "status:a", True),
        ("calendar_event", "status:[busy]", False),
        ("calendar_event", "calendar:(name:pump*)", True),
        ("calendar_event", "startDate:today", True),
        ("calendar_event", "endDate:never", False),
        ("calendar_event_recurring", "status:available", True),
        ("calendar_event_recurring", "timezone:Europe/Berlin", True),
        ("calendar_event_recurring", "timezone:Europe", False),
        ("metric", "type:gauge", True),
        ("metric", "type:counter", False),
        ("metric", "description:uses", True),
        ("mailbox", "host:pump.example", True),
        ("mailbox", "host:pump", False),
        ("mailbox", "enabled:yes fail.count:0 checkedAt:never", True),
        ("mailbox", "protocol:imap", False),
        ("workspace_page", "type:workspace", True),
        ("workspace_tab", "workspace:(name:pump*)", True),
        ("workspace_tab", "page.id:1 workspace.id:1 pos:0", True),
        ("workspace_list", "type:tickets", True),
        ("workspace_list", "type:task", False),
        ("workspace_list", "tab:(name:pump*) tab.pos:0", True),
        ("workspace_widget", "type:counter zone:content width:1", True),
        ("workspace_widget", "type:chart", False),
    ],
)
def test_filters_find_what_they_say(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


def test_pages_have_no_filter_on_links(filled):
    desk, _ = filled
    with pytest.raises(BadQuery, match="links"):
        desk.found("workspace_page", "links:any")
