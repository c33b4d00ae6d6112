"""Converts requests to the params of a draft and back.

Every time is a Unix second, so that nothing depends on a time zone when the mail is due."""

from dataclasses import replace
from typing import Any

from server.context import Context
from server.digits import is_whole
from server.mail.addresses import format_address
from server.outbox.content import MARKDOWN
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import FORWARD, LETTER, UNTIL_ANSWERED
from server.tickets.request_values import (
    Addresses,
    ComposeRequest,
    MailRequest,
    ReplyRequest,
    compose_request,
    reply_request,
)

PARSEDOWN = "parsedown"
_FLAGS = ("dont_keep_copy", "is_broadcast", "is_autoreply", "is_applied")


def params_of(
    request: MailRequest, custom: dict[str, Any], worker_id: int, ticket: Record | None = None
) -> dict[str, Any]:
    """Returns the params that a draft stores for a request.

    custom: {name: value}, times as Unix seconds. worker_id, ticket: informational in the params; the columns of the
    draft take precedence."""
    params: dict[str, Any] = {
        "to": joined(request.to),
        "cc": joined(request.cc),
        "bcc": joined(request.bcc),
        "subject": request.subject,
        "content": request.content,
        "format": PARSEDOWN if request.format == MARKDOWN else request.format,
        "file_ids": list(request.file_ids),
        "html_template_id": request.html_template_id,
        "send_at": request.send_at,
        "group_id": request.group_id,
        "bucket_id": request.bucket_id,
        "ticket_reopen": request.reopen_at,
        "custom_fields": custom,
        "worker_id": worker_id,
        "ticket_id": ticket["id"] if ticket else 0,
        "status_id": request.status or 0,
        "owner_id": request.owner_id or 0,
    }
    if request.named_status is not None:
        params["status_name"] = request.named_status.name
    if request.owner_id is None and ticket is not None:
        params["owner_id"] = ticket["owner_id"]
    if isinstance(request, ComposeRequest) and request.org_id is not None:
        params["org_id"] = request.org_id
    if request.until_answered:
        params[UNTIL_ANSWERED] = 1
    if isinstance(request, ReplyRequest):
        params["in_reply_message_id"] = request.message_id
        params |= {name: 1 for name in _FLAGS if getattr(request, name)}
    return params


def compose_of(ctx: Context, draft: Record) -> ComposeRequest:
    """Returns the request of a draft of the type mail.compose. Raises the errors of compose_request."""
    params = _params(draft)
    values = _values(params) | {
        "subject": params.get("subject") or draft["name"],
        "to": params.get("to") or draft["to"],
        "org_id": params.get("org_id"),
    }
    return replace(compose_request(ctx, values), custom=_custom(params))


def transactional_of(ctx: Context, draft: Record) -> ComposeRequest:
    """Returns the request of a draft of the type mail.transactional, which has no group."""
    params = {**_params(draft), "group_id": "1"}
    if params.get("format") == LETTER:
        params["format"] = ""
    request = compose_of(ctx, {**draft, "params": params})
    return replace(request, group_id=0, bucket_id=0, owner_id=None, custom={})


def reply_of(ctx: Context, draft: Record) -> ReplyRequest:
    """Returns the request of a draft of the types ticket.reply and ticket.forward."""
    params = _params(draft)
    values = _values(params) | {
        "subject": params.get("subject"),
        "to": params.get("to") or draft["to"],
        "message_id": params.get("in_reply_message_id"),
        "is_forward": draft["type"] == FORWARD,
        "with_original": "0",  # the content of a draft is complete
        **{name: params.get(name) for name in ("dont_keep_copy", "is_broadcast", "is_autoreply")},
    }
    request = reply_request(ctx, values)
    if params.get("is_applied"):
        return replace(request, is_applied=True, owner_id=None, group_id=0, bucket_id=0)
    return replace(request, custom=_custom(params))


def joined(several: Addresses) -> str:
    """Formats addresses as one header or form value."""
    return ", ".join(format_address(each.name, each.address) for each in several)


def _params(draft: Record) -> dict[str, Any]:
    """The params of a draft; a client may have written anything there."""
    return draft["params"] if isinstance(draft["params"], dict) else {}


def _values(params: dict[str, Any]) -> dict[str, Any]:
    """The form values of params."""
    return {
        "content": params.get("content"),
        "content_format": params.get("format"),
        "cc": params.get("cc"),
        "bcc": params.get("bcc"),
        "group_id": params.get("group_id"),
        "bucket_id": params.get("bucket_id"),
        "owner_id": params.get("owner_id"),
        "status": params.get("status_id") or None,  # a request without a status stores 0
        "status_name": params.get("status_name"),
        "reopen_at": params.get("ticket_reopen"),
        "html_template_id": params.get("html_template_id"),
        "file_id": params.get("file_ids") or [],
        UNTIL_ANSWERED: params.get(UNTIL_ANSWERED),
    }


def _custom(params: dict[str, Any]) -> dict[str, Any]:
    """Custom values by `custom_<id>` or uri; bare ids are accepted too."""
    values = params.get("custom_fields")
    if not isinstance(values, dict):
        return {}
    return {f"custom_{name}" if is_whole(str(name)) else str(name): value for name, value in values.items()}
