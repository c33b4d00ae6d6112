"""Responds to requests to webhooks with the automation bound to the address, and stores both as a delivery.

Deliveries can be inspected and run again. HTTP itself is web/webhook_site.py."""

import json
import time
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from server import contexts
from server.automation import bindings, file_contents
from server.automation.automation_service import ServiceHost, perform, run_counted
from server.automation.bindings import BindingCandidate
from server.automation.engine import RunResult
from server.automation.host import LogEntry
from server.automation.run_dictionary import plain
from server.automation.webhooks.location import NOWHERE, WebhookLocation, for_script
from server.automation.webhooks.received_calls import CHANNEL, MAX_STEPS, WebhookDelivery, keep
from server.automation.webhooks.request_files import KEYS, WebhookFile, described, store_files
from server.automation.webhooks.response_headers import headers_of
from server.automation.webhooks.secret_requests import withheld
from server.automation.webhooks.webhook_tokens import listener_of
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.kata.annotations import as_bytes
from server.record_types.record_type import Record
from server.record_types.shared.triggers import WEBHOOK as TRIGGER
from server.records import metrics
from server.records.metrics.builtin import WEBHOOK_INVOCATIONS
from server.store.transaction import Transaction
from server.store.writer import Write
from server.template.shared.text_values import bytes_of, text_of_bytes
from server.template.values import printed, whole

FILES = ("svc:automation_resource:", "svc:resource:")  # a body with this prefix is a reference to a file
TEXT, JSON = "text/plain; charset=utf-8", "application/json"
ERROR = 3  # level of errors in the automation log; alerts have lower numbers
_NO_BODY = frozenset((204, 205, 304))
SWITCHED_OFF = "the webhook is switched off"
FoundListener = tuple[Record, int]


@dataclass(frozen=True)
class WebhookRequest:
    """A request as received. path: after the token, without a leading slash. headers: [(name, value)] as sent. params:
    of the query string and the form, which takes precedence. replay_of: the delivery that is run again. place: the
    address that was called. form: the same texts under their names as sent; a list for a repeated name. notes: parts
    of the request that could not be parsed."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    params: dict[str, Any]
    body: bytes
    client: str
    replay_of: int = 0
    place: WebhookLocation = NOWHERE
    form: dict[str, Any] = field(default_factory=dict)
    files: tuple[WebhookFile, ...] = ()
    notes: tuple[str, ...] = ()

    def at_path(self, path: str) -> "WebhookRequest":
        """Returns the same request at another path."""
        return replace(self, path=path)


@dataclass(frozen=True)
class WebhookSimulation:
    """The response that a webhook would give. automation: the name of the one that responded, "" for none. result: of
    its run."""

    response: "WebhookResponse"
    automation: str = ""
    result: RunResult | None = None
    message: str = ""


@dataclass
class WebhookResponse:
    """The response to the caller. is_failure: the automation or its response failed; the body then refers to the log
    entry once it is written."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    cookies: tuple[str, ...] = ()
    is_failure: bool = False


def listener(ctx: Context, token: str) -> FoundListener | None:
    """Returns the webhook of a token, and the id of the token if it is an old one; None if it is unknown."""
    return ctx.service.store.read(lambda tx: listener_of(ctx, tx, token))


def respond(
    ctx: Context, token: str, received: WebhookRequest, loaded: FoundListener | None = None
) -> tuple[WebhookResponse, Write | None]:
    """Returns the response to a request with a token, and the write that must precede it. 404 for an unknown or
    disabled webhook and for one without an automation, 500 if the automation failed; all without a body. loaded: the
    webhook, if the caller has just loaded it."""
    target = loaded or listener(ctx, token)
    if target is None:
        return WebhookResponse(404), None
    return _delivered(ctx, target[0], received, target[1])


def deliver(ctx: Context, listener: Record, received: WebhookRequest) -> tuple[WebhookResponse, int]:
    """Runs the automation of a listener; returns the response, and the id of the stored delivery, 0 if the listener was
    deleted."""
    response, write = _delivered(ctx, listener, received)
    return response, ctx.service.store.write(write)


