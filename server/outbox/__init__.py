"""Outgoing mail: its sender and content, the queue of drafts, and delivery.

    sender.py         From address, name, signature, template, transport
    content.py        text and HTML of a mail
    queue_rows.py     columns of the queue besides the draft: claims, the mail itself
    deliver.py        one attempt to send one draft
    outcome.py        what follows an attempt
    due_drafts.py     finds drafts that are due
    retrying.py       growing waits, and when a mail is given up
    sending.py        threads for each transport
    holds.py          transports that are unavailable at present
    ticket_status.py  the ticket of a reply that cannot leave

A queued draft is mail to send. The effect of a message on its ticket is in tickets/."""

from server.outbox.sender import default_sender

__all__ = ["default_sender"]
