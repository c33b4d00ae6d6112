"""What each record type needs to be created, and nothing more; made fresh each time, since some values are unique."""

import itertools
from collections.abc import Callable
from typing import Any

from tests.service import Api

_numbers = itertools.count(1)
Fields = dict[str, Any]


def number() -> int:
    """Another one each time, for names that must be unique."""
    return next(_numbers)


def made(api: Api, uri: str, **more: Any) -> int:
    """The id of a new record of a type."""
    return int(api.create(uri, **MINIMAL[uri](api) | more).ok()["id"])


def _worker(api: Api) -> Fields:
    email = f"worker{number()}@desk.example"
    return {"first_name": "Ida", "email": email, "language": "en_US", "timezone": "Europe/Oslo"}


def _message(api: Api) -> Fields:
    return {
        "ticket_id": made(api, "ticket"), "sender": f"ana{number()}@kite.example", "content": "The pump leaks.",
        "headers": "Subject: Pump\r\nFrom: ana@kite.example\r\n",
    }  # fmt: skip


def _activity_log(api: Api) -> Fields:
    return {
        "activity_point": "custom.other", "actor__context": "app", "actor_id": 0, "target__context": "org",
        "target_id": made(api, "org"), "params": {"message": "Counted the stock"},
    }  # fmt: skip


MINIMAL: dict[str, Callable[[Api], Fields]] = {
    "activity_log": _activity_log,
    "address": lambda api: {"email": f"ana{number()}@kite.example"},
    "asset": lambda api: {"name": "Forklift"},
    "attachment": lambda api: {"name": "note.txt"},
    "bucket": lambda api: {"name": "Refunds", "group_id": api.ids["support"]},
    "call": lambda api: {"subject": "Asked for the van keys"},
    "comment": lambda api: {"comment": "Call back", "target__context": "org", "target_id": made(api, "org")},
    "contact": lambda api: {"first_name": "Ana"},
    "custom_field": lambda api: {"context": "call", "name": "Tier", "type": "S", "uri": f"tier_{number()}"},
    "custom_fieldset": lambda api: {"context": "call", "name": "Billing", "owner__context": "app", "owner_id": 0},
    "draft": lambda api: {"type": "mail.compose", "worker_id": api.ids["nora"]},
    "email_signature": lambda api: {"name": "Plain", "owner__context": "app", "owner_id": 0, "signature": "-- \nKite"},
    "group": lambda api: {"name": f"Depot {number()}"},
    "html_template": lambda api: {"name": "Letter", "owner__context": "app", "owner_id": 0},
    "mail_transport": lambda api: {"name": "Nowhere", "extension_id": "core.mail.transport.null"},
    "message": _message,
    "notification": lambda api: {
        "activity_point": "custom.other", "params": {"message": "Look"}, "worker_id": api.ids["nora"],
    },
    "oauth_app": lambda api: {"name": "Stock", "callback_url": "http://localhost/"},
    "org": lambda api: {"name": "Larch Foods"},
    "role": lambda api: {"name": "Stock keepers"},
    "task": lambda api: {"title": "Count the stock"},
    "ticket": lambda api: {"subject": "Pump leak", "group_id": api.ids["support"]},
    "worker": _worker,
}  # fmt: skip
