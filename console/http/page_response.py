"""Responses of the console."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import quote

from server.dataclass import dataclass
from server.web.endpoint_call import Feed

JSON = "application/json"
INVALID = 422
PIECE_BYTES = 256 * 1024  # read from a file at once


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A page, a redirect, a file or a stream.

    form_targets: foreign origins that its forms may be submitted to. pieces: yields the bytes of a file, in place of a
    page; length: their number. feed, feeds: one or several feeds to stream, in place of a page."""

    html: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    form_targets: tuple[str, ...] = ()
    content_type: str = "text/html; charset=utf-8"
    pieces: Callable[[], Iterator[bytes]] | None = None
    length: int = 0
    feed: Feed | None = None
    feeds: tuple[Feed, ...] = ()


def attachment(name: str) -> dict[str, str]:
    """The Content-Disposition header of a download. name: the file name, in characters that need no quoting."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def file(path: Path, content_type: str, length: int) -> PageResponse:
    """A download of a file, sent in pieces. length: its size in bytes."""

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as opened:
            while piece := opened.read(PIECE_BYTES):
                yield piece

    return PageResponse(headers=attachment(path.name), content_type=content_type, pieces=pieces, length=length)


def again(page: PageResponse, seconds: int) -> PageResponse:
    """The page with a header that reloads it after some seconds."""
    return replace(page, headers={**page.headers, "Refresh": str(seconds)})


def json_response(value: object) -> PageResponse:
    """A response in JSON, for scripts of the console."""
    return PageResponse(json.dumps(value), content_type=JSON)


def see(path: str) -> PageResponse:
    """A redirect to another page of the console (303), so that reloading does not submit the form again."""
    return PageResponse(status=303, headers={"Location": quote(path, safe="/?&=%:+,;@!~*'()$#-._[]")})
