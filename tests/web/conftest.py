"""Skips the tests of generated clients for Node.js where Node.js is not installed."""

import shutil

# Clients for Node.js can only be tested where Node.js is installed.
collect_ignore = [] if shutil.which("node") and shutil.which("npm") else ["test_made_clients_in_node.py"]
