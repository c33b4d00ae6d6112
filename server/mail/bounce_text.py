"""Bounces in prose, as qmail and Exim write them: no part for programs, but a list of failed addresses with reasons,
and below it the original mail.

Only reads. Like every bounce it can be forged; see bounce.py."""

import re
from itertools import islice

from server.late_pattern import late_pattern
from server.mail import addresses, automatic, headers
from server.mail.bounce import Bounce

CHARACTERS = 256 * 1024  # characters of the text that are read
LINES = 100  # addresses that are read

# A line with an address only, or with an address and a reason.
_FAILED = late_pattern(
    r"^[ \t]{0,8}<?([^\s<>,;:\"@]{1,64}@[^\s<>,;:\"@]{1,255})>?(?:[ \t]*:[^\n]{0,1000})?[ \t]*$", re.MULTILINE
)
_PERMANENT = late_pattern(r"(?<![\d.])5\.\d{1,3}\.\d{1,3}(?![\d.])", re.ASCII)
_QUOTED_ID = late_pattern(
    r"^[ \t>|]{0,8}message-id:[ \t]*(?:\n[ \t>|]{1,8})?(<[^<>\s]{1,500}>)", re.IGNORECASE | re.MULTILINE
)


def read(head: headers.Head, text: str, bounce: Bounce | None) -> Bounce | None:
    """Returns the bounce in the text of a mail, or None. bounce: the result of its parts.

    Only for mail that a server wrote: people quote headers as well. Follows RFC 5321, section 6.1."""
    if bounce is None and "<" not in text:  # no id
        return None
    if not _is_from_server(head):
        return bounce
    text = text[:CHARACTERS]
    quoted = _QUOTED_ID.search(text)
    original = bounce.original_message_id if bounce else headers.own_id(quoted[1]) if quoted else None
    if original is None:
        return bounce
    address, is_permanent = _failed(text[: quoted.start()] if quoted else text)
    is_failure = is_permanent or not automatic.reports_delay(head, text)
    references = bounce.original_references if bounce else ()
    return Bounce(original, address or _listed(head), is_permanent, references, is_failure)


def _is_from_server(head: headers.Head) -> bool:
    senders = (each.address for each in addresses.parse_list(head.first("from"), limit=1))
    return automatic.is_nameless(head) or any(map(automatic.from_machine, senders))


def _failed(text: str) -> tuple[str | None, bool]:
    """Returns (address, whether it accepts no mail): the first that accepts none, else the first in the list."""
    matches = [match for match in islice(_FAILED.finditer(text), LINES) if addresses.valid(match[1])]
    ends = [*(each.start() for each in matches[1:]), len(text)]
    failed = []
    for match, end in zip(matches, ends, strict=False):
        reason = text[match.start() : end].partition("\n\n")[0]
        failed.append((match[1].lower(), _PERMANENT.search(reason) is not None))
    return next((each for each in failed if each[1]), next(iter(failed), (None, False)))


def _listed(head: headers.Head) -> str | None:
    recipients = addresses.parse_list(head.first("x-failed-recipients"), limit=1)
    return recipients[0].address.lower() if recipients else None
