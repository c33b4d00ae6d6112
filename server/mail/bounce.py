"""Reads bounces: which mail bounced, for which address, and whether permanently.

Only reads. A bounce can be forged: before an address is marked as defunct, the caller should check that
`original_message_id` is the id of a mail that was sent to it."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from server.dataclass import dataclass
from server.mail import addresses, headers

BLOCKS = 100  # blocks of a delivery status that are read: one for the mail, one for each recipient

_NO_FAILURE = frozenset({"delayed", "delivered", "relayed", "expanded"})  # values of Action; RFC 3464, 2.3.3
_COPY_LINE = "------ This is a copy of the message, including all the headers. ------"
_PERMANENT_STATUS = re.compile(r"5\.\d{1,3}\.\d{1,3}(?!\d)", re.ASCII)
_PERMANENT_DIAGNOSTIC = re.compile(r"(?<!\d)5\d\d[ \t-]+#?\d\.\d{1,3}\.\d{1,3}(?!\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bounce:
    """A bounce. original_message_id: of the undelivered mail, or None. failed_address: lower case, or None.

    is_permanent: the address does not accept mail. is_failure: delivery was given up; False for a delay or a report of
    success. original_references: of the undelivered mail."""

    original_message_id: str | None
    failed_address: str | None
    is_permanent: bool
    original_references: tuple[str, ...] = ()
    is_failure: bool = True


class _Recipient(NamedTuple):
    address: str | None
    is_permanent: bool
    is_given_up: bool


def stand_in(statuses: Sequence[bytes], host: str) -> str:
    """The stand-in for the sender of a report without one: mailer-daemon at the reporting server, else at host."""
    servers = (headers.split(status).first("reporting-mta").rpartition(";")[2].strip().lower() for status in statuses)
    senders = (f"mailer-daemon@{server}" for server in (*servers, host))
    return next((address for address in senders if addresses.valid(address)), "mailer-daemon@localhost")


def read(is_report: bool, statuses: Sequence[bytes], originals: Iterable[bytes]) -> Bounce | None:
    """Returns the bounce in a mail, or None.

    is_report: a machine wrote the mail, so the id of an attached message counts. statuses: contents of its
    message/delivery-status parts. originals: attached messages or their headers."""
    original, references = _original_ids(originals) if is_report else (None, ())
    if not statuses and original is None:
        return None
    recipients = [recipient for status in statuses for recipient in _recipients(status)]
    permanent = [each.address for each in recipients if each.is_permanent and each.address]
    address = next(iter(permanent or [each.address for each in recipients if each.address]), None)
    return Bounce(
        original, address, bool(permanent), references, not recipients or any(each.is_given_up for each in recipients)
    )


def cut_copy(text: str) -> tuple[str, str]:
    """Splits a text before the line that announces a copy of the original mail; without one, the copy is ""."""
    before, line, after = text.partition(_COPY_LINE)
    return (before, after.lstrip()) if line else (text, "")


def _original_ids(originals: Iterable[bytes]) -> tuple[str | None, tuple[str, ...]]:
    """Message-ID and References of the first attached mail that has an id."""
    for content in originals:
        head = headers.split(content.lstrip())
        message_id = headers.own_id(head.first("message-id"))
        if message_id is not None:
            return message_id, tuple(headers.ids_in(head.first("references")))
    return None, ()


def _recipients(status: bytes) -> list[_Recipient]:
    """Returns the blocks of a delivery status that are about a recipient."""
    blocks = []
    position = 0
    for _ in range(BLOCKS):
        block = headers.split(status, position)
        address = _address(block.first("original-recipient")) or _address(block.first("final-recipient"))
        action = block.first("action").partition("(")[0].strip().lower()
        if address or action:
            is_permanent = _is_permanent(block)
            blocks.append(_Recipient(address, is_permanent, is_permanent or action not in _NO_FAILURE))
        if block.body_at <= position or block.body_at >= len(status):
            break
        position = block.body_at
    return blocks


def _address(value: str) -> str | None:
    # "rfc822; ann@kite.example"
    recipients = addresses.parse_list(value.rpartition(";")[2], limit=1)
    return recipients[0].address.lower() if recipients else None


def _is_permanent(block: headers.Head) -> bool:
    status = block.first("status")
    if status.startswith(("2.", "4.")):
        return False
    return bool(_PERMANENT_STATUS.match(status) or _PERMANENT_DIAGNOSTIC.search(block.first("diagnostic-code")))
