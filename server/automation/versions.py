"""Stores the versions of automations: the texts of each save with author and time, up to a limit.

The newest version equals the record. history.py reads the versions."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.store.statements import slot
from server.store.tables import Column, Index, Table

if TYPE_CHECKING:
    from server.record_types.parts import Change, Writing

TEXTS = ("name", "extension_id", "description", "script", "policy_kata")  # fields of a version, with the form
FORM = "form"
MAX_VERSIONS = 50  # per automation, including the current one; the oldest are deleted first
MAX_VERSION_CHARS = 32 * 1024 * 1024  # per automation, not counting the newest two

VERSION = Table(
    "automation_version",
    [
        Column("automation_id", references="automation(id)"),
        Column("number"),
        Column("at"),
        Column("actor_context", "TEXT"),
        Column("actor_id"),
        Column("actor_name", "TEXT"),
        Column("changed", "TEXT"),
        Column("size"),
        *(Column(name, "TEXT") for name in TEXTS),
        Column("form", "TEXT"),
    ],
    [Index(("automation_id", "number"), "the versions of an automation; one of them", unique=True)],
)  # at: time of the save. actor_*: the author, blank if unknown. changed: the fields that differ
# from the previous version, separated by blanks. size: characters of all fields.


def count(change: "Change") -> None:
    """Assigns the next version number to a change of versioned fields, before it is written."""
    if change.is_create:
        change.new["version"] = 1
    elif any(change.changes(name) for name in (*TEXTS, FORM)):
        change.new["version"] = max(change.was("version"), 1) + 1


def keep(change: "Change", writing: "Writing") -> None:
    """Stores a change as a version, in the same transaction, and deletes the oldest versions."""
    if not change.changes("version"):
        return
    id, number = change.id, change.value("version")
    if not change.is_create and not change.was("version"):  # created before versions were stored
        _add(writing, id, 1, change.was("updated_at"), ("", 0, ""), "", _texts(change.was))
    actor = writing.actor
    who = (actor.context, actor.id, writing.label(actor.context, actor.id))
    changed = "" if change.is_create else " ".join(name for name in (*TEXTS, FORM) if change.changes(name))
    _add(writing, id, number, writing.now, who, changed, _texts(change.value))
    if number > 1:
        _forget(writing, id)


def _texts(value: Callable[[str], Any]) -> dict[str, str]:
    """Returns the texts of a version. value: reads a column of the automation."""
    form = value(FORM) or {}  # text if it does not change
    return {name: value(name) for name in TEXTS} | {
        FORM: form if isinstance(form, str) else json.dumps(form, ensure_ascii=False)
    }


def _add(
    writing: "Writing", id: int, number: int, at: int, who: tuple[str, int, str], changed: str, texts: dict[str, Any]
) -> None:
    writing.tx.insert(
        VERSION,
        {
            "automation_id": id,
            "number": number,
            "at": at,
            "actor_context": who[0],
            "actor_id": who[1],
            "actor_name": who[2],
            "changed": changed,
            "size": sum(map(len, texts.values())),
            **texts,
        },
    )


def _forget(writing: "Writing", id: int) -> None:
    """Deletes the versions beyond the limits."""
    table = VERSION.sql
    sizes = writing.tx.rows(
        lambda: table.select(table.id, table.size).where(table.automation_id == slot(0)).order_by(table.number.desc()),
        (id,),
    )
    old, chars = [], 0
    for place, (version, size) in enumerate(sizes):
        chars += size if place > 1 else 0
        if place >= MAX_VERSIONS or chars > MAX_VERSION_CHARS:
            old.append((version,))
    writing.tx.run_many(lambda: table.delete().where(table.id == slot(0)), old)
