"""One attempt to send one draft: builds the mail from rows and hands it to a transport; outcome.py records the outcome.

The caller must have claimed the draft. A mail that was sent is gone from the queue. If the process ends in between, the
mail may be sent twice, with the same Message-Id, but it is never lost."""

import re
from dataclasses import asdict, field, replace
from typing import Any

from server import log, times
from server.access.service_actor import own_context
from server.connections import connected_accounts
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, TooLarge
from server.mail import list_headers
from server.mail.addresses import NamedAddress, is_demo, parse_all
from server.mail.charsets import decode
from server.mail.mail_bytes import MAX_FILES_BYTES, OutFile, OutgoingMail, compose
from server.mail.transports import DeliveryReport, TokenRefused, TransportFailed
from server.markup import markdown_to_text
from server.outbox import causes, frame, outcome, queue_rows, signing, ticket_ids
from server.outbox.content import ImageUrl, Placeholders
from server.outbox.holds import TransportHold, find_hold
from server.outbox.outcome import AcceptedMail, DeliveryFailure
from server.outbox.sender import TransportChoice, open_transport, way_of
from server.outbox.ticket_ids import ticket_reference
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records.metrics import record
from server.records.metrics.builtin import DELIVERIES, FAILURES
from server.records.reading import RecordReader
from server.records.signed_names import signing_key
from server.records.writing import RecordWriter
from server.settings import VERSION
from server.sign_in import late_links
from server.store import blobs
from server.store.transaction import Transaction
from server.translation import SOURCE

MAX_RECIPIENTS = 500
_log = log.get("mail")


