"""Splits texts into the words of full-text indexes: folded by Unicode's rules, alike in every store.

Case, accents and compatibility forms are ignored (UAX #15, NFKD; UAX #44, case folding). Scripts without spaces between
words, such as Chinese, Japanese and Thai, are indexed as overlapping pairs of characters, so that any part of a run can
be found as a phrase; so is Korean, which joins endings to its words."""

import re
import unicodedata
from functools import lru_cache

from server.dataclass import dataclass
from server.late_pattern import late_pattern

RULES = "2"  # raised when the words of a text change: existing texts are then indexed again
# Characters; longer runs seldom repeat. Folding one takes 5 microseconds, and German has one in every sixth word.
MAX_CACHED_RUN = 8

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_EAST_ASIAN = (  # Han, kana, bopomofo
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003fffd"
)
_SOUTH_EAST_ASIAN = (  # Thai, Lao, Myanmar, Khmer, without their digits
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17d7"
    "\u17dc\u17dd\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)
_HANGUL = "\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
# SQLite ends a word at a mark; private characters, which it accepts in words, replace the indexed marks.
_STAND_IN = 0xF0000
_MARKS = "".join(each if each == "-" else chr(_STAND_IN + ord(each)) for each in _SOUTH_EAST_ASIAN + "\u3099\u309a")
_UNSPACED_CLASS = f"{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}{_HANGUL}{_MARKS}"
_UNSPACED = late_pattern(f"[{_UNSPACED_CLASS}]+")
_WRAPPED = late_pattern(f"([{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}])\r?\n(?=[{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}])")
_WORD_CLASS = "\\w\U000f0000-\U000fffff"
_WORD = re.compile(f"[{_WORD_CLASS}]+")
_PART = late_pattern(f"(?P<unspaced>[{_UNSPACED_CLASS}]+)|(?:(?![{_UNSPACED_CLASS}])[{_WORD_CLASS}])+")
_WORD_ASCII = re.compile(r"[^\W_]+")
# Letters without a Unicode decomposition, in their common ASCII spelling.
_PLAIN = str.maketrans({
    "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ŧ": "t", "þ": "th",
    "\u0640": "",  # the Arabic tatweel, which only widens a word
})  # fmt: skip
# Combining classes of marks that distinguish words as letters do: kana voicing, viramas, Thai, Lao and Tibetan vowels.
_LETTER_MARKS = frozenset((0, 8, 9, 103, 118, 129, 130, 132))
_IGNORED_MARKS = late_pattern("[\u034f\u180b-\u180d\u180f\u20dd-\u20e4\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Consecutive words of a query. is_start: the last one is only the beginning of a word.

    is_unspaced: a run of a script without spaces, in which the length of a word says nothing."""

    words: tuple[str, ...]
    is_start: bool
    is_unspaced: bool


def indexed(text: str) -> str:
    """Prepares a text for the index. ASCII is unchanged: every store ignores its case.

    >>> indexed("Köln, Ёлка"), indexed("申请退款!")
    ('Koln, елка', ' 申请 请退 退款 款 !')
    """
    if text.isascii():
        return text
    return _BEYOND_ASCII.sub(lambda match: _indexed_run(match[0]), _WRAPPED.sub(r"\1", text))


def split(text: str) -> list[str]:
    """Returns the words of a text that `indexed` returned, in lower case.

    >>> split(indexed("Café-Straße, 3 km"))
    ['cafe', 'strasse', '3', 'km']
    """
    if text.isascii():
        return _WORD_ASCII.findall(text.lower())
    return _WORD.findall(text.lower().replace("_", " "))


def phrase(text: str, is_start: bool = False) -> Phrase | None:
    """Returns the phrase that finds a piece of a query in `indexed` texts; None if it has no word.

    >>> phrase("Köln").words, phrase("退款问题").words, phrase("退").is_start
    (('Koln',), ('退款', '款问', '问题'), True)
    """
    if text.isascii():
        ascii_words = tuple(_WORD_ASCII.findall(text))
        return Phrase(ascii_words, is_start, False) if ascii_words else None
    folded = _BEYOND_ASCII.sub(lambda match: _folded_run(match[0]), text).replace("_", " ")
    parts = [(match[0], match.lastgroup == "unspaced") for match in _PART.finditer(folded)]
    if not parts:
        return None
    words: list[str] = []
    for part, is_unspaced in parts:
        words += _pairs(part) if is_unspaced else [part]
    last, is_unspaced = parts[-1]
    if is_unspaced and len(last) > 1:
        words.pop()  # the text may continue after its last character
    return Phrase(
        tuple(words),
        len(last) == 1 if is_unspaced else is_start,
        all(is_unspaced for _, is_unspaced in parts),
    )


def _pairs(run: str) -> list[str]:
    """Returns each character of a run with its successor, and the last one alone.

    >>> _pairs("退款问")
    ['退款', '款问', '问']
    """
    return [run[place : place + 2] for place in range(len(run))]


def _indexed_run(run: str) -> str:
    return _cached_run(run) if len(run) <= MAX_CACHED_RUN else _prepared_run(run)


def _prepared_run(run: str) -> str:
    return _UNSPACED.sub(lambda match: f" {' '.join(_pairs(match[0]))} ", _folded_run(run))


_cached_run = lru_cache(maxsize=4096)(_prepared_run)


def _folded_run(run: str) -> str:
    """Folds a run of characters beyond ASCII: removes case, accents and invisible characters, replaces signs by
    spaces."""
    without_signs = "".join([each if unicodedata.category(each)[0] in "LMN" else _sign(each) for each in run])
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", without_signs).casefold())
    letters = [each for each in apart if unicodedata.combining(each) in _LETTER_MARKS]
    whole = unicodedata.normalize("NFC", "".join(letters)).translate(_PLAIN)
    digits = "".join([str(unicodedata.decimal(each, each)) for each in _IGNORED_MARKS.sub("", whole)])
    return digits.translate(_STAND_INS)


def _sign(character: str) -> str:
    """Returns the replacement of a sign: a space, or nothing for a formatting character."""
    return "" if unicodedata.category(character) == "Cf" and character != "\u200b" else " "


class _StandIns(dict[int, int | str]):
    """Maps marks to private characters, for str.translate."""

    def __missing__(self, code: int) -> int | str:
        is_mark = unicodedata.category(chr(code))[0] == "M"
        self[code] = replacement = code if not is_mark else _STAND_IN + code if code < 0x10000 else " "
        return replacement


_STAND_INS = _StandIns()
