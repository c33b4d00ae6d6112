"""Display names of mail addresses, which strangers choose: sanitizes them, and splits them into first and last name.

A name consists of words of a person or a company. Text that could pass for an address or markup, and characters that
change the writing direction, are removed; a name without other text is empty."""

import re
import unicodedata

from server.late_pattern import late_pattern

CHARACTERS = 100
READ_CHARACTERS = 500  # characters of a header that are read
MARKS = 4  # accents on one letter

_JOINERS = frozenset("\u200c\u200d")  # joiners in Persian and Indian scripts, and in emoji
_AT = frozenset("@\uff20\ufe6b")
_QUOTES = "\"'\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00ab\u00bb`\u00b4"
_ANGLES = late_pattern(r"[<>\u2039\u203a\uff1c\uff1e\u3008\u3009\u27e8\u27e9]")
_LINK = late_pattern(r"://|\bwww\.|\bmailto:", re.IGNORECASE)
_VIA = late_pattern(r"(.+?)\s+(?:via|\u00fcber|por medio de|par)\s+\S.*", re.IGNORECASE | re.DOTALL)
_ASIDE = late_pattern(r"\s*[\(\[][^()\[\]]*[\)\]]\s*\Z")
_COMPANY = late_pattern(
    r"(?:\A|\s)(?:inc|ltd|llc|llp|plc|gmbh|mbh|ag|kg|ohg|co|corp|s\.?a|s\.?r\.?l|b\.?v|n\.?v|oy|ab|as|aps|pty|kft|s\.?p\.?a)\.?\Z",
    re.IGNORECASE,
)
_TITLE = late_pattern(r"(?:jr|sr|ph\.?d|m\.?d|mba|msc|bsc|esq|dipl\.?-?ing|m\.?a|ii|iii|iv)\.?", re.IGNORECASE)
_PARTICLES = frozenset(
    "af al auf av bin da das de degli dei del della den der des di do dos du el la las le los mac ten ter van vom von "
    "zu zum zur".split()
)


def clean(name: str, email: str = "") -> str:
    """A display name that is safe to show: one line, no invisible or direction-changing characters, at most CHARACTERS;
    "" if it is not a name, such as another address or the address itself.

    >>> clean(" 'Ann\\u202e  Kite' "), clean("boss@company.example"), clean("Kite, Ann")
    ('Ann Kite', '', 'Kite, Ann')
    """
    plain = name[:READ_CHARACTERS]
    if not (plain.isascii() and plain.isprintable()):
        plain = _visible(unicodedata.normalize("NFC", plain))
    plain = _unquoted(" ".join(plain.split()))
    if not _AT.isdisjoint(plain) or _LINK.search(plain) or not any(map(str.isalnum, plain)):
        return ""
    plain = " ".join(_ANGLES.sub(" ", plain).split())
    if plain == email.partition("@")[0]:
        return ""
    return plain[:CHARACTERS].rstrip(" \u200c\u200d")


def without_list(name: str) -> str:
    """The name of a person that a mailing list rewrote: `'Ann Kite' via Support` is Ann Kite.

    >>> without_list("'Ann Kite' via Support"), without_list("Ann Kite")
    ('Ann Kite', '')
    """
    match = _VIA.fullmatch(" ".join(name[:READ_CHARACTERS].split()))
    return _unquoted(match[1]) if match else ""


def first_and_last(name: str) -> tuple[str, str]:
    """A clean name as first and last name; a name that cannot be split is the first name.

    >>> first_and_last("Ludwig van der Rohe"), first_and_last("Kite, Ann (Sales)"), first_and_last("Acme Pumps, Inc.")
    (('Ludwig', 'van der Rohe'), ('Ann', 'Kite'), ('Acme Pumps, Inc.', ''))
    """
    whole = _ASIDE.sub("", name).strip() or name
    last, comma, first = (part.strip() for part in whole.partition(","))
    if comma:
        is_person = bool(first and last) and "," not in first and max(len(first.split()), len(last.split())) <= 3
        if is_person and not (_COMPANY.search(first) or _COMPANY.search(last) or _TITLE.fullmatch(first)):
            return first, last
        if _TITLE.fullmatch(first):
            first, last = first_and_last(last)
            return first, f"{last}, {whole.partition(',')[2].strip()}" if last else whole
        return whole, ""
    words = whole.split()
    if len(words) < 2 or _COMPANY.search(whole):
        return whole, ""
    at = len(words) - 1
    while at > 1 and words[at - 1].lower().strip("'\u2019") in _PARTICLES:
        at -= 1
    return " ".join(words[:at]), " ".join(words[at:])


def _visible(text: str) -> str:
    words: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category[0] == "Z" or category == "Cc":
            words.append(" ")
        elif category[0] == "C" and character not in _JOINERS:
            continue
        else:
            marks = marks + 1 if category[0] == "M" else 0
            if marks <= MARKS:
                words.append(character)
    return "".join(words)


def _unquoted(text: str) -> str:
    """Removes quotes around the whole name; an apostrophe within stays."""
    while len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text[1:-1].strip()
    return text.strip(_QUOTES.replace("'", "").replace("\u2019", "")).strip()
