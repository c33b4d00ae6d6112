"""The page where a worker enters the code of a program and decides what it may do (RFC 8628, 3.3).

1. `waiting_request(service, worker_id, client, user_code, now)` returns the request with this code as a request for
   consent, so that the same page shows it and `provider.seal` protects the form.
2. `decide(...)` stores the decision, which the program receives with its next poll."""

from collections.abc import Callable

from server.access import actor, consents, device_codes, lockout
from server.access.provider import AuthorizationRequest
from server.access.validator import App, app_with_id
from server.context import Service
from server.dataclass import dataclass
from server.errors import Forbidden, Invalid
from server.store.transaction import Transaction
from server.translation import N_

EXPIRED = "this code is unknown or has expired; start again in the program and enter the new code"


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """The request of a waiting program. client: the address of the program, which the page shows."""

    consent: AuthorizationRequest
    client: str


def waiting_request(service: Service, worker_id: int, client: str, user_code: str, now: int) -> DeviceRequest:
    """Returns the pending request with this code, in any spelling. Raises Invalid for a wrong code, TooMany after too
    many wrong codes by this worker or from this address."""
    keys = [lockout.account("user code", str(worker_id)), lockout.address(client)]

    def read(tx: Transaction) -> DeviceRequest | None:
        lockout.require_open(tx, keys, now)
        return _request(tx, service, user_code, now)

    request = service.store.read(read)
    if request is None:
        service.store.write(lambda tx: lockout.count(tx, keys, now))
        raise Invalid(EXPIRED, field="user_code")
    return request


def decide(
    service: Service,
    worker_id: int,
    user_code: str,
    is_allowed: bool,
    now: int,
    along: Callable[[Transaction], None] = lambda tx: None,
) -> None:
    """Stores the decision of the worker. along: runs in the same transaction if it is to allow.

    Raises Invalid if the code has expired or was decided already, Forbidden if the worker can no longer sign in."""

    def write(tx: Transaction) -> None:
        if actor.worker(tx, worker_id) is None:
            raise Forbidden(N_("this worker can no longer sign in"))
        code = device_codes.by_user_code(tx, user_code, now)
        request = _request(tx, service, user_code, now)
        if code is None or request is None:
            raise Invalid(EXPIRED, field="user_code")
        device_codes.decide(tx, code, worker_id, device_codes.ALLOWED if is_allowed else device_codes.DENIED)
        if is_allowed:
            consents.remember(tx, worker_id, code.app_id, code.scopes, now)
            along(tx)

    service.store.write(write)


def _request(tx: Transaction, service: Service, user_code: str, now: int) -> DeviceRequest | None:
    code = device_codes.by_user_code(tx, user_code, now)
    app: App | None = app_with_id(tx, service, code.app_id, now) if code is not None else None
    if code is None or app is None or not app.is_device_flow:
        return None
    scopes = tuple(app.scopes[each] for each in code.scopes if each in app.scopes)
    if not scopes:
        return None
    consent = AuthorizationRequest(
        app.id, app.client_id, app.name, app.url, scopes, "", "", "", True, (("user_code", user_code),)
    )
    return DeviceRequest(consent, code.client)
