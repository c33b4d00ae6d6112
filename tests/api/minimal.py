"""The required fields of each record type; computed for each call, since some values must be unique."""

import itertools
from collections.abc import Callable
from typing import Any

from tests.service import Api

_numbers = itertools.count(1)
Fields = dict[str, Any]


def number() -> int:
    """Returns the next number, for names that must be unique."""
    return next(_numbers)


def made(api: Api, uri: str, /, **more: Any) -> int:
    """Creates a record and returns its id; returns an existing one of types that only the service creates."""
    if uri not in MINIMAL:
        return api.found(uri, "")[0]
    return int(api.create(uri, **MINIMAL[uri](api) | more).ok()["id"])


def _worker(api: Api) -> Fields:
    email = f"worker{number()}@desk.example"
    return {"first_name": "Ida", "email": email, "language": "en_US", "timezone": "Europe/Oslo"}


def _message(api: Api) -> Fields:
    return {
        "ticket_id": made(api, "ticket"), "sender": "support@localhost", "content": "The pump leaks.",
        "headers": "Subject: Pump\r\nFrom: support@localhost\r\n",
    }  # fmt: skip


def _activity_log(api: Api) -> Fields:
    return {
        "activity_point": "custom.other", "actor__context": "app", "actor_id": 0, "target__context": "org",
        "target_id": made(api, "org"), "params": {"message": "Counted the stock"},
    }  # fmt: skip


def _behavior(api: Api) -> Fields:
    return {"name": "Escalate", "bot_id": made(api, "bot"), "event_point": "event.webhook.received"}


def _recurring(api: Api) -> Fields:
    return {"name": "Open", "calendar_id": made(api, "calendar"), "patterns": "weekdays"}


def _event(api: Api) -> Fields:
    return {"name": "Fair", "calendar_id": made(api, "calendar"), "date_start": "2026-05-15 10:00"}


def _tab(api: Api) -> Fields:
    return {"name": "Today", "extension_id": "core.workspace.tab.dashboard", "page_id": made(api, "workspace_page")}


def _widget(api: Api) -> Fields:
    return {"label": "Clock", "extension_id": "kite.clock", "tab_id": made(api, "workspace_tab")}


def _custom_record(api: Api) -> Fields:
    """Each custom record type adds a table and a record type, so tests should create few."""
    name = f"Parcel{number()}"
    return {"name": name, "name_plural": f"{name}s", "uri": name.lower()}


APP = {"owner__context": "app", "owner_id": 0}
MINIMAL: dict[str, Callable[[Api], Fields]] = {
    "activity_log": _activity_log,
    "address": lambda api: {"email": f"ana{number()}@kite.example"},
    "asset": lambda api: {"name": "Forklift"},
    "attachment": lambda api: {"name": "note.txt"},
    "automation": lambda api: {"extension_id": "svc.trigger.automation.function"},
    "automation_resource": lambda api: {"name": "chart.png"},
    "automation_timer": lambda api: {"name": "Nightly"},
    "behavior": _behavior,
    "bot": lambda api: {"name": "Robin"} | APP,
    "bucket": lambda api: {"name": "Refunds", "group_id": api.ids["support"]},
    "calendar": lambda api: {"name": "Opening hours"} | APP,
    "calendar_event": _event,
    "calendar_event_recurring": _recurring,
    "contact_form": lambda api: {
        "name": "Write to us", "brand_id": made(api, "brand"), "group_id": made(api, "group"),
    },
    "brand": lambda api: {"name": "Kite", "host": f"help{number()}.kite.example"},
    "call": lambda api: {"subject": "Asked for the van keys"},
    "comment": lambda api: {"comment": "Call back", "target__context": "org", "target_id": made(api, "org")},
    "connected_account": lambda api: {"name": "Parcel desk"} | APP,
    "connected_service": lambda api: {"name": "Parcels", "extension_id": "svc.service.provider.token.bearer"},
    "contact": lambda api: {"first_name": "Ana"},
    "currency": lambda api: {"name": "krone", "code": "NOK"},
    "custom_field": lambda api: {"context": "call", "name": "Tier", "type": "S", "uri": f"tier_{number()}"},
    "custom_fieldset": lambda api: {"context": "call", "name": "Billing", "owner__context": "app", "owner_id": 0},
    "custom_record": _custom_record,
    "draft": lambda api: {"type": "mail.compose", "worker_id": api.ids["nora"]},
    "email_signature": lambda api: {"name": "Plain", "owner__context": "app", "owner_id": 0, "signature": "-- \nKite"},
    "file_bundle": lambda api: {"name": "Forms"} | APP,
    "group": lambda api: {"name": f"Depot {number()}"},
    "html_template": lambda api: {"name": "Letter", "owner__context": "app", "owner_id": 0},
    "kb_article": lambda api: {"title": "Bleeding a pump"},
    "kb_category": lambda api: {"name": "Pumps"},
    "mail_transport": lambda api: {"name": "Nowhere", "extension_id": "core.mail.transport.null"},
    "mailbox": lambda api: {"name": "Support", "host": "127.0.0.1", "username": "kite", "is_enabled": 0},
    "message": _message,
    "metric": lambda api: {"name": f"stock.level.{number()}"},
    "notification": lambda api: {
        "activity_point": "custom.other", "params": {"message": "Look"}, "worker_id": api.ids["nora"],
    },
    "oauth_app": lambda api: {"name": "Stock", "callback_url": "http://localhost/"},
    "opportunity": lambda api: {"title": "Forty pumps"},
    "org": lambda api: {"name": "Larch Foods"},
    "project_board": lambda api: {"name": "Website"},
    "project_board_column": lambda api: {"name": "Doing", "board_id": made(api, "project_board")},
    "queue": lambda api: {"name": f"stock.{number()}"},
    "reminder": lambda api: {"name": "Call Ana", "remind_at": "+1 day", "worker_id": api.ids["nora"]},
    "resource": lambda api: {"name": f"logo.{number()}", "extension_id": "svc.resource.image"},
    "role": lambda api: {"name": "Stock keepers"},
    "saved_search": lambda api: {"name": "Open", "context": "ticket", "query": "status:open"} | APP,
    "service_target": lambda api: {"name": "Answer within an hour", "response_minutes": 60},
    "snippet": lambda api: {"title": "Greeting", "content": "Hello {{first_name}}"} | APP,
    "tag": lambda api: {"name": f"tag {number()}"},
    "ticket_status": lambda api: {"name": f"status {number()}", "status_id": 1},
    "task": lambda api: {"title": "Count the stock"},
    "ticket": lambda api: {"subject": "Pump leak", "group_id": api.ids["support"]},
    "time_entry": lambda api: {"mins": "15", "worker_id": api.ids["nora"]},
    "timetracking_activity": lambda api: {"name": "Repair"},
    "outgoing_webhook": lambda api: {
        "name": "Shop", "url": "https://shop.example/hooks", "events": "currency.deleted",
    },
    "webhook_listener": lambda api: {"name": "Parcels"},
    "worker": _worker,
    "workspace_list": lambda api: {"name": "Open", "context": "ticket", "tab_id": made(api, "workspace_tab")},
    "workspace_page": lambda api: {"name": "Depot", "extension_id": "core.workspace.page.workspace"} | APP,
    "workspace_tab": _tab,
    "workspace_widget": _widget,
}  # fmt: skip
