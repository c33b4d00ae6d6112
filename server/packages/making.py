"""Makes what a package says within one transaction; what is slow in it was done before (preparing.py).

Records are made by the service itself, through the one way that records are made; what another one names comes before
it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from typing import Any

from server import contexts
from server.access.actor import APP, lent
from server.dataclass import dataclass
from server.desk import custom_fields, service_settings
from server.desk.writing import RecordWriter
from server.digits import id_in
from server.errors import TooLarge, nearest
from server.kata import parse as parse_kata
from server.packages import grants, library, requirements
from server.packages.document import Tree, at, bad
from server.packages.preparing import ImportPlan, ids_of
from server.packages.sections import CUSTOM_TYPE, Addition, PackageRecord
from server.records.base import RecordType
from server.records.custom_record import MAX_CUSTOM_TYPES
from server.records.shared import custom_types
from server.store.transaction import Transaction

NODE_CONTEXT = contexts.BEHAVIOR_NODE  # behavior nodes are no records; answers name them anyway
ADDED_TO = {"events": ("automation_event", "automations_kata"), "toolbars": ("toolbar", "toolbar_kata")}
MAX_SETTING_CHARS = 65_536  # value of a setting or a preference


@dataclass
class ImportResult:
    """records: {context: {uid: {id, label}}}, with secrets that are shown once. notes: what was left out, in words.
    granted: what it gives to people and programs."""

    records: dict[str, dict[str, Tree]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)


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
        self.added_grants: list[str] = []  # of what is added to existing records
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
                    self._add(addition, dict(entry))
            self._settings()
            for part in planned.parts:
                self._show(part)
            self._grants()
        self.imported.notes += sorted(self.prepared.notes)
        self._log()
        library.remember(self.prepared.ctx, self.tx, self.prepared.document, self.imported.records)
        return self.imported

    def _grants(self) -> None:
        """Name the grants once all is created, since an entry may change what another one created."""
        for part in self.prepared.plan.parts:
            self.imported.granted += grants.describe_record(self.writing, self.types[part].uri, self.ids[part])
        self.imported.granted += self.added_grants
        self.imported.granted = list(dict.fromkeys(self.imported.granted))
        grants.require_agreement(self.imported.granted, self.prepared.grants_agreed)

    def _log(self) -> None:
        made = len(self.prepared.plan.parts)
        counted = f"{made} record{'' if made == 1 else 's'}"
        name = self.prepared.document.name or "without a name"
        self.writing.log("package.imported", APP, 0, {"package": name, "made": counted})

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
            self.writing.lookup.promise(self.types[part], self.ids[part])
            if part.uid:
                self.uids[part.uid] = self.ids[part]

    def _type(self, part: PackageRecord) -> RecordType:
        record_type = self.registry.find(part.type.lower())
        if record_type is None:
            names = self.registry.uris()
            raise bad(f"_context: '{part.type[:80]}' is not a record type{nearest(part.type, names)}")
        if not record_type.operations["create"]:
            raise bad(f"{record_type.label_names[1].lower()} cannot be made by packages")
        return record_type

    def _make_type(self, part: PackageRecord) -> None:
        if len(custom_types.read(self.tx, self.registry)) >= MAX_CUSTOM_TYPES:
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
        with at(part.where):
            self.writing.create_sent(record_type, fields, id)
        self.secrets[part] = self.writing.shown_once
        self.writing.shown_once = {}
        if part.stored:
            stored = self._said(part, "stored", part.stored, part.where)
            with at(part.where):
                self.writing.update(record_type.uri, id, stored)

    def _fields(self, part: PackageRecord, record_type: RecordType) -> Tree:
        fields = self.prepared.fields(part, self.substitution)
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

    def _add(self, addition: Addition, entry: Tree) -> None:
        if addition.section in ADDED_TO:
            self._append(addition, entry)
        else:
            self._add_node(entry)

    def _append(self, addition: Addition, entry: Tree) -> None:
        """Text behind the text of an event or a toolbar, with an empty line between."""
        uri, column = ADDED_TO[addition.section]
        name, kata = str(entry[addition.key]), entry["kata"]
        if not isinstance(kata, str):
            raise bad("kata must be a text")
        record = self.writing.find(uri, name=name)
        if record is None:
            raise bad(f"there is no {uri.replace('_', ' ')} '{name[:80]}'{nearest(name, self._names(uri))}")
        added = kata.strip("\r\n")
        before = record[column].rstrip()
        text = f"{before}\n\n{added}\n" if before else f"{added}\n"
        parse_kata(text)
        self.writing.update_sent(self.registry.type(uri), record["id"], {column: text})
        self.added_grants += grants.describe(self.writing, uri, record | {column: added})

    def _names(self, uri: str) -> list[str]:
        table = self.registry.type(uri).table
        return [row[0] for row in self.tx.rows(lambda: table.sql.select(table.sql.name))]

    def _add_node(self, entry: Tree) -> None:
        """A node at the end of a behavior's tree, whose nodes have no ids of their own."""
        behavior_id, parent_id = str(entry.pop("behavior_id")), str(entry.pop("parent_id"))
        id = id_in(behavior_id)
        behavior = self.writing.record("behavior", id) if id is not None else None
        if behavior is None:
            raise bad(f"behavior_id: there is no behavior '{behavior_id[:50]}'")
        if parent_id not in ("", "0"):
            raise bad("parent_id: must be 0: nodes are put at the end of a behavior, not below another node")
        uid = entry.pop("uid")
        nodes = [*behavior["nodes"], entry]
        self.writing.update("behavior", behavior["id"], {"nodes": nodes})
        told = {"target": self.writing.label("behavior", behavior["id"]), "changes": "nodes"}
        self.added_grants += grants.describe_record(self.writing, "behavior", behavior["id"])
        self.writing.log("behavior.changed", self.registry.type("behavior").context, behavior["id"], told)
        self.imported.records.setdefault(NODE_CONTEXT, {})[uid] = {
            "id": len(nodes), "label": entry["title"], "behavior_id": behavior["id"], "parent_id": 0,
            "type": entry["type"],
        }  # fmt: skip

    # -- settings ---------------------------------------------------------------------------------------------------

    def _settings(self) -> None:
        """Settings of plugins and preferences of workers, kept by name; what belongs to nobody is left out and told."""
        for plugin, values in self.prepared.document.sections.get("settings", {}).items():
            if plugin in requirements.BUILT_IN:
                self._put("settings", plugin, f"plugin:{plugin}", values, f"settings: {plugin}")
            else:
                self.imported.notes.append(f"settings: there is no plugin '{plugin[:80]}'; its settings were left out")
        for key, values in self.prepared.document.sections.get("worker_preferences", {}).items():
            worker_id = self._said("worker of preferences", key, key, "worker_preferences").strip()
            id = id_in(worker_id)
            if id is not None and self.writing.record("worker", id):
                where = f"worker_preferences: {worker_id}"
                self._put("worker_preferences", key, f"worker:{id}", values, where)
            else:
                text = f"worker_preferences: there is no worker '{worker_id[:50]}'; the preferences were left out"
                self.imported.notes.append(text)

    def _put(self, section: str, key: str, owner: str, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            if values in (None, []):
                return
            raise bad(f"{where}: takes a map")
        for name, value in self._said(section, key, values, where).items():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                self.imported.notes.append(f"{where}: {name[:80]} is neither text nor number and was left out")
            elif len(str(value)) > MAX_SETTING_CHARS:
                raise bad(f"{where}: {name[:80]} has more than {MAX_SETTING_CHARS} characters")
            else:
                service_settings.put(self.tx, f"{owner}:{name}", value)

    def _said(self, owner: object, name: str, value: Any, where: str) -> Any:
        return self.prepared.tree(owner, name, value, where, self.substitution)

    def _show(self, part: PackageRecord) -> None:
        if part.is_shown:
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
