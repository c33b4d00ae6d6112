"""Operations on tickets: compose, reply, merge and split. Each is in the file of its name.

request_values.py  reads form values into requests
drafts.py          stores requests as drafts, and reads them back
letter.py          what compose and reply share
recipients.py      the recipients of a reply"""

from server.tickets.compose import SendResult, compose
from server.tickets.merge import merge
from server.tickets.reply import reply
from server.tickets.split import split

__all__ = ["SendResult", "compose", "merge", "reply", "split"]
