"""Notifications by mail: mails to workers, and the commands in their replies, which the mailroom receives."""
