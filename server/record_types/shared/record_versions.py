"""Stores and lists versions of records: the texts of each save with author and time, up to a limit.

The newest version equals the record. Each type has a table of its own."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import peewee

from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.record_types.parts import Change, Writing

MAX_VERSIONS = 50  # per record, including the current one; the oldest are deleted first
MAX_VERSION_CHARS = 32 * 1024 * 1024  # per record, not counting the newest two


def version_table(name: str, owner: Column, texts: Sequence[str], about: str) -> Table:
    """Returns a table of versions. owner: the column with the id of the record. texts: the fields of a version. about:
    what its index is for.

    at: time of the save. actor_*: the author, blank if unknown. changed: the fields that differ from the previous
    version, separated by blanks. size: characters of all fields."""
    return Table(
        name,
        [
            owner,
            Column("number"),
            Column("at"),
            Column("actor_context", "TEXT"),
            Column("actor_id"),
            Column("actor_name", "TEXT"),
            Column("changed", "TEXT"),
            Column("size"),
            *(Column(each, "TEXT") for each in texts),
        ],
        [Index((owner.name, "number"), about, unique=True)],
    )


def store_version(
    versions: Table,
    change: "Change",
    writing: "Writing",
    number: int,
    changed: Sequence[str],
    texts: Callable[[Callable[[str], Any]], dict[str, str]],
    since: int | None = None,
) -> None:
    """Stores a change as a version, in the same transaction, and deletes the oldest versions.

    changed: the fields that differ from the previous version. texts: returns the texts of a version by a function that
    reads a column. since: when the record was changed before, if it has no version yet, which becomes one as well."""
    if since is not None:
        _add(versions, writing.tx, change.id, number - 1, since, ("", 0, ""), "", texts(change.was))
    actor = writing.actor
    who = (actor.context, actor.id, writing.label(actor.context, actor.id))
    _add(versions, writing.tx, change.id, number, writing.now, who, " ".join(changed), texts(change.value))
    if number > 1:
        _forget_oldest(versions, _owner(versions), writing.tx, change.id)


def newest_number(versions: Table, tx: Transaction, id: int) -> int:
    """Returns the number of the newest version of a record, 0 if none is stored."""
    return _newest(versions, _owner(versions), tx, id)


def list_rows(versions: Table, names: tuple[str, ...], tx: Transaction, id: int) -> list[dict[str, Any]]:
    """Returns columns of the versions of a record, newest first, with `changed` as a tuple."""
    rows = _rows(versions, _owner(versions), names, tx, id)
    return [{**values, "changed": tuple(values["changed"].split())} for values in rows]


def _owner(versions: Table) -> str:
    """The name of the column with the id of the record."""
    return versions.indexes[0].columns[0]


def _newest(versions: Table, owner: str, tx: Transaction, id: int) -> int:
    table: Any = versions.sql
    newest = tx.value(lambda: table.select(peewee.fn.MAX(table.number)).where(getattr(table, owner) == slot(0)), (id,))
    return int(newest or 0)


def _rows(versions: Table, owner: str, names: tuple[str, ...], tx: Transaction, id: int) -> list[dict[str, Any]]:
    table: Any = versions.sql
    rows = tx.rows(
        lambda: (
            table.select(*(getattr(table, name) for name in names))
            .where(getattr(table, owner) == slot(0))
            .order_by(table.number.desc())
            .limit(slot(1))
        ),
        (id, MAX_VERSIONS),
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def _add(
    versions: Table,
    tx: Transaction,
    id: int,
    number: int,
    at: int,
    who: tuple[str, int, str],
    changed: str,
    texts: dict[str, str],
) -> None:
    values = {"number": number, "at": at, "changed": changed, "size": sum(map(len, texts.values()))}
    author = {"actor_context": who[0], "actor_id": who[1], "actor_name": who[2]}
    tx.insert(versions, {_owner(versions): id, **values, **author, **texts})


def _forget_oldest(versions: Table, owner: str, tx: Transaction, id: int) -> None:
    """Deletes the versions beyond the limits."""
    table: Any = versions.sql
    sizes = tx.rows(
        lambda: (
            table.select(table.id, table.size).where(getattr(table, owner) == slot(0)).order_by(table.number.desc())
        ),
        (id,),
    )
    old, chars = [], 0
    for place, (version, size) in enumerate(sizes):
        chars += size if place > 1 else 0
        if place >= MAX_VERSIONS or chars > MAX_VERSION_CHARS:
            old.append((version,))
    tx.run_many(lambda: table.delete().where(table.id == slot(0)), old)