def _delivered(
    ctx: Context, listener: Record, received: WebhookRequest, former_id: int = 0
) -> tuple[WebhookResponse, Write]:
    """Returns the response of a listener's automation, and the write that stores the delivery and returns its id.
    former_id: of the old address that the request used."""
    id, client = listener["id"], received.client
    metrics.record(ctx.service, WEBHOOK_INVOCATIONS, 1, {"webhook_id": id, "client_ip": client}, ctx.now)
    received = replace(received, headers=for_script(received.headers, id))
    delivery, host = WebhookDelivery.from_request(id, received, ctx.now, former_id), ServiceHost(ctx)
    response, log, version = _answered(ctx, host, listener, delivery)
    if response.is_failure and log:
        response.content_type = TEXT
    values, secrets = delivery.values(), withheld(ctx.service.store)  # computed here to keep the writer thread free
    is_withheld = delivery.holds_back(values)

    def write(tx: Transaction) -> int:
        entries = host.log(tx, delivery.automation, log, version) if log else []
        if response.is_failure and entries:
            response.body = _reason_of_failure(log, entries)
            values.update(answer=response.body, answer_size=len(response.body))
        values["run_id"] = entries[0] if entries else 0
        delivery_id = keep(tx, delivery, values)
        ctx.service.notify_after(tx, CHANNEL)
        if delivery_id and is_withheld:
            tx.at_commit(lambda: secrets.remember(delivery_id, received.headers, received.query, received.body))
        return delivery_id

    return response, write


def _reason_of_failure(log: list[LogEntry], ids: list[int]) -> bytes:
    """Returns the body of a 500: where administrators find the reason in the automation log; the caller does not see
    it."""
    wrong = [id for entry, id in zip(log, ids, strict=True) if entry.level <= ERROR]
    id = wrong[-1] if wrong else ids[-1]
    return f"The automation failed. See entry {id} of the automation log.\n".encode()


def webhook_candidates(ctx: Context, listener: Record, received: WebhookRequest) -> list[BindingCandidate]:
    """Returns the entries of a listener's binding, and whether each would run for this request; the first with a
    handler responds. Raises KataSyntax."""
    host = ServiceHost(ctx, dry=True)
    return list(bindings.binding_candidates(listener["automations_kata"], TRIGGER, _values(listener, received), host))


def simulate(ctx: Context, listener: Record, received: WebhookRequest) -> WebhookSimulation:
    """Returns the response that the automation of an enabled listener would give: nothing is written or sent, and no
    delivery is stored."""
    values, host = _values(listener, received), ServiceHost(ctx, dry=True)
    try:
        handler = next(bindings.handlers(listener["automations_kata"], TRIGGER, values, host), None)
    except HelpdeskError as error:
        return WebhookSimulation(WebhookResponse(500), message=f"the binding fails: {error.message}")
    if handler is None:
        return WebhookSimulation(WebhookResponse(404), message="no automation responds to this request")
    values["inputs"] = handler.inputs
    result = perform(ctx, handler.automation, values, traced=MAX_STEPS, host=host)
    response = _response(host.ctx, result, listener["id"], received.place)
    return WebhookSimulation(response, handler.automation.name, result, result.message)


