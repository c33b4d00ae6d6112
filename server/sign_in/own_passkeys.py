"""The passkeys of the caller: creates, renames and removes them. The pages ask for the password first."""

from typing import Any

from server.access import passkeys, second_factor, webauthn
from server.access.passkeys import REGISTER, Passkey
from server.context import Context
from server.errors import Conflict, Invalid, NotAuthenticated, NotFound
from server.records.writing import RecordWriter
from server.sign_in import login_address, passkey_notice, second_factor_policy, sign_in
from server.sign_in.passkey_notice import ADDED, REMOVED
from server.sign_in.passkey_sign_in import TOO_LATE
from server.sign_in.sign_in import Peer
from server.store.transaction import Transaction
from server.translation import N_, _

GONE = N_("This passkey no longer exists.")


def list_own(ctx: Context) -> list[Passkey]:
    """Returns the caller's passkeys, the oldest first."""
    return ctx.service.store.read(lambda tx: passkeys.of_worker(tx, ctx.actor.worker_id))


def creation_options(ctx: Context, owner: str, peer: Peer) -> dict[str, Any]:
    """Returns the options with which the browser creates a passkey. owner: the session cookie. Raises Conflict if it is
    one too many, or passkeys do not work at this address; TooMany."""
    worker_id, party = ctx.actor.worker_id, webauthn.relying_party(ctx.service.base_url)
    if webauthn.obstacle(ctx.service.base_url):
        raise Conflict(N_("Browsers offer no passkeys at the address of this helpdesk."))

    def write(tx: Transaction) -> tuple[bytes, str, list[Passkey]]:
        _require_room(tx, worker_id)
        challenge = passkeys.new_challenge(tx, REGISTER, owner, peer.client, ctx.now)
        return challenge, passkeys.new_handle(tx, worker_id), passkeys.of_worker(tx, worker_id)

    challenge, handle, owned = ctx.service.store.write(write)
    others = [each.descriptor for each in owned if each.rp_id == party.id]
    return webauthn.creation_options(party, challenge, handle, login_address.current_address(ctx), others)


def add(ctx: Context, owner: str, name: str, text: str, peer: Peer) -> list[str]:
    """Stores a passkey that the browser has created. Returns recovery codes if the worker had no second factor,
    else []. Raises Invalid for a bad name, Conflict, NotAuthenticated."""
    worker_id, party = ctx.actor.worker_id, webauthn.relying_party(ctx.service.base_url)
    name = _checked_name(name)

    def use(challenge: bytes) -> None:
        if not ctx.service.store.write(lambda tx: passkeys.use_challenge(tx, challenge, REGISTER, owner, ctx.now)):
            raise NotAuthenticated(TOO_LATE)

    credential = webauthn.new_credential(party, text, use)

    def write(tx: Transaction) -> list[str]:
        _require_room(tx, worker_id)
        if passkeys.with_credential(tx, credential.id) is not None:
            raise Conflict(N_("This passkey is already in use. Create a new one."))
        is_first = not second_factor.is_on(tx, worker_id)
        passkeys.add(tx, worker_id, party.id, credential, name, ctx.now)
        _log(ctx, tx, "worker.passkey.added", name)
        passkey_notice.queue(RecordWriter(ctx, tx), worker_id, ADDED, name, peer)
        return second_factor.new_recovery_codes(tx, worker_id) if is_first else []

    return ctx.service.store.write(write)


def rename(ctx: Context, id: int, name: str) -> str:
    """Names a passkey of the caller; returns its former name. Raises NotFound, Invalid."""
    name = _checked_name(name)

    def write(tx: Transaction) -> str:
        passkey = passkeys.find(tx, ctx.actor.worker_id, id)
        if passkey is None:
            raise NotFound(GONE)
        if passkey.name != name:
            passkeys.rename(tx, id, name)
            _log(ctx, tx, "worker.passkey.renamed", name, before=passkey.name)
        return passkey.name

    return ctx.service.store.write(write)


def remove(ctx: Context, id: int, peer: Peer) -> None:
    """Removes a passkey of the caller. Raises NotFound, and Conflict if it is their last second factor and one is
    required."""
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        passkey = passkeys.find(tx, worker_id, id)
        if passkey is None:
            raise NotFound(GONE)
        passkeys.remove(tx, id)
        second_factor_policy.require_factor_left(ctx, tx, worker_id)
        second_factor.forget_unused_codes(tx, worker_id)
        _log(ctx, tx, "worker.passkey.removed", passkey.name)
        passkey_notice.queue(RecordWriter(ctx, tx), worker_id, REMOVED, passkey.name, peer)

    ctx.service.store.write(write)


def _require_room(tx: Transaction, worker_id: int) -> None:
    if len(passkeys.of_worker(tx, worker_id)) >= passkeys.MAX_PASSKEYS:
        raise Conflict(
            _("You have {count} passkeys, as many as possible. Remove one first.", count=passkeys.MAX_PASSKEYS)
        )


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > passkeys.MAX_NAME_CHARS or not name.isprintable():
        message = _("Enter a name of 1 to {count} characters.", count=passkeys.MAX_NAME_CHARS)
        raise Invalid(message, field="name")
    return name


def _log(ctx: Context, tx: Transaction, point: str, name: str, **details: str) -> None:
    sign_in.log_own(ctx, tx, ctx.actor.worker_id, point, passkey=name, **details)
