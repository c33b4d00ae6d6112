"""Turns the sections of a package into records to create, each with the fields of the records API, without database
access. Keys that a section does not rename are fields of its record type; unknown ones are refused when the record is
created."""

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.errors import TooLarge
from server.packages.package_document import LISTED, MAX_ENTRIES, PackageDocument, Tree, bad
from server.packages.substitution import Substitution
from server.record_types.shared.behavior_events import EVENTS, refused

CUSTOM_TYPE = "custom_record"
LINKS = "links"  # the field that a card has its column in
OWNED_BY_APP = {"owner__context": "app", "owner_id": 0}


@dataclass(eq=False)
class PackageRecord:
    """One record of a package. where: its place, for errors. type: a name of its record type. fields: as sent, with
    templates. stored: columns that the records API does not accept. parent: its owner, in the field `parent_field`,
    which may be LINKS. is_shown: whether the result names it."""

    where: str
    uid: str
    type: str
    fields: Tree
    stored: Tree = field(default_factory=dict)
    parent: "PackageRecord | None" = None
    parent_field: str = ""
    label: str = ""
    is_shown: bool = True

    @property
    def name(self) -> str:
        """The name for updates: its uid, or its place without a uid."""
        return self.uid or self.where


@dataclass(eq=False)
class Addition:
    """An addition to an existing record: text for an event or a toolbar, or a node for a behavior. key: the key of the
    entry that names the record."""

    where: str
    section: str
    key: str
    entry: Tree


@dataclass
class Plan:
    """Everything that a package creates, in the order of the phases."""

    parts: list[PackageRecord]
    additions: list[Addition]


def plan(document: PackageDocument, substitution: Substitution) -> Plan:
    """Returns the parts of a document, without entries that `_exclude` themselves. Raises Invalid, TooLarge."""
    reader = _SectionReader(substitution)
    parts: list[PackageRecord] = []
    for section in LISTED:
        if section in SECTIONS:
            parts += SECTIONS[section](reader, document.sections.get(section))
    additions: list[Addition] = []
    for section, key, needed in ADDITIONS:
        for where, entry in reader.entries(document.sections.get(section), section, needed):
            additions.append(Addition(where, section, key, entry))
    parts.sort(key=lambda each: each.type != CUSTOM_TYPE)  # records of these types may come before them in the document
    return Plan(parts, additions)


class _SectionReader:
    """Reads lists of entries; checks their number, required keys, uids and conditions."""

    def __init__(self, substitution: Substitution) -> None:
        self._substitution = substitution
        self._count = 0
        self._uids: set[str] = set()

    def entries(self, raw_entries: Any, where: str, needed: tuple[str, ...]) -> Iterator[tuple[str, Tree]]:
        """Yields (place, entry) of each entry that is not excluded."""
        if raw_entries in (None, {}):
            return
        if not isinstance(raw_entries, list):
            raise bad(f"{where}: must be a list of entries")
        for place, raw_entry in enumerate(raw_entries, 1):
            self._count += 1
            if self._count > MAX_ENTRIES:
                raise TooLarge(f"a package has at most {MAX_ENTRIES} entries", field="package_json", limit=MAX_ENTRIES)
            if not isinstance(raw_entry, dict):
                raise bad(f"{where}: entry {place} must be a map")
            entry = dict(raw_entry)
            uid = entry.get("uid")
            here = f"{where}: '{str(uid)[:80]}'" if uid not in (None, "") else f"{where}: entry {place}"
            if self._is_excluded(entry.pop("_exclude", None), here):
                continue
            missing = [name for name in needed if entry.get(name) is None or (name == "uid" and not uid)]
            if missing:
                raise bad(f"{here}: lacks {', '.join(missing)}")
            self._add_uid(uid, here)
            yield here, entry

    def _is_excluded(self, condition: Any, where: str) -> bool:
        """Whether an entry is excluded: by a template that renders to something other than 0, or a JSON value that is
        true."""
        if isinstance(condition, str):
            return self._substitution.text(condition, f"{where}: _exclude").strip() not in ("", "0")
        return bool(condition)

    def _add_uid(self, uid: Any, where: str) -> None:
        if uid in (None, ""):
            return
        if not isinstance(uid, str):
            raise bad(f"{where}: uid must be a text")
        if uid in self._uids:
            raise bad(f"{where}: the uid appears twice; every entry needs its own")
        self._uids.add(uid)


