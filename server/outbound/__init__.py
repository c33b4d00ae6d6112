"""Requests to other programs. The whole service sends them through this package, and only to allowed hosts.

    client.py           a request, its redirects, its response
    connection.py       connections with a deadline
    unpack.py           response bodies, up to their limit
    urls.py             validated addresses
    allowlist.py        the hosts that may be reached
    request_signing.py  authentication, with aws.py and client_tokens.py
    oauth_discovery.py  metadata of providers of OAuth 2 and OpenID Connect; pkce.py proves who began a sign-in there
    dns.py              name lookups for scripts

Knows no database: callers pass the limits and the signer."""

from server.outbound.client import (
    AccountAccess,
    OutboundRequest,
    OutboundResponse,
    RequestLimits,
    Signer,
    limits,
    may_pass,
    request,
    retry_after,
    send,
)
from server.outbound.connection import Cancellation

__all__ = [
    "AccountAccess",
    "Cancellation",
    "RequestLimits",
    "OutboundRequest",
    "OutboundResponse",
    "Signer",
    "limits",
    "may_pass",
    "request",
    "retry_after",
    "send",
]
