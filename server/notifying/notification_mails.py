"""Notification mails to workers: one for each ticket, and one for everything else.

They omit records that the worker may no longer read. They are plain text, so that quoting them in a reply changes
nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from server import contexts, times
from server.access import actor as actors
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.mail.mail_bytes import new_message_id, references_of_reply, subject_of_compose
from server.mail.quotation import quote_message
from server.markup import quoted, text_to_html
from server.notifying.reply_commands import ABOVE
from server.notifying.reply_ids import DAY_SECONDS, ReplyId, new_nonce
from server.outbox.deliver import MailSpec
from server.outbox.sender import SERVICE, Sender, TransportChoice, default_sender, sender_of, way_of
from server.people.address_names import named_address
from server.record_types.record_type import Record
from server.record_types.shared import entries, paths
from server.records import activity
from server.records.notification_mail import MENTIONED, NOTE, TO_MAIL
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.transaction import Transaction
from server.tickets import requesters
from server.tickets.types.ticket_parts import status_names
from server.tickets.writers import writer_name
from server.translation import N_, Catalog, _, ngettext, speaking, spoken

MAX_AT_ONCE = 200  # notifications of one worker that are mailed in one go
MAX_LETTERS = 10  # mails at once; if there are more, one mail covers all
MAX_LINES = 50  # notifications in such a mail
MAX_SHOWN = 5  # messages or notes in one mail
MAX_TEXT = 5_000  # characters of each
MAX_NAME = 100  # characters
UNIQUE = 8  # characters that distinguish two mails of a day about a ticket
NOTES = frozenset((MENTIONED, NOTE))
STATUSES = (N_("open"), N_("waiting"), N_("closed"), N_("deleted"))  # by their number


@dataclass(frozen=True, slots=True)
class Waiting:
    """A notification to be mailed."""

    record: Record
    kind: str

    @property
    def ticket_id(self) -> int:
        """The ticket that it is about, 0 for none."""
        is_on_ticket = self.record["target__context"] == contexts.TICKET
        return int(self.record["target_id"]) if is_on_ticket else 0

    @property
    def is_note(self) -> bool:
        """Whether it is about a note, which customers do not see."""
        return self.kind in NOTES


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail that is ready except for its recipient."""

    mail: MailSpec
    way: TransportChoice


@dataclass(frozen=True, slots=True)
class Batch:
    """The mails to a worker that are due. notification_ids: the notifications that they cover."""

    letters: tuple[Letter, ...]
    notification_ids: tuple[int, ...]


def batch_for(ctx: Context, tx: Transaction, worker_id: int, language: Catalog, key: bytes) -> Batch:
    """The mails of a worker. ctx: of the service; key: that signs. A disabled worker gets none."""
    rows = _rows(tx, worker_id)
    ids = tuple(row[0] for row in rows)
    own = actors.worker(tx, worker_id)
    if own is None:
        return Batch((), ids)
    reader = RecordReader(ctx, tx)
    waiting = [each for id, kind in rows if (each := unread_notification(reader, worker_id, id, kind)) is not None]
    with speaking(language):
        letters = tuple(_Letters(reader, worker_id, key).letters(waiting))
    return Batch(letters, ids)


def _rows(tx: Transaction, worker_id: int) -> list[tuple[int, str]]:
    table = TO_MAIL.sql
    return [
        (id, kind)
        for id, kind in tx.rows(
            lambda: (
                table.select(table.notification_id, table.kind)
                .where(table.worker_id == slot(0))
                .order_by(table.notification_id)
                .limit(MAX_AT_ONCE)
            ),
            (worker_id,),
        )
    ]


def unread_notification(reader: RecordReader, worker_id: int, id: int, kind: str) -> Waiting | None:
    """Returns None for a notification that was read or deleted, or whose record the worker may no longer read."""
    record = reader.record("notification", id)
    if record is None or record["is_read"] or record["worker_id"] != worker_id:
        return None
    about = (record["target__context"], record["target_id"])
    return Waiting(record, kind) if not about[1] or activity.may_read_all(reader, worker_id, about) else None


