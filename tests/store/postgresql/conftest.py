"""Tests of what only PostgreSQL has; those that need one run with --store=postgresql."""

from tests import databases

SERVED = ["test_processes.py", "test_tables.py", "test_away.py", "test_small_reads.py"]
collect_ignore = [] if databases.is_postgresql() else SERVED
