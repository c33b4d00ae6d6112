"""Demo data: a year of tickets with the people who write and reply to them, which can be removed completely.

    desk.py, stories.py   the content of resources/demo   words.py    the words of one ticket
    plan.py               the conversations               files.py    attachments; mails.py: the mails
    making.py             writes it to the database       removing.py removes it; kept.py: its ids

It is the same every time, apart from the hour that it counts back from. Mail is not sent, and no worker is notified."""

from server.first_start.demo.kept import has_other_tickets, is_filled, is_there, join, record_ids
from server.first_start.demo.making import Made, fill
from server.first_start.demo.plan import TICKETS
from server.first_start.demo.removing import remove

__all__ = ["TICKETS", "Made", "fill", "has_other_tickets", "is_filled", "is_there", "join", "record_ids", "remove"]
