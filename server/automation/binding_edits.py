"""Adds an automation to the binding of an event, timer or webhook, and removes it.

Other entries, their order and their comments are preserved, so that concurrent edits are not lost."""

import re

from server.automation.bindings import entries
from server.automation.bound_automations import FIELD, TIMER, WEBHOOK, tree_text
from server.automation.commands.functions import automation_name
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound
from server.kata.blocks import span
from server.record_types.shared.triggers import EVENTS, PREFIX
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

DOING = "bind automations"  # completes the message of AdminOnly
_OTHER = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Binding:
    """The binding that starts an automation. uri: automation_event, automation_timer or webhook_listener. names: of all
    its entries, in order."""

    uri: str
    id: int
    text: str
    names: tuple[str, ...]


def bind(ctx: Context, id: int, timer_id: int = 0, webhook_id: int = 0, name: str = "", position: int = -1) -> Binding:
    """Adds an entry for an automation to the binding of its trigger; an existing entry is left as it is.

    name: of the entry, "" to derive it from the name of the automation. position: index among the entries, -1 for the
    end. Raises AdminOnly, NotFound, Invalid, Conflict if another automation has an entry of that name."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> Binding:
        writing = RecordWriter(ctx, tx)
        uri, holder, automation = _holder(writing, id, timer_id, webhook_id)
        text = str(writing.record(uri, holder)[FIELD])  # type: ignore[index]
        if not _entries_of(text, automation):
            text = with_entry(text, name or _OTHER.sub("_", automation), automation, position)
            writing.update_sent(writing.registry.type(uri), holder, {FIELD: text})
        return Binding(uri, holder, text, tuple(entries(text)))

    return ctx.service.store.write(write)


def unbind(ctx: Context, id: int, timer_id: int = 0, webhook_id: int = 0) -> Binding:
    """Removes the entries of an automation from the binding of its trigger. Raises AdminOnly, NotFound, Invalid."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> Binding:
        writing = RecordWriter(ctx, tx)
        uri, holder, automation = _holder(writing, id, timer_id, webhook_id)
        text = str(writing.record(uri, holder)[FIELD])  # type: ignore[index]
        for entry in _entries_of(text, automation):
            text = without_entry(text, entry)
        writing.update_sent(writing.registry.type(uri), holder, {FIELD: text})
        return Binding(uri, holder, text, tuple(entries(text)))

    return ctx.service.store.write(write)


def with_entry(text: str, name: str, automation: str, position: int = -1) -> str:
    """Returns a binding with one more entry.

    >>> with_entry("automation/a:\\n  uri: x\\n", "b", "y", 0)
    'automation/b:\\n  uri: svc:automation:y\\nautomation/a:\\n  uri: x\\n'
    """
    if _OTHER.search(name) or not name:
        raise Invalid(f"name: '{name[:80]}' may hold letters, digits and underscores only", field="name")
    present = entries(text)
    if name in present:
        raise Conflict(f"name: the entry '{name}' belongs to another automation; choose another name", field="name")
    entry = f"automation/{name}:\n  uri: svc:automation:{automation}\n"
    names = list(present)
    if not 0 <= position < len(names):
        return f"{text.rstrip()}\n{entry}".lstrip("\n")
    lines = text.splitlines(keepends=True)
    start, _ = _block(text, names[position])
    return "".join((*lines[:start], entry, *lines[start:]))


def without_entry(text: str, name: str) -> str:
    """Returns a binding without one of its entries and the comment above that entry.

    >>> without_entry("automation/a:\\n  uri: x\\nautomation/b:\\n  uri: y\\n", "a")
    'automation/b:\\n  uri: y\\n'
    """
    lines = text.splitlines(keepends=True)
    start, end = _block(text, name)
    return "".join((*lines[:start], *lines[end:]))


def entry_text(text: str, name: str) -> str:
    """Returns one of the entries of a binding, with the comment above it."""
    start, end = _block(text, name)
    return "".join(f"{text.rstrip()}\n".splitlines(keepends=True)[start:end])


def with_entry_text(text: str, entry: str, following: str) -> str:
    """Returns a binding with an entry of entry_text() above another one, "" for the end.

    >>> with_entry_text("automation/a:\\n  uri: x\\n", "automation/b:\\n  uri: y\\n", "a")
    'automation/b:\\n  uri: y\\nautomation/a:\\n  uri: x\\n'
    """
    lines = text.splitlines(keepends=True)
    start = _block(text, following)[0] if following else len(lines)
    return "".join((*lines[:start], entry, *lines[start:]))


def with_moved(text: str, name: str, steps: int) -> str:
    """Returns a binding with one entry, and the comment above it, moved up (negative steps) or down.

    >>> with_moved("automation/a:\\n  uri: x\\n# Then b\\nautomation/b:\\n  uri: y\\n", "b", -1)
    '# Then b\\nautomation/b:\\n  uri: y\\nautomation/a:\\n  uri: x\\n'
    """
    names = list(entries(text))
    place = names.index(name)
    target = min(max(place + steps, 0), len(names) - 1)
    if target == place:
        return text
    lines = f"{text.rstrip()}\n".splitlines(keepends=True)
    start, end = _block(text, name)
    before, after = _block(text, names[target])
    block = lines[start:end]
    if target < place:
        return "".join((*lines[:before], *block, *lines[before:start], *lines[end:]))
    return "".join((*lines[:start], *lines[end:after], *block, *lines[after:]))


def _block(text: str, name: str) -> tuple[int, int]:
    """Returns the first line, from 0, of an entry with the comment above it, and the line after its last."""
    return span(text, entries(text)[name][1] - 1)


def _entries_of(text: str, automation: str) -> list[str]:
    """Returns the names of the entries that run an automation."""
    return [
        name
        for name, (_, _, tree) in entries(text).items()
        if automation_name(tree_text(tree, "uri")).lower() == automation.lower()
    ]


def _holder(writing: RecordWriter, id: int, timer_id: int, webhook_id: int) -> tuple[str, int, str]:
    """Returns the type and id of the record whose binding starts an automation, and the automation's name."""
    automation = writing.retrieve("automation", id)
    trigger = automation["extension_id"]
    if trigger == TIMER:
        if not timer_id:
            raise Invalid(
                "timer_id: an automation with this trigger is bound to a timer; send its id", field="timer_id"
            )
        return "automation_timer", int(writing.retrieve("automation_timer", timer_id)["id"]), automation["name"]
    if trigger == WEBHOOK:
        if not webhook_id:
            raise Invalid(
                "webhook_id: an automation with this trigger is bound to a webhook; send its id", field="webhook_id"
            )
        return "webhook_listener", int(writing.retrieve("webhook_listener", webhook_id)["id"]), automation["name"]
    fields = [
        f"`{field}` of a {each.uri}" for each in writing.registry for field, of in each.bound.items() if of == trigger
    ]
    if fields:
        raise Invalid(f"automations with the trigger {trigger} are named in {' or '.join(fields)}", field="id")
    event = trigger.removeprefix(PREFIX)
    if event not in EVENTS:
        raise Invalid(f"automations with the trigger {trigger} are called by name and need no binding", field="id")
    row = writing.tx.first(writing.registry.type("automation_event").table, name=event)
    if row is None:
        raise NotFound(f"there is no event {event}")
    return "automation_event", int(row[0]), automation["name"]
