"""Signs workers in to the console by password and, if enabled, a second factor; and signs them out.

Errors are indistinguishable: an unknown name, a wrong password and a worker who may not sign in lead to the same
message after the same time. The console handles cookies and forms."""

from contextlib import suppress
from typing import Any

from server import passwords
from server.access import known_devices, lockout, passkeys, second_factor, sessions, sign_in_providers
from server.access.logins import WORKER_LOGIN
from server.access.sessions import Lifetime, Session
from server.access.sign_in_providers import ProviderSession
from server.context import Context, Service
from server.contexts import WORKER
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Forbidden, Invalid, NotAuthenticated, NotFound, Unavailable
from server.jobs.job_queue import JobQueue
from server.jobs.scheduler import periodic
from server.people import login_changes
from server.record_types.record_type import Record
from server.record_types.shared.usage_buffer import usage_buffer
from server.records import event_publishing
from server.records.writing import RecordWriter
from server.sign_in import second_factor_policy
from server.store.transaction import Transaction
from server.template.filters.browsers import browser_of
from server.translation import N_

AUTHENTICATED, FAILED = "worker.authenticated", "worker.authenticate.failed"
WRONG = "The email address or the password is wrong."
WRONG_CODE = "The code is wrong. Codes change every 30 seconds, and each works once."
ONLY_BY_PROVIDER = N_("Passwords are turned off here. Sign in with a provider.")
LOCKED = "login.locked"  # the job that notifies the owner of a locked account
MAX_REASON_CHARS = 200  # characters of an automation's reason for a refusal
HOUR_SECONDS, DAY_SECONDS = 3600, 86400


@dataclass(frozen=True, slots=True)
class Peer:
    """The sender of a request: its address, its User-Agent header, and the value of the known-device cookie."""

    client: str
    device: str
    known: str = ""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session. waits_for_code: it can only be used to enter the code of the second factor. known: the new value
    of the known-device cookie, "" to leave it."""

    session_id: str
    waits_for_code: bool
    known: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The worker behind a name. worker_id: 0 if nobody may sign in by password with it; known_id: the worker who was
    meant."""

    worker_id: int
    known_id: int
    password_hash: str


def by_password(ctx: Context, email: str, password: str, peer: Peer, is_remembered: bool = False) -> NewSession:
    """Starts a session. is_remembered: it does not expire when idle.

    Takes as long as hashing a password. Raises NotAuthenticated for a wrong name or password, TooMany, Forbidden with
    the reason if an automation refuses."""
    store = ctx.service.store
    require_password_way(ctx)
    with passwords.place():  # before the attempt is counted: without a place there was no attempt
        account = store.read(lambda tx: _account(ctx, tx, email))
        keys = attempt_keys(ctx, "password", email, account.known_id, peer)
        is_last = store.write(lambda tx: lockout.count(tx, keys, ctx.now))
        if not passwords.verify(account.password_hash, password) or not account.worker_id:
            record_failure(ctx, account.known_id, peer, "password" if is_last else "")
            raise NotAuthenticated(WRONG)
        renewed = passwords.hash(password) if passwords.needs_rehash(account.password_hash) else ""
    has_code = store.read(lambda tx: second_factor.is_on(tx, account.worker_id))
    if not has_code:
        ask_automations(ctx, account.worker_id, peer)

    def write(tx: Transaction) -> NewSession:
        lockout.forgive(tx, keys, ctx.now)
        if renewed:
            row = tx.first(WORKER_LOGIN, worker_id=account.worker_id)
            if row is not None and row[WORKER_LOGIN.position["password_hash"]] == account.password_hash:
                tx.put(WORKER_LOGIN, dict(zip(WORKER_LOGIN.names, row, strict=True)) | {"password_hash": renewed})
        if not has_code:
            return full_session(ctx, tx, account.worker_id, peer, is_remembered)
        span = lifetime(ctx.service, is_remembered)
        return NewSession(sessions.create(tx, account.worker_id, ctx.now, span, peer.device, peer.client, True), True)

    return store.write(write)


