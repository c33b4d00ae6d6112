"""Entity tags of records, and conditional requests. Follows RFC 9110, sections 8.8.3 and 13.1.

A tag is a digest of a response, followed by the `expand` and `show_meta` of its request. A condition is checked by
building that response again for the same caller, so it covers exactly the content that the caller read."""

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from server.dataclass import dataclass
from server.errors import PreconditionFailed
from server.web import envelope
from server.web.endpoint_call import Response
from server.web.packed import LEAST_BYTES, packed, takes_gzip
from server.web.params import Params
from server.web.site import Request

DIGEST_BYTES = 12
MAX_VIEW_CHARS = 500  # characters; the tag of a longer view serves If-None-Match only
MAX_TAGS = 10  # tags of a condition; each may require another read of the record
META, LONG = "+meta", "+long"  # LONG: a view that is too long to name, or omits keys
_TAG = re.compile(r'(?:W/)?"([^"]*)"')

Show = Callable[[str, bool], dict[str, Any]]


def view_of(params: Params) -> str:
    """Returns the view of a response: its `expand` and `show_meta`, as its tag names them."""
    view = quote(params.text("expand", ""), safe=",") + (META if params.flag("show_meta") else "")
    return view if len(view) <= MAX_VIEW_CHARS and not _is_sparse(params) else LONG


def _is_sparse(params: Params) -> bool:
    """Whether `fields` lists keys to return; in a write it is a map of values."""
    return isinstance(params.tree.get("fields"), str)


def tag(body: bytes, view: str) -> str:
    """Returns the tag of a response.

    >>> tag(b"{}", "owner_")
    '"v3jkqVO0Du4jjKLp.owner_"'"""
    digest = base64.urlsafe_b64encode(hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()).decode()
    return f'"{digest}.{view}"' if view else f'"{digest}"'


def rendered(response: Response) -> Response:
    """Returns the response with its payload as bytes, and with its tag if it has a view."""
    if response.payload is None:
        return response
    body = envelope.body_of(response)
    if response.view is not None:
        plain = body if not response.notes else envelope.success(response.payload)
        response.headers = response.headers | {"ETag": tag(plain, response.view)}
    response.body, response.content_type, response.payload = body, envelope.CONTENT_TYPE, None
    return response


def pack(response: Response, request: Request, most: int | None = None) -> Response:
    """Returns the rendered response, with a gzip body if that saves enough and the client accepts it. most: bytes of a
    body that is compressed here. The tag becomes weak, because the bytes differ from those it names (RFC 9110, section
    8.8.1)."""
    size = len(response.body)
    if size < LEAST_BYTES or response.content_type != envelope.CONTENT_TYPE or "Content-Encoding" in response.headers:
        return response
    if (most is None or size <= most) and takes_gzip(request.headers):
        response.body = packed(response.body)
        response.headers = response.headers | {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        if "ETag" in response.headers:
            response.headers["ETag"] = f"W/{response.headers['ETag']}"
    return response


def is_known(request: Request, etag: str) -> bool:
    """Whether the client already has this response (If-None-Match, RFC 9110, section 13.1.2). Tags are compared weakly,
    since a proxy that compresses the response marks them `W/`."""
    sent = request.headers.get("If-None-Match", "")
    if not sent or request.method not in ("GET", "HEAD"):
        return False
    return sent.strip() == "*" or etag.removeprefix("W/").strip('"') in _tags(sent)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions that a request sets for the record it changes. match: the header If-Match; none_match:
    If-None-Match."""

    match: str
    none_match: str

    def require(self, show: Show | None) -> None:
        """Raises PreconditionFailed unless the record is as the request expects. show: renders the record as a response
        with this `expand` and `show_meta`; None if there is no record."""
        if self.match and not _matches(self.match, show):
            raise _failed("the record does not match If-Match", show)
        if self.none_match and _matches(self.none_match, show):
            raise _failed("the record already exists, so If-None-Match refuses it", show)


def conditions(headers: Any) -> Conditions | None:
    """Returns the conditions of a request; None if it has none."""
    request_conditions = Conditions(headers.get("If-Match", "").strip(), headers.get("If-None-Match", "").strip())
    return request_conditions if request_conditions.match or request_conditions.none_match else None


def _matches(sent: str, show: Show | None) -> bool:
    if show is None:
        return False
    views = ((each, each.partition(".")[2]) for each in _tags(sent))
    return sent == "*" or any(view != LONG and each == _tag_now(view, show) for each, view in views)


def _tag_now(view: str, show: Show) -> str:
    """Returns the current tag, without its quotes, of a response with this view."""
    expand, meta, _ = view.partition(META)
    return tag(envelope.success(show(unquote(expand), bool(meta))), view).strip('"')


def _tags(sent: str) -> list[str]:
    """Returns the tags of a list, without their quotes."""
    return list(dict.fromkeys(match[1] for match in _TAG.finditer(sent)))[:MAX_TAGS]


def _failed(what: str, show: Show | None) -> PreconditionFailed:
    if show is None:
        return PreconditionFailed("there is no record for If-Match; leave the header out to create it")
    record = show("", False)
    how = "`record` is the current version; send the request again with its ETag if the change still makes sense"
    return PreconditionFailed(f"{what}; {how}", record=record, etag=tag(envelope.success(record), ""))
