"""The mail of one account at Microsoft Graph, as far as mailboxes and transports need it: requests, and what refusals
mean.

Requests leave through server/outbound. The token is sent only to the configured host: links in responses are followed
only there, and redirects never. Names of Microsoft's documentation are in quotes."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

from server import outbound
from server.errors import HelpdeskError, Invalid, Unavailable
from server.mail import dialogue
from server.mail.inboxes import GRAPH_HOST
from server.mail.network import MAX_ANSWER_CHARACTERS
from server.outbound import AccountAccess, OutboundRequest, OutboundResponse, Signer, urls
from server.outbound.urls import HttpUrl
from server.printable import printable
from server.translation import N_, lazy_gettext

READ_WRITE, SEND = "Mail.ReadWrite", "Mail.Send"  # permissions
MAX_JSON_BYTES = 4 * 1024 * 1024  # bytes of a response with data
MAX_ERROR_BYTES = 64 * 1024  # read of a response that reports an error
MAX_LINK_CHARS = 8_192
MAX_ID_CHARS = 1_024
MAX_WAIT_SECONDS = 3_600  # longest wait that the server may ask for
DEFAULT_WAIT_SECONDS = 60  # wait after a refusal without Retry-After
TRANSFER_SECONDS = 300.0  # timeout of a whole email or a part of a file, on slow lines

UNAUTHORIZED, FORBIDDEN, MISSING, GONE, TOO_LARGE = 401, 403, 404, 410, 413
BUSY = frozenset((429, 503, 509))  # "throttled"; the first two may name a time
SENDER_DENIED = frozenset(("ErrorSendAsDenied", "ErrorSendOnBehalfOfDenied"))
_LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))
_VISIBLE = re.compile(r"[!-~]+")
_NO_MAILBOX = frozenset(
    (
        "ErrorInvalidUser",
        "ErrorNonExistentMailbox",
        "MailboxNotEnabledForRESTAPI",
        "MailboxNotSupportedForRESTAPI",
        "Request_ResourceNotFound",
        "ResourceNotFound",
    )
)
_NOT_SYNCED = frozenset(("resyncrequired", "syncstatenotfound", "syncstateinvalid"))


class GraphFailed(Unavailable):
    """A request failed. The message is safe to show. status: of the response, 0 without one. code, text: the error in
    the response. wait_seconds: time until the server accepts requests again, 0 if unknown."""

    def __init__(self, message: str, status: int = 0, code: str = "", text: str = "", wait_seconds: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.text, self.wait_seconds = status, code, text, wait_seconds

    @property
    def is_out_of_sync(self) -> bool:
        """Whether a position in the changes of a folder is no longer known ("resyncRequired")."""
        return self.status == GONE or self.code.lower() in _NOT_SYNCED


def service_url(host: str) -> HttpUrl:
    """The address of the service on a host: "" for Microsoft's, a name such as graph.microsoft.us, or a URL without a
    path. Raises Invalid with the field `host`."""
    text = host.strip() or GRAPH_HOST
    try:
        url = urls.parsed(text if "://" in text else f"https://{text}")
    except Invalid as error:
        raise Invalid(error.message, field="host") from error
    if url.target != "/":
        raise Invalid(
            lazy_gettext("enter the host alone, such as {host}, without a path", host=GRAPH_HOST), field="host"
        )
    if url.scheme != "https" and url.host not in _LOOPBACK:
        raise Invalid(lazy_gettext("{host} must be reached by https", host=url.authority), field="host")
    return url


class GraphClient:
    """The mailbox of one user, or a shared mailbox. seconds: the time for each request. A rejected token is renewed
    once."""

    def __init__(self, host: str, user: str, access: AccountAccess, seconds: float) -> None:
        self.service = service_url(host)
        self.user = user
        self._bounds = replace(access.bounds, seconds=seconds)
        self._signer = access.sign

    @property
    def host(self) -> str:
        return self.service.authority

    def url(self, path: str, query: str = "") -> HttpUrl:
        """The address of something in the mailbox. path: below the user, quoted."""
        target = f"/v1.0/users/{quote(self.user, safe='@')}/{path}"
        return replace(self.service, target=f"{target}?{query}" if query else target)

    def link(self, text: object) -> HttpUrl:
        """The address of a link in a response. Raises GraphFailed unless it is on the same host."""
        if isinstance(text, str) and len(text) <= MAX_LINK_CHARS and _VISIBLE.fullmatch(text):
            try:
                parts = urlsplit(text)
                port = parts.port or urls.PORTS.get(parts.scheme, 0)
            except ValueError:
                port, parts = 0, urlsplit("")
            origin = parts.scheme, (parts.hostname or "").lower(), port
            if origin == self.service.origin and "@" not in parts.netloc and parts.path.startswith("/v1.0/"):
                return replace(self.service, target=f"{parts.path}?{parts.query}" if parts.query else parts.path)
        raise GraphFailed(lazy_gettext("{host} returned a link to another host; it is not followed", host=self.host))

    def json(self, method: str, url: HttpUrl, content: object = None, *, permission: str, prefer: str = "") -> Any:
        """Sends JSON, and returns the map in the response, {} for an empty response. Raises GraphFailed."""
        headers = {"accept": "application/json", "prefer": f'IdType="ImmutableId"{prefer}'}
        body = b""
        if content is not None:
            headers["content-type"] = "application/json"
            body = json.dumps(content).encode()
        return self._map(self.send(method, url, headers, body, permission=permission))

    def mime(self, url: HttpUrl, content: bytes, permission: str) -> Any:
        """Sends an email in base64, and returns the map in the response. Raises GraphFailed."""
        headers = {"accept": "application/json", "content-type": "text/plain", "prefer": 'IdType="ImmutableId"'}
        return self._map(self.send("POST", url, headers, content, permission=permission, is_long=True))

    def raw(self, url: HttpUrl, most: int, permission: str) -> bytes:
        """The first bytes of an email. Raises GraphFailed."""
        headers = {"prefer": 'IdType="ImmutableId"'}
        return self.send("GET", url, headers, permission=permission, is_long=True, is_cut=True, most=most).body

    def send(
        self,
        method: str,
        url: HttpUrl,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        permission: str,
        is_long: bool = False,
        is_cut: bool = False,
        most: int = MAX_JSON_BYTES,
    ) -> OutboundResponse:
        """Sends a request; returns the response if it reports success. is_long: it may take TRANSFER_SECONDS. most:
        bytes of the response. permission: named in the error if the server denies access. Raises GraphFailed."""
        sign = Signer(self._signer.sign, self._renewed if self._signer.renewed is not None else None)
        request = OutboundRequest(url, method, tuple(headers.items()), body, follow=False, is_cut=is_cut, sign=sign)
        response = self._exchange(request, is_long, most)
        if 200 <= response.status < 300:
            return response
        raise self.refusal(response, permission)

    def put(self, upload: HttpUrl, method: str, headers: Mapping[str, str], body: bytes = b"") -> OutboundResponse:
        """Sends a request of an upload session, whose address contains its authorization: the token is not sent.
        Returns the response, with any status. Raises GraphFailed if the server does not respond."""
        request = OutboundRequest(upload, method, tuple(headers.items()), body, follow=False)
        return self._exchange(request, True, MAX_JSON_BYTES, is_secret=True)

    def upload_url(self, text: object) -> HttpUrl:
        """The address of an upload session, which may be on another host. Raises GraphFailed unless it is encrypted, or
        on the host of the service."""
        if isinstance(text, str) and len(text) <= MAX_LINK_CHARS and _VISIBLE.fullmatch(text):
            parts = urlsplit(text)
            try:
                base = urls.parsed(f"{parts.scheme}://{parts.netloc}/")
            except Invalid as error:
                raise GraphFailed(error.message) from error
            if base.scheme == "https" or base.origin == self.service.origin:
                return replace(base, target=f"{parts.path}?{parts.query}" if parts.query else parts.path or "/")
        raise GraphFailed(self._unreadable())

    def not_graph(self) -> GraphFailed:
        """The error for a response that has not the form of Graph's."""
        return GraphFailed(self._unreadable())

    def _renewed(self, seconds: float) -> Signer:
        assert self._signer.renewed is not None
        self._signer = self._signer.renewed(seconds)
        return self._signer

    def _exchange(
        self, request: OutboundRequest, is_long: bool, most: int, *, is_secret: bool = False
    ) -> OutboundResponse:
        recording = dialogue.current()
        if recording is not None:
            size = f" ({len(request.body):,} bytes)" if request.body else ""
            path = "(upload)" if is_secret else request.url.path
            recording.sent(f"{request.method} {path}{size}")
        seconds = max(self._bounds.seconds, TRANSFER_SECONDS) if is_long else self._bounds.seconds
        bounds = replace(self._bounds, seconds=seconds, max_bytes=most)
        try:
            response = outbound.send(request, bounds)
        except HelpdeskError as error:
            raise GraphFailed(error.message) from error
        if recording is not None:
            recording.heard(f"{response.status} {response.reason}")
        return response

    def _map(self, response: OutboundResponse) -> Any:
        if not response.body:
            return {}
        try:
            content = json.loads(response.body)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise self.not_graph()
        return content

    def refusal(self, response: OutboundResponse, permission: str) -> GraphFailed:
        """The error for a response that reports a failure."""
        status, (code, text) = response.status, _reason(response.body)
        recording = dialogue.current()
        if recording is not None and (code or text):
            recording.heard(f"{code} {text}")
        answer = _printable(f"{code} {text}".strip() or response.reason or str(status))
        wait = _wait(response.headers) if status in BUSY else 0
        values = {"host": self.host, "user": self.user, "permission": permission, "answer": answer, "status": status}
        message = N_("{host} responded with {status}: {answer}")
        if status == UNAUTHORIZED:
            message = N_("{host} rejected the token of the connected account; connect it again: {answer}")
        elif code in SENDER_DENIED:
            message = N_(
                "the mailbox {user} may not send from this address: give it the right Send As, or choose the mailbox "
                "of the address ({answer})"
            )
        elif status == FORBIDDEN:
            message = N_(
                "{host} denies access to the mailbox {user}: give the app the permission {permission}, and the account "
                "access to this mailbox ({answer})"
            )
        elif code in _NO_MAILBOX:
            message = N_("{host} has no mailbox {user}; check the address ({answer})")
        elif wait:
            values["seconds"] = wait
            message = N_("{host} accepts no further requests for {seconds} seconds: {answer}")
        return GraphFailed(lazy_gettext(message, **values), status, code, text, wait)

    def _unreadable(self) -> str:
        return lazy_gettext("{host} does not respond like Microsoft Graph; check the host", host=self.host)


def quoted_id(value: object) -> str:
    """An id for a path. Raises ValueError for a value that is not an id."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS or not _VISIBLE.fullmatch(value):
        raise ValueError(value)
    return quote(value, safe="")


def _reason(body: bytes) -> tuple[str, str]:
    """(code, message) of an error, as far as it has them."""
    try:
        error = json.loads(body[:MAX_ERROR_BYTES])["error"]
        return _printable(str(error.get("code") or "")), _printable(str(error.get("message") or ""))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return "", ""


def _printable(text: str) -> str:
    return printable(text)[:MAX_ANSWER_CHARACTERS]


def _wait(headers: Mapping[str, str]) -> int:
    """Seconds to wait after a refusal.

    >>> [_wait({"retry-after": text}) for text in ("120", "86400", "", "0")]
    [120, 3600, 60, 1]
    """
    seconds = outbound.retry_after(headers)
    return DEFAULT_WAIT_SECONDS if seconds is None else max(1, min(seconds, MAX_WAIT_SECONDS))
