"""Operations on tickets: compose, reply, merge and split. Each is in the file of its name.

parameters.py  form values as requests             drafts.py      requests as drafts, and back
letter.py      shared code of compose and reply    recipients.py  recipients of a reply"""

from server.tickets.compose import SendResult, compose
from server.tickets.merge import merge
from server.tickets.reply import reply
from server.tickets.split import split

__all__ = ["SendResult", "compose", "merge", "reply", "split"]
