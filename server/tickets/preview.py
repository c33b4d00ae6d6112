"""The HTML of a mail before it is sent, made as the one that leaves."""

from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.markup import link_plain_text
from server.outbox.content import Body
from server.outbox.deliver import MailSpec, html_part, own_file
from server.store.transaction import Transaction
from server.tickets import acknowledging
from server.tickets.compose import prepare as prepare_compose
from server.tickets.parameters import compose_request, reply_request
from server.tickets.reply import prepare as prepare_reply


def of_reply(ctx: Context, values: Mapping[str, Any]) -> str:
    """Of a reply or forward. values: as reply() takes them. Raises what reply() does."""
    plan = prepare_reply(ctx, reply_request(ctx, values))
    return _html(ctx, plan.mail, plan.body)


def of_compose(ctx: Context, values: Mapping[str, Any]) -> str:
    """Of the first message of a new ticket. values: as compose() takes them. Raises what compose() does."""
    plan = prepare_compose(ctx, compose_request(ctx, values), ctx.actor.worker_id)
    return _html(ctx, plan.mail, plan.body)


def of_acknowledgement(ctx: Context, group_id: int) -> str:
    """Of what a group answers by itself to the first mail of its newest ticket. Raises AdminOnly, Invalid for a group
    without such a ticket, and what makes that it is not sent."""
    ctx.require_admin("see what a group answers by itself")
    plan = acknowledging.trial(ctx, group_id)
    return _html(ctx, plan.mail, plan.body)


def _html(ctx: Context, mail: MailSpec, body: Body) -> str:
    if body.html is None:
        return f"<pre>{link_plain_text(body.text)}</pre>"
    html, own = body.html, own_file(ctx.service.base_url)

    def image_url(url: str) -> str | None:
        """Files of ours go along with the mail; here they are shown from where they are."""
        return url if own.fullmatch(url) else None

    def read(tx: Transaction) -> str:
        return html_part(ctx, tx, mail, body.text, html, image_url)

    return ctx.service.store.read(read)
