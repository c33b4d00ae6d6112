"""The messages of a ticket that its customers can read: messages from a requester, and messages that were sent to one.

Notes, drafts, mail to other people, messages from strangers, automatic notices and unsent messages are never included.
Recipients are shown only to the customers who received the email."""

import base64
import json
import re
from collections.abc import Iterable, Iterator

from server.access.service_actor import own_context
from server.context import Service
from server.contexts import MESSAGE
from server.dataclass import dataclass
from server.errors import TooLarge
from server.help_center.customers.customers import SignedInCustomer
from server.mail.addresses import NamedAddress, parse_list
from server.mail.charsets import decode
from server.mail.headers import header_value
from server.markup import MAX_HTML_BYTES, clean_html, quoted
from server.markup.quoted import Kind
from server.outbox.deliver import own_file_id
from server.record_types.record_type import Record
from server.record_types.shared import paths
from server.record_types.shared.relation_tables import ATTACHED, REQUESTER
from server.records.reading import RecordReader
from server.records.stored_files import StoredFile
from server.store import blobs
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_MESSAGES = 200  # newest messages of a ticket that are read
MAX_TEXT_CHARS = 20_000  # characters of a message that are shown
EXPORTED_AT_ONCE = 10  # messages that an export has in memory
MAX_EXPORTED_CHARS = 500_000  # text of one exported message
MAX_INLINE_BYTES = 16 * 1024  # size of HTML that is shown inside the page; larger HTML has its own page
MAX_IMAGES_BYTES = 3 * 1024 * 1024  # size of the images in a message's document; further ones are downloads
_LOOK = re.compile(r'<(?:font|center|style)\b|<[^>]* (?:style|bgcolor|background|color|align|width|border)="')
_HEADS = ("from", "to", "cc", "bcc")
_FILE_COLUMNS = ("id", "name", "mime_type", "size", "storage_sha1hash", "updated", "blob_id")
_COLUMNS = (
    *("id", "ticket_id", "sender_id", "worker_id", "is_outgoing", "is_notice", "is_forward", "is_not_sent"),
    *("created", "from_name", "html_attachment_id", "headers"),
)


@dataclass(frozen=True, slots=True)
class PublicMessage:
    """A message as a customer sees it. at: Unix seconds. who: the name of its author, "" if the customer may not know
    it. is_own: whether the customer wrote it. recipients: To and Cc, "" unless the customer received the email. parts:
    its text, as marked by markup/quoted.py. html: sanitized, if it can be shown in the page. has_html: whether its HTML
    has a page of its own."""

    id: int
    at: int
    who: str
    is_team: bool
    is_own: bool
    recipients: str
    parts: tuple[tuple[Kind, str], ...]
    html: str
    has_html: bool
    files: tuple[StoredFile, ...]


def public_ids(tx: Transaction, customer: SignedInCustomer, message_ids: Iterable[int]) -> dict[int, int]:
    """Returns {id: ticket} of the messages that the customer would see on their tickets. The caller checks the
    tickets."""
    ids = json.dumps(sorted(set(message_ids)))
    message = table_named("message")
    rows = tx.rows(
        lambda: message.select(*(getattr(message.c, name) for name in _COLUMNS)).where(in_list(message.c.id, slot(0))),
        (ids,),
    )
    messages = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    return {each["id"]: each["ticket_id"] for each in _public(tx, customer, messages)}


def read(service: Service, customer: SignedInCustomer, ticket_id: int) -> list[PublicMessage]:
    """Returns the newest messages of a ticket that a customer may see, the oldest first. The caller has checked that
    they may see the ticket."""
    ctx = own_context(service)
    return service.store.read(
        lambda tx: _shown_messages(RecordReader(ctx, tx), customer, _newest(tx, ticket_id), has_look=True)
    )


def pages(service: Service, customer: SignedInCustomer, ticket_id: int) -> Iterator[list[PublicMessage]]:
    """Yields all messages of a ticket that a customer may see, the oldest first, a few from each snapshot."""
    ctx, after = own_context(service), (-1, 0)
    while True:

        def read(tx: Transaction, after: tuple[int, int] = after) -> tuple[list[Record], list[PublicMessage]]:
            rows = _following(tx, ticket_id, after)
            return rows, _shown_messages(RecordReader(ctx, tx), customer, rows, max_chars=MAX_EXPORTED_CHARS)

        rows, messages = service.store.read(read)
        if not rows:
            return
        after = (rows[-1]["created"], rows[-1]["id"])
        yield messages


def newest_ids(tx: Transaction, customer: SignedInCustomer, ticket_id: int) -> list[int]:
    """Returns the ids of the newest messages that a customer sees on a ticket, the oldest first."""
    return [each["id"] for each in _public(tx, customer, _newest(tx, ticket_id))]


