"""How workers are signed in: sessions, devices that are known, the second factor."""

from server.access import known_devices, second_factor, sessions
from server.access.known_devices import KnownDevice
from server.access.sessions import Session
from server.context import Context
from server.dataclass import dataclass
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Security:
    """sessions: where one is signed in, the newest first. known: the id of the device that one is at, 0 for one that is
    not known. has_code: whether a second factor is asked for. codes_left: of those to recover with."""

    sessions: list[Session]
    devices: list[KnownDevice]
    known: int
    has_code: bool
    codes_left: int


def own(ctx: Context, device: str) -> Security:
    """What protects one's own account. device: the mark of the browser that asks, "" for none."""
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
    """Whether one's own sign-in asks for a code."""
    return ctx.service.store.read(lambda tx: second_factor.is_on(tx, ctx.actor.worker_id))


def sessions_of(ctx: Context, worker_id: int) -> list[Session]:
    """The sessions of another worker. Raises AdminOnly."""
    ctx.require_admin("see where others are signed in")
    return ctx.service.store.read(lambda tx: sessions.of_worker(tx, worker_id, ctx.now))