def _answered(
    ctx: Context, host: ServiceHost, listener: Record, delivery: WebhookDelivery
) -> tuple[WebhookResponse, list[LogEntry], int]:
    """Returns the response, also recorded in the delivery; its log entries; and the version of the automation that
    ran."""
    values = _values(listener, delivery.received)
    if listener["is_disabled"]:
        return _refused(delivery, 404, SWITCHED_OFF), [], 0
    try:
        handler = next(bindings.handlers(listener["automations_kata"], TRIGGER, values, host), None)
    except HelpdeskError as error:
        message = f"the binding of webhook {listener['id']} fails: {error.message}"
        return _refused(delivery, 500, message), [LogEntry(ERROR, "", message)], 0
    if handler is None:
        return _refused(delivery, 404), [], 0
    if delivery.received.files and KEYS in handler.automation.script + listener["automations_kata"]:
        values[KEYS] = store_files(host.ctx, delivery.received.files)
        if KEYS in listener["automations_kata"]:  # inputs in the binding may refer to them
            handler = next(bindings.handlers(listener["automations_kata"], TRIGGER, values, host), handler)
    began = time.perf_counter()
    result = run_counted(ctx, host, handler.automation, {**values, "inputs": handler.inputs}, traced=MAX_STEPS)
    delivery.ms = round((time.perf_counter() - began) * 1000)
    response = _response(host.ctx, result, listener["id"], delivery.received.place)
    delivery.answer(handler.automation.name, result, response.status, response.headers, response.body)
    if response.is_failure and not delivery.message:
        delivery.message = result.log[-1].message
    return response, result.log, handler.automation.version


def _refused(delivery: WebhookDelivery, status: int, message: str = "") -> WebhookResponse:
    """Returns a response without running an automation."""
    delivery.status, delivery.message = status, message
    return WebhookResponse(status, is_failure=status == 500)


def _values(listener: Record, received: WebhookRequest) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for name, value in received.headers:
        key = name.lower().replace("-", "_")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return {
        "request_method": received.method,
        "request_path": received.path,
        "request_headers": headers,
        "request_params": received.params,
        "request_form": received.form,
        "request_files": described(received.files),
        "request_body": text_of_bytes(received.body),
        "request_client_ip": received.client,
        "webhook__context": contexts.WEBHOOK_LISTENER,
        "webhook_id": listener["id"],
    }


def _response(ctx: Context, result: RunResult, listener_id: int, place: WebhookLocation) -> WebhookResponse:
    """Builds the response from the result of a run; logs parts that cannot be used."""
    if result.state in ("failure", "error"):
        return _failure()
    returned = result.returned if result.state in ("return", "await") else None
    values = returned if isinstance(returned, Mapping) else {}
    if result.failed_templates & {"return", "await"} or (result.failed_templates and values.get("body") is False):
        result.log.append(
            LogEntry(ERROR, "", "the response was not sent because a template in it failed; 500 was sent")
        )
        return _failure()
    status = whole(values.get("status_code"), 0) if values.get("status_code") not in (None, "") else 200
    if not 200 <= status <= 599:
        result.log.append(
            LogEntry(3, "", f"status_code {printed(values.get('status_code'))[:50]} is not valid; 500 was sent")
        )
        return _failure()
    headers = headers_of(values.get("headers"), listener_id, place)
    result.log += [LogEntry(4, "", message) for message in headers.left_out]
    try:
        body, usual = _body(ctx, values)
    except HelpdeskError as error:
        result.log.append(LogEntry(ERROR, "", f"body: {error.message}"))
        return _failure()
    kind = headers.kind or (usual if returned is not None else "")
    if status in _NO_BODY:
        if body:
            result.log.append(
                LogEntry(4, "", f"the body was left out: a response with the status {status} cannot have one")
            )
        body, kind = b"", ""
    return WebhookResponse(status, headers.named, body, kind, tuple(headers.cookies))


def _failure() -> WebhookResponse:
    return WebhookResponse(500, is_failure=True)


def _body(ctx: Context, values: Mapping[str, Any]) -> tuple[bytes, str]:
    """Returns the bytes of a response body, and their default content type. Raises NotFound, Invalid."""
    body = values.get("body")
    if isinstance(body, str) and body.startswith(FILES):
        file = file_contents.find(ctx, body.strip())
        return file_contents.content(ctx, file), file.mime_type
    if body is None and "body@base64" in values:
        body = as_bytes(printed(values["body@base64"]))
    if isinstance(body, (list, dict)):
        return json.dumps(plain(body), ensure_ascii=False).encode("utf-8", "replace"), JSON
    return bytes_of(printed(body)), TEXT