def _records(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    for where, entry in reader.entries(entries, "records", ("uid", "_context")):
        label = entry.pop("_label", None)
        context = entry.pop("_context")
        if not isinstance(context, str):
            raise bad(f"{where}: _context must be the name of a record type")
        yield PackageRecord(where, entry.pop("uid"), context, entry, label=str(label or ""))


def _fieldsets(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    needed = ("uid", "name", "context", "owner", "fields")
    for where, entry in reader.entries(entries, "custom_fieldsets", needed):
        fields = entry.pop("fields")
        part = PackageRecord(where, entry.pop("uid"), "custom_fieldset", _owned(entry, where))
        yield part
        inner = reader.entries(fields, f"{where}: fields", ("uid", "name", "type", "params"))
        for place, (below, each) in enumerate(inner):
            each = {"context": entry["context"], "pos": place} | each
            yield _child(part, below, each, "custom_field", "custom_fieldset_id")


def _bots(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    needed = ("uid", "name", "owner", "is_disabled", "params", "behaviors")
    for where, entry in reader.entries(entries, "bots", needed):
        behaviors, params = entry.pop("behaviors"), entry.pop("params")
        if not isinstance(params, dict) and params != []:
            raise bad(f"{where}: params takes a map")
        _rename(entry, "at_mention_name", "mention_name")
        if not entry.get("image"):
            entry.pop("image", None)
        fields = _owned(entry, where)
        part = PackageRecord(where, entry.pop("uid"), "bot", fields, {"config": params or {}})
        yield part
        yield from _behaviors_of(reader, behaviors, f"{where}: behaviors", (), part)


def _behaviors(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    return _behaviors_of(reader, entries, "behaviors", ("bot_id",), None)


def _behaviors_of(
    reader: _SectionReader, entries: Any, where: str, further: tuple[str, ...], bot: PackageRecord | None
) -> Iterator[PackageRecord]:
    needed = ("uid", "title", "is_disabled", "is_private", "priority", "event", "nodes", *further)
    for here, entry in reader.entries(entries, where, needed):
        _rename(entry, "title", "name")
        event = entry.pop("event")
        entry["event_point"] = event.get("key") if isinstance(event, dict) else event
        if entry["event_point"] not in EVENTS:
            raise bad(f"{here} ({str(entry['name'])[:80]}): {refused(str(entry['event_point']))}")
        nodes, variables = entry.pop("nodes"), entry.pop("variables", None) or {}
        part = PackageRecord(here, entry.pop("uid"), "behavior", entry, {"nodes": nodes, "variables": variables})
        part.parent, part.parent_field = bot, "bot_id"
        yield part


def _workspaces(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    for where, entry in reader.entries(entries, "workspaces", ("uid", "name", "extension_id", "tabs")):
        tabs = entry.pop("tabs")
        part = PackageRecord(where, entry.pop("uid"), "workspace_page", _owned(entry, where))
        yield part
        for place, (here, tab) in enumerate(reader.entries(tabs, f"{where}: tabs", ("name", "extension_id"))):
            widgets, worklists = tab.pop("widgets", None), tab.pop("worklists", None)
            on_page = _child(part, here, {"pos": place} | tab, "workspace_tab", "page_id")
            yield on_page
            for below, each in reader.entries(widgets, f"{here}: widgets", ("label", "extension_id")):
                yield _child(on_page, below, each, "workspace_widget", "tab_id")
            yield from _worklists(reader, worklists, on_page)


def _worklists(reader: _SectionReader, entries: Any, tab: PackageRecord) -> Iterator[PackageRecord]:
    """Yields worklists. `{title, model}` is the value of the field `view`; the record type is in the model."""
    for place, (where, entry) in enumerate(reader.entries(entries, f"{tab.where}: worklists", ())):
        if "model" in entry:
            model = entry.pop("model")
            if not isinstance(model, dict):
                raise bad(f"{where}: model takes a map")
            entry["view"] = {"title": entry.pop("title", ""), "model": model}
            entry.setdefault("context", model.get("context", ""))
        yield _child(tab, where, {"pos": place} | entry, "workspace_list", "tab_id")


def _searches(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    for where, entry in reader.entries(entries, "saved_searches", ("uid", "name", "context", "tag", "query")):
        yield PackageRecord(where, entry.pop("uid"), "saved_search", _owned(entry, where))


def _calendars(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    needed = ("uid", "name", "is_available")
    for where, entry in reader.entries(entries, "calendars", ("uid", "name", "params", "events")):
        events = entry.pop("events")
        part = PackageRecord(where, entry.pop("uid"), "calendar", _owned(entry, where))
        yield part
        for here, each in reader.entries(events, f"{where}: events", needed):
            kind = "calendar_event" if "date_start" in each else "calendar_event_recurring"
            if kind != "calendar_event":
                lacks = [name for name in RECURRING if name not in each]
                if lacks:
                    raise bad(f"{here}: lacks {', '.join(lacks)}, or date_start for an event that does not recur")
            yield _child(part, here, each, kind, "calendar_id")


def _boards(reader: _SectionReader, entries: Any) -> Iterator[PackageRecord]:
    for where, entry in reader.entries(entries, "project_boards", ("uid", "name", "columns")):
        columns = entry.pop("columns")
        board = PackageRecord(where, entry.pop("uid"), "project_board", _owned(entry, where))
        yield board
        for here, column in reader.entries(columns, f"{where}: columns", ("uid", "name", "cards")):
            cards = column.pop("cards")
            on_board = _child(board, here, column, "project_board_column", "board_id")
            yield on_board
            for below, each in reader.entries(cards, f"{here}: cards", ("uid", "_context")):
                each.pop("_label", None)
                context = each.pop("_context")
                if not isinstance(context, str):
                    raise bad(f"{below}: _context must be the name of a record type")
                if not isinstance(each.get(LINKS) or [], list):
                    raise bad(f"{below}: links takes a list")
                yield _child(on_board, below, each, context, LINKS)


RECURRING = ("tz", "event_start", "event_end", "recur_start", "recur_end", "patterns")
SECTIONS: dict[str, Callable[[_SectionReader, Any], Iterator[PackageRecord]]] = {
    "records": _records,
    "custom_fieldsets": _fieldsets,
    "bots": _bots,
    "behaviors": _behaviors,
    "workspaces": _workspaces,
    "saved_searches": _searches,
    "calendars": _calendars,
    "project_boards": _boards,
}
# (section, the key that names the changed record, required keys of an entry)
ADDITIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("behavior_nodes", "behavior_id", ("uid", "behavior_id", "parent_id", "title")),
    ("events", "event", ("event", "kata")),
    ("toolbars", "toolbar", ("toolbar", "kata")),
)


def _child(parent: PackageRecord, where: str, entry: Tree, type: str, parent_field: str) -> PackageRecord:
    return PackageRecord(
        where, entry.pop("uid", ""), type, entry, parent=parent, parent_field=parent_field, is_shown=False
    )


def _rename(entry: Tree, name: str, other: str) -> None:
    if name in entry:
        entry[other] = entry.pop(name)


def _owned(entry: Tree, where: str) -> Tree:
    """Replaces `owner` of an entry by its two fields: {context, id} or `<type>:<id>`; the app if it is missing."""
    owner = entry.pop("owner", None)
    if not owner:
        entry |= OWNED_BY_APP | entry
    elif isinstance(owner, dict):
        entry |= {"owner__context": owner.get("context") or "app", "owner_id": owner.get("id") or 0}
    elif isinstance(owner, str):
        context, _, id = owner.partition(":")
        entry |= {"owner__context": context, "owner_id": id or 0}
    else:
        raise bad(f"{where}: owner takes a map of context and id")
    return entry
