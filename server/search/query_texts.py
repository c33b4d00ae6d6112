"""Puts queries together as texts, where people see and change them."""

import re

_PLAIN = re.compile(r"[\w.@-]+")


def sorted_query(usual: str, chosen: str, *parts: str) -> str:
    """A search with its order: the chosen one, else that in its own words, else the usual one. The last `sort:` of a
    query counts.

    >>> sorted_query("-updated", "", "status:open", "")
    'sort:-updated status:open'
    >>> sorted_query("-updated", "subject", "status:open", "sort:id")
    'sort:-updated status:open sort:id sort:subject'
    """
    first, last = (f"sort:{each}" if each else "" for each in (usual, chosen))
    return " ".join(filter(None, (first, *parts, last)))


def narrowed_query(q: str, name: str, value: str) -> str:
    """A search with a further term, unless it has the term already.

    >>> narrowed_query("status:open", "owner", "Nora Berg"), narrowed_query("id:7", "id", "7")
    ('status:open owner:"Nora Berg"', 'id:7')
    """
    quoted = value if _PLAIN.fullmatch(value) else '"{}"'.format(value.replace('"', ""))
    term = f"{name}:{quoted}"
    return q if term in q.split() else f"{q} {term}".strip()
