"""The requirement of a second factor: its scope, the days of grace, and the workers who lack one.

The policy is a setting of the service. The days of grace of a worker begin when the policy starts to cover them: when
it is set, when they are created, or when they become an administrator. `is_mfa_required` of a worker requires a second
factor at once. A passkey counts as one. API tokens are not affected: they have scopes and an expiry."""

from typing import Any

import peewee

from server.access import passkeys, second_factor
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.people.types.worker import full_name
from server.record_types.record_type import Record
from server.records import service_settings
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_, _

KEY = "second_factor_policy"
NOBODY, ADMINISTRATORS, EVERYBODY = "nobody", "administrators", "everybody"
WHO = (NOBODY, ADMINISTRATORS, EVERYBODY)
GRACE_DAYS, MAX_GRACE_DAYS = 14, 90
DAY_SECONDS = 86400
OVERDUE, GRACE, MISSING, DONE = "overdue", "grace", "missing", "done"  # states, the most urgent first
STATES = (OVERDUE, GRACE, MISSING, DONE)


@dataclass(frozen=True, slots=True)
class SecondFactorPolicy:
    """who: one of WHO. admins_since, others_since: when it began to cover administrators and others, in Unix seconds; 0
    for those that it does not cover."""

    who: str = NOBODY
    days: int = GRACE_DAYS
    admins_since: int = 0
    others_since: int = 0

    def due_at(self, worker: Record) -> int:
        """Returns when a worker must have a second factor, in Unix seconds; 0 if they need none."""
        if worker["is_mfa_required"]:
            return 1
        covered = [self.others_since]
        if worker["is_superuser"]:
            covered.append(max(self.admins_since, worker["admin_since"]) if self.admins_since else 0)
        since = min(filter(None, covered), default=0)
        return max(since, worker["created_at"]) + self.days * DAY_SECONDS if since else 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How a worker stands. due_at: as in SecondFactorPolicy. codes_left: the number of recovery codes. state: one of
    STATES."""

    worker_id: int
    name: str
    is_admin: bool
    has_app: bool
    passkeys: int
    codes_left: int
    due_at: int
    state: str


def load(tx: Transaction) -> SecondFactorPolicy:
    """Returns the policy in force."""
    stored = service_settings.get(tx, KEY)
    return SecondFactorPolicy(**stored) if stored else SecondFactorPolicy()


def current(ctx: Context) -> SecondFactorPolicy:
    """Returns the policy in force."""
    return ctx.service.store.read(load)


def due_at(service: Service, tx: Transaction, worker_id: int) -> int:
    """Returns when a worker must have a second factor, in Unix seconds; 0 if they need none or have one."""
    workers = service.registry.type("worker")
    row = tx.get(workers.table, worker_id)
    due = load(tx).due_at(_values(service, row)) if row is not None else 0
    return due if due and not second_factor.is_on(tx, worker_id) else 0


def require_factor_left(ctx: Context, tx: Transaction, worker_id: int) -> None:
    """Raises Conflict if a worker who must have a second factor has none, after one was removed in this
    transaction."""
    if due_at(ctx.service, tx, worker_id):
        raise Conflict(
            N_("Your administrator requires a second factor, and this is your only one. Set up another one first.")
        )


def change(ctx: Context, who: str, days: int) -> None:
    """Sets the policy. Raises AdminOnly, Invalid, and Conflict for an administrator without a second factor."""
    ctx.require_admin("require a second factor")
    if who not in WHO:
        raise Invalid(_("choose one from the list"), field="who")
    if not 0 <= days <= MAX_GRACE_DAYS:
        raise Invalid(_("choose 0 to {days} days", days=MAX_GRACE_DAYS), field="days")

    def write(tx: Transaction) -> None:
        before, worker_id = load(tx), ctx.actor.worker_id
        if who != NOBODY and worker_id and not second_factor.is_on(tx, worker_id):
            raise Conflict(N_("Set up a second factor for yourself first. Then require it of others."))
        policy = SecondFactorPolicy(
            who,
            days,
            (before.admins_since or ctx.now) if who != NOBODY else 0,
            (before.others_since or ctx.now) if who == EVERYBODY else 0,
        )
        if (who, days) == (before.who, before.days):
            return
        values = {name: getattr(policy, name) for name in ("who", "days", "admins_since", "others_since")}
        service_settings.put(tx, KEY, values)
        service_settings.log_change(RecordWriter(ctx, tx), KEY, _in_words(before), _in_words(policy))

    ctx.service.store.write(write)


def standings(ctx: Context) -> list[Standing]:
    """Returns how all workers stand who can sign in, the most urgent first. Raises AdminOnly."""
    ctx.require_admin("see who has a second factor")
    table: Any = ctx.service.registry.type("worker").table.sql

    def read(tx: Transaction) -> list[Standing]:
        policy = load(tx)
        apps = {row[0] for row in _counts(tx, second_factor.SECOND_FACTOR)}
        keys, codes = dict(_counts(tx, passkeys.PASSKEY)), dict(_counts(tx, second_factor.RECOVERY))
        rows = tx.rows(
            lambda: table.select(*(getattr(table, name) for name in _COLUMNS)).where(
                table.is_disabled == 0, table.is_password_disabled == 0
            )
        )
        found = []
        for row in rows:
            worker = dict(zip(_COLUMNS, row, strict=True))
            id, due = worker["id"], policy.due_at(worker)
            has_factor = id in apps or id in keys
            state = DONE if has_factor else MISSING if not due else GRACE if due > ctx.now else OVERDUE
            found.append(
                Standing(
                    id,
                    full_name(worker),
                    bool(worker["is_superuser"]),
                    id in apps,
                    keys.get(id, 0),
                    codes.get(id, 0),
                    due,
                    state,
                )
            )
        return sorted(found, key=lambda each: (STATES.index(each.state), each.name.lower(), each.worker_id))

    return ctx.service.store.read(read)


_COLUMNS = ("id", "first_name", "last_name", "is_superuser", "is_mfa_required", "created_at", "admin_since")


def _values(service: Service, row: Any) -> dict[str, Any]:
    """Returns the columns of a worker."""
    table = service.registry.type("worker").table
    return {name: row[table.position[name]] for name in _COLUMNS}


def _counts(tx: Transaction, of: Any) -> list[tuple[int, int]]:
    """Returns (worker id, number of rows) of a table."""
    table: Any = of.sql
    rows = tx.rows(lambda: table.select(table.worker_id, peewee.fn.COUNT(table.worker_id)).group_by(table.worker_id))
    return [(row[0], row[1]) for row in rows]


def _in_words(policy: SecondFactorPolicy) -> str:
    return policy.who if policy.who == NOBODY else f"{policy.who}, {policy.days} days of grace"
