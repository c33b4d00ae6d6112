"""The REST API as a site: finds the endpoint and the caller of a request, checks the scope, and decodes the
parameters."""

import dataclasses
import re
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from server import clock, times
from server.access import tokens
from server.access.actor import Actor, kept_to_own
from server.access.tokens import Grant
from server.context import Context, ScopeLimit, Service
from server.dataclass import dataclass
from server.errors import (
    Forbidden,
    HelpdeskError,
    Malformed,
    NotAuthenticated,
    NotFound,
    NotOffered,
    ScopeDenied,
    TooLarge,
    nearest,
)
from server.record_types.shared.scopes import reaches_own_only
from server.record_types.shared.usage_buffer import usage_buffer
from server.records import scoped_types
from server.store.database import NotOnWriter
from server.web import cors, idempotency
from server.web.endpoint_call import EndpointCall, InnerCall, InnerRequest, Response
from server.web.packed import HEADER, packing_of, unpacked
from server.web.params import (
    NAME_CHARS,
    Params,
    Raw,
    Tree,
    decode_form,
    decode_json,
    decode_multipart,
    decode_query,
    merge,
)
from server.web.rate import RateLimiter
from server.web.routes import ENDPOINTS, Endpoint, Router
from server.web.site import FORM_TYPES, Request, Site, content_type, unsupported
from server.web.streams import Follower

Result = TypeVar("Result")

PREFIX, ENDING = "/rest/", ".json"
WORKERS = (
    "/rest/batch",
    "/rest/records/worker",
    "/rest/workers",
    "/rest/packages",
)  # requests with a password are slow
BIG_BODY_BYTES = 64 * 1024  # a larger body is decoded on a thread
SMALL_BODY_BYTES = 16 * 1024  # a smaller request may run on the writer itself
AT_ONCE_SECONDS = 0.002  # largest gap between head and body, without another request in between
FORM_OVERHEAD = 3  # a urlencoded byte may need three
# Pages of 100 records or more take longer than the event loop may be held, however few steps they need. What counting
# takes shows when it begins: see counting/combinations.py.
_STRICT = re.compile(r'(?:^|,)\s*handling\s*=\s*"?strict"?\s*(?:$|[,;])', re.IGNORECASE)
_BIG_ANSWER = re.compile(r"limit(?:=|:|%3[Aa])[0-9]{3}")


