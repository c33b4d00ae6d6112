"""Webhooks: secret addresses that other programs call, and what came of it.

    tokens.py       which listener an address is for, new addresses
    responding.py   a request in, the automation's answer out
    deliveries.py   both as a row, to look at and to run again

HTTP itself is web/webhooks.py; the endpoints for administrators are web/rest/webhooks.py."""
