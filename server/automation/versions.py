"""Stores the versions of automations. history.py reads them."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.record_types.shared import record_versions
from server.store.tables import Column

if TYPE_CHECKING:
    from server.record_types.parts import Change, Writing

TEXTS = ("name", "extension_id", "description", "script", "policy_kata")  # fields of a version, with the form
FORM = "form"

VERSION = record_versions.version_table(
    "automation_version",
    Column("automation_id", references="automation(id)"),
    (*TEXTS, FORM),
    "the versions of an automation; one of them",
)


def count(change: "Change") -> None:
    """Assigns the next version number to a change of versioned fields, before it is written."""
    if change.is_create:
        change.new["version"] = 1
    elif any(change.changes(name) for name in (*TEXTS, FORM)):
        change.new["version"] = max(change.was("version"), 1) + 1


def keep(change: "Change", writing: "Writing") -> None:
    """Stores a change as a version, in the same transaction."""
    if not change.changes("version"):
        return
    is_unstored = not change.is_create and not change.was("version")  # created before versions were stored
    changed = [] if change.is_create else [name for name in (*TEXTS, FORM) if change.changes(name)]
    since = change.was("updated_at") if is_unstored else None
    record_versions.store_version(VERSION, change, writing, change.value("version"), changed, _texts, since)


def _texts(value: Callable[[str], Any]) -> dict[str, str]:
    """Returns the texts of a version. value: reads a column of the automation."""
    form = value(FORM) or {}  # text if it does not change
    return {name: value(name) for name in TEXTS} | {
        FORM: form if isinstance(form, str) else json.dumps(form, ensure_ascii=False)
    }
