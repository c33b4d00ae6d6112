"""Creates the records of a package within one transaction; preparing.py has done the slow work before.

The records are created by the record writer of the service. A record is created before the records that refer to it."""

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
from server.packages.package_document import Tree, at, bad
from server.packages.preparing import ImportPlan, ids_of
from server.packages.sections import CUSTOM_TYPE, LINKS, PackageRecord
from server.record_types.custom_record import MAX_CUSTOM_TYPES
from server.record_types.record_type import RecordType
from server.record_types.shared import custom_types
from server.records import custom_fields
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext


@dataclass
class ImportResult:
    """The result of an import. records: {context: {uid: {id, label}}}, with secrets that are shown once. updated, kept:
    see changing.Changes. unchanged: the number of entries without a change. notes: descriptions of what was left out.
    granted: the grants of the package. conflicts: the fields that both the users and the package changed."""

    records: dict[str, dict[str, Tree]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)
    updated: dict[str, dict[str, Tree]] = field(default_factory=dict)
    kept: dict[str, dict[str, Tree]] = field(default_factory=dict)
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)

    @property
    def count_updated(self) -> int:
        return sum(map(len, self.updated.values()))


def make(prepared: ImportPlan, tx: Transaction) -> ImportResult:
    """Creates all records. Raises StaleIds; Required for grants without agreement; and the errors of creating a
    record."""
    if not any(part.type == CUSTOM_TYPE for part in prepared.plan.parts):
        return _Importer(prepared, tx).run()
    try:
        return _Importer(prepared, tx).run()
    except BaseException:
        tx.store.statements.forget()  # a type with other columns may get the same table next time
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
        self.secrets: dict[PackageRecord, Tree] = {}  # shown only in the result of the import
        self.past = prepared.past.entries
        self.baselines: dict[str, Baseline] = {}
        self.former_grants: dict[PackageRecord, list[str]] = {}  # the grants of records before their update
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
        """Completes the result, and stores the state for the next update."""
        prepared, imported, changes = self.prepared, self.imported, self.changes
        imported.notes += [*self.additions.notes, *sorted(prepared.notes), *self._left()]
        imported.updated, imported.kept = changes.updated, changes.kept
        imported.unchanged, imported.conflicts = changes.unchanged, changes.conflicts
        if not prepared.is_rehearsal:
            changes.require_no_conflict()
        if imported.records or imported.updated or not prepared.is_update:
            self._log()
            library.remember(prepared.ctx, self.tx, prepared.document, _joined(imported.records, imported.updated))
        state = Past(self.past | self.baselines, prepared.kept_answers)
        if not prepared.is_update or state != prepared.past:
            baselines.remember(self.tx, prepared.document.name, state)

    def _left(self) -> list[str]:
        """Returns notes about entries that are no longer in the package; their records stay unchanged."""
        gone = [name for name, each in self.past.items() if each.id and name not in self.baselines]
        return [f"'{name[:80]}' is no longer in the package; its record stays as it is" for name in gone]

    def _grants(self) -> None:
        """Collects the grants after all records are created, since an entry may change a record of another entry."""
        for part in self.prepared.plan.parts:
            granted = grants.describe_record(self.writing, self.types[part].uri, self.ids[part])
            former = self.former_grants.get(part, [])
            self.imported.granted += [each for each in granted if each not in former]
        self.imported.granted += self.additions.granted
        self.imported.granted = list(dict.fromkeys(self.imported.granted))
        grants.require_agreement(self.imported.granted, self.prepared.grants_agreed)

    def _log(self) -> None:
        name = self.prepared.document.name or "without a name"
        created = len(self.prepared.plan.parts) - len(self.prepared.matched)
        if not self.prepared.is_update:
            self.writing.log("package.imported", APP, 0, {"package": name, "made": _counted(created)})
            return
        changed = sum(map(len, self.imported.updated.values()))
        details = {"package": name, "made": _counted(created), "changed": _counted(changed)}
        self.writing.log("package.updated", APP, 0, details)

    @contextmanager
    def _known_types(self, type_parts: list[PackageRecord]) -> Iterator[None]:
        made_types = custom_types.read(self.tx, self.registry) if type_parts else []
        with self.registry.provisionally(made_types) if type_parts else nullcontext():
            yield

    def _reserve(self, parts: list[PackageRecord]) -> None:
        """Finds the types of parts, and reserves ids for those without one."""
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
            raise bad(f"{record_type.label_names[1].lower()} cannot be created by packages")
        return record_type

    def _make_type(self, part: PackageRecord) -> None:
        if part not in self.prepared.matched and len(custom_types.read(self.tx, self.registry)) >= MAX_CUSTOM_TYPES:
            raise TooLarge(
                f"{part.where}: there can be at most {MAX_CUSTOM_TYPES} custom record types",
                field="package_json",
                limit=MAX_CUSTOM_TYPES,
            )
        self._make(part)

    def _make(self, part: PackageRecord) -> None:
        self.tx.store.start_clock()  # the limit applies to one statement; there may be thousands of entries
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
            id = self.ids[part.parent]
            if part.parent_field == LINKS:
                fields[LINKS] = [*(fields.get(LINKS) or []), f"{self.types[part.parent].uri}:{id}"]
            else:
                fields[part.parent_field] = id
        is_new = part not in self.prepared.matched
        if is_new and record_type.uri == "custom_field" and "uri" not in fields:
            fields["uri"] = custom_fields.free_uri(self.tx, record_type.table, part.uid or str(fields.get("name", "")))
        return fields

    def _is_said_twice(self, record_type: RecordType, name: str, context: Any) -> bool:
        """Whether `owner__context` only repeats the single type that `owner_id` can have; packages often include it."""
        target = getattr(record_type.fields.get(name.removesuffix("_context") + "id"), "target", "")
        context_type = self.registry.find(str(context).lower())
        return bool(target) and context_type is not None and context_type is self.registry.find(target)

    def _settings(self) -> None:
        """Stores settings of plugins and preferences of workers."""
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
        """Computes the digests of new records last, since an entry may change a record of another entry."""
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
            extras = self._addresses(record_type, id) | self.secrets[part]
            of_type[part.uid] = {"id": id, "label": label or part.uid} | extras

    def _addresses(self, record_type: RecordType, id: int) -> Tree:
        """Returns what other programs need of a new record: the client id of an app, the URL of a webhook."""
        record = self.writing.record(record_type.uri, id) or {}
        if record_type.uri == "oauth_app":
            return {"client_id": record["client_id"]}
        if record_type.uri == "webhook_listener":
            return {"url": self.prepared.ctx.service.webhook_url(record["guid"])}
        return {}


def _counted(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def _joined(*results: dict[str, dict[str, Tree]]) -> dict[str, dict[str, Tree]]:
    """Returns the created and the changed records in one map."""
    joined: dict[str, dict[str, Tree]] = {}
    for each in results:
        for context, of_type in each.items():
            joined.setdefault(context, {}).update(of_type)
    return joined
