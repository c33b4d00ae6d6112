"""Mail settings for administrators: the default sender, sender addresses, test mails and mailbox checks.

Transports and mailboxes themselves are records."""

from collections.abc import Mapping, Sequence

from server.context import Context
from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import HelpdeskError, Invalid, NotFound, Required, Unavailable
from server.mail import dialogue, inboxes
from server.mail.inboxes import InboxFailed, Login
from server.mail.mail_bytes import OutgoingMail, new_message_id
from server.mail.transports import SMTP, TransportFailed, transport
from server.mailroom import routing
from server.mailroom.mailboxes import checking, due_mailboxes
from server.mailroom.types.mailbox_parts.fetch_columns import MAILBOX_LOOK
from server.outbox import holds
from server.outbox.default_transport import choose, default_transport
from server.outbox.deliver import ReadyMail, hand_over
from server.outbox.sender import SERVICE, TransportChoice, default_sender
from server.record_types.record_type import Record
from server.record_types.shared.named_records import address_in
from server.records import records, service_settings
from server.records.reading import RecordReader
from server.records.service_settings import DEFAULT_SENDER
from server.records.writing import RecordWriter
from server.settings import VERSION
from server.store.transaction import Transaction
from server.translation import _

DOING = "set up mail"  # allowed to administrators only

SUBJECT = "Test email"
TEXT = "Email from this helpdesk arrives. {name} sent this from the console, through {transport}.\n"
MAX_SENDERS = 500  # addresses in the list
HOSTS = 20  # host names of sender addresses in the list


class TestFailed(Unavailable):
    """A mail server did not pass the test. dialogue: the conversation with it, line by line."""

    __test__ = False  # not a test class for pytest

    def __init__(self, message: str, dialogue: Sequence[str]) -> None:
        super().__init__(message)
        self.dialogue = tuple(dialogue)


def dialogue_of(error: HelpdeskError) -> tuple[str, ...]:
    """The conversation with a mail server that did not pass a test, () for another error."""
    return error.dialogue if isinstance(error, TestFailed) else ()


@dataclass(frozen=True, slots=True)
class SenderAddress:
    """A sender address. transport: the name of its own mail transport, "" for the default one."""

    id: int
    email: str
    transport_id: int
    transport: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class Route:
    """The bucket or group that gets mail to an address, "" for all other addresses. uri: bucket or group."""

    email: str
    uri: str
    id: int
    label: str


