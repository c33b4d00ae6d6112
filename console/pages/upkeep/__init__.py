"""Pages of what keeps the service sound: backups, settings, the check-up, the log."""
