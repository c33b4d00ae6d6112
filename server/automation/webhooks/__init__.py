"""Webhooks: secret addresses that other programs call, and the deliveries that result.

    tokens.py       finds the listener of an address, creates addresses
    responding.py   runs the automation and returns its response
    deliveries.py   stores both, to inspect them and to run them again

HTTP itself is web/webhooks.py; the endpoints for administrators are web/rest/webhooks.py."""
