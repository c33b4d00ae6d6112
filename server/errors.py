"""All errors that a caller may see, in one tree. Their messages are fit to show; anything else that is raised is a bug.

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

web/error_bodies.py maps these classes to HTTP statuses and bodies."""

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
    """It existed and is no longer stored."""


class Invalid(HelpdeskError):
    """A value is wrong. `details["field"]` names the parameter."""


class Mistakes:
    """Collects several invalid values, to report all at once."""

    def __init__(self) -> None:
        self._errors: list[Invalid] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, error: Invalid) -> None:
        self._errors.append(error)

    def add_all(self, error: Invalid) -> None:
        """Adds an error and the others that were raised with it."""
        self._errors += [each for each in all_of(error) if isinstance(each, Invalid)]

    @property
    def errors(self) -> tuple[Invalid, ...]:
        return tuple(self._errors)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Collects the errors raised inside, for `require_none`."""
        try:
            yield
        except Invalid as error:
            self.add_all(error)

    def require_none(self) -> None:
        """Raises the first mistake, with the others as `details["more"]`."""
        if self._errors:
            first, *more = self._errors
            first.details["more"] = more
            raise first


def all_of(error: HelpdeskError) -> list[HelpdeskError]:
    """Returns an error and the others that were raised with it, from `details["more"]`."""
    more = error.details.get("more")
    return [error, *more] if isinstance(more, list) else [error]


class Required(Invalid):
    """A required parameter is missing or empty."""


class UnknownField(Invalid):
    """The record type has no such name."""


class BadQuery(Invalid):
    """A search that cannot be parsed. `details["position"]` counts characters from 0."""


class BadDataQuery(BadQuery):
    """A data query that cannot be parsed, or that exceeded its own time limit."""


class Malformed(Invalid):
    """A body that is not in the format that it claims: a form, JSON, UTF-8."""


class UnsupportedMedia(Invalid):
    """A body in a content type that no endpoint accepts."""


class Rejected(Invalid):
    """A valid value that a rule rejects, such as mail from a banned sender."""


class Conflict(HelpdeskError):
    """The value is used already, or the record is needed unchanged."""


class AmbiguousUpsert(Conflict):
    """The query of an upsert matches two or more records."""


class PreconditionFailed(HelpdeskError):
    """The record does not match If-Match or If-None-Match. `details["record"]` is its current state, `details["etag"]`
    its tag."""


class TooLarge(HelpdeskError):
    """A body, a file or a text is above a named limit."""


class TooMany(HelpdeskError):
    """Too many requests. `details["retry_after"]` is in seconds."""


class NotOffered(HelpdeskError):
    """The path does not support this method, or the record type does not support this operation.

    `details["allow"]` lists the supported methods of the path."""


class Unavailable(HelpdeskError):
    """The service cannot do it now; the same request may work later. `details["retry_after"]` is in seconds."""


class Full(Unavailable):
    """No room left on the disk or in the database file."""


class Damaged(Unavailable):
    """The database file cannot be used: foreign, newer, damaged, or not writable."""


class TimedOut(HelpdeskError):
    """A query exceeded its time limit."""


class ScriptError(HelpdeskError):
    """An error in an automation or a template. `details["line"]` counts from 1."""


class KataSyntax(ScriptError):
    """A KATA text that cannot be parsed."""


class TemplateFailed(ScriptError):
    """A template that cannot be parsed or rendered."""


class PolicyDenied(ScriptError):
    """The policy of an automation denies a command."""


class BudgetSpent(ScriptError):
    """A script exceeded its steps, bytes, nesting or seconds."""


def reason(error: HelpdeskError) -> str:
    """Returns the message of an error without the line number at its end, for callers that show the line elsewhere.

    >>> reason(KataSyntax("a key stands here twice (line 4)", line=4))
    'a key stands here twice'
    """
    return _LINE.sub("", error.message)


NEAR_CHARS = 100  # longest name to compare: the comparison is not linear


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Returns '; did you mean 'status'?' if a known name is similar to `name`, else ''.

    >>> nearest("statsu", ["status", "subject"])
    "; did you mean 'status'?"
    >>> nearest("zzz", ["status"])
    ''
    """
    if len(name) > NEAR_CHARS:
        return ""
    names = list(candidates)
    match = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not match:
        by_case = {known_name.lower(): known_name for known_name in names}
        match = difflib.get_close_matches(name.lower(), list(by_case), n=1, cutoff=0.6)
        match = [by_case[match[0]]] if match else []
    if not match:
        return ""
    from server.translation import lazy_gettext  # not needed by `helpdesk --version`

    return lazy_gettext("; did you mean '{name}'?", name=match[0])


_SUGGESTION = re.compile(r"; did you mean '([^']+)'\?\Z")


def suggested(message: str) -> str:
    """Returns the suggestion of `nearest` in a message, "" if it has none.

    >>> suggested("'statsu' is not a filter" + nearest("statsu", ["status"]))
    'status'
    """
    match = _SUGGESTION.search(message)
    return match[1] if match else ""
