"""Incoming mail: one path for the parser endpoint, the command line and mailboxes.

incoming.py   prepares what needs no database
threading.py  finds the ticket
routing.py    finds the bucket of a new ticket
sender.py     finds the author
naming.py     stores the name of the author
bounces.py    handles failed deliveries
storing.py    writes the records
receiving.py  runs these steps in order
creating.py   turns a submitted form into such a mail"""

from server.mailroom.creating import create
from server.mailroom.receiving import Receipt, quick, ready, receive

__all__ = ["Receipt", "create", "quick", "ready", "receive"]
