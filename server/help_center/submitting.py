"""Turns an accepted contact form into a ticket, which is received like an email. If the form requires it, the visitor
first confirms their address by a mailed link."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from server import log
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, NotFound, Rejected, TooMany
from server.help_center import contact_forms, form_tokens, visitor_files
from server.help_center.contact_forms import PublicForm
from server.help_center.form_tokens import SENT_FORM, FormToken, address_digest
from server.help_center.form_values import CheckedForm
from server.help_center.visitor_files import WaitingFile
from server.jobs.expiry import expire
from server.mail.addresses import NamedAddress
from server.mailroom import mail_filter, receiving
from server.mailroom import sender as senders
from server.mailroom.creating import composed_mail
from server.mailroom.mail_filter import FormOrigin
from server.outbox.sender import sender_of
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records import catalogs, event_publishing
from server.records.reading import RecordReader
from server.records.signed_names import is_signed, signed, stored_key
from server.records.writing import RecordWriter
from server.sign_in import late_links
from server.sign_in.late_links import CODE, LateLink
from server.sign_in.password_change import ServiceMail, send_to
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.tickets import letter
from server.tickets.request_values import IncomingRequest
from server.translation import N_

KIND = "contact form"  # kind of the link in a confirmation
CONFIRM_PATH = "/contact-confirm/"  # below the address of a help center
CONFIRM_SECONDS = 86400  # validity of the link, from when the email is sent
TICKET_SENT, MAIL_SENT = "ticket", "mail"  # outcomes
LOG = log.get("help_center")
Accept = Callable[[Transaction], str]  # the write of a form, which returns its outcome
Result = TypeVar("Result")

WAITING_FORM = Table(
    "waiting_form",
    [
        Column("nonce", "TEXT"),
        Column("form_id"),
        Column("email", "TEXT"),
        Column("fields", "TEXT"),
        Column("consent_version"),
        Column("created_at"),
    ],
    [Index(("created_at",), "those that are too old"), Index(("nonce",), "the form of a token", unique=True)],
)  # fields: JSON, as CheckedForm.stored

SUBJECT = N_("Confirm your message to {brand}")
TEXT = N_("""\
Somebody, probably you, wrote to {brand} with this email address.

Open this address within {hours} hours to confirm it. Your message is sent then:

{link}

