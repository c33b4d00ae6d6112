"""The record types that administrators make: what a row of custom_record declares, as a type beside the built-in ones.

They have the shape of assets. Each has a table of its own, which comes and goes with the row."""

from typing import TYPE_CHECKING, Any

from server import contexts
from server.fields import CreatedAt, Name, UpdatedAt
from server.fields.link import APP
from server.record_types.asset import Asset, filters
from server.record_types.base import Access, Change, Record, RecordType, Writing
from server.record_types.shared import owners
from server.store import schema
from server.store.tables import Column

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.store.transaction import Transaction

VERSION = "types"  # rises with each change of them
CHANGED = "types"  # what other processes are told then
OPTIONS = ("attachments", "avatars", "comments", "hide_search")
ALWAYS_ON = frozenset(("custom_fields", "links", "search", "watchers"))
OWNER_COLUMNS = (Column("owner__context", "TEXT"), Column("owner_id"))  # fields, where records can be owned


class CustomType(Asset):
    """Records of a type that an administrator made."""

    uri = ""
    owner_contexts: tuple[str, ...] = ()

    def privileged(self, change: Change, writing: Writing) -> None:
        if self.owner_contexts:
            super().privileged(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.is_create and self.owner_contexts == (APP,):
            change.new.setdefault("owner__context", APP)
        super().prepare(change, writing)


def context_of(id: int) -> str:
    """The full context of the type that this row declares."""
    return contexts.context_of(f"custom_record.{id}")


def record_type(row: Record) -> RecordType:
    """The type that a custom_record declares."""
    params = row["params"] if isinstance(row["params"], dict) else {}
    owned_by = tuple(params.get("owners", {}).get("contexts", ()))
    options = frozenset(params.get("options", ()))
    name, plural, context = row["name"], row["name_plural"], context_of(row["id"])
    rules = ("privilege", "owner") if owned_by else ("privilege",)
    declared = {
        "__doc__": CustomType.__doc__,
        "uri": row["uri"],
        "context": context,
        "aliases": (f"contexts.custom_record.{row['id']}",),  # as other services of this family call it
        "label_names": (name, plural),
        "table_name": f"custom_record_{row['id']}",
        "features": ALWAYS_ON | (options & {"attachments", "avatars", "comments"}),
        "operations": {**Asset.operations, "search": "hide_search" not in options},
        "access": Access("owner" if owned_by else "any worker", rules),
        "fields": _fields(name, owned_by),
        "filters": filters(context),
        "columns": () if owned_by else OWNER_COLUMNS,
        "owner_contexts": owned_by,
    }
    made: RecordType = type("CustomType", (CustomType,), declared)()
    return made


def _fields(name: str, owned_by: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "created_at": CreatedAt(),
        "name": Name(f"What the {name.lower()} is called; also the label.", filter_note="What it is called."),
        "updated_at": UpdatedAt(),
    }
    if owned_by:
        is_required = owned_by != (APP,)
        kinds = ", ".join(contexts.short_context(each) for each in owned_by)
        found["owner__context"] = owners.context_field(
            f"Record type of the owner: {kinds}.", owned_by, required=is_required
        )
        found["owner_id"] = owners.id_field(required=is_required, filter=None)
    return found


def read(tx: "Transaction", registry: "Registry") -> list[RecordType]:
    """The types that the rows of custom_record declare, as this transaction sees them."""
    declaring = registry.type("custom_record")
    table = declaring.table
    rows = tx.rows(
        lambda: table.sql.select(*table.all_columns).order_by(table.sql.id),
    )
    return [record_type(declaring.record(row)) for row in rows]


def publish(tx: "Transaction", registry: "Registry") -> None:
    """Let everybody see the types as they are, once this transaction is on disk."""
    types, statements = read(tx, registry), tx.store.statements
    tx.store.announce_after(tx, CHANGED)

    def at_commit() -> None:
        registry.replace_custom(types)
        statements.forget()

    tx.at_commit(at_commit)


def load(tx: "Transaction", registry: "Registry") -> bool:
    """At start: register what the file declares. Tells whether a table of theirs must be brought up to date."""
    types = read(tx, registry)
    registry.replace_custom(types)
    return schema.lacks(tx, [each.table for each in types])
