"""The change log, as a page or as a stream."""

from typing import Any
from urllib.parse import urlencode

from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import Invalid, ScopeDenied, nearest
from server.record_types.registry import Registry
from server.record_types.shared.scopes import Scope
from server.records import changes, scoped_types
from server.records.records import reading, require_thread
from server.web.endpoint_call import EndpointCall, Feed, News, Response
from server.web.openapi import shapes
from server.web.openapi.shapes import Success
from server.web.routes import Parameter, endpoint
from server.web.streams import LAST_ID, MEDIA_TYPE, wants_events

LIMIT, MOST = 100, 500
MANY_ENDPOINTS = 20  # endpoints of scopes; each is compared with the paths of all types
CHANGE = shapes.keys(
    type=shapes.TEXT, id=shapes.ID, event={"type": "string", "enum": ["created", "updated", "deleted"]}, at=shapes.TIME
)


@dataclass(frozen=True)
class WantedTypes:
    """The requested types, all if none is given, limited to those that the token's scopes allow to read."""

    asked: frozenset[str]
    registry: Registry
    scopes: tuple[Scope, ...]

    @property
    def uris(self) -> frozenset[str]:
        """Returns the current types: administrators create further ones."""
        readable = scoped_types.readable(self.registry, self.scopes)
        return readable & self.asked if self.asked else readable


@endpoint(
    "GET", "changes", f"List changed records, in order, without their values; as a stream with Accept: {MEDIA_TYPE}.",
    "read",
    Parameter("since", "integer", "The cursor of an earlier response. Without it: no changes, and the current cursor."),
    Parameter("since_time", "time", "Instead of since: changes made at this time or later."),
    Parameter("types", "string", "Only of these record types, separated by commas, such as ticket,message."),
    Parameter("limit", "integer", f"Changes to read for a page, 1 to {MOST}; {LIMIT} when omitted."),
    Parameter(LAST_ID, "integer", "Where a stream continues; overrides since.", place="header"),
    response=(
        Success(shapes.keys(
            results=shapes.list_of(CHANGE), count=shapes.COUNT, limit=shapes.COUNT, cursor=shapes.ID,
            more=shapes.BOOLEAN,
        ), headers={"Link": "The same request from the cursor of this response on, as rel=next."}, also=MEDIA_TYPE),
    ),
    may_fail=(410,),
)  # fmt: skip
def list_changes(call: EndpointCall) -> dict[str, Any] | Response:
    wanted = _wanted(call, call.params.text("types", ""))
    if wants_events(call.headers.get("Accept", "")):
        return _follow(call, wanted)
    cursor, limit = _since(call), call.params.integer("limit", LIMIT, 1, MOST)
    if cursor is None:
        page = changes.ChangePage([], reading(call.ctx, changes.now), False)
    else:
        page = reading(call.ctx, lambda tx: changes.page(call.ctx, tx, cursor, limit, wanted.uris))
    payload = {
        "results": [each.shown() for each in page.changes],
        "count": len(page.changes),
        "limit": limit,
        "cursor": page.cursor,
        "more": page.has_more,
    }
    types = call.params.text("types", "")
    query = urlencode({"since": page.cursor, "limit": limit} | ({"types": types} if types else {}))
    return Response(payload, headers={"Link": f'</rest/changes.json?{query}>; rel="next"'})


def _follow(call: EndpointCall, wanted: WantedTypes) -> Response:
    """Streams changes from a cursor or from now on. Raises Gone."""
    sent = call.headers.get(LAST_ID, "")
    cursor = cursor_in(sent, LAST_ID) if sent else _since(call)
    if cursor is None:
        cursor = reading(call.ctx, changes.now)
    else:
        reading(call.ctx, lambda tx: changes.require_retained(tx, cursor))

    def news(ctx: Context, cursor: int) -> News:
        page = reading(ctx, lambda tx: changes.page(ctx, tx, cursor, MOST, wanted.uris))
        return News([(each.cursor, each.shown()) for each in page.changes], page.cursor, page.has_more)

    return Response(content_type=MEDIA_TYPE, feed=Feed(changes.CHANNEL, wanted.asked, cursor, news))


def _since(call: EndpointCall) -> int | None:
    """Returns the first cursor, None for now. Raises Invalid, Gone."""
    cursor, seconds = cursor_in(call.params.text("since", "")), call.time("since_time")
    if seconds is None:
        return cursor
    if cursor is not None:
        raise Invalid("since_time: send either since or since_time", field="since_time")
    return reading(call.ctx, lambda tx: changes.cursor_at(tx, seconds))


def cursor_in(text: str, name: str = "since") -> int | None:
    """Returns the cursor of the request, None if absent. Raises Invalid."""
    if not text:
        return None
    cursor = id_in(text)
    if cursor is None:
        raise Invalid(f"{name}: '{text[:50]}' is not a cursor; send the one from an earlier response", field=name)
    return cursor


def _wanted(call: EndpointCall, types: str) -> WantedTypes:
    """Raises Invalid, ScopeDenied."""
    registry = call.ctx.service.registry
    if sum(len(each.endpoints) for each in call.scopes) > MANY_ENDPOINTS:
        require_thread(call.ctx)
    readable = scoped_types.readable(registry, call.scopes)
    uris = frozenset(_asked(registry, name, readable) for name in map(str.strip, types.split(",")) if name)
    return WantedTypes(uris, registry, call.scopes)


def _asked(registry: Registry, name: str, seen: frozenset[str]) -> str:
    record_type = registry.find(name)
    if record_type is None:
        raise Invalid(f"types: there is no record type '{name[:50]}'{nearest(name, registry.uris())}", field="types")
    if not changes.is_logged(record_type):
        raise Invalid(f"types: changes of {record_type.label_names[1].lower()} are not stored", field="types")
    if record_type.uri not in seen:
        raise ScopeDenied(f"types: the token's scopes do not let records of {record_type.uri} be read")
    return record_type.uri