If you did not write it, ignore this email. Nothing is sent then.
""")
GONE = N_("This link has expired, or the message was sent already.")


@dataclass(frozen=True)
class WaitingForm:
    """A form whose address is not confirmed yet."""

    nonce: str
    form: PublicForm
    values: CheckedForm
    consent_version: int
    files: list[WaitingFile]


def read_together(ctx: Context, work: Callable[[], Result]) -> Result:
    """Runs the reads of a form, which must be short, in one snapshot."""
    return ctx.service.store.read_together(work, None)


@dataclass(frozen=True)
class Submission:
    """A checked form that is being accepted, with the facts that were read for its ticket. confirms: whether to mail a
    link first. is_quick: whether it has no files and runs no automations before its ticket is created."""

    accepting: "_Accepting"
    values: CheckedForm
    facts: "_TicketFacts"
    confirms: bool
    is_quick: bool

    @property
    def outcome(self) -> str:
        """The outcome of a form that was not accepted before."""
        return MAIL_SENT if self.confirms else TICKET_SENT

    def ready(self, brand: BrandProfile, language: str) -> Accept:
        """Prepares the form outside a write and returns its write, which accepts it once: it returns the outcome, the
        first one if the form arrives again, or raises TooMany above a limit, and any error of an email."""
        if self.confirms:
            return _link_write(self.accepting, brand, self.values, language)
        form = self.accepting.form
        return _ticket_write(self.accepting, self.values, self.facts, form.consent_version, _unproven_note(form))

    def refuse(self, error: BaseException) -> str:
        """Returns the outcome after the write raised an error that the sender must not find out. Raises any other
        error."""
        outcome: str = self.accepting.ctx.service.store.write(_refusal(self.accepting, self.facts.files, error))
        return outcome


def submission(
    ctx: Context, form: PublicForm, token: FormToken, values: CheckedForm, *, network: str, confirms: bool
) -> Submission:
    """Reads what a checked form needs. network: key of the visitor's address. confirms: whether to mail a link
    first."""
    accepting = _Accepting(
        ctx, form, token.nonce, address_digest(ctx.service, network), address_digest(ctx.service, values.email)
    )
    facts = ctx.service.store.read(lambda tx: _facts(RecordReader(ctx, tx), accepting, values))
    is_quick = not facts.files and not event_publishing.is_bound(ctx, mail_filter.FILTER, mail_filter.ROUTE)
    return Submission(accepting, values, facts, confirms, is_quick)


def waiting_form(ctx: Context, code: str) -> WaitingForm:
    """Returns the form that a link confirms. Raises NotFound."""
    waiting = ctx.service.store.read(lambda tx: _waiting(tx, code, ctx.now))
    form = contact_forms.form_by_id(ctx.service, waiting["form_id"]) if waiting is not None else None
    if waiting is None or form is None:
        raise NotFound(GONE)
    files = ctx.service.store.read(lambda tx: visitor_files.files_of(tx, waiting["nonce"]))
    values = CheckedForm(**json.loads(waiting["fields"]))
    return WaitingForm(waiting["nonce"], form, values, waiting["consent_version"], files)


def confirm(ctx: Context, waiting: WaitingForm) -> None:
    """Creates the ticket of a form whose address is confirmed, once."""
    accepting = _Accepting(ctx, waiting.form, waiting.nonce, "", "")
    note = f"A visitor sent this with the contact form '{waiting.form.title}' and confirmed the email address by a link"
    store = ctx.service.store
    facts = store.read(lambda tx: _facts(RecordReader(ctx, tx), accepting, waiting.values))
    try:
        store.write(_ticket_write(accepting, waiting.values, facts, waiting.consent_version, note))
    except Rejected as error:
        store.write(_refusal(accepting, facts.files, error))


forget_waiting = expire(
    N_("unconfirmed contact forms"),
    N_("Deletes contact forms whose address nobody confirmed, after two days."),
    WAITING_FORM,
    "created_at",
    visitor_files.RETAINED_SECONDS,
)


# -- the ticket --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Accepting:
    """A form that is being accepted. network, email: keyed digests, "" for a form that was counted before."""

    ctx: Context
    form: PublicForm
    nonce: str
    network: str
    email: str

    def begin(self, tx: Transaction) -> str | None:
        """Returns the outcome of a form that has been accepted before, None for a new form. Raises TooMany above a
        limit."""
        outcome = form_tokens.outcome_of(tx, self.nonce)
        if outcome is not None and (self.email or outcome == TICKET_SENT):
            return outcome
        if self.email:
            self._require_room(tx)
        return None

    def end(self, tx: Transaction, outcome: str) -> None:
        """Stores the outcome."""
        values = {
            "nonce": self.nonce,
            "form_id": self.form.id,
            "network": self.network,
            "email": self.email,
            "created_at": self.ctx.now,
        }
        if self.email:
            tx.insert(SENT_FORM, {**values, "outcome": outcome})
            return
        row = tx.first(SENT_FORM, nonce=self.nonce)  # accepted before, when its link was mailed
        values = values if row is None else dict(zip(SENT_FORM.names, row, strict=True))
        tx.put(SENT_FORM, {**values, "outcome": outcome})

    def _require_room(self, tx: Transaction) -> None:
        most = int(self.ctx.service.settings.contact_forms_per_hour)
        now = self.ctx.now
        is_full = most and form_tokens.count_recent(tx, "network", self.network, now) >= most
        if is_full or form_tokens.count_recent(tx, "email", self.email, now) >= form_tokens.MAX_HOURLY_OF_ADDRESS:
            raise TooMany(
                N_("Too many messages were sent from here within an hour. Try again later."),
                retry_after=form_tokens.HOUR_SECONDS,
            )


@dataclass(frozen=True, slots=True)
class _TicketFacts:
    """The files of a form, its custom values, and the place of its ticket."""

    files: list[WaitingFile]
    customs: letter.Customs
    place: dict[str, int]


def _ticket_write(
    accepting: _Accepting, values: CheckedForm, facts: _TicketFacts, consent_version: int, note: str
) -> Accept:
    """Prepares the ticket and returns the write that creates it and returns the outcome."""
    ctx, form, store = accepting.ctx, accepting.form, accepting.ctx.service.store
    files = facts.files
    request = IncomingRequest(
        sender=NamedAddress(values.name, values.email), subject=values.subject, content=values.message
    )
    with_bytes = store.read(lambda tx: visitor_files.contents(tx, files)) if files else []
    raw = composed_mail(ctx, request, with_bytes)
    origin = FormOrigin(form.id, consent_version, (note, *_consent_notes(form, consent_version)))
    try:
        take = receiving.ready(ctx, raw, place=facts.place, form=origin)
    except Rejected as error:
        return _refusal(accepting, files, error)

    def write(tx: Transaction) -> str:
        known = accepting.begin(tx)
        if known is not None:
            return known
        receipt = take(tx)
        if receipt.ticket_id:
            letter.write_customs(RecordWriter(ctx, tx), receipt.ticket_id, facts.customs)
        return _finish(tx, accepting, files)

    return write


def _refusal(accepting: _Accepting, files: list[WaitingFile], error: BaseException) -> Accept:
    """Returns the write for a refused sender or text. It has the same outcome as a ticket, so that the sender cannot
    find out. Raises any other error."""
    if not isinstance(error, Rejected) or not error.details.get("is_unwanted"):
        raise error
    LOG.info("form.refused", form=accepting.form.id, reason=str(error.message)[:200])
    return lambda tx: accepting.begin(tx) or _finish(tx, accepting, files)


def _finish(tx: Transaction, accepting: _Accepting, files: list[WaitingFile]) -> str:
    visitor_files.drop(tx, files)
    if not accepting.email:
        tx.delete(WAITING_FORM, nonce=accepting.nonce)
    accepting.end(tx, TICKET_SENT)
    return TICKET_SENT


def _facts(reading: RecordReader, accepting: _Accepting, values: CheckedForm) -> _TicketFacts:
    form = accepting.form
    files = visitor_files.files_of(reading.tx, accepting.nonce) if form.has_files else []
    customs: letter.Customs = []
    for name, value in values.customs.items():
        try:
            customs += letter.customs_of(reading, {name: value})
        except HelpdeskError:
            continue  # the field was deleted or changed since the form was checked
    bucket = reading.record("bucket", form.bucket_id) if form.bucket_id else None
    if bucket is not None:
        return _TicketFacts(files, customs, {"bucket_id": form.bucket_id})
    place = {"group_id": form.group_id} if reading.lookup.exists("group", form.group_id) else {}
    return _TicketFacts(files, customs, place)


def _unproven_note(form: PublicForm) -> str:
    return (
        f"A visitor sent this with the contact form '{form.title}'; the email address was typed in, and nothing proves "
        "that it is theirs"
    )


def _consent_notes(form: PublicForm, version: int) -> list[str]:
    if not version or not form.consent_text:
        return []
    return [f"The visitor agreed to version {version} of the consent text: {form.consent_text}"]


# -- the confirmation --------------------------------------------------------------------------------------------------


def _link_write(accepting: _Accepting, brand: BrandProfile, values: CheckedForm, language: str) -> Accept:
    """Returns the write that stores the form and mails a link to its address. The email repeats nothing that the
    visitor typed, so that the form cannot be used to send texts to other people."""
    ctx, form = accepting.ctx, accepting.form
    catalog = catalogs.languages(ctx.service).catalog_for(language)
    letter_of_link = ServiceMail(SUBJECT, TEXT, catalog)
    link = f"{brands.address(ctx.service, brand)}{brands.language_prefix(brand, language)}{CONFIRM_PATH}{CODE}"
    words = {"brand": brand.name, "hours": CONFIRM_SECONDS // 3600, "link": link}

    def write(tx: Transaction) -> str:
        known = accepting.begin(tx)
        if known is not None:
            return known
        writing = RecordWriter(ctx, tx)
        row = {
            "nonce": accepting.nonce,
            "form_id": form.id,
            "email": values.email,
            "fields": json.dumps(values.stored(), ensure_ascii=False),
            "consent_version": form.consent_version,
            "created_at": ctx.now,
        }
        id = tx.insert(WAITING_FORM, row)
        if _may_be_mailed(writing, values.email):
            draft_id = send_to(
                writing, values.email, letter_of_link, words, _sender_email(writing, form), is_generated=True
            )
            late_links.register_record(tx, draft_id, KIND, id)
        accepting.end(tx, MAIL_SENT)
        return MAIL_SENT

    return write


def _may_be_mailed(reading: RecordReader, email: str) -> bool:
    """Whether an address is neither banned nor one of our own, whose mail would come back here."""
    known = senders.records_of(reading, [email])
    record = known.get(email.lower())
    return not senders.is_own(known, email.lower()) and not (record is not None and record["is_banned"])


def _sender_email(reading: RecordReader, form: PublicForm) -> str:
    """The address that the group of a form sends from, "" for the default sender."""
    group, bucket = reading.record("group", form.group_id), reading.record("bucket", form.bucket_id)
    try:
        sender = sender_of(reading.tx, reading.registry, group, bucket) if group is not None else None
    except HelpdeskError:
        return ""
    address = reading.record("address", sender.address_id) if sender is not None else None
    return str(address["email"]) if address is not None and address["mail_transport_id"] else ""


def _waiting(tx: Transaction, code: str, now: int) -> dict[str, Any] | None:
    """The row of a form that waits for the link with this code."""
    name = code.rpartition("-")[0]
    id, _, until = name.partition(".")
    if len(code) > 100 or not (id.isdecimal() and until.isdecimal()) or not name.isascii() or int(until) <= now:
        return None
    if not is_signed(stored_key(tx, form_tokens.KEY), name, code):
        return None
    row = tx.get(WAITING_FORM, int(id))
    return None if row is None else dict(zip(WAITING_FORM.names, row, strict=True))


def _code(writing: RecordWriter, link: LateLink, to: str) -> str:
    row, key = writing.tx.get(WAITING_FORM, link.record_id), stored_key(writing.tx, form_tokens.KEY)
    if row is None or key is None or row[WAITING_FORM.position["email"]].lower() != to:
        raise Invalid("the contact form was sent or deleted meanwhile; drop the email")
    return signed(key, f"{link.record_id}.{writing.now + CONFIRM_SECONDS}")


late_links.declare(KIND, CONFIRM_PATH, _code)
