"""How mail comes and goes, as administrators set it up: the default sender, sender addresses, a mail to try a
transport, a look at a mailbox. Transports and mailboxes themselves are records. Source: ours."""

from dataclasses import dataclass

from server.context import Context
from server.desk import service_settings
from server.desk.mailboxes import due
from server.desk.outbox.deliver import Loaded, hand_over
from server.desk.outbox.sender import Way, default_sender
from server.desk.service_settings import DEFAULT_SENDER, DEFAULT_TRANSPORT
from server.desk.writing import RecordWriter
from server.errors import AdminOnly, Invalid, NotFound, Unavailable
from server.mail.addresses import valid
from server.mail.compose import Outgoing, new_message_id
from server.records.base import Record
from server.settings import VERSION
from server.store.transaction import Transaction

SUBJECT = "A mail to try this"
TEXT = "Mail from this helpdesk arrives. {name} sent this from the console, through {transport}.\n"
MAX_SENDERS = 500  # addresses that are listed


@dataclass(frozen=True, slots=True)
class Sender:
    """An address that mail comes from. transport: the name of its own mail transport, "" for the default one."""

    id: int
    email: str
    transport_id: int
    transport: str
    is_default: bool


def defaults(ctx: Context) -> tuple[int, int]:
    """The ids of the default sender and of the default mail transport; 0 for none. Raises AdminOnly."""
    _require_admin(ctx)
    return ctx.service.store.read(_defaults)


def senders(ctx: Context) -> list[Sender]:
    """The addresses that mail comes from: the default one, then those with a mail transport. Raises AdminOnly."""
    _require_admin(ctx)
    registry = ctx.service.registry

    def read(tx: Transaction) -> list[Sender]:
        reading = RecordWriter(ctx, tx)
        default = default_sender(tx)
        ids = reading.search_ids("address", "mailTransport.id:>0")[:MAX_SENDERS]
        table = registry.type("address").table
        found = [registry.type("address").record(row) for row in tx.get_many(table, {default, *ids})]
        transports = {each["id"]: str(each["name"]) for each in (
            registry.type("mail_transport").record(row) for row in tx.get_many(
                registry.type("mail_transport").table, {each["mail_transport_id"] for each in found})
        )}  # fmt: skip
        listed = [
            Sender(each["id"], each["email"], each["mail_transport_id"],
                   transports.get(each["mail_transport_id"], ""), each["id"] == default)
            for each in found
        ]  # fmt: skip
        return sorted(listed, key=lambda each: (not each.is_default, each.email))

    return ctx.service.store.read(read)


def set_sender(ctx: Context, email: str, transport_id: int, is_default: bool) -> None:
    """Let mail come from an address, through a transport, 0 for the default one. The address is made when there is
    none. is_default: it becomes the sender where neither bucket nor group names one.

    Raises AdminOnly, Invalid for what is no mail address and for one that would change nothing."""
    _require_admin(ctx)
    text = email.strip().lower()
    if not valid(text):
        raise Invalid(f"'{text[:100]}' is not a mail address; use name@host", field="email")

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        _require_transport(writing, transport_id)
        if not transport_id and not is_default:
            raise Invalid("choose a mail transport for the address, or make it the default sender", field="transport")
        record_type, found = writing.registry.type("address"), writing.find("address", email=text)
        if found is None:
            id = writing.create_sent(record_type, {"email": text, "mail_transport_id": str(transport_id)})
        else:
            id = int(found["id"])
            if found["mail_transport_id"] != transport_id:
                writing.update_sent(record_type, id, {"mail_transport_id": str(transport_id)})
        if is_default:
            service_settings.put(tx, DEFAULT_SENDER, id)

    ctx.service.store.write(write)


def unset_sender(ctx: Context, address_id: int) -> None:
    """Take its own transport from an address. Raises AdminOnly, NotFound."""
    _require_admin(ctx)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.update_sent(writing.registry.type("address"), address_id, {"mail_transport_id": "0"})

    ctx.service.store.write(write)


def set_default_transport(ctx: Context, transport_id: int) -> None:
    """The transport for senders that have none of their own; 0 for none. Raises AdminOnly, Invalid."""
    _require_admin(ctx)

    def write(tx: Transaction) -> None:
        _require_transport(RecordWriter(ctx, tx), transport_id)
        service_settings.put(tx, DEFAULT_TRANSPORT, transport_id)
        if ctx.service.wake_scheduler is not None:  # mail may have waited for it
            tx.after_commit(ctx.service.wake_scheduler)

    ctx.service.store.write(write)


def send_test(ctx: Context, transport_id: int, recipient: str) -> str:
    """Send a short mail through a transport, now; answers the address that it came from. Nothing of it is kept.

    Raises AdminOnly, Invalid, NotFound; TransportFailed in the words of the mail server."""
    _require_admin(ctx)
    to = recipient.strip()
    if not valid(to):
        raise Invalid(f"'{to[:100]}' is not a mail address; use name@host", field="recipient")

    def read(tx: Transaction) -> tuple[Record, str]:
        reading = RecordWriter(ctx, tx)
        transport = reading.record("mail_transport", transport_id)
        if transport is None:
            raise NotFound(f"there is no mail transport {transport_id} any more")
        own = reading.search_ids("address", f"mailTransport.id:{transport_id}")
        sender = reading.record("address", own[0] if own else default_sender(tx))
        if sender is None:
            raise Unavailable("there is no sender address; set one first")
        return transport, str(sender["email"])

    transport, sender = ctx.service.store.read(read)
    mail = Outgoing(
        message_id=new_message_id(sender.rpartition("@")[2]), date=ctx.now, tz=ctx.tz, from_name="",
        from_address=sender, to=(("", to),), subject=SUBJECT, installation=ctx.service.installation, version=VERSION,
        text=TEXT.format(name=ctx.actor.name, transport=transport["name"]),
    )  # fmt: skip
    way = Way(transport["id"], transport["extension_id"], transport["params"])
    hand_over(ctx.service, Loaded(mail, (to,), sender, way, 0), way)
    return sender


def check_mailbox(ctx: Context, mailbox_id: int) -> None:
    """Let a mailbox be looked at now, by the scheduler. Raises AdminOnly, NotFound, Invalid for one that is off."""
    _require_admin(ctx)

    def write(tx: Transaction) -> None:
        box = RecordWriter(ctx, tx).record("mailbox", mailbox_id)
        if box is None:
            raise NotFound(f"there is no mailbox {mailbox_id} any more")
        if not box["is_enabled"]:
            raise Invalid("the mailbox is switched off; switch it on first")
        due.add(tx, [mailbox_id], ctx.now)
        if ctx.service.wake_scheduler is not None:
            tx.after_commit(ctx.service.wake_scheduler)

    ctx.service.store.write(write)


def _defaults(tx: Transaction) -> tuple[int, int]:
    return default_sender(tx), int(service_settings.get(tx, DEFAULT_TRANSPORT, 0) or 0)


def _require_transport(reading: RecordWriter, id: int) -> None:
    if id and reading.record("mail_transport", id) is None:
        raise Invalid(f"there is no mail transport {id}; choose one of the list", field="transport")


def _require_admin(ctx: Context) -> None:
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may set up mail")
