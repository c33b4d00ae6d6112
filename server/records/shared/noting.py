"""Entries of the activity log that no event of its own stands for: who did what to secrets and addresses. Source: ours.
"""

from collections.abc import Mapping

from server.records.parts import Change, Writing

POINT = "custom.other"


def note(writing: Writing, context: str, id: int, done: str) -> None:
    """Write that the actor has done something to a record. done: in words, as they follow a name."""
    writing.log(POINT, context, id, {"message": f"{writing.actor.name} {done}"})


def note_change(writing: Writing, change: Change, kind: str, told: Mapping[str, str]) -> None:
    """Write that a record with a name was made, or which of its parts were changed. kind: the word for the record.
    told: {column: what its change is called}; of others nothing is written."""
    name = f"the {kind} {change.value('name')}"
    if change.is_create:
        note(writing, change.type.context, change.id, f"made {name}")
        return
    what = dict.fromkeys(text for column, text in told.items() if change.changes(column))
    if what:
        note(writing, change.type.context, change.id, f"changed {name}: {', '.join(what)}")
