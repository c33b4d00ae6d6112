"""Administration of sign-ins: invitations, links, devices, the second factor, and the handover of tickets.

Worker records are changed like all other records; this module changes the data that is stored separately."""

from collections.abc import Iterable
from typing import Any

from server.access import (
    known_devices,
    lockout,
    passkeys,
    password_links,
    second_factor,
    sessions,
    sign_in_providers,
)
from server.access.actor import WORKER
from server.access.logins import WORKER_LOGIN
from server.apps import token_lists
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid, NotFound
from server.record_types.record_type import Record
from server.records import catalogs, records
from server.records.writing import RecordWriter
from server.sign_in import password_change
from server.sign_in.password_change import ServiceMail
from server.store.statements import in_list, slot
from server.store.transaction import Transaction
from server.translation import N_, _, ngettext

DOING = "change how others sign in"  # an action that requires an administrator

INVITATION_SECONDS = 3 * 86400  # validity of an invitation: people read mail after the weekend
MAX_HANDED_OVER = 500  # tickets in one call
SUBJECT = N_("Your helpdesk account")
TEXT = N_("""\
{actor} created an account for you at the helpdesk, with the address {email}.

Open this address to choose your password. It works once, for {days} days:

{link}
""")

# What happens to the tickets of a worker who is deactivated.
KEEP, FREE, GIVE = "keep", "free", "give"
TICKETS = [(KEEP, N_("stay with them")), (FREE, N_("wait for a new owner")), (GIVE, N_("go to somebody else"))]


@dataclass(frozen=True, slots=True)
class SignInMethods:
    """The sign-in methods of a worker. seen_at: Unix seconds, 0 for never."""

    seen_at: int = 0
    has_second_factor: bool = False
    has_password: bool = False


def signing_in(ctx: Context, ids: Iterable[int]) -> dict[int, SignInMethods]:
    """Returns {worker id: sign-in methods}. Raises AdminOnly."""
    ctx.require_admin(DOING)
    workers = ctx.service.registry.type("worker").table
    id_list = "[" + ",".join(map(str, ids)) + "]"

    def read(tx: Transaction) -> dict[int, SignInMethods]:
        with_code = _ids_in(tx, second_factor.SECOND_FACTOR, id_list) | _ids_in(tx, passkeys.PASSKEY, id_list)
        with_password = _ids_in(tx, WORKER_LOGIN, id_list)
        table: Any = workers.sql
        rows = tx.rows(
            lambda: table.select(table.id, table.last_activity_at).where(in_list(table.id, slot(0))),
            (id_list,),
        )
        return {id: SignInMethods(seen_at or 0, id in with_code, id in with_password) for id, seen_at in rows}

    return ctx.service.store.read(read)


