"""Tables of mailboxes besides the declaration of their type."""
