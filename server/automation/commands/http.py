"""The command that sends requests to other programs: http.request."""

import base64
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from server import log, outbound
from server.access.service_actor import own_context
from server.automation import file_contents
from server.automation.acting import service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.run_dictionary import plain
from server.connections import connected_accounts
from server.context import Context, Service
from server.errors import Invalid, TimedOut, TooLarge, Unavailable, nearest
from server.jobs.job_queue import RETRY_SECONDS, JobQueue, job
from server.mail import charsets
from server.outbound.client import MAX_SECONDS, METHODS, OutboundRequest, OutboundResponse
from server.outbound.urls import MAX_URL_CHARS
from server.records.stored_files import OCTETS
from server.store.transaction import Transaction
from server.template.run import Rendering as Rendering
from server.template.shared import script_json
from server.template.shared.query_texts import form_text
from server.template.shared.text_values import bytes_of
from server.template.values import pairs, printed
from server.translation import N_

MAX_HEADERS_CHARS = 8192  # characters
MAX_BODY_CHARS = 16_777_216  # characters of a body in the script, bytes of the encoded body
MAX_YAML_CHARS = 1_000_000  # size of a YAML body as JSON: serializing YAML takes microseconds per character
STEPS_A_YAML_CHAR = 4
MAX_BODY_IN_DICTIONARY = 1_024_000  # bytes; a larger response body is stored as an automation resource
MAX_RETRIED_BYTES = 1_048_576  # size of a body that is stored for a retry
RETRY = "http.request"  # name of the job
LOG = log.get("automation")
REFERENCE = "application/vnd.svc.uri"  # type of a body that is a reference to the bytes
FORM = "application/x-www-form-urlencoded"
YAML = frozenset(("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml"))
_TEXTS = frozenset(
    """
    application/ecmascript application/graphql application/javascript application/json application/sql application/toml
    application/x-javascript application/x-ndjson application/x-www-form-urlencoded application/xml application/yaml
    application/x-yaml
""".split()
)


@command(
    "http.request",
    "Send a request to another program over HTTP. A status of 400 or more is a failure.",
    Input("url", "text", "The address: http:// or https://.", required=True, max=MAX_URL_CHARS),
    Input("method", "text", f"One of {', '.join(METHODS)}; GET when blank.", default="GET"),
    Input("headers", "text or map", "Lines such as `name: value`, or a map.", max=MAX_HEADERS_CHARS),
    Input(
        "body",
        "text or map",
        "A text is sent as it is; a map as JSON, YAML or a form, depending on the header content-type. With "
        f"the content-type {REFERENCE}, a reference to a file, whose bytes are sent.",
        max=MAX_BODY_CHARS,
    ),
    Input("timeout", "number", f"Seconds, at most {MAX_SECONDS:g}; the setting outbound_seconds when 0.", default=0),
    Input("authentication", "text", "Connected account that signs the request: svc:connected_account:<id or uri>."),
    Input(
        "retry",
        "flag",
        "1: a request without a response, or with 429 or 500 and above, is retried up to 20 "
        "times in half a day, with growing waits; `is_retried` is then true.",
        default=False,
    ),
    Input("response", "map", "`resource:` stores the body as an automation resource, until its `expires:`."),
    needs_output=True,
    effects=True,
)
def http_request(call: CommandCall) -> Any:
    """Returns {status_code, url, content_type, headers, body}, and how a binary body is represented."""
    expires, inputs, ctx = _expires(call), call.inputs, call.run.host.ctx
    bounds = outbound.limits(ctx.service.settings if ctx is not None else None)
    headers = list(headers_of(inputs["headers"]))
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADERS_CHARS:
        raise TooLarge(f"headers: they have more than {MAX_HEADERS_CHARS:,} characters", field="headers")
    body, headers = _body(call, inputs["body"], headers)
    request = outbound.request(
        inputs["url"], inputs["method"] or "GET", tuple(headers), body, seconds=float(inputs["timeout"] or 0)
    )
    if inputs["authentication"]:
        sign = connected_accounts.signer(_service_of(call), inputs["authentication"], _left(call))
        request = replace(request, sign=sign)
    try:
        response = outbound.send(replace(request, seconds=min(request.seconds or bounds.seconds, _left(call))), bounds)
    except (TimedOut, Unavailable) as error:
        if not inputs["retry"]:
            raise
        return _later(call, request, error.message)
    if inputs["retry"] and outbound.may_pass(response.status):
        return _later(call, request, f"{response.url.host} responded with {response.status}")
    output = _output(call, response, expires)
    if response.status >= 400:
        reason = "".join(each for each in response.reason if each.isprintable())[:100]
        raise CommandFailed(f"{response.url.host} responded with {response.status} {reason}".rstrip(), output)
    return output


