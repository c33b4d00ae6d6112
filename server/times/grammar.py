"""Reads a time text from left to right into TimeParts. phrases.py interprets a phrase, time_parts.py all of them.

A text is a sequence of phrases; each rule has the pattern of a phrase and its interpretation. At each position the
rules for the first character are tried in order, and the first match is final, so reading takes linear time. The order
matters: amounts before dates ('1000.5 hours'), dates before clock times, longer forms before shorter ones."""

import re
from collections.abc import Callable

from server.late_pattern import late_pattern
from server.times import phrases
from server.times.time_parts import TimeParts
from server.times.vocabulary import (
    AMOUNTS,
    CLOCK_HOURS,
    DAY_WORDS,
    MONTH,
    NUMBERS,
    ORDINALS,
    STEPS,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    one_of,
)

Say = Callable[[TimeParts, re.Match[str]], None]
Rule = tuple[re.Pattern[str], Say]


def read(text: str) -> TimeParts:
    """Returns the parts of `text`, in any letter case. The caller limits its length.

    Raises ValueError if a phrase is not understood or contradicts an earlier one, Invalid for an unknown zone name."""
    text = " ".join(text.lower().split())
    reading, at = TimeParts(), 0
    while at < len(text):
        at = at + 1 if text[at] in " ," else _phrase(reading, text, at)
    # An empty text or only a zone is not a time.
    if reading == TimeParts(zone=reading.zone):
        raise ValueError(text)
    return reading


def _phrase(reading: TimeParts, text: str, at: int) -> int:
    first = text[at]
    rules = _DIGIT_RULES if first in "0123456789" else _SIGN_RULES if first in "+-(" else _WORD_RULES
    for pattern, say in rules:
        match = pattern.match(text, at)
        if match:
            say(reading, match)
            return match.end()
    raise ValueError(text[at:])


def _rules(*rows: tuple[str | re.Pattern[str], Say]) -> list[Rule]:
    return [(late_pattern(row, re.ASCII) if isinstance(row, str) else row, say) for row, say in rows]


_SUFFIX = r"(?:st|nd|rd|th)?"
# Years have two digits only before a clock time, as old mail programs write them.
_DAY_MONTH = (
    rf"(?P<day>\d\d?){_SUFFIX}[ .-]{{0,2}}(?P<month>{MONTH})"
    r"(?:(?:, ?|[ .]{0,2}|-)(?P<year>\d{4}(?![\d:])|\d\d(?= \d\d?:\d)))?"
)
_MONTH_DAY = (
    rf"(?P<month>{MONTH})\.?[ .-]?(?P<day>\d\d?){_SUFFIX}(?![\d:a-z/])"
    r"(?:(?:, ?|[ .]|-)(?P<year>\d{4})(?![\d:]))?"
)
_HALF = r"(?P<half>[ap])(?:m|\.m\.?)(?![a-z])"
_OFFSET = r"(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?(?![\d:a-z])"
_STEP_UNITS = [unit for unit in UNITS if len(unit) > 2] + list(WEEKDAYS)

_DIGIT_RULES = _rules(
    (r"(?P<year>\d{4})-?w(?P<week>\d\d)(?:-?(?P<day>[1-7]))?(?![\da-z])", phrases.week_date),
    (AMOUNTS, phrases.amounts),
    (r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d\d?)(?P=sep)(?P<day>\d\d?)(?!\d)", phrases.numeric_date),
    (rf"(?P<year>\d{{4}})[ .-]?(?P<month>{MONTH})(?:[ .-]?(?P<day>\d\d?)(?![\d:a-z]))?", phrases.named_date),
    (r"(?P<year>\d{4})[-.](?P<day>\d{3})(?!\d)", phrases.day_of_year),
    (r"(?P<year>\d{4})[-.](?P<month>\d\d?)(?!\d)", phrases.numeric_date),
    (r"(?P<month>\d\d?)/(?P<day>\d\d?)(?:/(?P<year>\d{4}|\d\d))?(?![\d/])", phrases.numeric_date),
    (r"(?P<day>\d\d?)(?P<sep>[-.])(?P<month>\d\d?)(?P=sep)(?P<year>\d{4}|\d\d)(?!\d)", phrases.numeric_date),
    (rf"(?P<day>\d\d?)(?P<sep>[-/.])(?P<month>{MONTH})(?P=sep)(?P<year>\d{{4}}|\d\d)(?!\d)", phrases.named_date),
    (_DAY_MONTH, phrases.named_date),
    (r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d)", phrases.numeric_date),
    (rf"(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?)? ?{_HALF}", phrases.clock_12),
    (r"(?P<hour>\d\d?)(?::(?P<minute>\d\d)(?P<second>(?!))?)?(?P<half>[ap])(?![a-z])", phrases.clock_12),
    (r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?(?![\d:])", phrases.clock_24),
    (r"\d{4}(?!\d)", phrases.four_digits),
)

_SIGN_RULES = _rules(
    (AMOUNTS, phrases.amounts),
    (_OFFSET, phrases.offset),
    (r"\((?P<name>[^()]*)\)", phrases.comment),
)

_WORD_RULES = _rules(
    (r"(?P<edge>first|last) day of(?![a-z])", phrases.edge_of_month),
    (rf"(?P<nth>last|{one_of(ORDINALS)}) (?P<weekday>{WEEKDAY}) of(?![a-z])", phrases.weekday_of_month),
    (rf"(?P<step>{one_of([*STEPS, *ORDINALS])}) (?P<unit>{one_of(_STEP_UNITS)})", phrases.step),
    (AMOUNTS, phrases.amounts),
    (_MONTH_DAY, phrases.named_date),
    (rf"(?P<month>{MONTH})\.?(?:(?:, ?|[ .]{{0,2}}|-)(?P<year>\d{{4}})(?![\d:]))?", phrases.named_date),
    (rf"(?P<weekday>{WEEKDAY})\.?", phrases.weekday),
    (one_of(["now", *CLOCK_HOURS, *DAY_WORDS]), phrases.word),
    (r"ago(?![a-z])", phrases.ago),
    (r"from now(?![a-z])", phrases.from_now),
    (r"at (?=\d|noon|midnight)|in (?=\d|" + one_of(NUMBERS) + ")", phrases.filler),
    (rf"(?P<side>back|front) of (?P<hour>\d\d?)(?: ?{_HALF})?(?![\d:])", phrases.around_hour),
    (r"t(?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d+)?)?)?(?!\d)", phrases.clock_24),
    (r"(?:utc|gmt)" + _OFFSET, phrases.zone_and_offset),
    (r"(?P<name>[a-z_]+(?:/[a-z0-9_+-]+)+)", phrases.set_zone),
    (r"(?P<name>[a-z]{1,5})(?![a-z])", phrases.set_zone),
)
