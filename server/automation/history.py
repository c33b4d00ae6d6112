"""Looks at what automations were before, and brings it back. Kept by automation/versions.py."""

from typing import Any

import peewee

from server.automation.versions import MAX_VERSIONS, TEXTS, VERSION
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound
from server.records import records
from server.store.statements import slot
from server.store.transaction import Transaction

DOING = "look at what automations were before"  # what administrators alone may

URI = "automation"
_WITHOUT_TEXTS = ("number", "at", "actor_context", "actor_id", "actor_name", "changed", "size")


@dataclass(frozen=True, slots=True)
class Version:
    """number: from 1, the highest is what the automation is now. at: Unix seconds when it was saved. actor_name: by
    whom, "" when that is not known. changed: the fields that differ from the version before. size: characters."""

    number: int
    at: int
    actor_context: str
    actor_id: int
    actor_name: str
    changed: tuple[str, ...]
    size: int


def list_versions(ctx: Context, id: int) -> list[Version]:
    """The versions of an automation, the newest first; [] of one that was never changed since they are kept.

    Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = VERSION.sql
    rows = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: (
                table.select(*(getattr(table, name) for name in _WITHOUT_TEXTS))
                .where(table.automation_id == slot(0))
                .order_by(table.number.desc())
                .limit(MAX_VERSIONS)
            ),
            (id,),
        )
    )
    return [_version(row) for row in rows]


def texts(ctx: Context, id: int, number: int) -> dict[str, str]:
    """The texts of a version by field. Raises AdminOnly, NotFound for one that is no longer kept."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(VERSION, automation_id=id, number=number))
    if row is None:
        raise NotFound(f"version {number} of automation {id} is not kept; the newest {MAX_VERSIONS} are")
    return {name: row[VERSION.position[name]] for name in TEXTS}


def restore(ctx: Context, id: int, number: int) -> int:
    """Give an automation the texts of a version, as a change like any other; the number of the newest version before.

    Raises AdminOnly, NotFound, Invalid for a script that can be saved no more, Conflict for a name that is taken."""
    fields = texts(ctx, id, number)
    before = ctx.service.store.read(lambda tx: newest(tx, id))
    records.update(ctx, URI, id, fields)
    return before


def newest(tx: Transaction, id: int) -> int:
    """The number of the newest version, 0 when none is kept."""
    table: Any = VERSION.sql
    return int(
        tx.value(
            lambda: table.select(peewee.fn.MAX(table.number)).where(table.automation_id == slot(0)),
            (id,),
        )
        or 0
    )


def _version(row: tuple[Any, ...]) -> Version:
    values = dict(zip(_WITHOUT_TEXTS, row, strict=True))
    return Version(**(values | {"changed": tuple(values["changed"].split())}))


def number(ctx: Context, id: int) -> int:
    """That of the version that runs, 0 for an automation that is still to be made. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: newest(tx, id))


def save(ctx: Context, id: int, based_on: str, fields: dict[str, str]) -> None:
    """Change an automation. based_on: the version that the change was begun from, "" to ask for none. Raises Conflict
    when somebody saved another one meanwhile."""

    def write(_: Transaction) -> None:
        [before] = records.stored(ctx, URI, [id]) or [{"version": based_on}]
        present = str(before["version"])
        if based_on not in ("", present):
            raise Conflict(
                f"Somebody saved version {present} while you worked at this. The history shows it; saving again "
                "replaces it.",
                version=present,
            )
        records.update(ctx, URI, id, fields)

    ctx.service.store.write(write)
