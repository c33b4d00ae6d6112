"""What our own mail server found out about who sent a mail: Authentication-Results, of hosts that are trusted only,
since anybody can write such a header. Only reads. Source: RFC 8601; RFC 7489."""

import re
from collections.abc import Container, Iterable

HEADER = "authentication-results"
CHARACTERS = 4_000  # of one header that are read
_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"\s*dmarc\s*(?:/\s*\d+\s*)?=\s*([A-Za-z]+)", re.IGNORECASE)


def dmarc_failed_at(headers: Iterable[tuple[str, str]], trusted: Container[str]) -> str:
    """The host that says that the mail is not from the domain of its From, "" when none does.

    headers: (name, value), the first on top. trusted: names of hosts in small letters. The topmost result of a trusted
    host counts: it added that when the mail came, and further ones may be forged.

    >>> dmarc_failed_at([("Authentication-Results", "mx.example; spf=pass; dmarc=fail (p=none)")], {"mx.example"})
    'mx.example'
    """
    for name, value in headers:
        if name.lower() != HEADER:
            continue
        host, *results = _COMMENT.sub(" ", value[:CHARACTERS]).split(";")
        words = host.lower().split()
        if words and words[0] in trusted:
            found = next((match[1].lower() for each in results if (match := _RESULT.match(each))), "")
            return words[0] if found == "fail" else ""
    return ""