@dataclass(frozen=True, slots=True)
class RestTarget:
    """The target of a request's path. method: GET for HEAD. below: the path that endpoints are matched with, "" if
    malformed. endpoints: {method: endpoint}, {} for an unknown path."""

    method: str
    below: str
    endpoints: dict[str, Endpoint]
    arguments: dict[str, str]

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint of the method."""
        return self.endpoints.get(self.method)

    @property
    def allow(self) -> str:
        """The methods that are offered."""
        with_head = {"HEAD"} if "GET" in self.endpoints else set()
        return ", ".join(sorted({*self.endpoints, *with_head, "OPTIONS"}))


class RestSite(Site):
    """Everything under /rest/."""

    packs = True

    def __init__(self, service: Service) -> None:
        self.service = service
        self.router = Router(ENDPOINTS)
        settings = service.settings
        self.limits = {
            "body": settings.max_body_bytes,
            "mail": settings.max_mail_bytes * FORM_OVERHEAD + BIG_BODY_BYTES,
            "file": settings.max_attachment_bytes * FORM_OVERHEAD + BIG_BODY_BYTES,
        }
        self.is_strict = settings.strict_requests
        self.rate = RateLimiter(settings.rate_limit_per_minute, "with one token", service)

    def resolve(self, request: Request) -> RestTarget:
        below = _below(request.path) or ""
        endpoints, arguments = self.router.find(below)
        method = "GET" if request.method == "HEAD" else request.method
        return RestTarget(method, below, endpoints, arguments)

    def limit(self, request: Request) -> int:
        each = _target(request).endpoint
        return self.limits[each.size] if each else self.limits["body"]

    def admit(self, request: Request) -> Response | None:
        """Refuses a request without a valid token or sufficient scopes before its body is sent. Called again when the
        body has arrived, since tokens expire."""
        if self.service.store.reads_wait and (expected := self._expected(request)) is not None:
            self._endpoint(request, expected)
        else:
            grant = self._grant(request, clock.now())
            request.admitted = time.perf_counter(), grant, self._endpoint(request, grant)
        return None

    def looks(self, request: Request) -> bool:
        return self._expected(request) is None

    def hashes(self, request: Request) -> bool:
        return request.path.startswith(WORKERS) and b"password" in request.body

    def inline(self, request: Request) -> bool:
        each = _target(request).endpoint
        if each is None:
            return True
        is_small = len(request.body) < BIG_BODY_BYTES and not _is_packed(request)
        return each.mode == "read" and is_small and not _BIG_ANSWER.search(request.query)

    def respond(self, request: Request, steps: int | None) -> Response:
        preflight = cors.preflight(self.service, request)
        if preflight is not None:
            return preflight
        if steps is None:
            return self._run(*self._call(request, None))
        # On the event loop: one snapshot for the caller and the data.
        return self.service.store.read_together(lambda: self._run(*self._call(request, steps)), steps)

    def writing(self, request: Request) -> Callable[[], Response] | None:
        """Returns the work of a small write. Caller and parameters are determined here; the endpoint, or the work that
        it returns, runs on the writer."""
        each = _target(request).endpoint
        if each is None or each.mode != "small write" or len(request.body) > SMALL_BODY_BYTES or _is_packed(request):
            return None
        if self.service.store.reads_wait:
            return self._writing_unseen(request) if each.ready is None else None
        each, call = self._call(request, None)
        if each.ready is not None:
            if idempotency.HEADER in request.headers:  # the prepared work is reused
                return None
            work = _noting(call, partial(each.ready, call))
            return None if work is None else lambda: _response_of(call, work)
        if not each.is_small(call):
            return None
        return lambda: self._run(each, call)

    def _writing_unseen(self, request: Request) -> Callable[[], Response] | None:
        """Like writing(), if the event loop may not read the caller: a token that was valid recently is assumed to be
        valid, and the writer checks it."""
        store, grant = self.service.store, self._expected(request)
        if grant is None:
            return None
        self._count(grant, request)
        token = bearer(request)

        def write() -> Response:
            cors.allow_origin(self.service, request)
            if not store.read(lambda tx: tokens.is_as_expected(tx, token, grant)):
                raise NotOnWriter("what the token may has changed; it is read again first")
            each, call = self._call(request, None)
            if not each.is_small(call):
                raise NotOnWriter("what was sent costs time before the write")
            return self._run(each, call)

        return write

    def follower(self, request: Request) -> Follower:
        """Returns the owner of the token, while it is valid for the endpoint and grants at least the initial rights."""
        first = self._grant(request, clock.now())

        def context() -> Context:
            now = clock.now()
            grant = self._grant(request, now)
            self._endpoint(request, grant)
            if _rights(grant) != _rights(first):
                raise Forbidden("your permissions have changed; connect again")
            return self._context(grant, request, now, None)

        return Follower((first.token_id, _rights(first)), first.actor.worker_id, context)

    def _call(self, request: Request, steps: int | None) -> tuple[Endpoint, EndpointCall]:
        """Returns the endpoint and the call of a request. Raises NotAuthenticated, NotFound, ScopeDenied,
        NotOffered."""
        now = clock.now()
        grant, each = self._admitted(request, now)
        target = _target(request)
        usage_buffer(self.service.store).saw(grant.actor.worker_id, now, grant.token_id, request.client)
        ctx = self._context(grant, request, now, steps)
        if each is _OPTIONS:
            return each, EndpointCall(ctx, target.allow, {}, Params({}), request.headers)
        params = Params(parameters(request, each, self.limit(request)), self.is_strict or _prefers_strict(request))
        report_unknown(params, each)
        call = EndpointCall(
            ctx,
            target.method,
            target.arguments,
            params,
            request.headers,
            grant.scopes,
            grant.app_id,
            request.path,
            partial(self._inner, request, grant, ctx),
        )
        return each, call

    def _inner(self, request: Request, grant: Grant, ctx: Context, asked: InnerRequest) -> InnerCall:
        """Prepares a request inside another one. Raises the errors of _call(), and TooMany."""
        if self.rate.limit:
            self.rate.count(grant.token_id, time.time())
        below = _below(asked.path) or ""
        endpoints, arguments = self.router.find(below)
        each = _offered(RestTarget(asked.method, below, endpoints, arguments), grant, asked.path)
        if each.asks_inner:
            raise NotOffered("a batch cannot contain a batch")
        actor, limit = self._reach(grant, asked.method, below)
        ctx = dataclasses.replace(ctx, actor=actor, limit=limit)
        params = Params(asked.params, self.is_strict or _prefers_strict(asked))
        report_unknown(params, each)
        call = EndpointCall(ctx, asked.method, arguments, params, asked.headers, grant.scopes, grant.app_id, asked.path)
        is_small = each.mode == "small write" and each.ready is None and each.is_small(call)
        return InnerCall(asked.path, is_small, partial(self._run, each, call))

    def _admitted(self, request: Request, now: int) -> tuple[Grant, Endpoint]:
        """Returns the caller and the endpoint, and counts the request; reuses the result if the body came with the
        head."""
        if request.admitted is not None:
            at, grant, each = request.admitted
            if time.perf_counter() - at < AT_ONCE_SECONDS:
                self._count(grant, request)
                return grant, each
        grant = self._grant(request, now)
        self._count(grant, request)
        return grant, self._endpoint(request, grant)

    def _expected(self, request: Request) -> Grant | None:
        """Returns the grant of the token when it was last read; None if it is unknown. Raises NotAuthenticated."""
        return tokens.expected(self.service.store, bearer(request), clock.now())

    def _grant(self, request: Request, now: int) -> Grant:
        cors.allow_origin(self.service, request)
        return self.service.store.read(lambda tx: tokens.check(tx, bearer(request), now))

    def _endpoint(self, request: Request, grant: Grant) -> Endpoint:
        """Returns the endpoint, which the grant must allow. Raises the errors of _call()."""
        target = _target(request)
        if request.method == "OPTIONS" and target.endpoints:
            return _OPTIONS
        if target.endpoints:
            request.route = (target.endpoint or next(iter(target.endpoints.values()))).path
        return _offered(target, grant, request.path)

    def _context(self, grant: Grant, request: Request, now: int, steps: int | None) -> Context:
        zone = times.zone(grant.actor.timezone or "UTC")
        actor, limit = self._reach(grant, request.method, _below(request.path) or "")
        return Context(self.service, actor, now, zone, request_id=request.id, steps=steps, limit=limit)

    def _reach(self, grant: Grant, method: str, below: str) -> tuple[Actor, ScopeLimit | None]:
        """Returns the actor of a request, with the other types that the scopes allow it to read."""
        is_own = reaches_own_only(grant.scopes, method, below)
        limit = scoped_types.limit_of(self.service.registry, grant.scopes, is_own=is_own)
        return kept_to_own(grant.actor) if is_own else grant.actor, limit

    def _run(self, each: Endpoint, call: EndpointCall) -> Response:
        def work() -> Response:
            return _response_of(call, partial(each.function, call))

        keyed = idempotency.keyed(each, call)
        return work() if keyed is None else idempotency.once(self.service.store, call.ctx.now, keyed, work)

    def _count(self, grant: Grant, request: Request) -> None:
        """Applies the rate limit, if set: requests of a token in each minute of the clock. A request that starts again
        on a thread counts once."""
        if request.is_counted or not self.rate.limit:
            return
        request.is_counted = True
        left, now = 0, time.time()
        try:
            left = self.rate.count(grant.token_id, now)
        finally:
            request.told |= self.rate.headers(left, now)


def _offered(target: RestTarget, grant: Grant, path: str) -> Endpoint:
    """Returns the endpoint at a path, which the grant must allow. Raises NotFound, NotOffered, ScopeDenied."""
    if not target.endpoints:
        raise NotFound(f"there is no endpoint {path[:200]}; paths end in .json")
    each = target.endpoint
    if each is None:  # checked before the scopes, which support only five methods
        allow = target.allow
        raise NotOffered(f"{target.method} is not allowed at {path[:200]}; use {allow}", allow=allow)
    if not each.asks_inner:
        _require_scope(grant, target.method, target.below)
    return each


def _rights(grant: Grant) -> tuple[Hashable, ...]:
    """Returns the rights of a token."""
    return (*grant.actor.reading, grant.scopes)


def _options(call: EndpointCall) -> Response:
    return Response(status=204, headers={"Allow": call.method})


_OPTIONS = Endpoint("OPTIONS", "", _options, "The methods of a path.", "read")


def bearer(request: Request) -> str:
    """Returns the token of the Authorization header, the only accepted place. Raises NotAuthenticated."""
    headers = request.headers.get_list("Authorization")
    if not headers:
        raise NotAuthenticated("send a token: Authorization: Bearer <access token>")
    scheme, _, token = headers[0].strip().partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer":
        if len(headers) == 1 and scheme and token:
            raise NotAuthenticated("send a token: Authorization: Bearer <access token>")
        raise NotAuthenticated("the Authorization header is malformed", reason="invalid_request")
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise NotAuthenticated("the Authorization header is malformed", reason="invalid_request")
    return token


def parameters(request: Request, each: Endpoint, most: int) -> Tree:
    """Returns the parameters of query string and body; the body wins on the same name. most: bytes of an unpacked
    body."""
    query = decode_query(request.query) if request.query else {}
    if request.method in ("GET", "HEAD", "DELETE") or not request.body:
        return query
    body = unpacked(request.body, packing_of(request.headers), most)
    if each.text_body:
        return merge(query, _text_body(request, body, each))
    return merge(query, _odd_body(request, body, each) if _is_odd(request) else _body(request, body))


def report_unknown(params: Params, each: Endpoint) -> None:
    """Adds notes about parameters that an endpoint does not have."""
    for name in params.tree:
        if not each.takes(name):
            near = nearest(name, (known for known in each.names if "*" not in known))
            params.note(name, f"'{name[:NAME_CHARS]}' is not a parameter of {each.method} /rest/{each.path}.json{near}")


def _prefers_strict(request: Request | InnerRequest | EndpointCall) -> bool:
    """Whether the client prefers strict handling: `Prefer: handling=strict` (RFC 7240, section 4.4)."""
    return _STRICT.search(request.headers.get("Prefer", "")) is not None


def _noting(call: EndpointCall, work: Callable[[], Result]) -> Result:
    """Returns the result of the work; adds the notes of the call to an error."""
    try:
        return work()
    except HelpdeskError as error:
        if call.params.notes:
            error.details["notes"] = call.params.notes
        raise


def _response_of(call: EndpointCall, work: Callable[[], dict[str, Any] | Response]) -> Response:
    """Returns the response to the result of the work, with the notes of the call."""
    found = _noting(call, work)
    response = found if isinstance(found, Response) else Response(found)
    limit = call.ctx.limit
    if limit is not None and limit.left_out:
        call.params.notes.append(f"the token's scopes do not cover {', '.join(sorted(limit.left_out))}; left out")
    response.notes = call.params.notes
    if call.params.is_strict and _prefers_strict(call):
        response.headers = response.headers | {"Preference-Applied": "handling=strict"}
    return response


def _is_packed(request: Request) -> bool:
    return bool(request.body) and HEADER in request.headers


def _is_odd(request: Request) -> bool:
    """Whether the body has an unsupported type, and a method with which simple clients send forms without naming a
    type."""
    return request.method in ("PUT", "PATCH") and content_type(request) not in ("", *FORM_TYPES)


def _odd_body(request: Request, body: bytes, each: Endpoint) -> Tree:
    """Decodes a form of another type, if it has a parameter of its endpoint. Raises UnsupportedMedia otherwise."""
    try:
        tree = decode_form(body)
    except (Malformed, TooLarge):
        tree = {}
    if each.names.isdisjoint(tree):
        raise unsupported(content_type(request))
    return tree


def _text_body(request: Request, body: bytes, each: Endpoint) -> Tree:
    """Returns the whole body as one parameter, unless it is JSON or a form with a parameter of the endpoint."""
    kind = content_type(request)
    if kind in ("application/json", "multipart/form-data"):
        return _body(request, body)
    if kind not in ("", "application/x-www-form-urlencoded", "text/plain", "application/octet-stream"):
        raise unsupported(kind)
    # By default, clients declare plain text as a form, too.
    is_form = kind == "application/x-www-form-urlencoded" and any(
        f"&{name}=".encode() in b"&" + body for name in each.names
    )
    return _body(request, body) if is_form else {each.text_body: Raw(body)}


def _body(request: Request, body: bytes) -> Tree:
    kind = content_type(request)
    if kind == "application/json":
        return decode_json(body)
    if kind == "multipart/form-data":
        return decode_multipart(body, request.headers.get("Content-Type", ""))
    if kind in ("", "application/x-www-form-urlencoded"):
        return decode_form(body)
    raise unsupported(kind)


def _below(path: str) -> str | None:
    """Returns the path that endpoints are matched with; None if it is malformed."""
    rest = path[len(PREFIX) :].replace("%20", " ")  # some names of record types contain spaces; nothing else is escaped
    if rest.endswith("/") and not rest.endswith("//"):
        rest = rest[:-1]
    if not rest.endswith(ENDING) or "%" in rest or "\x00" in rest:
        return None
    return rest[: -len(ENDING)]


def _target(request: Request) -> RestTarget:
    target: RestTarget = request.found
    return target


def _require_scope(grant: Grant, method: str, below: str) -> None:
    for scope in grant.scopes:
        if scope.allows(method, below):
            return
    would = next((scope.id for scope in grant.app_scopes if scope.allows(method, below)), "")
    names = " ".join(scope.id for scope in grant.scopes) or "(none)"
    missing = f"; the scope '{would}' does" if would else ""
    raise ScopeDenied(f"the token's scopes ({names}) do not cover {method} {below}{missing}", scope=would)
