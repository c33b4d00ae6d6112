"""Looks up records and types for fields that read submitted values. Results are cached for one operation.

A record that the caller may not read is treated as missing: a different error would reveal it."""

from server import contexts
from server.access.rules import Rules
from server.digits import id_in
from server.errors import NotFound
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.search.conditions import ALWAYS
from server.store.statements import slot
from server.store.transaction import Transaction


class RecordLookup:
    """Implements fields.base.Lookup over one transaction."""

    def __init__(self, registry: Registry, tx: Transaction, rules: Rules) -> None:
        self._registry = registry
        self._tx = tx
        self._rules = rules
        self._known: dict[tuple[str, int], bool] = {}

    def context(self, name: str) -> str | None:
        record_type = self._registry.find(name)
        return record_type.context if record_type else None

    def exists(self, target: str, id: int) -> bool:
        exists = self._known.get((target, id))
        if exists is None:
            exists = self._known[target, id] = self._exists(target, id)
        return exists

    def promise(self, record_type: RecordType, id: int) -> None:
        """Treats a record that this transaction is about to create as existing."""
        self._known[record_type.uri, id] = self._known[record_type.context, id] = True

    def _exists(self, target: str, id: int) -> bool:
        if target in ("app", contexts.APP):
            return id == 0
        record_type = self._registry.find(target)
        if record_type is None:
            return False
        if self._rules.readable(record_type) is not ALWAYS:
            return self._rules.may_read(self._tx, record_type, id)
        table = record_type.table.sql
        row_id = self._tx.value(lambda: table.select(table.id).where(table.id == slot(0)), (id,))
        return row_id is not None

    def reference(self, target: str, text: str) -> int | None:
        """Reads `svc:<type>:<id or lookup value>`; the type must be the target."""
        _, _, rest = text.partition(":")
        name, _, value = rest.partition(":")
        try:
            record_type = self._registry.type(name.lower())
        except NotFound:
            return None
        if record_type is not self._registry.find(target) or not value:
            return None
        id = id_in(value)
        if id is not None:
            return id if self.exists(record_type.uri, id) else None
        if not record_type.lookup:
            return None
        row = self._tx.first(record_type.table, **{record_type.lookup: value})
        return row[0] if row and self.exists(record_type.uri, row[0]) else None
