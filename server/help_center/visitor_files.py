"""Files of contact forms that were not accepted yet: uploaded while a visitor writes, or held while a refused form is
corrected. They become files of a message, or are deleted after RETAINED_SECONDS."""

import secrets
from collections.abc import Collection, Sequence
from typing import Any

import peewee

from server.context import Service
from server.dataclass import dataclass
from server.errors import Invalid, TooLarge, TooMany
from server.file_names import safe_name
from server.help_center.form_tokens import FormToken, address_digest
from server.jobs.scheduler import periodic
from server.mail.mail_bytes import MAX_FILES_BYTES
from server.records.stored_files import OCTETS
from server.store import blobs
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

MAX_FORM_FILES = 10
MAX_NETWORK_BYTES = 100 * 1024 * 1024  # bytes of files of one network that wait
MAX_WAITING_BYTES = 1024 * 1024 * 1024  # bytes of files of all visitors that wait
MAX_TYPE_CHARS = 100
RETAINED_SECONDS = 48 * 3600  # longer than a link to confirm a form is valid
CODE_BYTES = 15

VISITOR_FILE = Table(
    "visitor_file",
    [
        Column("code", "TEXT"),
        Column("nonce", "TEXT"),
        Column("network", "TEXT"),
        Column("name", "TEXT"),
        Column("mime_type", "TEXT"),
        Column("size"),
        Column("blob_id"),
        Column("created_at"),
    ],
    [
        Index(("created_at",), "those that are too old"),
        Index(("nonce",), "files of a form"),
        Index(("network",), "files of a network"),
    ],
    key=("code",),
)  # nonce: of the token of the form that they belong to


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A stored file of a form. code: the name of the file in requests of its form."""

    code: str
    name: str
    mime_type: str
    size: int
    blob_id: int


def max_bytes(service: Service) -> int:
    """Returns the maximum size of all files of a form together, in bytes: the limit of an email."""
    return min(int(service.settings.max_attachment_bytes), MAX_FILES_BYTES)


def store(
    service: Service, token: FormToken, network: str, now: int, *, name: str, mime_type: str, content: bytes
) -> WaitingFile:
    """Stores a file of a form. network: key of the visitor's address. Raises Invalid for an empty file or above
    MAX_FORM_FILES, TooLarge above max_bytes, TooMany if too many files wait."""
    if not content:
        raise Invalid(N_("the file is empty"), field="files")
    most = max_bytes(service)
    if len(content) > most:
        raise _too_large(most)
    plain_name = safe_name(name) or "file"
    plain_type = mime_type if mime_type.isascii() and mime_type.isprintable() else ""
    network = address_digest(service, network)

    def write(tx: Transaction) -> WaitingFile:
        present = files_of(tx, token.nonce)
        if len(present) >= MAX_FORM_FILES:
            raise Invalid(lazy_gettext("at most {count} files", count=MAX_FORM_FILES), field="files")
        if sum(each.size for each in present) + len(content) > most:
            raise _too_large(most)
        _require_room(tx, network, len(content))
        file = WaitingFile(
            secrets.token_hex(CODE_BYTES), plain_name, plain_type[:MAX_TYPE_CHARS] or OCTETS, len(content), 0
        )
        values = {"nonce": token.nonce, "network": network, "created_at": now, "blob_id": blobs.keep(tx, content)}
        tx.put(
            VISITOR_FILE,
            {"code": file.code, "name": file.name, "mime_type": file.mime_type, "size": file.size, **values},
        )
        return file

    return service.store.write(write)


def files_of(tx: Transaction, nonce: str) -> list[WaitingFile]:
    """Returns the files of a form, the oldest first."""
    at = VISITOR_FILE.position
    rows = sorted(tx.find(VISITOR_FILE, nonce=nonce), key=lambda row: (row[at["created_at"]], row[at["code"]]))
    return [
        WaitingFile(row[at["code"]], row[at["name"]], row[at["mime_type"]], row[at["size"]], row[at["blob_id"]])
        for row in rows
    ]


def waiting(service: Service, token: FormToken) -> list[WaitingFile]:
    """Returns the files of a form, the oldest first."""
    return service.store.read(lambda tx: files_of(tx, token.nonce))


def remove(service: Service, token: FormToken, codes: Collection[str]) -> None:
    """Deletes files that the visitor removed; codes of other forms have no effect."""
    service.store.write(lambda tx: drop(tx, [each for each in files_of(tx, token.nonce) if each.code in codes]))


def contents(tx: Transaction, files: Sequence[WaitingFile]) -> list[tuple[str, str, bytes]]:
    """Returns name, type and bytes of each file."""
    return [(each.name, each.mime_type, blobs.read(tx, each.blob_id)) for each in files]


def drop(tx: Transaction, files: Sequence[WaitingFile]) -> None:
    """Deletes files that became files of a message, or that the visitor removed."""
    for each in files:
        if tx.delete(VISITOR_FILE, code=each.code):
            blobs.forget(tx, each.blob_id)


@periodic(
    N_("files of contact forms"), N_("Deletes files of forms that became no ticket, after two days."), deletes=True
)
def forget_old(service: Service, now: int) -> int | None:
    """Deletes files that are too old, and returns when the next one is."""
    table: Any = VISITOR_FILE.sql

    def oldest(tx: Transaction) -> int | None:
        value = tx.value(lambda: table.select(peewee.fn.MIN(table.created_at)))
        return None if value is None else int(value) + RETAINED_SECONDS

    def write(tx: Transaction) -> None:
        rows = tx.rows(
            lambda: table.select(table.code, table.blob_id).where(table.created_at <= slot(0)),
            (now - RETAINED_SECONDS,),
        )
        for code, blob_id in rows:
            tx.delete(VISITOR_FILE, code=code)
            blobs.forget(tx, blob_id)

    first = service.store.read(oldest)
    if first is None or first > now:
        return first
    service.store.write(write)
    return service.store.read(oldest)


def _require_room(tx: Transaction, network: str, size: int) -> None:
    table: Any = VISITOR_FILE.sql
    of_network = tx.value(lambda: table.select(peewee.fn.SUM(table.size)).where(table.network == slot(0)), (network,))
    of_all = tx.value(lambda: table.select(peewee.fn.SUM(table.size)))
    if int(of_network or 0) + size > MAX_NETWORK_BYTES or int(of_all or 0) + size > MAX_WAITING_BYTES:
        raise TooMany(N_("too many files are waiting at the moment; send the form without files"), retry_after=3600)


def _too_large(most: int) -> TooLarge:
    return TooLarge(
        lazy_gettext("all files together can have {size} MB", size=most // (1024 * 1024)), limit=most, field="files"
    )
