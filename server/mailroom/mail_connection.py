"""Connects a mailbox: its mailbox record, its mail transport and its sender address in one act, after both directions
were tested. A failed test stores nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import HelpdeskError, Invalid, Required
from server.mail import dialogue, inboxes
from server.mail.transports import SMTP, transport
from server.mailroom.mail_setup import DOING, TestFailed, send_mail, set_sender_of
from server.mailroom.mailboxes import checking, due_mailboxes
from server.outbox.sender import TransportChoice, open_transport
from server.record_types.record_type import Record
from server.record_types.shared.named_records import address_in
from server.records.reading import RecordReader
from server.records.service_settings import DEFAULT_SENDER, get
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import _

GRAPH_PROTOCOL, GRAPH_TRANSPORT = "graph", "svc.mail.transport.graph"
INCOMING, OUTGOING = "incoming", "outgoing"


class ConnectionTestFailed(TestFailed):
    """A direction did not pass its test. problems: {direction: the reason}."""

    def __init__(self, problems: Mapping[str, str], dialogue: tuple[str, ...]) -> None:
        super().__init__(" ".join(problems.values()), dialogue)
        self.problems = dict(problems)


@dataclass(frozen=True, slots=True)
class NewMailbox:
    """A mailbox to connect. address: the sender address. account_id: of the connected account whose token signs in in
    both directions, 0 for passwords. username: in both directions unless smtp_username is given. recipient: of a test
    mail, "" for none."""

    address: str
    protocol: str
    host: str
    port: str
    username: str
    password: str
    smtp_host: str
    smtp_port: str
    smtp_encryption: str
    smtp_username: str = ""
    smtp_password: str = ""
    account_id: int = 0
    is_mail_kept: bool = True
    is_default: bool = False
    recipient: str = ""


@dataclass(frozen=True, slots=True)
class ConnectedMailbox:
    """The records of a connected mailbox. is_new: whether they were created, rather than updated. dialogue: of the
    test."""

    mailbox_id: int
    transport_id: int
    is_new: bool
    dialogue: tuple[str, ...]


def connect_mailbox(ctx: Context, new: NewMailbox) -> ConnectedMailbox:
    """Tests both directions, then creates or updates mailbox, transport and sender address, and fetches mail.

    Raises AdminOnly; Invalid at the field that is wrong; ConnectionTestFailed with the dialogue. Nothing is stored
    then."""
    ctx.require_admin(DOING)
    new = replace(new, address=address_in(new.address, "address"))
    box, extension_id, params = _box(new), _extension(new), _params(new)
    _check_params(extension_id, params)
    lines = _test(ctx, new, box, TransportChoice(0, extension_id, params))

    def write(tx: Transaction) -> ConnectedMailbox:
        writing = RecordWriter(ctx, tx)
        transport_id, is_new_transport = _store_transport(writing, new, extension_id, params)
        mailbox_id, is_new_box = _store_mailbox(writing, box)
        set_sender_of(writing, new.address, transport_id, is_default=new.is_default)
        due_mailboxes.add(tx, [mailbox_id], ctx.now)
        ctx.service.wake_after(tx)
        return ConnectedMailbox(mailbox_id, transport_id, is_new_box or is_new_transport, lines)

    return ctx.service.store.write(write)


def connected_as(ctx: Context, address: str) -> str:
    """Returns the name of the mailbox that fetches mail of an address already, "" for none. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> str:
        record_type = ctx.service.registry.type("mailbox")
        boxes = (record_type.record(row) for row in tx.find(record_type.table))
        email = address.strip().lower()
        names = [str(each["name"]) for each in boxes if email in (each["username"].lower(), each["name"].lower())]
        return names[0] if names else ""

    return ctx.service.store.read(read)


def lacks_sender(ctx: Context) -> bool:
    """Returns whether email has no default sender that it could be sent from and replied to: none was chosen, or the
    chosen one has had no mail transport so far."""

    def read(tx: Transaction) -> bool:
        if not tx.some(ctx.service.registry.type("mail_transport").table, 1):
            return True
        address = RecordReader(ctx, tx).record("address", int(get(tx, DEFAULT_SENDER, 0) or 0))
        return address is None or str(address["email"]).endswith(("@localhost", ".localhost"))

    return ctx.service.store.read(read)


# -- the records -------------------------------------------------------------------------------------------------------