@dataclass(frozen=True, slots=True)
class MailSpec:
    """A mail as decided when it was written. Its recipients are in the draft, where they can be corrected.

    `message_id` and `in_reply_to` without angle brackets. `date`: Unix seconds, written in the zone named `zone`.
    `records`: ids of worker, group, bucket, ticket for the template. `text` and `html` are empty when a message with
    both is stored. `list_headers`: one a line."""

    message_id: str
    date: int
    zone: str
    from_address_id: int
    from_address: str
    from_name: str
    subject: str
    token: str = ""
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    is_autoreply: bool = False
    is_generated: bool = False
    is_markdown: bool = False
    template_id: int = 0
    file_ids: tuple[int, ...] = ()
    inline_ids: tuple[int, ...] = ()
    records: dict[str, int] = field(default_factory=dict)
    text: str = ""
    html: str = ""
    reply_to: str = ""
    list_headers: str = ""
    language: str = ""

    def as_data(self) -> dict[str, Any]:
        """For the row of the draft."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "MailSpec":
        lists = {name: tuple(data[name]) for name in ("references", "file_ids", "inline_ids")}
        return cls(**{**data, **lists})


@dataclass(frozen=True, slots=True)
class ReadyMail:
    """A mail that is ready to send. recipients: without those who have it already, and without people of the demo, to
    whom nothing is sent. hold: of its transport, None for none."""

    outgoing: OutgoingMail
    recipients: tuple[str, ...]
    envelope_from: str
    way: TransportChoice | None
    sender_id: int
    hold: TransportHold | None = None


def deliver(service: Service, draft_id: int, claim: str, now: int) -> bool | None:
    """Tries to send a draft that the caller has claimed. Returns whether it was sent, None while its transport is held.
    Records failures instead of raising them."""
    ctx = sending_context(service, draft_id, now)
    transport_id = sender_id = 0
    try:
        key = signing_key(service, ticket_ids.KEY)
        loaded = service.store.read(lambda tx: _load(ctx, tx, draft_id, claim, key))
        if loaded is None:
            return False
        way, hold = loaded.way, loaded.hold
        if way is None and loaded.recipients:
            service.store.write(lambda tx: outcome.park(RecordWriter(ctx, tx), draft_id, loaded.outgoing.from_address))
            return False
        if hold is not None and loaded.recipients and hold.stops(draft_id, now):
            service.store.write(lambda tx: outcome.hold_back(tx, draft_id, claim, hold))
            return None
        report = DeliveryReport()
        if way is not None and loaded.recipients:
            transport_id, sender_id = way.transport_id, loaded.sender_id
            outgoing = late_links.fill_link(ctx, draft_id, loaded.outgoing)
            report = hand_over(ctx, replace(loaded, outgoing=outgoing), way)
    except TransportFailed as error:
        failure = DeliveryFailure(
            error.message, error.is_permanent, transport_id, error.is_unreachable, error.wait_seconds, error.report
        )
    except HelpdeskError as error:  # the cause is the mail itself: trying again would not help
        failure = DeliveryFailure(error.message, isinstance(error, (Invalid, TooLarge)), transport_id)
    except Exception:
        # A bug must not lose mail: it stays queued, as after a temporary refusal by a server.
        _log.exception("mail.failed", draft=draft_id)
        failure = DeliveryFailure("an internal error; see the log")
    else:
        _log.info(
            "mail.sent",
            draft=draft_id,
            recipients=len(loaded.recipients),
            refused=len(report.refused),
            deferred=len(report.deferred),
        )
        service.store.write(
            lambda tx: outcome.record_sent(
                RecordWriter(ctx, tx), draft_id, claim, AcceptedMail(loaded.recipients, report, transport_id)
            )
        )
        if transport_id:
            record(service, DELIVERIES, 1, {"transport_id": transport_id, "sender_id": sender_id}, now)
        return True
    _log.warning("mail.failed", draft=draft_id, error=failure.text)
    service.store.write(lambda tx: outcome.record_failed_attempt(RecordWriter(ctx, tx), draft_id, claim, failure))
    if transport_id:
        record(service, FAILURES, 1, {"transport_id": transport_id, "sender_id": sender_id}, now)
    return False


def sending_context(service: Service, draft_id: int, now: int) -> Context:
    """The context in which a mail is sent. Events that follow from it count the automations that wrote the mail."""
    depth, is_by_machine = service.store.read(lambda tx: causes.cause_of_draft(tx, draft_id))
    return own_context(service, now, depth=depth, is_by_machine=is_by_machine)


# -- the mail ----------------------------------------------------------------------------------------------------------


def _load(ctx: Context, tx: Transaction, draft_id: int, claim: str, key: bytes) -> ReadyMail | None:
    """The mail of a draft; None when the claim is lost or the draft is gone. key: signs the id of its ticket."""
    writing = RecordReader(ctx, tx)
    draft, row = writing.record("draft", draft_id), queue_rows.get(tx, draft_id)
    if draft is None or row is None or row["claimed_by"] != claim:
        return None
    mail = MailSpec.from_data(row["mail"])
    text, html = _texts(writing, tx, mail, row["message_id"], ctx.service.base_url)
    inline: dict[int, str] = {}
    if html is not None:
        html = html_part(ctx, tx, mail, text, html, _embed(ctx, mail, inline))
    params = draft["params"] if isinstance(draft["params"], dict) else {}
    to, cc, bcc = (_recipients(name, params.get(name)) for name in ("to", "cc", "bcc"))
    files = _files(writing, tx, mail, inline)
    own: tuple[str, ...] = ()
    if draft["ticket_id"] and draft["type"] != TRANSACTIONAL:  # replies to notifications are signed differently
        own = (ticket_reference(key, draft["ticket_id"], mail.from_address),)
    outgoing = OutgoingMail(
        message_id=mail.message_id,
        date=mail.date,
        tz=times.zone(mail.zone),
        from_name=mail.from_name,
        from_address=mail.from_address,
        to=to,
        cc=cc,
        subject=mail.subject,
        text=text,
        html=html,
        files=files,
        in_reply_to=mail.in_reply_to or None,
        references=(*own, *mail.references),
        is_autoreply=mail.is_autoreply,
        is_generated=mail.is_generated,
        installation=ctx.service.installation,
        version=VERSION,
        reply_to=mail.reply_to,
        list_headers=list_headers.parse(mail.list_headers),
    )
    recipients = tuple(dict.fromkeys(each.address for each in (*to, *cc, *bcc)))
    most = ctx.service.settings.mail_max_recipients
    if not 1 <= len(recipients) <= most:
        raise Invalid(f"an email can have 1 to {most} recipients; this one has {len(recipients)}", field="to")
    remaining = queue_rows.unsettled(row["settled"], recipients, is_queued_anew=draft["queue_fails"] == 0)
    # A bounce of an automatic reply must not cause another one (RFC 3834, 3.3).
    envelope_from = "" if mail.is_autoreply else mail.from_address
    way = way_of(tx, ctx.service.registry, mail.from_address_id)
    hold = find_hold(tx, way.transport_id) if way is not None else None
    outside = tuple(each for each in remaining if not is_demo(each))
    return ReadyMail(outgoing, outside, envelope_from, way, mail.from_address_id, hold)


def html_part(ctx: Context, tx: Transaction, mail: MailSpec, text: str, html: str, image_url: ImageUrl) -> str:
    """Renders the HTML part of a mail as a whole document, in its template or the default style. Raises TooLarge.

    text, html: without the template."""
    template = RecordReader(ctx, tx).record("html_template", mail.template_id) if mail.template_id else None
    source, body = (template["content"] if template else ""), frame.body_in_frame(html)
    has_template = bool(source.strip())
    if has_template:
        plain = {"message_id_header": f"<{mail.message_id}>", "message_token": mail.token}
        body = Placeholders(ctx, tx, mail.records, plain).fill(source, body)
    return frame.document(
        body,
        title=mail.subject,
        language=mail.language or SOURCE,
        text=text,
        image_url=image_url,
        has_template=has_template,
    )


def hand_over(ctx: Context, loaded: ReadyMail, way: TransportChoice) -> DeliveryReport:
    """Passes a mail to a transport, signed for its domain. Raises TransportFailed, Invalid, TooLarge."""
    raw, sign = compose(loaded.outgoing), signing.signer(ctx, loaded.outgoing.from_address)
    chosen, settings = open_transport(ctx, way)
    try:
        return chosen.send(settings, loaded.envelope_from, loaded.recipients, raw, sign)
    except TokenRefused:
        connected_accounts.token_refused(ctx, settings.account, settings.token)
        raise


def _texts(
    reading: RecordReader, tx: Transaction, mail: MailSpec, message_id: int, base_url: str
) -> tuple[str, str | None]:
    """The text and the HTML without template: of the stored message, else of the mail."""
    text, html = mail.text, mail.html
    message = reading.record("message", message_id) if message_id else None
    if message is not None:
        text = message["content"]
        file = reading.record("attachment", message["html_attachment_id"]) if message["html_attachment_id"] else None
        html = decode(blobs.read(tx, file["blob_id"]), "utf-8") if file else ""
    if not mail.is_markdown:  # mail of the service itself has an HTML part too
        return text, html or None
    return without_own_files(base_url, markdown_to_text(text, html)), html


def without_own_files(base_url: str, text: str) -> str:
    """Removes the addresses of our files from a text: its reader cannot open them, and they are attached to the
    mail."""
    own = own_file(base_url).pattern
    return re.sub(rf" ?(?:<{own}>|\({own}\)|{own})", "", text)


def _recipients(name: str, value: object) -> tuple[NamedAddress, ...]:
    """The addresses of a list, which a worker may have corrected. Raises Invalid if one of them is not an address."""
    try:
        return tuple(parse_all(str(value), MAX_RECIPIENTS)) if value else ()
    except Invalid as error:
        raise Invalid(f"{name}: {error.message}", field=name) from None


def own_file(base_url: str) -> re.Pattern[str]:
    """A pattern for addresses of files on this service; the first group is the file's id."""
    return re.compile(re.escape(base_url) + r"/(?:rest/attachments|files)/([0-9]{1,18})(?:[/.?][^\s\"'<>]*)?")