class _Letters:
    """The mails of one worker, in the current language."""

    def __init__(self, reader: RecordReader, worker_id: int, key: bytes) -> None:
        self._reader, self._worker_id, self._key = reader, worker_id, key
        self._base = reader.ctx.service.base_url

    def letters(self, waiting: Sequence[Waiting]) -> Iterable[Letter]:
        """The news of a ticket in a mail of its own: notes are separate from messages whose reply goes to the
        customer."""
        groups: dict[tuple[int, bool], list[Waiting]] = {}
        for each in waiting:
            place = (each.ticket_id, each.is_note) if each.ticket_id else (0, False)
            groups.setdefault(place, []).append(each)
        if len(groups) > MAX_LETTERS:
            groups = {(0, False): list(waiting)}
        for (ticket_id, is_note), group in groups.items():
            letter = self._on_ticket(ticket_id, is_note, group) if ticket_id else self._plain(group)
            if letter is not None:
                yield letter

    def _on_ticket(self, ticket_id: int, is_note: bool, group: Sequence[Waiting]) -> Letter | None:
        reader, settings = self._reader, self._reader.ctx.service.settings
        ticket = reader.record("ticket", ticket_id)
        if ticket is None:
            return None
        sender = self._sender(ticket)
        way = way_of(reader.tx, reader.registry, sender.address_id) if sender else None
        if sender is None or way is None:
            return None
        subject = subject_of_compose(ticket["subject"], settings.subject_prefix, ticket["mask"], with_mask=True)
        mail = self._mail(sender, subject, _from_name(group[-1]), self._ticket_text(ticket, is_note, group))
        return Letter(self._signed(mail, ticket_id, is_note) if settings.answer_by_mail else mail, way)

    def _plain(self, group: Sequence[Waiting]) -> Letter | None:
        reader = self._reader
        address = reader.record("address", default_sender(reader.tx))
        way = way_of(reader.tx, reader.registry, address["id"]) if address else None
        if address is None or way is None:
            return None
        lines = [self._line(each) for each in group[:MAX_LINES]]
        subject = _first_line(group[0])
        if len(group) > 1:
            subject = ngettext("{count} notification", "{count} notifications", len(group))
        if len(group) > MAX_LINES:
            lines.append(_("See the others in the console: {url}", url=f"{self._base}/notifications"))
        text = "\n\n".join([*lines, self._why()])
        return Letter(self._mail(Sender(address["id"], address["email"], "", None, None), subject, "", text), way)

    def _mail(self, sender: Sender, subject: str, from_name: str, text: str) -> MailSpec:
        return MailSpec(
            message_id=new_message_id(sender.email.rpartition("@")[2]),
            date=self._reader.now,
            zone=self._zone(),
            from_address_id=sender.address_id,
            from_address=sender.email,
            from_name=from_name,
            subject=subject,
            is_generated=True,
            text=f"{text}\n",
            html=text_to_html(text),
            language=spoken().language,
        )

    def _signed(self, mail: MailSpec, ticket_id: int, is_note: bool) -> MailSpec:
        """Adds the signed name that identifies a reply, and ids by which mail programs group the mails of a ticket."""
        day = self._reader.now // DAY_SECONDS
        name = ReplyId(ticket_id, self._worker_id, is_note, day, new_nonce()).name(self._key)
        unique, _at, host = mail.message_id.partition("@")  # short, since some programs break lines within an id
        to = self._reader.ctx.service.settings.answer_address.replace("{token}", name)
        thread = f"ticket-{ticket_id}@{host}"
        return replace(
            mail, message_id=f"{name}.{unique[:UNIQUE]}@{host}", reply_to=to, references=references_of_reply((), thread)
        )

    def _sender(self, ticket: Record) -> Sender | None:
        reader = self._reader
        group = reader.record("group", ticket["group_id"])
        bucket = reader.record("bucket", ticket["bucket_id"]) if ticket["bucket_id"] else None
        try:
            return sender_of(reader.tx, reader.registry, group, bucket) if group else None
        except HelpdeskError:
            return None

    def _ticket_text(self, ticket: Record, is_note: bool, group: Sequence[Waiting]) -> str:
        parts = [self._above(ticket["id"], is_note)] if self._reader.ctx.service.settings.answer_by_mail else []
        parts += dict.fromkeys(map(_first_line, group))
        parts += self._notes(ticket["id"], len(group)) if is_note else self._messages(ticket, group)
        parts.append(self._facts(ticket))
        return "\n\n".join([*parts, self._why()])

    def _above(self, ticket_id: int, is_note: bool) -> str:
        if is_note:
            said = _("Write above this line to add a note. Customers do not see it.")
        else:
            ids = requesters.ids_of(self._reader.tx, ticket_id)[:MAX_SHOWN]
            to = ", ".join(filter(None, (named_address(self._reader, id) for id in ids)))
            said = _("Write above this line to reply to {address}.", address=to) if to else ""
        said = said or _("Write above this line to reply.")
        return f"{ABOVE} {said} -##"

    def _messages(self, ticket: Record, group: Sequence[Waiting]) -> list[str]:
        """The newest incoming message; the newest of all if there is none, as context."""
        number = sum(each.kind == "message" for each in group)
        rows = self._newest("message", number or 1, is_outgoing=0, ticket_id=ticket["id"])
        return [self._quoted(writer_name(self._reader, row), _said(row["content"]), row["created"]) for row in rows]

    def _notes(self, ticket_id: int, number: int) -> list[str]:
        rows = self._newest("comment", number, target__context=contexts.TICKET, target_id=ticket_id)
        return [
            self._quoted(self._reader.label(row["author__context"], row["author_id"]), row["comment"], row["created"])
            for row in rows
        ]

    def _newest(self, uri: str, number: int, /, **equals: object) -> list[Record]:
        """The newest ones, the oldest of them first."""
        record_type, most = self._reader.registry.type(uri), min(number, MAX_SHOWN)
        table, names = record_type.table, tuple(equals)
        rows = self._reader.tx.rows(
            lambda: (
                table.sql.select(*table.all_columns)
                .where(*(getattr(table.sql, name) == slot(place) for place, name in enumerate(names)))
                .order_by(table.sql.id.desc())
                .limit(slot(len(names)))
            ),
            (*equals.values(), most),
        )
        return [record_type.record(row) for row in reversed(rows)]

    def _quoted(self, name: str, text: str, second: int) -> str:
        short = text.strip()
        if len(short) > MAX_TEXT:
            short = f"{short[:MAX_TEXT].rstrip()} …"
        return quote_message(short, name, second, times.zone(self._zone())).text

    def _zone(self) -> str:
        worker = self._reader.record("worker", self._worker_id)
        return (worker["timezone"] if worker else "") or "UTC"

    def _facts(self, ticket: Record) -> str:
        reader = self._reader
        owner = reader.label("worker", ticket["owner_id"]) if ticket["owner_id"] else _("nobody")
        status = status_names.shown(reader.tx, ticket) or _(STATUSES[ticket["status_id"]])
        place = reader.label("group", ticket["group_id"])
        if ticket["bucket_id"]:
            place = f"{place}, {reader.label('bucket', ticket['bucket_id'])}"
        line = _("Status: {status}. Owner: {owner}. {place}.", status=status, owner=owner, place=place)
        return f"{self._base}{paths.record('ticket', ticket['id'])}\n{line}"

    def _line(self, each: Waiting) -> str:
        return f"{_first_line(each)}\n{self._base}/notifications/{each.record['id']}"

    def _why(self) -> str:
        return _("Choose which emails you get: {url}", url=f"{self._base}/account#notifications")


def _said(text: str) -> str:
    """Of a message what its writer said; all of it where nothing is left."""
    return "\n".join(part for kind, part in quoted.parts(text) if kind == "said").strip() or text


def _from_name(newest: Waiting) -> str:
    """The actor, whom a worker sees first in a list of mails."""
    actor = " ".join(entries.variable(newest.record["params"], "actor").split())[:MAX_NAME]
    return f"{actor} ({SERVICE})" if actor and actor != SERVICE else SERVICE


def _first_line(each: Waiting) -> str:
    return entries.plain_text(each.record["params"])
