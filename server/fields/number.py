"""Numbers: whole, whole and not negative, with a fraction."""

import math
from typing import Any, ClassVar

from server.fields.field import Field, Intake, as_text
from server.search.filters import BytesFilter, DurationFilter, NumberFilter
from server.translation import lazy_gettext

MAX_UINT = 4294967295
MAX_NUMBER = 2**63 - 1


class Number(Field):
    """A whole number between `min` and `max`. words: the meanings of the numbers from 0, for people."""

    type = "number"
    kind = "INTEGER"
    filter_kind = NumberFilter
    lowest: ClassVar[int] = -MAX_NUMBER
    highest: ClassVar[int] = MAX_NUMBER

    def __init__(
        self, note: str, *, min: int | None = None, max: int | None = None, words: tuple[str, ...] = (), **options: Any
    ) -> None:
        super().__init__(note, **options)
        self.words = words
        self.min = self.lowest if min is None else min
        self.max = self.highest if max is None else max

    def initial(self) -> Any:
        return self.default or 0

    def read(self, raw: Any, intake: Intake) -> int:
        text = as_text(raw).strip()
        if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
            raise self.bad(lazy_gettext("'{value}' is not a whole number", value=text[:50]))
        value = int(text)
        if value < self.min:
            raise self.bad(lazy_gettext("{value} is below {least}", value=value, least=self.min))
        if value > self.max:
            raise self.bad(lazy_gettext("{value} is above {most}", value=value, most=self.max))
        return value

    def limits(self) -> dict[str, Any]:
        limits = {}
        if self.min != self.lowest:
            limits["min"] = self.min
        if self.max != self.highest:
            limits["max"] = self.max
        return limits

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.min, "maximum": self.max, "description": self.note}


class Uint(Number):
    """A whole number from 0."""

    type = "uint"
    lowest = 0
    highest = MAX_UINT


class Bytes(Uint):
    """A size."""

    filter_kind = BytesFilter


class Seconds(Uint):
    """A length of time."""

    filter_kind = DurationFilter


class Float(Field):
    """A number with a fraction; blank is 0."""

    type = "float"
    kind = "REAL"

    def __init__(self, note: str, *, min: float = -math.inf, max: float = math.inf, **options: Any) -> None:
        super().__init__(note, **options)
        self.min = min
        self.max = max

    def initial(self) -> Any:
        return float(self.default or 0)

    def read(self, raw: Any, intake: Intake) -> float:
        text = as_text(raw).strip()
        try:
            value = float(text) if text else 0.0
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in text:
            raise self.bad(lazy_gettext("'{value}' is not a number, such as 0.5", value=text[:50]))
        if not self.min <= value <= self.max:
            raise self.bad(
                lazy_gettext(
                    "{value} is not between {low} and {high}", value=text, low=f"{self.min:g}", high=f"{self.max:g}"
                )
            )
        return value

    def limits(self) -> dict[str, Any]:
        return {} if math.isinf(self.max) else {"min": self.min, "max": self.max}

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "description": self.note}
