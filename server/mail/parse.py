"""Parses the raw bytes of a mail into one value, Mail. Needs no database, and accepts damaged mail.

Finds parts by slicing the bytes between boundary lines, with a stack and limits, so that time and memory are
proportional to the size, whatever the mail contains. Attached messages are not opened.

Not the package email, which takes six times as long for 10 MB, and fails with RecursionError at 3,000 nested parts."""

import re
from collections.abc import Iterator
from dataclasses import field, replace

from server.dataclass import dataclass
from server.errors import Required, TooLarge
from server.late_pattern import late_pattern
from server.mail import (
    addresses,
    automatic,
    body_choice,
    bounce,
    bounce_text,
    charsets,
    date_header,
    flowed,
    headers,
    openpgp,
    part_names,
    rtf,
    smime,
    tnef,
)
from server.mail.addresses import NamedAddress
from server.mail.bounce import Bounce
from server.mail.part_names import OCTETS

NOTES = 50  # kept
NOTE_CHARACTERS = 300
ANSWERED = 20  # ids of In-Reply-To that are looked up
SKEW_SECONDS = 3600  # tolerated difference of clocks and of summer time; a larger one is noted
DATE_CHARACTERS = 100  # characters of an invalid Date field in its note
PART_FIELDS, PART_HEAD_BYTES = 100, 16 * 1024  # bytes of the head of one part
DECLARED_BYTES = 256 * 1024  # in which a charset is looked for that headers with raw bytes may be in
BOUNDARY_TRIES = 100_000  # lines that resemble a boundary
OPENED = 10  # parts of S/MIME and TNEF in one mail, one inside the other or not
HTML_FOR_TEXT = 1_000_000  # characters of HTML from which a text is made
HTML_COMPARED = 250_000  # the same if there is a plain text; more would take longer
NO_SUBJECT = "(no subject)"
# Where mailing lists, forms and gateways keep the author whose From they replace; Author is RFC 9057.
ORIGINAL_AUTHOR = ("x-original-sender", "x-original-from", "author", "original-from", "x-google-original-from")
# Headers in which servers and providers record the recipient, besides Delivered-To and Envelope-To.
ROUTED_TO = (
    "x-original-to", "x-forwarded-to", "x-delivered-to", "resent-to", "resent-cc", "apparently-to", "x-apparently-to",
    "x-rcpt-to", "x-receiver", "x-real-to", "x-mdrcpt-to", "x-mdaemon-deliver-to", "x-gm-original-to", "x-orig-to",
    "original-recipient", "x-forwarded-for",
)  # fmt: skip
PASSAGES = 20  # Received fields that are read, the latest first

