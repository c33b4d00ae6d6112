"""Requests to servers with the chat completions of the OpenAI API, such as OpenAI, Ollama, llama.cpp and vLLM.

Responses are untrusted. Messages of errors are sentences for people, and never contain the key."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from server import outbound
from server.dataclass import dataclass
from server.errors import HelpdeskError, Rejected, TimedOut, TooLarge, TooMany, Unavailable
from server.outbound import Cancellation, OutboundRequest, OutboundResponse, RequestLimits
from server.outbound.urls import parsed
from server.printable import printable
from server.translation import _

MAX_RESPONSE_BYTES = 512 * 1024
MAX_TEXT_CHARS = 40_000  # characters of a reply that are read
MAX_REASON_CHARS = 240  # characters shown of an error of the provider
MAX_WAIT_SECONDS = 3600  # longest `Retry-After` that is passed on
MAX_MODELS = 2000  # models of a list that are read
TEST_TOKENS = 256  # enough for a model that thinks before it replies
TEST_WORDS = "Reply with the word OK and nothing else."
_VERSION = re.compile(r"/v[0-9]+(?:beta|alpha)?[0-9]*(?:/openai)?\Z")
# {(base address, model): the parameter for the number of tokens that a model accepts}
_TOKEN_PARAMETERS: dict[tuple[str, str], str] = {}
_ENDPOINTS: dict[str, str] = {}  # {base address: its variant that responds}
MAX_KNOWN = 64  # entries of each of the two


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """A server with a model. base_url: without a slash at its end, blank if no provider is stored."""

    base_url: str
    model: str
    key: str = field(repr=False)

    @property
    def is_set(self) -> bool:
        return bool(self.base_url)

    @property
    def host(self) -> str:
        """Host and port, for messages and the log."""
        return parsed(self.base_url).authority if self.base_url else ""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply of a model. is_cut: whether it ended at the permitted number of tokens. tokens: used for request and
    reply, 0 if the server does not say."""

    text: str
    is_cut: bool = False
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ProviderTest:
    """The outcome of a test. steps: (sentence, whether it went well), in order. milliseconds: until the reply, 0 if
    there was no reply."""

    steps: tuple[tuple[str, bool], ...]
    milliseconds: int = 0

    @property
    def is_good(self) -> bool:
        return all(ok for _sentence, ok in self.steps)


class Refused(Unavailable):
    """The provider refused a request. `details["status"]` is the HTTP status."""


def complete(
    provider: ModelProvider,
    messages: list[dict[str, str]],
    bounds: RequestLimits,
    max_tokens: int,
    cancellation: Cancellation | None = None,
) -> ChatReply:
    """Returns the reply of the model. Blocks, at most until the deadline of the limits.

    Raises TooMany with `retry_after` for 429; Refused, Rejected, TimedOut, TooLarge or Unavailable, whose messages are
    sentences that say what to do."""
    name = _TOKEN_PARAMETERS.get((provider.base_url, provider.model), "max_tokens")
    begin = time.monotonic()
    try:
        return _completed(provider, messages, bounds, {name: max_tokens}, cancellation)
    except Refused as error:
        if error.details.get("status") not in (400, 422) or not error.details.get("is_about_tokens"):
            raise
    other = "max_completion_tokens" if name == "max_tokens" else "max_tokens"
    bounds = replace(bounds, seconds=max(bounds.seconds - (time.monotonic() - begin), 1))
    reply = _completed(provider, messages, bounds, {other: max_tokens}, cancellation)
    _remember(_TOKEN_PARAMETERS, (provider.base_url, provider.model), other)
    return reply


def test(provider: ModelProvider, bounds: RequestLimits, clock: Callable[[], float] = time.monotonic) -> ProviderTest:
    """Checks whether a provider is reachable, accepts the key, knows the model and replies. Sends no data of the
    helpdesk. Blocks for at most twice the deadline of the limits."""
    steps: list[tuple[str, bool]] = []
    try:
        models = _models(provider, bounds)
    except HelpdeskError as error:
        return ProviderTest(((error.message, False),))
    steps.append((_("{host} responds.", host=provider.host), True))
    if models is not None:
        if provider.key:
            steps.append((_("The key is accepted."), True))
        if provider.model in models or f"{provider.model}:latest" in models:
            steps.append((_("The model {model} is offered.", model=provider.model), True))
        elif models:
            names = ", ".join(models[:10])
            steps.append((_("The provider does not list this model. It offers: {names}", names=names), False))
    begin = clock()
    try:
        reply = complete(provider, [{"role": "user", "content": TEST_WORDS}], bounds, TEST_TOKENS)
    except HelpdeskError as error:
        return ProviderTest((*steps, (error.message, False)))
    milliseconds = max(round((clock() - begin) * 1000), 1)
    if models is None and provider.key:
        steps.append((_("The key is accepted."), True))
    # A model that replied is known, even if the server lists only some of its models.
    steps = [each for each in steps if each[1]]
    words = " ".join(reply.text.split())[:60]
    steps.append((_("The model replied: {words}", words=words), True))
    return ProviderTest(tuple(steps), milliseconds)


