"""Addresses: the parts of a URL, and the mail addresses in a text."""

import re
from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.template_host import ask
from server.template.shared.text_values import read, read_text

MAX_URL_CHARS = 64 * 1024
MAX_PORT = 65_535
CHARS_A_STEP = 4  # characters of a text with mail addresses per step
_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?![0-9]{1,5}(?:[/?#]|\Z)))?(?P<slashes>//(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]{0,5}))?")
_HOST_AND_PORT = re.compile(r"[^/?#:]+:[0-9]{1,5}(?:[/?#].*)?", re.DOTALL)


@filter("parse_url")
def parse_url(run: Rendering, value: Any) -> Any:
    """The parts of a URL: scheme, host, port, user, pass, path, query, fragment, without those that are missing. An
    empty list if the value is not a URL."""
    url = read_text(run, value)
    if url is None or len(url) > MAX_URL_CHARS:
        return []
    match = _URL.fullmatch(f"//{url}" if _HOST_AND_PORT.fullmatch(url) else url)
    if match is None:
        return []
    parts: dict[str, Any] = {"scheme": match["scheme"]}
    if match["authority"]:
        authority = _authority(match["authority"])
        if authority is None:
            return []
        parts |= authority
    elif match["slashes"] and (match["scheme"] or "").lower() != "file":
        return []
    parts |= {"path": match["path"] or None, "query": match["query"], "fragment": match["fragment"]}
    return {name: part for name, part in parts.items() if part is not None} or {"path": ""}


def _authority(text: str) -> dict[str, Any] | None:
    """Returns host, port, user and pass, or None if the text is not an authority."""
    account, sign, rest = text.rpartition("@")
    user, colon, password = account.partition(":")
    match = _HOST.fullmatch(rest)
    if match is None or int(match[2] or 0) > MAX_PORT:
        return None
    return {
        "host": match[1],
        "port": int(match[2]) if match[2] else None,
        "user": user if sign else None,
        "pass": password if colon else None,
    }


@filter("parse_emails")
def parse_emails(run: Rendering, value: Any) -> Any:
    """The mail addresses in a text: [{full_email, email, mailbox, host, personal}]. An empty list if the value is not
    text."""
    if not isinstance(value, str):
        return []
    text = read(run, value)
    run.budget.entries(len(text) // CHARS_A_STEP)
    return ask(run, "parse_emails", text)
