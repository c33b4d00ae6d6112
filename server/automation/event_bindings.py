"""Lists the automations bound to each event in order, and reorders them safely when administrators edit at the same
time."""

import hashlib
from collections.abc import Callable
from typing import Any

from server.automation.binding_edits import DOING, with_moved, without_entry
from server.automation.bindings import entries, problems
from server.automation.bound_automations import FIELD, is_off, lost_entries, tree_text
from server.automation.commands.functions import automation_name
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, KataSyntax, NotFound
from server.kata.kata_parser import Tree, plain
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

URI = "automation_event"
DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An entry in the binding of an event. automation: the name in the entry, possibly a template. automation_id: 0 if
    no automation has that name. condition: its `disabled` or `enabled`, as written. reason: why it never runs."""

    name: str
    automation: str
    automation_id: int
    condition: str
    is_off: bool
    reason: str


@dataclass(frozen=True, slots=True)
class EventBinding:
    """An event and its binding. text: in KATA. version: a digest of the text. problem: why it cannot be parsed."""

    id: int
    name: str
    trigger: str
    description: str
    text: str
    version: str
    entries: tuple[EventEntry, ...]
    problem: str = ""


def list_bindings(ctx: Context) -> list[EventBinding]:
    """Returns the bindings of all events, by name. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _bindings(ctx, tx))


def binding(ctx: Context, id: int) -> EventBinding:
    """Returns the binding of one event. Raises AdminOnly, NotFound."""
    match = next((each for each in list_bindings(ctx) if each.id == id), None)
    if match is None:
        raise NotFound(f"there is no automation_event {id}")
    return match


def move(ctx: Context, id: int, name: str, steps: int, version: str) -> None:
    """Moves an entry up (-1) or down (1). Raises AdminOnly, NotFound, Conflict if the binding has changed."""
    _change(ctx, id, version, lambda text: with_moved(text, _present(text, name), steps))


def remove(ctx: Context, id: int, name: str, version: str) -> None:
    """Removes an entry. Raises AdminOnly, NotFound, Conflict if the binding has changed."""
    _change(ctx, id, version, lambda text: without_entry(text, _present(text, name)))


def replace_text(ctx: Context, id: int, text: str, version: str) -> None:
    """Replaces a binding. Raises AdminOnly, NotFound, Invalid, Conflict if it has changed."""
    wrong = problems(text)
    if wrong:
        raise Invalid(f"{FIELD}: line {wrong[0][0]}: {wrong[0][1]}", field=FIELD, line=wrong[0][0])
    _change(ctx, id, version, lambda _text: text)


def version_of(text: str) -> str:
    """Returns the digest that identifies a version of a binding."""
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def _change(ctx: Context, id: int, version: str, change: Callable[[str], str]) -> None:
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.retrieve(URI, id)
        text = str(writing.record(URI, id)[FIELD])  # type: ignore[index]
        if version_of(text) != version:
            raise Conflict(N_("somebody changed what runs on this event in the meantime; review it, then try again"))
        writing.update_sent(writing.registry.type(URI), id, {FIELD: change(text)})

    ctx.service.store.write(write)


def _present(text: str, name: str) -> str:
    """Requires that an entry exists. Raises Conflict if it does not."""
    if name not in entries(text):
        raise Conflict(lazy_gettext("the entry '{name}' no longer exists", name=name[:80]))
    return name


def _bindings(ctx: Context, tx: Transaction) -> list[EventBinding]:
    registry = ctx.service.registry
    table, automation = registry.type(URI).table, registry.type("automation").table.sql
    ids = {name.lower(): id for id, name in tx.rows(lambda: automation.select(automation.id, automation.name))}
    lost = {(each.id, each.key): each.reason for each in lost_entries(registry, tx) if each.uri == URI}
    rows = [dict(zip(table.names, row, strict=True)) for row in tx.find(table)]
    return [_binding(row, ids, lost) for row in sorted(rows, key=lambda row: str(row["name"]))]


def _binding(row: dict[str, Any], ids: dict[str, int], lost: dict[tuple[int, str], str]) -> EventBinding:
    text, event_entries, problem = str(row[FIELD]), [], ""
    try:
        for name, (key, _line, tree) in entries(text).items():
            uri = tree_text(tree, "uri")
            automation = uri if "{" in uri else automation_name(uri)
            id, reason = ids.get(automation.lower(), 0), lost.get((row["id"], key), "")
            event_entries.append(EventEntry(name, automation, id, _condition(tree), is_off(tree), reason))
    except KataSyntax as error:
        problem = error.message
    return EventBinding(
        row["id"],
        row["name"],
        row["extension_id"],
        row["description"],
        text,
        version_of(text),
        tuple(event_entries),
        problem,
    )


def _condition(tree: Tree) -> str:
    """Returns the first `disabled` or `enabled` of an entry as written, "" if it has neither."""
    written = ((plain(key).partition("/")[0], key, value) for key, value in tree.items())
    return next((f"{key}: {value}" for kind, key, value in written if kind in ("disabled", "enabled")), "")
