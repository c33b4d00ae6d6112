"""Times in words: which texts mean which instant, which range, which length and which parts of a calendar.

Pure: the caller brings the clock (`now`, Unix seconds) and the time zone. Writes no times (templates and
the console do), and knows nothing of search terms beyond the text of one date value.

    instants.py   one text, one instant         spans.py      date values of searches
    durations.py  lengths of time               parts.py      weekdays, months, times of day
    grammar.py    text to Reading               reading.py    Reading to instant
    zones.py      names of time zones           words.py      the vocabulary
"""

from server.times.durations import duration
from server.times.instants import after, ahead, instant
from server.times.parts import days_of_month, months, times_of_day, weekdays, weeks
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
