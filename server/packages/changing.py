"""Changes the records that an earlier import made: what the package changed since then, and nothing that the desk did.

Three values decide about each field: what the last import sent and stored (baselines.py), what is stored now, and what
the package says now. Where the desk and the package changed the same field, the importer's policy decides."""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.errors import Conflict
from server.packages.baselines import KEEP, REFUSE, TAKE, UNKNOWN, Baseline, digest, digests
from server.packages.document import Tree, at
from server.packages.shown_values import shown
from server.record_types.base import Record, RecordType
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

CHANGED, KEPT, OVERWRITTEN, CONFLICT = "changed", "kept", "overwritten", "conflict"
MAX_TOLD = 20  # fields that an error names; a dry run names all


class _Undo(Exception):
    """Undoes a part of the transaction whose changes are not wanted."""


@dataclass
class Changes:
    """What an update does to what is there. updated: {context: {name of an entry: {id, label, changes}}}; a change is
    {field, state} with `before` and `after` unless it is of a secret. kept: likewise of what only the desk changed, or
    what it keeps, each with `fields`. conflicts: the fields that both sides changed."""

    policy: str
    updated: dict[str, dict[str, Tree]] = field(default_factory=dict)
    kept: dict[str, dict[str, Tree]] = field(default_factory=dict)
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)

    @property
    def state_of_conflict(self) -> str:
        return {KEEP: KEPT, TAKE: OVERWRITTEN}.get(self.policy, CONFLICT)

    def tell(self, context: str, name: str, id: int, label: str, changes: list[Tree]) -> None:
        """Add what happened to one entry; none is no change."""
        kept = [each["field"] for each in changes if each["state"] == KEPT]
        made = [each for each in changes if each["state"] != KEPT]
        if kept:
            told = self.kept.setdefault(context, {}).setdefault(name, {"id": id, "label": label, "fields": []})
            told["fields"] += kept
        if made:
            told = self.updated.setdefault(context, {}).setdefault(name, {"id": id, "label": label, "changes": []})
            told["changes"] += made
        else:
            self.unchanged += 1

    def clash(self, where: str, name: str) -> None:
        """Note a field that both sides changed."""
        if self.policy == REFUSE:
            self.conflicts.append(f"{where}: {name}")

    def require_no_conflict(self) -> None:
        """Raises Conflict that names what both sides changed."""
        if not self.conflicts:
            return
        count = len(self.conflicts)
        more = f"; and {count - MAX_TOLD} more" if count > MAX_TOLD else ""
        raise Conflict(
            f"{count} field{'' if count == 1 else 's'} changed both here and in the package: "
            f"{'; '.join(self.conflicts[:MAX_TOLD])}{more}. Nothing was changed. Send conflicts=keep to keep what is "
            "here, or conflicts=take to take what the package says; dry_run=1 shows both",
            field="conflicts",
            conflicts=self.conflicts,
            more=[
                Conflict(f"{each} changed both here and in the package", field="conflicts") for each in self.conflicts
            ],
        )


def change(uri: str, name: str, state: str, before: Any, after: Any) -> Tree:
    """A change of a field as it is told. It shows no secret."""
    old, new = shown(uri, name, before), shown(uri, name, after)
    told: Tree = {"field": name, "state": state}
    return told if old is None or new is None else told | {"before": old, "after": new}


class RecordUpdate:
    """One record of an earlier import, about to become what the package says now.

    sent: {name: value} as the records API takes them. stored: {name: value} of columns that it does not take."""

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
        """Change the record. where: of the entry, for errors; name: of the entry. Returns its new baseline."""
        new = {
            each for each, value in (self._sent | self._stored).items() if not self._baseline.is_as_sent(each, value)
        }
        dropped = self._dropped()
        asked = {*new, *dropped}
        contested = {each for each in asked if self._is_changed_here(each)}
        with at(where):
            self._write(asked - contested, dropped)
            kept = self._contest(contested, dropped, changes.policy) if contested else set()
        after: Record = self._writing.record(self._type.uri, self._baseline.id) or {}
        told = list(self._told(asked, contested, kept, after, changes, where))
        changes.tell(self._type.context, name, self._baseline.id, self._label, told)
        return Baseline(
            self._type.context,
            self._baseline.id,
            digests(self._sent | self._stored),
            self._stored_digests(asked - kept, kept, after),
        )

    def _column(self, name: str) -> str:
        return self._type.alternatives.get(name, name)

    def _dropped(self) -> Tree:
        """{name: initial value} of what the package said before and says no longer."""
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
        """Write what the desk changed too, unless it keeps that. Returns the names that were kept."""

        def attempt(tx: Transaction) -> None:
            self._write(names, dropped)
            if policy == KEEP:
                found = self._writing.record(self._type.uri, self._baseline.id) or {}
                raise _Undo({each for each in names if found[self._column(each)] != self._before[self._column(each)]})

        try:
            self._writing.tx.part(attempt)
        except _Undo as undone:
            kept: set[str] = undone.args[0]
            return kept
        return set()

    def _told(
        self, asked: set[str], contested: set[str], kept: set[str], after: Record, changes: Changes, where: str
    ) -> Iterable[Tree]:
        uri = self._type.uri
        for name in sorted({*asked, *self._baseline.sent}):
            column = self._column(name)
            if column not in self._before:
                if name in asked:
                    yield change(uri, name, CHANGED, None, self._sent.get(name))
            elif name in kept or (name not in asked and self._is_changed_here(name)):
                yield {"field": name, "state": KEPT}
            elif self._before[column] != after[column]:
                is_clash = name in contested
                if is_clash:
                    changes.clash(where, name)
                state = changes.state_of_conflict if is_clash else CHANGED
                yield change(uri, name, state, self._before[column], after[column])

    def _stored_digests(self, written: set[str], kept: set[str], after: Record) -> dict[str, str]:
        """The digests for the next update: new ones of what the package wrote, former ones of what the desk keeps."""
        columns = {self._column(name) for name in written}
        desk = {self._column(name) for name in kept}
        found = {}
        for column, value in after.items():
            if column in desk:
                found[column] = self._baseline.stored.get(column, UNKNOWN)
            elif column in columns or value != self._before[column] or column not in self._baseline.stored:
                found[column] = digest(value)
            else:
                found[column] = self._baseline.stored[column]
        return found


def merge(
    changes: Changes,
    uri: str,
    where: str,
    baseline: Baseline,
    said: Tree,
    here: Tree,
    put: Callable[[str, Any], None],
) -> tuple[list[Tree], Baseline]:
    """As RecordUpdate, for named values that are no fields: entries of a text, settings.

    said: {name: value} of the package. here: {name: value} of the desk. put: writes a value, None to remove it. Returns
    the changes, and the digests of the new baseline."""
    told, stored = [], dict(baseline.stored)
    for name in dict.fromkeys((*said, *baseline.sent)):
        value, present = said.get(name), here.get(name)
        is_desks = not baseline.is_as_stored(name, present)
        if baseline.is_as_sent(name, value):
            if is_desks:
                told.append({"field": name, "state": KEPT})
            continue
        if present != value and is_desks:
            changes.clash(where, name)
            if changes.policy == KEEP:
                told.append({"field": name, "state": KEPT})
                continue
            told.append(change(uri, name, changes.state_of_conflict, present, value))
        elif present != value:
            told.append(change(uri, name, CHANGED, present, value))
        if present != value:
            put(name, value)
        stored[name] = digest(value)
    return told, Baseline(baseline.context, baseline.id, digests(said), {k: v for k, v in stored.items() if v})
