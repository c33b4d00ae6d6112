"""The endpoints of users and groups, and those that describe them. Follows RFC 7644, sections 3 and 4."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import HelpdeskError, Malformed, NotFound, NotOffered, PreconditionFailed, UnsupportedMedia
from server.sign_in import provisioned_groups, provisioned_users
from server.web.endpoint_call import Response
from server.web.json_text import decode_json
from server.web.params import Params, decode_query
from server.web.scim import filters, scim_bodies
from server.web.scim.schemas import GROUPS, LIST, MAX_RESULTS, USERS, ResourceType, documents
from server.web.scim.scim_bodies import Resource
from server.web.scim.scim_errors import ScimInvalid
from server.web.site import Request, content_type

PREFIX = "/scim/v2/"
MEDIA_TYPE = "application/scim+json"
HELP = "/help/provisioning"
BODY_TYPES = (MEDIA_TYPE, "application/json", "")
NOT_THERE = ("Bulk", "Me", ".search", "Users/.search", "Groups/.search")  # parts of the protocol that are optional
ALLOWED = {False: "GET, POST", True: "DELETE, GET, PATCH, PUT"}  # methods of collections and of single resources


@dataclass(frozen=True, slots=True)
class _Store:
    """The functions on one type of resource."""

    type: ResourceType
    get: Callable[..., Resource]
    page: Callable[..., tuple[list[Resource], int]]
    matching: Callable[..., list[Resource]]
    create: Callable[[Context, Resource], Resource]
    update: Callable[[Context, int, Callable[[Resource], Resource]], Resource]
    remove: Callable[[Context, int, Callable[[Resource], object]], None]


_STORES = {
    "users": _Store(
        USERS,
        provisioned_users.get,
        provisioned_users.page,
        provisioned_users.matching,
        provisioned_users.create,
        provisioned_users.update,
        provisioned_users.remove,
    ),
    "groups": _Store(
        GROUPS,
        provisioned_groups.get,
        provisioned_groups.page,
        provisioned_groups.matching,
        provisioned_groups.create,
        provisioned_groups.update,
        provisioned_groups.remove,
    ),
}


@dataclass(frozen=True, slots=True)
class _Projection:
    """The attributes that a response has. names: in lower case, with sub-attributes as name.givenname. is_exclusive:
    whether these are left out, in place of all others."""

    names: frozenset[str]
    is_exclusive: bool

    def includes(self, attribute: str, sub: str = "") -> bool:
        whole, part = attribute.lower(), f"{attribute}.{sub}".lower()
        if self.is_exclusive:
            return whole not in self.names and part not in self.names
        return whole in self.names or part in self.names

    def names_part_of(self, attribute: str) -> bool:
        """Whether only some sub-attributes of an attribute are named."""
        return any(name.startswith(f"{attribute.lower()}.") for name in self.names)


def respond(ctx: Context, request: Request) -> Response:
    """Returns the response to a request of a provider. Raises any HelpdeskError."""
    path = request.path.removeprefix(PREFIX).strip("/")
    if path in NOT_THERE:
        raise NotOffered(f"{path} is not supported; see ServiceProviderConfig", status=501)
    kind, _, rest = path.partition("/")
    store = _STORES.get(kind.lower())
    if store is None:
        return _described(ctx, request, path)
    request.route = PREFIX + kind
    query = Params(decode_query(request.query) if request.query else {})
    if not rest:
        return _collection(ctx, request, store, query)
    id = id_in(rest)
    if id is None:
        raise NotFound(f"there is no {store.type.name.lower()} {rest[:60]}")
    return _single(ctx, request, store, id, query)


def _collection(ctx: Context, request: Request, store: _Store, query: Params) -> Response:
    if request.method in ("GET", "HEAD"):
        return _listed(ctx, store, query)
    if request.method != "POST":
        raise _not_offered(request, is_one=False)
    created = store.create(ctx, scim_bodies.canonical(_body(request), store.type))
    return _shown(ctx, store, created, _projection(query, store.type), 201)


def _single(ctx: Context, request: Request, store: _Store, id: int, query: Params) -> Response:
    projection = _projection(query, store.type)
    method = request.method
    if method in ("GET", "HEAD"):
        if store.type is GROUPS and not projection.includes("members"):
            resource = store.get(ctx, id, with_members=False)
        else:
            resource = store.get(ctx, id)
        return _shown(ctx, store, resource, projection, known=request.headers.get("If-None-Match", ""))
    tag = request.headers.get("If-Match", "")

    def check(resource: Resource) -> Resource:
        """Raises PreconditionFailed if the resource has changed since the client read it."""
        if tag and tag != "*" and _opaque(version(resource)) not in {_opaque(each) for each in tag.split(",")}:
            raise PreconditionFailed(f"the {store.type.name.lower()} has changed since you read it; read it again")
        return resource

    if method == "DELETE":
        store.remove(ctx, id, check)
        return Response(status=204)
    if method == "PUT":
        sent = scim_bodies.canonical(_body(request), store.type)
        return _shown(ctx, store, store.update(ctx, id, lambda before: check(before) and sent), projection)
    if method == "PATCH":
        changes = scim_bodies.operations(_body(request), store.type)
        changed = store.update(ctx, id, lambda before: scim_bodies.apply(check(before), changes, store.type))
        if store.type is GROUPS and "attributes" not in query:
            return Response(status=204)  # the members of a group may be many
        return _shown(ctx, store, changed, projection)
    raise _not_offered(request, is_one=True)


def _listed(ctx: Context, store: _Store, query: Params) -> Response:
    projection, text = _projection(query, store.type), query.text("filter", "")
    start, count = max(_whole(query, "startIndex", 1), 1), min(max(_whole(query, "count", MAX_RESULTS), 0), MAX_RESULTS)
    if text:
        wanted = filters.parse_filter(text, store.type)
        resources = store.matching(ctx, filters.equalities(wanted), lambda each: filters.matches(wanted, each))
        total, resources = len(resources), resources[start - 1 : start - 1 + count]
    elif store.type is GROUPS:
        resources, total = store.page(ctx, start - 1, count, with_members=projection.includes("members"))
    else:
        resources, total = store.page(ctx, start - 1, count)
    return _json(
        {
            "schemas": [LIST],
            "totalResults": total,
            "startIndex": start,
            "itemsPerPage": len(resources),
            "Resources": [_projected(ctx, store.type, each, projection) for each in resources],
        }
    )


def _described(ctx: Context, request: Request, path: str) -> Response:
    """A discovery document. Follows RFC 7644, section 4."""
    base = ctx.service.base_url
    found = dict(documents(base + PREFIX.rstrip("/"), base + HELP))
    document = found.get(path)
    if document is None:
        raise NotFound(f"there is nothing at {request.path[:200]}")
    if request.method not in ("GET", "HEAD"):
        raise NotOffered(f"{request.method[:20]} is not allowed here; use GET", allow="GET")
    if "filter=" in request.query:  # RFC 7644, section 4
        raise NotOffered("this endpoint has no filter", status=403)
    if isinstance(document, list):
        number = len(document)
        listing = {"schemas": [LIST], "totalResults": number, "startIndex": 1, "itemsPerPage": number}
        return _json({**listing, "Resources": document})
    return _json(document)


def version(resource: Resource) -> str:
    """Returns the entity tag of a resource: a digest of all its attributes."""
    text = json.dumps({name: value for name, value in resource.items() if name != "meta"}, sort_keys=True)
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def _shown(
    ctx: Context, store: _Store, resource: Resource, projection: _Projection, status: int = 200, known: str = ""
) -> Response:
    """The response with one resource. known: the entity tags that the client has."""
    tag, location = version(resource), _location(ctx, store.type, resource["id"])
    headers = {"ETag": tag} | ({"Location": location} if status == 201 else {})
    if known and (known == "*" or _opaque(tag) in {_opaque(each) for each in known.split(",")}):
        return Response(status=304, headers=headers)
    return _json(_projected(ctx, store.type, resource, projection), status, headers)


def _projected(ctx: Context, of: ResourceType, resource: Resource, projection: _Projection) -> Resource:
    """The resource with its addresses, and the wanted attributes. Schemas and id are always there."""
    references = {"groups": GROUPS, "members": USERS}
    shown: Resource = {"schemas": resource["schemas"], "id": resource["id"]}
    for name, value in resource.items():
        if name in shown or (not projection.includes(name) and not projection.names_part_of(name)):
            continue
        if name in references:
            value = [{**each, "$ref": _location(ctx, references[name], each["value"])} for each in value]
        if name == "meta":
            value = {**value, "location": _location(ctx, of, resource["id"]), "version": version(resource)}
        if projection.names_part_of(name):
            value = _parts(name, value, projection)
        if value not in ({}, []):
            shown[name] = value
    return shown


def _parts(name: str, value: Any, projection: _Projection) -> Any:
    """The wanted sub-attributes of a value."""
    if isinstance(value, list):
        return [part for each in value if (part := _parts(name, each, projection))]
    return {sub: each for sub, each in value.items() if projection.includes(name, sub)}


def _projection(query: Params, of: ResourceType) -> _Projection:
    """The attributes that a request wants. Raises ScimInvalid if it names both kinds."""
    wanted, unwanted = query.text("attributes", ""), query.text("excludedAttributes", "")
    if wanted and unwanted:
        raise ScimInvalid("invalidValue", "send attributes or excludedAttributes, not both")
    prefix = f"{of.schema}:".lower()
    names = {each.strip().lower().removeprefix(prefix) for each in (wanted or unwanted).split(",")} - {""}
    return _Projection(frozenset(names), not wanted)


def _body(request: Request) -> Mapping[str, Any]:
    """The JSON object of a request. Raises UnsupportedMedia, Malformed."""
    if content_type(request) not in BODY_TYPES:
        raise UnsupportedMedia(f"send the body as {MEDIA_TYPE}")
    if not request.body:
        raise Malformed("the request has no body; send a JSON object")
    return decode_json(request.body)


def _whole(query: Params, name: str, default: int) -> int:
    text = query.text(name, "").strip()
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 9:
        raise ScimInvalid("invalidValue", f"{name} must be a whole number")
    return int(text)


def _location(ctx: Context, of: ResourceType, id: str) -> str:
    return f"{ctx.service.base_url}{PREFIX}{of.path}/{quote(id)}"


def _opaque(tag: str) -> str:
    """An entity tag for the weak comparison. Follows RFC 9110, section 8.8.3.2."""
    return tag.strip().removeprefix("W/")


def _not_offered(request: Request, *, is_one: bool) -> HelpdeskError:
    return NotOffered(f"{request.method[:20]} is not allowed here; use {ALLOWED[is_one]}", allow=ALLOWED[is_one])


def _json(payload: Mapping[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(payload, ensure_ascii=False).encode()
    return Response(status=status, headers=headers or {}, body=body, content_type=MEDIA_TYPE)
