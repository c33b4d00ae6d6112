"""What our own mail server found out about who sent a mail: Authentication-Results, of hosts that are trusted only,
since anybody can write such a header. Only reads. Follows RFC 8601, RFC 7489."""

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from server.late_pattern import late_pattern

HEADER = "authentication-results"
_COMMENT = late_pattern(r"\([^()]*\)")
_RESULT = late_pattern(r";\s*(?:\([^()]*\)\s*)*dmarc\s*(?:/\s*\d+\s*)?=\s*(?:\([^()]*\)\s*)*([A-Za-z]+)", re.IGNORECASE)


class DmarcResult(NamedTuple):
    """What a host of ours found out: its name, and pass, fail or another word; both "" when none says anything."""

    host: str
    result: str


def dmarc_result(headers: Iterable[tuple[str, str]], trusted: Container[str]) -> DmarcResult:
    """Whether the mail is from the domain of its From, by the word of a trusted host.

    headers: (name, value), the first on top. trusted: names of hosts in small letters. The topmost DMARC result of a
    trusted host counts: it added that when the mail came, and further ones may be forged. Programs on one host may add
    a header each, so those that say nothing of DMARC are passed over.

    >>> dmarc_result([("Authentication-Results", "mx.example; spf=pass; dmarc=fail (p=none)")], {"mx.example"})
    DmarcResult(host='mx.example', result='fail')
    """
    for name, value in headers:
        host = _host(value) if name.lower() == HEADER else ""
        results = [result.lower() for result in _RESULT.findall(value)] if host in trusted else []
        if results:
            # Senders choose some of the text, such as `"; dmarc=pass;"@x.example`: of several results the worst counts.
            worst = "fail" if "fail" in results else next((each for each in results if each != "pass"), "pass")
            return DmarcResult(host, worst)
    return DmarcResult("", "")


def _host(value: str) -> str:
    words = _COMMENT.sub(" ", value.partition(";")[0]).lower().split()
    return words[0].strip('"') if words else ""
