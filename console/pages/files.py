"""Files at the addresses that the API returns, for signed-in workers: images in messages are displayed, and links to
files download them. Programs use `/rest/attachments/<id>/download.json`."""

from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.records import stored_files
from server.web.downloads import disposition, download

CACHE_SECONDS = 60  # an image that stands on several pages is asked for once
# For a PDF, which the viewer of a browser shows apart from our pages. In a sandbox it would not.
IN_FRAME = {
    "Content-Security-Policy": "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; script-src 'none'",
    "X-Frame-Options": "SAMEORIGIN",
}


@page("GET", "/files/{id}")
def show(visit: Visit) -> PageResponse:
    """The bytes of a file that the caller may read; browsers show images and download all others. shown: whether a PDF
    is for a frame of the console. Raises NotFound, Forbidden."""
    file = stored_files.find(visit.ctx, visit.id)
    kind, headers = "attachment", {"Cross-Origin-Resource-Policy": "same-origin"}
    if file.preview == "image":
        kind, headers["Cache-Control"] = "inline", f"private, max-age={CACHE_SECONDS}"
    content = download(visit.ctx, file, visit.request.headers.get("Range", ""), kind)
    headers |= content.headers
    if file.preview == "pdf" and visit.query.flag("shown"):
        headers |= IN_FRAME | {"Content-Disposition": disposition(file.name, "inline")}
    return PageResponse(
        status=content.status,
        headers=headers,
        content_type=content.content_type,
        pieces=content.pieces,
        length=content.length,
    )


@page("GET", "/files/{id}/{file}")
def show_named(visit: Visit) -> PageResponse:
    """The same with a file name in the address, which is ignored."""
    return show(visit)
