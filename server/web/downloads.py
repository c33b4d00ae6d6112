"""Downloads of files, whole or in a range, with headers that keep browsers from running them."""

import re
import urllib.parse
from email.utils import formatdate

from server.context import Context
from server.records import stored_files
from server.records.stored_files import StoredFile
from server.web.endpoint_call import SANDBOX, Response

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})\Z")


def download(ctx: Context, file: StoredFile, asked: str, kind: str = "attachment") -> Response:
    """Returns the bytes of a file that the caller may read. asked: the header Range. kind: `attachment`, or `inline`
    for content that is shown in a page."""
    headers = {
        "Content-Disposition": disposition(file.name, kind),
        "Accept-Ranges": "bytes",
        "ETag": f'"{file.sha1}"',
        "Last-Modified": formatdate(file.updated, usegmt=True),
        "Content-Security-Policy": SANDBOX,
    }
    span = _span(asked, file.size)
    if span is not None and span[0] >= span[1]:
        headers["Content-Range"] = f"bytes */{file.size}"
        return Response(status=416, headers=headers)
    start, end = span or (0, file.size)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    return Response(
        status=200 if span is None else 206,
        headers=headers,
        content_type=file.safe_type,
        length=end - start,
        pieces=lambda: stored_files.pieces(ctx, file, start, end),
    )


def disposition(name: str, kind: str = "attachment") -> str:
    """Returns a Content-Disposition whose file name every browser reads correctly. Follows RFC 6266."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%;' else "_" for char in name) or "file"
    if plain == name:
        return f'{kind}; filename="{plain}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{urllib.parse.quote(name, safe='')}"


def _span(header: str, size: int) -> tuple[int, int] | None:
    """Returns [start, end) of one byte range, empty for one past the end; None for no range, several, or a malformed
    one."""
    match = _RANGE.match(header.strip())
    if not match or match[1] == match[2] == "":
        return None
    if match[1] == "":
        return max(size - int(match[2]), 0), size
    start = int(match[1])
    end = min(int(match[2]) + 1, size) if match[2] else size
    if match[2] and int(match[2]) < start:
        return None
    return start, end
