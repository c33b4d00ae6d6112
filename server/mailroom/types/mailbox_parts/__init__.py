"""What belongs to mailboxes beside the declaration of their type."""
