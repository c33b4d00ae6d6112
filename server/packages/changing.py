"""Updates the records of an earlier import: applies the changes of the package and preserves those of the users.

Three values decide about each field: what the last import sent and stored (baselines.py), what is stored now, and the
value in the package now. If both the users and the package changed a field, the importer's policy decides."""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.errors import Conflict
from server.packages.baselines import KEEP, REFUSE, TAKE, UNKNOWN, Baseline, digest, digests
from server.packages.package_document import Tree, at
from server.packages.shown_values import shown
from server.record_types.record_type import Record, RecordType
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

CHANGED, KEPT, OVERWRITTEN, CONFLICT = "changed", "kept", "overwritten", "conflict"
MAX_NAMED = 20  # fields in an error; a dry run names all


class _Undo(Exception):
    """Rolls back a part of the transaction."""


@dataclass
class Changes:
    """The changes that an update makes. updated: {context: {name of an entry: {id, label, changes}}}; a change is
    {field, state}, with `before` and `after` unless it is secret. kept: {context: {name: {id, label, fields}}} of the
    fields that only the users changed, or that the policy preserves. conflicts: the fields that both sides changed."""

    policy: str
    updated: dict[str, dict[str, Tree]] = field(default_factory=dict)
    kept: dict[str, dict[str, Tree]] = field(default_factory=dict)
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)

    @property
    def state_of_conflict(self) -> str:
        return {KEEP: KEPT, TAKE: OVERWRITTEN}.get(self.policy, CONFLICT)

    def record(self, context: str, name: str, id: int, label: str, changes: list[Tree]) -> None:
        """Records the changes of one entry; it counts as unchanged without any."""
        retained = [each["field"] for each in changes if each["state"] == KEPT]
        applied = [each for each in changes if each["state"] != KEPT]
        if retained:
            entry = self.kept.setdefault(context, {}).setdefault(name, {"id": id, "label": label, "fields": []})
            entry["fields"] += retained
        if applied:
            entry = self.updated.setdefault(context, {}).setdefault(name, {"id": id, "label": label, "changes": []})
            entry["changes"] += applied
        else:
            self.unchanged += 1

    def clash(self, where: str, name: str) -> None:
        """Records a field that both sides changed."""
        if self.policy == REFUSE:
            self.conflicts.append(f"{where}: {name}")

    def require_no_conflict(self) -> None:
        """Raises Conflict with the fields that both sides changed."""
        if not self.conflicts:
            return
        count = len(self.conflicts)
        more = f"; and {count - MAX_NAMED} more" if count > MAX_NAMED else ""
        raise Conflict(
            f"{count} field{'' if count == 1 else 's'} changed both here and in the package: "
            f"{'; '.join(self.conflicts[:MAX_NAMED])}{more}. Nothing was changed. Send conflicts=keep to keep the "
            f"values here, or conflicts=take to use the values of the package; dry_run=1 shows both",
            field="conflicts",
            conflicts=self.conflicts,
            more=[
                Conflict(f"{each} changed both here and in the package", field="conflicts") for each in self.conflicts
            ],
        )


def change(uri: str, name: str, state: str, before: Any, after: Any) -> Tree:
    """Returns a change of a field for the result, without secrets."""
    old, new = shown(uri, name, before), shown(uri, name, after)
    entry: Tree = {"field": name, "state": state}
    return entry if old is None or new is None else entry | {"before": old, "after": new}


