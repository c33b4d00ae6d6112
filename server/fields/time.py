"""Instants: Unix seconds, or a time in words."""

from typing import Any

from server import times
from server.errors import Invalid
from server.fields.field import Field, Intake, as_text
from server.search.filters import DateFilter


class Timestamp(Field):
    """An instant as Unix seconds; 0 and blank mean none. Words are read in the caller's zone when the request
    arrives."""

    type = "timestamp"
    kind = "INTEGER"
    filter_kind = DateFilter

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


class CreatedAt(Timestamp):
    """The time of creation."""

    def __init__(self, note: str = "When the record was created; now when omitted.", **options: Any) -> None:
        super().__init__(note, **{"auto": "now"} | options)

    def usual_filter(self) -> str:
        """Returns the name without `_at`, unlike other times."""
        return self.name.removesuffix("_at")


class UpdatedAt(CreatedAt):
    """The time of the last change."""

    def __init__(
        self, note: str = "Last change; set to the current time on every write unless sent.", **options: Any
    ) -> None:
        super().__init__(note, **{"auto_update": "now"} | options)


class TimeText(Timestamp):
    """A timestamp that the API describes as `time`."""

    type = "time"
