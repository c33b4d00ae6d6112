"""Raw mail in. Source: Endpoints, Parser."""

from typing import Any

from server import contexts, mailroom
from server.errors import Forbidden
from server.web.call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

CREATE_TICKETS = f"contexts.{contexts.TICKET}.create"


@endpoint(
    "POST", "parser/parse", "Import a raw mail message as a new ticket or as a reply.", "write",
    Parameter("message", "string", "The whole message: headers, a blank line, the body. Bytes are taken as they are.",
              required=True),
    size="mail", answer=shapes.keys(id=shapes.ID, mask=shapes.TEXT, last_message_id=shapes.ID),
)  # fmt: skip
def parse(call: EndpointCall) -> dict[str, Any]:
    if not call.ctx.actor.may(CREATE_TICKETS):
        raise Forbidden(f"you may not create tickets; ask for a role with {CREATE_TICKETS}")
    found = mailroom.receive(call.ctx, call.params.raw("message", required=True))
    return {"id": found.ticket_id, "mask": found.mask, "last_message_id": found.message_id}