def require_password_way(ctx: Context) -> None:
    """Raises Forbidden if workers sign in with providers only."""
    if ctx.service.store.read(sign_in_providers.is_only_way):
        raise Forbidden(ONLY_BY_PROVIDER)


def by_provider(
    ctx: Context, worker_id: int, peer: Peer, at_provider: ProviderSession | None, *, asks_code: bool
) -> NewSession:
    """Starts a session of a worker whom a provider, or a link from the command line, has identified. at_provider: None
    for a link. Raises Forbidden if an automation refuses."""
    has_code = asks_code and ctx.service.store.read(lambda tx: second_factor.is_on(tx, worker_id))
    if not has_code:
        ask_automations(ctx, worker_id, peer)

    def write(tx: Transaction) -> NewSession:
        if not has_code:
            return full_session(ctx, tx, worker_id, peer, False, at_provider)
        span = lifetime(ctx.service, False)
        session_id = sessions.create(tx, worker_id, ctx.now, span, peer.device, peer.client, True)
        if at_provider is not None:
            sign_in_providers.add_session(tx, session_id, at_provider)
        return NewSession(session_id, True)

    return ctx.service.store.write(write)


def attempt_keys(ctx: Context, kind: str, name: str, worker_id: int, peer: Peer) -> tuple[str, ...]:
    """Returns the keys under which an attempt is counted: the device if it is known for the worker, else the account
    and the address, which others can use up. worker_id: the intended worker, 0 if unknown."""
    device_id = ctx.service.store.read(lambda tx: known_devices.find(tx, worker_id, peer.known, ctx.now))
    if device_id:
        return (lockout.device(kind, device_id),)
    return (lockout.account(kind, name), lockout.address(peer.client))


def by_code(ctx: Context, session: Session, code: str, peer: Peer) -> NewSession:
    """Replaces a session that waits for the code of the second factor by a full one.

    Raises NotAuthenticated for a wrong code, TooMany, Forbidden."""
    worker_id = session.actor.worker_id
    _require_code(ctx, worker_id, code, peer, attempt_keys(ctx, "code", str(worker_id), worker_id, peer))
    ask_automations(ctx, worker_id, peer)
    return ctx.service.store.write(lambda tx: completed(ctx, tx, session, peer))


def completed(ctx: Context, tx: Transaction, session: Session, peer: Peer) -> NewSession:
    """Replaces a session that waits for the second factor by a full one, in the transaction of the caller."""
    worker_id, is_remembered = session.actor.worker_id, session.idle_seconds >= lifetime(ctx.service, True).idle
    at_provider = sign_in_providers.session_of(tx, session.id)
    sessions.end(tx, session.id, worker_id)
    return full_session(ctx, tx, worker_id, peer, is_remembered, at_provider)


def full_session(
    ctx: Context,
    tx: Transaction,
    worker_id: int,
    peer: Peer,
    is_remembered: bool,
    at_provider: ProviderSession | None = None,
) -> NewSession:
    """Starts the session of a worker who has proved who they are, in the transaction of the caller."""
    provider = sign_in_providers.one(tx, at_provider.provider_id) if at_provider is not None else None
    _log(ctx, tx, "worker.logged_in", worker_id, peer, provider.label if provider is not None else "")
    span = lifetime(ctx.service, is_remembered)
    session_id = sessions.create(tx, worker_id, ctx.now, span, peer.device, peer.client)
    if at_provider is not None:
        sign_in_providers.add_session(tx, session_id, at_provider)
    known = known_devices.keep(tx, worker_id, peer.known, ctx.now, peer.device, peer.client)
    return NewSession(session_id, False, known)


