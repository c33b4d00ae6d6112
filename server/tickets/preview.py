"""The HTML of a mail before it is sent, built by the same code as the mail."""

from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.markup import link_plain_text
from server.outbox.content import Body
from server.outbox.deliver import MailSpec, html_part, own_file
from server.store.transaction import Transaction
from server.tickets import acknowledging
from server.tickets.compose import prepare as prepare_compose
from server.tickets.reply import prepare as prepare_reply
from server.tickets.request_values import compose_request, reply_request


def of_reply(ctx: Context, values: Mapping[str, Any]) -> str:
    """Renders a reply or forward. Takes the values of reply() and raises its errors."""
    plan = prepare_reply(ctx, reply_request(ctx, values))
    return _html(ctx, plan.mail, plan.body)


def of_compose(ctx: Context, values: Mapping[str, Any]) -> str:
    """Renders the first message of a new ticket. Takes the values of compose() and raises its errors."""
    plan = prepare_compose(ctx, compose_request(ctx, values), ctx.actor.worker_id)
    return _html(ctx, plan.mail, plan.body)


def of_acknowledgement(ctx: Context, group_id: int) -> str:
    """Renders the acknowledgement that a group sends for the first mail of its newest ticket.

    Raises AdminOnly, Invalid for a group without such a ticket, and the error that prevents sending."""
    ctx.require_admin("see what a group answers by itself")
    plan = acknowledging.trial(ctx, group_id)
    return _html(ctx, plan.mail, plan.body)


def _html(ctx: Context, mail: MailSpec, body: Body) -> str:
    if body.html is None:
        return f"<pre>{link_plain_text(body.text)}</pre>"
    html, own = body.html, own_file(ctx.service.base_url)

    def image_url(url: str) -> str | None:
        """The mail will contain these files; the preview links to them."""
        return url if own.fullmatch(url) else None

    def read(tx: Transaction) -> str:
        return html_part(ctx, tx, mail, body.text, html, image_url)

    return ctx.service.store.read(read)
