"""Masks, the public references of tickets: finds them in subjects and generates new ones.

The caller checks whether a mask is in use, and which ticket has it."""

import re
import secrets
import unicodedata
from datetime import date
from typing import Protocol

from server.errors import Invalid
from server.late_pattern import late_pattern

DEFAULT_PATTERN = "LLL-NNNNN-NNN"
MASK_CHARACTERS = 255
MASKS_TRIED = 20  # brackets of one subject, from the right
DRAWS = 1_000  # a pattern whose literals hold an unfit word is drawn no longer

LETTERS = "ABCDEFGHIJKLMNPQRSTUVWXYZ"  # letters without O, which looks like a zero
DIGITS = "123456789"
_CHOICES = {"L": LETTERS, "N": DIGITS, "C": LETTERS + DIGITS}
_UNFIT = late_pattern("ASS|CUM|DIK|DIE|FAG|FCK|FUC|FUK|FUX|GAY|HIV|JAP|KKK|NIG|NGR|PIS|SEX|SHT|SUC|SUK|TIT|TWT|WTF|XXX")


_DASHES = late_pattern("[\u2010-\u2015\u2212\ufe58\ufe63]")
_INVISIBLE = late_pattern("[\xad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


DRAWN_BITS = 6  # at most, by one place: 34 letters and digits
SPARE_BITS = 64  # so that what the remainder prefers is one in 2^64


class RandomSource(Protocol):
    """A source of random numbers, such as a random.Random."""

    def getrandbits(self, bits: int, /) -> int: ...


class _System:
    """The system's random numbers. Each draw is a system call, which costs the interpreter's lock too."""

    getrandbits = staticmethod(secrets.randbits)


def masks_in(subject: str) -> list[str]:
    """Candidates for masks in a subject: upper case, the rightmost bracket pair first, without repetition.

    A mask follows the first `#` in a bracket pair. Recognizes masks with a blank from folding, or with punctuation of
    another script.

    >>> masks_in("AW: [a #nosuch] Boat [Desk #jkq-75671-699 ]")
    ['JKQ-75671-699', 'NOSUCH']
    """
    masks: list[str] = []
    subject = _plain(subject)
    for before_close in reversed(subject.split("]")[:-1]):
        inside = before_close.partition("[")[2]
        mask = inside.partition("#")[2].strip().upper()
        for candidate in (mask, "".join(mask.split())):
            if candidate and len(candidate) <= MASK_CHARACTERS and candidate not in masks:
                masks.append(candidate)
        if len(masks) >= MASKS_TRIED:
            break
    return masks


def _plain(subject: str) -> str:
    """The subject with full-width characters, typographic dashes and invisible marks as a keyboard writes them."""
    if subject.isascii():
        return subject
    return _INVISIBLE.sub("", _DASHES.sub("-", unicodedata.normalize("NFKC", subject)))


def new_mask(pattern: str = DEFAULT_PATTERN, rand: RandomSource | None = None, today: date | None = None) -> str:
    """A mask drawn by a pattern, in upper case; the caller draws again when it is taken.

    Pattern: `L` letter without O, `N` digit 1 to 9, `C` either, `Y` `M` `D` year, month, day in four, two, two digits,
    `{text}` as it stands, and so are all other characters. Raises Invalid when nothing in the pattern is drawn or a
    brace is not closed.
    """
    tokens = _tokens(pattern)
    if not any(token in _CHOICES for token, is_literal in tokens if not is_literal):
        raise Invalid(f"'{pattern}' gives every ticket the same mask; add L, N or C.", field="pattern")
    day = today or date.today()
    choices = _choices(tokens, day)
    getrandbits = (rand or _System()).getrandbits
    for _ in range(DRAWS):
        number = getrandbits(len(choices) * DRAWN_BITS + SPARE_BITS)
        drawn = [
            characters if size == 1 else characters[(number := number // size) % size] for characters, size in choices
        ]
        mask = "".join(drawn).upper()
        if _UNFIT.search(mask) is None:
            break
    return mask


def matches(mask: str, pattern: str = DEFAULT_PATTERN) -> bool:
    """True when `mask`, in any case, could have been drawn by `pattern`. Raises Invalid as new_mask does for braces.

    >>> matches("jkq-75671-699"), matches("JKO-75671-699")
    (True, False)
    """
    source = "".join(_as_regex(token, is_literal) for token, is_literal in _tokens(pattern))
    return re.fullmatch(source, mask.strip().upper()) is not None


def _tokens(pattern: str) -> tuple[tuple[str, bool], ...]:
    tokens: list[tuple[str, bool]] = []
    position = 0
    while position < len(pattern):
        if pattern[position] != "{":
            tokens.append((pattern[position], pattern[position] not in "LNCYMD"))
            position += 1
            continue
        end = pattern.find("}", position)
        if end < 0:
            raise Invalid(f"'{pattern}' opens a brace without closing it; write {{text}}.", field="pattern")
        tokens.append((pattern[position + 1 : end], True))
        position = end + 1
    return tuple(tokens)


def _choices(tokens: tuple[tuple[str, bool], ...], day: date) -> tuple[tuple[str, int], ...]:
    """For each place the characters that may be drawn and how many they are; 1 for a text that stands there."""
    dates = {"Y": f"{day.year:04}", "M": f"{day.month:02}", "D": f"{day.day:02}"}
    choices = []
    for token, is_literal in tokens:
        if not is_literal and token in _CHOICES:
            choices.append((_CHOICES[token], len(_CHOICES[token])))
        else:
            choices.append((token if is_literal else dates[token], 1))
    return tuple(choices)


def _as_regex(token: str, is_literal: bool) -> str:
    if is_literal:
        return re.escape(token.upper())
    return f"[{_CHOICES[token]}]" if token in _CHOICES else {"Y": r"[0-9]{4}"}.get(token, r"[0-9]{2}")
