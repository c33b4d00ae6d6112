"""Files at the addresses that the API returns, for signed-in workers: images in messages are displayed, and links to
files download them. Programs use `/rest/attachments/<id>/download.json`."""

from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.records import stored_files
from server.web.downloads import download

CACHE_SECONDS = 60  # an image that stands on several pages is asked for once


@page("GET", "/files/{id}")
def show(visit: Visit) -> PageResponse:
    """The bytes of a file that who asks may read; browsers show images and download all else. Raises NotFound,
    Forbidden."""
    file = stored_files.find(visit.ctx, visit.id)
    kind, headers = "attachment", {"Cross-Origin-Resource-Policy": "same-origin"}
    if file.is_image:
        kind, headers["Cache-Control"] = "inline", f"private, max-age={CACHE_SECONDS}"
    content = download(visit.ctx, file, visit.request.headers.get("Range", ""), kind)
    headers |= content.headers
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
