"""Reads times in words: instants, ranges, durations and parts of the calendar.

Pure: the caller passes the clock (`now`, Unix seconds) and the time zone. Does not format times (templates and the
console do), and reads single date values, not whole search terms. Not dateutil, which reads no phrases such as
`2 weeks ago`, nor parsedatetime, which skips the words that it does not know, where a search must be refused.

    instants.py        a text as an instant
    spans.py           date values of searches
    durations.py       lengths of time
    calendar_parts.py  weekdays, months, times of day
    grammar.py         a text as TimeParts
    time_parts.py      TimeParts as an instant
    zones.py           names of time zones
    vocabulary.py      the vocabulary"""

from server.times.calendar_parts import days_of_month, months, times_of_day, weekdays, weeks
from server.times.durations import duration
from server.times.instants import after, ahead, instant
from server.times.spans import Span, bounds, span
from server.times.zones import zone, zones

__all__ = [
    "Span",
    "after",
    "ahead",
    "bounds",
    "days_of_month",
    "duration",
    "instant",
    "months",
    "span",
    "times_of_day",
    "weekdays",
    "weeks",
    "zone",
    "zones",
]
