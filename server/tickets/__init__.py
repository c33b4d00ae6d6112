"""What is done with tickets: composed, replied to, merged, split. Each operation is a file of its name.

parameters.py  form values as requests       drafts.py      drafts as requests, and back
letter.py      what compose and reply share  recipients.py  who a reply goes to"""

from server.tickets.compose import SendResult, compose
from server.tickets.merge import merge
from server.tickets.reply import reply
from server.tickets.split import split

__all__ = ["SendResult", "compose", "merge", "reply", "split"]
