"""Computes how likely a mail is spam, from word counts of tickets that workers judged.

Pure functions; the counts are stored and trained elsewhere, and a score has no effect by itself."""

import re
from collections.abc import Mapping
from math import prod

TEXT_CHARACTERS = 15_000
SEEN_ENOUGH = 5  # a word with a lower count is ignored
UNKNOWN = 0.4
DECIDING_WORDS = 15
LOWEST, HIGHEST = 0.0001, 0.9999

SHORTEST, LONGEST = 3, 24  # characters of a word

_WORD = re.compile(r"[^\W_]+")
_BETWEEN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}  # words of ASCII
_COMMON_WORDS = """
    about after again all also and any are because been before being but came can come could day did does each even
    first for from get give had has have her here him his how into its just know let like look made make many may more
    most much must not now off one only other our out over said same see she should since some such take than that the
    their them then there these they thing think this those through time too two under use very want was way well were
    what when where which while who why will with would year you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def words(text: str) -> set[str]:
    """The words of subject and text that count: lower case, 3 to 24 letters and digits, without numbers and common
    words.

    >>> sorted(words("Win 1000 prizes and a CAR!"))
    ['car', 'prizes', 'win']
    """
    text = text[:TEXT_CHARACTERS]
    candidates = text.translate(_BETWEEN).split() if text.isascii() else _WORD.findall(text.lower())
    return {word for word in set(candidates) - _COMMON if SHORTEST <= len(word) <= LONGEST and not word.isdecimal()}


def score(counts: Mapping[str, tuple[int, int]], n_good: int, n_bad: int) -> float:
    """The probability of spam, 0.0001 to 0.9999.

    counts: (times in good mail, times in spam) for every word of the mail, (0, 0) for words never seen.
    n_good, n_bad: tickets trained as good and as spam.

    >>> round(score({"win": (0, 0), "prizes": (0, 0), "car": (0, 0)}, 0, 0), 4)
    0.2286
    """
    values = [
        _value(good, bad, n_good, n_bad) if good + bad >= SEEN_ENOUGH else UNKNOWN for good, bad in counts.values()
    ]
    if len(values) > DECIDING_WORDS:
        values = sorted(values, key=lambda value: (-abs(value - 0.5), value))[:DECIDING_WORDS]
    spam = prod(values)
    return _within(spam / (spam + prod([1 - value for value in values])))


def _value(good: int, bad: int, n_good: int, n_bad: int) -> float:
    good_share = good / n_good if n_good else 0.0
    bad_share = bad / n_bad if n_bad else 0.0
    return _within(bad_share / (good_share + bad_share)) if good_share + bad_share else UNKNOWN


def _within(value: float) -> float:
    return min(max(value, LOWEST), HIGHEST)