def invitation(ctx: Context, worker_id: int, ends_tokens: bool = False) -> str:
    """Returns the address at which a worker chooses a password, for the administrator to pass on. It works once, for
    INVITATION_SECONDS, and replaces any former one. ends_tokens: whether the worker's tokens are revoked, for a
    password that others may know. Raises AdminOnly, NotFound, Conflict."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        _invited(writing, worker_id)
        _end_tokens(ctx, worker_id, ends_tokens)
        _log(writing, "worker.password.link", worker_id)
        return _link(ctx, tx, worker_id)

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def invite(ctx: Context, worker_id: int, ends_tokens: bool = False) -> None:
    """Mails an invitation to a worker. ends_tokens: see invitation. Raises AdminOnly, NotFound, Conflict."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        worker = _invited(writing, worker_id)
        values = {"actor": ctx.actor.name, "days": INVITATION_SECONDS // 86400}
        password_change.send_link(writing.as_service(), worker, letter, INVITATION_SECONDS, values)
        _end_tokens(ctx, worker_id, ends_tokens)
        _log(writing, "worker.invited", worker_id)

    ctx.require_admin(DOING)
    letter = ServiceMail(SUBJECT, TEXT, catalogs.worker_catalog(ctx.service, worker_id))
    ctx.service.store.write(write)


def end_sessions(ctx: Context, worker_id: int) -> int:
    """Signs a worker out everywhere and returns the number of devices. Raises AdminOnly."""

    def write(tx: Transaction) -> int:
        count = sessions.end_all(tx, worker_id)
        known_devices.forget_all(tx, worker_id)
        if count:
            devices = f"{count} device{'' if count == 1 else 's'}"
            _log(RecordWriter(ctx, tx), "worker.sessions.ended", worker_id, {"devices": devices})
        return count

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def turn_off_second_factor(ctx: Context, worker_id: int) -> None:
    """Removes the authenticator app, passkeys and recovery codes of a worker who lost them. Raises AdminOnly."""

    def write(tx: Transaction) -> None:
        if second_factor.is_on(tx, worker_id):
            second_factor.turn_off(tx, worker_id)
            _log(RecordWriter(ctx, tx), "worker.second_factor.off", worker_id)

    ctx.require_admin(DOING)
    ctx.service.store.write(write)


def recover(ctx: Context, worker_id: int, is_admin: bool = False) -> str:
    """Restores the access of a worker who can no longer sign in; returns the path at which they choose a password,
    or at which they are signed in if passwords are off.

    They may sign in again without the second factor, and failed attempts are forgiven. The path works as long as that
    of an invitation. is_admin: whether they become an administrator. Raises AdminOnly, NotFound."""
    allowed = {"is_disabled": 0, "is_password_disabled": 0} | ({"is_superuser": 1} if is_admin else {})

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        worker = writing.record("worker", worker_id)
        if worker is None:
            raise NotFound(f"there is no worker {worker_id}")
        changes = {name: value for name, value in allowed.items() if worker[name] != value}
        if changes:
            writing.update_sent(ctx.service.registry.type("worker"), worker_id, changes)
        if second_factor.is_on(tx, worker_id):
            second_factor.turn_off(tx, worker_id)
            _log(writing, "worker.second_factor.off", worker_id)
        address = writing.record("address", worker["email_id"])
        names = [("password", address["email"])] if address else []
        keys = [lockout.account(*each) for each in [*names, ("code", str(worker_id))]]
        lockout.forgive(tx, keys, ctx.now)
        if sign_in_providers.is_only_way(tx):
            _log(writing, "worker.sign_in_link", worker_id)
            return f"/sign-in/link/{sign_in_providers.create_link(tx, worker_id, ctx.now)}"
        _log(writing, "worker.password.link", worker_id)
        return f"/reset/{password_links.create(tx, worker_id, ctx.now, INVITATION_SECONDS)}"

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def hand_over(ctx: Context, worker_id: int, to_id: int) -> tuple[int, int]:
    """Assigns a worker's open and waiting tickets to another worker, or unassigns them if to_id is 0. Returns the
    number of tickets that were assigned and that are left, since one call covers MAX_HANDED_OVER. Raises AdminOnly,
    Invalid."""
    tickets = ctx.service.registry.type("ticket")

    def write(tx: Transaction) -> tuple[int, int]:
        writing = RecordWriter(ctx, tx)
        ids = writing.search_ids("ticket", f"owner.id:{worker_id} status:[open,waiting]")
        for id in ids[:MAX_HANDED_OVER]:
            writing.update_sent(tickets, id, {"owner_id": to_id})
        return min(len(ids), MAX_HANDED_OVER), max(len(ids) - MAX_HANDED_OVER, 0)

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def new_owner(ctx: Context, worker_id: int, way: str, to_id: int) -> int | None:
    """Returns the id of the new owner of a worker's tickets, 0 if nobody owns them, None if they stay with the worker.
    way: one of TICKETS. to_id: the chosen worker, 0 for none. Raises AdminOnly, Invalid with the field `tickets` or
    `to_id`."""
    if way not in dict(TICKETS):
        raise Invalid(_("choose one from the list"), field="tickets")
    if not to_id and way == GIVE:
        raise Invalid(_("choose the new owner of the tickets"), field="to_id")
    if to_id and way == FREE:
        raise Invalid(
            _("choose what happens to the tickets: they wait for an owner, or somebody else gets them"), field="tickets"
        )
    if not to_id:
        return 0 if way == FREE else None
    workers = records.stored(ctx, WORKER, [to_id])
    if to_id == worker_id or not workers or workers[0]["is_disabled"]:
        raise Invalid(_("choose an active worker"), field="to_id")
    return to_id


def handed_over(ctx: Context, worker_id: int, to_id: int) -> str:
    """Hands over the tickets of a worker, and returns how many in a sentence, or why not."""
    try:
        count, remaining = hand_over(ctx, worker_id, to_id)
    except HelpdeskError as error:
        return _("Tickets not handed over: {reason}", reason=error.message)
    sentence = ngettext("{count} ticket handed over.", "{count} tickets handed over.", count)
    if not remaining:
        return sentence
    more = ngettext("{count} is left: hand over again.", "{count} are left: hand over again.", remaining)
    return f"{sentence} {more}"


def _log(writing: RecordWriter, point: str, worker_id: int, details: dict[str, str] | None = None) -> None:
    """Logs a change of sign-in methods, since such a change can be used to sign in as the worker."""
    writing.log(point, WORKER, worker_id, {"target": writing.label("worker", worker_id), **(details or {})})


def _invited(writing: RecordWriter, worker_id: int) -> Record:
    """Returns the worker. Raises Conflict unless they may sign in by password."""
    worker = writing.record("worker", worker_id)
    if worker is None:
        raise NotFound(f"there is no worker {worker_id}")
    if sign_in_providers.is_only_way(writing.tx):
        raise Conflict(N_("workers sign in with a provider only, so nobody needs a password"))
    if worker["is_disabled"] or worker["is_password_disabled"]:
        raise Conflict(N_("this worker is not allowed to sign in by password; allow it first"))
    return worker


def _end_tokens(ctx: Context, worker_id: int, is_wanted: bool) -> None:
    """Runs in the transaction of the caller."""
    if is_wanted:
        token_lists.revoke_all(ctx, worker_id=worker_id)


def _link(ctx: Context, tx: Transaction, worker_id: int) -> str:
    code = password_links.create(tx, worker_id, ctx.now, INVITATION_SECONDS)
    return f"{ctx.service.base_url}/reset/{code}"


def _ids_in(tx: Transaction, login_table: Any, id_list: str) -> set[int]:
    """Returns the workers that have a row in a table."""
    table: Any = login_table.sql
    rows = tx.rows(
        lambda: table.select(table.worker_id).where(in_list(table.worker_id, slot(0))),
        (id_list,),
    )
    return {row[0] for row in rows}
