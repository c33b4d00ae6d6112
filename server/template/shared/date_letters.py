"""Formats an instant by single letters, as in `Y-m-d H:i`. Each letter is a row of LETTERS."""

from collections.abc import Callable
from datetime import datetime, timedelta

from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer

STEPS_A_LETTER = 2
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def written(run: Rendering, at: datetime, format: str) -> str:
    """Returns the formatted instant. Other characters stand for themselves, and so does a letter after a backslash."""
    out = TextBuffer(run)
    run.budget.step(len(format) * STEPS_A_LETTER)
    is_quoted = False
    for letter in format:
        if is_quoted or letter not in LETTERS:
            is_quoted = letter == "\\" and not is_quoted
            if not is_quoted:
                out.add(letter)
        else:
            out.add(LETTERS[letter](at))
    return out.text()


def _suffix(day: int) -> str:
    if 10 < day < 14:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _offset(at: datetime, colon: str) -> str:
    distance = at.utcoffset() or timedelta()
    minutes = int(distance.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{colon}{abs(minutes) % 60:02d}"


def _zone_name(at: datetime) -> str:
    return getattr(at.tzinfo, "key", None) or ("UTC" if at.tzname() == "UTC" else _offset(at, ":"))


def _short_zone(at: datetime) -> str:
    name = at.tzname() or "UTC"
    return _offset(at, ":") if name.startswith("UTC") and name != "UTC" else name


def _leap(at: datetime) -> int:
    return int(at.year % 4 == 0 and (at.year % 100 != 0 or at.year % 400 == 0))


def _days_in_month(at: datetime) -> int:
    if at.month == 12:
        return 31
    return (at.replace(month=at.month + 1, day=1) - at.replace(day=1)).days


def _beat(at: datetime) -> str:
    """Returns the Swatch beat: a thousandth of a day in Central European winter time."""
    seconds = (int(at.timestamp()) + 3600) % 86_400
    return f"{int(seconds / 86.4):03d}"


def _half_hour(at: datetime) -> int:
    return at.hour % 12 or 12


LETTERS: dict[str, Callable[[datetime], str]] = {
    "d": lambda at: f"{at.day:02d}",
    "D": lambda at: DAYS[at.weekday()][:3],
    "j": lambda at: str(at.day),
    "l": lambda at: DAYS[at.weekday()],
    "N": lambda at: str(at.isoweekday()),
    "S": lambda at: _suffix(at.day),
    "w": lambda at: str(at.isoweekday() % 7),
    "z": lambda at: str(at.timetuple().tm_yday - 1),
    "W": lambda at: f"{at.isocalendar().week:02d}",
    "F": lambda at: MONTHS[at.month - 1],
    "m": lambda at: f"{at.month:02d}",
    "M": lambda at: MONTHS[at.month - 1][:3],
    "n": lambda at: str(at.month),
    "t": lambda at: str(_days_in_month(at)),
    "L": lambda at: str(_leap(at)),
    "o": lambda at: str(at.isocalendar().year),
    "Y": lambda at: f"{at.year:04d}",
    "y": lambda at: f"{at.year % 100:02d}",
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "B": _beat,
    "g": lambda at: str(_half_hour(at)),
    "G": lambda at: str(at.hour),
    "h": lambda at: f"{_half_hour(at):02d}",
    "H": lambda at: f"{at.hour:02d}",
    "i": lambda at: f"{at.minute:02d}",
    "s": lambda at: f"{at.second:02d}",
    "u": lambda at: f"{at.microsecond:06d}",
    "v": lambda at: f"{at.microsecond // 1000:03d}",
    "e": _zone_name,
    "I": lambda at: str(int(bool(at.dst()))),
    "O": lambda at: _offset(at, ""),
    "P": lambda at: _offset(at, ":"),
    "T": _short_zone,
    "Z": lambda at: str(int((at.utcoffset() or timedelta()).total_seconds())),
    "c": lambda at: f"{at:%Y-%m-%dT%H:%M:%S}".zfill(19) + _offset(at, ":"),
    "r": lambda at: (
        f"{DAYS[at.weekday()][:3]}, {at.day:02d} {MONTHS[at.month - 1][:3]} {at.year:04d} "
        f"{at:%H:%M:%S} {_offset(at, '')}"
    ),
    "U": lambda at: str(int(at.timestamp())),
}