def own_file_id(base_url: str, url: str) -> int:
    """The id of the file of this service at an address, 0 for any other address."""
    match = own_file(base_url).fullmatch(url.strip())
    return int(match[1]) if match else 0


def _embed(ctx: Context, mail: MailSpec, content_ids: dict[int, str]) -> ImageUrl:
    """Embeds images that are files of this service, since the recipient cannot fetch them."""

    def image_url(url: str) -> str | None:
        id = own_file_id(ctx.service.base_url, url)
        if id not in mail.inline_ids:
            return None
        content_ids[id] = f"file{id}.{mail.message_id}"
        return f"cid:{content_ids[id]}"

    return image_url


def _files(reading: RecordReader, tx: Transaction, mail: MailSpec, inline: dict[int, str]) -> tuple[OutFile, ...]:
    """The files to attach, inline images with their content id. Deleted files are left out."""
    file_ids = dict.fromkeys((*mail.file_ids, *inline))
    records = [file for id in file_ids if (file := reading.record("attachment", id)) is not None]
    contents = blobs.read_many(tx, [file["blob_id"] for file in records], MAX_FILES_BYTES)
    return tuple(_out_file(file, contents.get(file["blob_id"], b""), inline.get(file["id"])) for file in records)


def _out_file(file: Record, content: bytes, content_id: str | None) -> OutFile:
    name, mime_type = (" ".join(text.replace("\0", " ").splitlines()) for text in (file["name"], file["mime_type"]))
    return OutFile(name, mime_type or "application/octet-stream", content, content_id)
