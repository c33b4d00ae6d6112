"""Paths of the console's pages for records and files. Programs use `/rest/...`."""

import re
from urllib.parse import quote, urlencode

OWN_FILE = re.compile(r"/files/[0-9]{1,19}")  # the path of a file without its name, as in stored HTML

_is_safe = re.compile(r"[A-Za-z0-9-]+").fullmatch


def record(uri: str, id: int) -> str:
    """The page of a record; that of a ticket redirects to `ticket`."""
    return f"/records/{uri}/{id}"


def ticket(mask: str) -> str:
    """The page of a ticket.

    >>> ticket("QTR-48213-657"), ticket("a/b #1")
    ('/tickets/QTR-48213-657', '/tickets/a%2Fb%20%231')
    """
    return f"/tickets/{mask}" if _is_safe(mask) else f"/tickets/{quote(mask, safe='')}"


def within(page: str, kind: str, id: int) -> str:
    """The address of a comment, message or draft on its page. Its id is in the query too, since browsers do not send
    the part after `#`, and the page must include the item.

    >>> within("/tickets/QTR-48213-657", "message", 7)
    '/tickets/QTR-48213-657?message=7#message7'
    """
    return f"{page}?{kind}={id}#{kind}{id}"


def found_at(uri: str, q: str) -> str:
    """The list of the records that a search finds.

    >>> found_at("task", "status:open")
    '/search/task?q=status%3Aopen'
    """
    return f"/search/{uri}?{urlencode({'q': q})}"


def file(id: int, name: str = "") -> str:
    """The path of a file's bytes. name: the name under which browsers save it.

    >>> file(7), file(7, "a b.txt")
    ('/files/7', '/files/7/a%20b.txt')
    """
    return f"/files/{id}/{quote(name, safe='')}" if name else f"/files/{id}"
