"""What an automation was before: every saved text of it, with who saved it and when, for as many as are kept.

The newest version is what the record holds. Not for looking at them: automation/history.py."""

from typing import TYPE_CHECKING, Any

from server.store.statements import slot
from server.store.tables import Column, Index, Table

if TYPE_CHECKING:
    from server.record_types.parts import Change, Writing

TEXTS = ("name", "extension_id", "description", "script", "policy_kata")  # what a version holds
MAX_VERSIONS = 50  # of one automation, the present one among them; the oldest go first
MAX_VERSION_CHARS = 32 * 1024 * 1024  # of all versions of one automation but the newest two; the oldest go first

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
    ],
    [Index(("automation_id", "number"), "the versions of an automation; one of them", unique=True)],
)  # at: when it was saved. actor_*: by whom, blank for one of before versions were kept. changed: the fields that the
# version before had otherwise, with blanks between. size: characters of all fields.


def count(change: "Change") -> None:
    """Give a change of what versions hold the next number, before it is written."""
    if change.is_create:
        change.new["version"] = 1
    elif any(change.changes(name) for name in TEXTS):
        change.new["version"] = max(change.was("version"), 1) + 1


def keep(change: "Change", writing: "Writing") -> None:
    """Keep what a change made, in the same transaction, and forget what is too old."""
    if not change.changes("version"):
        return
    id, number = change.id, change.value("version")
    if not change.is_create and not change.was("version"):  # made before versions were kept
        _add(writing, id, 1, change.was("updated_at"), ("", 0, ""), "", {name: change.was(name) for name in TEXTS})
    actor = writing.actor
    who = (actor.context, actor.id, writing.label(actor.context, actor.id))
    changed = "" if change.is_create else " ".join(name for name in TEXTS if change.changes(name))
    _add(writing, id, number, writing.now, who, changed, {name: change.value(name) for name in TEXTS})
    if number > 1:
        _forget(writing, id)


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
    """Remove the versions beyond the limits."""
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
