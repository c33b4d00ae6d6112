"""Changes of passwords: by their worker, or by a one-time link that was mailed."""

from typing import Any

from server.access import actor as actors
from server.access import known_devices, lockout, password_links, sessions
from server.access.service_actor import own_context
from server.access.sessions import Session
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, NotFound
from server.jobs.job_queue import JobQueue, job
from server.people import login_changes
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import GENERATED, LETTER, TRANSACTIONAL
from server.records import catalogs
from server.records.writing import RecordWriter
from server.sign_in import late_links
from server.sign_in.sign_in import WORKER, Peer, attempt_keys, require_password, require_password_way, worker_with
from server.store.transaction import Transaction
from server.translation import N_, Catalog, Words, _, shown_mark, speaking

KIND = "password.link"
GONE = "this link was used, replaced or has expired; request a new one"
SUBJECT = N_("Set a new password")
TEXT = N_("""\
Somebody, hopefully you, asked to set a new password for {email}.

Open this address to choose one. It works once, for {minutes} minutes:

{link}

If it was not you, ignore this email: your password stays as it is.
""")


@dataclass(frozen=True, slots=True)
class ServiceMail:
    """A mail of the service in the language of its worker."""

    subject: Words
    text: Words
    language: Catalog

    def subject_line(self, values: dict[str, Any]) -> str:
        """The subject in that language."""
        with speaking(self.language):
            return _(self.subject, **values)

    def content(self, values: dict[str, Any]) -> str:
        """Returns the text in that language, with the values of its placeholders; values marked by N_ are translated as
        well."""
        with speaking(self.language):
            return _(self.text, **{name: shown_mark(value) for name, value in values.items()})


def change(ctx: Context, session: Session, current: str, new: str, peer: Peer) -> str:
    """Changes the caller's password and ends all other sessions. Returns the session's new id. Takes as long as two
    hashes. Raises NotAuthenticated, TooMany, Invalid for a password that is too short."""
    worker_id = session.actor.worker_id
    require_password(ctx, worker_id, current)
    fields = _prepared(ctx.service, new)

    def write(tx: Transaction) -> str:
        device_id = known_devices.find(tx, worker_id, peer.known, ctx.now)
        _set(ctx, tx, worker_id, fields)
        sessions.end_all(tx, worker_id, but=session.id)
        known_devices.vouch(tx, worker_id, device_id)
        return sessions.renew(tx, session, ctx.now)

    return ctx.service.store.write(write)


def ask_for_link(ctx: Context, email: str, peer: Peer) -> None:
    """Mails a password link to a worker. Neither the response nor its time shows whether there is such a worker. Raises
    TooMany."""
    store = ctx.service.store
    require_password_way(ctx)
    worker_id = store.read(lambda tx: worker_with(ctx, tx, email))
    by_whom = f"{email.strip()} {lockout.address(peer.client)}"  # requests by others must not delay this one
    keys = attempt_keys(ctx, "link", by_whom, worker_id, peer)
    store.write(lambda tx: lockout.count(tx, keys, ctx.now))
    if not worker_id:
        return

    def write(tx: Transaction) -> None:
        if not lockout.has_left(tx, lockout.account("mailed link", str(worker_id)), ctx.now):
            return  # the last mailed link is still valid
        JobQueue.add(tx, KIND, ctx.now, {"worker_id": worker_id}, f"{KIND}:{worker_id}")
        ctx.service.wake_after(tx)

    store.submit(write, lambda pending: None)


