"""The action that sends an HTTP request to another program, like every other outbound request of the service."""

import time
from dataclasses import replace
from typing import Any

from server import outbound
from server.automation.behaviors.action import ActionCall, action
from server.automation.commands.http import MAX_BODY_IN_DICTIONARY, body_text, headers_of
from server.connections import connected_accounts
from server.errors import BudgetSpent, HelpdeskError, Invalid, TooLarge
from server.outbound.client import OutboundRequest, OutboundResponse
from server.template.shared.text_values import bytes_of

ACCOUNT, PLACEHOLDER = "connected_account", "placeholder"  # parameters that name the signing account
NO_ANSWER = {"content_type": "", "headers": {}, "body": "", "info": {}}


@action(
    "core.va.action.http_request",
    "Send a request to another program over HTTP.",
    placeholder="response_placeholder",
    default="_http_response",
    effects=True,
)
def http_request(call: ActionCall) -> Any:
    """Returns {content_type, headers, body, info, error} for every response, including statuses from 400 on; `error` is
    set if there was no response. A JSON body is decoded."""
    try:
        request = _asked(call)
        bounds = outbound.limits(call.run.ctx.service.settings)
        seconds_left = max(call.run.spent.budget.ends_at - time.monotonic(), 0.001)
        response = outbound.send(replace(request, seconds=min(bounds.seconds, seconds_left)), bounds)
        return _output(call, response) | {"error": ""}
    except BudgetSpent:
        raise
    except HelpdeskError as error:
        return NO_ANSWER | {"error": error.message}


def _asked(call: ActionCall) -> OutboundRequest:
    request = outbound.request(
        call.text("http_url").strip(),
        call.raw("http_verb") or "GET",
        tuple(headers_of(call.text("http_headers"))),
        bytes_of(call.text("http_body")),
        verify=not _option(call, "ignore_ssl_validation"),
    )
    account = _account(call)
    return replace(request, sign=connected_accounts.signer(call.run.ctx, account)) if account else request


def _account(call: ActionCall) -> str:
    """Returns the id or uri of the connected account that signs the request, "" for none. Raises Invalid."""
    kind = call.raw("auth")
    if kind not in ("", ACCOUNT, PLACEHOLDER):
        raise Invalid(f"auth: '{kind[:50]}' must be {ACCOUNT} or {PLACEHOLDER}; leave it out to send no credentials")
    if not kind:
        return ""
    name = "auth_connected_account_id" if kind == ACCOUNT else "auth_placeholder"
    account = call.text(name).strip()
    if not account:
        raise Invalid(f"{name}: is not a connected account", field=name)
    return account


def _option(call: ActionCall, name: str) -> bool:
    options = call.params.get("options")
    return isinstance(options, dict) and ActionCall(call.run, options).flag(name)


def _output(call: ActionCall, response: OutboundResponse) -> dict[str, Any]:
    full = response.headers.get("content-type", "")
    kind = full.partition(";")[0].strip().lower()
    if len(response.body) > MAX_BODY_IN_DICTIONARY:
        raise TooLarge(f"the response has {len(response.body):,} bytes, at most {MAX_BODY_IN_DICTIONARY:,}")
    text = body_text(response.body, full, kind)
    if text is None:
        raise Invalid(f"the response is {kind or 'bytes'}, not text")
    call.run.spent.budget.text(len(text))
    body: Any = text
    if (kind == "application/json" or kind.endswith("+json")) and not _option(call, "raw_response_body"):
        body = call.run.decoded(text)
    info = {"url": str(response.url), "http_code": response.status, "content_type": full}
    return {"content_type": kind, "headers": dict(response.headers), "body": body, "info": info}