def defaults(ctx: Context) -> tuple[int, int]:
    """The ids of the default sender and of the default mail transport; 0 for none. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(_defaults)


def senders(ctx: Context) -> list[SenderAddress]:
    """The sender addresses: the default one, then those with a mail transport, and those of groups and buckets. Raises
    AdminOnly."""
    ctx.require_admin(DOING)
    registry = ctx.service.registry

    def read(tx: Transaction) -> list[SenderAddress]:
        reading = RecordReader(ctx, tx)
        default = default_sender(tx)
        ids = reading.search_ids("address", "mailTransport.id:>0")[:MAX_SENDERS]
        table = registry.type("address").table
        chosen = {default, *ids, *_reply_addresses(reading)} - {0}
        addresses = [registry.type("address").record(row) for row in tx.get_many(table, chosen)]
        transports = {
            each["id"]: str(each["name"])
            for each in (
                registry.type("mail_transport").record(row)
                for row in tx.get_many(
                    registry.type("mail_transport").table, {each["mail_transport_id"] for each in addresses}
                )
            )
        }
        result = [
            SenderAddress(
                each["id"],
                each["email"],
                each["mail_transport_id"],
                transports.get(each["mail_transport_id"], ""),
                each["id"] == default,
            )
            for each in addresses
        ]
        return sorted(result, key=lambda each: (not each.is_default, each.email))

    return ctx.service.store.read(read)


def sender_choices(ctx: Context) -> tuple[str, str]:
    """The default sender, "" for none, and the search of the addresses that can send: those with a transport, and with
    a default transport those at the hosts of all senders. Raises AdminOnly."""
    addresses = senders(ctx)
    default = next((each.email for each in addresses if each.is_default), "")
    hosts = sorted({each.email.rpartition("@")[2] for each in addresses if not each.email.endswith("]")})
    with_transport = "mailTransport.id:>0"
    if not hosts or not defaults(ctx)[1]:
        return default, with_transport
    return default, f"({with_transport} OR (worker.id:0 host:[{','.join(hosts[:HOSTS])}]))"


def _reply_addresses(reading: RecordReader) -> set[int]:
    """The ids of the addresses that groups and buckets send from."""
    types = (reading.registry.type(uri) for uri in ("group", "bucket"))
    return {each.record(row)["reply_address_id"] for each in types for row in reading.tx.find(each.table)}


def routes(ctx: Context) -> list[Route]:
    """The routes of incoming mail, by recipient address. The last one, with the address "", is the default group for
    all other mail. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> list[Route]:
        reading = RecordReader(ctx, tx)
        by_address = routing.routes(reading)
        addresses = reading.registry.type("address")
        emails = {row[0]: addresses.record(row)["email"] for row in tx.get_many(addresses.table, set(by_address))}
        labels: dict[tuple[str, int], str] = {}
        for uri in ("bucket", "group"):
            record_type = reading.registry.type(uri)
            rows = tx.get_many(record_type.table, {id for kind, id in by_address.values() if kind == uri})
            labels |= {(uri, row[0]): record_type.label(record_type.record(row)) for row in rows}
        result = [
            Route(emails[address], uri, id, labels[uri, id])
            for address, (uri, id) in by_address.items()
            if address in emails and (uri, id) in labels
        ]
        default = reading.find("group", is_default=1)
        rest = [Route("", "group", default["id"], str(default["name"]))] if default is not None else []
        return sorted(result, key=lambda each: each.email) + rest

    return ctx.service.store.read(read)


def set_sender(ctx: Context, email: str, transport_id: int, is_default: bool) -> None:
    """Configures a sender address with a transport, 0 for the default one. Creates the address if it does not exist.
    is_default: makes it the sender for buckets and groups without their own.

    Raises AdminOnly; Invalid if it is not a mail address, and for the default transport if there is none."""
    ctx.require_admin(DOING)
    text = address_in(email, "email")
    ctx.service.store.write(lambda tx: set_sender_of(RecordWriter(ctx, tx), text, transport_id, is_default=is_default))


def set_sender_of(writing: RecordWriter, email: str, transport_id: int, *, is_default: bool) -> None:
    """Configures a sender address as `set_sender` does, within a transaction."""
    tx = writing.tx
    _require_transport(writing, transport_id)
    if not (transport_id or is_default or default_transport(tx)):
        raise Invalid("choose a mail transport for the address, or make it the default sender", field="transport")
    record_type, address = writing.registry.type("address"), writing.find("address", email=email)
    if address is None:
        id = writing.create_sent(record_type, {"email": email, "mail_transport_id": str(transport_id)})
    else:
        id = int(address["id"])
        if address["mail_transport_id"] != transport_id:
            writing.update_sent(record_type, id, {"mail_transport_id": str(transport_id)})
    if is_default and (before := default_sender(tx)) != id:
        old = (writing.record("address", before) or {}).get("email", "")
        service_settings.log_change(writing, DEFAULT_SENDER, old, email)
        service_settings.put(tx, DEFAULT_SENDER, id)


def unset_sender(ctx: Context, address_id: int) -> None:
    """Removes the own transport of an address. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.update_sent(writing.registry.type("address"), address_id, {"mail_transport_id": "0"})

    ctx.service.store.write(write)


def set_default_transport(ctx: Context, transport_id: int) -> None:
    """Sets the transport for senders without their own; 0 for none. Raises AdminOnly, Invalid."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        _require_transport(writing, transport_id)
        choose(writing, transport_id)

    ctx.service.store.write(write)


