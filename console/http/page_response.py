"""Pages as they go out."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import quote

from server.dataclass import dataclass
from server.web.call import Feed

JSON = "application/json"
INVALID = 422
PIECE_BYTES = 256 * 1024  # of a file, sent at once


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A page as it goes out, or the way to another. form_targets: where else a form of it may lead, besides us. pieces:
    opens the bytes of a large file, sent in place of a page; `length` is how many there are. feed, feeds: what is
    followed in place of a page, one or several in one response."""

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
    """The header of an answer that is kept as a file. name: of the file, in letters that need no quoting."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def file(path: Path, content_type: str, length: int) -> PageResponse:
    """A file of the disk to be kept under its own name, sent in pieces. length: how many bytes it has."""

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as opened:
            while piece := opened.read(PIECE_BYTES):
                yield piece

    return PageResponse(headers=attachment(path.name), content_type=content_type, pieces=pieces, length=length)


def again(shown: PageResponse, seconds: int) -> PageResponse:
    """The page, which loads itself again after so many seconds, with scripts and without."""
    return replace(shown, headers={**shown.headers, "Refresh": str(seconds)})


def json_response(value: object) -> PageResponse:
    """A value for a script of ours."""
    return PageResponse(json.dumps(value), content_type=JSON)


def see(path: str) -> PageResponse:
    """On to another page of ours: after a form, so that loading it again sends nothing twice."""
    return PageResponse(status=303, headers={"Location": quote(path, safe="/?&=%:+,;@!~*'()$#-._[]")})
