"""Dates, counted by the bins of a zone."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from functools import partial
from typing import Any

import peewee

from server.counting.bins import Bin, TimeScale
from server.counting.dimensions.bin_options import DEFAULT_DATE_BINS, Options
from server.counting.dimensions.dimension import Dimension, Member, Raw
from server.counting.dimensions.sources import Source


class DateDimension(Dimension):
    """A column of Unix seconds, 0 for no date. The database groups by buckets of `size` seconds, which are folded into
    bins. A raw value is the first second of a bucket."""

    scale = 1
    default_limit = DEFAULT_DATE_BINS

    def __init__(self, options: Options, name: str, source: Source, tz: tzinfo, now: int) -> None:
        super().__init__(options, name, source)
        self.calendar = TimeScale(options.unit_or_month(), tz, now)
        self._sizes = self.calendar.sizes
        self._bins: dict[int, Bin] = {}  # by the first second of a bucket of any size

    @property
    def size(self) -> int:
        """The current bucket size in seconds."""
        return self._sizes[0]

    @property
    def values(self) -> tuple[Any, ...]:
        return (self.size,)

    def expressions(self, at: Any) -> list[Any]:
        size = at(len(self.source.values))
        return [peewee.Expression(peewee.Expression(self.number(at), "/", size), "*", size)]

    def number(self, at: Any) -> Any:
        return peewee.fn.NULLIF(self.source.expressions(at)[0], peewee.SQL("0"))

    def finer(self) -> None:
        self._sizes.pop(0)

    def torn(self, starts: Iterable[int | None]) -> list[int]:
        """Returns the buckets that overlap two bins, and stores the bins of the others."""
        bins = self._bins
        new = (each for each in starts if each is not None and each not in bins)
        new_bins, torn = self.calendar.placed(new, self.size)
        bins |= new_bins
        return torn

    def alike(self, starts: Iterable[int | None]) -> dict[int | None, int | None]:
        """Returns {bucket: first bucket of the same bin}."""
        first: dict[Bin, int] = {}
        return {each: None if each is None else first.setdefault(self._bins[each], each) for each in starts}

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None] | None:
        if self.torn(raw[0] for raw in hits):
            return None
        members: dict[Raw, Member | None] = {}
        by_bin: dict[Bin, Member] = {}
        for raw in hits:
            if raw[0] is None:
                members[raw] = Member(None, self.nothing, None, lambda: f"{self.name}:null")
                continue
            entry = self._bins[raw[0]]
            member = by_bin.get(entry)
            if member is None:
                find = partial(entry.term, self.name)
                member = by_bin[entry] = Member(entry.start, entry.label, entry.value, find, entry)
            members[raw] = member
        return members

    def _key(self) -> str:
        return f"{self.base}_{self.calendar.unit.suffix}"

    def dictionary(self, member: Member) -> dict[str, Any]:
        return {self._key().replace(".", "_"): member.value if member.key is not None else None}

    def columns(self) -> dict[str, dict[str, Any]]:
        return {self._key(): {"label": self.label, "type": "text"}}

    def cells(self, member: Member) -> dict[str, Any]:
        return {self._key(): member.label}
