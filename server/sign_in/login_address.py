"""Changes of the address that a worker signs in with, by the worker or an administrator: mails, confirmation,
cancellation.

The former address counts until the signed-in worker opens a link that was mailed to the new address."""

from typing import Any

from server.access import password_links
from server.access.actor import lent
from server.access.service_actor import own_context
from server.context import Context, Service
from server.errors import AdminOnly, Invalid, NotFound
from server.jobs.job_queue import job
from server.people import identity, login_changes, login_following
from server.people.login_changes import LoginChange
from server.people.login_following import KIND, log, send_mails
from server.record_types.record_type import Record
from server.record_types.shared.named_records import address_in
from server.records import catalogs
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.sign_in import late_links, password_change
from server.sign_in.late_links import LOGIN_ADDRESS
from server.sign_in.password_change import ServiceMail
from server.sign_in.sign_in import WORKER, require_password
from server.store.transaction import Transaction
from server.translation import N_

CONFIRM_SECONDS = 3 * 86400  # validity of a link: people read mail after the weekend
GONE = "this link was used, replaced, has expired, or belongs to somebody else; request a new one under Account"
CONFIRM_SUBJECT, NOTICE_SUBJECT = N_("Confirm your new address"), N_("Change of your sign-in address")
CONFIRM_TEXT = N_("""\
{by} requested that you sign in to the helpdesk with {new} instead of {email}.

Open this address to confirm the change; sign in as before if you are asked to. It works for {days} days:

{link}

If you do not know about this, ignore this email.
""")
NOTICE_TEXT = N_("""\
{by} requested that you sign in to the helpdesk with {new} instead of {email}.

Nothing changes until somebody opens the link in an email to the new address. If you do not know about this, change your
password and notify an administrator.
""")


def waiting(ctx: Context, worker_id: int) -> LoginChange | None:
    """Returns a worker's unconfirmed change of address. Raises AdminOnly for another worker."""
    _require_own_or_admin(ctx, worker_id)
    return ctx.service.store.read(lambda tx: login_changes.waiting(tx, worker_id))


def current_address(ctx: Context) -> str:
    """Returns the address that the caller signs in with."""

    def read(tx: Transaction) -> str:
        reading = RecordReader(ctx, tx)
        worker = reading.record(WORKER, ctx.actor.worker_id)
        return login_changes.counting(reading, worker) if worker is not None else ""

    return ctx.service.store.read(read)


def request(ctx: Context, new_email: str, password: str) -> LoginChange:
    """Requests another sign-in address for the caller, to be confirmed. Takes as long as hashing a password.

    Raises NotAuthenticated for a wrong password, TooMany, Invalid for an invalid address, Conflict for an address that
    belongs to another worker or that sends mail."""
    worker_id, email = ctx.actor.worker_id, address_in(new_email, "email")
    require_password(ctx, worker_id, password)

    def write(tx: Transaction) -> LoginChange:
        writing = RecordWriter(ctx, tx)
        change = LoginChange(worker_id, login_changes.counting(writing, _worker(writing, worker_id)), email)
        if change.email == email:
            raise Invalid(f"email: you already sign in with {email}", field="email")
        _require_free(writing, change)
        login_following.request(writing, change)
        return change

    return ctx.service.store.write(write)


def send_again(ctx: Context, worker_id: int) -> None:
    """Mails the link again; the former link no longer works. Raises AdminOnly, NotFound."""
    _require_own_or_admin(ctx, worker_id)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        send_mails(writing, _waiting(writing, worker_id))

    ctx.service.store.write(write)


def cancel(ctx: Context, worker_id: int) -> None:
    """Cancels an unconfirmed change; the current sign-in address becomes the main one again. Raises AdminOnly,
    NotFound, Conflict."""
    _require_own_or_admin(ctx, worker_id)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        change = _waiting(writing, worker_id)
        _set_main(writing, change.email, worker_id)
        login_changes.cancel(tx, worker_id)
        log(writing, "dropped", change)

    ctx.service.store.write(write)


