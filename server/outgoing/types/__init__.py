"""Record types of outgoing webhooks."""
