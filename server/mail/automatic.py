"""Detects mail that a program wrote: automatic mail, automatic replies, bulk mail; and mail that must not get an
automatic reply."""

import re
from collections.abc import Iterable

from server.late_pattern import late_pattern
from server.mail import addresses, headers

RECEIVED = 50  # more Received fields mean a loop
INSTALLATION_HEADER = "X-Svc-Installation"

_MACHINES = frozenset({"postmaster", "mailer-daemon"})
_COMMENT = late_pattern(r"\([^()]*\)")
_SENDERS = ("from", "reply-to", "return-path")
_ANSWER_HEADERS = (
    "list-unsubscribe",
    "x-autoreply",
    "x-autorespond",
    "x-autoresponse",
    "x-autoreply-from",
    "x-vacation",
)
_PROGRAM = late_pattern(
    r"(?:^|[-_.+])(?:no|not|do[-_.]?not)[-_.]?(?:reply|respond|response|answer)(?:[-_.+\d]|$)|^bounces?(?:[-_.+=]|$)|"
    r"^owner-|-(?:request|bounces?|owner)$|^(?:listserv|majordomo|nobody|auto[-_.]?reply|auto[-_.]?responder)$",
    re.IGNORECASE,
)
# Beginnings of subjects of absence notices.
_ABSENT = late_pattern(
    r"\s*(?:\[?auto(?:matic|mated)?[- ]?(?:reply|response)\b|auto:|out of (?:the )?office\b|on vacation\b|"
    r"abwesenheits|automatische antwort|autom\. antwort|r.ponse automatique|absence du bureau|absent du bureau|"
    r"respuesta autom|fuera de la oficina|risposta automatica|fuori sede|resposta autom|fora do escrit|"
    r"automatisch(?:e)? antwoord|afwezig|autosvar|automatsvar|automaattinen vastaus|odpowied. automatyczna|"
    r"automatick. odpov|automatikus v.lasz|\u0430\u0432\u0442\u043e\u043e\u0442\u0432\u0435\u0442|"
    r"\u81ea\u52d5\u5fdc\u7b54|\u81ea\u52a8\u56de\u590d|\u81ea\u52d5\u56de\u8986)",
    re.IGNORECASE,
)


_SUPPRESSED = frozenset({"all", "oof", "autoreply"})
_LIST_MARKS = late_pattern(r"[\s,;]+")
_NOT_SAID = frozenset({"", "no", "none", "false", "0", "off"})  # values of X-Autoreply and the like that say nothing
_SAYS_ABSENT = tuple(name for name in _ANSWER_HEADERS if name != "list-unsubscribe")
_RECEIPT = late_pattern(
    r"\s*(?:(?:not )?read|gelesen|ungelesen|lu|non lu|le\u00eddo|letto|gelezen|lido|l\u00e6st|l\u00e4st|\u5df2\u8bfb"
    r"|\u958b\u5c01\u6e08\u307f|return receipt|delivered|zugestellt)\s?:",
    re.IGNORECASE,
)
DELAY_CHARACTERS = 4_000  # characters of a text that are searched for words about a delay
_DELAY = late_pattern(
    r"\bdelayed\b|warning: (?:could not send|message)|not (?:yet )?been (?:able to be )?delivered (?:yet|after|within)"
    r"|has not yet been delivered|still (?:being )?(?:trying|retried)|will (?:keep|continue|be) (?:trying|retr)"
    r"|will (?:keep|continue) to try|no action is required on your part|this is a warning message only"
    r"|do not need to resend|delivery (?:status notification )?\(?delay|verz\u00f6ger|retard\u00e9|retrasad|in ritardo"
    r"|vertraagd",
    re.IGNORECASE,
)
_GIVEN_UP = late_pattern(
    r"\bpermanent (?:fatal )?(?:error|failure)|gave up|giving up|could not be delivered to one or more"
    r"|delivery (?:to the following recipients? )?(?:has )?failed|unzustellbar|endg\u00fcltig",
    re.IGNORECASE,
)


def from_machine(address: str | None) -> bool:
    """Whether an address is postmaster@ or mailer-daemon@ of any domain."""
    return address is not None and address.partition("@")[0].lower() in _MACHINES


def is_nameless(head: headers.Head) -> bool:
    """Whether a mail server wrote the mail without a reply address: MAILER-DAEMON alone, <>, a null return path.

    Only for mail without a usable sender."""
    return (
        any(map(_names_nobody, head.all("from")))
        or is_returned(head)
        or head.has("x-failed-recipients")
        or _is_report(head)
    )


def _names_nobody(value: str) -> bool:
    """Whether a From field ends with <>, or contains the usual name of a mail server."""
    lower = value.lower()
    if "<>" not in lower and not any(name in lower for name in _MACHINES):
        return False
    written = " ".join(_COMMENT.sub(" ", value).split())
    words = {word.strip("<>\"'").lower() for word in written.split()}
    return written.endswith("<>") or not words.isdisjoint(_MACHINES)


def is_auto_submitted(head: headers.Head) -> bool:
    """True if Auto-Submitted is present and not "no" (RFC 3834)."""
    value = head.first("auto-submitted").partition(";")[0].partition("(")[0].strip().lower()
    return value not in ("", "no")


