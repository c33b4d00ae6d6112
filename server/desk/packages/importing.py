"""Imports a package: questions are answered first, then everything is made in one transaction, or nothing.

Ids are taken before anything is rendered, so that entries can name each other, whichever comes first. Records are made
by the service itself, through the one way that records are made; what another one names comes before it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from server.access.actor import APP, lent
from server.context import Context
from server.desk import custom_fields, records, service_settings
from server.desk.packages import document as documents
from server.desk.packages import grants, library, placeholders, prompts, requirements
from server.desk.packages.document import Document, Tree, at, bad
from server.desk.packages.sections import CUSTOM_TYPE, Addition, Part, Plan, plan
from server.desk.packages.substitution import Substitution, Values, uids_in
from server.desk.writing import RecordWriter
from server.errors import AdminOnly, Forbidden, NotFound, TooLarge, nearest
from server.kata import parse as parse_kata
from server.records.base import RecordType
from server.records.custom_record import MAX_CUSTOM_TYPES
from server.records.shared import custom_types
from server.store.transaction import Transaction

NODE_CONTEXT = "svc.contexts.behavior.node"  # behavior nodes are no records; answers name them all the same
ADDED_TO = {"events": ("automation_event", "automations_kata"), "toolbars": ("toolbar", "toolbar_kata")}
MAX_SETTING_CHARS = 65_536  # value of a setting or a preference


@dataclass
class Imported:
    """records: {context: {uid: {id, label}}}, with secrets that are shown once. notes: what was left out, in words.
    granted: what it gives to people and programs."""

    records: dict[str, dict[str, Tree]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)


class _Rehearsed(Exception):
    """Ends the transaction of a dry run, which is undone."""

    def __init__(self, imported: Imported) -> None:
        super().__init__()
        self.imported = imported


def import_package(
    ctx: Context, value: Any, answers: Tree, *, dry_run: bool = False, grants_agreed: bool = False
) -> Imported:
    """Import a decoded package. answers: {prompt key: answer}. dry_run: tell what would be made, and undo it.
    grants_agreed: whether it may give rights and sign-ins to people and programs; else Required names them.

    Raises AdminOnly; Invalid, Conflict or TooLarge with the place of the problem, and then nothing was made. Source:
    Packages."""
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may import packages")
    document = documents.read(value)
    requirements.check(document)
    importing = _Import(ctx, document, answers, grants_agreed or dry_run)
    if not dry_run:
        return ctx.service.store.write(importing.write)
    try:
        ctx.service.store.write(importing.rehearse)
    except _Rehearsed as rehearsed:
        return rehearsed.imported
    raise AssertionError("a dry run always ends with its result")


class _Import:
    """One import. What is done here before `write` touches nothing; `write` may be run again from its beginning."""

    def __init__(self, ctx: Context, document: Document, answers: Tree, grants_agreed: bool) -> None:
        self.ctx = ctx
        self.grants_agreed = grants_agreed
        self.notes: set[str] = set()
        self.registry = ctx.service.registry
        self.document = document
        self.values = Values(self._load)
        prompts.fill(document, answers, self.values, self.registry)
        self.values["default"] = ctx.service.store.read(lambda tx: placeholders.defaults(ctx, tx))
        placeholders.fill(ctx, document, self.substitution())
        substitution = self.substitution()
        self.plan: Plan = plan(document, substitution)
        self.early = {part: self._early(part, substitution) for part in self.plan.parts if not uids_in(part.fields)}

    def substitution(self, uids: Mapping[str, int] | None = None) -> Substitution:
        found = Substitution(self.values, self.ctx.actor.timezone or "UTC", self.ctx.now)
        if uids is not None:
            values = Values(self._load)
            values.records = self.values.records
            values.update(self.values, uid=uids)
            found.values = values
        return found

    def _load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        """The record that somebody chose, opened for a key; nothing when it is not there."""
        try:
            return records.retrieve(replace(self.ctx, steps=None), self.registry.type(context).uri, id, key)
        except (NotFound, Forbidden):
            return {}

    def _early(self, part: Part, substitution: Substitution) -> Tree:
        """The fields of a part that names no other one: what is slow in them is done off the one writer."""
        fields: Tree = substitution.tree(part.fields, part.where)
        record_type = self.registry.find(part.type.lower())
        self.without_secrets(part, record_type, fields)
        with at(part.where):
            return fields if record_type is None else record_type.before(fields)

    def without_secrets(self, part: Part, record_type: RecordType | None, fields: Tree) -> None:
        """A password that came with a package would be known to whoever wrote it."""
        if record_type is not None and record_type.uri == "worker" and fields.pop(grants.PASSWORD, None):
            self.notes.add(f"{part.where}: the password was left out; workers choose theirs behind a link")

    # -- inside the transaction -------------------------------------------------------------------------------------

    def rehearse(self, tx: Transaction) -> None:
        """As write, and then all of it is undone."""
        raise _Rehearsed(self.write(tx))

    def write(self, tx: Transaction) -> Imported:
        """Make all of it."""
        if not any(part.type == CUSTOM_TYPE for part in self.plan.parts):
            return _Transaction(self, tx).run()
        try:
            return _Transaction(self, tx).run()
        except BaseException:
            tx.store.statements.forget()  # a type of another shape may get the same table next time
            raise


class _Transaction:
    """An import within its transaction."""

    def __init__(self, importing: _Import, tx: Transaction) -> None:
        ctx = importing.ctx
        quiet = ctx.is_quiet or importing.document.disable_events
        self.importing = importing
        self.tx = tx
        self.registry = importing.registry
        self.writing = RecordWriter(replace(ctx, actor=lent(ctx.actor), steps=None, is_quiet=quiet), tx)
        self.ids: dict[Part, int] = {}
        self.types: dict[Part, RecordType] = {}
        self.uids: dict[str, int] = {}
        self.secrets: dict[Part, Tree] = {}  # that only the answer of their making shows
        self.imported = Imported()

    def run(self) -> Imported:
        planned = self.importing.plan
        types = [part for part in planned.parts if part.type == CUSTOM_TYPE]
        others = [part for part in planned.parts if part.type != CUSTOM_TYPE]
        self._reserve(types)
        self.substitution = self.importing.substitution(self.uids)
        for part in types:
            self._make_type(part)
        with self._known_types(types):
            self._reserve(others)
            for part in _in_order(others):
                self._make(part)
            for addition in planned.additions:
                with at(addition.where):
                    self._add(addition)
            self._settings()
            for part in planned.parts:
                self._show(part)
            self._grants()
        self.imported.notes += sorted(self.importing.notes)
        self._log()
        library.remember(self.importing.ctx, self.tx, self.importing.document, self.imported.records)
        return self.imported

    def _grants(self) -> None:
        """Looked at when all is made: an entry may change what another one made."""
        found = (grants.of(self.writing, self.types[part].uri, self.ids[part]) for part in self.importing.plan.parts)
        self.imported.granted = [each for each in found if each]
        grants.require_yes(self.imported.granted, self.importing.grants_agreed)

    def _log(self) -> None:
        made = len(self.importing.plan.parts)
        counted = f"{made} record{'' if made == 1 else 's'}"
        name = self.importing.document.name or "without a name"
        self.writing.log("package.imported", APP, 0, {"package": name, "made": counted})

    @contextmanager
    def _known_types(self, made: list[Part]) -> Iterator[None]:
        made_types = custom_types.read(self.tx, self.registry) if made else []
        with self.registry.provisionally(made_types) if made else nullcontext():
            yield

    def _reserve(self, parts: list[Part]) -> None:
        """An id for each part, rising in the order of the document."""
        by_type: dict[str, list[Part]] = {}
        for part in parts:
            with at(part.where):
                record_type = self.types[part] = self._type(part)
            by_type.setdefault(record_type.uri, []).append(part)
        for listed in by_type.values():
            record_type = self.types[listed[0]]
            for part, id in zip(listed, self.tx.reserve(record_type.table, len(listed)), strict=True):
                self.ids[part] = id
                self.writing.lookup.promise(record_type, id)
                if part.uid:
                    self.uids[part.uid] = id

    def _type(self, part: Part) -> RecordType:
        record_type = self.registry.find(part.type.lower())
        if record_type is None:
            names = self.registry.uris()
            raise bad(f"_context: '{part.type[:80]}' is not a record type{nearest(part.type, names)}")
        if not record_type.operations["create"]:
            raise bad(f"{record_type.label_names[1].lower()} cannot be made by packages")
        return record_type

    def _make_type(self, part: Part) -> None:
        if len(custom_types.read(self.tx, self.registry)) >= MAX_CUSTOM_TYPES:
            raise TooLarge(f"{part.where}: there may be {MAX_CUSTOM_TYPES} custom record types, and no more",
                           field="package_json", limit=MAX_CUSTOM_TYPES)
        self._make(part)

    def _make(self, part: Part) -> None:
        self.tx.store.start_clock()  # the limit is one for a statement; there may be thousands of entries
        record_type, id = self.types[part], self.ids[part]
        fields = self._fields(part, record_type)
        with at(part.where):
            self.writing.create_sent(record_type, fields, id)
        self.secrets[part] = self.writing.shown_once
        self.writing.shown_once = {}
        if part.stored:
            stored = self.substitution.tree(part.stored, part.where)
            with at(part.where):
                self.writing.update(record_type.uri, id, stored)

    def _fields(self, part: Part, record_type: RecordType) -> Tree:
        early = self.importing.early.get(part)
        if early is None:
            rendered: Tree = self.substitution.tree(part.fields, part.where)
            self.importing.without_secrets(part, record_type, rendered)
            with at(part.where):
                fields = record_type.before(rendered)
        else:
            fields = dict(early)
        for name in [each for each in fields if each.endswith("__context") and each not in record_type.fields]:
            if self._is_said_twice(record_type, name, fields[name]):
                del fields[name]
        if part.parent is not None:
            fields[part.parent_field] = self.ids[part.parent]
        if record_type.uri == "custom_field" and "uri" not in fields:
            fields["uri"] = custom_fields.free_uri(self.tx, record_type.table, part.uid or str(fields.get("name", "")))
        return fields

    def _is_said_twice(self, record_type: RecordType, name: str, context: Any) -> bool:
        """Whether `owner__context` names the only type that `owner_id` can be of; packages like to write it."""
        target = getattr(record_type.fields.get(name.removesuffix("_context") + "id"), "target", "")
        named = self.registry.find(str(context).lower())
        return bool(target) and named is not None and named is self.registry.find(target)

    # -- what is put to records that are there ----------------------------------------------------------------------

    def _add(self, addition: Addition) -> None:
        if addition.section in ADDED_TO:
            self._append(addition)
        else:
            self._add_node(addition)

    def _append(self, addition: Addition) -> None:
        """Text behind the text of an event or a toolbar, with an empty line between."""
        uri, column = ADDED_TO[addition.section]
        name = self.substitution.text(str(addition.name), uri)
        kata = addition.entry["kata"]
        if not isinstance(kata, str):
            raise bad("kata must be a text")
        record = self.writing.find(uri, name=name)
        if record is None:
            raise bad(f"there is no {uri.replace('_', ' ')} '{name[:80]}'{nearest(name, self._names(uri))}")
        added = self.substitution.text(kata, "kata").strip("\r\n")
        before = record[column].rstrip()
        text = f"{before}\n\n{added}\n" if before else f"{added}\n"
        parse_kata(text)
        self.writing.update_sent(self.registry.type(uri), record["id"], {column: text})

    def _names(self, uri: str) -> list[str]:
        table = self.registry.type(uri).table
        return [row[0] for row in self.tx.rows(("names", uri), lambda: table.sql.select(table.sql.name))]

    def _add_node(self, addition: Addition) -> None:
        """A node at the end of a behavior's tree, whose nodes have no ids of their own."""
        entry = self.substitution.tree(addition.entry, "entry")
        behavior_id, parent_id = str(entry.pop("behavior_id")), str(entry.pop("parent_id"))
        behavior = self.writing.record("behavior", int(behavior_id)) if behavior_id.isdecimal() else None
        if behavior is None:
            raise bad(f"behavior_id: there is no behavior '{behavior_id[:50]}'")
        if parent_id not in ("", "0"):
            raise bad("parent_id: must be 0: nodes are put at the end of a behavior, not below another node")
        uid = entry.pop("uid")
        nodes = [*behavior["nodes"], entry]
        self.writing.update("behavior", behavior["id"], {"nodes": nodes})
        told = {"target": self.writing.label("behavior", behavior["id"]), "changes": "nodes"}
        self.writing.log("behavior.changed", self.registry.type("behavior").context, behavior["id"], told)
        self.imported.records.setdefault(NODE_CONTEXT, {})[uid] = {
            "id": len(nodes), "label": entry["title"], "behavior_id": behavior["id"], "parent_id": 0,
            "type": entry["type"],
        }  # fmt: skip

    # -- settings ---------------------------------------------------------------------------------------------------

    def _settings(self) -> None:
        """Settings of plugins and preferences of workers, kept by name; what belongs to nobody is left out and told."""
        for plugin, values in self.importing.document.sections.get("settings", {}).items():
            if plugin in requirements.BUILT_IN:
                self._put(f"plugin:{plugin}", values, f"settings: {plugin}")
            else:
                self.imported.notes.append(f"settings: there is no plugin '{plugin[:80]}'; its settings were left out")
        for key, values in self.importing.document.sections.get("worker_preferences", {}).items():
            worker_id = self.substitution.text(key, "worker_preferences").strip()
            known = worker_id.isdecimal() and len(worker_id) < 19 and self.writing.record("worker", int(worker_id))
            if known:
                self._put(f"worker:{int(worker_id)}", values, f"worker_preferences: {worker_id}")
            else:
                text = f"worker_preferences: there is no worker '{worker_id[:50]}'; the preferences were left out"
                self.imported.notes.append(text)

    def _put(self, owner: str, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            if values in (None, []):
                return
            raise bad(f"{where}: takes a map")
        for name, value in self.substitution.tree(values, where).items():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                self.imported.notes.append(f"{where}: {name[:80]} is neither text nor number and was left out")
            elif len(str(value)) > MAX_SETTING_CHARS:
                raise bad(f"{where}: {name[:80]} has more than {MAX_SETTING_CHARS} characters")
            else:
                service_settings.put(self.tx, f"{owner}:{name}", value)

    def _show(self, part: Part) -> None:
        if part.is_shown:
            record_type, id = self.types[part], self.ids[part]
            label = self.substitution.text(part.label, part.where) or self.writing.label(record_type.uri, id)
            of_type = self.imported.records.setdefault(record_type.context, {})
            of_type[part.uid] = {"id": id, "label": label or part.uid} | self.secrets[part]


def _in_order(parts: list[Part]) -> list[Part]:
    """The parts so that what a part names, or is on, comes before it, else as they were; those that name each other in
    a circle in the order of the package."""
    by_uid = {part.uid: part for part in parts if part.uid}
    found: dict[Part, None] = {}
    begun: set[Part] = set()
    waiting = list(reversed(parts))
    while waiting:
        part = waiting[-1]
        if part in found:
            waiting.pop()
        elif part in begun:
            found[part] = None
            waiting.pop()
        else:
            begun.add(part)
            named = [by_uid[uid] for uid in sorted(uids_in(part.fields) | uids_in(part.stored)) if uid in by_uid]
            if part.parent is not None:
                named.append(part.parent)
            waiting += [each for each in named if each not in begun]
    return list(found)
