"""Instants: Unix seconds, or a time in words."""

from typing import Any

from server import times
from server.errors import Invalid
from server.fields.base import Field, Intake, as_text


class Timestamp(Field):
    """An instant as Unix seconds; 0 and blank are none. Words are read in the caller's zone as the request arrives."""

    type = "timestamp"
    kind = "INTEGER"

    def initial(self) -> Any:
        return self.default or 0

    def read(self, raw: Any, intake: Intake) -> int:
        text = as_text(raw).strip()
        if not text:
            return 0
        try:
            return times.instant(text, intake.now, intake.tz)
        except Invalid as error:
            raise self.bad(error.message) from error

    def schema(self) -> dict[str, Any]:
        return {"type": ["integer", "string"], "description": self.note}


class TimeText(Timestamp):
    """As Timestamp, under a name that always took words."""

    type = "time"