def is_returned(head: headers.Head) -> bool:
    """Whether the mail has a null return path, so that it must not be bounced."""
    return head.has("return-path") and any(value.replace(" ", "") == "<>" for value in head.all("return-path"))


def is_machine_written(head: headers.Head, senders: Iterable[str | None]) -> bool:
    """True for automatic mail and automatic replies, but not for people's mail to a list."""
    return (
        is_auto_submitted(head)
        or head.first("precedence").lower() == "auto_reply"
        or is_returned(head)
        or _is_report(head)
        or any(from_machine(sender) for sender in senders)
    )


def is_notice(head: headers.Head, senders: Iterable[str | None], text: str, is_failure: bool) -> bool:
    """True for mail of a program that does not report a failure: an absence, a receipt, a delay.

    is_failure: our mail bounced permanently. An unknown report of a mail server counts as a failure."""
    if is_failure:
        return False
    senders = tuple(senders)
    if any(map(from_machine, senders)) and not is_auto_replied(head):
        return _is_receipt(head) or _is_status(head) or reports_delay(head, text)
    return is_machine_written(head, senders) or is_absence(head) or _is_receipt(head)


def is_auto_replied(head: headers.Head) -> bool:
    """Whether the mail is marked as an automatic reply (RFC 3834, 5)."""
    return head.first("auto-submitted").strip().lower().startswith("auto-replied")


def is_absence(head: headers.Head) -> bool:
    """Whether the mail is an absence notice, by the marks of common programs."""
    subject = headers.one_line(head.first("subject"))
    return (
        any(head.first(name).strip().lower() not in _NOT_SAID for name in _SAYS_ABSENT if head.has(name))
        or "rules agent" in head.first("x-ms-exchange-generated-message-source").lower()
        or (_ABSENT.match(subject) is not None)
    )


def reports_delay(head: headers.Head, text: str) -> bool:
    """Whether the text of a mail server says that it is still trying to deliver a mail."""
    words = f"{headers.one_line(head.first('subject'))}\n{text[:DELAY_CHARACTERS]}"
    return _DELAY.search(words) is not None and _GIVEN_UP.search(words) is None


def _is_receipt(head: headers.Head) -> bool:
    """Whether the mail is a receipt: by its type, or by subject and reference for programs that write one as text."""
    kind, parameters = headers.parameters(head.first("content-type"))
    if kind == "multipart/report" and parameters.get("report-type", "").lower() == "disposition-notification":
        return True
    subject = headers.one_line(head.first("subject"))
    return kind == "message/disposition-notification" or (
        _RECEIPT.match(subject) is not None and (head.has("x-ms-tnef-correlator") or head.has("original-message-id"))
    )


def _is_status(head: headers.Head) -> bool:
    """Whether the mail is a delivery status; if it reports a failure, it is a bounce."""
    kind, parameters = headers.parameters(head.first("content-type"))
    return kind == "multipart/report" and parameters.get("report-type", "").lower() == "delivery-status"


def is_automatic(head: headers.Head, senders: Iterable[str | None]) -> bool:
    """True for mail that must never get an automatic reply."""
    return is_machine_written(head, senders) or is_for_many(head)


def is_for_many(head: headers.Head) -> bool:
    """Whether the mail went through a list, or in a loop."""
    return (
        head.has("list-id")
        or head.first("precedence").lower() in ("bulk", "list", "junk")
        or len(head.all("received")) > RECEIVED
    )


def wants_no_answer(head: headers.Head) -> bool:
    """True for mail that gets no automatic reply: written by a program, sent to many, or requesting none."""
    senders = _senders(head)
    return (
        is_by_itself(head)
        or suppresses_answers(head)
        or head.has("list-unsubscribe")
        or any(map(takes_no_answer, senders))
    )


def is_by_itself(head: headers.Head) -> bool:
    """Whether a program wrote or forwarded a mail, so that it contains no words of a person."""
    return is_automatic(head, _senders(head)) or is_absence(head)


def suppresses_answers(head: headers.Head) -> bool:
    """Whether X-Auto-Response-Suppress forbids automatic replies ([MS-OXCMAIL], 2.2.3.2.14).

    Its other values are about receipts and delivery reports, and the field says nothing about the author."""
    values = " ".join(head.all("x-auto-response-suppress")).lower()
    return not _SUPPRESSED.isdisjoint(_LIST_MARKS.split(values))


def _senders(head: headers.Head) -> list[str]:
    return [each.address for name in _SENDERS for each in addresses.parse_list(head.first(name), limit=1)]


def takes_no_answer(email: str) -> bool:
    """True for the address of a program, by its spelling: noreply@, do-not-reply@, bounces+x@.

    >>> takes_no_answer("No.Reply-7@x.example"), takes_no_answer("shop-donotreply@x.example"), takes_no_answer("a@b")
    (True, True, False)
    """
    return from_machine(email) or _PROGRAM.search(email.partition("@")[0]) is not None


def _is_report(head: headers.Head) -> bool:
    value = head.first("content-type")
    return "report" in value.lower() and headers.parameters(value)[0] == "multipart/report"