def message_document(service: Service, customer: SignedInCustomer, ticket_id: int, message_id: int) -> str | None:
    """Returns the sanitized HTML of a message, None if the customer does not see one. It contains the images of the
    message; no other image is shown."""
    ctx = own_context(service)

    def read(tx: Transaction) -> tuple[str, dict[int, str]]:
        reading = RecordReader(ctx, tx)
        if message_id not in newest_ids(tx, customer, ticket_id):
            return "", {}
        message = reading.record("message", message_id)
        html = _stored_html(reading, message["html_attachment_id"], MAX_HTML_BYTES) if message is not None else ""
        return html, _images(tx, message_id)

    html, images = service.store.read(read)
    if not html:
        return None

    def image_url(url: str) -> str | None:
        own = service.base_url + url if paths.OWN_FILE.fullmatch(url) else url
        return images.get(own_file_id(service.base_url, own))

    try:
        return clean_html(html, image_url=image_url)
    except TooLarge:
        return None


def _images(tx: Transaction, message_id: int) -> dict[int, str]:
    """Returns the small images of a message as data: URLs, because the document of a message has no access to the
    session."""
    images = [file for _, file in _files(tx, [message_id]) if file.preview == "image"]
    while sum(each.size for each in images) > MAX_IMAGES_BYTES:
        images.pop()
    contents = blobs.read_many(tx, {each.blob_id for each in images}, MAX_IMAGES_BYTES)
    return {
        each.id: f"data:{each.safe_type};base64,{base64.b64encode(contents[each.blob_id]).decode()}"
        for each in images
        if each.blob_id in contents
    }


def file_of(service: Service, customer: SignedInCustomer, ticket_id: int, file_id: int) -> StoredFile | None:
    """Returns a file of a message that the customer sees on a ticket, None for any other file."""

    def find(tx: Transaction) -> StoredFile | None:
        ids = newest_ids(tx, customer, ticket_id)
        return next((file for _, file in _files(tx, ids) if file.id == file_id), None)

    return service.store.read(find)


# -- what is public ----------------------------------------------------------------------------------------------------


def _public(tx: Transaction, customer: SignedInCustomer, messages: list[Record]) -> list[Record]:
    """The messages that a customer may see, each with `people`: its addresses by header."""
    ticket_ids = {each["ticket_id"] for each in messages}
    requesters = {id: _requesters(tx, id) for id in ticket_ids}
    workers = _workers(tx, {each["sender_id"] for each in messages if not each["is_outgoing"]})
    return [each for each in messages if _is_public(customer, each, requesters[each["ticket_id"]], workers)]


def _is_public(customer: SignedInCustomer, message: Record, requesters: dict[int, str], workers: set[int]) -> bool:
    message["people"] = people = _people(message["headers"])
    if not message["is_outgoing"]:
        if message["is_notice"] or message["worker_id"] or message["sender_id"] in workers:
            return False
        return message["sender_id"] in requesters or message["sender_id"] in customer.emails
    if message["is_forward"] or message["is_not_sent"]:
        return False
    own = set(customer.emails.values())
    to_all = {each.address.lower() for name in ("to", "cc") for each in people[name]}
    hidden = {each.address.lower() for each in people["bcc"]}
    return bool(to_all & ({*requesters.values()} | own) or hidden & own)


