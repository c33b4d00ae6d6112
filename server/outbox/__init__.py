"""Mail that goes out: who it comes from, what is in it, the queue of drafts, and its delivery.

    sender.py   From address, name, signature, template, transport       content.py  text and HTML of a mail
    rows.py     what a draft does not tell: claims, the mail itself
    deliver.py  one attempt to send one draft             outcome.py   what follows an attempt
    due.py      finds drafts that are due                 retrying.py  growing waits, and when a mail is given up
    sending.py  threads for each transport                holds.py     transports that let no mail through at present
    ticket_status.py  the ticket of a reply that cannot leave

A draft that is queued is mail to send. Not for what a message does to its ticket: that is tickets/."""

from server.outbox.sender import default_sender

__all__ = ["default_sender"]
