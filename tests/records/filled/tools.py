"""The types of workers' tools: reminders, time, sales, snippets, the knowledge base, files."""

from server.tickets import snippets
from tests.records.desk import NOW, Desk

TYPES = (
    "reminder", "time_entry", "timetracking_activity", "opportunity", "currency", "saved_search", "queue", "snippet",
    "brand", "contact_form", "kb_article", "kb_category", "file_bundle", "resource", "service_target",
)  # fmt: skip


def populate(desk: Desk) -> dict[str, int]:
    """Creates one record of each type, with the values that other types search for."""
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
    made["snippet"] = desk.create("snippet", title="Pump greeting", content="Hi {{subject}}", context="ticket", **app)[
        "id"
    ]
    made["other_snippet"] = desk.create(
        "snippet", title="Milo's", content="Hi", owner__context="worker", owner_id=ids["milo"]
    )["id"]
    for _ in range(3):
        snippets.paste(desk.context(ids["milo"]), made["other_snippet"])
    made["top"] = desk.create("kb_category", name="Devices")["id"]
    made["kb_category"] = desk.create("kb_category", name="Pump", parent_id=made["top"], **watched)["id"]
    made["kb_article"] = desk.create(
        "kb_article",
        title="Starting the pump",
        content="# Valve\n\nOpen it *first*.",
        format="markdown",
        views=7,
        categories=f"{made['kb_category']},99",
        **watched,
    )["id"]
    desk.create("kb_article", title="Nowhere", content="<p>Nothing</p>", format="html")
    made["file_bundle"] = desk.create("file_bundle", name="Pump papers", tag="pump.papers", **app, **watched)["id"]
    desk.create("attachment", name="a.pdf", content="pdf", attach=[f"file_bundle:{made['file_bundle']}"])
    made["resource"] = desk.create(
        "resource", name="pump.csv", extension_id="svc.resource.dataset.csv", content="a,b", description="Pump data"
    )["id"]
    made["brand"] = desk.create(
        "brand",
        name="Kite Pumps",
        host="help.kite.example",
        languages="en,de",
        accent="#0055aa",
        group_ids=[ids["support"]],
        **watched,
    )["id"]
    made["contact_form"] = desk.create(
        "contact_form", name="Pump questions", brand_id=made["brand"], group_id=ids["support"], slug="pump", **watched
    )["id"]
    made["service_target"] = desk.create(
        "service_target", name="Pump answers", response_minutes=60, resolution_minutes=600, importance_min=10, **watched
    )["id"]
    made["queue"] = desk.create("queue", name="pump.jobs", **watched)["id"]
    for uri in TYPES:
        desk.create("comment", comment="The pump leaks", target__context=uri, target_id=made[uri])
    return made
