"""Attachments: download with ranges, upload. Source: Endpoints, Attachments; upload and ranges are ours."""

import re
import urllib.parse
from email.utils import formatdate
from typing import Any

from server.desk import files
from server.errors import Required
from server.web.call import SANDBOX, Answer, Call
from server.web.openapi import shapes
from server.web.params import Upload
from server.web.routes import Parameter, endpoint

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})\Z")
FILE_HEADERS = {
    "Content-Disposition": "The file's name.",
    "Accept-Ranges": "bytes",
    "ETag": "Changes with the bytes.",
    "Last-Modified": "When it was stored.",
    "Content-Security-Policy": "Keeps browsers from running what is in it.",
}
RANGE_HEADERS = FILE_HEADERS | {"Content-Range": "Which bytes these are, of how many."}
BYTES = (
    shapes.Success(media_type="*/*", headers=FILE_HEADERS, note="The whole file, as its own type."),
    shapes.Success(status=206, media_type="*/*", headers=RANGE_HEADERS, note="The bytes that `Range` asked for."),
    shapes.Success(status=416, headers=RANGE_HEADERS, note="The file ends before the range begins."),
)


@endpoint(
    "GET", "attachments/{id}/download", "The bytes of a file.", "read",
    Parameter("Range", "string", "One range of bytes, such as bytes=0-1023.", place="header"),
    answer=BYTES,
)  # fmt: skip
def download(call: Call) -> Answer:
    file = files.find(call.ctx, call.id)
    headers = {
        "Content-Disposition": disposition(file.name),
        "Accept-Ranges": "bytes",
        "ETag": f'"{file.sha1}"',
        "Last-Modified": formatdate(file.updated, usegmt=True),
        "Content-Security-Policy": SANDBOX,
    }
    span = _span(call.headers.get("Range", ""), file.size)
    if span is not None and span[0] >= span[1]:
        headers["Content-Range"] = f"bytes */{file.size}"
        return Answer(status=416, headers=headers)
    start, end = span or (0, file.size)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    return Answer(
        status=200 if span is None else 206, headers=headers, content_type=file.safe_type, length=end - start,
        pieces=lambda: files.pieces(call.ctx, file, start, end),
    )


@endpoint(
    "POST", "attachments/upload", "Keep a file, to be attached by its id.", "write",
    Parameter("file_name", "string", "Its name.", required=True),
    Parameter("mime_type", "string", "Its type; application/octet-stream when absent."),
    Parameter("encoding", "string", "text or base64."),
    Parameter("content", "string", "Its bytes, also as a file part of a multipart form.", required=True),
    size="file", answer=shapes.with_keys(shapes.record("attachment"), file_id=shapes.ID),
)  # fmt: skip
def upload(call: Call) -> dict[str, Any]:
    params = call.params
    if "content" not in params:
        raise Required("content is required", field="content")
    sent = params.tree.get("content")
    name = params.text("file_name", "")
    kind = params.text("mime_type", "")
    if isinstance(sent, Upload):
        name, kind = name or sent.filename, kind or sent.content_type
    if not name:
        raise Required("file_name is required", field="file_name")
    content = files.decoded(params.raw("content"), params.text("encoding", "").lower())
    found = files.upload(call.ctx, name, kind, content)
    return found | {"file_id": found["id"]}


def disposition(name: str) -> str:
    """Content-Disposition with a name that every browser reads and none misreads (RFC 6266)."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%;' else "_" for char in name) or "file"
    if plain == name:
        return f'attachment; filename="{plain}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{urllib.parse.quote(name, safe='')}"


def _span(header: str, size: int) -> tuple[int, int] | None:
    """[start, end) of one byte range, empty for one past the end; None for none, several, or what is not understood."""
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
