"""The types of automation."""

from server.first_start import builtin_records
from server.records.writing import RecordWriter
from tests.records.desk import NOW, Desk

TYPES = (
    "bot", "behavior", "automation", "automation_event", "automation_timer", "automation_resource",
    "webhook_listener", "outgoing_webhook", "connected_account", "connected_service", "package", "toolbar",
)  # fmt: skip
VARIABLES = {"var_city": {"key": "var_city", "label": "City", "type": "S", "is_private": "0", "params": {}}}


def populate(desk: Desk) -> dict[str, int]:
    """Creates at least one record of each type, with every field that other types read."""
    ids = desk.people()
    builtin_records.add_missing(desk.context())
    app = {"owner__context": "app", "owner_id": 0}
    nora = {"owner__context": "worker", "owner_id": ids["nora"]}
    made = {**ids, "bot": desk.create("bot", name="Pump bot", mention_name="pumpy", **app)["id"]}
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
    made["outgoing_webhook"] = desk.create(
        "outgoing_webhook", name="Pump", url="https://pump.example/hooks", events="ticket.created", is_disabled=1,
        headers="X-Token: canary",
    )["id"]  # fmt: skip
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
        "comment",
        comment="A pump leaks",
        target__context="automation",
        target_id=made["automation"],
        author__context="worker",
        author_id=ids["nora"],
    )
    for level, message in ((3, "no pump"), (7, "pump found")):
        made["automation_log"] = desk.own(
            "automation_log",
            automation_name="pump.answer",
            automation_node="start:log",
            level=level,
            message=message,
        )
    return made
