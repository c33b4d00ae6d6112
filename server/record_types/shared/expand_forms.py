"""The forms of a collection in `expand`: `comments~5`, `links.ticket`, `attachments:name`."""

import re

from server.dataclass import dataclass

DEFAULT_MANY, MOST = 10, 25
_FORM = re.compile(r"(?:\.(?P<type>[^~:]+))?(?:~(?P<many>-?[0-9]+))?(?::(?P<key>.+))?\Z", re.S)


@dataclass(frozen=True)
class CollectionForm:
    """type: only records of this type. many: maximum number, 1 to 25. key: a key to load on each. plain: without a
    form."""

    type: str
    many: int
    key: str
    plain: bool


def read_form(text: str) -> CollectionForm:
    """Parses the text after the name of a collection.

    >>> read_form("~40")
    CollectionForm(type='', many=25, key='', plain=False)
    """
    match = _FORM.match(text)
    if not match or not text:
        return CollectionForm("", DEFAULT_MANY, "", True)
    many = min(max(int(match["many"]), 1), MOST) if match["many"] else DEFAULT_MANY
    return CollectionForm(match["type"] or "", many, match["key"] or "", False)