def _box(new: NewMailbox) -> dict[str, Any]:
    """The fields of the mailbox. Raises Invalid, Required at the field that is wrong."""
    if not new.username:
        raise Required(_("enter the user name"), field="username")
    is_graph = new.protocol == GRAPH_PROTOCOL
    if not is_graph and not new.host:
        raise Required(_("enter the name of the mail server"), field="host")
    if not is_graph and not new.smtp_host:
        raise Required(_("enter the name of the mail server"), field="smtp_host")
    port = new.port or inboxes.usual_port(new.protocol)
    if whole_in(port, 1, 65_535) is None:
        raise Invalid(_("the port must be a number from 1 to 65535"), field="port")
    if not new.account_id and not new.password:
        raise Required(_("enter the password"), field="password")
    return {
        "name": new.address,
        "protocol": new.protocol,
        "host": new.host,
        "port": int(port),
        "username": new.username,
        "password": "" if new.account_id else new.password,
        "connected_account_id": new.account_id,
        "folder": "INBOX",
        "is_mail_kept": int(new.is_mail_kept),
        "is_enabled": 1,
    }


def _extension(new: NewMailbox) -> str:
    return GRAPH_TRANSPORT if new.protocol == GRAPH_PROTOCOL else SMTP


def _params(new: NewMailbox) -> dict[str, str]:
    account = str(new.account_id) if new.account_id else ""
    if new.protocol == GRAPH_PROTOCOL:
        return _given({"host": new.host, "username": new.username, "connected_account": account})
    password = "" if new.account_id else new.smtp_password or (new.password if not new.smtp_username else "")
    return _given(
        {
            "host": new.smtp_host,
            "port": new.smtp_port,
            "encryption": new.smtp_encryption,
            "username": new.smtp_username or new.username,
            "password": password,
            "connected_account": account,
        }
    )


def _check_params(extension_id: str, params: dict[str, str]) -> None:
    """Raises Invalid at the field of the form."""
    try:
        transport(extension_id).settings_from(params)
    except Invalid as error:
        field = str(error.details.get("field") or "")
        raise type(error)(error.message, field=f"smtp_{field}" if extension_id == SMTP else field) from error


def _given(values: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in values.items() if text}


def _test(ctx: Context, new: NewMailbox, box: dict[str, Any], way: TransportChoice) -> tuple[str, ...]:
    """Opens the mailbox, and signs in to the server that sends, or sends the test mail. Returns the dialogue."""
    problems: dict[str, str] = {}
    record: Record = {**ctx.service.registry.type("mailbox").initial, **box, "id": 0}
    with dialogue.recorded() as said:
        try:
            _login, inbox = checking.open_mailbox(ctx, record)
            with inbox:
                pass
        except HelpdeskError as error:
            problems[INCOMING] = error.message
        lines = [*said.lines, ""]
    with dialogue.recorded() as said:
        try:
            if new.recipient:
                send_mail(ctx, way, new.smtp_host or new.address, new.address, new.recipient)
            else:
                chosen, settings = open_transport(ctx, way)
                chosen.probe(settings)
        except HelpdeskError as error:
            if error.details.get("field"):
                raise
            problems[OUTGOING] = error.message.removeprefix("mail transport 0: ")
        lines += said.lines
    if problems:
        raise ConnectionTestFailed(problems, tuple(lines))
    return tuple(lines)


def _store_mailbox(writing: RecordWriter, box: dict[str, Any]) -> tuple[int, bool]:
    """Updates the mailbox of the same user at the same server, or creates one: (id, whether it is new)."""
    record_type = writing.registry.type("mailbox")
    sent = {name: str(value) for name, value in box.items()}
    for old in (record_type.record(row) for row in writing.tx.find(record_type.table)):
        if (old["host"].lower(), old["username"].lower()) == (box["host"].lower(), box["username"].lower()):
            writing.update_sent(record_type, old["id"], {name: text for name, text in sent.items() if name != "name"})
            return int(old["id"]), False
    return writing.create_sent(record_type, sent), True


def _store_transport(
    writing: RecordWriter, new: NewMailbox, extension_id: str, params: dict[str, str]
) -> tuple[int, bool]:
    """Updates the transport of the same user at the same server, or creates one: (id, whether it is new)."""
    record_type = writing.registry.type("mail_transport")
    login = (params.get("host", ""), params.get("username", ""))
    for old in (record_type.record(row) for row in writing.tx.find(record_type.table)):
        stored = old["params"] if isinstance(old["params"], dict) else {}
        if old["extension_id"] == extension_id and (stored.get("host", ""), stored.get("username", "")) == login:
            kept = {name: value for name, value in stored.items() if name in ("timeout", "verify")}
            writing.update_sent(record_type, old["id"], {"params": {**kept, **params}})
            return int(old["id"]), False
    fields = {"name": new.address, "extension_id": extension_id, "params": params}
    return writing.create_sent(record_type, fields), True
