"""Import of raw email."""

from collections.abc import Callable
from typing import Any

from server import contexts, mailroom
from server.errors import Forbidden
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

CREATE_TICKETS = f"contexts.{contexts.TICKET}.create"


def ready(call: EndpointCall) -> Callable[[], dict[str, Any]] | None:
    """Returns the write of a mail that parses quickly."""
    take = mailroom.quick(call.ctx, _raw(call))
    return None if take is None else lambda: _receipt_ids(take())


@endpoint(
    "POST", "parser/parse", "Import a raw email as a new ticket or as a reply.", "small write",
    Parameter("message", "string", "The whole message: headers, a blank line, the body. Bytes are used as they are.",
              required=True),
    size="mail", ready=ready, response=shapes.keys(id=shapes.ID, mask=shapes.TEXT, last_message_id=shapes.ID),
)  # fmt: skip
def parse(call: EndpointCall) -> dict[str, Any]:
    return _receipt_ids(mailroom.receive(call.ctx, _raw(call)))


def _raw(call: EndpointCall) -> bytes:
    if not call.ctx.actor.may(CREATE_TICKETS):
        raise Forbidden(f"you may not create tickets; ask for a role with {CREATE_TICKETS}")
    return call.params.raw("message", required=True)


def _receipt_ids(found: mailroom.Receipt) -> dict[str, Any]:
    """Returns the ids; zeros and an empty mask for a ticket that the caller may not read."""
    if not found.is_readable:
        return {"id": 0, "mask": "", "last_message_id": 0}
    return {"id": found.ticket_id, "mask": found.mask, "last_message_id": found.message_id}
