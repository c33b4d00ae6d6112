"""What tests of the web layer need of the machine."""

import shutil

# Clients for Node.js are a test where there is a node to run them.
collect_ignore = [] if shutil.which("node") and shutil.which("npm") else ["test_made_clients_in_node.py"]