def send_test(ctx: Context, transport_id: int, recipient: str) -> str:
    """Sends a short mail through a transport and returns its sender address. The mail is not stored.

    Raises AdminOnly, Invalid, NotFound; TestFailed with the mail server's words."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> tuple[Record, str]:
        reading = RecordReader(ctx, tx)
        transport = reading.record("mail_transport", transport_id)
        if transport is None:
            raise NotFound(f"mail transport {transport_id} no longer exists")
        own = reading.search_ids("address", f"mailTransport.id:{transport_id}")
        return transport, _sender(reading, own[0] if own else default_sender(tx))

    transport, sender = ctx.service.store.read(read)
    way = TransportChoice(transport["id"], transport["extension_id"], transport["params"])
    send_mail(ctx, way, transport["name"], sender, recipient)
    ctx.service.store.write(lambda tx: _log_test(RecordWriter(ctx, tx), transport_id, recipient.strip()))
    return sender


def add_server(ctx: Context, name: str, params: dict[str, str], recipient: str, is_untried: bool = False) -> None:
    """Adds an SMTP server as the default mail transport, once it accepted a test mail. is_untried: adds it without a
    test.

    Raises AdminOnly; Invalid at the field that is wrong; TestFailed, and then nothing is stored."""
    ctx.require_admin(DOING)
    transport(SMTP).settings_from(params)
    if not is_untried:
        sender = ctx.service.store.read(lambda tx: _sender(RecordReader(ctx, tx), default_sender(tx)))
        send_mail(ctx, TransportChoice(0, SMTP, dict(params)), name, sender, recipient)
    transport_record = records.create(
        ctx, "mail_transport", {"name": name, "extension_id": SMTP, "params": dict(params)}
    )
    set_default_transport(ctx, transport_record["id"])


def _log_test(writing: RecordWriter, transport_id: int, recipient: str) -> None:
    values = {"target": writing.label("mail_transport", transport_id), "recipient": recipient}
    writing.log("mail.tested", writing.registry.type("mail_transport").context, transport_id, values)


def add_mailbox(ctx: Context, fields: Mapping[str, str], is_untried: bool = False) -> None:
    """Adds a mailbox named after its user, once it could be opened. is_untried: adds it without opening it. fields: of
    the record; a blank port is the usual one of the protocol.

    Raises AdminOnly; Invalid at the field that is wrong; TestFailed, and then nothing is stored."""
    ctx.require_admin(DOING)
    fields = {**fields, "name": fields["username"], "port": fields["port"] or inboxes.usual_port(fields["protocol"])}
    if whole_in(fields["port"], 1, 65_535) is None:
        raise Invalid(_("the port must be a number from 1 to 65535"), field="port")
    if not fields["host"]:
        raise Required(_("enter the name of the mail server"), field="host")
    if not fields["username"]:
        raise Required(_("enter the user name"), field="username")
    if not is_untried:
        with dialogue.recorded() as said:
            try:
                login = Login(
                    fields["protocol"],
                    fields["host"],
                    int(fields["port"]),
                    fields["username"],
                    fields["password"],
                    timeout_seconds=ctx.service.settings.mail_timeout_seconds,
                    is_kept=True,
                )
                with inboxes.connect(login):
                    pass
            except InboxFailed as error:
                raise TestFailed(error.message, said.lines) from error
    records.create(ctx, "mailbox", dict(fields))


def _sender(reading: RecordReader, id: int) -> str:
    address = reading.record("address", id)
    if address is None:
        raise Unavailable("there is no sender address; set one first")
    return str(address["email"])


def send_mail(ctx: Context, way: TransportChoice, name: str, sender: str, recipient: str) -> None:
    """Sends the test mail. Raises Invalid for a recipient that is not an address, TestFailed with the dialogue."""
    to = address_in(recipient, "recipient")
    mail = OutgoingMail(
        message_id=new_message_id(sender.rpartition("@")[2]),
        date=ctx.now,
        tz=ctx.tz,
        from_name=SERVICE,
        from_address=sender,
        to=(("", to),),
        subject=SUBJECT,
        installation=ctx.service.installation,
        version=VERSION,
        text=TEXT.format(name=ctx.actor.name, transport=name),
    )
    with dialogue.recorded() as said:
        try:
            hand_over(ctx, ReadyMail(mail, (to,), sender, way, 0), way)
        except TransportFailed as error:
            raise TestFailed(error.message, said.lines) from error


def check_mailbox(ctx: Context, mailbox_id: int) -> None:
    """Opens a mailbox, and schedules fetching its mail.

    Raises AdminOnly, NotFound, Invalid for a disabled one, TestFailed with the conversation if it cannot be opened."""
    ctx.require_admin(DOING)
    store = ctx.service.store
    box = store.read(lambda tx: RecordReader(ctx, tx).record("mailbox", mailbox_id))
    if box is None:
        raise NotFound(f"mailbox {mailbox_id} no longer exists")
    if not box["is_enabled"]:
        raise Invalid("the mailbox is switched off; switch it on first")
    with dialogue.recorded() as said:
        try:
            _login, inbox = checking.open_mailbox(ctx, box)
            with inbox:
                pass
        except HelpdeskError as error:
            raise TestFailed(error.message, said.lines) from error

    def write(tx: Transaction) -> None:
        due_mailboxes.add(tx, [mailbox_id], ctx.now)
        writing = RecordWriter(ctx, tx)
        target = {"target": writing.label("mailbox", mailbox_id)}
        writing.log("mailbox.checked", writing.registry.type("mailbox").context, mailbox_id, target)
        ctx.service.wake_after(tx)

    store.write(write)


def uses_of_account(ctx: Context, account_id: int) -> list[tuple[str, int, str]]:
    """The mailboxes and mail transports that sign in with a connected account: (type, id, name). Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _uses(RecordReader(ctx, tx), account_id))