_START = late_pattern(rb"(?:\xef\xbb\xbf)?(?:[ \t\r\n]*\n)?(?:>?From [^\n]*\n)?")
_BOUNDARY_LINE = late_pattern(rb"^--(?=\S*[A-Za-z0-9])\S{1,200}+[ \t\r]*+$", re.MULTILINE)
_DECLARED = late_pattern(
    rb"^content-type[ \t]*:(?:[^\n]|\n[ \t]){0,1000}?charset[ \t]*=[ \t]*\"?([\w.:-]{1,60})",
    re.IGNORECASE | re.MULTILINE,
)
_PASSAGE_FOR = late_pattern(r"\sfor\s+<?([^\s<>;]{3,254}@[^\s<>;]{1,253})>?")
_TYPE = late_pattern(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,100}")
_HTML_START = late_pattern(r"\s{0,100}<(?:!doctype html|html[\s>])", re.IGNORECASE)
_REST = headers.Head((("Content-Type", "multipart/mixed"),), 0)
HTML = "text/html"
CALENDAR = "text/calendar"
RIGHTS_TYPE = "application/x-microsoft-rpmsg-message"
# {type of a signature beside its signed part (RFC 1847): the note in its place}; the raw email contains the signature.
SIGNED_NOTES = {openpgp.SIGNATURE_TYPE: openpgp.SIGNED_NOTE, **dict.fromkeys(smime.SIGNATURE_TYPES, smime.SIGNED_NOTE)}
OTHER_FORMS = frozenset({"text/x-amp-html", "text/watch-html"})  # of the same text, for programs that run or shorten it
TEXTS = frozenset({"text/plain", HTML, "text/markdown", "text/x-markdown"})


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of parsing. Sizes in bytes. Only mail_bytes refuses a mail; the others omit or truncate content."""

    mail_bytes: int = 64 * 1024 * 1024
    parts: int = 1_000
    levels: int = 30
    file_bytes: int = 50 * 1024 * 1024
    text_bytes: int = 8 * 1024 * 1024  # all text parts together; a truncated text is also attached as a file
    addresses: int = addresses.ADDRESSES


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """An attachment. `name` is safe to show and unique in its mail; `content_id` is without angle brackets.

    size: original size in bytes. dropped: why its content was omitted, "" if it was not."""

    name: str
    mime_type: str
    content: bytes
    content_id: str | None
    is_inline: bool
    size: int
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Mail:
    """A parsed mail. Addresses are lower case; texts have `\\n` line ends and no NUL; times are Unix seconds.

    sender: the first usable address of Reply-To, From, Return-Path; for a report, a stand-in for its server.
    senders: possible authors, for mail whose sender is an address of this service: the addresses of Reply-To and From,
    then of the headers in which mailing lists and forms preserve the author.
    has_one_author: From occurs once, with one address.
    subject: one line, of any length.
    routed_to: further recipient addresses, from headers that servers and providers add.
    sent_at: the Date by the clock of the sender; 0 if it is unreadable.
    date: the same if it is plausible, else the time at which the last server before this one received the mail, else
    `now`; never after `now`.
    message_id, in_reply_to, references: with angle brackets, without the mail's own id; the newest reference is last.
    header_text: one header per line, unfolded, with encoded words as they came.
    headers: (name, decoded value).
    text: the plain parts, or the text of the HTML if they say next to nothing of it (then `has_plain` is False).
    other_words: the words of the alternative that was not chosen.
    html: with its `cid:` references.
    loop_token: identifies the installation of this program that sent the mail.
    notes: omitted and repaired content, for display.
    is_machine_written, is_automatic: see automatic.py. is_notice: a program wrote it, and it is not a failure.
    """

    sender: str | None
    sender_name: str
    from_address: str | None
    senders: tuple[NamedAddress, ...]
    has_one_author: bool
    subject: str
    message_id: str
    message_id_was_made: bool
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    sent_at: int
    date: int
    to: tuple[NamedAddress, ...]
    cc: tuple[NamedAddress, ...]
    delivered_to: tuple[NamedAddress, ...]
    routed_to: tuple[NamedAddress, ...]
    header_text: str
    headers: tuple[tuple[str, str], ...]
    text: str
    html: str | None
    has_plain: bool
    other_words: str
    files: tuple[AttachedFile, ...]
    notes: tuple[str, ...]
    is_automatic: bool
    is_machine_written: bool
    is_notice: bool
    auto_submitted: bool
    loop_token: str | None
    bounce: Bounce | None

    def with_header(self, name: str, value: str) -> "Mail":
        """Replaces all headers of a name with one; "" removes them."""
        lower_name = name.lower()
        lines = [line for line in self.header_text.split("\n") if line.partition(":")[0].strip().lower() != lower_name]
        fields = [each for each in self.headers if each[0].lower() != lower_name]
        if value:
            lines.append(f"{name}: {value}")
            fields.append((name, value))
        mail = replace(self, header_text="\n".join(lines), headers=tuple(fields))
        if lower_name == "in-reply-to":
            return replace(mail, in_reply_to=tuple(headers.ids_in(value)[:ANSWERED]))
        return replace(mail, references=tuple(headers.ids_in(value))) if lower_name == "references" else mail


def parse(raw: bytes, now: int, limits: ParseLimits = ParseLimits(), host: str = "localhost") -> Mail:
    """Parses the mail in `raw`, with any line ends. now: Unix seconds. host: right half of an id that has to be
    generated.

    Raises Required for an empty mail and TooLarge above limits.mail_bytes, nothing else."""
    if len(raw) > limits.mail_bytes:
        raise TooLarge(f"The mail has {len(raw)} bytes; at most {limits.mail_bytes} are taken.", size=len(raw))
    if not raw or raw.isspace():
        raise Required("The email is empty; send its headers and body.", field="message")
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    start = _START.match(raw)
    charset = _declared_charset(raw)
    head = headers.split(raw, start.end() if start else 0, charset=charset)
    content = _Content(raw, limits, charset)
    content.read(head)
    return _mail(head, content, now, host)


def _declared_charset(raw: bytes) -> str:
    """The first charset other than UTF-8 that a part, else its HTML, declares; "" if no raw bytes need one."""
    if raw.isascii() and b"\x1b" not in raw:
        return ""
    labels = [match[1].decode("ascii", "replace") for match in _DECLARED.finditer(raw, 0, DECLARED_BYTES)]
    labels.append(charsets.charset_in_html(raw[:DECLARED_BYTES]))
    return next((label for label in labels if charsets.codec_of(label) not in (None, "utf-8")), "")


def _mail(head: headers.Head, content: "_Content", now: int, host: str) -> Mail:
    from_list = _addresses(head, content.limits, "from")
    sender = next(_senders(head, from_list, content.limits), None)
    is_nameless = sender is None and automatic.is_nameless(head)
    from_address = from_list[0].address if from_list else None
    read_id = headers.own_id(head.first("message-id"))
    message_id = read_id or f"<{part_names.base36(now)}.{part_names.random_text()}{part_names.random_text()}@{host}>"
    read_senders = (from_address, sender.address if sender else None)
    found_bounce = content.bounce(is_nameless or any(map(automatic.from_machine, read_senders)))
    chosen, html = content.texts()
    text = chosen.text
    if found_bounce is None or found_bounce.failed_address is None:
        found_bounce = bounce_text.read(head, text, found_bounce)
    if sender is None and (is_nameless or found_bounce is not None):
        sender = NamedAddress("", content.stand_in(host))
    senders = (from_address, sender.address if sender else None)
    is_made, is_machine_written = read_id is None, automatic.is_machine_written(head, senders)
    sent_at, date_note = _sent_at(head, now)
    return Mail(
        sender=sender.address if sender else None,
        sender_name=_sender_name(sender, from_list),
        from_address=from_address,
        senders=_authors(head, from_list, content.limits),
        has_one_author=_has_one_author(head, from_list),
        subject=headers.one_line(head.first("subject")) or NO_SUBJECT,
        message_id=message_id,
        message_id_was_made=is_made,
        in_reply_to=_answered(head, message_id),
        references=_references(head, message_id),
        sent_at=sent_at,
        date=_believable_date(head, sent_at, now),
        to=_addresses(head, content.limits, "to"),
        cc=_addresses(head, content.limits, "cc"),
        delivered_to=_addresses(head, content.limits, "envelope-to", "x-envelope-to", "delivered-to"),
        routed_to=_routed_to(head, content.limits),
        header_text=_header_text(head, message_id if is_made else None),
        headers=tuple((name, headers.header_value(value)) for name, value in head.fields),
        text=text,
        html=html,
        has_plain=chosen.is_plain,
        other_words=chosen.other_words,
        files=tuple(content.files),
        notes=_notes(head, from_list, [*filter(None, (date_note,)), *content.notes]),
        is_automatic=is_machine_written or automatic.is_for_many(head),
        is_machine_written=is_machine_written,
        is_notice=automatic.is_notice(head, senders, text, found_bounce is not None and found_bounce.is_failure),
        auto_submitted=automatic.is_auto_submitted(head),
        loop_token=head.first(automatic.INSTALLATION_HEADER.lower()) or None,
        bounce=found_bounce,
    )


def _sent_at(head: headers.Head, now: int) -> tuple[int, str]:
    """(Unix seconds, a note or "")."""
    value = head.first("date")
    sent = date_header.read_date(headers.header_value(value))
    problem = sent.problem or ("is in the future" if sent.at > now + SKEW_SECONDS else "")
    return sent.at, f"the date '{headers.one_line(value)[:DATE_CHARACTERS]}' {problem}" if problem else ""


def _believable_date(head: headers.Head, sent_at: int, now: int) -> int:
    if 0 < sent_at <= now:
        return sent_at
    received = date_header.read_date(head.first("received").rpartition(";")[2]).at
    return received if 0 < received <= now else now


def _addresses(head: headers.Head, limits: ParseLimits, *names: str) -> tuple[NamedAddress, ...]:
    values = head.all(*names)
    if not values:  # the usual case
        return ()
    authors: list[NamedAddress] = []
    for value in values:
        authors += addresses.parse_list(value, limits.addresses - len(authors))
        if len(authors) >= limits.addresses:
            break
    return tuple(NamedAddress(name, address.lower()) for name, address in authors)


def _senders(head: headers.Head, from_list: tuple[NamedAddress, ...], limits: ParseLimits) -> Iterator[NamedAddress]:
    yield from _addresses(head, limits, "reply-to")
    yield from from_list
    yield from _addresses(head, limits, "return-path")


def _authors(head: headers.Head, from_list: tuple[NamedAddress, ...], limits: ParseLimits) -> tuple[NamedAddress, ...]:
    """Possible authors of the mail, the likeliest first, each once and with a name if any header gives one."""
    candidates = [*_addresses(head, limits, "reply-to"), *from_list]
    if any(map(head.has, ORIGINAL_AUTHOR)):
        for name in ORIGINAL_AUTHOR:
            candidates += _addresses(head, limits, name)
    names: dict[str, str] = {}
    for name, address in candidates:
        names[address] = names.get(address) or name
    return tuple(NamedAddress(name, address) for address, name in names.items())


def _has_one_author(head: headers.Head, from_list: tuple[NamedAddress, ...]) -> bool:
    """False where programs may disagree on which address of From they show."""
    return len({address for _, address in from_list}) <= 1 and len(head.all("from")) <= max(len(from_list), 1)


def _routed_to(head: headers.Head, limits: ParseLimits) -> tuple[NamedAddress, ...]:
    """Addresses that the mail was routed to; dedicated headers precede those of Received fields."""
    recipients = _addresses(head, limits, *ROUTED_TO)
    passages = [match[1] for value in head.all("received")[:PASSAGES] for match in _PASSAGE_FOR.finditer(value)]
    return (*recipients, *(NamedAddress("", each.lower()) for each in passages if addresses.valid(each)))


def _sender_name(sender: NamedAddress | None, from_list: tuple[NamedAddress, ...]) -> str:
    if sender is None or sender.name:
        return sender.name if sender else ""
    return next((name for name, address in from_list if address == sender.address), "")


def _answered(head: headers.Head, message_id: str) -> tuple[str, ...]:
    """The messages that the mail replies to; RFC 5322, section 3.6.4 allows several."""
    ids = (id for value in head.all("in-reply-to") for id in headers.ids_in(value) if id != message_id)
    return tuple(dict.fromkeys(ids))[:ANSWERED]


def _references(head: headers.Head, message_id: str) -> tuple[str, ...]:
    found = [
        reference for value in head.all("references") for reference in headers.ids_in(value) if reference != message_id
    ]
    return tuple(found[-headers.REFERENCES :])


def _header_text(head: headers.Head, made_id: str | None) -> str:
    lines = [f"Message-Id: {made_id}"] if made_id else []
    return "\n".join(lines + [f"{name}: {value}" for name, value in head.fields])


def _notes(head: headers.Head, from_list: tuple[NamedAddress, ...], notes: list[str]) -> tuple[str, ...]:
    all_notes = [*head.notes]
    if len(from_list) > 1:
        all_notes.append("From names more than one address")
    if any("@" in name and address not in name.lower() for name, address in from_list):
        all_notes.append("the name in From contains a different address than From itself")
    all_notes += notes
    if len(all_notes) > NOTES:
        all_notes[NOTES - 1 :] = [f"and {len(all_notes) - NOTES + 1} more notes"]
    return tuple(note[:NOTE_CHARACTERS] for note in all_notes)


@dataclass(frozen=True, slots=True)
class _Part:
    """A leaf part: `raw[start:end]` is its body, still in its transfer encoding."""

    head: headers.Head
    mime_type: str
    parameters: dict[str, str]
    start: int
    end: int
    alternative: int = 0  # which multipart/alternative holds it, 0 for none

    @property
    def name(self) -> str:
        return part_names.own_name(self.head, self.parameters)

    @property
    def is_attached(self) -> bool:
        """Whether it is shown as a file, even if it is text."""
        return headers.parameters(self.head.first("content-disposition"))[0] == "attachment"


@dataclass(slots=True)
class _Content:
    """Everything below the headers of one mail, collected part by part."""

    raw: bytes
    limits: ParseLimits
    charset: str  # charset of raw bytes in the heads of parts
    plain: list[str] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    plain_in: set[int] = field(default_factory=set)  # the alternatives that the texts stand in
    html_in: set[int] = field(default_factory=set)
    files: list[AttachedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    statuses: list[tuple[_Part, bytes]] = field(default_factory=list)
    originals: list[bytes] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    parts: list[_Part] = field(default_factory=list)  # head of the mail, or of the signed mail inside
    winmails: list[tnef.Winmail] = field(default_factory=list)
    text_bytes: int = 0
    count: int = 0
    opened: int = 0
    is_report: bool = False

    def read(self, head: headers.Head, level: int = 1) -> None:
        outer, self.parts = self.parts, list(self._leaves(head, level))
        bodies = _bodies(self.parts)
        for place, part in enumerate(self.parts):
            if not (bodies and part.alternative and part.mime_type in OTHER_FORMS):
                self._take(part, is_body=place in bodies)
        self.parts = outer

    def texts(self) -> tuple[body_choice.ChosenText, str | None]:
        """(the text, HTML or None)."""
        if not self.html and self.winmails:
            self._add_packed_text(self.winmails[0])
        html = "\n".join(self.html) or None
        plain = "\n".join(self.plain).rstrip()
        if html is None:
            return body_choice.ChosenText(plain, bool(plain)), None
        if len(html) > HTML_FOR_TEXT and not plain:
            self.notes.append("the text was created from the beginning of the HTML only: the HTML is too long")
        html_text = _text_of(html[: HTML_COMPARED if plain else HTML_FOR_TEXT])
        if not plain:
            return body_choice.ChosenText(html_text, False), html
        are_alternatives = not self.plain_in.isdisjoint(self.html_in - {0})
        return body_choice.choose_text(plain, html_text, are_alternatives=are_alternatives), html

    def bounce(self, is_from_machine: bool) -> Bounce | None:
        """Returns the bounce in the mail. The delivery status becomes a file unless the failure is permanent."""
        contents = [content for _, content in self.statuses]
        bounced = bounce.read(is_from_machine or self.is_report, contents, self.originals)
        if bounced is None or not bounced.is_permanent:
            for part, content in self.statuses:
                self._add_file(part, content)
        return bounced

    def stand_in(self, host: str) -> str:
        """The sender of a report that does not name one."""
        return bounce.stand_in([content for _, content in self.statuses], host)

    def _leaves(self, head: headers.Head, level: int) -> Iterator[_Part]:
        """The parts that hold content, in order. Multiparts too deep, or after too many parts, are leaves."""
        waiting = [(head, head.body_at, len(self.raw), level, "text/plain", 0)]
        signatures: set[int] = set()  # where parts begin that may sign the one before
        self.count += 1
        while waiting:
            head, start, end, level, default_type, alternative = waiting.pop()
            mime_type, parameters = _type_of(head, default_type)
            if mime_type.startswith("multipart/"):
                self.is_report = self.is_report or (level == 1 and _is_delivery_report(mime_type, parameters))
                room = self.limits.parts - self.count
                slices = self._slices(parameters, start, end, room) if level <= self.limits.levels and room > 0 else []
                self.count += len(slices)
                inner = "message/rfc822" if mime_type == "multipart/digest" else "text/plain"
                heads = [self._part_head(*piece) for piece in slices]
                if 0 < len(slices) == room and self.raw.find(b"\n--", slices[-1][0], end) >= 0:
                    # The rest is not split: it is opened as a multipart without room for parts.
                    heads[-1] = _REST, slices[-1][0]
                alternative = start if mime_type == "multipart/alternative" else alternative
                waiting += [
                    (*heads[at], slices[at][1], level + 1, inner, alternative) for at in reversed(range(len(slices)))
                ]
                if len(slices) == 2 and mime_type == "multipart/signed":
                    signatures.add(heads[1][1])
                if slices:
                    continue
                mime_type = self._unsliced(mime_type, level, room)
            if start in signatures and mime_type in SIGNED_NOTES:
                self.notes.append(SIGNED_NOTES[mime_type])
                continue
            yield _Part(head, mime_type, parameters, start, end, alternative)

    def _part_head(self, start: int, end: int) -> tuple[headers.Head, int]:
        head = headers.split(self.raw, start, end, PART_FIELDS, PART_HEAD_BYTES, PART_HEAD_BYTES, self.charset)
        self.notes += head.notes
        return head, head.body_at

    def _unsliced(self, mime_type: str, level: int, room: int) -> str:
        if level > self.limits.levels or room <= 0:
            self.notes.append(
                "parts were stored together in one file: there are too many, or they are nested too deeply"
            )
            return mime_type
        self.notes.append("the parts of the email could not be separated; they are shown as one text")
        return "text/plain"

    def _slices(self, parameters: dict[str, str], start: int, end: int, room: int) -> list[tuple[int, int]]:
        boundary = parameters.get("boundary", "").encode("utf-8", "replace").rstrip()
        parts = _between(self.raw, boundary, start, end, room) if boundary else []
        if parts:
            return parts
        # If the boundary is missing or wrong, the first line that looks like one counts.
        line = _BOUNDARY_LINE.search(self.raw, start, end)
        if line is None:
            return []
        self.notes.append("the boundary of the parts was guessed")
        return _between(self.raw, line[0].rstrip()[2:], start, end, room)

    def _take(self, part: _Part, *, is_body: bool) -> None:
        packed = self.raw[part.start : part.end]
        encoding = _encoding_of(part)
        unpacked = charsets.decode_transfer(packed, encoding)
        name = part.name
        if unpacked is None:
            self.notes.append(f"unknown transfer encoding '{encoding.strip()[:40]}' of {name or 'a part'}")
            self._add_file(part, packed)
            return
        content, damage = unpacked
        if damage:
            self.notes.append(f"{damage} in {name or part.mime_type}; the readable part was stored")
        is_control = openpgp.is_control_part(part.mime_type, content)
        if (is_control or openpgp.is_encrypted(content)) and openpgp.ENCRYPTED_NOTE not in self.notes:
            self.notes.append(openpgp.ENCRYPTED_NOTE)
        if is_control or self._open(part.mime_type, name.lower(), content):
            return
        if part.mime_type == RIGHTS_TYPE or name.lower().endswith(".rpmsg"):
            self.notes.append("protected by Microsoft's rights management; only its recipients open message.rpmsg")
        if part.mime_type in part_names.STATUS_TYPES and not name:
            self.statuses.append((part, content))
        elif is_body:
            self._add_text(part, content)
        else:
            if part.mime_type in part_names.MESSAGE_TYPES or part.mime_type == "text/rfc822-headers":
                self.originals.append(content)
            self._add_file(part, content)

    def _open(self, mime_type: str, name: str, content: bytes) -> bool:
        """Unpacks a part in a format that only some programs open; False if the part is a file as well."""
        if self.opened >= OPENED:
            return False
        if mime_type in smime.TYPES or (mime_type == OCTETS and name == smime.FILE_NAME):
            return self._open_signed(content)
        if mime_type in tnef.TYPES or name in tnef.FILE_NAMES:
            return self._open_winmail(content)
        return False

    def _open_signed(self, content: bytes) -> bool:
        """Replaces the part with the mail inside; ignores its From and Subject."""
        inner = smime.signed_content(content)
        if inner is None and smime.is_encrypted(content):
            self.notes.append("encrypted with S/MIME; only the recipient's key opens it")
        head = headers.split(inner) if inner else None
        if inner is None or head is None or not head.has("content-type"):  # a document may be signed, too
            return False
        self.opened += 1
        self.notes.append(smime.SIGNED_NOTE)
        outer = self.raw, self.charset
        self.raw, self.charset = inner, _declared_charset(inner)
        self.read(head, level=2)
        self.raw, self.charset = outer
        return True

    def _open_winmail(self, content: bytes) -> bool:
        """Unpacks a winmail.dat. One that cannot be read completely is also attached, so that no content is lost."""
        winmail = tnef.unpack(content)
        if winmail is None:
            return False
        self.opened += 1
        self.winmails.append(winmail)
        files = winmail.files[: max(self.limits.parts - self.count, 0)]
        self.count += len(files)
        for file in files:
            own_name = part_names.clean_name(file.name)
            name = part_names.for_file(own_name, file.mime_type, file.content_id, file.content)
            content_id = headers.one_line(file.content_id).strip("<> ") or None
            declared = file.mime_type.lower()
            mime_type = declared if _TYPE.fullmatch(declared) else OCTETS
            self._add_named(name, mime_type, file.content, content_id, content_id is not None)
        is_whole = winmail.is_whole and len(files) == len(winmail.files)
        self.notes.append("winmail.dat was unpacked" if is_whole else "winmail.dat was partly unpacked, and stored")
        return is_whole

    def _add_packed_text(self, winmail: tnef.Winmail) -> None:
        """Adds the text of a winmail.dat if the mail has none of its own."""
        html, text = winmail.html, winmail.text
        if winmail.rtf and not html and not (text or self.plain):
            words, is_html = rtf.words_of(rtf.unpacked(winmail.rtf))
            html, text = (words, "") if is_html else ("", words)
        html, text = (each[: self.limits.text_bytes].replace("\r\n", "\n").strip() for each in (html, text))
        self.html += [html] if html else []
        self.plain += [text] if text and not self.plain else []

    def _add_text(self, part: _Part, content: bytes) -> None:
        room = self.limits.text_bytes - self.text_bytes
        if len(content) > room:
            self.notes.append(f"a text of {len(content)} bytes was cut to {room}; the whole is a file")
            self._add_file(part, content)
            content = content[:room]
        self.text_bytes += len(content)
        text = charsets.decode(content, self._charset_of(part, content))
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if part.mime_type == HTML or _HTML_START.match(text):  # scripts send HTML without saying so
            if text.strip():
                self.html.append(text.rstrip("\n"))
                self.html_in.add(part.alternative)
            return
        if part.parameters.get("format", "").lower() == "flowed":
            text = flowed.join_lines(text, deletes_space=part.parameters.get("delsp", "").lower() == "yes")
        text, copy = bounce.cut_copy(text)
        if text.strip():
            self.plain.append(text.rstrip("\n"))
            self.plain_in.add(part.alternative)
        if copy:
            content = copy.encode()
            self.originals.append(content)
            self._add_named(f"attached_message_{part_names.random_text()}.txt", "text/plain", content, None, False)

    def _charset_of(self, part: _Part, content: bytes) -> str:
        """The charset that the part declares; else that of its HTML, else of another text of the mail."""
        label = part.parameters.get("charset", "")[: charsets.LABEL_CHARACTERS]
        if charsets.codec_of(label) is not None or content.isascii() or charsets.is_utf8(content):
            return label
        if part.mime_type == HTML and (own := charsets.charset_in_html(content)):
            return own
        others = (each for each in self.parts if each.mime_type in TEXTS and not each.is_attached)
        return next(filter(charsets.codec_of, map(self._declared_by, others)), label)

    def _declared_by(self, part: _Part) -> str:
        label = part.parameters.get("charset", "")[: charsets.LABEL_CHARACTERS]
        if charsets.codec_of(label) is not None or part.mime_type != HTML:
            return label
        unpacked = charsets.decode_transfer(self.raw[part.start : part.end], _encoding_of(part))
        return charsets.charset_in_html(unpacked[0]) if unpacked else ""

    def _add_file(self, part: _Part, content: bytes) -> None:
        if not content.strip() and not part.name:
            return
        content_id = headers.one_line(part.head.first("content-id")).strip("<> ") or None
        disposition = headers.parameters(part.head.first("content-disposition"))[0]
        is_inline = disposition == "inline" or (content_id is not None and disposition != "attachment")
        if part.mime_type in part_names.CALENDAR_TYPES and part.name:
            # An invitation is often both an alternative of the text and a file.
            self.files = [each for each in self.files if not (each.mime_type == CALENDAR and each.content == content)]
        name = part_names.for_file(part.name, part.mime_type, content_id, content)
        self._add_named(name, part.mime_type, content, content_id, is_inline)

    def _add_named(self, name: str, mime_type: str, content: bytes, content_id: str | None, is_inline: bool) -> None:
        if mime_type == OCTETS:
            mime_type = part_names.type_of(name, content)
        size, most = len(content), self.limits.file_bytes
        dropped = f"it has {size} bytes; at most {most} are kept of a file in a mail" if size > most else ""
        if dropped:
            self.notes.append(f"file {name} was not kept: {dropped}")
            content = b""
        self.files.append(AttachedFile(self._unique(name), mime_type, content, content_id, is_inline, size, dropped))

    def _unique(self, name: str) -> str:
        """`name`, or with -1, -2 before its extension when an earlier file has it. Case makes no difference."""
        base, dot, extension = name.rpartition(".")
        if not base:
            base, dot, extension = name, "", ""
        candidate, number = name, self.names.get(name.lower(), 0)
        while candidate.lower() in self.names:
            number += 1
            candidate = f"{base}-{number}{dot}{extension}"
        # Remembering how far the numbers went keeps a thousand equal names from a million comparisons.
        self.names[name.lower()] = number
        self.names.setdefault(candidate.lower(), 0)
        return candidate


def _bodies(parts: list[_Part]) -> set[int]:
    """The places of the text parts of the mail. A text with a file name counts only if no other text exists: then the
    first one and its alternative."""
    texts = [(place, part) for place, part in enumerate(parts) if part.mime_type in TEXTS]
    if len(parts) == 1:  # the only part of the mail, even if it is declared as a file
        return {place for place, _ in texts}
    texts = [(place, part) for place, part in texts if not part.is_attached]
    nameless = {place for place, part in texts if not part.name}
    if nameless or not texts:
        return nameless
    first_place, first = texts[0]
    others = {
        place
        for place, part in texts
        if first.alternative and part.alternative == first.alternative and part.mime_type != first.mime_type
    }
    return {first_place, *others}


def _encoding_of(part: _Part) -> str:
    return part.head.first("content-transfer-encoding").partition(";")[0].partition("(")[0]


def _between(raw: bytes, boundary: bytes, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Yields (start, end) of each part between lines of this boundary; the last one includes everything beyond `room`.

    Without a closing boundary the last part extends to the end."""
    mark = b"\n--" + boundary
    slices: list[tuple[int, int]] = []
    opened = -1
    # The line end before the first boundary may be the one that ends the headers.
    position = max(start - 1, 0)
    for _ in range(BOUNDARY_TRIES):
        at = raw.find(mark, position, end)
        if at < 0:
            break
        line_at = at + len(mark)
        line_end = raw.find(b"\n", line_at, end)
        line_end = end if line_end < 0 else line_end
        position = line_end
        tail = raw[line_at : min(line_end, line_at + 200)]
        is_last = tail.startswith(b"--")
        if tail[2 * is_last :].strip():
            continue
        if opened >= 0:
            slices.append((opened, max(at - raw.startswith(b"\r", at - 1), opened)))
        opened = -1 if is_last else min(line_end + 1, end)
        if is_last or len(slices) >= room - 1:
            break
    if opened >= 0 and (opened < end or not slices):
        slices.append((opened, end))
    return slices


def _type_of(head: headers.Head, default: str) -> tuple[str, dict[str, str]]:
    """MIME type and parameters of a part; a type that cannot be read is plain text, as RFC 2045 has it."""
    value = head.first("content-type")
    if not value:
        return default, {}
    mime_type, parameters = headers.parameters(value)
    if mime_type.startswith("=?"):
        mime_type = headers.one_line(value.partition(";")[0]).lower()
    if not _TYPE.fullmatch(mime_type):
        mime_type = "text/plain"
    if "charset" in parameters:
        parameters["charset"] = parameters["charset"].partition("(")[0].strip()
    return mime_type, parameters


def _is_delivery_report(mime_type: str, parameters: dict[str, str]) -> bool:
    # Read receipts and complaints are reports as well, but nothing bounced.
    return mime_type == "multipart/report" and parameters.get("report-type", "").lower() in ("", "delivery-status")


def _text_of(html: str) -> str:
    from server.markup import text_of_html  # only mails without a plain part need it

    return text_of_html(html).rstrip()
