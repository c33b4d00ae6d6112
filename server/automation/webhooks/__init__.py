"""Webhooks: secret addresses that other programs call, and the deliveries that result.

    webhook_tokens.py  finds the listener of an address, creates addresses
    responding.py      runs the automation and returns its response
    received_calls.py  stores both, to inspect them and to run them again

HTTP itself is web/webhook_site.py; the endpoints for administrators are web/rest/webhooks.py."""
