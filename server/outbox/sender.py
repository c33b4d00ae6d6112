"""The sender of a mail, and the transport that sends it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.connections import connected_accounts
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid
from server.mail.transports import GRAPH, SMTP, Transport, TransportFailed, transport
from server.mail.transports.smtp import MAX_TIMEOUT_SECONDS, SmtpSettings
from server.outbox.default_transport import default_transport
from server.record_types.record_type import Record
from server.record_types.registry import Registry
from server.records.service_settings import DEFAULT_SENDER, get
from server.store.transaction import Transaction

SERVICE = "Helpdesk"  # sender name for mail without a group
NO_SENDER = "no sender address is configured: set one on the group or the service"
NO_TRANSPORT = "no mail server is configured; the email is sent once {email} or the service has a mail transport"


@dataclass(frozen=True, slots=True)
class TransportChoice:
    """The mail transport of a sender. `params` as stored."""

    transport_id: int
    extension_id: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sender:
    """The From of a mail. `name` may hold placeholders, and defaults to the group's name. `template` and `signature`
    are records, None for none."""

    address_id: int
    email: str
    name: str
    template: Record | None
    signature: Record | None


def default_sender(tx: Transaction) -> int:
    """The id of the From address for mail whose bucket and group have none; 0 for none."""
    return int(get(tx, DEFAULT_SENDER, 0) or 0)


def signature_id(group: Record | None, bucket: Record | None, template: Record | None = None) -> int:
    """The id of the signature of mail from a bucket: the signature of its HTML template, of the bucket or of the group,
    whichever comes first; 0 for none."""
    if template is not None and template["signature_id"]:
        return int(template["signature_id"])
    places = [each for each in (bucket, group) if each is not None]
    return next((int(each["reply_signature_id"]) for each in places if each["reply_signature_id"]), 0)


def sender_of(
    tx: Transaction,
    registry: Registry,
    group: Record,
    bucket: Record | None,
    template_id: int = 0,
    *,
    has_html: bool = False,
) -> Sender:
    """The sender of mail from a bucket. template_id: the requested template, 0 for that of bucket or group.
    has_html: whether the template is used, and with it its signature.

    Raises Invalid if there is no sender address."""
    places = [each for each in (bucket, group) if each is not None]

    def first(column: str) -> Any:
        for each in places:
            if each[column]:
                return each[column]
        return 0

    address = _record(tx, registry, "address", int(first("reply_address_id") or 0))
    if address is None:
        address = _record(tx, registry, "address", default_sender(tx))
    if address is None:
        raise Invalid(NO_SENDER, field="group_id")
    template = _record(tx, registry, "html_template", template_id or int(first("reply_html_template_id") or 0))
    return Sender(
        address["id"],
        address["email"],
        str(first("reply_personal") or group["name"]),
        template,
        _record(tx, registry, "email_signature", signature_id(group, bucket, template if has_html else None)),
    )


def way_of(tx: Transaction, registry: Registry, address_id: int) -> TransportChoice | None:
    """The transport of a From address, else the default one of the service; None if there is neither."""
    address = _record(tx, registry, "address", address_id)
    own = address["mail_transport_id"] if address else 0
    transport = _record(tx, registry, "mail_transport", own)
    if transport is None:
        transport = _record(tx, registry, "mail_transport", default_transport(tx))
    if transport is None:
        return None
    return TransportChoice(transport["id"], transport["extension_id"], transport["params"])


def open_transport(ctx: Context, way: TransportChoice) -> tuple[Transport, Any]:
    """The transport with its settings, including the token of its connected account, which may have to be
    fetched.

    Raises TransportFailed, not permanent: an administrator will correct the settings."""
    params = dict(way.params)
    if way.extension_id in (GRAPH, SMTP) and not params.get("timeout"):
        params["timeout"] = min(ctx.service.settings.mail_timeout_seconds, MAX_TIMEOUT_SECONDS)
    try:
        chosen = transport(way.extension_id)
        settings = chosen.settings_from(params)
        if isinstance(settings, SmtpSettings) and settings.account:
            settings = replace(settings, token=connected_accounts.access_token(ctx, settings.account))
        elif way.extension_id == GRAPH:
            access = connected_accounts.token_access(ctx, settings.account, settings.timeout_seconds)
            settings = replace(settings, access=access)
    except HelpdeskError as error:
        message = f"mail transport {way.transport_id}: {error.message}"
        raise TransportFailed(message, is_permanent=False, is_unreachable=True) from error
    return chosen, settings


def _record(tx: Transaction, registry: Registry, uri: str, id: int) -> Record | None:
    if not id:
        return None
    record_type = registry.type(uri)
    row = tx.get(record_type.table, id)
    return record_type.record(row) if row else None
