"""Mail that a machine wrote: bounces, with what they are about, and other automatic mail.

Only reads. A bounce can be forged: whoever marks an address as defunct should see that `original_message_id` is of a
mail that was sent there.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from server.mail import addresses, headers

BLOCKS = 100  # blocks of a delivery status that are read: one for the mail, one for each recipient
RECEIVED = 50  # more passages from host to host are a loop
INSTALLATION_HEADER = "X-Svc-Installation"

_COPY_LINE = "------ This is a copy of the message, including all the headers. ------"
_MACHINES = frozenset({"postmaster", "mailer-daemon"})
_COMMENT = re.compile(r"\([^()]*\)")
_PERMANENT_STATUS = re.compile(r"5\.\d{1,3}\.\d{1,3}(?!\d)", re.ASCII)
_PERMANENT_DIAGNOSTIC = re.compile(r"(?<!\d)5\d\d[ \t-]+#?\d\.\d{1,3}\.\d{1,3}(?!\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bounce:
    """`original_message_id`: of the mail that was not delivered, or None. `failed_address`: lower case, or None.

    `is_permanent`: the address does not take mail; False for a delay.
    """

    original_message_id: str | None
    failed_address: str | None
    is_permanent: bool


def from_machine(address: str | None) -> bool:
    """True for postmaster@ and mailer-daemon@ anything."""
    return address is not None and address.partition("@")[0].lower() in _MACHINES


def is_nameless(head: headers.Head) -> bool:
    """Whether a mail server wrote the mail and gave no address to answer: MAILER-DAEMON alone, <>, a null return path.

    Only for mail without a usable sender."""
    written = [" ".join(_COMMENT.sub(" ", value).split()) for value in head.all("from")]
    words = {word.strip("<>\"'").lower() for value in written for word in value.split()}
    return (
        any(value.endswith("<>") for value in written)
        or not words.isdisjoint(_MACHINES)
        or is_returned(head)
        or head.has("x-failed-recipients")
        or _is_report(head)
    )


def stand_in(statuses: Sequence[bytes], host: str) -> str:
    """The address under which a report without one is filed: mailer-daemon at the server that reports, else at host."""
    servers = (headers.split(status).first("reporting-mta").rpartition(";")[2].strip().lower() for status in statuses)
    made = (f"mailer-daemon@{server}" for server in (*servers, host))
    return next((address for address in made if addresses.valid(address)), "mailer-daemon@localhost")


def read(is_report: bool, statuses: Sequence[bytes], originals: Iterable[bytes]) -> Bounce | None:
    """The bounce in a mail, or None.

    is_report: a machine wrote the mail, so the id of an attached message counts. statuses: contents of its
    message/delivery-status parts. originals: attached messages or their headers. Source: Mail, Bounces.
    """
    original = _original_id(originals) if is_report else None
    if not statuses and original is None:
        return None
    failed = [found for status in statuses for found in _recipients(status)]
    permanent = [address for address, is_permanent in failed if is_permanent]
    address = next(iter(permanent or [address for address, _ in failed]), None)
    return Bounce(original, address, bool(permanent))


def cut_copy(text: str) -> tuple[str, str]:
    """A text before the line that announces a copy of the original mail, and that copy ("" when there is none)."""
    before, line, after = text.partition(_COPY_LINE)
    return (before, after.lstrip()) if line else (text, "")


def is_auto_submitted(head: headers.Head) -> bool:
    """True when Auto-Submitted is there and is not "no". Source: RFC 3834."""
    value = head.first("auto-submitted").partition(";")[0].partition("(")[0].strip().lower()
    return value not in ("", "no")


def is_returned(head: headers.Head) -> bool:
    """Whether the mail came with a null return path: it must not come back itself."""
    return any(value.replace(" ", "") == "<>" for value in head.all("return-path"))


def is_machine_written(head: headers.Head, senders: Iterable[str | None]) -> bool:
    """True for mail that a program wrote, by itself or in answer: not for what people write to a list."""
    return (
        is_auto_submitted(head)
        or head.first("precedence").lower() == "auto_reply"
        or is_returned(head)
        or _is_report(head)
        or any(from_machine(sender) for sender in senders)
    )


def is_automatic(head: headers.Head, senders: Iterable[str | None]) -> bool:
    """True for mail that must never get an automatic answer. Source: Security, M7."""
    return (
        is_machine_written(head, senders)
        or head.has("list-id")
        or head.first("precedence").lower() in ("bulk", "list", "junk")
        or len(head.all("received")) > RECEIVED
    )


def _is_report(head: headers.Head) -> bool:
    return headers.parameters(head.first("content-type"))[0] == "multipart/report"


def _original_id(originals: Iterable[bytes]) -> str | None:
    for content in originals:
        found = headers.own_id(headers.split(content.lstrip()).first("message-id"))
        if found is not None:
            return found
    return None


def _recipients(status: bytes) -> list[tuple[str, bool]]:
    """(address, permanent) of each block of a delivery status that names an address."""
    found = []
    position = 0
    for _ in range(BLOCKS):
        block = headers.split(status, position)
        address = _address(block.first("original-recipient")) or _address(block.first("final-recipient"))
        if address:
            found.append((address, _is_permanent(block)))
        if block.body_at <= position or block.body_at >= len(status):
            break
        position = block.body_at
    return found


def _address(value: str) -> str | None:
    # "rfc822; ann@kite.example"
    listed = addresses.parse_list(value.rpartition(";")[2], limit=1)
    return listed[0].address.lower() if listed else None


def _is_permanent(block: headers.Head) -> bool:
    status = block.first("status")
    if status.startswith(("2.", "4.")):
        return False
    return bool(_PERMANENT_STATUS.match(status) or _PERMANENT_DIAGNOSTIC.search(block.first("diagnostic-code")))
