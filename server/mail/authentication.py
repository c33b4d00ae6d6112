"""Reads the verdict of our own mail server on the sender: Authentication-Results of trusted hosts only, since anybody
can write such a header. Follows RFC 8601, RFC 7489."""

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from server.late_pattern import late_pattern

HEADER = "authentication-results"
_COMMENT = late_pattern(r"\([^()]*\)")
_RESULT = late_pattern(r";\s*(?:\([^()]*\)\s*)*dmarc\s*(?:/\s*\d+\s*)?=\s*(?:\([^()]*\)\s*)*([A-Za-z]+)", re.IGNORECASE)


class DmarcResult(NamedTuple):
    """The verdict of a trusted host: its name, and pass, fail or another word; both "" if there is none."""

    host: str
    result: str


def dmarc_result(headers: Iterable[tuple[str, str]], trusted: Container[str]) -> DmarcResult:
    """Whether a trusted host confirms that the mail comes from the domain of its From.

    headers: (name, value), the topmost first. trusted: host names in lower case. The topmost DMARC result of a trusted
    host counts: the host added it when the mail arrived, and later ones may be forged. Several programs on one host may
    each add a header, so headers without DMARC are skipped.

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
