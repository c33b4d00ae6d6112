"""What operations refuse, in the worker's language. The API tells it in English; here the sentences that people meet in
forms are known as messages with places, and found again by them. What is not among them stays English. Source: ours."""

import re
from functools import cache

from server.translation import N_, Words, _, shown, spoken

_FIELD = re.compile(r"([a-z][a-z0-9_]*): (.+)", re.DOTALL)
_NEAREST = re.compile(r"(.+); did you mean '([^']+)'\?", re.DOTALL)
_PLACE = re.compile(r"\{(\w+)\}")
# The longer ones of two that fit come first.
KNOWN = (
    N_("{field} is required: the id of a {type}"),
    N_("{field} is required: {what}"),
    N_("{field} is required"),
    N_("{field} must not be empty"),
    N_("must be one line; remove the line breaks"),
    N_("must not hold a NUL character"),
    N_("must start with http:// or https://"),
    N_("takes one value, not a list"),
    N_("is not a web address, such as https://example.com/"),
    N_("is not a PNG picture"),
    N_("is nested too deeply"),
    N_("'{value}' is not a date, such as 1980-12-31"),
    N_("'{value}' is not a language that is known, such as en_US or de"),
    N_("'{value}' is not a number, such as 0.5"),
    N_("'{value}' is not a whole number"),
    N_("'{value}' is not a mail address, such as ana@example.com"),
    N_("'{value}' is not the id of a record; digits only"),
    N_("'{value}' is not 0 or 1"),
    N_("'{value}' is not one of its options"),
    N_("'{value}' is not one of {known}"),
    N_("'{value}' is not an id"),
    N_("'{value}' is not a record type"),
    N_("'{value}' is not a date or time"),
    N_("'{value}' is no time of day; write for example {example}"),
    N_("'{value}' belongs to worker {id} already"),
    N_("'{value}' belongs to contact {id} already"),
    N_("'{value}' is a name of a built-in record type already; choose another"),
    N_("'{value}' must match {pattern}"),
    N_("'{value}' must be one of {known}"),
    N_("'{value}' names no {type}"),
    N_("'{value}' takes a text"),
    N_("there is a {type} with this {field} already"),
    N_("at least {count} characters"),
    N_("at most {count} characters, this has {number}"),
    N_("at most {count} bytes, this has {number}"),
    N_("at most {count} values"),
    N_("at most {count} files"),
    N_("{value} is not between {low} and {high}"),
    N_("{value} is above {most}"),
    N_("{value} is below {least}"),
    N_("is not KATA at line {line}: {reason}"),
    N_("there is no {type} {id}"),
    N_("there is no {type} '{name}'"),
    N_("there is no app {id} any more"),
    N_("there is no placeholder {name}"),
    N_("only administrators may {act} {what}"),
    N_("only managers of group {id} and administrators may put a bucket there"),
    N_("only administrators and managers of group {id} change its members"),
    N_("you may not read {type} {id}"),
    N_("you may not {act} this {type}: {reason}"),
    N_("you may not {act} {what}; ask for a role with the privilege {privilege}"),
    N_("this is the last administrator; make another worker one first"),
    N_("you cannot delete yourself; ask another administrator"),
    N_("this is the default group; make another group the default instead"),
    N_("this is the default group, which takes the mail that nothing else claims; "
       "make another group the default first"),
    N_("this is the group's default bucket; make another bucket the default first"),
    N_("this is the group's default bucket, where its new tickets come; make another bucket the default first"),
    N_("there is no default group that could take the tickets; make one first"),
    N_("with these you would come to have a role that you do not have; ask an administrator"),
    N_("this worker may not sign in by password; allow it first"),
    N_("this worker can no longer sign in"),
    N_("this page has expired; open it again"),
    N_("a mail goes to at most {count} recipients; leave some out"),
    N_("to is required, unless dont_send is 1"),
    N_("it is the only message of its ticket; there is nothing to split"),
    N_("ticket {id} was merged into {other} already"),
    N_("choose another one: a record cannot be merged with itself"),
    N_("must be later than {field}"),
    N_("must not be before {field}"),
    N_("nobody stands in for themselves; choose somebody else"),
    N_("that worker is disabled; choose somebody else"),
    N_("somebody has changed it meanwhile"),
    N_("somebody has changed what runs at this event meanwhile; look at it as it is now, and try again"),
    N_("there is no entry '{name}' any more"),
    N_("mail {id} is being sent just now; wait a moment"),
    N_("mail {id} is not in the outbox any more: it was sent, or dropped"),
    N_("there is no backup {name} any more; load the list again"),
    N_("something went wrong on our side; nothing was changed. Give this request id to who runs the service: {id}"),
    N_("{name} does not speak TLS from the start: choose STARTTLS, or the port of TLS, usually {port}"),
    N_("{name} speaks TLS from the start: choose TLS as the encryption"),
    N_("{name} speaks no TLS after STARTTLS: choose TLS, usually on port {port}, or another server"),
    N_("{name} speaks no version of TLS that is safe today: its operators have to update it"),
    N_(
        "{name} offers no STARTTLS: choose TLS, usually on port {port}, or no encryption within a network that you "
        "trust"
    ),
    N_(
        "no mail server at {name}: nothing answers there; check host and port, usually {tls} with TLS and {plain} with "
        "STARTTLS"
    ),
    N_("no mail server at {name}: no answer in time; check host, port and encryption"),
    N_("{name} does not speak {protocol}: it says '{text}'; usual ports are {tls} with TLS and {plain} with STARTTLS"),
    N_("no host is called {host}, or its name cannot be looked up: check how it is written"),
    N_("the mail server does not accept user name and password: {answer}"),
    N_("{host} does not let in this user name and password: {answer}"),
    N_("{host} does not open the mailbox just now, which is tried again: {answer}"),
    N_("{name} offers no login without encryption: choose STARTTLS"),
    N_("the certificate is not valid for {host}: enter the name that it was made for as the host"),
    N_("the certificate of {host} is signed by itself; ask its operators for one that others trust"),
    N_("the certificate of {host} is over; its operators have to renew it"),
)  # fmt: skip
_NEAR = N_("{message}; did you mean “{name}”?")


def translated(message: Words) -> str:
    """A message of an operation in the language that is spoken."""
    text = shown(message)
    if spoken().is_source or text != str(message):
        return text
    near = _NEAREST.fullmatch(text)
    if near:
        return _(_NEAR, message=translated(near[1]), name=near[2])
    found = _known(text)
    if found is not None:
        return found
    field = _FIELD.fullmatch(text)
    return f"{field[1]}: {translated(field[2])}" if field else text


def _known(text: str) -> str | None:
    for message, pattern in _patterns():
        match = pattern.fullmatch(text)
        if match:
            return _(message, **match.groupdict())
    return None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((str(each), _pattern(str(each))) for each in KNOWN)


def _pattern(message: str) -> re.Pattern[str]:
    """
    >>> bool(_pattern("'{value}' is not an id").fullmatch("'x' is not an id"))
    True
    """
    parts = _PLACE.split(message)
    text = "".join(f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    return re.compile(text, re.DOTALL)
