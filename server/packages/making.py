"""Makes what a package says within one transaction; what is slow in it was done before (preparing.py).

Records are made by the service itself, through the one way that records are made; what another one names comes before
it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from typing import Any

from server.access.actor import APP, lent
from server.dataclass import dataclass
from server.errors import TooLarge, nearest
from server.packages import baselines, grants, library, requirements
from server.packages.additions import NODE_CONTEXT, Additions
from server.packages.baselines import Baseline, Past, digests
from server.packages.changing import Changes, RecordUpdate
from server.packages.document import Tree, at, bad
from server.packages.preparing import ImportPlan, ids_of
from server.packages.sections import CUSTOM_TYPE, PackageRecord
from server.record_types.base import RecordType
from server.record_types.custom_record import MAX_CUSTOM_TYPES
from server.record_types.shared import custom_types
from server.records import custom_fields
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext


@dataclass
class ImportResult:
    """records: {context: {uid: {id, label}}}, with secrets that are shown once. updated: {context: {uid: {id, label,
    changes}}} and kept: {context: {uid: {id, label, fields}}}, see changing.Changes. unchanged: how many entries needed
    no change. notes: what was left out, in words. granted: what it gives to people and programs. conflicts: the fields
    that both the desk and the package changed."""

    records: dict[str, dict[str, Tree]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)
    updated: dict[str, dict[str, Tree]] = field(default_factory=dict)
    kept: dict[str, dict[str, Tree]] = field(default_factory=dict)
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)


def make(prepared: ImportPlan, tx: Transaction) -> ImportResult:
    """Make all of it. Raises Outdated; Required for what it grants unasked; and what making a record raises."""
    if not any(part.type == CUSTOM_TYPE for part in prepared.plan.parts):
        return _Importer(prepared, tx).run()
    try:
        return _Importer(prepared, tx).run()
    except BaseException:
        tx.store.statements.forget()  # a type of another shape may get the same table next time
        raise


class _Importer:
    """An import within its transaction."""

    def __init__(self, prepared: ImportPlan, tx: Transaction) -> None:
        ctx = prepared.ctx
        quiet = ctx.is_quiet or prepared.document.disable_events
        self.prepared = prepared
        self.tx = tx
        self.registry = ctx.service.registry
        self.writing = RecordWriter(replace(ctx, actor=lent(ctx.actor), steps=None, is_quiet=quiet), tx)
        self.ids = dict(prepared.ids)
        self.types: dict[PackageRecord, RecordType] = {}
        self.uids = dict(prepared.uids)
        self.secrets: dict[PackageRecord, Tree] = {}  # that only the answer of their making shows
        self.past = prepared.past.entries
        self.baselines: dict[str, Baseline] = {}
        self.former_grants: dict[PackageRecord, list[str]] = {}  # of records before they are updated
        self.changes = Changes(prepared.conflicts)
        self.additions = Additions(self.writing, self.past, self.changes)
        self.imported = ImportResult()

    def run(self) -> ImportResult:
        self.prepared.require_ids(self.tx)
        planned = self.prepared.plan
        types = [part for part in planned.parts if part.type == CUSTOM_TYPE]
        others = [part for part in planned.parts if part.type != CUSTOM_TYPE]
        self._reserve(types)
        self.substitution = self.prepared.substitution(self.uids)
        for part in types:
            self._make_type(part)
        with self._known_types(types):
            self._reserve(others)
            for part in self.prepared.in_order:
                self._make(part)
            for addition in planned.additions:
                entry = self._said(addition, "entry", addition.entry, addition.where)
                with at(addition.where):
                    self.additions.add(addition, dict(entry))
            self.additions.finish()
            self._settings()
            self._keep_baselines()
            for part in planned.parts:
                self._show(part)
            self._grants()
        self._finish()
        return self.imported

    def _finish(self) -> None:
        """Tell what happened, and remember it for the next update."""
        prepared, imported, changes = self.prepared, self.imported, self.changes
        imported.notes += [*self.additions.notes, *sorted(prepared.notes), *self._left()]
        imported.updated, imported.kept = changes.updated, changes.kept
        imported.unchanged, imported.conflicts = changes.unchanged, changes.conflicts
        if not prepared.is_rehearsal:
            changes.require_no_conflict()
        if imported.records or imported.updated or not prepared.is_update:
            self._log()
            library.remember(prepared.ctx, self.tx, prepared.document, _joined(imported.records, imported.updated))
        left = Past(self.past | self.baselines, prepared.kept_answers)
        if not prepared.is_update or left != prepared.past:
            baselines.remember(self.tx, prepared.document.name, left)

    def _left(self) -> list[str]:
        """What the package held before and holds no longer; it stays as it is."""
        gone = [name for name, each in self.past.items() if each.id and name not in self.baselines]
        return [f"'{name[:80]}' is no longer in the package; its record stays as it is" for name in gone]

    def _grants(self) -> None:
        """Name the grants once all is created, since an entry may change what another one created."""
        for part in self.prepared.plan.parts:
            granted = grants.describe_record(self.writing, self.types[part].uri, self.ids[part])
            former = self.former_grants.get(part, [])
            self.imported.granted += [each for each in granted if each not in former]
        self.imported.granted += self.additions.granted
        self.imported.granted = list(dict.fromkeys(self.imported.granted))
        grants.require_agreement(self.imported.granted, self.prepared.grants_agreed)

    def _log(self) -> None:
        name = self.prepared.document.name or "without a name"
        made = len(self.prepared.plan.parts) - len(self.prepared.matched)
        if not self.prepared.is_update:
            self.writing.log("package.imported", APP, 0, {"package": name, "made": _counted(made)})
            return
        changed = sum(map(len, self.imported.updated.values()))
        told = {"package": name, "made": _counted(made), "changed": _counted(changed)}
        self.writing.log("package.updated", APP, 0, told)

    @contextmanager
    def _known_types(self, made: list[PackageRecord]) -> Iterator[None]:
        made_types = custom_types.read(self.tx, self.registry) if made else []
        with self.registry.provisionally(made_types) if made else nullcontext():
            yield

    def _reserve(self, parts: list[PackageRecord]) -> None:
        """The types of parts, and ids for those that have none yet."""
        for part in parts:
            with at(part.where):
                self.types[part] = self._type(part)
        unnumbered = {part: self.types[part] for part in parts if part not in self.ids}
        self.ids |= ids_of(unnumbered, self.tx.reserve)
        for part in parts:
            if part not in self.prepared.matched:
                self.writing.lookup.promise(self.types[part], self.ids[part])
            if part.uid:
                self.uids[part.uid] = self.ids[part]

    def _type(self, part: PackageRecord) -> RecordType:
        record_type = self.registry.find(part.type.lower())
        if record_type is None:
            names = self.registry.uris()
            raise bad(
                about_field(
                    "_context",
                    lazy_gettext(
                        "'{value}' is not a record type{nearest}",
                        value=part.type[:80],
                        nearest=nearest(part.type, names),
                    ),
                )
            )
        if not record_type.operations["create"]:
            raise bad(f"{record_type.label_names[1].lower()} cannot be made by packages")
        return record_type

    def _make_type(self, part: PackageRecord) -> None:
        if part not in self.prepared.matched and len(custom_types.read(self.tx, self.registry)) >= MAX_CUSTOM_TYPES:
            raise TooLarge(
                f"{part.where}: there may be {MAX_CUSTOM_TYPES} custom record types, and no more",
                field="package_json",
                limit=MAX_CUSTOM_TYPES,
            )
        self._make(part)

    def _make(self, part: PackageRecord) -> None:
        self.tx.store.start_clock()  # the limit is one for a statement; there may be thousands of entries
        record_type, id = self.types[part], self.ids[part]
        fields = self._fields(part, record_type)
        stored = self._said(part, "stored", part.stored, part.where) if part.stored else {}
        if part in self.prepared.matched:
            self.former_grants[part] = grants.describe_record(self.writing, record_type.uri, id)
            update = RecordUpdate(self.writing, record_type, self.past[part.name], fields, stored)
            self.baselines[part.name] = update.run(self.changes, part.where, part.name)
            return
        with at(part.where):
            self.writing.create_sent(record_type, fields, id)
        self.secrets[part] = self.writing.shown_once
        self.writing.shown_once = {}
        if stored:
            with at(part.where):
                self.writing.update(record_type.uri, id, stored)
        self.baselines[part.name] = Baseline(record_type.context, id, digests(fields | stored))

    def _fields(self, part: PackageRecord, record_type: RecordType) -> Tree:
        fields = self.prepared.fields(part, self.substitution)
        for name in [each for each in fields if each.endswith("__context") and each not in record_type.fields]:
            if self._is_said_twice(record_type, name, fields[name]):
                del fields[name]
        if part.parent is not None:
            fields[part.parent_field] = self.ids[part.parent]
        is_new = part not in self.prepared.matched
        if is_new and record_type.uri == "custom_field" and "uri" not in fields:
            fields["uri"] = custom_fields.free_uri(self.tx, record_type.table, part.uid or str(fields.get("name", "")))
        return fields

    def _is_said_twice(self, record_type: RecordType, name: str, context: Any) -> bool:
        """Whether `owner__context` names the only type that `owner_id` can be of; packages like to write it."""
        target = getattr(record_type.fields.get(name.removesuffix("_context") + "id"), "target", "")
        named = self.registry.find(str(context).lower())
        return bool(target) and named is not None and named is self.registry.find(target)

    def _settings(self) -> None:
        """Settings of plugins and preferences of workers."""
        sections = self.prepared.document.sections
        for plugin, values in sections.get("settings", {}).items():
            is_known = plugin in requirements.BUILT_IN
            where = f"settings: {plugin}"
            self.additions.put_settings(plugin, self._said("settings", plugin, values, where) if is_known else values)
        for key, values in sections.get("worker_preferences", {}).items():
            worker_id = self._said("worker of preferences", key, key, "worker_preferences").strip()
            where = f"worker_preferences: {worker_id}"
            self.additions.put_preferences(worker_id, self._said("worker_preferences", key, values, where))

    def _keep_baselines(self) -> None:
        """Take the digests of new records last: an entry may change a record that another entry created."""
        for part in self.prepared.plan.parts:
            baseline = self.baselines[part.name]
            if part not in self.prepared.matched:
                record = self.writing.record(self.types[part].uri, self.ids[part])
                baseline.stored = digests(record or {})
        self.baselines |= self.additions.made
        if self.additions.nodes:
            self.imported.records.setdefault(NODE_CONTEXT, {}).update(self.additions.nodes)

    def _said(self, owner: object, name: str, value: Any, where: str) -> Any:
        return self.prepared.tree(owner, name, value, where, self.substitution)

    def _show(self, part: PackageRecord) -> None:
        if part.is_shown and part not in self.prepared.matched:
            record_type, id = self.types[part], self.ids[part]
            label = self._said(part, "label", part.label, part.where) or self.writing.label(record_type.uri, id)
            of_type = self.imported.records.setdefault(record_type.context, {})
            shown = self._addresses(record_type, id) | self.secrets[part]
            of_type[part.uid] = {"id": id, "label": label or part.uid} | shown

    def _addresses(self, record_type: RecordType, id: int) -> Tree:
        """What other programs need to know of a new record: the client id of an app, the address of a webhook."""
        record = self.writing.record(record_type.uri, id) or {}
        if record_type.uri == "oauth_app":
            return {"client_id": record["client_id"]}
        if record_type.uri == "webhook_listener":
            return {"url": self.prepared.ctx.service.webhook_url(record["guid"])}
        return {}


def _counted(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def _joined(*made: dict[str, dict[str, Tree]]) -> dict[str, dict[str, Tree]]:
    """What was created and what was changed, as one."""
    found: dict[str, dict[str, Tree]] = {}
    for each in made:
        for context, of_type in each.items():
            found.setdefault(context, {}).update(of_type)
    return found
