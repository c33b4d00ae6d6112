"""Pictures of records, at the addresses that the API returns."""

from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.records import pictures

DAY_SECONDS, MINUTE_SECONDS = 86400, 60


@page("GET", "/avatars/{name}/{id}")
def show(visit: Visit) -> PageResponse:
    """The picture of a record. Raises NotFound, Forbidden."""
    picture = pictures.picture(visit.ctx, visit.arguments["name"], visit.id)
    is_current = picture.is_given and visit.query.text("v", "") == str(picture.version)
    headers = {
        "Cache-Control": f"private, max-age={DAY_SECONDS if is_current else MINUTE_SECONDS}",
        "Content-Disposition": "inline",
    }
    return PageResponse(
        headers=headers,
        content_type=picture.content_type,
        pieces=lambda: iter((picture.content,)),
        length=len(picture.content),
    )
