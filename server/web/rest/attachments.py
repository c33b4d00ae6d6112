"""Upload and download of files."""

from typing import Any

from server.errors import Required
from server.records import stored_files
from server.web import downloads
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.params import Upload
from server.web.rest.legacy.single import META, named_shape, with_names
from server.web.routes import Parameter, endpoint

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
    "GET",
    "attachments/{id}/download",
    "The bytes of a file.",
    "read",
    Parameter("Range", "string", "One range of bytes, such as bytes=0-1023.", place="header"),
    response=BYTES,
)
def download(call: EndpointCall) -> Response:
    return downloads.download(call.ctx, stored_files.find(call.ctx, call.id), call.headers.get("Range", ""))


@endpoint(
    "POST",
    "attachments/upload",
    "Upload a file, which can then be attached by its id.",
    "write",
    Parameter("file_name", "string", "Its name.", required=True),
    Parameter("mime_type", "string", "Its type; application/octet-stream when absent."),
    Parameter("encoding", "string", "text or base64."),
    Parameter("content", "string", "Its bytes, also as a file part of a multipart form.", required=True),
    META,
    size="file",
    response=named_shape(shapes.with_keys(shapes.record("attachment"), file_id=shapes.ID)),
)
def upload(call: EndpointCall) -> dict[str, Any]:
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
    content = stored_files.decoded(params.raw("content"), params.text("encoding", "").lower())
    attachment = stored_files.upload(call.ctx, name, kind, content)
    return with_names(call, "attachment", attachment | {"file_id": attachment["id"]})
