"""Lists earlier versions of automations and restores them. versions.py stores them."""

from typing import Any

import peewee

from server.automation.versions import MAX_VERSIONS, TEXTS, VERSION
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound
from server.records import records
from server.store.statements import slot
from server.store.transaction import Transaction

DOING = "look at what automations were before"  # completes the message of AdminOnly

URI = "automation"
_WITHOUT_TEXTS = ("number", "at", "actor_context", "actor_id", "actor_name", "changed", "size")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an automation. number: from 1; the highest is the current one. at: Unix seconds of the save.
    actor_name: "" if unknown. changed: the fields that differ from the previous version. size: in characters."""

    number: int
    at: int
    actor_context: str
    actor_id: int
    actor_name: str
    changed: tuple[str, ...]
    size: int


def list_versions(ctx: Context, id: int) -> list[Version]:
    """Returns the versions of an automation, newest first; [] if it has not changed since versions are stored.

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
    """Returns the texts of a version by field. Raises AdminOnly, NotFound if the version is no longer stored."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(VERSION, automation_id=id, number=number))
    if row is None:
        raise NotFound(
            f"version {number} of automation {id} no longer exists; only the newest {MAX_VERSIONS} are stored"
        )
    return {name: row[VERSION.position[name]] for name in TEXTS}


def restore(ctx: Context, id: int, number: int) -> int:
    """Restores the texts of a version as an ordinary change; returns the number of the version that was current before.

    Raises AdminOnly, NotFound, Invalid if the script is no longer valid, Conflict if its name is in use."""
    fields = texts(ctx, id, number)
    before = ctx.service.store.read(lambda tx: newest(tx, id))
    records.update(ctx, URI, id, fields)
    return before


def newest(tx: Transaction, id: int) -> int:
    """Returns the number of the newest version, 0 if none is stored."""
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
    """Returns the number of the current version, 0 for an automation that is not created yet. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: newest(tx, id))


def save(ctx: Context, id: int, based_on: str, fields: dict[str, str]) -> None:
    """Saves an automation. based_on: the version that was edited, "" to skip the check. Raises Conflict if another
    version has been saved since."""

    def write(_: Transaction) -> None:
        [before] = records.stored(ctx, URI, [id]) or [{"version": based_on}]
        present = str(before["version"])
        if based_on not in ("", present):
            raise Conflict(
                f"Somebody saved version {present} while you were editing. You can see it in the history; saving "
                f"again replaces it.",
                version=present,
            )
        records.update(ctx, URI, id, fields)

    ctx.service.store.write(write)
