"""Bodies and headers of deliveries, rendered from the record as it is at the first attempt."""

import json
from typing import Any

from server import clock, template
from server.access.service_actor import own_context
from server.context import Service
from server.errors import Forbidden, Invalid, NotFound, ScriptError
from server.outbound import client
from server.outbound.client import OutboundRequest
from server.outbound.urls import parsed
from server.outgoing import chat_notice, chat_programs, webhook_signing
from server.outgoing.deliveries import OutgoingDelivery, Receiver
from server.records import records
from server.records.catalogs import languages
from server.records.records import SearchRequest
from server.translation import speaking

JSON_TYPE = "application/json"
TEST = "test"  # the event of a test delivery


def require_sendable(url: str, headers: str) -> None:
    """Raises Invalid, with its field, for an address or headers that cannot be sent."""
    try:
        client.request(url, "POST")
    except Invalid as error:
        raise Invalid(f"url: {error.message}", field="url") from error
    client.request(url, "POST", headers_of(headers))


def require_template(text: str) -> None:
    """Raises Invalid for a template that cannot be read."""
    try:
        template.compile(text)
    except ScriptError as error:
        raise Invalid(f"body: {error.message}", field="body") from error


def headers_of(text: str) -> dict[str, str]:
    """Headers from lines of `Name: value`. Raises Invalid for another line.

    >>> headers_of("X-Token: abc\\n\\nX-Desk: 1")
    {'x-token': 'abc', 'x-desk': '1'}
    """
    headers: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = line.partition(":")
        if line.strip() and not (colon and name.strip()):
            raise Invalid(f"headers: line {number} is not 'Name: value'", field="headers")
        if line.strip():
            headers[name.strip().lower()] = value.strip()
    return headers


def body_of(service: Service, receiver: Receiver, each: OutgoingDelivery) -> str | None:
    """The body of a delivery; None if the record does not match the search of the webhook. Raises TemplateFailed."""
    program = chat_programs.program_of(receiver.program)
    if program is not None:
        notice = chat_notice.notice_of(service, receiver, each)
        if notice is None:
            return None
        with speaking(languages(service).catalog_for(receiver.language)):
            rendered = program.render(notice, parsed(receiver.url))
        return json.dumps(rendered, ensure_ascii=False)
    ctx = own_context(service, each.at)
    record: dict[str, Any] | None = {}
    if each.event != TEST:
        record = _record(service, receiver, each)
        if record is None and receiver.query and each.event != "deleted":
            return None
    kind = f"{each.uri}.{each.event}" if each.uri else TEST
    timestamp = clock.utc_text(each.at)
    data = record or {"id": each.record_id, "_type": each.uri}
    if not receiver.body.strip():
        return json.dumps({"type": kind, "timestamp": timestamp, "data": data}, ensure_ascii=False, sort_keys=True)
    values = {"event": kind, "timestamp": timestamp, "record": data}
    return str(template.compile(receiver.body).render(values, around=template.Surroundings(now=ctx.now)))


def _record(service: Service, receiver: Receiver, each: OutgoingDelivery) -> dict[str, Any] | None:
    """The record as the service sees it; None if it is gone or does not match the search."""
    if each.event == "deleted":
        return None
    ctx = own_context(service)
    if receiver.query:
        request = SearchRequest(f"id:{each.record_id} ({receiver.query})", limit=1, expand=receiver.expand)
        results = records.search(ctx, each.uri, request)["results"]
        return results[0] if results else None
    try:
        return records.retrieve(ctx, each.uri, each.record_id, receiver.expand)
    except (Forbidden, NotFound):
        return None


def request_of(receiver: Receiver, each: OutgoingDelivery, body: str, now: int, seconds: float) -> OutboundRequest:
    """The request of an attempt, signed unless it goes to a chat program. now: Unix seconds."""
    program = chat_programs.program_of(receiver.program)
    if program is not None:
        # Unlike webhook ids, ids of messages must not recur after a backup was restored, or rooms would drop them.
        repeat = f"-{each.replays}" if each.replays else ""
        method, url = program.request_target(receiver.url, f"helpdesk-{receiver.created_at}-{each.message_id}{repeat}")
        headers = {"content-type": JSON_TYPE, **headers_of(receiver.headers)}
        return client.request(url, method, headers, body.encode("utf-8", "replace"), seconds=seconds)
    raw = body.encode("utf-8", "replace")
    own = headers_of(receiver.headers)
    kind = JSON_TYPE if not receiver.body.strip() or body.lstrip()[:1] in ("{", "[") else "text/plain; charset=utf-8"
    signed = webhook_signing.headers(each.message_id, now, raw, receiver.secrets(now))
    return client.request(receiver.url, "POST", {"content-type": kind, **own, **signed}, raw, seconds=seconds)
