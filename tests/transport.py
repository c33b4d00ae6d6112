"""HTTP requests of the tests through the standard library: requests.Session takes longer over a request than the
service.

The response is a requests.Response all the same, and the sent bytes are those of that library."""

import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.models import RequestEncodingMixin
from requests.structures import CaseInsensitiveDict
from requests.utils import requote_uri
from urllib3.util.wait import wait_for_read

KNOWN = frozenset(("params", "data", "json", "headers"))  # options; requests with other options go through a session
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
TIMEOUT_SECONDS = 60
encoded = RequestEncodingMixin._encode_params


class Transport:
    """Connections to services: each thread reuses the connection to its last service."""

    def __init__(self) -> None:
        self._own = threading.local()

    def send(
        self, url: str, method: str, path: str, headers: dict[str, str], options: dict[str, Any]
    ) -> requests.Response:
        """Returns the response. Raises requests.ConnectionError. url: of the service. options: some of KNOWN."""
        address = urlsplit(url).netloc
        body, kind = _body(options)
        query = encoded(options["params"]) if options.get("params") else ""
        target = requote_uri(path + (("&" if "?" in path else "?") + query if query else ""))
        told = {**headers, **({"Content-Type": kind} if kind else {}), **(options.get("headers") or {})}
        told = {name: text for name, text in told.items() if text is not None}
        try:
            try:
                return self._sent(address, method, target, body, told)
            except ConnectionError:
                if method != "GET" or not self._own.was_used:
                    raise
            # The service may close an idle connection at the moment of the next request; RFC 9112, section 9.3.1.
            self._own.__dict__.pop("connection", None)
            return self._sent(address, method, target, body, told)
        except (OSError, http.client.HTTPException) as error:
            self._own.__dict__.pop("connection", None)
            raise requests.ConnectionError(error) from error

    def _sent(
        self, address: str, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> requests.Response:
        connection = self._connection(address)
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        response = requests.Response()
        response._content = answer.read()
        response.status_code, response.reason = answer.status, answer.reason
        response.headers = CaseInsensitiveDict(answer.getheaders())
        response.url = f"http://{address}{target}"
        response.encoding = "utf-8"
        response.request = sent = requests.PreparedRequest()
        sent.method, sent.url, sent.body, sent.headers = method, response.url, body, CaseInsensitiveDict(headers)
        return response

    def _connection(self, address: str) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        self._own.was_used = found is not None and self._own.address == address and not _is_closed(found)
        if found is None or not self._own.was_used:
            found = self._own.connection = http.client.HTTPConnection(address, timeout=TIMEOUT_SECONDS)
            self._own.address = address
        return found


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the service has closed the connection; one without a socket connects by itself."""
    return connection.sock is not None and wait_for_read(connection.sock, 0)


def _body(options: dict[str, Any]) -> tuple[bytes | None, str]:
    """The body and its content type."""
    if options.get("json") is not None:
        return json.dumps(options["json"]).encode(), JSON
    data = options.get("data")
    if not data:
        return None, ""
    if isinstance(data, bytes | str):
        return (data.encode() if isinstance(data, str) else data), ""
    return encoded(data).encode(), FORM
