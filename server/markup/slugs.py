"""Slugs: the words of a title in a web address."""

import re
import unicodedata

MAX_SLUG_CHARS = 80
_GAPS = re.compile(r"[\W_]+")
_LATIN = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}


def make_slug(title: str) -> str:
    """Returns the letters and digits of a title, in lower case and without accents, with hyphens between words; "" for
    a title without any. Letters of other scripts stay.

    >>> make_slug("Größe & Gewicht: 3 Fragen"), make_slug("返品について"), make_slug("?!")
    ('grosse-gewicht-3-fragen', '返品について', '')
    """
    folded = "".join(_LATIN.get(each, each) for each in title.casefold())
    slug = _GAPS.sub("-", _without_accents(folded)).strip("-")
    if len(slug) <= MAX_SLUG_CHARS:
        return slug
    return slug[: MAX_SLUG_CHARS + 1].rpartition("-")[0] or slug[:MAX_SLUG_CHARS]


def numbered_slug(slug: str, number: int) -> str:
    """Returns a slug with a number that distinguishes it from another one.

    >>> numbered_slug("refunds", 1), numbered_slug("refunds", 2)
    ('refunds', 'refunds-2')
    """
    if number == 1:
        return slug
    end = f"-{number}"
    return slug[: MAX_SLUG_CHARS - len(end)].rstrip("-") + end


def _without_accents(text: str) -> str:
    """Returns a text without the accents of Latin, Greek and Cyrillic letters; such marks of other scripts are
    letters."""
    letters: list[str] = []
    for letter in unicodedata.normalize("NFC", text):
        parts = unicodedata.normalize("NFKD", letter)
        is_accented = len(parts) > 1 and all(map(unicodedata.combining, parts[1:])) and ord(parts[0]) < 0x0530
        letters += parts[0] if is_accented else unicodedata.normalize("NFKC", letter)
    return "".join(letters)
