"""The record types that administrators create: builds a type from a row of custom_record.

They have the shape of assets. Each has its own table, created and dropped with the row."""

from typing import TYPE_CHECKING, Any

from server import contexts
from server.fields import CreatedAt, Name, UpdatedAt
from server.fields.link import APP
from server.record_types import traits
from server.record_types.asset import Asset, filters
from server.record_types.record_type import Access, Change, Record, RecordType, Writing
from server.record_types.shared import record_owners
from server.store import schema
from server.store.tables import Column

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.store.transaction import Transaction

VERSION = "types"  # version that rises with each change of custom types
CHANGED = "types"  # the channel that announces a change to other processes
OPTIONS = ("attachments", "avatars", "comments", "hide_search")
ALWAYS_ON = frozenset(("custom_fields", "links", "search", "watchers"))
OWNER_COLUMNS = (Column("owner__context", "TEXT"), Column("owner_id"))  # fields instead, if owners are allowed


class CustomType(Asset):
    """Records of a type that an administrator created."""

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
    """The full context of the type declared by this row."""
    return contexts.context_of(f"custom_record.{id}")


def record_type(row: Record) -> RecordType:
    """Builds the type declared by a custom_record."""
    params = row["params"] if isinstance(row["params"], dict) else {}
    owned_by = tuple(params.get("owners", {}).get("contexts", ()))
    options = frozenset(params.get("options", ()))
    name, plural, context = row["name"], row["name_plural"], context_of(row["id"])
    rules = ("privilege", "owner") if owned_by else ("privilege",)
    declared = {
        "__doc__": CustomType.__doc__,
        "uri": row["uri"],
        "context": context,
        "aliases": (f"contexts.custom_record.{row['id']}",),  # the name in other services of this family
        "label_names": (name, plural),
        "table_name": f"custom_record_{row['id']}",
        "traits": traits.named(ALWAYS_ON | (options & {"attachments", "avatars", "comments"})),
        "operations": {**Asset.operations, "search": "hide_search" not in options},
        "access": Access("owner" if owned_by else "any worker", rules),
        "fields": _fields(name, owned_by),
        "filters": filters(context),
        "columns": () if owned_by else OWNER_COLUMNS,
        "owner_contexts": owned_by,
    }
    built: RecordType = type("CustomType", (CustomType,), declared)()
    return built


def _fields(name: str, owned_by: tuple[str, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "created_at": CreatedAt(),
        "name": Name(f"Name of the {name.lower()}; also the label.", filter_note="Its name."),
        "updated_at": UpdatedAt(),
    }
    if owned_by:
        is_required = owned_by != (APP,)
        kinds = ", ".join(contexts.short_context(each) for each in owned_by)
        fields["owner__context"] = record_owners.context_field(
            f"Record type of the owner: {kinds}.", owned_by, required=is_required
        )
        fields["owner_id"] = record_owners.id_field(required=is_required, filter=None)
    return fields


def read(tx: "Transaction", registry: "Registry") -> list[RecordType]:
    """The types declared by the rows of custom_record, as seen by this transaction."""
    declaring = registry.type("custom_record")
    table = declaring.table
    rows = tx.rows(
        lambda: table.sql.select(*table.all_columns).order_by(table.sql.id),
    )
    return [record_type(declaring.record(row)) for row in rows]


def publish(tx: "Transaction", registry: "Registry") -> None:
    """Replaces the types in the registry once this transaction is committed, and announces the change."""
    types, statements = read(tx, registry), tx.store.statements
    tx.store.announce_after(tx, CHANGED)

    def at_commit() -> None:
        registry.replace_custom(types)
        statements.forget()

    tx.at_commit(at_commit)


def load(tx: "Transaction", registry: "Registry") -> bool:
    """Registers the types of the database at start. Returns whether one of their tables must be migrated."""
    types = read(tx, registry)
    registry.replace_custom(types)
    return schema.lacks(tx, [each.table for each in types])