class RecordUpdate:
    """One record of an earlier import, to be updated from the package.

    sent: {name: value} as in the records API. stored: {name: value} of columns that the API does not accept."""

    def __init__(
        self, writing: RecordWriter, record_type: RecordType, baseline: Baseline, sent: Tree, stored: Tree
    ) -> None:
        self._writing = writing
        self._type = record_type
        self._baseline = baseline
        self._sent, self._stored = sent, stored
        self._before: Record = writing.record(record_type.uri, baseline.id) or {}
        self._label = writing.label(record_type.uri, baseline.id)

    def run(self, changes: Changes, where: str, name: str) -> Baseline:
        """Changes the record. where: the place of the entry, for errors. name: the name of the entry. Returns its new
        baseline."""
        new = {
            each for each, value in (self._sent | self._stored).items() if not self._baseline.is_as_sent(each, value)
        }
        dropped = self._dropped()
        affected = {*new, *dropped}
        contested = {each for each in affected if self._is_changed_here(each)}
        with at(where):
            self._write(affected - contested, dropped)
            retained = self._contest(contested, dropped, changes.policy) if contested else set()
        after: Record = self._writing.record(self._type.uri, self._baseline.id) or {}
        field_changes = list(self._field_changes(affected, contested, retained, after, changes, where))
        changes.record(self._type.context, name, self._baseline.id, self._label, field_changes)
        return Baseline(
            self._type.context,
            self._baseline.id,
            digests(self._sent | self._stored),
            self._stored_digests(affected - retained, retained, after),
        )

    def _column(self, name: str) -> str:
        return self._type.alternatives.get(name, name)

    def _dropped(self) -> Tree:
        """Returns {name: initial value} of the fields that the package no longer sets."""
        initial = self._type.record([self._type.initial[each] for each in self._type.table.names])
        gone = [each for each in self._baseline.sent if each not in self._sent and each not in self._stored]
        fields = self._type.fields
        return {
            each: initial[self._column(each)]
            for each in gone
            if self._column(each) in initial and not getattr(fields.get(self._column(each)), "required", False)
        }

    def _is_changed_here(self, name: str) -> bool:
        column = self._column(name)
        return column in self._before and not self._baseline.is_as_stored(column, self._before[column])

    def _write(self, names: Iterable[str], dropped: Tree) -> None:
        chosen = set(names)
        sent = {name: value for name, value in self._sent.items() if name in chosen}
        stored = {name: value for name, value in self._stored.items() if name in chosen}
        stored |= {self._column(name): value for name, value in dropped.items() if name in chosen}
        if sent:
            self._writing.update_sent(self._type, self._baseline.id, sent)
        if stored:
            self._writing.update(self._type.uri, self._baseline.id, stored)

    def _contest(self, names: set[str], dropped: Tree, policy: str) -> set[str]:
        """Writes fields that the users changed as well, unless the policy preserves them. Returns the preserved
        names."""

        def attempt(tx: Transaction) -> None:
            self._write(names, dropped)
            if policy == KEEP:
                record = self._writing.record(self._type.uri, self._baseline.id) or {}
                raise _Undo({each for each in names if record[self._column(each)] != self._before[self._column(each)]})

        try:
            self._writing.tx.part(attempt)
        except _Undo as undone:
            retained: set[str] = undone.args[0]
            return retained
        return set()

    def _field_changes(
        self, affected: set[str], contested: set[str], retained: set[str], after: Record, changes: Changes, where: str
    ) -> Iterable[Tree]:
        uri = self._type.uri
        for name in sorted({*affected, *self._baseline.sent}):
            column = self._column(name)
            if column not in self._before:
                if name in affected:
                    yield change(uri, name, CHANGED, None, self._sent.get(name))
            elif name in retained or (name not in affected and self._is_changed_here(name)):
                yield {"field": name, "state": KEPT}
            elif self._before[column] != after[column]:
                is_clash = name in contested
                if is_clash:
                    changes.clash(where, name)
                state = changes.state_of_conflict if is_clash else CHANGED
                yield change(uri, name, state, self._before[column], after[column])

    def _stored_digests(self, written: set[str], retained: set[str], after: Record) -> dict[str, str]:
        """Returns the digests for the next update: new ones for fields that the package wrote, former ones for
        preserved fields."""
        columns = {self._column(name) for name in written}
        desk = {self._column(name) for name in retained}
        stored = {}
        for column, value in after.items():
            if column in desk:
                stored[column] = self._baseline.stored.get(column, UNKNOWN)
            elif column in columns or value != self._before[column] or column not in self._baseline.stored:
                stored[column] = digest(value)
            else:
                stored[column] = self._baseline.stored[column]
        return stored


def merge(
    changes: Changes,
    uri: str,
    where: str,
    baseline: Baseline,
    said: Tree,
    here: Tree,
    put: Callable[[str, Any], None],
) -> tuple[list[Tree], Baseline]:
    """Updates named values that are not fields, like RecordUpdate: entries of a text, settings.

    said: {name: value} in the package. here: {name: value} in the database. put: writes a value, None to remove it.
    Returns the changes and the new baseline."""
    field_changes, stored = [], dict(baseline.stored)
    for name in dict.fromkeys((*said, *baseline.sent)):
        value, present = said.get(name), here.get(name)
        is_desks = not baseline.is_as_stored(name, present)
        if baseline.is_as_sent(name, value):
            if is_desks:
                field_changes.append({"field": name, "state": KEPT})
            continue
        if present != value and is_desks:
            changes.clash(where, name)
            if changes.policy == KEEP:
                field_changes.append({"field": name, "state": KEPT})
                continue
            field_changes.append(change(uri, name, changes.state_of_conflict, present, value))
        elif present != value:
            field_changes.append(change(uri, name, CHANGED, present, value))
        if present != value:
            put(name, value)
        stored[name] = digest(value)
    return field_changes, Baseline(baseline.context, baseline.id, digests(said), {k: v for k, v in stored.items() if v})