def _models(provider: ModelProvider, bounds: RequestLimits) -> list[str] | None:
    """Returns the names of the offered models, None if the server has no such list. Raises as `complete`."""
    response = _sent(provider, "GET", "/models", b"", bounds, None)
    if response.status in (404, 405, 501):
        return None
    if response.status != 200:
        raise _refusal(provider, response)
    content = _json(response.body)
    found = content.get("data") if isinstance(content, dict) else None
    if not isinstance(found, list):
        return None
    names = [each.get("id") for each in found[:MAX_MODELS] if isinstance(each, dict)]
    return [_printable(each, 100) for each in names if isinstance(each, str)]


def _completed(
    provider: ModelProvider,
    messages: list[dict[str, str]],
    bounds: RequestLimits,
    limit: Mapping[str, int],
    cancellation: Cancellation | None,
) -> ChatReply:
    body = json.dumps({"model": provider.model, "messages": messages, "stream": False, **limit}).encode()
    response = _sent(provider, "POST", "/chat/completions", body, bounds, cancellation)
    if response.status != 200:
        raise _refusal(provider, response)
    content = _json(response.body)
    if not isinstance(content, dict):
        raise Unavailable(
            _(
                "{host} returned no JSON object. Is this the address of a server with the OpenAI API?",
                host=provider.host,
            )
        )
    if content.get("error") and not content.get("choices"):
        raise Refused(_error_sentence(provider, 200, _reason(response.body, provider)), status=200)
    return _reply(provider, content)


def _reply(provider: ModelProvider, content: Mapping[str, Any]) -> ChatReply:
    choices = content.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = first if isinstance(first, dict) else {}
    message = choice.get("message")
    text = _text(message.get("content") if isinstance(message, dict) else choice.get("text"))
    is_cut = choice.get("finish_reason") == "length"
    if not text.strip():
        if choice.get("finish_reason") == "content_filter":
            raise Unavailable(_("The provider's filter held the reply back. Change the text, or write it yourself."))
        if is_cut:
            raise Unavailable(
                _(
                    "The model used all its tokens before it wrote anything. An administrator can raise the setting "
                    "writing_assistant_tokens or choose a model that thinks less."
                )
            )
        raise Unavailable(_("{host} returned no text. Try again.", host=provider.host))
    usage = content.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else 0
    return ChatReply(text[:MAX_TEXT_CHARS], is_cut, total if isinstance(total, int) and 0 <= total < 2**53 else 0)


def _text(content: Any) -> str:
    """Returns the text of a message, also of one that consists of parts."""
    if isinstance(content, list):
        texts = [each.get("text") for each in content if isinstance(each, dict)]
        return "".join(each for each in texts if isinstance(each, str))
    return content if isinstance(content, str) else ""


# -- HTTP --------------------------------------------------------------------------------------------------------------


def _sent(
    provider: ModelProvider,
    method: str,
    path: str,
    body: bytes,
    bounds: RequestLimits,
    cancellation: Cancellation | None,
) -> OutboundResponse:
    """Returns the response of the first variant of the base address that has this path."""
    variants = _variants(provider.base_url)
    response = None
    for base in variants:
        response = _exchanged(provider, method, base + path, body, bounds, cancellation)
        if response.status not in (404, 405) or _knows_path(response.body):
            if response.status < 500:
                _remember(_ENDPOINTS, provider.base_url, base)
            return response
    assert response is not None
    return response


def _variants(base_url: str) -> list[str]:
    """Returns the addresses to try: people enter the base address with and without its version.

    >>> _variants("http://localhost:11434"), _variants("https://api.example/v1")
    (['http://localhost:11434/v1', 'http://localhost:11434'], ['https://api.example/v1'])
    """
    known = _ENDPOINTS.get(base_url)
    if known is not None:
        return [known]
    if _VERSION.search(base_url):
        return [base_url]
    with_version = f"{base_url}/v1"
    return [with_version, base_url] if parsed(base_url).path == "/" else [base_url, with_version]


