"""Yes or no, stored as 1 or 0."""

from typing import Any

from server.fields.field import Field, Intake, as_text
from server.search.filters import FlagFilter
from server.translation import lazy_gettext

WORDS = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}


class Bit(Field):
    """0 or 1; accepts true, false, yes and no too."""

    type = "bit"
    kind = "INTEGER"
    filter_kind = FlagFilter

    def initial(self) -> Any:
        return self.default or 0

    def read(self, raw: Any, intake: Intake) -> int:
        word = as_text(raw).strip().lower()
        if word not in WORDS:
            raise self.bad(lazy_gettext("'{value}' is not 0 or 1", value=word[:50]))
        return WORDS[word]

    def limits(self) -> dict[str, Any]:
        return {"min": 0, "max": 1}

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "enum": [0, 1], "description": self.note}
