"""Parts of queues that are not record types."""