def of_code(ctx: Context, code: str) -> LoginChange:
    """Returns the change that a link confirms, of the signed-in worker. Raises NotFound if the link no longer works."""
    return ctx.service.store.read(lambda tx: _of_code(ctx, tx, code))


def confirm(ctx: Context, code: str) -> LoginChange:
    """Makes the new address the one to sign in with; password links to the former one no longer work. Raises NotFound,
    Conflict if the address belongs to another worker by now."""

    def write(tx: Transaction) -> LoginChange:
        change, writing = _of_code(ctx, tx, code), RecordWriter(ctx, tx)
        _require_free(writing, change)
        # The main address must be the one that counts when it is set.
        login_changes.request(tx, LoginChange(change.worker_id, change.new_email, change.new_email))
        _set_main(writing, change.new_email, change.worker_id)
        login_changes.cancel(tx, change.worker_id)
        password_links.use_up(tx, change.worker_id)
        log(writing, "changed", change)
        return change

    return ctx.service.store.write(write)


@job(KIND, N_("Sends the emails about a new sign-in address"))
def _send_mails(service: Service, payload: dict[str, Any], now: int) -> None:
    """Mails a link to the new address and a notice to the present one."""
    ctx, worker_id = own_context(service), int(payload["worker_id"])
    spoken = catalogs.worker_catalog(service, worker_id)
    confirm = ServiceMail(CONFIRM_SUBJECT, CONFIRM_TEXT, spoken)
    notice = ServiceMail(NOTICE_SUBJECT, NOTICE_TEXT, spoken)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        change = login_changes.waiting(tx, worker_id)
        if change is None or change.new_email != payload["new_email"]:
            return  # canceled, or replaced by a change that sends its own mails
        values = {"by": payload["by"], "new": change.new_email, "email": change.email}
        with_link = {**values, "link": late_links.address(ctx, LOGIN_ADDRESS), "days": CONFIRM_SECONDS // 86400}
        draft_id = password_change.send_to(writing, change.new_email, confirm, with_link)
        late_links.register(tx, draft_id, worker_id, CONFIRM_SECONDS, LOGIN_ADDRESS)
        password_change.send_to(writing, change.email, notice, values)

    service.store.write(write)


def _of_code(ctx: Context, tx: Transaction, code: str) -> LoginChange:
    change = login_changes.of_code(tx, code, ctx.now)
    if change is None or change.worker_id != ctx.actor.worker_id:
        raise NotFound(GONE)
    return change


def _waiting(writing: RecordWriter, worker_id: int) -> LoginChange:
    change = login_changes.waiting(writing.tx, worker_id)
    if change is None:
        raise NotFound("no change of the sign-in address is waiting to be confirmed")
    return change


def _worker(writing: RecordWriter, worker_id: int) -> Record:
    worker = writing.record(WORKER, worker_id)
    if worker is None:
        raise NotFound(f"there is no worker {worker_id}")
    return worker


def _require_free(writing: RecordWriter, change: LoginChange) -> None:
    """Raises Conflict for an address that a worker must not have, before a link is mailed to it."""
    address = writing.find("address", email=change.new_email)
    identity.require_free(writing, "email", change.new_email, address, change.worker_id)


def _set_main(writing: RecordWriter, email: str, worker_id: int) -> None:
    """Uses the rights of the service, since workers may not change their records."""
    ctx = writing.ctx.as_actor(lent(writing.actor), writing.ctx.tz)
    record_type = writing.registry.type(WORKER)
    RecordWriter(ctx, writing.tx).update_sent(record_type, worker_id, {"email": email})


def _require_own_or_admin(ctx: Context, worker_id: int) -> None:
    if ctx.actor.worker_id != worker_id and not ctx.actor.is_admin:
        raise AdminOnly("only administrators may look after the sign-in address of somebody else")