def resume_account(ctx: Context, account_id: int) -> None:
    """Fetches and sends mail again after an account was reconnected. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        for uri, id, _name in _uses(writing, account_id):
            if uri == "mail_transport":
                holds.release_transport(writing, id)
                continue
            box = writing.record(uri, id)
            if box is not None and box["is_enabled"]:
                writing.set(uri, id, {"num_fails": 0, "last_error": ""})
                due_mailboxes.add(tx, [id], ctx.now)
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def _uses(reading: RecordReader, account_id: int) -> list[tuple[str, int, str]]:
    account = reading.record("connected_account", account_id)
    names = {str(account_id), *([account["uri"]] if account is not None and account["uri"] else [])}
    uses = []
    for uri in ("mailbox", "mail_transport"):
        record_type = reading.registry.type(uri)
        for record in (record_type.record(row) for row in reading.tx.find(record_type.table)):
            used = (
                record["connected_account_id"]
                if uri == "mailbox"
                else (record["params"] or {}).get("connected_account")
            )
            if str(used or "") in names:
                uses.append((uri, int(record["id"]), str(record["name"])))
    return uses


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """When a mailbox is checked next, 0 for never; when mail last arrived, and since when it fails, 0 if it does not.
    Unix seconds."""

    next_at: int = 0
    arrived_at: int = 0
    failing_since: int = 0


def looks(ctx: Context) -> dict[int, MailboxStatus]:
    """{id of a mailbox: the status of its checks}. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> dict[int, MailboxStatus]:
        states = {row[0]: (row[1], row[2]) for row in tx.find(MAILBOX_LOOK)}
        next_at = {id: at for at, id in due_mailboxes.dates(tx, ctx.now, ctx.service.settings.mailbox_poll_seconds)}
        return {id: MailboxStatus(max(next_at.get(id, 0), 0), *states.get(id, (0, 0))) for id in {*states, *next_at}}

    return ctx.service.store.read(read)


def _defaults(tx: Transaction) -> tuple[int, int]:
    return default_sender(tx), default_transport(tx)


def _require_transport(reading: RecordWriter, id: int) -> None:
    if id and reading.record("mail_transport", id) is None:
        raise Invalid(f"there is no mail transport {id}; choose one from the list", field="transport")