def _later(call: CommandCall, request: OutboundRequest, why: str) -> dict[str, Any]:
    """Adds a job that retries a request; returns the output for the script in the meantime."""
    if len(request.body) > MAX_RETRIED_BYTES:
        raise TooLarge(f"a request with retries can have a body of at most {MAX_RETRIED_BYTES:,} bytes", field="body")
    ctx = _service_of(call)
    payload = {
        "url": str(request.url),
        "method": request.method,
        "headers": list(request.headers),
        "seconds": request.seconds,
        "body": base64.b64encode(request.body).decode(),
        "authentication": call.inputs["authentication"] or "",
    }

    def add(tx: Transaction) -> None:
        JobQueue.add(tx, RETRY, ctx.now + RETRY_SECONDS, payload, is_slow=True)
        ctx.service.wake_after(tx)

    ctx.service.store.write(add)
    return {
        "is_retried": True,
        "status_code": 0,
        "url": str(request.url),
        "content_type": "",
        "headers": {},
        "body": "",
        "reason": why,
    }


@job(RETRY, N_("Retries a request of an automation"))
def send_again(service: Service, payload: dict[str, Any], now: int) -> None:
    """Retries a request of a script. Raises Unavailable if it fails again; the job is retried later."""
    request = outbound.request(
        payload["url"],
        payload["method"],
        tuple((name, value) for name, value in payload["headers"]),
        base64.b64decode(payload["body"]),
        seconds=payload["seconds"],
    )
    if payload["authentication"]:
        request = replace(
            request, sign=connected_accounts.signer(own_context(service), payload["authentication"], MAX_SECONDS)
        )
    response = outbound.send(request, outbound.limits(service.settings))
    if outbound.may_pass(response.status):
        raise Unavailable(f"{response.url.host} responded with {response.status}")
    if response.status >= 400:
        LOG.warning("http.refused", host=response.url.host, status=response.status)


def headers_of(headers: Any) -> Iterator[tuple[str, str]]:
    """Returns (name, value) pairs from lines or from a map; lists in the map are repeated headers."""
    if not isinstance(headers, (dict, list)):
        for line in (headers or "").splitlines():
            name, colon, value = line.partition(":")
            if line.strip() and not colon:
                raise Invalid(f"headers: the line '{line[:50]}' has no colon; write name: value", field="headers")
            if line.strip():
                yield name, value
        return
    for name, value in pairs(headers):
        for each in [one for _, one in pairs(value)] if isinstance(value, list) else [value]:
            if isinstance(each, (dict, list)):
                raise Invalid(f"headers: '{str(name)[:50]}' takes a text or a list of texts", field="headers")
            yield str(name), printed(each)


def _body(call: CommandCall, body: Any, headers: list[tuple[str, str]]) -> tuple[bytes, list[tuple[str, str]]]:
    """Returns the bytes to send, and the headers with their content type."""
    full = next((value for name, value in headers if name.strip().lower() == "content-type"), "")
    kind = full.partition(";")[0].strip().lower()
    if kind == REFERENCE:
        if not isinstance(body, str) or not body:
            raise Invalid(f"a body of the type {REFERENCE} is a reference to a file", field="body")
        file = file_contents.find(_service_of(call), body.strip())
        _require_size(file.size)
        return file_contents.content(_service_of(call), file), _typed(headers, file.mime_type)
    if not body:
        return b"", headers
    if isinstance(body, str):
        content = bytes_of(body)
    else:
        content = _encoded(call, body, kind).encode()
        if not kind:
            headers = _typed(headers, FORM)
    _require_size(len(content))
    return content, headers


