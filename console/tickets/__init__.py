"""The helpdesk pages of workers: inbox, tickets, replies."""
