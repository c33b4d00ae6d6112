"""How numbers and dates are written where a worker lives, by the language of their profile, such as de_CH."""

from datetime import date, datetime

from server.dataclass import dataclass
from server.translation import N_, _, shown

WEEKDAYS = (N_("Mon"), N_("Tue"), N_("Wed"), N_("Thu"), N_("Fri"), N_("Sat"), N_("Sun"))
MONTHS = (
    N_("Jan"), N_("Feb"), N_("Mar"), N_("Apr"), N_("May"), N_("Jun"), N_("Jul"), N_("Aug"), N_("Sep"), N_("Oct"),
    N_("Nov"), N_("Dec"),
)  # fmt: skip
NARROW = "\u202f"  # a space that does not break
# language, or language with country: (between thousands, before the fraction)
_MARKS = {
    "en": (",", "."), "de": (".", ","), "de_CH": ("’", "."), "de_LI": ("’", "."), "de_AT": (".", ","),
    "es": (".", ","), "es_MX": (",", "."), "it": (".", ","), "it_CH": ("’", "."), "nl": (".", ","), "pt": (".", ","),
    "da": (".", ","), "el": (".", ","), "tr": (".", ","), "id": (".", ","), "ro": (".", ","), "hr": (".", ","),
    "fr": (NARROW, ","), "fr_CH": (NARROW, ","), "sv": (NARROW, ","), "nb": (NARROW, ","), "no": (NARROW, ","),
    "fi": (NARROW, ","), "pl": (NARROW, ","), "cs": (NARROW, ","), "sk": (NARROW, ","), "hu": (NARROW, ","),
    "ru": (NARROW, ","), "uk": (NARROW, ","), "bg": (NARROW, ","), "ja": (",", "."), "zh": (",", "."), "ko": (",", "."),
    "he": (",", "."), "ar": (",", "."), "hi": (",", "."), "th": (",", "."),
}  # fmt: skip
_WITH_NOON = frozenset(("en_US", "en_CA", "en_AU", "en_NZ", "en_IN", "en_PH"))  # where a day has twice twelve hours
_MONTH_FIRST = frozenset(("en_US", "en_PH"))
_YEAR_FIRST = frozenset(("ja", "zh", "ko", "hu", "sv", "en_CA"))


@dataclass(frozen=True, slots=True)
class Locale:
    """thousands, fraction: the marks in numbers. order: of the parts of a date: dmy, mdy or ymd."""

    thousands: str = ","
    fraction: str = "."
    has_noon: bool = False
    order: str = "dmy"

    def number(self, value: float) -> str:
        """A number, with its fraction if it has one.

        >>> of("de_DE").number(1234567.5), of("en_US").number(1234), of("de_CH").number(-98765)
        ('1.234.567,5', '1,234', '-98’765')
        """
        text = f"{value:,}"
        return text.replace(",", "\0").replace(".", self.fraction).replace("\0", self.thousands)

    def moment(self, at: datetime) -> str:
        """Day and time.

        >>> at = datetime(2026, 11, 23, 14, 5)
        >>> of("en_US").moment(at), of("de_DE").moment(at), of("ja_JP").moment(at)
        ('Mon, Nov 23, 2026, 2:05 PM', 'Mon 23 Nov 2026 14:05', 'Mon 2026-11-23 14:05')
        """
        clock = self.clock(at)
        if self.order == "mdy":
            return f"{at:%a, %b} {at.day}, {at.year}, {clock}"
        weekday = shown(WEEKDAYS[at.weekday()])
        if self.order == "ymd":
            return f"{weekday} {at:%Y-%m-%d} {clock}"
        month = shown(MONTHS[at.month - 1])
        return _(
            "{weekday} {day} {month} {year} {time}", weekday=weekday, day=at.day, month=month, year=at.year, time=clock
        )

    def soon(self, at: datetime, now: datetime) -> str:
        """A day and time: without the date when it is less than a week away.

        >>> now = datetime(2026, 11, 20, 14, 5)
        >>> of("en_GB").soon(datetime(2026, 11, 23, 9), now), of("en_US").soon(datetime(2026, 11, 20, 17), now)
        ('Mon 9:00', '5:00 PM')
        >>> of("en_GB").soon(datetime(2026, 11, 17, 9), now)
        'Tue 9:00'
        >>> of("de_DE").soon(datetime(2026, 11, 27, 9), now)
        'Fri 27 Nov 2026 09:00'
        """
        clock = self.clock(at).removeprefix("0")
        if at.date() == now.date():
            return clock
        is_near = abs((at.date() - now.date()).days) < 7
        return f"{shown(WEEKDAYS[at.weekday()])} {clock}" if is_near else self.moment(at)

    def brief(self, at: datetime, now: datetime) -> str:
        """A past time in the least room.

        >>> now = datetime(2026, 11, 20, 14, 5)
        >>> times = [datetime(2026, 11, 20, 14), datetime(2026, 11, 20, 9), datetime(2026, 11, 17, 9)]
        >>> [of("en_GB").brief(each, now) for each in (*times, datetime(2026, 3, 1), datetime(2024, 3, 1))]
        ['5 min', '5 h', 'Tue', '1 Mar', 'Mar 2024']
        """
        minutes = int((now - at).total_seconds()) // 60
        if minutes < 1:
            return _("now")
        if minutes < 60:
            return _("{count} min", count=minutes)
        if minutes < 24 * 60:
            return _("{count} h", count=minutes // 60)
        if (now.date() - at.date()).days < 7:
            return shown(WEEKDAYS[at.weekday()])
        return self.day(at) if at.year == now.year else f"{shown(MONTHS[at.month - 1])} {at.year}"

    def day(self, at: date) -> str:
        """A day without its year.

        >>> of("en_US").day(date(2026, 11, 23)), of("de_DE").day(date(2026, 11, 23))
        ('Nov 23', '23 Nov')
        """
        month = shown(MONTHS[at.month - 1])
        return f"{month} {at.day}" if self.order == "mdy" else _("{day} {month}", day=at.day, month=month)

    def clock(self, at: datetime, has_noon: bool | None = None) -> str:
        """A time of day. has_noon: whether in twelve hours; None for the habit of the language.

        >>> at = datetime(2026, 11, 23, 14, 5)
        >>> of("en_US").clock(at), of("de_DE").clock(at), of("de_DE").clock(at, True)
        ('2:05 PM', '14:05', '2:05 PM')
        """
        is_in_halves = self.has_noon if has_noon is None else has_noon
        return f"{at.hour % 12 or 12}:{at:%M} {'AM' if at.hour < 12 else 'PM'}" if is_in_halves else f"{at:%H:%M}"


def of(language: str) -> Locale:
    """The habits of a language with its country; those of the language alone, or the usual ones, where it has none.

    >>> of("de_XX") == of("de_DE"), of("") == Locale(), of("zz_ZZ") == Locale()
    (True, True, True)
    """
    language = language.replace("-", "_")
    alone = language.partition("_")[0]
    thousands, fraction = _MARKS.get(language) or _MARKS.get(alone) or (",", ".")
    names = {language, alone}
    order = "mdy" if names & _MONTH_FIRST else "ymd" if names & _YEAR_FIRST else "dmy"
    return Locale(thousands, fraction, bool(names & _WITH_NOON), order)