def _knows_path(body: bytes) -> bool:
    """Returns whether a 404 is about the model: the path exists."""
    return b"model" in body[:4096].lower()


def _exchanged(
    provider: ModelProvider,
    method: str,
    url: str,
    body: bytes,
    bounds: RequestLimits,
    cancellation: Cancellation | None,
) -> OutboundResponse:
    headers = {"accept": "application/json"}
    if body:
        headers["content-type"] = "application/json"
    if provider.key:
        headers["authorization"] = f"Bearer {provider.key}"
    request = outbound.request(url, method, headers, body)
    # Redirects would carry the words of customers to another host.
    sent = OutboundRequest(request.url, method, request.headers, body, follow=False, cancellation=cancellation)
    try:
        return outbound.send(sent, bounds)
    except TimedOut as error:
        raise TimedOut(
            _(
                "{host} did not finish within {seconds} seconds. Try again; an administrator can raise the setting "
                "writing_assistant_seconds.",
                host=provider.host,
                seconds=round(bounds.seconds),
            )
        ) from error
    except TooLarge as error:
        raise TooLarge(_("The response of {host} is too large to be a reply.", host=provider.host)) from error
    except Rejected:
        raise
    except Unavailable as error:
        reason = _printable(error.message, MAX_REASON_CHARS)
        raise Unavailable(
            _(
                "The provider cannot be reached: {reason}. Try again; if it stays so, ask an administrator.",
                reason=reason,
            )
        ) from error


def _refusal(provider: ModelProvider, response: OutboundResponse) -> HelpdeskError:
    """Returns the error for a response with another status than 200."""
    reason = _reason(response.body, provider)
    status = response.status
    wait = min(outbound.retry_after(response.headers) or 0, MAX_WAIT_SECONDS)
    if status == 429:
        if wait:
            text = _("The provider is busy or its quota is used up (429). Try again in {seconds} s.", seconds=wait)
        else:
            text = _("The provider is busy or its quota is used up (429). Try again later.")
        return TooMany(f"{text} {reason}".strip(), retry_after=wait or 30)
    details: dict[str, object] = {"status": status, "is_about_tokens": _is_about_tokens(response.body)}
    return Refused(_error_sentence(provider, status, reason, wait), **details)


def _error_sentence(provider: ModelProvider, status: int, reason: str, wait: int = 0) -> str:
    if status in (401, 403):
        text = _(
            "The provider refused the key ({status}). An administrator can enter another one on the page of the "
            "writing assistant.",
            status=status,
        )
    elif status in (404, 405):
        text = _(
            "{host} does not know the model {model} or the address ({status}).",
            host=provider.host,
            model=provider.model,
            status=status,
        )
    elif 300 <= status < 400:
        text = _(
            "{host} redirects to another address ({status}). Enter that address.", host=provider.host, status=status
        )
    elif status >= 500:
        text = (
            _("The provider has a problem ({status}). Try again in {seconds} s.", status=status, seconds=wait)
            if wait
            else _("The provider has a problem ({status}). Try again in a moment.", status=status)
        )
    elif status == 413:
        text = _("The text is too long for the provider (413).")
    else:
        text = _("The provider refused the request ({status}).", status=status)
    return f"{text} {reason}".strip()


def _reason(body: bytes, provider: ModelProvider) -> str:
    """Returns what a server says about an error, in one of the shapes that servers use: `error.message`, `error`,
    `detail`, `detail[0].msg`, `message`, `errors[0].message`."""
    content = _json(body)
    if isinstance(content, list) and content:
        content = content[0]
    if not isinstance(content, dict):
        return ""
    for name in ("error", "detail", "message", "errors"):
        value = content.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            value = value.get("message") or value.get("msg")
        if isinstance(value, str) and value.strip():
            said = value.replace(provider.key, "***") if provider.key else value
            return _printable(said, MAX_REASON_CHARS)
    return ""


def _is_about_tokens(body: bytes) -> bool:
    """Returns whether a refusal names the parameter for the number of tokens, which differs between models."""
    text = body[:4096].decode("utf-8", "replace")
    return "max_completion_tokens" in text or ("max_tokens" in text and "support" in text)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _printable(text: str, most: int) -> str:
    words = " ".join(printable(text[: most * 4]).split())
    return words if len(words) <= most else f"{words[:most].rstrip()}…"


def _remember(known: dict[Any, str], key: Any, value: str) -> None:
    while len(known) >= MAX_KNOWN:
        known.pop(next(iter(known)), None)
    known[key] = value
