"""Reads stored records inside one transaction. Pages, endpoints, automations and jobs use it; writes use its subclass.

`retrieve` and `require` check the access of the caller. `record`, `find`, `label` and `search_ids`, for hooks and
jobs, do not: they read as the service."""

from dataclasses import replace
from typing import Any, Self

from server.access.actor import system
from server.access.rules import Rules
from server.context import Context, covers_search
from server.errors import NotFound
from server.fields import Intake
from server.record_types.record_type import Record, RecordType
from server.records import service_settings
from server.records.field_lookup import RecordLookup
from server.search.compile import SearchScope
from server.search.conditions import ALWAYS
from server.search.query_parser import parse
from server.search.select import search
from server.settings import BY_NAME
from server.store.transaction import Transaction
from server.translation import lazy_gettext

MAX_FOUND = 100_000


class RecordReader:
    """Implements record_types.parts.Reading: the reads of one operation inside one transaction."""

    def __init__(self, ctx: Context, tx: Transaction) -> None:
        self.ctx = ctx
        self.tx = tx
        self.now = ctx.now
        self.actor = ctx.actor
        self.registry = ctx.service.registry
        self.rules = Rules(self.registry, ctx.actor)
        self.lookup = RecordLookup(self.registry, tx, self.rules)

    def as_service(self) -> Self:
        """The same transaction with the service as actor."""
        return type(self)(replace(self.ctx, actor=system(self.actor.timezone)), self.tx)

    # -- as the caller ----------------------------------------------------------------------------------------------

    def retrieve(self, uri: str, id: int) -> Record:
        """Returns a record that the caller may read. Raises NotFound, Forbidden."""
        record_type = self.registry.type(uri)
        record = self._existing(record_type, id)
        self.rules.require(self.tx, "read", record_type, record)
        return record

    def may_read(self, uri: str, id: int) -> bool:
        return self.rules.may_read(self.tx, self.registry.type(uri), id)

    def require(self, operation: str, uri: str, id: int) -> None:
        record_type = self.registry.type(uri)
        self.rules.require(self.tx, operation, record_type, self._existing(record_type, id))

    def scope(self, everything: bool = False) -> SearchScope:
        """The scope of searches inside this transaction: the records that the caller may read, or everything."""
        readable = (lambda record_type: ALWAYS) if everything else self.rules.readable
        return SearchScope(
            self.registry,
            self.tx,
            self.actor.worker_id,
            self.now,
            self.ctx.tz,
            readable,
            covers=covers_search(None if everything else self.ctx.limit),
            language=self.actor.language,
        )

    def intake(self, values: dict[str, Any] | None = None) -> Intake:
        """The context in which fields read submitted values."""
        return Intake(self.now, self.ctx.tz, self.lookup, {} if values is None else values)

    # -- as the service ---------------------------------------------------------------------------------------------

    def record(self, uri: str, id: int) -> Record | None:
        record_type = self.registry.type(uri)
        row = self.tx.get(record_type.table, id)
        return record_type.record(row) if row else None

    def find(self, uri: str, **equals: Any) -> Record | None:
        record_type = self.registry.type(uri)
        row = self.tx.first(record_type.table, **equals)
        return record_type.record(row) if row else None

    def label(self, uri: str, id: int) -> str:
        record_type = self.registry.find(uri)
        if record_type is None:
            return "Helpdesk" if id == 0 else ""
        row = self.tx.get(record_type.table, id)
        return record_type.label(record_type.record(row)) if row else ""

    def search_ids(self, uri: str, query: str) -> list[int]:
        record_type = self.registry.type(uri)
        return search(record_type, parse(query), self.scope(everything=True)).ids(MAX_FOUND)

    def setting(self, name: str) -> Any:
        if name in BY_NAME:
            return getattr(self.ctx.service.settings, name)
        return service_settings.get(self.tx, name)

    def _existing(self, record_type: RecordType, id: int) -> Record:
        row = self.tx.get(record_type.table, id)
        if row is None:
            raise NotFound(
                lazy_gettext("there is no {type} {id}", type=record_type.uri, id=id), type=record_type.uri, id=id
            )
        return record_type.record(row)
