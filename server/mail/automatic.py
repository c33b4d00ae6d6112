"""Mail that a program wrote: by itself, in answer, or for many; and which gets no automatic answer. Only reads."""

import re
from collections.abc import Iterable

from server.late_pattern import late_pattern
from server.mail import addresses, headers

RECEIVED = 50  # more passages from host to host are a loop
INSTALLATION_HEADER = "X-Svc-Installation"

_MACHINES = frozenset({"postmaster", "mailer-daemon"})
_COMMENT = late_pattern(r"\([^()]*\)")
_SENDERS = ("from", "reply-to", "return-path")
_ANSWER_HEADERS = (
    "list-unsubscribe", "x-autoreply", "x-autorespond", "x-autoresponse", "x-autoreply-from", "x-vacation",
)  # fmt: skip
_PROGRAM = late_pattern(
    r"(?:^|[-_.+])(?:no|not|do[-_.]?not)[-_.]?(?:reply|respond|response|answer)(?:[-_.+\d]|$)|^bounces?(?:[-_.+=]|$)|"
    r"^owner-|-(?:request|bounces?|owner)$|^(?:listserv|majordomo|nobody|auto[-_.]?reply|auto[-_.]?responder)$",
    re.IGNORECASE,
)
# How mail programs begin the subject of what they answer while somebody is away.
_ABSENT = late_pattern(
    r"\s*(?:\[?auto(?:matic|mated)?[- ]?(?:reply|response)\b|auto:|out of (?:the )?office\b|on vacation\b|"
    r"abwesenheits|automatische antwort|autom\. antwort|r.ponse automatique|absence du bureau|absent du bureau|"
    r"respuesta autom|fuera de la oficina|risposta automatica|fuori sede|resposta autom|fora do escrit|"
    r"automatisch(?:e)? antwoord|afwezig|autosvar|automatsvar|automaattinen vastaus|odpowied. automatyczna|"
    r"automatick. odpov|automatikus v.lasz|\u0430\u0432\u0442\u043e\u043e\u0442\u0432\u0435\u0442|"
    r"\u81ea\u52d5\u5fdc\u7b54|\u81ea\u52a8\u56de\u590d|\u81ea\u52d5\u56de\u8986)",
    re.IGNORECASE,
)


def from_machine(address: str | None) -> bool:
    """True for postmaster@ and mailer-daemon@ anything."""
    return address is not None and address.partition("@")[0].lower() in _MACHINES


def is_nameless(head: headers.Head) -> bool:
    """Whether a mail server wrote the mail and gave no address to answer: MAILER-DAEMON alone, <>, a null return path.

    Only for mail without a usable sender."""
    return (
        any(map(_names_nobody, head.all("from")))
        or is_returned(head)
        or head.has("x-failed-recipients")
        or _is_report(head)
    )


def _names_nobody(value: str) -> bool:
    """Whether a From field ends with <>, or has a name of a mail server for a word."""
    lower = value.lower()
    if "<>" not in lower and not any(name in lower for name in _MACHINES):
        return False
    written = " ".join(_COMMENT.sub(" ", value).split())
    words = {word.strip("<>\"'").lower() for word in written.split()}
    return written.endswith("<>") or not words.isdisjoint(_MACHINES)


def is_auto_submitted(head: headers.Head) -> bool:
    """True when Auto-Submitted is there and is not "no". Source: RFC 3834."""
    value = head.first("auto-submitted").partition(";")[0].partition("(")[0].strip().lower()
    return value not in ("", "no")


def is_returned(head: headers.Head) -> bool:
    """Whether the mail came with a null return path: it must not come back itself."""
    return head.has("return-path") and any(value.replace(" ", "") == "<>" for value in head.all("return-path"))


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
    return is_machine_written(head, senders) or is_for_many(head)


def is_for_many(head: headers.Head) -> bool:
    """Whether the mail went through a list, or round and round."""
    return (
        head.has("list-id")
        or head.first("precedence").lower() in ("bulk", "list", "junk")
        or len(head.all("received")) > RECEIVED
    )


def wants_no_answer(head: headers.Head) -> bool:
    """True for mail that gets no automatic answer: automatic mail, and what asks for none or is an answer by itself.

    Source: RFC 3834; the headers of common programs, and how they call their absence notes."""
    suppressed = {each.strip().lower() for each in head.first("x-auto-response-suppress").split(",")}
    senders = [each.address for name in _SENDERS for each in addresses.parse_list(head.first(name), limit=1)]
    return (
        is_automatic(head, senders)
        or not suppressed.isdisjoint(("all", "oof", "autoreply"))
        or any(head.has(name) for name in _ANSWER_HEADERS)
        or any(map(takes_no_answer, senders))
        or _ABSENT.match(headers.one_line(head.first("subject"))) is not None
    )


def takes_no_answer(email: str) -> bool:
    """True for an address behind which a program writes, by its spelling: noreply@, do-not-reply@, bounces+x@.

    >>> takes_no_answer("No.Reply-7@x.example"), takes_no_answer("shop-donotreply@x.example"), takes_no_answer("a@b")
    (True, True, False)
    """
    return from_machine(email) or _PROGRAM.search(email.partition("@")[0]) is not None


def _is_report(head: headers.Head) -> bool:
    value = head.first("content-type")
    return "report" in value.lower() and headers.parameters(value)[0] == "multipart/report"
