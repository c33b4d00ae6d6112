"""Mail in: one way for the parser endpoint, the command line and mailboxes.

incoming.py works out what needs no database, threading.py finds the ticket, routing.py the bucket of a new one,
sender.py says who wrote, naming.py stores their name, bounces.py whose mail failed, storing.py stores it all;
receiving.py is the order of these. creating.py makes such a mail of a form that somebody filled in."""

from server.mailroom.creating import create
from server.mailroom.receiving import Receipt, quick, ready, receive

__all__ = ["Receipt", "create", "quick", "ready", "receive"]