def step_up(ctx: Context, session: Session, entered: str, peer: Peer) -> str:
    """Returns the new id of a session after the worker has entered the password, or a code of the second factor, again.

    Raises NotAuthenticated for a wrong one, TooMany."""
    worker_id = session.actor.worker_id
    has_code = ctx.service.store.read(lambda tx: second_factor.has_app(tx, worker_id))
    code = "".join(entered.split())
    looks_like_code = is_whole(code) and len(code) == 6
    if has_code and looks_like_code:
        _require_code(ctx, worker_id, entered, peer, keys_in_session("code", worker_id))
    else:
        require_password(ctx, worker_id, entered)
    return ctx.service.store.write(lambda tx: sessions.renew(tx, session, ctx.now))


def require_password(ctx: Context, worker_id: int, password: str) -> None:
    """Raises NotAuthenticated unless this is the password of the signed-in worker; TooMany after too many wrong
    ones."""
    require_password_way(ctx)
    keys = keys_in_session("password", worker_id)
    store = ctx.service.store
    with passwords.place():
        store.write(lambda tx: lockout.count(tx, keys, ctx.now))
        stored = store.read(lambda tx: _hash_of(tx, worker_id))
        if not passwords.verify(stored, password):
            raise NotAuthenticated("The password is wrong.")
    store.write(lambda tx: lockout.forgive(tx, keys, ctx.now))


def begin(ctx: Context, tx: Transaction, worker_id: int, peer: Peer) -> str:
    """Starts a session of a worker who was just created and has chosen a password; returns its id."""
    _log(ctx, tx, "worker.logged_in", worker_id, peer)
    return sessions.create(tx, worker_id, ctx.now, lifetime(ctx.service, False), peer.device, peer.client)


def sign_out(ctx: Context, session: Session, peer: Peer) -> None:
    worker_id = session.actor.worker_id

    def write(tx: Transaction) -> None:
        if sessions.end(tx, session.id, worker_id) and not session.waits_for_code:
            _log(ctx, tx, "worker.logged_out", worker_id, peer)

    ctx.service.store.write(write)


def turn_on_code(ctx: Context, secret: str, code: str) -> list[str]:
    """Turns on the caller's second factor; returns the recovery codes. Raises Invalid for a wrong code, TooMany."""
    worker_id = ctx.actor.worker_id
    keys = keys_in_session("code", worker_id)
    ctx.service.store.write(lambda tx: lockout.count(tx, keys, ctx.now))

    def write(tx: Transaction) -> list[str]:
        codes = second_factor.turn_on(tx, worker_id, secret, code, ctx.now)
        if codes is None:
            raise Invalid("Wrong code. Check the clock on your phone.", field="code")
        lockout.forgive(tx, keys, ctx.now)
        log_own(ctx, tx, worker_id, "worker.second_factor.on")
        return codes

    return ctx.service.store.write(write)


def turn_off_code(ctx: Context) -> None:
    """Turns off the caller's authenticator app. Raises Conflict if it is their last second factor and one is
    required."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        if second_factor.has_app(tx, worker_id):
            second_factor.turn_off_app(tx, worker_id)
            second_factor_policy.require_factor_left(ctx, tx, worker_id)
            log_own(ctx, tx, worker_id, "worker.second_factor.off")

    ctx.service.store.write(write)


def renew_recovery_codes(ctx: Context) -> list[str]:
    """Returns ten new recovery codes; former ones no longer work. Raises NotFound without a second factor."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> list[str]:
        if not second_factor.is_on(tx, worker_id):
            raise NotFound("Recovery codes need a second factor. Set one up first.")
        log_own(ctx, tx, worker_id, "worker.second_factor.codes")
        return second_factor.new_recovery_codes(tx, worker_id)

    return ctx.service.store.write(write)


