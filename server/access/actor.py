"""Who acts, with what the database says about them right now: administrator, groups, roles, privileges.

An actor is read anew whenever something it rests on has changed, in this process or another; see `version`."""

import json
from dataclasses import replace

from server.contexts import APP, WORKER
from server.dataclass import dataclass
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction

EVERY_PRIVILEGE = frozenset(("*",))


@dataclass(frozen=True, slots=True)
class Actor:
    """A worker, or the service itself. acts_for: whom the service lends its own rights, since they may do just this;
    None where nobody asked. own_only: whether they reach no records but their own, as an app that may do no more.

    privileges: privilege ids, with "*" for all that a role can grant. reads_groups: the groups whose tickets may be
    read, None for all."""

    context: str
    id: int
    is_admin: bool
    timezone: str
    name: str = ""
    language: str = ""
    address_id: int = 0
    privileges: frozenset[str] = frozenset()
    member_of: frozenset[int] = frozenset()
    manages: frozenset[int] = frozenset()
    reads_groups: frozenset[int] | None = None
    roles: frozenset[int] = frozenset()
    reads_roles: frozenset[int] = frozenset()
    acts_for: "Actor | None" = None
    own_only: bool = False

    @property
    def worker_id(self) -> int:
        """The worker's id, 0 for the service."""
        return self.id if self.context == WORKER else 0

    @property
    def author(self) -> "Actor":
        """Whose doing it is, as the activity log tells it."""
        return self.acts_for or self

    @property
    def reading(self) -> tuple[int, bool, frozenset[int] | None, frozenset[int], bool]:
        """What decides what may be read, as far as it is the actor's."""
        return self.worker_id, self.is_admin, self.reads_groups, self.reads_roles, self.own_only

    def may(self, privilege: str) -> bool:
        """Whether a role grants this privilege; administrators have all."""
        return self.is_admin or "*" in self.privileges or privilege in self.privileges


def system(timezone: str = "UTC") -> Actor:
    """The service itself: jobs, first start."""
    return Actor(APP, 0, True, timezone, "Helpdesk")


def command_line() -> Actor:
    """Whoever runs commands on the data folder: they may do what the service may."""
    return Actor(APP, 0, True, "UTC", "Command line")


def lent(author: Actor) -> Actor:
    """The service itself, in the name of somebody who may do just this, whatever else they may."""
    return replace(system(author.timezone or "UTC"), acts_for=author.author)


def kept_to_own(actor: Actor) -> Actor:
    """The same worker, who reaches no records but their own and administrates nothing."""
    privileges = EVERY_PRIVILEGE if actor.is_admin else actor.privileges
    return replace(actor, is_admin=False, privileges=privileges, own_only=True)


def version(tx: Transaction) -> int:
    """Rises with every change of workers, groups, rosters, roles, apps and tokens, whoever makes it."""
    return tx.version("access")


ACTORS: VersionedLocal[dict[int, Actor | None]] = VersionedLocal()


def worker(tx: Transaction, id: int) -> Actor | None:
    """The actor of a worker; None when there is no such worker, or a disabled one."""
    now = version(tx)
    actors = ACTORS.get(tx.store, now)
    if actors is None:
        actors = {}
        if not tx.can_write:
            ACTORS.set(tx.store, now, actors)
    if id in actors:
        return actors[id]
    found = _read(tx, id)
    if not tx.can_write:  # what a write sees may yet be undone
        actors[id] = found
    return found


_NAMES = ("is_superuser", "is_disabled", "timezone", "first_name", "last_name", "language", "email_id")


def _read(tx: Transaction, id: int) -> Actor | None:
    table = table_named("worker")
    row = tx.row(
        lambda: table.select(*(getattr(table.c, name) for name in _NAMES)).where(table.c.id == slot(0)),
        (id,),
    )
    if row is None or row[1]:
        return None
    is_admin, _, timezone, first, last, language, address_id = row
    rosters = _rosters(tx, id)
    roles = _roles(tx, id)
    return Actor(
        WORKER,
        id,
        bool(is_admin),
        timezone or "UTC",
        f"{first} {last}".strip(),
        language,
        address_id,
        _privileges(tx, roles.get("member", frozenset())),
        frozenset(rosters),
        frozenset(group for group, manager in rosters.items() if manager),
        None if is_admin else _readable_groups(tx, frozenset(rosters)),
        roles.get("member", frozenset()),
        roles.get("reader", frozenset()),
    )


def _rosters(tx: Transaction, id: int) -> dict[int, bool]:
    table = table_named("group_member")
    rows = tx.rows(
        lambda: table.select(table.c.group_id, table.c.is_manager).where(table.c.worker_id == slot(0)),
        (id,),
    )
    return {group: bool(manager) for group, manager in rows}


def _roles(tx: Transaction, id: int) -> dict[str, frozenset[int]]:
    table = table_named("role_worker")
    rows = tx.rows(
        lambda: table.select(table.c.part, table.c.role_id).where(table.c.worker_id == slot(0)),
        (id,),
    )
    return {part: frozenset(role for each, role in rows if each == part) for part in {row[0] for row in rows}}


def _privileges(tx: Transaction, roles: frozenset[int]) -> frozenset[str]:
    if not roles:
        return frozenset()
    table = table_named("role")
    rows = tx.rows(lambda: table.select(table.c.id, table.c.privs_mode, table.c.privs))
    granted: set[str] = set()
    for id, mode, privileges in rows:
        if id in roles and mode == "all":
            granted.add("*")
        elif id in roles and mode == "itemized":
            granted |= set(json.loads(privileges))
    return frozenset(granted)


def _readable_groups(tx: Transaction, own: frozenset[int]) -> frozenset[int] | None:
    table = table_named("group")
    rows = tx.rows(lambda: table.select(table.c.id, table.c.is_private))
    if all(not private or id in own for id, private in rows):
        return None
    return frozenset(id for id, private in rows if not private or id in own)
