"""The pages of records, at the addresses that the API tells: what somebody may read of one. Source: Records,
`record_url`; the pages are ours."""

import re
from urllib.parse import unquote

from console import record_parts, sheet
from console.page_response import PageResponse, see
from console.pages.jump import place_of
from console.rendering import render
from console.routes import page
from console.sheet import Sheet
from console.visit import Visit
from server.desk import records
from server.digits import id_in
from server.errors import NotFound
from server.outbox import delivery
from server.outbox.delivery import Delivery
from server.records.shared import paths
from server.tickets import masks
from server.translation import _

TICKET, FILE = "ticket", "attachment"
MAX_TEXT_CHARS = 200_000  # of a text
# Types whose page shows a text that is asked for by name.
TEXT_KEYS = {"message": "content", "draft": "content"}
_NUMBER = re.compile(r"([0-9]{1,19})(?:-|\Z)")


@page("GET", "/records/{type}/{id}")
def show(visit: Visit) -> PageResponse:
    """A record of any type, for who may read it; a ticket has a page of its own. Raises NotFound, Forbidden."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if record_type.uri == TICKET:
        return _to(visit, paths.ticket(records.retrieve(visit.ctx, TICKET, visit.id)["mask"]))
    text_key = TEXT_KEYS.get(record_type.uri, "")
    found = sheet.sheet(visit.ctx, record_type.uri, visit.id, *([text_key] if text_key else []))
    own_file = sheet.file(found.keys) if record_type.uri == FILE else None
    return render(
        visit, "record.html", found=found, ways=_ways(visit, found), text=found.keys.get(text_key, ""),
        own_file=own_file, waiting=_waiting(visit, found), most=MAX_TEXT_CHARS, parts=record_parts,
    )  # fmt: skip


@page("GET", "/profiles/{type}/{rest}")
def former(visit: Visit) -> PageResponse:
    """The addresses that scripts of this family know: a mask, or an id with or without a name behind it; the name of a
    part of the page may follow. Raises NotFound."""
    uri = visit.service.registry.type(visit.arguments["type"]).uri
    name = unquote(visit.arguments["rest"].partition("/")[0])
    number = _NUMBER.match(name)
    id = id_in(number[1]) if number else None
    if uri == TICKET and (id is None or masks.ticket_id(visit.ctx, name) is not None):
        return _to(visit, paths.ticket(name))
    if id is None:
        raise NotFound(_("'{name}' is not a record id", name=name[:50]))
    return _to(visit, paths.record(uri, id))


def _waiting(visit: Visit, found: Sheet) -> Delivery | None:
    """What has become of the mail of a message or a draft that has not left."""
    if found.type.uri == "draft":
        told = delivery.of_draft(visit.ctx, found.id)
        return told if told.draft_id else None
    listed = delivery.of_ticket(visit.ctx, found.keys["ticket_id"]) if found.type.uri == "message" else []
    return next((each for each in listed if each.message_id == found.id), None)


def _ways(visit: Visit, found: Sheet) -> dict[str, str]:
    """{edit, delete: path}, "" where who asks may not."""
    uri, id = found.type.uri, found.id
    own = place_of(visit, uri, id)
    if own:
        return {"edit": own, "delete": ""}
    ways = {"edit": "update", "delete": "delete"}
    return {way: f"/records/{uri}/{id}/{way}" if records.may(visit.ctx, uri, operation, id) else ""
            for way, operation in ways.items()}  # fmt: skip


def _to(visit: Visit, path: str) -> PageResponse:
    """On to another path with what the address asks for."""
    return see(f"{path}?{visit.request.query}" if visit.request.query else path)