def end_sessions(ctx: Context, id: int = 0, but: int = 0, peer: Peer | None = None) -> int:
    """Signs the caller out of one session, or of all but one; returns the number of ended sessions. peer: its device
    stays known when all are ended."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> int:
        if not id:
            device_id = known_devices.find(tx, worker_id, peer.known, ctx.now) if peer is not None else 0
            known_devices.forget_all(tx, worker_id, but=device_id)
        count = int(sessions.end(tx, id, worker_id)) if id else sessions.end_all(tx, worker_id, but=but)
        if count:
            devices = f"{count} device{'' if count == 1 else 's'}"
            log_own(ctx, tx, worker_id, "worker.sessions.ended", devices=devices)
        return count

    return ctx.service.store.write(write)


def forget_device(ctx: Context, device_id: int) -> None:
    """Removes a known device of the caller. Raises NotFound."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        if not known_devices.forget(tx, worker_id, device_id):
            raise NotFound("This device no longer exists.")
        log_own(ctx, tx, worker_id, "worker.device.forgotten")

    ctx.service.store.write(write)


def keys_in_session(kind: str, worker_id: int) -> tuple[str, ...]:
    """Returns the key of attempts within a session, which others cannot use up."""
    return (lockout.account(f"{kind} again", str(worker_id)),)


def log_own(ctx: Context, tx: Transaction, worker_id: int, point: str, **details: str) -> None:
    """Logs a change of the caller's own sign-in methods."""
    writing = RecordWriter(ctx, tx)
    writing.log(point, WORKER, worker_id, {"target": writing.label(WORKER, worker_id), **details})


def lifetime(service: Service, is_remembered: bool) -> Lifetime:
    """Returns the lifetime of sessions by the settings."""
    most = service.settings.session_days * DAY_SECONDS
    return Lifetime(most if is_remembered else service.settings.session_idle_hours * HOUR_SECONDS, most)


def worker_with(ctx: Context, tx: Transaction, email: str) -> int:
    """Returns the worker who signs in with this address, or 0. Only main addresses count, and an unconfirmed new
    address does not."""
    given = email.strip().lower()
    known_id = login_changes.holder(tx, given)
    if known_id:
        return known_id
    address = tx.first(ctx.service.registry.type("address").table, email=given)
    worker = tx.first(ctx.service.registry.type("worker").table, email_id=address[0]) if address is not None else None
    change = login_changes.waiting(tx, worker[0]) if worker is not None else None
    return int(worker[0]) if worker is not None and (change is None or change.new_email != given) else 0


@periodic(N_("sessions that are over"), N_("Removes them."), deletes=True)
def forget_over(service: Service, now: int) -> None:
    """Removes expired sessions, counts of attempts, known devices, challenges, and started sign-ins."""

    def write(tx: Transaction) -> None:
        for each in stores:
            each.forget_over(tx, now)

    stores = (sessions, lockout, known_devices, passkeys, sign_in_providers)
    if service.store.read(lambda tx: any(each.has_over(tx, now) for each in stores)):
        service.store.write(write)


def _account(ctx: Context, tx: Transaction, email: str) -> _Candidate:
    known_id = worker_with(ctx, tx, email)
    workers = ctx.service.registry.type("worker")
    row = tx.get(workers.table, known_id) if known_id else None
    if row is None:
        return _Candidate(0, 0, "")
    return _Candidate(known_id if may_sign_in(workers.record(row)) else 0, known_id, _hash_of(tx, known_id))


def may_sign_in(worker: Record) -> bool:
    """Returns whether a worker may sign in by password or passkey."""
    return not worker["is_disabled"] and not worker["is_password_disabled"]


def has_own_way(ctx: Context, tx: Transaction, worker_id: int) -> bool:
    """Whether a worker may sign in by a password or a passkey, and has one."""
    workers = ctx.service.registry.type("worker")
    row = tx.get(workers.table, worker_id)
    is_allowed = row is not None and may_sign_in(workers.record(row))
    return is_allowed and bool(_hash_of(tx, worker_id) or passkeys.has_any(tx, worker_id))


def _hash_of(tx: Transaction, worker_id: int) -> str:
    row = tx.first(WORKER_LOGIN, worker_id=worker_id)
    return str(row[WORKER_LOGIN.position["password_hash"]]) if row is not None else ""


