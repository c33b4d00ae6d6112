"""Lists earlier versions of automations and restores them. versions.py stores them."""

from collections.abc import Mapping
from typing import Any

from server.automation.versions import FORM, TEXTS, VERSION
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, KataSyntax, NotFound
from server.kata import parse
from server.record_types.shared.record_versions import MAX_VERSIONS, list_rows, newest_number
from server.records import records
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
    rows = ctx.service.store.read(lambda tx: list_rows(VERSION, _WITHOUT_TEXTS, tx, id))
    return [Version(**values) for values in rows]


def texts(ctx: Context, id: int, number: int) -> dict[str, str]:
    """Returns the texts of a version by field, with the form that it was built by.

    Raises AdminOnly, NotFound if the version is no longer stored."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(VERSION, automation_id=id, number=number))
    if row is None:
        raise NotFound(
            f"version {number} of automation {id} no longer exists; only the newest {MAX_VERSIONS} are stored"
        )
    form = row[VERSION.position[FORM]]
    more = {FORM: form} if form not in ("", "{}") else {}
    return {name: row[VERSION.position[name]] for name in TEXTS} | more


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """A version, and how it differs from another. lines: of its script; marked: the line of a command, from 1, 0 for
    none. differing: {field: (old text, new text)}; nothing unless it is_compared. older: the number of the version
    before, 0 for none."""

    lines: list[str]
    marked: int
    differing: dict[str, tuple[str, str]]
    is_compared: bool
    older: int


def compare(
    ctx: Context, automation: Mapping[str, Any], number: int, *, is_with_now: bool, node: str = ""
) -> VersionComparison:
    """Compares a version of an automation with the one before, or with the present texts. node: the path of a command
    in it: its line is marked, and nothing is compared. Raises AdminOnly, NotFound."""
    id = automation["id"]
    version = texts(ctx, id, number)
    older = next((each.number for each in list_versions(ctx, id) if each.number < number), 0)
    is_compared = not node and bool(older or is_with_now)  # the first version has nothing to be compared with
    before: Mapping[str, Any] = version if is_with_now else texts(ctx, id, older) if older else {}
    after: Mapping[str, Any] = automation if is_with_now else version
    differing = {
        name: (str(before.get(name, "")), str(after[name]))
        for name in TEXTS
        if is_compared and before.get(name, "") != after[name]
    }
    script = version["script"]
    return VersionComparison(script.split("\n"), _line(script, node), differing, is_compared, older)


def _line(script: str, node: str) -> int:
    """The line of a command, from 1; 0 if it is not found."""
    try:
        return parse(script).lines.get(node, -1) + 1 if node else 0
    except KataSyntax:
        return 0


def restore(ctx: Context, id: int, number: int) -> int:
    """Restores the texts of a version as an ordinary change; returns the number of the version that was current before.

    Raises AdminOnly, NotFound, Invalid if the script is no longer valid, Conflict if its name is in use."""
    fields = texts(ctx, id, number)
    before = ctx.service.store.read(lambda tx: newest_number(VERSION, tx, id))
    records.update(ctx, URI, id, fields)
    return before


def number(ctx: Context, id: int) -> int:
    """Returns the number of the current version, 0 for an automation that is not created yet. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: newest_number(VERSION, tx, id))


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
