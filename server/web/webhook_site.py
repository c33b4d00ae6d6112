"""The webhook receiver as a site: `/webhooks/<token>`, with any method and any further path, at the hosts of base_url
and webhook_base_url.

automation/webhooks/ decides on the response."""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from server import clock
from server.access.service_actor import own_context
from server.automation.webhooks import received_calls, responding, webhook_tokens
from server.automation.webhooks.location import NOWHERE, WebhookLocation
from server.automation.webhooks.received_calls import MAX_BODY_BYTES
from server.automation.webhooks.responding import FoundListener, WebhookRequest, WebhookResponse
from server.automation.webhooks.response_headers import as_sent
from server.automation.webhooks.secret_requests import withheld
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Malformed, TooLarge, UnsupportedMedia
from server.store.transaction import Transaction
from server.store.writer import Write
from server.web.endpoint_call import Response
from server.web.hosts import host_name
from server.web.packed import HEADER, OFFER, READ, packing_of, unpacked
from server.web.site import Pool, Request, Site
from server.web.webhook_forms import read_form

PREFIX = "/webhooks/"
# Any method that a client may have (RFC 9110, 9), such as PROPFIND or PURGE, but those that are about connections and
# those that echo what browsers keep from scripts.
METHOD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}\Z")
NO_METHODS = frozenset(("CONNECT", "TRACE", "TRACK"))
TEXT = "text/plain; charset=utf-8"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,40}\Z")
# Scripts and style sheets. A page of the console that requests one here is under attack.
RUN = frozenset("audioworklet object paintworklet script serviceworker sharedworker style worker".split())


