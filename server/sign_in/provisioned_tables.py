"""The ids and names of an identity provider for workers and groups, and the deletions that it requested."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Row, Transaction

PROVISIONED_USER = Table(
    "provisioned_user",
    [
        Column("worker_id", references="worker(id)"),
        Column("external_id", "TEXT"),
        Column("user_name", "TEXT"),
        Column("user_key", "TEXT"),
        Column("display_name", "TEXT"),
        Column("displayed_for", "TEXT"),
        Column("emails", "TEXT"),
        Column("created_at"),
        Column("is_removed"),
    ],
    [
        Index(("external_id",), "a user by the provider's id"),
        Index(("user_key",), "a user by a name that is not an address"),
    ],
    key=("worker_id",),
)  # user_name: "" if it is the address; user_key: the same in lower case. displayed_for: the full name to which
# display_name belongs. emails: JSON, [{value, type, primary}] as the provider wrote them
PROVISIONED_GROUP = Table(
    "provisioned_group",
    [Column("group_id"), Column("external_id", "TEXT"), Column("created_at"), Column("is_removed")],
    [Index(("external_id",), "a group by the provider's id")],
    key=("group_id",),
)


def removed_workers(tx: Transaction) -> set[int]:
    """Returns the deactivated workers whom a provider deleted; one who was reactivated is visible again."""
    worker, known = table_named("worker"), PROVISIONED_USER.sql
    rows = tx.rows(
        lambda: (
            known.select(known.worker_id)
            .join(worker, on=(worker.c.id == known.worker_id))
            .where(known.is_removed == 1, worker.c.is_disabled == 1)
        )
    )
    return {row[0] for row in rows}


def removed_groups(tx: Transaction) -> set[int]:
    """Returns the groups that a provider deleted: it does not see them any more."""
    return {row[0] for row in tx.find(PROVISIONED_GROUP, is_removed=1)}


def visible_ids(tx: Transaction, uri: str, among: Iterable[int] | None = None) -> list[int]:
    """Returns the ids of the workers or groups that a provider sees, in order. among: these only, None for all."""
    table: Any = table_named(uri).alias("its")
    if among is None:
        rows = tx.rows(lambda: table.select(table.c.id).order_by(table.c.id))
    else:
        rows = tx.rows(
            lambda: table.select(table.c.id).where(in_list(table.c.id, slot(0))).order_by(table.c.id),
            (id_list(among),),
        )
    removed = removed_workers(tx) if uri == "worker" else removed_groups(tx)
    return [row[0] for row in rows if row[0] not in removed]


def rows_of(tx: Transaction, table: Table, ids: Iterable[int]) -> list[Row]:
    """Returns the rows of a table of this module for these workers or groups."""
    sql: Any = table.sql
    return tx.rows(
        lambda: sql.select(*table.all_columns).where(in_list(getattr(sql, table.names[0]), slot(0))), (id_list(ids),)
    )


def id_list(ids: Iterable[int]) -> str:
    """Returns ids as JSON, for one slot of `in_list`."""
    return json.dumps(sorted(set(ids)))


def id_in_path(text: str) -> list[int]:
    """Returns the id in a text of a provider, [] for what cannot be one."""
    return [int(text)] if text.isascii() and text.isdecimal() and len(text) < 19 else []


def timestamp(at: int) -> str:
    """Returns a time in the format of RFC 7643, section 2.3.5."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
