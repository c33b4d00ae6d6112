"""Signs workers in by passkey: without a password, as the second factor after it, or to confirm who they are.

An unknown passkey, a wrong signature and a worker who may not sign in lead to the same message. A challenge is used up
before anything else is checked, and belongs to the cookie of the browser that requested it."""

from typing import Any

from server.access import lockout, passkeys, sessions, webauthn
from server.access.passkeys import CONFIRM, SECOND_FACTOR, SIGN_IN, Passkey
from server.access.sessions import Session
from server.access.webauthn import Assertion, Proof
from server.context import Context, Service
from server.contexts import WORKER
from server.errors import NotAuthenticated
from server.records.writing import RecordWriter
from server.sign_in import passkey_notice, sign_in
from server.sign_in.passkey_notice import COPIED
from server.sign_in.sign_in import NewSession, Peer
from server.store.transaction import Transaction
from server.translation import N_

WRONG = N_("This passkey does not sign you in here. Use another one, or your email address and password.")
WRONG_FACTOR = N_("The passkey was not accepted. Use another one of yours, or a code.")
TOO_LATE = N_("This took too long, or was sent before. Try again.")
COPY = N_("The passkey was refused, since there may be a copy of it. Sign in another way, and replace it.")


def sign_in_options(ctx: Context, owner: str, peer: Peer) -> dict[str, Any]:
    """Returns the options to sign in with any passkey of the browser, the same for everybody. owner: the value of the
    visit cookie. Raises TooMany."""
    challenge = _challenge(ctx, SIGN_IN, owner, peer)
    return webauthn.request_options(_party(ctx), challenge, webauthn.REQUIRED)


def factor_options(ctx: Context, session: Session, owner: str, peer: Peer) -> dict[str, Any]:
    """Returns the options for a passkey after the password of a session. owner: its cookie. Raises TooMany."""
    usable = usable_passkeys(ctx.service, session.actor.worker_id)
    challenge = _challenge(ctx, SECOND_FACTOR, owner, peer)
    return webauthn.request_options(_party(ctx), challenge, webauthn.DISCOURAGED, [each.descriptor for each in usable])


def confirm_options(ctx: Context, session: Session, owner: str, peer: Peer) -> dict[str, Any]:
    """Returns the options for a passkey that confirms who uses a session. owner: its cookie. Raises TooMany."""
    usable = usable_passkeys(ctx.service, session.actor.worker_id, is_to_confirm=True)
    challenge = _challenge(ctx, CONFIRM, owner, peer)
    return webauthn.request_options(_party(ctx), challenge, webauthn.REQUIRED, [each.descriptor for each in usable])


def usable_passkeys(service: Service, worker_id: int, is_to_confirm: bool = False) -> list[Passkey]:
    """Returns the passkeys of a worker that work at the present address of the service. is_to_confirm: only those that
    check a PIN, a finger or a face, and so stand for a password."""
    if webauthn.obstacle(service.base_url):
        return []
    rp_id = webauthn.relying_party(service.base_url).id
    owned = service.store.read(lambda tx: passkeys.of_worker(tx, worker_id))
    return [each for each in owned if each.rp_id == rp_id and (each.is_verified or not is_to_confirm)]


def origin(service: Service, worker_id: int = 0, is_to_confirm: bool = False) -> str:
    """Returns the only origin at which a page may offer passkeys; "" if browsers offer none at the address of the
    service, or if a worker has none to use. is_to_confirm: as in usable_passkeys."""
    if webauthn.obstacle(service.base_url):
        return ""
    if worker_id and not usable_passkeys(service, worker_id, is_to_confirm):
        return ""
    return webauthn.relying_party(service.base_url).origin


def by_passkey(ctx: Context, text: str, owner: str, peer: Peer, is_remembered: bool = False) -> NewSession:
    """Starts a session without a password. text: the response of the browser. is_remembered: it does not expire when
    idle. Raises NotAuthenticated, TooMany, Forbidden with the reason if an automation refuses."""
    sign_in.require_password_way(ctx)
    assertion = webauthn.assertion(text)
    passkey = _owner_of(ctx, assertion)
    worker_id = passkey.worker_id if passkey is not None else 0
    keys = sign_in.attempt_keys(ctx, "passkey", assertion.credential_id, worker_id, peer)
    _count(ctx, assertion, SIGN_IN, owner, keys)
    try:
        if passkey is None:
            raise NotAuthenticated(WRONG)
        proof = _proof(ctx, assertion, passkey, peer, WRONG, must_be_verified=True)
        if not _may_sign_in(ctx, worker_id):
            raise NotAuthenticated(WRONG)
    except NotAuthenticated:
        sign_in.record_failure(ctx, worker_id, peer)
        raise
    sign_in.ask_automations(ctx, worker_id, peer)

    def write(tx: Transaction) -> NewSession:
        _record_use(ctx, tx, passkey, proof, keys)
        return sign_in.full_session(ctx, tx, worker_id, peer, is_remembered)

    return ctx.service.store.write(write)


