"""Settings › Rules: what happens on a ticket when."""