def _people(headers: str) -> dict[str, list[NamedAddress]]:
    people: dict[str, list[NamedAddress]] = {name: [] for name in _HEADS}
    for line in headers.replace("\n ", " ").replace("\n\t", " ").split("\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() in people:
            people[name.strip().lower()] += parse_list(value)
    return people


def _requesters(tx: Transaction, ticket_id: int) -> dict[int, str]:
    """{id: address} of the requesters of a ticket."""
    requester, address = REQUESTER.sql, table_named("address")
    return dict(
        tx.rows(
            lambda: (
                requester.select(address.c.id, address.c.email)
                .join(address, on=(address.c.id == requester.address_id))
                .where(requester.ticket_id == slot(0))
            ),
            (ticket_id,),
        )
    )


def _workers(tx: Transaction, address_ids: set[int]) -> set[int]:
    """Those of the addresses that belong to workers."""
    address = table_named("address")
    rows = tx.rows(
        lambda: address.select(address.c.id).where(in_list(address.c.id, slot(0)), address.c.worker_id != slot(1)),
        (json.dumps(sorted(address_ids)), 0),
    )
    return {id for (id,) in rows}


def _following(tx: Transaction, ticket_id: int, after: tuple[int, int]) -> list[Record]:
    """The messages of a ticket that follow one, given by its time and id."""
    message = table_named("message")
    rows = tx.rows(
        lambda: (
            message.select(*(getattr(message.c, name) for name in _COLUMNS))
            .where(
                message.c.ticket_id == slot(0),
                (message.c.created > slot(1)) | ((message.c.created == slot(1)) & (message.c.id > slot(2))),
            )
            .order_by(message.c.created, message.c.id)
            .limit(slot(3))
        ),
        (ticket_id, *after, EXPORTED_AT_ONCE),
    )
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


def _newest(tx: Transaction, ticket_id: int) -> list[Record]:
    """The newest messages of a ticket, the oldest first."""
    message = table_named("message")
    rows = tx.rows(
        lambda: (
            message.select(*(getattr(message.c, name) for name in _COLUMNS))
            .where(message.c.ticket_id == slot(0))
            .order_by(message.c.created.desc(), message.c.id.desc())
            .limit(slot(1))
        ),
        (ticket_id, MAX_MESSAGES),
    )
    return [dict(zip(_COLUMNS, row, strict=True)) for row in reversed(rows)]


# -- what is shown -----------------------------------------------------------------------------------------------------


def _shown_messages(
    reading: RecordReader,
    customer: SignedInCustomer,
    stored: list[Record],
    *,
    has_look: bool = False,
    max_chars: int = MAX_TEXT_CHARS,
) -> list[PublicMessage]:
    messages = _public(reading.tx, customer, stored)
    contents = _contents(reading.tx, [each["id"] for each in messages])
    files: dict[int, list[StoredFile]] = {}
    for message_id, file in _files(reading.tx, [each["id"] for each in messages]):
        files.setdefault(message_id, []).append(file)
    shown = []
    for each in messages:
        html_id, html = each["html_attachment_id"], ""
        if has_look and html_id and each["is_outgoing"]:
            html = _plain_look(_stored_html(reading, html_id, MAX_INLINE_BYTES))
        text = contents.get(each["id"], "")[:max_chars]
        own_files = [file for file in files.get(each["id"], ()) if file.id != html_id]
        shown.append(_shown(reading, customer, each, text, html, own_files))
    return shown


def _shown(
    reading: RecordReader, customer: SignedInCustomer, message: Record, text: str, html: str, files: list[StoredFile]
) -> PublicMessage:
    people, own = message["people"], set(customer.emails.values())
    named = [each for name in ("to", "cc") for each in people[name]]
    is_own = not message["is_outgoing"] and message["sender_id"] in customer.emails
    is_on_it = is_own or any(each.address.lower() in own for each in (*named, *people["bcc"]))
    who = message["from_name"]
    if message["is_outgoing"]:
        who = next((header_value(each.name) for each in people["from"] if each.name), "") or customer.brand.name
    elif not who and is_on_it:
        sender = reading.record("address", message["sender_id"])
        who = sender["email"] if sender is not None else ""
    return PublicMessage(
        message["id"],
        message["created"],
        who,
        bool(message["is_outgoing"]),
        is_own,
        ", ".join(each.name or each.address for each in named) if is_on_it else "",
        () if html else tuple(quoted.parts(text)),
        html,
        bool(message["html_attachment_id"]) and not html,
        tuple(files),
    )


def _contents(tx: Transaction, ids: list[int]) -> dict[int, str]:
    message = table_named("message")
    return dict(
        tx.rows(
            lambda: message.select(message.c.id, message.c.content).where(in_list(message.c.id, slot(0))),
            (json.dumps(ids),),
        )
    )


def _files(tx: Transaction, message_ids: list[int]) -> list[tuple[int, StoredFile]]:
    """Messages and their files, in order."""
    file, attached = table_named("attachment"), ATTACHED.sql
    rows = tx.rows(
        lambda: (
            attached.select(attached.record_id, *(getattr(file.c, name) for name in _FILE_COLUMNS))
            .join(file, on=(file.c.id == attached.attachment_id))
            .where(attached.context == slot(0), in_list(attached.record_id, slot(1)), file.c.dropped == slot(2))
            .order_by(file.c.id)
        ),
        (MESSAGE, json.dumps(message_ids), ""),
    )
    return [(row[0], StoredFile(*row[1:])) for row in rows]


def _stored_html(reading: RecordReader, attachment_id: int, most: int) -> str:
    file = reading.record("attachment", attachment_id) if attachment_id else None
    if file is None:
        return ""
    return decode(blobs.read_many(reading.tx, {file["blob_id"]}, most).get(file["blob_id"], b""), "utf-8")


def _plain_look(content: str) -> str:
    """Returns sanitized HTML that can be shown inside the page; "" for HTML with images or its own formatting."""
    left_out: list[str] = []
    html = clean_html(content, image_url=lambda url: left_out.append(url)) if content else ""
    return "" if left_out or _LOOK.search(html) else html
