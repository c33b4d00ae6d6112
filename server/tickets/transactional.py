"""Mail without a ticket: drafts of the type mail.transactional."""

from dataclasses import replace

from server.context import Context
from server.dataclass import dataclass
from server.errors import Forbidden, Invalid
from server.markup import text_to_html
from server.outbox.content import Body, Signature, body_of
from server.outbox.deliver import MailSpec
from server.outbox.sender import NO_SENDER, SERVICE, Sender, TransportChoice, default_sender, way_of
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import GENERATED, LETTER
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.tickets import drafts, letter
from server.tickets.mail_loops import NOTE, is_unsent
from server.tickets.request_values import ComposeRequest


@dataclass(frozen=True, slots=True)
class TransactionalPlan:
    """A mail with the data it was built from."""

    request: ComposeRequest
    body: Body
    mail: MailSpec
    way: TransportChoice | None


def prepare(ctx: Context, draft: Record) -> TransactionalPlan:
    """Builds the mail of a draft.

    Raises Required, Invalid, AdminOnly because it is sent in the name of the service, and Forbidden if an automation
    wrote it in response to a program, because there is no ticket to store it on."""
    ctx.require_admin("send mail that belongs to no ticket")
    if is_unsent(ctx):
        raise Forbidden(f"{NOTE}; send it again to send it")
    request = drafts.transactional_of(ctx, draft)

    def read(tx: Transaction) -> tuple[Sender, TransportChoice | None]:
        reading = RecordReader(ctx, tx)
        letter.check_ids(reading, request)
        sender = _sender(reading, draft, request.html_template_id)
        return sender, way_of(tx, reading.registry, sender.address_id)

    sender, way = ctx.service.store.read(read)
    is_letter = draft["params"].get("format") == LETTER
    body = body_of(request.content, request.format, Signature(), None)
    if is_letter:
        body = Body(body.text, text_to_html(body.text))
    mail = letter.mail_from(ctx, request, sender, sender.name, ctx.actor.timezone or "UTC")
    language = str(draft["params"].get("language") or "") if is_letter else ""
    is_generated = mail.is_generated or bool(draft["params"].get(GENERATED))
    mail = replace(
        mail,
        text=body.text,
        html=body.html or "",
        token=draft["token"],
        language=language,
        is_generated=is_generated,
    )
    return TransactionalPlan(request, body, mail, way)


def _sender(reading: RecordReader, draft: Record, template_id: int) -> Sender:
    """The address in `from`, which must be a sender address of the service; else the default sender."""
    email = str(draft["params"].get("from") or "").strip().lower()
    if email:
        address = reading.find("address", email=email)
        if address is None or not address["mail_transport_id"]:
            raise Invalid(f"from: '{email[:80]}' is not a sender address", field="from")
    else:
        address = reading.record("address", default_sender(reading.tx))
    if address is None:
        raise Invalid(NO_SENDER, field="from")
    template = reading.record("html_template", template_id) if template_id else None
    return Sender(address["id"], address["email"], _name(reading, draft, address["id"]), template, None)


def _name(reading: RecordReader, draft: Record, address_id: int) -> str:
    """The name of the group that sends from an address, else the name of the service."""
    is_letter = draft["params"].get("format") == LETTER
    group = None if is_letter else reading.find("group", reply_address_id=address_id)
    return group["name"] if group else SERVICE
