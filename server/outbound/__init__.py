"""Requests to other programs: every one that the service makes goes through here, and only to where it may go.

    client.py      a request, its redirects, its answer     urls.py       addresses, taken apart once
    connection.py  connecting, within the time there is     addresses.py  which hosts may be reached
    unpack.py      bodies, up to their limit                signing.py    proving who asks, with aws.py and tokens.py
    dns.py         names looked up, for scripts

Knows no database: whoever calls hands in the limits and what signs."""

from server.outbound.client import (
    OutboundRequest,
    OutboundResponse,
    RequestLimits,
    Signer,
    limits,
    may_pass,
    request,
    send,
)

__all__ = ["RequestLimits", "OutboundRequest", "OutboundResponse", "Signer", "limits", "may_pass", "request", "send"]
