"""A desk to look at: a year of tickets with the people who write and answer them, and its removal without a trace.

desk.py, stories.py   what resources/demo tells        words.py    which of its words a ticket has
plan.py               who writes what when              files.py    what hangs on mails, mails.py the mails themselves
making.py             all of it into the database       removing.py and out of it again;  kept.py what is known of it

The same every time but for the hour that it counts back from. No mail is sent, and nobody is told."""

from server.first_start.demo.kept import has_other_tickets, is_filled, is_there, join, made
from server.first_start.demo.making import Made, fill
from server.first_start.demo.plan import TICKETS
from server.first_start.demo.removing import remove

__all__ = ["TICKETS", "Made", "fill", "has_other_tickets", "is_filled", "is_there", "join", "made", "remove"]
