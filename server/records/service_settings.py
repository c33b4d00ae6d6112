"""Settings of the service itself, such as the default sender: rows of the database, not of the process.

Values are JSON. Which names there are is for their users to know; the console offers a form for each."""

import json
from typing import Any

from server.access.actor import APP
from server.record_types.base import Writing
from server.store.tables import Column, Table
from server.store.transaction import Transaction

MAX_LOGGED_CHARS = 300  # of a value, in the activity log
NOTHING = "(nothing)"
VERSION = "settings"  # rises with each change of them
SERVICE_SETTING = Table(
    "service_setting", [Column("name", "TEXT"), Column("value", "TEXT", "null")], key=("name",), bumps={VERSION: ()}
)

DEFAULT_SENDER = "default_sender_id"  # an address: the sender where neither bucket nor group names one
DEFAULT_TRANSPORT = "default_transport_id"  # a mail transport: for senders that have none of their own


def get(tx: Transaction, name: str, default: Any = None) -> Any:
    """The value, `default` when it was never put."""
    row = tx.first(SERVICE_SETTING, name=name)
    return default if row is None else json.loads(row[1])


def put(tx: Transaction, name: str, value: Any) -> None:
    """Set a value: anything that JSON knows."""
    tx.put(SERVICE_SETTING, {"name": name, "value": json.dumps(value, ensure_ascii=False)})


def log_change(writing: Writing, name: str, old: str, new: str) -> None:
    """Tell in the activity log that a setting was changed. old, new: as text; no secret is set in the console."""
    writing.log(
        "setting.changed",
        APP,
        0,
        {
            "setting": name,
            "old": old[:MAX_LOGGED_CHARS] or NOTHING,
            "new": new[:MAX_LOGGED_CHARS] or NOTHING,
        },
    )