def as_second_factor(ctx: Context, session: Session, text: str, owner: str, peer: Peer) -> NewSession:
    """Replaces a session that waits for the second factor by a full one. Raises NotAuthenticated, TooMany,
    Forbidden."""
    worker_id = session.actor.worker_id
    keys = sign_in.attempt_keys(ctx, "code", str(worker_id), worker_id, peer)
    passkey, proof = _own(ctx, worker_id, text, SECOND_FACTOR, owner, peer, keys)
    sign_in.ask_automations(ctx, worker_id, peer)

    def write(tx: Transaction) -> NewSession:
        _record_use(ctx, tx, passkey, proof, keys)
        return sign_in.completed(ctx, tx, session, peer)

    return ctx.service.store.write(write)


def step_up(ctx: Context, session: Session, text: str, owner: str, peer: Peer) -> str:
    """Returns the new id of a session whose worker has used a passkey again. Raises NotAuthenticated, TooMany."""
    worker_id = session.actor.worker_id
    keys = sign_in.keys_in_session("passkey", worker_id)
    passkey, proof = _own(ctx, worker_id, text, CONFIRM, owner, peer, keys)

    def write(tx: Transaction) -> str:
        _record_use(ctx, tx, passkey, proof, keys)
        return sessions.renew(tx, session, ctx.now)

    return ctx.service.store.write(write)


def _own(
    ctx: Context, worker_id: int, text: str, purpose: str, owner: str, peer: Peer, keys: tuple[str, ...]
) -> tuple[Passkey, Proof]:
    """Returns the passkey of a known worker that has signed. Raises NotAuthenticated, TooMany."""
    assertion = webauthn.assertion(text)
    locks = "code" if _count(ctx, assertion, purpose, owner, keys) else ""
    passkey = _owner_of(ctx, assertion)
    try:
        if passkey is None or passkey.worker_id != worker_id:
            raise NotAuthenticated(WRONG_FACTOR)
        return passkey, _proof(ctx, assertion, passkey, peer, WRONG_FACTOR, must_be_verified=purpose == CONFIRM)
    except NotAuthenticated:
        sign_in.record_failure(ctx, worker_id, peer, locks)
        raise


def _party(ctx: Context) -> webauthn.RelyingParty:
    return webauthn.relying_party(ctx.service.base_url)


def _challenge(ctx: Context, purpose: str, owner: str, peer: Peer) -> bytes:
    return ctx.service.store.write(lambda tx: passkeys.new_challenge(tx, purpose, owner, peer.client, ctx.now))


def _owner_of(ctx: Context, assertion: Assertion) -> Passkey | None:
    """Returns the passkey with the id of an assertion, if it works at this address and the device knows its worker."""

    def read(tx: Transaction) -> Passkey | None:
        passkey = passkeys.with_credential(tx, assertion.credential_id)
        if passkey is None or passkey.rp_id != _party(ctx).id:
            return None
        handle = passkeys.handle(tx, passkey.worker_id)
        return passkey if assertion.user_handle in ("", handle) else None

    return ctx.service.store.read(read)


def _count(ctx: Context, assertion: Assertion, purpose: str, owner: str, keys: tuple[str, ...]) -> bool:
    """Counts an attempt and uses up its challenge; returns whether it was the last attempt before the account is
    locked. Raises TooMany, NotAuthenticated."""

    def write(tx: Transaction) -> tuple[bool, bool]:
        is_last = lockout.count(tx, keys, ctx.now)
        return is_last, passkeys.use_challenge(tx, assertion.challenge, purpose, owner, ctx.now)

    is_last, is_known = ctx.service.store.write(write)
    if not is_known:
        raise NotAuthenticated(TOO_LATE)
    return is_last


def _proof(
    ctx: Context, assertion: Assertion, passkey: Passkey, peer: Peer, message: str, *, must_be_verified: bool
) -> Proof:
    """Verifies an assertion. Raises NotAuthenticated with the message, and for a passkey that may have been copied."""
    try:
        proof = webauthn.verify(
            _party(ctx), assertion, passkey.aaguid, passkey.public_key, must_be_verified=must_be_verified
        )
    except NotAuthenticated as error:
        raise NotAuthenticated(message) from error
    if passkeys.is_regressed(passkey, proof):
        _report_copy(ctx, passkey, peer)
        raise NotAuthenticated(COPY)
    return proof


def _may_sign_in(ctx: Context, worker_id: int) -> bool:
    workers = ctx.service.registry.type("worker")
    row = ctx.service.store.read(lambda tx: tx.get(workers.table, worker_id))
    return row is not None and sign_in.may_sign_in(workers.record(row))


def _record_use(ctx: Context, tx: Transaction, passkey: Passkey, proof: Proof, keys: tuple[str, ...]) -> None:
    """Stores what a proof says. Raises NotAuthenticated if the passkey was removed, or used elsewhere with a higher
    counter, in between."""
    stored = passkeys.find(tx, passkey.worker_id, passkey.id)
    if stored is None or passkeys.is_regressed(stored, proof):
        raise NotAuthenticated(WRONG)
    lockout.forgive(tx, keys, ctx.now)
    passkeys.record_use(tx, passkey.id, proof, ctx.now)


def _report_copy(ctx: Context, passkey: Passkey, peer: Peer) -> None:
    """Logs a passkey whose counter did not rise, and notifies its worker."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        target = writing.label(WORKER, passkey.worker_id)
        values = {"target": target, "passkey": passkey.name, "ip": peer.client}
        writing.log("worker.passkey.refused", WORKER, passkey.worker_id, values)
        passkey_notice.queue(writing, passkey.worker_id, COPIED, passkey.name, peer)

    ctx.service.store.write(write)
