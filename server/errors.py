"""Every error that a caller may see, in one tree. Its messages are fit to show; anything else that is raised is a bug.

HelpdeskError
    NotAuthenticated
    Forbidden          ScopeDenied  AdminOnly
    NotFound           Gone
    Invalid            Required  UnknownField  BadQuery  BadDataQuery  Malformed  UnsupportedMedia  Rejected
    Conflict           AmbiguousUpsert
    TooLarge
    TooMany
    NotOffered
    Unavailable        Full  Damaged
    TimedOut
    ScriptError        KataSyntax  TemplateFailed  PolicyDenied  BudgetSpent

The one table from these classes to HTTP statuses and bodies is in web/errors.py.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_LINE = re.compile(r" \(line [0-9]+\)\Z")


class HelpdeskError(Exception):
    """The root. `details` holds the values that the message names, for bodies, logs and tests."""

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class NotAuthenticated(HelpdeskError):
    """No token, or one that is unknown, expired or revoked. `details["reason"]` is the RFC 6750 error, if any."""


class Forbidden(HelpdeskError):
    """The caller is known and may not do this."""


class ScopeDenied(Forbidden):
    """The token's scopes do not cover method and path. `details["scope"]` names one that would."""


class AdminOnly(Forbidden):
    """Only administrators may do this."""


class NotFound(HelpdeskError):
    """There is no such record, record type or path."""


class Gone(NotFound):
    """It was there once and is kept no longer."""


class Invalid(HelpdeskError):
    """A value is wrong. `details["field"]` names the parameter."""


class Mistakes:
    """Several values that are wrong, told at once: who corrects one should not find the next one after that."""

    def __init__(self) -> None:
        self._found: list[Invalid] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, error: Invalid) -> None:
        self._found.append(error)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """What is wrong inside is kept for `require_none`."""
        try:
            yield
        except Invalid as error:
            self._found.append(error)

    def require_none(self) -> None:
        """Raises the first mistake, with the others as `details["more"]`."""
        if self._found:
            first, *more = self._found
            first.details["more"] = more
            raise first


def all_of(error: HelpdeskError) -> list[HelpdeskError]:
    """An error, and the others that were found with it."""
    more = error.details.get("more")
    return [error, *more] if isinstance(more, list) else [error]


class Required(Invalid):
    """A parameter that must be there is missing or empty."""


class UnknownField(Invalid):
    """A name that the record type does not have."""


class BadQuery(Invalid):
    """A search text that cannot be understood. `details["position"]` counts characters from 0."""


class BadDataQuery(BadQuery):
    """A data query that cannot be understood, or that takes longer than it says it may."""


class Malformed(Invalid):
    """Bytes that cannot be read as what they claim to be: a form, JSON, UTF-8."""


class UnsupportedMedia(Invalid):
    """A body in a content type that no endpoint reads."""


class Rejected(Invalid):
    """Understood and refused by a rule, such as mail from a banned sender."""


class Conflict(HelpdeskError):
    """The value is taken, or the record is needed as it is."""


class AmbiguousUpsert(Conflict):
    """An upsert's query finds two records or more."""


class PreconditionFailed(HelpdeskError):
    """The record is not what If-Match or If-None-Match says. `details["record"]` is what it is now, `details["etag"]`
    its tag."""


class TooLarge(HelpdeskError):
    """A body, a file or a text is above a named limit."""


class TooMany(HelpdeskError):
    """Too many requests. `details["retry_after"]` is in seconds."""


class NotOffered(HelpdeskError):
    """The path exists, but not with this method, or the record type does not offer this operation.

    `details["allow"]` lists the methods that the path does offer."""


class Unavailable(HelpdeskError):
    """The service cannot do it now; the same request may work later. `details["retry_after"]` is in seconds."""


class Full(Unavailable):
    """No room left on the disk or in the database file."""


class Damaged(Unavailable):
    """The database file cannot be used: foreign, newer, damaged, or not writable."""


class TimedOut(HelpdeskError):
    """A query ran past its time limit."""


class ScriptError(HelpdeskError):
    """Something in an automation or a template. `details["line"]` counts from 1."""


class KataSyntax(ScriptError):
    """A KATA text that cannot be read."""


class TemplateFailed(ScriptError):
    """A template that cannot be read or rendered."""


class PolicyDenied(ScriptError):
    """An automation's policy refuses a command."""


class BudgetSpent(ScriptError):
    """A script used up its steps, bytes, nesting or seconds."""


def reason(error: HelpdeskError) -> str:
    """What an error says, without the line at its end, for one who tells the line elsewhere.

    >>> reason(KataSyntax("a key stands here twice (line 4)", line=4))
    'a key stands here twice'
    """
    return _LINE.sub("", error.message)


NEAR_CHARS = 100  # of a name that others are compared with: it takes more than linear time


def nearest(name: str, known: Iterable[str]) -> str:
    """'; did you mean 'status'?' when a known name is close to `name`, else ''.

    >>> nearest("statsu", ["status", "subject"])
    "; did you mean 'status'?"
    >>> nearest("zzz", ["status"])
    ''
    """
    if len(name) > NEAR_CHARS:
        return ""
    names = list(known)
    match = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not match:
        by_case = {known_name.lower(): known_name for known_name in names}
        match = difflib.get_close_matches(name.lower(), list(by_case), n=1, cutoff=0.6)
        match = [by_case[match[0]]] if match else []
    if not match:
        return ""
    from server.translation import lazy_gettext  # `helpdesk --version` does without

    return lazy_gettext("; did you mean '{name}'?", name=match[0])


_SUGGESTION = re.compile(r"; did you mean '([^']+)'\?\Z")


def suggested(message: str) -> str:
    """The name that `nearest` put at the end of a message, "" for none.

    >>> suggested("'statsu' is not a filter" + nearest("statsu", ["status"]))
    'status'
    """
    match = _SUGGESTION.search(message)
    return match[1] if match else ""
