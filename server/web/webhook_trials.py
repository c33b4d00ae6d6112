"""Requests to webhooks as people type them."""

from collections.abc import Mapping

from server.automation.webhooks.responding import WebhookRequest
from server.errors import Invalid
from server.translation import _
from server.web.webhook_site import received_of

PARTS = ("method", "path", "query", "headers", "body")


def typed_request(texts: Mapping[str, str], client: str) -> WebhookRequest:
    """Returns the request of typed PARTS; headers are lines. Raises Invalid."""
    return received_of(
        texts.get("method") or "POST",
        texts.get("path", "").strip().lstrip("/"),
        texts.get("query", "").strip(),
        _headers(texts.get("headers", "")),
        texts.get("body", "").encode(),
        client,
    )


def _headers(text: str) -> list[tuple[str, str]]:
    """Header lines as pairs. Raises Invalid for one without a colon."""
    headers = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip().isascii():
            raise Invalid(_("'{line}' is not a header; write Name: value.", line=line[:60]), field="headers")
        headers.append((name.strip(), value.strip()))
    return headers
