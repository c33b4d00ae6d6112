"""Names under the states of a ticket, such as "Waiting for supplier" under waiting, and the names by which they are
found.

A script that knows only the four states sees no difference: a name sets its state, and another state clears the
name."""

import re
from collections.abc import Mapping

from server.dataclass import dataclass
from server.errors import Invalid, nearest
from server.record_types.parts import Change, Reading, Record, Writing
from server.record_types.shared.relation_tables import TICKET_STATUS_NAME
from server.record_types.shared.tags import name_key
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status
from server.translation import about_field, lazy_gettext

VERSION = "ticket_statuses"
MAX_CHARS = 64  # of a name
MAX_OFFERED = 20  # names that an error lists
COLUMN = "status_name_id"
RUNS, PAUSED = CLOCKS = ("runs", "paused")  # what clocks of service targets do; "" for what they do in the state
_SPACES = re.compile(r"\s+")
_REFUSED = re.compile(r'[,:"\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class NamedStatus:
    """A name under a state. group_id: of the group that uses it, 0 for every group. clock: one of CLOCKS."""

    id: int
    name: str
    status_id: int
    group_id: int
    color: str
    position: int
    clock: str

    def is_used_by(self, group_id: int) -> bool:
        """Whether tickets of a group may get it."""
        return self.group_id in (0, group_id)


@dataclass(frozen=True, slots=True)
class StatusNames:
    """All names: by id, in order, and the ids by all current and former names, 0 for a deleted one."""

    by_id: Mapping[int, NamedStatus]
    by_key: Mapping[str, int]


# Saves a statement for each read of tickets that have a name.
_CACHE: VersionedLocal[StatusNames] = VersionedLocal()


def read(tx: Transaction) -> StatusNames:
    """Returns all names, cached until one changes."""
    version = tx.version(VERSION)
    names = None if tx.can_write else _CACHE.get(tx.store, version)
    if names is None:
        names = _read(tx)
        if not tx.can_write:  # a rollback would free this version number for other data
            _CACHE.set(tx.store, version, names)
    return names


def _read(tx: Transaction) -> StatusNames:
    table = table_named("ticket_status")
    names = ("id", "name", "status_id", "group_id", "color", "position", "clock")
    rows = tx.rows(lambda: table.select(*(getattr(table.c, name) for name in names)))
    listed = sorted((NamedStatus(*row) for row in rows), key=lambda each: (each.status_id, each.position, each.id))
    return StatusNames({each.id: each for each in listed}, dict(tx.find(TICKET_STATUS_NAME)))


def found(tx: Transaction, name: str) -> int | None:
    """Returns the id of the status with this name or former name, 0 for a deleted one, None for an unknown name."""
    return read(tx).by_key.get(name_key(name))


def shown(tx: Transaction, ticket: Record) -> str:
    """Returns the name of the ticket's status, "" if it has none."""
    named = read(tx).by_id.get(ticket[COLUMN]) if ticket[COLUMN] else None
    return named.name if named is not None else ""


def checked_name(text: str) -> str:
    """Returns a name with single spaces. Raises Invalid."""
    name = _SPACES.sub(" ", text).strip()
    is_state = any(name_key(name) in (word, word[0], str(number)) for number, word in enumerate(status.WORDS))
    if not name or _REFUSED.search(name) or is_state:
        problem = lazy_gettext(
            "'{value}' cannot be the name of a status: use no commas, colons and double quotes, and none of the words "
            "open, waiting, closed and deleted alone, nor their first letters",
            value=name[:MAX_CHARS],
        )
        raise Invalid(about_field("name", problem), field="name")
    return name


def named(tx: Transaction, name: str) -> NamedStatus | None:
    """Returns the status with this name or former name, None for a deleted one. Raises Invalid for an unknown name."""
    names = read(tx)
    id = names.by_key.get(name_key(name))
    if id is None:
        known = [each.name for each in names.by_id.values()]
        problem = lazy_gettext(
            "there is no status '{value}'{nearest}", value=name[:MAX_CHARS], nearest=nearest(name, known)
        )
        raise Invalid(about_field("status_name", problem), field="status_name")
    return names.by_id.get(id)


def require_state(named: NamedStatus, status_id: int) -> None:
    """Raises Invalid if a name belongs to another state."""
    if named.status_id != status_id:
        problem = lazy_gettext(
            "'{value}' is a name of {status}, not of {other}",
            value=named.name,
            status=status.WORDS[named.status_id],
            other=status.WORDS[status_id],
        )
        raise Invalid(about_field("status_name", problem), field="status_name")


def require_group(writing: Reading, named: NamedStatus, group_id: int) -> None:
    """Raises Invalid if a name belongs to another group."""
    if named.is_used_by(group_id):
        return
    offered = [each.name for each in read(writing.tx).by_id.values() if each.is_used_by(group_id)]
    problem = lazy_gettext(
        "'{value}' is a status of the group {group} alone; tickets of the group {other} have: {names}",
        value=named.name,
        group=writing.label("group", named.group_id),
        other=writing.label("group", group_id) if group_id else "-",
        names=", ".join([*offered[:MAX_OFFERED], *(["…"] if len(offered) > MAX_OFFERED else [])]) or "-",
    )
    raise Invalid(about_field("status_name", problem), field="status_name")


def apply(change: Change, writing: Writing) -> None:
    """Sets the state of a new name, or clears the name with a new state, or with a move to a group that does not use
    it, also if a program sends the name back as it was read. The service itself sets no name that the group does not
    use.

    Raises Invalid for an unknown name, and for one of another state or group than the submitted ones."""
    new, extras = change.new, change.extras
    if "status_name" in extras and COLUMN not in new:
        name = extras["status_name"]
        status_of_name = named(writing.tx, name) if name.strip() else None
        new[COLUMN] = status_of_name.id if status_of_name is not None else 0
    id = new.get(COLUMN)
    is_kept = not change.is_create and not change.changes(COLUMN)
    if is_kept and change.was(COLUMN) and (change.changes("status_id") or _leaves_group(change, writing)):
        new[COLUMN] = 0
    elif id:
        status_of_id = read(writing.tx).by_id.get(id)
        if status_of_id is None:  # deleted since the value was stored
            new[COLUMN] = 0
            return
        require_state(status_of_id, new.setdefault("status_id", status_of_id.status_id))
        group_id = change.value("group_id")
        if not change.sent and not status_of_id.is_used_by(group_id):
            new[COLUMN] = 0
        elif not is_kept:
            require_group(writing, status_of_id, group_id)


def _leaves_group(change: Change, writing: Writing) -> bool:
    """Whether a ticket is moved to a group that does not use its name."""
    named = read(writing.tx).by_id.get(change.was(COLUMN)) if change.changes("group_id") else None
    return named is not None and not named.is_used_by(change.value("group_id"))
