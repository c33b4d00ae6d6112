"""`created@day~10`: a field, the unit of its bins, and the number of values to show."""

import re

from server.counting.bins import UNIT_BY_NAME, Unit
from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import BadDataQuery, nearest
from server.search.ast import SearchValue

MAX_BINS = 2_000  # values of one field
DEFAULT_BINS = 25
DEFAULT_DATE_BINS = 250
_OPTIONS = re.compile(r"([^@~]+)(?:@([^@~]*))?(?:~([^@~]*))?")


@dataclass(frozen=True)
class Options:
    """One field of a query. limit: the number of values to show, negative for the rarest, None if unspecified."""

    written: str
    name: str
    unit: str
    limit: int | None
    position: int

    def unit_or_month(self) -> Unit:
        """Returns the unit of a date, by default months. Raises BadDataQuery for an unknown one."""
        unit = UNIT_BY_NAME.get(self.unit or "month")
        if unit is None:
            raise BadDataQuery(
                f"'{self.unit[:40]}' is not a unit of dates{nearest(self.unit, UNIT_BY_NAME)}",
                position=self.position,
                field=self.name,
            )
        return unit


def options(text: SearchValue) -> Options:
    """Parses one item of `by:`. Raises BadDataQuery for an invalid limit."""
    match = _OPTIONS.fullmatch(text.value.strip())
    if match is None:
        raise BadDataQuery(
            f"'{text.value[:80]}' is not a field with its options, such as created@day~10",
            position=text.position,
            field="by",
        )
    name, unit, limit = match[1].strip(), match[2] or "", match[3]
    number = None
    if limit is not None:
        digits = limit.strip().removeprefix("-")
        number = whole_in(digits, 1, MAX_BINS)
        if number is None:
            raise BadDataQuery(
                f"'~{limit[:20]}': write how many values are kept, 1 to {MAX_BINS}, with '-' in front for the rarest",
                position=text.position,
                field=name,
            )
        number = -number if limit.strip().startswith("-") else number
    return Options(text.value.strip(), name, unit, number, text.position)
