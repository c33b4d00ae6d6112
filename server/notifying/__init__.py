"""Notifications of workers by mail and on their devices; the commands in their replies, which the mailroom receives."""