def _encoded(call: CommandCall, value: Any, kind: str) -> str:
    rendering = Rendering({}, call.run.budget, call.run.around)
    if kind == "application/json" or kind.endswith("+json") or kind.startswith("application/x-amz-json-"):
        return script_json.encoded(rendering, value, script_json.UNESCAPED_SLASHES)
    if kind in YAML:
        # JSON first: it accepts only values of scripts, and charges the budget for them.
        size = len(script_json.encoded(rendering, value))
        if size > MAX_YAML_CHARS:
            raise TooLarge(
                f"a body of YAML has at most {MAX_YAML_CHARS:,} characters; this one has {size:,} as JSON", field="body"
            )
        call.run.budget.entries(size * STEPS_A_YAML_CHAR, 1)
        import yaml  # slow to import, and rarely needed

        return yaml.safe_dump(plain(value), allow_unicode=True, sort_keys=False)
    return form_text(rendering, value)


def _require_size(size: int) -> None:
    if size > MAX_BODY_CHARS:
        raise TooLarge(f"the body of a request has at most {MAX_BODY_CHARS:,} bytes, this one {size:,}", field="body")


def _typed(headers: list[tuple[str, str]], kind: str) -> list[tuple[str, str]]:
    return [*(pair for pair in headers if pair[0].strip().lower() != "content-type"), ("content-type", kind)]


def _left(call: CommandCall) -> float:
    """Returns the remaining seconds of the automation, more than 0."""
    return max(call.run.budget.ends_at - time.monotonic(), 0.001)


def _service_of(call: CommandCall) -> Context:
    return service_of(call, ("headers", "body"))


def _expires(call: CommandCall) -> int | None:
    """Returns until when the body is stored as a resource, in Unix seconds; -1 for the default lifetime, None to store
    only a large body."""
    options = call.inputs["response"] or {}
    if not isinstance(options, dict):
        raise Invalid("response: write `resource:` below it", field="response")
    for name in options:
        if name != "resource":
            raise Invalid(f"response: there is no '{str(name)[:50]}'{nearest(str(name), ['resource'])}", field=name)
    if "resource" not in options:
        return None
    inside = options["resource"] or {}
    if not isinstance(inside, dict) or set(inside) - {"expires"}:
        raise Invalid("response: only `expires:` may be below `resource:`", field="response")
    when = inside.get("expires")
    if when in (None, "", {}, []):
        return -1
    expires = when if isinstance(when, int) and not isinstance(when, bool) else call.run.read_date(printed(when))
    if expires is None or expires < 0:
        raise Invalid(f"response: 'expires' is not a time: '{printed(when)[:50]}'", field="response")
    return expires


def _output(call: CommandCall, response: OutboundResponse, expires: int | None) -> dict[str, Any]:
    """Converts a response to the output for scripts."""
    full = response.headers.get("content-type", "")
    kind = full.partition(";")[0].strip().lower()
    output: dict[str, Any] = {
        "status_code": response.status,
        "url": str(response.url),
        "content_type": kind,
        "headers": dict(response.headers),
        "body": "",
    }
    if expires is not None or len(response.body) > MAX_BODY_IN_DICTIONARY:
        return output | _kept(call, response.body, kind, None if expires in (None, -1) else expires)
    text = body_text(response.body, full, kind)
    if text is None:
        output["is_data_uri"] = True
        text = f"data:{kind or OCTETS};base64,{base64.b64encode(response.body).decode()}"
    call.run.budget.text(len(text))
    return output | {"body": text}


def _kept(call: CommandCall, content: bytes, kind: str, expires: int | None) -> dict[str, Any]:
    if call.run.host.ctx is None:
        raise CommandFailed(
            f"the response has {len(content):,} bytes; storing it as a resource, or having more than "
            f"{MAX_BODY_IN_DICTIONARY:,} bytes, needs a running service"
        )
    stored = file_contents.store(_service_of(call), content, kind, expires_at=expires)
    return {
        "content_type": REFERENCE,
        "content_type_original": kind,
        "is_svc_uri": True,
        "body": stored["uri"],
        "resource_expires": stored["expires_at"],
    }


def body_text(content: bytes, full: str, kind: str) -> str | None:
    """Decodes a body; None if it is not text. Without a content type, valid UTF-8 is text."""
    if not kind:
        try:
            return None if b"\0" in content else content.decode()
        except UnicodeDecodeError:
            return None
    if not (kind.startswith("text/") or kind.endswith(("+json", "+xml", "+yaml")) or kind in _TEXTS):
        return None
    charset = full.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    return charsets.decode(content, charset or None)
