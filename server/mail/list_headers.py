"""Parses header fields of mailing lists, such as List-Id and List-Unsubscribe, that people enter as lines.

Follows RFC 2369, RFC 2919, RFC 8058."""

import re

from server.errors import Invalid
from server.translation import about_field, lazy_gettext

ID, UNSUBSCRIBE, ONE_CLICK, POST = "List-Id", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Post"
NAMES = (ID, "List-Help", UNSUBSCRIBE, ONE_CLICK, "List-Subscribe", POST, "List-Owner", "List-Archive")
MAX_VALUE = 500  # characters of one; header lines may hold 998
_KNOWN = {name.lower(): name for name in NAMES}
_ID = re.compile(r"(?:[ !#-;=?A-Z\[-~]* |\"[ !#-\[\]-~]*\" )?<([A-Za-z0-9_.-]+)>")
_ADDRESS = re.compile(r"<(?:https?|mailto):[!#-;=?-\[\]_a-z~A-Z%]+>")
_BETWEEN = re.compile(r"(?<=>) ?, ?(?=<)")  # addresses; a comma may stand in one, too
_PRINTED = re.compile(r"[ -~]*")
_YES = "List-Unsubscribe=One-Click"


def parse(text: str) -> tuple[tuple[str, str], ...]:
    """The fields of a text, one per line, in their usual spelling. Raises Invalid that names the line.

    >>> parse("list-id: Pumps <pumps.desk.example>")
    (('List-Id', 'Pumps <pumps.desk.example>'),)
    """
    fields: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, value = _field(line)
        if name in fields:
            raise Invalid(f"{name} appears twice; remove one")
        fields[name] = value
    if ONE_CLICK in fields and "<https:" not in fields.get(UNSUBSCRIBE, ""):
        raise Invalid(f"{ONE_CLICK} needs a {UNSUBSCRIBE} with an address that begins with https:")
    return tuple(fields.items())


def _field(line: str) -> tuple[str, str]:
    written, colon, rest = line.partition(":")
    name, value = _KNOWN.get(written.strip().lower(), ""), rest.strip()
    if not colon or not name:
        raise Invalid(
            f"'{written.strip()[:60]}' must be one of {', '.join(NAMES)}; write a line such as "
            "List-Id: <support.desk.example>"
        )
    if len(value) > MAX_VALUE:
        raise Invalid(
            about_field(
                name, lazy_gettext("at most {count} characters, this has {number}", count=MAX_VALUE, number=len(value))
            )
        )
    wrong = _wrong(name, value)
    if wrong:
        raise Invalid(f"{name}: {wrong}")
    return name, value


def _wrong(name: str, value: str) -> str:
    """The mistake in a value, "" for none."""
    if not _PRINTED.fullmatch(value):
        return "must be ASCII letters, digits and signs"
    if name == ID:
        match = _ID.fullmatch(value)
        is_host = match is not None and "." in match[1] and all(match[1].split("."))
        return "" if is_host else "must be a name in angle brackets, such as <support.desk.example>"
    if name == ONE_CLICK:
        return "" if value == _YES else f"must be {_YES}"
    is_fine = all(map(_ADDRESS.fullmatch, _BETWEEN.split(value))) or (name == POST and value == "NO")
    return "" if is_fine else "must be addresses in angle brackets, such as <https://desk.example/leave>"
