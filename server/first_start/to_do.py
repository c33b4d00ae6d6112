"""Suggestions for a new service, for administrators. Each item is ticked when the database shows that it was done, and
stays ticked; a worker can hide the list."""

from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formataddr, formatdate
from typing import Any

from server import mailroom
from server.access.service_actor import own_context
from server.access.tokens import TOKEN
from server.apps import own_tokens
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Unavailable
from server.first_start import demo
from server.mail.mail_bytes import new_message_id
from server.mailroom import Receipt
from server.outbox.sender import default_sender
from server.packages.library import PACKAGE_IMPORT
from server.people import profile
from server.records import service_settings
from server.records.reading import RecordReader
from server.settings import Settings
from server.store.statements import slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

KEY = "started"  # names of the items that were ever ticked
SUBJECT = "Is this a helpdesk?"
TEXT = "Hello,\n\nthis is a test ticket that you sent to yourself. Answer it, move it, close it.\n"

PUT_AWAY = Table(
    "start_list_put_away", [Column("worker_id", references="worker(id)"), Column("at")], key=("worker_id",)
)


@dataclass(frozen=True, slots=True)
class Item:
    """A suggestion. is_done: whether any worker has done it."""

    name: str
    is_done: bool


def list_items(ctx: Context) -> list[Item]:
    """Returns the items in order; [] for workers who hid the list, and for workers who are not administrators. Stores
    newly done items."""
    if not ctx.actor.is_admin:
        return []
    store, settings = ctx.service.store, ctx.service.settings

    def read(tx: Transaction) -> tuple[bool, set[str], set[str]]:
        if tx.first(PUT_AWAY, worker_id=ctx.actor.worker_id) is not None:
            return True, set(), set()
        ticked = set(service_settings.get(tx, KEY, []))
        return False, ticked, {name for name, fact in FACTS.items() if name not in ticked and fact(tx, settings)}

    is_away, ticked, new = store.read(read)
    if is_away:
        return []
    if new:
        with suppress(Unavailable):  # a full disk must not prevent reading the list
            store.write(lambda tx: service_settings.put(tx, KEY, sorted({*service_settings.get(tx, KEY, []), *new})))
    return [Item(name, name in ticked or name in new) for name in FACTS]


def put_away(ctx: Context) -> None:
    """Hides the list from the caller."""
    ctx.service.store.write(lambda tx: tx.put(PUT_AWAY, {"worker_id": ctx.actor.worker_id, "at": ctx.now}))


def bring_back(ctx: Context) -> None:
    """Shows the list to the caller again."""
    ctx.service.store.write(lambda tx: tx.delete(PUT_AWAY, worker_id=ctx.actor.worker_id))


def send_test_ticket(ctx: Context) -> Receipt:
    """Creates a ticket from a mail of the caller. Raises AdminOnly, Invalid for a worker without an address."""
    ctx.require_admin("send a test ticket")
    email, store = profile.own_record(ctx)["email"], ctx.service.store
    if not email:
        raise Invalid("you have no email address; set one in your account first")
    to = store.read(lambda tx: (RecordReader(ctx, tx).record("address", default_sender(tx)) or {}).get("email", ""))
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Date"] = formataddr((ctx.actor.name, email)), SUBJECT, formatdate(ctx.now)
    mail["To"] = to or email
    mail["Message-ID"] = f"<{new_message_id(email.rpartition('@')[2])}>"
    mail.set_content(TEXT)
    return mailroom.receive(own_context(ctx.service), mail.as_bytes())


def _has_ticket(tx: Transaction, settings: Settings) -> bool:
    """Whether there is a ticket outside the demo."""
    return demo.has_other_tickets(tx)


def _has_token(tx: Transaction, settings: Settings) -> bool:
    """Whether a worker has created a token; those of the API page do not count."""
    table: Any = TOKEN.sql
    return (
        tx.value(
            lambda: table.select(table.id).where(table.kind == "access", table.label != slot(0)).limit(1),
            (own_tokens.LABEL,),
        )
        is not None
    )


def _has_package(tx: Transaction, settings: Settings) -> bool:
    """Whether a worker has imported a package; the starter package does not count."""
    table: Any = PACKAGE_IMPORT.sql
    return tx.value(lambda: table.select(table.id).where(table.worker_id > 0).limit(1)) is not None


def _has_colleague(tx: Transaction, settings: Settings) -> bool:
    """Whether there is a worker besides the first one and those of the demo."""
    worker, of_demo = table_named("worker"), len(demo.record_ids(tx).get("worker", ()))
    return len(tx.rows(lambda: worker.select(worker.c.id).limit(slot(0)), (of_demo + 2,))) > of_demo + 1


def _has_backups(tx: Transaction, settings: Settings) -> bool:
    return bool(settings.backup_folder or settings.database)  # PostgreSQL is backed up elsewhere


def _has_mailbox(tx: Transaction, settings: Settings) -> bool:
    """Whether email arrives, from a mailbox or from a mail server."""
    mailbox = table_named("mailbox")
    has_listener = bool(settings.lmtp_host or settings.lmtp_socket)
    return has_listener or tx.value(lambda: mailbox.select(mailbox.c.id).limit(1)) is not None


FACTS: dict[str, Callable[[Transaction, Settings], bool]] = {
    "mailbox": _has_mailbox,
    "ticket": _has_ticket,
    "token": _has_token,
    "package": _has_package,
    "worker": _has_colleague,
    "backups": _has_backups,
}
