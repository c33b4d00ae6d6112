"""The desk: inbox, tickets, replies."""
