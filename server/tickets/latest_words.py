"""The author and the first words of the newest message of each ticket in a list."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import peewee

from server import contexts
from server.context import Context
from server.dataclass import dataclass
from server.markup import plain_words, quoted
from server.record_types.shared.relation_tables import ATTACHED
from server.records import records
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_READ_CHARS = 2_000  # characters read of a message, most of which may be a quotation
MAX_CHARS = 240
MAX_CACHED = 1024  # messages whose first words are cached; two megabytes with their texts
# A short first line with a comma in any language; one with an exclamation mark may be the message: "It works now!"
_GREETINGS = """hi hello hey dear good hallo guten grüezi grüß liebe lieber moin servus bonjour salut hola buenos buenas
    ciao buongiorno olá bom boa dag beste hej hei cześć dzień witam dobrý ahoj привет здравствуйте добрый"""
_SALUTATION = re.compile(rf"[^\d?]{{2,40}}[,:،，]|({'|'.join(_GREETINGS.split())})(\s[^\d?.]{{2,30}})?!", re.IGNORECASE)
# What Outlook and Gmail write into the text in place of a picture.
_PICTURE = re.compile(r"\[(?:cid:|image: )[^\]\n]{0,200}\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LatestWords:
    """The first words of a message and its author. worker_id: 0 for received mail and automatic replies. who: the given
    name of the worker, or the sender's name in the mail. It is the address if the mail has no name, or if the address
    is a worker's: anybody could write that worker's name. files: the number of attachments."""

    words: str
    worker_id: int
    sender_id: int
    who: str
    files: int


def read(ctx: Context, message_ids: Iterable[int]) -> dict[int, LatestWords]:
    """Reads these messages, of tickets that the caller may read; returns them by the id of their ticket."""
    ids = json.dumps(list(message_ids))
    return records.reading(ctx, lambda tx: _read(tx, ids))


def _read(tx: Transaction, ids: str) -> dict[int, LatestWords]:
    rows = tx.rows(_messages, (contexts.MESSAGE, ids))
    latest = {}
    for ticket_id, worker_id, name, sender_id, email, is_workers, from_name, content, files in rows:
        who = name if worker_id else email if is_workers else from_name or email
        latest[ticket_id] = LatestWords(first_words(content or ""), worker_id, sender_id, who or "", files)
    return latest


@lru_cache(MAX_CACHED)  # saves a third of a list of tickets, whose messages are in the lists of many workers
def first_words(text: str) -> str:
    """Returns the first words of a mail on one line, without salutation, quotations and signature.

    >>> first_words("> Is it?\\n\\nDear Ida,\\n\\nyes,\\nit is.\\n-- \\nAnn")
    'yes, it is.'
    >>> first_words("Hallo Frau Adler!\\n\\nDas war es."), first_words("It works now!\\n\\nIda")
    ('Das war es.', 'It works now! Ida')
    >>> first_words("[cid:image001.png@01DB3C.8F]\\nHi Ida,\\n[image: a.png]\\nit leaks.")
    'it leaks.'
    """
    return first_of(quoted.parts(text)) or quoted.beginning(text, MAX_CHARS)


def first_of(parts: Iterable[tuple[quoted.Kind, str]], most: int = MAX_CHARS) -> str:
    """Returns the first words of a text that is divided into parts; "" if all of it is quoted. most: characters."""
    said = "\n".join(words for kind, words in parts if kind == "said").lstrip()[: 4 * most]
    said = _PICTURE.sub("", said).strip()
    first, _, rest = said.partition("\n")
    if _SALUTATION.fullmatch(first.strip()) and rest.strip():
        said = rest
    return quoted.beginning(plain_words(said), most)


def _messages() -> Any:
    message, worker, attached = table_named("message"), table_named("worker"), ATTACHED.sql
    address = table_named("address")
    files = attached.select(peewee.fn.COUNT(peewee.SQL("*"))).where(
        attached.context == slot(0),
        attached.record_id == message.c.id,
        attached.attachment_id != message.c.html_attachment_id,
    )
    return (
        message.select(
            message.c.ticket_id,
            message.c.worker_id,
            worker.c.first_name,
            message.c.sender_id,
            address.c.email,
            address.c.worker_id,
            message.c.from_name,
            peewee.fn.SUBSTR(message.c.content, peewee.SQL("1"), peewee.SQL(str(MAX_READ_CHARS))),
            files,
        )
        .join(address, peewee.JOIN.LEFT_OUTER, on=(address.c.id == message.c.sender_id))
        .join(worker, peewee.JOIN.LEFT_OUTER, on=(worker.c.id == message.c.worker_id))
        .where(in_list(message.c.id, slot(1)))
    )
