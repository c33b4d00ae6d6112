"""Nicknames, which are written after @, for workers without a chosen one."""

import re
import unicodedata
from collections.abc import Iterator

from server.context import Context
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

LENGTH = 20  # characters of each part
TRIES = 20
_OTHERS = re.compile(r"[^a-z0-9]+")


def unused(ctx: Context, first_name: str, last_name: str) -> str:
    """Returns an unused nickname, as `free` does, outside a transaction."""
    return ctx.service.store.read(lambda tx: free(tx, first_name, last_name))


def free(tx: Transaction, first_name: str, last_name: str) -> str:
    """Returns an unused nickname formed from a name: ines, ines.m, ines.moor, ines2; "" if none can be formed."""
    worker = table_named("worker")
    for name in _candidates(first_name, last_name):
        if (
            tx.value(lambda: worker.select(worker.c.id).where(worker.c.at_mention_name == slot(0)).limit(1), (name,))
            is None
        ):
            return name
    return ""


def _candidates(first_name: str, last_name: str) -> Iterator[str]:
    """
    >>> list(_candidates("Inès", "Moor"))[:4]
    ['ines', 'ines.m', 'ines.moor', 'ines2']
    >>> list(_candidates("林", ""))
    []
    """
    first, last = (_plain(each) for each in (first_name, last_name))
    if not first:
        return
    yield first
    if last:
        yield f"{first}.{last[0]}"
        yield f"{first}.{last}"
    yield from (f"{first}{number}" for number in range(2, TRIES))


def _plain(name: str) -> str:
    """Returns the lower-case letters and digits of a name, without accents."""
    letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode("ascii")
    return _OTHERS.sub("", letters)[:LENGTH]