@job(KIND, N_("Sends a link for choosing a password"))
def _send_link(service: Service, payload: dict[str, Any], now: int) -> None:
    """Sends the mail of a requested link. It is created in a job, so that the request takes the same time for every
    address."""
    ctx, worker_id = own_context(service), int(payload["worker_id"])
    spoken = catalogs.worker_catalog(service, worker_id)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        worker = writing.record("worker", worker_id)
        if worker is None or worker["is_disabled"] or worker["is_password_disabled"]:
            return
        seconds = password_links.LINK_SECONDS
        send_link(writing, worker, ServiceMail(SUBJECT, TEXT, spoken), seconds, {"minutes": seconds // 60})

    service.store.write(write)


def send_link(writing: RecordWriter, worker: Record, letter: ServiceMail, seconds: int, values: dict[str, Any]) -> None:
    """Mails a letter with a `link` to set a password, valid for `seconds`; see send."""
    draft_id = send(writing, worker, letter, {**values, "link": late_links.address(writing.ctx)})
    late_links.register(writing.tx, draft_id, worker["id"], seconds)


def send(writing: RecordWriter, worker: Record, letter: ServiceMail, values: dict[str, Any]) -> int:
    """Mails a letter to the address that a worker signs in with, which is its placeholder `email`; see send_to."""
    email = login_changes.counting(writing, worker)
    return send_to(writing, email, letter, {"email": email, **values})


def send_to_worker(service: Service, worker_id: int, subject: Words, text: Words, values: dict[str, Any]) -> None:
    """Queues a mail to a worker in their language, unless they are deactivated or deleted by now. values: as in
    send."""
    letter = ServiceMail(subject, text, catalogs.worker_catalog(service, worker_id))

    def write(tx: Transaction) -> None:
        writing = RecordWriter(own_context(service), tx)
        worker = writing.record("worker", worker_id)
        if worker is not None and not worker["is_disabled"]:
            send(writing, worker, letter, values)

    service.store.write(write)


def send_to(
    writing: RecordWriter,
    email: str,
    letter: ServiceMail,
    values: dict[str, Any],
    sender: str = "",
    *,
    is_generated: bool = False,
) -> int:
    """Queues a mail of the service; returns the id of its draft. values: for the placeholders of the letter. sender: a
    sender address, "" for the default one. is_generated: whether it marks itself as automatic."""
    ctx, subject = writing.ctx, letter.subject_line(values)
    params = {
        "to": email,
        "subject": subject,
        "content": letter.content(values),
        "format": LETTER,
        "language": letter.language.language,
        **({GENERATED: 1} if is_generated else {}),
        **({"from": sender} if sender else {}),
    }
    id = writing.create(
        "draft",
        {
            "type": TRANSACTIONAL,
            "name": subject,
            "to": email,
            "params": params,
            "is_queued": 1,
            "queue_delivery_date": ctx.now,
        },
    )
    writing.wake()
    return id


def worker_of_link(service: Service, code: str, now: int) -> int:
    """Returns the worker whose password a link may set. Raises NotFound if the link no longer works."""
    worker_id = service.store.read(lambda tx: password_links.worker_of(tx, code, now))
    if worker_id is None:
        raise NotFound(GONE)
    return worker_id


def set_by_link(ctx: Context, code: str, new: str) -> None:
    """Sets a password by a link, which is used up, and ends all sessions. Raises NotFound, Invalid, Forbidden."""
    require_password_way(ctx)
    fields = _prepared(ctx.service, new)

    def write(tx: Transaction) -> None:
        worker_id = password_links.worker_of(tx, code, ctx.now)
        if worker_id is None:
            raise NotFound(GONE)
        _set(ctx, tx, worker_id, fields)
        password_links.use_up(tx, worker_id)
        sessions.end_all(tx, worker_id)

    ctx.service.store.write(write)


def _prepared(service: Service, new: str) -> dict[str, Any]:
    if not new:
        raise Invalid("Choose a new password.", field="password")
    return service.registry.type("worker").before({"password": new})


def _set(ctx: Context, tx: Transaction, worker_id: int, fields: dict[str, Any]) -> None:
    """Sets the password with the rights of the service: the caller has been verified, and needs no rights on worker
    records."""
    own = ctx.as_actor(actors.lent(actors.worker(tx, worker_id) or ctx.actor), ctx.tz)
    RecordWriter(own, tx).update_sent(ctx.service.registry.type(WORKER), worker_id, fields)
