"""What our own mail server found out about who sent a mail: Authentication-Results, of hosts that are trusted only,
since anybody can write such a header. Only reads. Source: RFC 8601; RFC 7489."""

import re
from collections.abc import Container, Iterable

from server.late_pattern import late_pattern

HEADER = "authentication-results"
_COMMENT = late_pattern(r"\([^()]*\)")
_RESULT = late_pattern(r";\s*(?:\([^()]*\)\s*)*dmarc\s*(?:/\s*\d+\s*)?=\s*(?:\([^()]*\)\s*)*([A-Za-z]+)", re.IGNORECASE)


def dmarc_failed_at(headers: Iterable[tuple[str, str]], trusted: Container[str]) -> str:
    """The host that says that the mail is not from the domain of its From, "" when none does.

    headers: (name, value), the first on top. trusted: names of hosts in small letters. The topmost DMARC result of a
    trusted host counts: it added that when the mail came, and further ones may be forged. Programs on one host may add
    a header each, so those that say nothing of DMARC are passed over.

    >>> dmarc_failed_at([("Authentication-Results", "mx.example; spf=pass; dmarc=fail (p=none)")], {"mx.example"})
    'mx.example'
    """
    for name, value in headers:
        host = _host(value) if name.lower() == HEADER else ""
        results = [result.lower() for result in _RESULT.findall(value)] if host in trusted else []
        if results:
            # Senders choose some of the text, such as `"; dmarc=pass;"@x.example`: of several results, fail counts.
            return host if "fail" in results else ""
    return ""


def _host(value: str) -> str:
    words = _COMMENT.sub(" ", value.partition(";")[0]).lower().split()
    return words[0].strip('"') if words else ""
