"""Finds ticket numbers of other helpdesks in subjects: a reply must repeat them."""

import re

from server.late_pattern import late_pattern

MOST = 3  # marks of one subject
SUBJECT_CHARACTERS = 500

_MARK = late_pattern(
    r"\[(?=[^\[\]]{0,60}\d{3})[^\[\]]{1,80}\]"  # [70012345], [Ticket#2026112410000123], [SUPPORT-123]
    r"|\[(?:#|[A-Z][A-Z0-9]{1,15}-)\d{1,12}\]"  # [SUPPORT-8], [#12]
    r"|\((?:#|[A-Z][A-Z0-9]{1,9}-)\d{1,12}\)"  # (#4711), (PROJ-123)
    r"|\{#?[A-Za-z -]{0,20}\d{3,20}\}"  # {ticket 4711}
    r"|##[A-Za-z]{0,10}-?\d{1,20}##"  # ##RE-123##
    r"|\bref:[\w.!-]{6,80}:ref\b"
    r"|\b(?:TrackingID|SRX?|RT|Ticket|Case|Incident|Request|Anfrage|Vorgang|Fall)[ -]?(?:ID|No\.?|Nr\.?)?"
    r"[ ]?[#:\u2116][ ]?[A-Z]{0,6}-?\d{3,20}\b"
    r"|\b(?:INC|REQ|RITM|CHG|PRB|CAS|CS|HD)-?\d{5,20}(?:-[A-Z0-9]{4,12})?\b",
    re.IGNORECASE,
)


def marks_in(subject: str) -> list[str]:
    """Candidates for ticket numbers of another helpdesk, in order, at most MOST.

    >>> marks_in("Re: [70012345] order of pumps"), marks_in("Re: [Boat] 3 pumps")
    (['[70012345]'], [])
    """
    return list(dict.fromkeys(match[0] for match in _MARK.finditer(subject[:SUBJECT_CHARACTERS])))[:MOST]
