"""Tests of what only PostgreSQL has; those that need one run with --store=postgresql."""

from tests import databases

NEEDING = ["test_away.py", "test_failover.py", "test_kills.py", "test_processes.py"]
collect_ignore = [] if databases.is_postgresql() else NEEDING
