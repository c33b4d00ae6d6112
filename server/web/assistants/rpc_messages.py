"""JSON-RPC messages of the Model Context Protocol: reading a request with its revision, and building responses.

A request with `_meta` is of the revision 2026-07-28, which has no handshake. All others are of 2025-11-25, in which a
client begins with `initialize`; since nothing is stored, that changes nothing."""

import base64
import binascii
import json
from typing import Any

from server.dataclass import dataclass
from server.errors import HelpdeskError, Malformed
from server.settings import VERSION
from server.web.endpoint_call import Response
from server.web.json_text import loads
from server.web.site import Request

MODERN, LEGACY = REVISIONS = ("2026-07-28", "2025-11-25")
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
META = "io.modelcontextprotocol/"
JSON = "application/json"
MAX_ID_CHARS = 200
MAX_SHOWN_CHARS = 100  # length of values in errors
SERVER = {"name": "helpdesk", "title": "Helpdesk", "version": VERSION}
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


class ProtocolError(Malformed):
    """A request that is not of the protocol. code: of JSON-RPC. status: of HTTP."""

    def __init__(self, code: int, message: str, status: int = 400, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.data = data


@dataclass(slots=True)
class McpMessage:
    """A request, or a notification, which has no id. is_modern: whether it is of the newest revision."""

    id: str | int | None
    method: str
    params: dict[str, Any]
    is_modern: bool = False

    @property
    def tool(self) -> str:
        """The name of the called tool, "" for none."""
        name = self.params.get("name") if self.method == "tools/call" else None
        return name if isinstance(name, str) else ""


def read(request: Request) -> McpMessage:
    """Returns the message in a request. Raises ProtocolError. require_revision() checks the headers."""
    try:
        found = loads(request.body, "the body")
    except HelpdeskError as error:
        raise ProtocolError(PARSE_ERROR, error.message) from None
    if isinstance(found, list):
        raise ProtocolError(INVALID_REQUEST, "send one message at a time: batches are not part of the protocol")
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'send a JSON-RPC message: an object with "jsonrpc": "2.0"')
    method, params, id = found.get("method"), found.get("params", {}), found.get("id")
    if not isinstance(method, str) or not method:
        raise ProtocolError(INVALID_REQUEST, "the message has no method: clients send requests and notifications only")
    if "id" in found and not _is_id(id):
        raise ProtocolError(INVALID_REQUEST, f"id: send a number, or a text of at most {MAX_ID_CHARS} characters")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_REQUEST, "params must be an object")
    return McpMessage(id, method, params)


def require_revision(message: McpMessage, request: Request) -> None:
    """Sets the revision of a message. Raises ProtocolError if the service does not speak it, or headers and body
    differ."""
    headers, meta = request.headers, message.params.get("_meta")
    header = headers.get("MCP-Protocol-Version", "")
    named = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
    message.is_modern = (
        header == MODERN or (named is not None and named != LEGACY) or message.method.startswith("server/")
    )
    if message.id is None and not message.is_modern:
        return
    if not message.is_modern:
        if message.method != "initialize" and header != LEGACY:
            raise _unsupported(header)
        return
    if not isinstance(named, str) or not isinstance(meta, dict):
        raise ProtocolError(INVALID_PARAMS, f"params._meta needs {META}protocolVersion, as a text")
    if header != named:
        raise ProtocolError(HEADER_MISMATCH, f"the header MCP-Protocol-Version must be that of _meta, {_shown(named)}")
    if named != MODERN:
        raise _unsupported(named)
    if not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise ProtocolError(INVALID_PARAMS, f"params._meta needs {META}clientCapabilities, as an object")
    if headers.get("Mcp-Method", "") != message.method and message.id is not None:
        raise ProtocolError(HEADER_MISMATCH, "the header Mcp-Method must be the method of the message")
    if message.method == "tools/call" and _decoded(headers.get("Mcp-Name", "")) != message.params.get("name"):
        raise ProtocolError(HEADER_MISMATCH, "the header Mcp-Name must be the name of the tool")


def result(message: McpMessage, content: dict[str, Any], cache_seconds: int | None = None) -> Response:
    """Returns the response with a result. cache_seconds: how long the client may cache it, None for not."""
    if message.is_modern:
        content = {"resultType": "complete", **content, "_meta": {f"{META}serverInfo": SERVER}}
        if cache_seconds is not None:
            content |= {"ttlMs": cache_seconds * 1000, "cacheScope": "private"}
    return _response({"jsonrpc": "2.0", "id": message.id, "result": content})


def failure(
    message: McpMessage | None, code: int, text: str, status: int = 400, data: dict[str, Any] | None = None
) -> Response:
    """Returns the response with an error. message: None if its id could not be read."""
    named = {} if message is None or message.id is None else {"id": message.id}
    error = {"code": code, "message": text, **({"data": data} if data else {})}
    return _response({"jsonrpc": "2.0", **named, "error": error}, status)


def _response(body: dict[str, Any], status: int = 200) -> Response:
    encoded = _ENCODER.encode(body).encode()
    return Response(status=status, headers={"Cache-Control": "no-store"}, body=encoded, content_type=JSON)


def _unsupported(sent: str) -> ProtocolError:
    data = {"supported": list(REVISIONS), "requested": sent[:MAX_SHOWN_CHARS]}
    message = f"Unsupported protocol version: send MCP-Protocol-Version {MODERN} or {LEGACY}"
    return ProtocolError(UNSUPPORTED_VERSION, message, data=data)


def _decoded(header: str) -> str | None:
    """Returns the value of a header, which may be Base64 between =?base64? and ?=; None if that cannot be decoded."""
    if not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _is_id(id: Any) -> bool:
    return (isinstance(id, int) and not isinstance(id, bool)) or (isinstance(id, str) and len(id) <= MAX_ID_CHARS)


def _shown(text: str) -> str:
    return text[:MAX_SHOWN_CHARS]
