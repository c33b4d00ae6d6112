"""Settings of the service, such as the default sender: stored in the database, unlike settings of the process.

Values are JSON. Their users define the names; the console has a form for each."""

import json
from typing import Any

from server.access.actor import APP
from server.record_types.record_type import Writing
from server.store.tables import Column, Table
from server.store.transaction import Transaction

MAX_LOGGED_CHARS = 300  # characters of a value in the activity log
NOTHING = "(nothing)"
VERSION = "settings"  # version that rises with each change
SERVICE_SETTING = Table(
    "service_setting", [Column("name", "TEXT"), Column("value", "TEXT", "null")], key=("name",), bumps={VERSION: ()}
)

DEFAULT_SENDER = "default_sender_id"  # id of an address: the sender if neither bucket nor group has one
DEFAULT_TRANSPORT = "default_transport_id"  # id of a mail transport: for senders without their own


def get(tx: Transaction, name: str, default: Any = None) -> Any:
    """Returns the value of a setting, `default` if it was never set."""
    row = tx.first(SERVICE_SETTING, name=name)
    return default if row is None else json.loads(row[1])


def put(tx: Transaction, name: str, value: Any) -> None:
    """Sets a value, which must be serializable as JSON."""
    tx.put(SERVICE_SETTING, {"name": name, "value": json.dumps(value, ensure_ascii=False)})


def log_change(writing: Writing, name: str, old: str, new: str) -> None:
    """Logs the change of a setting in the activity log. old, new: text; settings of the console hold no secrets."""
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
