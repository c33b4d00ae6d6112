"""Addresses: the parts of a URL, and lists of mail addresses."""

import re
from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.host import ask
from server.template.shared.texts import read, read_text

MAX_URL_CHARS = 64 * 1024
MAX_PORT = 65_535
CHARS_A_STEP = 4  # of a list of mail addresses
_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?![0-9]{1,5}(?:[/?#]|\Z)))?(?P<slashes>//(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]{0,5}))?")
_HOST_AND_PORT = re.compile(r"[^/?#:]+:[0-9]{1,5}(?:[/?#].*)?", re.DOTALL)


@filter("parse_url")
def parse_url(run: Rendering, value: Any) -> Any:
    """The parts that a URL has, of scheme, host, port, user, pass, path, query, fragment; an empty list for what is no
    URL."""
    url = read_text(run, value)
    if url is None or len(url) > MAX_URL_CHARS:
        return []
    found = _URL.fullmatch(f"//{url}" if _HOST_AND_PORT.fullmatch(url) else url)
    if found is None:
        return []
    parts: dict[str, Any] = {"scheme": found["scheme"]}
    if found["authority"]:
        authority = _authority(found["authority"])
        if authority is None:
            return []
        parts |= authority
    elif found["slashes"] and (found["scheme"] or "").lower() != "file":
        return []
    parts |= {"path": found["path"] or None, "query": found["query"], "fragment": found["fragment"]}
    return {name: part for name, part in parts.items() if part is not None} or {"path": ""}


def _authority(text: str) -> dict[str, Any] | None:
    """host, port, user, pass; None for what is none."""
    account, sign, rest = text.rpartition("@")
    user, colon, password = account.partition(":")
    found = _HOST.fullmatch(rest)
    if found is None or int(found[2] or 0) > MAX_PORT:
        return None
    return {
        "host": found[1],
        "port": int(found[2]) if found[2] else None,
        "user": user if sign else None,
        "pass": password if colon else None,
    }


@filter("parse_emails")
def parse_emails(run: Rendering, value: Any) -> Any:
    """The mail addresses in a text: [{full_email, email, mailbox, host, personal}]. Nothing of what is no text."""
    if not isinstance(value, str):
        return []
    text = read(run, value)
    run.budget.made(len(text) // CHARS_A_STEP)
    return ask(run, "parse_emails", text)
