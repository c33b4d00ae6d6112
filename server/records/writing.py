"""Creates, changes and deletes records. REST, mail, hooks and the command line all write through this module.

Each operation runs inside one write transaction: it reads and checks values, runs hooks, writes the row and the data
of the type's traits, and updates the full-text index. The methods for hooks do not check access; access/rules.py
does."""

from typing import Any

from server.context import Context
from server.record_types import traits
from server.record_types.record_type import Change, Record, RecordType
from server.record_types.shared import checks, deletions
from server.record_types.shared.relation_tables import REMAINS
from server.record_types.traits.links import UNLINKED
from server.records import activity, administrative_acts, changes, event_publishing, sent_values
from server.records.reading import RecordReader
from server.store import fulltext
from server.store.transaction import Transaction

# Messages, comments and files deleted with a record in one transaction; deferred_deletion.py deletes the rest.
PORTION = 50


class RecordWriter(RecordReader):
    """Implements record_types.parts.Writing: the writes of one operation inside one transaction."""

    is_confirmed = False

    def __init__(self, ctx: Context, tx: Transaction) -> None:
        super().__init__(ctx, tx)
        self.shown_once: dict[str, Any] = {}  # secrets that only the response to this operation contains
        self.silent: set[str] = set()  # activity points whose entries notify no one, since another one will

    # -- with submitted values --------------------------------------------------------------------------------------

    def create_sent(self, record_type: RecordType, fields: dict[str, Any], reserved_id: int = 0) -> int:
        """Creates a record from submitted values as the caller; returns its id. reserved_id: from Transaction.reserve,
        0 for the next id. Raises Forbidden, Invalid, Conflict."""
        self.rules.require_create(record_type)
        change = sent_values.read(self, record_type, None, fields)
        if reserved_id:
            change.new["id"] = reserved_id
        record_type.privileged(change, self)
        self._prepare(change)
        sent_values.require_finished(change)
        if not self.actor.is_admin:
            self.rules.require(self.tx, "create", record_type, self._after(change))
        id = self._write(change)
        self.rules.require_own(self.tx, record_type, id)
        if "create" in record_type.acts:
            administrative_acts.log_created(self, change)
        return id

    def update_sent(self, record_type: RecordType, id: int, fields: dict[str, Any]) -> None:
        """Updates a record from submitted values as the caller. Raises NotFound, Forbidden, Invalid, Conflict."""
        record = self._existing(record_type, id)
        self.rules.require(self.tx, "read", record_type, record)
        self.rules.require(self.tx, "update", record_type, record)
        change = sent_values.read(self, record_type, record, fields)
        self.rules.require_same_person(change)
        record_type.privileged(change, self)
        self._prepare(change)
        if not self.actor.is_admin:
            self.rules.require(self.tx, "update", record_type, self._after(change))
        if "update" in record_type.acts:
            self._write(change)
            administrative_acts.log_changed(self, change, change.also_changed)
        else:
            self._write(change)

    def delete_sent(self, record_type: RecordType, id: int, *, is_confirmed: bool = False) -> None:
        """Deletes a record as the caller. Raises NotFound, Forbidden, Conflict."""
        self.is_confirmed = is_confirmed
        record = self._existing(record_type, id)
        self.rules.require(self.tx, "read", record_type, record)
        self.rules.require(self.tx, "delete", record_type, record)
        label = self.label(record_type.uri, id)
        if record_type.operations["delete"] == "soft":
            record_type.check_delete(record, self)
            record_type.after_delete(record, self)
        else:
            self._remove(record_type, record)
        if "delete" in record_type.acts:
            administrative_acts.log_deleted(self, record_type, record)
        else:
            activity.log_deleted(self, record_type, id, label)

    # -- for hooks: by stored values --------------------------------------------------------------------------------

    def create(self, uri: str, values: dict[str, Any], reserved_id: int = 0) -> int:
        record_type = self.registry.type(uri)
        change = self._stored_change(record_type, None, values)
        if reserved_id:
            change.new["id"] = reserved_id
        self._prepare(change)
        sent_values.require_finished(change)
        id = self._write(change)
        if "owner_id" in record_type.initial:
            self.rules.require_own(self.tx, record_type, id)
        return id

    def update(self, uri: str, id: int, values: dict[str, Any]) -> None:
        record_type = self.registry.type(uri)
        change = self._stored_change(record_type, self._existing(record_type, id), values)
        self._prepare(change)
        self._write(change)

    def set(self, uri: str, id: int, values: dict[str, Any]) -> None:
        record_type = self.registry.type(uri)
        self.tx.set(record_type.table, id, record_type.row_values(values))
        changes.log_change(self, "updated", record_type, id)

    def touch(self, uri: str, **equals: Any) -> None:
        record_type = self.registry.type(uri)
        if equals.keys() == {"id"}:
            changes.log_change(self, "updated", record_type, equals["id"])
        else:
            changes.log_all_updated(self, record_type, equals)

    def delete(self, uri: str, id: int) -> None:
        record_type = self.registry.type(uri)
        self._remove(record_type, self._existing(record_type, id))

    def log(
        self,
        point: str,
        context: str,
        id: int,
        variables: dict[str, str],
        also_notify: tuple[int, ...] = (),
        about: tuple[str, int] = ("", 0),
        urls: dict[str, str] | None = None,
    ) -> None:
        activity.log(self, point, context, id, variables, urls, also_notify, about)

    def notify(
        self, worker_id: int, point: str, message: str, context: str, id: int, variables: dict[str, str]
    ) -> None:
        activity.notify_reader(self, worker_id, point, message, context, id, variables)

    def texts_changed(self, uri: str, id: int) -> None:
        record_type = self.registry.type(uri)
        record = self.record(uri, id)
        if record is not None and record_type.text is not None:
            fulltext.index(self.tx, record_type.text, id, record_type.texts(record, self))

    def wake(self) -> None:
        self.ctx.service.wake_after(self.tx)

    def run_automations(self, job: str, values: dict[str, Any]) -> None:
        if not (self.ctx.is_quiet or self.ctx.is_untold):
            event_publishing.add_job(self, job, values | {"worker_id": self.actor.worker_id})

    # -- steps ------------------------------------------------------------------------------------------------------

    def _prepare(self, change: Change) -> None:
        """Assigns the owner of limited actors, checks texts that upper layers understand, and runs the type's hook."""
        self.rules.claim(change)
        checks.require(change)
        automations = self.ctx.service.automations
        if automations is not None:
            for field, trigger in change.type.bound.items():
                automations.require_runnable(change, self, trigger, field)
        change.type.prepare(change, self)

    def _stored_change(self, record_type: RecordType, old: Record | None, values: dict[str, Any]) -> Change:
        new = {name: value for name, value in values.items() if name in record_type.initial}
        extras = {name: value for name, value in values.items() if name not in new}
        change = Change(record_type, old["id"] if old else 0, old, new, extras, frozenset())
        sent_values.stamp(change, self.now)
        return change

    def _after(self, change: Change) -> Record:
        base = change.old if change.old is not None else change.type.initial
        return {**base, **change.new, "id": change.id}

    def _write(self, change: Change) -> int:
        record_type, tx = change.type, self.tx
        is_create = change.is_create
        was = event_publishing.before(self, record_type, change.old)
        differing: dict[str, Any] = {}
        if is_create:
            values = record_type.row_values(change.new)
            change.id = tx.insert(record_type.table, values)
            tx.keep_added(record_type.table, change.id, values)
            tx.memo[UNLINKED, record_type.context, change.id] = True
            changes.log_change(self, "created", record_type, change.id)
        else:
            differing = {name: value for name, value in change.new.items() if change.changes(name)}
            tx.set(record_type.table, change.id, record_type.row_values(differing))
        for trait in record_type.traits if change.extras else ():
            trait.write(change, self)
        if event_publishing.is_change(change, differing):
            changes.log_change(self, "updated", record_type, change.id, is_stamped=True)
            event_publishing.changed(self, "created" if is_create else "updated", record_type, change.id, was)
        record_type.after_write(change, self)
        if record_type.wakes(change):
            self.wake()
        self.shown_once |= change.extras.get("shown_once", {})
        if record_type.text is not None and self._needs_words(change):
            fulltext.index(tx, record_type.text, change.id, record_type.texts(self._after(change), self))
        return change.id

    @staticmethod
    def _needs_words(change: Change) -> bool:
        """Whether the full-text index of the record changes."""
        columns = change.type.text_of
        return change.is_create or not columns or any(map(change.changes, columns))

    def _remove(self, record_type: RecordType, record: Record) -> None:
        """Deletes a record and its data. If it has many messages, comments and files, deferred deletion removes the
        rest."""
        tx, id, context = self.tx, record["id"], record_type.context
        record_type.check_delete(record, self)
        was = event_publishing.before(self, record_type, record)
        for trait in record_type.traits:
            trait.remove(record_type, record, self)
        if record_type.text is not None:
            fulltext.remove(tx, record_type.text, id)
        tx.delete(record_type.table, id=id)
        changes.log_deleted(self, record_type, record)
        if self.clear(context, id):
            tx.add(REMAINS, {"context": context, "record_id": id})
            self.wake()
        record_type.after_delete(record, self)
        deletions.run_functions(self, record_type.uri, id)
        event_publishing.changed(self, "deleted", record_type, id, was)

    def clear(self, context: str, id: int) -> bool:
        """Deletes PORTION comments, messages and files of a deleted record, since other writes wait. Returns whether
        more may remain."""
        room = PORTION
        owner = self.registry.find(context)
        for uri, column in owner.takes_along if owner is not None else ():
            rows = self.tx.some(self.registry.type(uri).table, room, **{column: id})
            for row in rows:
                self.delete(uri, row[0])
            room -= len(rows)
        for trait in traits.ALL:  # all traits: the type may be deleted, or may have had others
            room -= trait.clear(context, id, room, self)
        return room == 0
