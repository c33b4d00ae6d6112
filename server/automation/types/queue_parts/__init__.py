"""What belongs to queues and is no record type of its own."""
