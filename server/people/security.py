"""The security of the caller's account: sessions, known devices, second factor."""

from server.access import known_devices, second_factor, sessions
from server.access.known_devices import KnownDevice
from server.access.sessions import Session
from server.context import Context, Service
from server.dataclass import dataclass
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Security:
    """The security of an account. sessions: the newest first. known: the id of the present device, 0 for an unknown
    one. has_code: whether a second factor is required. codes_left: the number of recovery codes."""

    sessions: list[Session]
    devices: list[KnownDevice]
    known: int
    has_code: bool
    codes_left: int


def own(ctx: Context, device: str) -> Security:
    """Returns the security of the caller's account. device: the cookie of the browser, "" without one."""
    id, now = ctx.actor.worker_id, ctx.now

    def read(tx: Transaction) -> Security:
        return Security(
            sessions.of_worker(tx, id, now),
            known_devices.of_worker(tx, id, now),
            known_devices.find(tx, id, device, now),
            second_factor.is_on(tx, id),
            second_factor.recovery_codes_left(tx, id),
        )

    return ctx.service.store.read(read)


def has_second_factor(ctx: Context) -> bool:
    """Whether the sign-in of the caller requires a code."""
    return ctx.service.store.read(lambda tx: second_factor.is_on(tx, ctx.actor.worker_id))


def lacks_second_factor(service: Service, worker_id: int) -> bool:
    """Whether a worker must set up a second factor and has not done so."""
    workers = service.registry.type("worker")

    def read(tx: Transaction) -> bool:
        row = tx.get(workers.table, worker_id)
        is_required = row is not None and bool(workers.record(row)["is_mfa_required"])
        return is_required and not second_factor.is_on(tx, worker_id)

    return service.store.read(read)


def sessions_of(ctx: Context, worker_id: int) -> list[Session]:
    """Returns the sessions of another worker. Raises AdminOnly."""
    ctx.require_admin("see where others are signed in")
    return ctx.service.store.read(lambda tx: sessions.of_worker(tx, worker_id, ctx.now))
