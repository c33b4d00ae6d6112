"""Demo data: a year of tickets with the people who write and reply to them, which can be removed completely.

    desk.py, stories.py      the content of resources/demo
    story_words.py           the words of one ticket
    plan.py                  the conversations
    mails.py, demo_files.py  the mails and their attachments
    demo_writer.py           writes it all to the database
    first_minute.py          the tickets of the first administrator, and the mail that arrives while they look
    kept.py                  the ids of what was written
    removing.py              removes it

It is the same every time, apart from the hour that it counts back from. No mail is sent and no worker is notified."""

from server.first_start.demo.demo_writer import Made, fill
from server.first_start.demo.first_minute import join, welcome
from server.first_start.demo.kept import has_other_tickets, is_filled, is_there, record_ids
from server.first_start.demo.plan import TICKETS
from server.first_start.demo.removing import remove

__all__ = [
    "TICKETS",
    "Made",
    "fill",
    "has_other_tickets",
    "is_filled",
    "is_there",
    "join",
    "record_ids",
    "remove",
    "welcome",
]
