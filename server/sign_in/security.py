"""The security of the caller's account: sessions, known devices, second factor."""

from server.access import known_devices, passkeys, second_factor, sessions
from server.access.known_devices import KnownDevice
from server.access.passkeys import Passkey
from server.access.sessions import Session
from server.context import Context, Service
from server.dataclass import dataclass
from server.sign_in import second_factor_policy
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Security:
    """The security of an account. sessions: the newest first. known: the id of the present device, 0 for an unknown
    one. has_code: whether there is an authenticator app. codes_left: the number of recovery codes."""

    sessions: list[Session]
    devices: list[KnownDevice]
    known: int
    has_code: bool
    codes_left: int
    passkeys: list[Passkey]


def own(ctx: Context, device: str) -> Security:
    """Returns the security of the caller's account. device: the cookie of the browser, "" without one."""
    id, now = ctx.actor.worker_id, ctx.now

    def read(tx: Transaction) -> Security:
        return Security(
            sessions.of_worker(tx, id, now),
            known_devices.of_worker(tx, id, now),
            known_devices.find(tx, id, device, now),
            second_factor.has_app(tx, id),
            second_factor.recovery_codes_left(tx, id),
            passkeys.of_worker(tx, id),
        )

    return ctx.service.store.read(read)


def has_second_factor(ctx: Context) -> bool:
    """Whether a password alone does not sign the caller in."""
    return ctx.service.store.read(lambda tx: second_factor.is_on(tx, ctx.actor.worker_id))


def has_app(service: Service, worker_id: int) -> bool:
    """Whether a worker has codes of an authenticator app."""
    return service.store.read(lambda tx: second_factor.has_app(tx, worker_id))


def second_factor_due(service: Service, worker_id: int) -> int:
    """Returns when a worker must have a second factor, in Unix seconds; 0 if they need none or have one."""
    return service.store.read(lambda tx: second_factor_policy.due_at(service, tx, worker_id))


def lacks_second_factor(service: Service, worker_id: int, now: int) -> bool:
    """Whether a worker must have a second factor by now and has none."""
    return 0 < second_factor_due(service, worker_id) <= now


def sessions_of(ctx: Context, worker_id: int) -> list[Session]:
    """Returns the sessions of another worker. Raises AdminOnly."""
    ctx.require_admin("see where others are signed in")
    return ctx.service.store.read(lambda tx: sessions.of_worker(tx, worker_id, ctx.now))