def _require_code(ctx: Context, worker_id: int, code: str, peer: Peer, keys: tuple[str, ...]) -> None:
    """Raises NotAuthenticated for a wrong code, TooMany. A valid code is used up."""
    store = ctx.service.store
    is_last = store.write(lambda tx: lockout.count(tx, keys, ctx.now))

    def write(tx: Transaction) -> bool:
        if not second_factor.accept(tx, worker_id, code, ctx.now):
            return False
        lockout.forgive(tx, keys, ctx.now)
        return True

    if not store.write(write):
        record_failure(ctx, worker_id, peer, "code" if is_last else "")
        raise NotAuthenticated(WRONG_CODE)


def ask_automations(ctx: Context, worker_id: int, peer: Peer) -> None:
    """Raises Forbidden if an automation refuses the sign-in."""
    for answer in event_publishing.automation_results(ctx, AUTHENTICATED, lambda: _values(worker_id, peer)):
        reason = answer.get("deny")
        if reason:
            record_failure(ctx, worker_id, peer)
            message = reason if isinstance(reason, str) else "ask an administrator"
            raise Forbidden(f"Signing in was refused: {message[:MAX_REASON_CHARS]}")


def _values(worker_id: int, peer: Peer) -> dict[str, Any]:
    browser = browser_of(peer.device)
    return event_publishing.record_values("worker", WORKER, worker_id) | {
        "client_ip": peer.client,
        "client_browser_name": browser["browser"] or "",
        "client_browser_platform": browser["platform"] or "",
        "client_browser_version": browser["version"] or "",
    }


def record_failure(ctx: Context, worker_id: int, peer: Peer, locks: str = "") -> None:
    """Records a failure without waiting for the write: the response time must not reveal whether the worker exists.
    locks: the kind of secret, password or code, whose attempts are used up now; "" if there are attempts left."""
    if not worker_id:
        return

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        event_publishing.publish(writing, FAILED, _values(worker_id, peer))
        writing.log("worker.login.failed", WORKER, worker_id, _log_values(writing, worker_id, peer))
        if locks:
            _notify_locked(writing, worker_id, peer, locks)

    ctx.service.store.submit(write, lambda pending: None)


def _notify_locked(writing: RecordWriter, worker_id: int, peer: Peer, kind: str) -> None:
    ctx, tx = writing.ctx, writing.tx
    writing.log("worker.login.locked", WORKER, worker_id, _log_values(writing, worker_id, peer))
    if lockout.may_be_told(tx, worker_id, ctx.now):
        payload = {"worker_id": worker_id, "kind": kind, "client": peer.client}
        JobQueue.add(tx, LOCKED, ctx.now, payload, f"{LOCKED}:{worker_id}")
        ctx.service.wake_after(tx)


def _log(ctx: Context, tx: Transaction, point: str, worker_id: int, peer: Peer, provider: str = "") -> None:
    writing = RecordWriter(ctx, tx)
    values = _log_values(writing, worker_id, peer) | ({"provider": provider} if provider else {})
    writing.log(point, WORKER, worker_id, values | {"actor": values["target"]})


def _log_values(writing: RecordWriter, worker_id: int, peer: Peer) -> dict[str, str]:
    return {
        "target": writing.label(WORKER, worker_id),
        "ip": peer.client,
        "user_agent": shown_device(peer.device),
    }


def shown_device(device: str) -> str:
    """Returns a User-Agent header in a few words, such as `Firefox on Linux`."""
    browser = browser_of(device)
    name, platform = browser["browser"], browser["platform"]
    if name and platform:
        return f"{name} on {platform}"
    return str(name or platform or "an unknown browser")


def record_use(service: Service, session: Session, now: int, client: str) -> None:
    """Records that a worker uses their session. client: the address of the browser."""
    usage_buffer(service.store).saw(session.actor.worker_id, now)
    if session.seen_at + sessions.SEEN_EVERY_SECONDS <= now:
        with suppress(Unavailable):  # the disk may be full, which must not stop reads
            service.store.write(lambda tx: sessions.seen(tx, session.id, now, client))
