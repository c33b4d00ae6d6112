"""Mail with a secret link, to set a password, to confirm a sign-in address, to accept an invitation, and of kinds that
later rooms declare. The code of the link is created when the mail is sent, so that no waiting draft, backup or deleted
row contains it. At that time the link must still be valid for the recipient.

A mail that is sent again gets a new code, and the former one no longer works; later rooms may sign a lasting one."""

from collections.abc import Callable
from dataclasses import replace

from server.access import password_links
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.mail.mail_bytes import OutgoingMail
from server.people import login_changes
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.sign_in import invitation_links
from server.store.tables import Column, Table
from server.store.transaction import Transaction

PASSWORD, LOGIN_ADDRESS, INVITATION = "password", "login address", "invitation"
CODE = "one-time-code"  # stands for the code in a draft; always a part of a link
FORMER_CODE = "***"  # in drafts of earlier versions
LATE_LINK = Table(
    "draft_late_link",
    [
        Column("draft_id", references="draft(id)"),
        Column("worker_id"),
        Column("seconds"),
        Column("kind", "TEXT", PASSWORD),
        Column("invitation_id"),
        Column("record_id"),
    ],
    key=("draft_id",),
)  # seconds: the validity of the link after the mail is sent. record_id: of the record that a declared kind is about


@dataclass(frozen=True, slots=True)
class LateLink:
    """The link of a draft. worker_id: 0 for an invitation, whose worker does not exist yet, and for records."""

    draft_id: int
    worker_id: int
    seconds: int
    kind: str
    invitation_id: int
    record_id: int = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of link. path: of its page. code: creates the code of a link, for mail to this address. Raises Invalid if
    the link is no longer valid for that address."""

    path: str
    code: Callable[[RecordWriter, LateLink, str], str]


def address(ctx: Context, kind: str = PASSWORD) -> str:
    """Returns the link as it stands in a draft."""
    return f"{ctx.service.base_url}{_KINDS[kind].path}{CODE}"


def register(tx: Transaction, draft_id: int, worker_id: int, seconds: int, kind: str = PASSWORD) -> None:
    """Registers a draft that gets a link of this worker when it is sent."""
    tx.put(LATE_LINK, {"draft_id": draft_id, "worker_id": worker_id, "seconds": seconds, "kind": kind})


def register_invitation(tx: Transaction, draft_id: int, invitation_id: int) -> None:
    """Registers a draft that gets the link of an invitation when it is sent."""
    row = {"worker_id": 0, "seconds": invitation_links.VALID_SECONDS, "kind": INVITATION}
    tx.put(LATE_LINK, {"draft_id": draft_id, "invitation_id": invitation_id, **row})


def declare(kind: str, path: str, code: Callable[[RecordWriter, LateLink, str], str]) -> None:
    """Declares a kind of link. path: of its page, below any address. code: creates the code of a link, for mail to this
    address."""
    _KINDS[kind] = _Kind(path, code)


def register_record(tx: Transaction, draft_id: int, kind: str, record_id: int) -> None:
    """Registers a draft that gets the link of a declared kind about a record when it is sent."""
    tx.put(LATE_LINK, {"draft_id": draft_id, "worker_id": 0, "seconds": 0, "kind": kind, "record_id": record_id})


def fill_link(ctx: Context, draft_id: int, outgoing: OutgoingMail) -> OutgoingMail:
    """Returns the mail of a draft with its code, if it has a link. Raises Invalid if the worker is deleted, or the link
    must no longer go to that address."""
    store = ctx.service.store
    row = store.read(lambda tx: tx.first(LATE_LINK, draft_id=draft_id))
    if row is None:
        return outgoing
    link, to = LateLink(*row), ", ".join(email.lower() for _, email in outgoing.to)
    kind = _KINDS[link.kind]
    code = store.write(lambda tx: kind.code(RecordWriter(ctx, tx), link, to))

    def filled(text: str) -> str:
        return text.replace(kind.path + CODE, kind.path + code).replace(kind.path + FORMER_CODE, kind.path + code)

    return replace(outgoing, text=filled(outgoing.text), html=None if outgoing.html is None else filled(outgoing.html))


def _password_code(writing: RecordWriter, link: LateLink, to: str) -> str:
    worker = _worker(writing, link)
    if to != login_changes.counting(writing, worker):
        raise Invalid(f"{to} is no longer the sign-in address of this worker; drop the email")
    return password_links.create(writing.tx, link.worker_id, writing.now, link.seconds)


def _login_code(writing: RecordWriter, link: LateLink, to: str) -> str:
    _worker(writing, link)
    change = login_changes.waiting(writing.tx, link.worker_id)
    if change is None or to != change.new_email:
        raise Invalid(f"{to} is no longer waiting to be confirmed; drop the email")
    return login_changes.new_code(writing.tx, change, writing.now + link.seconds)


def _invitation_code(writing: RecordWriter, link: LateLink, to: str) -> str:
    invitation = invitation_links.get(writing.tx, link.invitation_id)
    if invitation is None or invitation.outcome or to != invitation.email:
        raise Invalid(f"the invitation of {to} was accepted or withdrawn; drop the email")
    return invitation_links.new_code(writing.tx, invitation.id, writing.now)


def _worker(writing: RecordWriter, link: LateLink) -> Record:
    worker = writing.record("worker", link.worker_id)
    if worker is None:
        raise Invalid("the worker of this link no longer exists; drop the email")
    return worker


_KINDS = {
    PASSWORD: _Kind("/reset/", _password_code),
    LOGIN_ADDRESS: _Kind("/confirm-address/", _login_code),
    INVITATION: _Kind("/join/", _invitation_code),
}
