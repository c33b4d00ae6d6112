"""Bounces that say in words what happened, as qmail and Exim write them: no part for programs, but the addresses that
failed, each with its reason, and below them the mail that came back.

Only reads. Like every bounce it can be forged; see bounce.py."""

import re
from itertools import islice

from server.late_pattern import late_pattern
from server.mail import addresses, automatic, headers
from server.mail.bounce import Bounce

CHARACTERS = 256 * 1024  # of the text that are looked at
LINES = 100  # addresses in it

# A line that is an address and nothing else, or that says why behind it.
_FAILED = late_pattern(
    r"^[ \t]{0,8}<?([^\s<>,;:\"@]{1,64}@[^\s<>,;:\"@]{1,255})>?(?:[ \t]*:[^\n]{0,1000})?[ \t]*$", re.MULTILINE
)
_PERMANENT = late_pattern(r"(?<![\d.])5\.\d{1,3}\.\d{1,3}(?![\d.])", re.ASCII)
_QUOTED_ID = late_pattern(
    r"^[ \t>|]{0,8}message-id:[ \t]*(?:\n[ \t>|]{1,8})?(<[^<>\s]{1,500}>)", re.IGNORECASE | re.MULTILINE
)


def read(head: headers.Head, text: str, found: Bounce | None) -> Bounce | None:
    """The bounce in the text of a mail, or None. found: what its parts tell.

    Only for mail that a server wrote: people quote headers as well. Follows RFC 5321, section 6.1."""
    if found is None and "<" not in text:  # no id
        return None
    if not _is_from_server(head):
        return found
    text = text[:CHARACTERS]
    quoted = _QUOTED_ID.search(text)
    original = found.original_message_id if found else headers.own_id(quoted[1]) if quoted else None
    if original is None:
        return found
    address, is_permanent = _failed(text[: quoted.start()] if quoted else text)
    is_failure = is_permanent or not automatic.reports_delay(head, text)
    references = found.original_references if found else ()
    return Bounce(original, address or _listed(head), is_permanent, references, is_failure)


def _is_from_server(head: headers.Head) -> bool:
    senders = (each.address for each in addresses.parse_list(head.first("from"), limit=1))
    return automatic.is_nameless(head) or any(map(automatic.from_machine, senders))


def _failed(told: str) -> tuple[str | None, bool]:
    """(address, whether it takes no mail at all): the first that takes none, else the first that is named."""
    found = [match for match in islice(_FAILED.finditer(told), LINES) if addresses.valid(match[1])]
    ends = [*(each.start() for each in found[1:]), len(told)]
    failed = []
    for match, end in zip(found, ends, strict=False):
        reason = told[match.start() : end].partition("\n\n")[0]
        failed.append((match[1].lower(), _PERMANENT.search(reason) is not None))
    return next((each for each in failed if each[1]), next(iter(failed), (None, False)))


def _listed(head: headers.Head) -> str | None:
    listed = addresses.parse_list(head.first("x-failed-recipients"), limit=1)
    return listed[0].address.lower() if listed else None
