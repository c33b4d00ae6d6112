"""Where people find records and files: the paths of the console's pages for them. Programs have `/rest/...`."""

import re
from functools import lru_cache
from urllib.parse import quote

OWN_FILE = re.compile(r"/files/[0-9]{1,19}")  # of a file without its name, as it stands in stored HTML

_is_safe = re.compile(r"[A-Za-z0-9-]+").fullmatch


def record(uri: str, id: int) -> str:
    """The page of a record; that of a ticket leads on to `ticket`."""
    return f"/records/{uri}/{id}"


@lru_cache(maxsize=2048)  # lists show the same ones again and again
def ticket(mask: str) -> str:
    """The page of a ticket.

    >>> ticket("QTR-48213-657"), ticket("a/b #1")
    ('/tickets/QTR-48213-657', '/tickets/a%2Fb%20%231')
    """
    return f"/tickets/{mask}" if _is_safe(mask) else f"/tickets/{quote(mask, safe='')}"


def within(page: str, kind: str, id: int) -> str:
    """The place of a comment, message or draft on the page of what it belongs to. It is named twice: browsers keep what
    follows `#` to themselves, and the page is to show what was asked for.

    >>> within("/tickets/QTR-48213-657", "message", 7)
    '/tickets/QTR-48213-657?message=7#message7'
    """
    return f"{page}?{kind}={id}#{kind}{id}"


def file(id: int, name: str = "") -> str:
    """The bytes of a file. name: under which browsers keep it.

    >>> file(7), file(7, "a b.txt")
    ('/files/7', '/files/7/a%20b.txt')
    """
    return f"/files/{id}/{quote(name, safe='')}" if name else f"/files/{id}"