class WebhookSite(Site):
    """Everything under /webhooks/. No bearer token is read: the address is the secret."""

    is_json = False
    is_apart = True
    share = "webhooks"  # senders need no token, so all their bodies share one part of the memory

    def __init__(self, service: Service) -> None:
        self.service = service
        settings = service.settings
        self.pool = Pool(settings.webhook_threads, settings.request_queue, "webhook")
        self._host = settings.webhook_host

    def limit(self, request: Request) -> int:
        return self.service.settings.max_webhook_bytes

    def resolve(self, request: Request) -> "WebhookTarget":
        token, _, path = request.path[len(PREFIX) :].partition("/")
        place = self._place(request, token)
        return WebhookTarget(token, path, place, _refusal(request, token, place))

    def admit(self, request: Request) -> Response | None:
        """Refuses a request without a listening webhook before its body is sent."""
        target = _target(request)
        if target.refusal is None:
            now = clock.now()
            found = responding.listener(own_context(self.service), target.token)
            if found is not None:
                request.found = replace(target, found=found, found_at=now)
                return None
        return _http_response(target.refusal or WebhookResponse(404), target.place)

    def looks(self, request: Request) -> bool:
        return _target(request).refusal is None

    def respond(self, request: Request, steps: int | None) -> Response:
        target = _target(request)
        if target.refusal is not None:
            return _http_response(target.refusal, target.place)
        try:
            response, write = self._response(request, target)
        except (Malformed, TooLarge) as error:
            return _http_response(_refused(400 if isinstance(error, Malformed) else 413, error.message), target.place)
        return _http_response(response, target.place, write)

    def _response(self, request: Request, target: "WebhookTarget") -> tuple[WebhookResponse, Write | None]:
        headers, body = list(request.headers.get_all()), request.body
        packing = packing_of(request.headers)
        if packing:  # scripts and repeated deliveries get the body unpacked
            body = unpacked(body, packing, self.limit(request))
            headers = [each for each in headers if each[0] not in (HEADER, "Content-Length")]
        received = received_of(
            request.method.upper(), target.path, request.query, headers, body, request.client, place=target.place
        )
        ctx = own_context(self.service, request_id=request.id)
        is_fresh = target.found_at == ctx.now  # otherwise the webhook may have been removed while the body arrived
        return responding.respond(ctx, target.token, received, target.found if is_fresh else None)

    def _place(self, request: Request, token: str) -> WebhookLocation:
        is_apart = self._host != "" and host_name(request.headers.get("Host", "")) == self._host
        base = self.service.settings.webhook_base_url if is_apart else self.service.base_url
        return WebhookLocation.from_url(f"{base}{PREFIX}{token}", is_apart)


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The target of a request. path: after the token. refusal: the response if no webhook is to run. found: result of
    responding.listener at an instant."""

    token: str
    path: str
    place: WebhookLocation
    refusal: WebhookResponse | None
    found: FoundListener | None = None
    found_at: int = 0


def _target(request: Request) -> WebhookTarget:
    target: WebhookTarget = request.found
    return target


def _refusal(request: Request, token: str, place: WebhookLocation) -> WebhookResponse | None:
    if not METHOD.match(request.method) or request.method.upper() in NO_METHODS:
        return WebhookResponse(501)
    if not _TOKEN.match(token) or (not place.is_apart and _is_of_console(request)):
        return WebhookResponse(404)
    try:
        packing_of(request.headers)
    except UnsupportedMedia as error:
        return _refused(415, error.message, {OFFER: READ})
    return None


def _refused(status: int, message: str, headers: dict[str, str] | None = None) -> WebhookResponse:
    return WebhookResponse(status, headers or {}, f"{message}\n".encode(), TEXT)


def _http_response(webhook_response: WebhookResponse, place: WebhookLocation, write: Write | None = None) -> Response:
    response = Response(
        status=webhook_response.status,
        headers=as_sent(webhook_response.headers, place),
        body=webhook_response.body,
        content_type=webhook_response.content_type,
        cookies=webhook_response.cookies,
        write=write,
    )
    if webhook_response.is_failure and write is not None:

        def written(tx: Transaction) -> Any:
            written = write(tx)
            response.body = webhook_response.body  # which names a log entry that this write creates
            return written

        response.write = written
    return response


def _is_of_console(request: Request) -> bool:
    """Whether a page of this host requests the response as a script or style sheet."""
    headers = request.headers
    return headers.get("Sec-Fetch-Site") == "same-origin" and headers.get("Sec-Fetch-Dest") in RUN


def received_of(
    method: str,
    path: str,
    query: str,
    headers: list[tuple[str, str]],
    body: bytes,
    client: str,
    replay_of: int = 0,
    place: WebhookLocation = NOWHERE,
) -> WebhookRequest:
    """Converts a request for automations. path: percent-encoded, after the token."""
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    form = read_form(query, kind, body)
    return WebhookRequest(
        method,
        unquote(path),
        query,
        headers,
        form.params,
        body,
        client,
        replay_of,
        place,
        form.form,
        form.files,
        form.notes,
    )


def replay(ctx: Context, delivery_id: int) -> int:
    """Runs a webhook again with the request of a delivery; returns the id of the new delivery.

    Secrets are sent as received while this process has them in memory, and hidden afterwards. Raises AdminOnly,
    NotFound, and Conflict if the request was too large to be stored completely."""
    ctx.require_admin(received_calls.DOING)
    store = ctx.service.store
    old = store.read(lambda tx: received_calls.row_of(tx, delivery_id))
    if old["size"] > MAX_BODY_BYTES:
        raise Conflict(f"only the first {MAX_BODY_BYTES} bytes of this request were stored; it cannot be replayed")
    listener = store.read(lambda tx: webhook_tokens.require(ctx, tx, old["listener_id"]))
    kept = [(str(name), str(value)) for name, value in json.loads(old["headers"])]
    headers, query, body = withheld(store).request(delivery_id) or (kept, old["query"], old["body"] or b"")
    received = received_of(old["method"], "", query, headers, body, old["client"], old["id"])
    webhook_tokens.log_call(ctx, listener["id"])
    return responding.deliver(ctx, listener, received.at_path(old["path"]))[1]
