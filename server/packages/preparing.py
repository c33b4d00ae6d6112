"""Prepares an import before its transaction: reads answers, renders templates, and does other slow work, so that the
transaction only creates records.

Ids are predicted first, so that entries can refer to each other in any order. If other writes use these ids before the
transaction, the import is prepared again."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from server import contexts
from server.context import Context
from server.errors import Forbidden, NotFound
from server.packages import baselines, configured_values, grants, library, prompts, requirements
from server.packages.baselines import CREATE, REFUSE, UPDATE, Past
from server.packages.package_document import PackageDocument, Tree, at
from server.packages.sections import CUSTOM_TYPE, PackageRecord, Plan, plan
from server.packages.substitution import Substitution, TemplateValues, uids_in
from server.record_types.record_type import RecordType
from server.record_types.shared.behavior_events import WEBHOOK, refused
from server.records import records
from server.store.tables import Table
from server.store.transaction import Transaction

AUTOMATION = ("automation", contexts.AUTOMATION)  # names of the record type


class StaleIds(Exception):
    """Other writes have used the predicted ids."""


class ImportPlan:
    """A prepared import; the caller repeats it from the beginning after StaleIds.

    ids: {part: its id}, where the record type exists. Parts whose record type is created by the package itself are
    rendered in the transaction. in_order: the parts without those types, in the order of creation."""

    def __init__(
        self,
        ctx: Context,
        document: PackageDocument,
        answers: Tree,
        grants_agreed: bool,
        *,
        keeps_ids: bool = False,
        is_rehearsal: bool = False,
        mode: str = CREATE,
        conflicts: str = REFUSE,
    ) -> None:
        """keeps_ids: reserve the ids, which are lost if the import fails. is_rehearsal: whether the transaction is
        rolled back. mode, conflicts: see import_package.

        Raises Invalid, TooLarge, Conflict with the place of the problem."""
        self.ctx = ctx
        self.grants_agreed = grants_agreed
        self.keeps_ids = keeps_ids
        self.is_rehearsal = is_rehearsal
        self.is_update = mode == UPDATE
        self.conflicts = conflicts
        self.notes: set[str] = set()
        self.document = document
        self.past = baselines.past(ctx, document.name) if self.is_update else Past()
        answers = self.past.answers | answers
        self._answers = answers
        self._registry = ctx.service.registry
        self._values = TemplateValues(self._load)
        self._done: dict[tuple[object, str], Any] = {}
        prompts.fill(document, answers, self._values, self._registry)
        self._values["default"] = ctx.service.store.read(lambda tx: configured_values.defaults(ctx, tx))
        substitution = Substitution(self._values, ctx.actor.timezone or "UTC", ctx.now)
        drawn = configured_values.fill(ctx, document, substitution, self.past.answers)
        prompted = {prompt["key"] for prompt in document.prompts}
        self.kept_answers = {key: each for key, each in answers.items() if key in prompted} | drawn
        self.plan: Plan = plan(document, Substitution(self._values, ctx.actor.timezone or "UTC", ctx.now))
        self.matched = self._matched()
        store, types = ctx.service.store, self._new_types()
        self.ids = {part: self.past.entries[part.name].id for part in self.matched}
        self.ids |= (
            store.write(lambda tx: ids_of(types, tx.reserve))
            if keeps_ids
            else store.read(lambda tx: ids_of(types, tx.next_ids))
        )
        self.uids = {part.uid: id for part, id in self.ids.items() if part.uid}
        self.notes |= {_not_run(part) for part in self.plan.parts if part.fields.get("event_point") == WEBHOOK}
        self.in_order = _in_order([part for part in self.plan.parts if part.type != CUSTOM_TYPE])
        self._render()

    def substitution(self, uids: Mapping[str, int]) -> Substitution:
        """Returns the renderer of templates with these ids."""
        values = TemplateValues(self._load)
        values.records = self._values.records
        values.update(self._values, uid=uids)
        return Substitution(values, self.ctx.actor.timezone or "UTC", self.ctx.now)

    def tree(self, owner: object, name: str, value: Any, where: str, late: Substitution) -> Any:
        """Returns a value with its templates rendered. owner, name: identify the value. late: renders values that had
        to wait for the transaction."""
        key = (owner, name)
        return self._done[key] if key in self._done else late.tree(value, where)

    def fields(self, part: PackageRecord, late: Substitution) -> Tree:
        """Returns the fields of a part, ready for creating its record."""
        key = (part, "fields")
        return dict(self._done[key] if key in self._done else self._ready(part, late))

    def _load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        """Returns the keys of a chosen record, expanded by `key`; empty if the record is missing."""
        try:
            return records.retrieve(replace(self.ctx, steps=None), self._registry.type(context).uri, id, key)
        except (NotFound, Forbidden):
            return {}

    def require_ids(self, tx: Transaction) -> None:
        """Reserves the ids. Raises StaleIds."""
        matched_records = {self.past.entries[part.name].record for part in self.matched}
        if library.existing(self._registry, tx, matched_records) != matched_records:
            raise StaleIds
        types = self._new_types()
        if not self.keeps_ids and ids_of(types, tx.reserve) != {part: self.ids[part] for part in types}:
            raise StaleIds

    def _matched(self) -> set[PackageRecord]:
        """Returns the parts whose records were created by the last import and still exist."""
        types = self._types()
        return {
            part
            for part, record_type in types.items()
            if part.name in self.past.entries and self.past.entries[part.name].context == record_type.context
        }

    def _new_types(self) -> dict[PackageRecord, RecordType]:
        return {part: each for part, each in self._types().items() if part not in self.matched}

    def _types(self) -> dict[PackageRecord, RecordType]:
        """Returns {part: its type}, without parts whose type does not exist yet."""
        pairs = ((part, self._registry.find(part.type.lower())) for part in self.plan.parts)
        return {part: each for part, each in pairs if each is not None and each.operations["create"]}

    def _render(self) -> None:
        """Renders all values that do not refer to an unknown id."""
        substitution = self.substitution(self.uids)
        unknown = {part.uid for part in self.plan.parts if part not in self.ids}
        unknown |= {""} if unknown else set()  # references that only a rendering resolves
        for part in self.plan.parts:
            if part in self.ids and not unknown & uids_in(part.fields):
                self._done[part, "fields"] = self._ready(part, substitution)
        for owner, name, value, where in self._further():
            if not unknown & uids_in(value):
                self._done[owner, name] = substitution.tree(value, where)

    def _further(self) -> Iterable[tuple[object, str, Any, str]]:
        """Yields (owner, name, value, place) of everything besides fields that is rendered."""
        for part in self.plan.parts:
            yield part, "stored", part.stored, part.where
            yield part, "label", part.label, part.where
        for addition in self.plan.additions:
            yield addition, "entry", addition.entry, addition.where
        sections = self.document.sections
        for plugin, values in sections.get("settings", {}).items():
            if plugin in requirements.BUILT_IN:
                yield "settings", plugin, values, f"settings: {plugin}"
        for key, values in sections.get("worker_preferences", {}).items():
            yield "worker of preferences", key, key, "worker_preferences"
            yield "worker_preferences", key, values, "worker_preferences"

    def _ready(self, part: PackageRecord, substitution: Substitution) -> Tree:
        fields: Tree = substitution.tree(part.fields, part.where)
        record_type = self._registry.find(part.type.lower())
        if record_type is not None:
            own = prompts.entered(self.document, part.fields, self._answers) or {}
            self.notes |= {f"{part.where}: {note}" for note in grants.remove_secrets(record_type.uri, fields, own)}
        with at(part.where):
            return fields if record_type is None else record_type.before(fields)


def _not_run(part: PackageRecord) -> str:
    return f"{part.where}: it is stored but never runs: {refused(WEBHOOK)}"


def ids_of(types: Mapping[PackageRecord, RecordType], some: Callable[[Table, int], range]) -> dict[PackageRecord, int]:
    """Returns an id for each part, rising in their order. some: returns a range of ids of a table."""
    by_type: dict[RecordType, list[PackageRecord]] = {}
    for part, record_type in types.items():
        by_type.setdefault(record_type, []).append(part)
    return {
        part: id
        for record_type, parts in by_type.items()
        for part, id in zip(parts, some(record_type.table, len(parts)), strict=True)
    }


def _in_order(parts: list[PackageRecord]) -> list[PackageRecord]:
    """Sorts parts so that references and owners come before the parts that refer to them, and automations come first,
    since bindings name them. Otherwise, and in circles, the order of the package is preserved."""
    parts = sorted(parts, key=lambda part: part.type not in AUTOMATION)
    by_uid = {part.uid: part for part in parts if part.uid}
    ordered: dict[PackageRecord, None] = {}
    begun: set[PackageRecord] = set()
    waiting = list(reversed(parts))
    while waiting:
        part = waiting[-1]
        if part in ordered:
            waiting.pop()
        elif part in begun:
            ordered[part] = None
            waiting.pop()
        else:
            begun.add(part)
            required = [by_uid[uid] for uid in sorted(uids_in(part.fields) | uids_in(part.stored)) if uid in by_uid]
            if part.parent is not None:
                required.append(part.parent)
            waiting += [each for each in required if each not in begun]
    return list(ordered)
