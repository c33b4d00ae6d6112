"""Entity tags of records, and the conditions of requests that name them (RFC 9110, 8.8.3 and 13.1).

A tag is a digest of a response, followed by the `expand` and `show_meta` of its request. A condition is checked by
making that response again for the same caller, so it holds for exactly what they read."""

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from server.dataclass import dataclass
from server.errors import PreconditionFailed
from server.web import envelope
from server.web.call import Answer
from server.web.packed import LEAST_BYTES, packed, takes_gzip
from server.web.params import Params
from server.web.site import Request

DIGEST_BYTES = 12
MAX_VIEW_CHARS = 500  # a tag of a longer one serves If-None-Match alone
MAX_TAGS = 10  # of a condition; each may need the record to be read again
META, LONG = "+meta", "+long"  # LONG: a view too long to name, or one that leaves keys out
_TAG = re.compile(r'(?:W/)?"([^"]*)"')

Show = Callable[[str, bool], dict[str, Any]]


def view_of(params: Params) -> str:
    """The view of a response: its `expand` and `show_meta`, as its tag names them."""
    view = quote(params.text("expand", ""), safe=",") + (META if params.flag("show_meta") else "")
    return view if len(view) <= MAX_VIEW_CHARS and not _is_sparse(params) else LONG


def _is_sparse(params: Params) -> bool:
    """Whether `fields` names keys to return; of a write it is a map of values."""
    return isinstance(params.tree.get("fields"), str)


def tag(body: bytes, view: str) -> str:
    """The tag of a response.

    >>> tag(b"{}", "owner_")
    '"v3jkqVO0Du4jjKLp.owner_"'
    """
    digest = base64.urlsafe_b64encode(hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()).decode()
    return f'"{digest}.{view}"' if view else f'"{digest}"'


def rendered(answer: Answer) -> Answer:
    """The answer with its payload as bytes, and with its tag if it has a view."""
    if answer.payload is None:
        return answer
    body = envelope.body_of(answer)
    if answer.view is not None:
        plain = body if not answer.notes else envelope.success(answer.payload)
        answer.headers = answer.headers | {"ETag": tag(plain, answer.view)}
    answer.body, answer.content_type, answer.payload = body, envelope.CONTENT_TYPE, None
    return answer


def pack(answer: Answer, request: Request, most: int | None = None) -> Answer:
    """The rendered answer, with its body as gzip where that is worth it and the client reads it. most: bytes of a body
    that is packed here. A tag becomes weak: the bytes are others than those it names (RFC 9110, 8.8.1)."""
    size = len(answer.body)
    if size < LEAST_BYTES or answer.content_type != envelope.CONTENT_TYPE or "Content-Encoding" in answer.headers:
        return answer
    if (most is None or size <= most) and takes_gzip(request.headers):
        answer.body = packed(answer.body)
        answer.headers = answer.headers | {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        if "ETag" in answer.headers:
            answer.headers["ETag"] = f"W/{answer.headers['ETag']}"
    return answer


def is_known(request: Request, etag: str) -> bool:
    """Whether a client that reads has this already (If-None-Match, RFC 9110, 13.1.2): tags are compared weakly, since a
    proxy that packs the response marks them `W/`."""
    sent = request.headers.get("If-None-Match", "")
    if not sent or request.method not in ("GET", "HEAD"):
        return False
    return sent.strip() == "*" or etag.removeprefix("W/").strip('"') in _tags(sent)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a request asks of the record that it changes. match: the header If-Match; none_match: If-None-Match."""

    match: str
    none_match: str

    def require(self, show: Show | None) -> None:
        """Raises PreconditionFailed unless the record is as the request expects. show: makes the record as a response
        with this `expand` and `show_meta` has it; None where there is no record."""
        if self.match and not _matches(self.match, show):
            raise _failed("the record is another than the one that If-Match names", show)
        if self.none_match and _matches(self.none_match, show):
            raise _failed("the record is there already, as If-None-Match names it", show)


def conditions(headers: Any) -> Conditions | None:
    """The conditions of a request; None where it has none."""
    found = Conditions(headers.get("If-Match", "").strip(), headers.get("If-None-Match", "").strip())
    return found if found.match or found.none_match else None


def _matches(sent: str, show: Show | None) -> bool:
    if show is None:
        return False
    views = ((each, each.partition(".")[2]) for each in _tags(sent))
    return sent == "*" or any(view != LONG and each == _tag_now(view, show) for each, view in views)


def _tag_now(view: str, show: Show) -> str:
    """The tag, without its quotes, of a response with this view."""
    expand, meta, _ = view.partition(META)
    return tag(envelope.success(show(unquote(expand), bool(meta))), view).strip('"')


def _tags(sent: str) -> list[str]:
    """The tags of a list, without their quotes."""
    return list(dict.fromkeys(match[1] for match in _TAG.finditer(sent)))[:MAX_TAGS]


def _failed(what: str, show: Show | None) -> PreconditionFailed:
    if show is None:
        return PreconditionFailed("there is no record that If-Match could name; leave the header out to create it")
    record = show("", False)
    how = "`record` is what it is now; send the request again with its ETag if the change still makes sense"
    return PreconditionFailed(f"{what}; {how}", record=record, etag=tag(envelope.success(record), ""))
