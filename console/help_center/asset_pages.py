"""Files of the help center: the brand's color and logo, and the files of articles. None reads or sets a cookie."""

from console.help_center import colors
from console.help_center.visitor import Visitor
from console.help_center.visitor_page import VisitorPage
from console.http.static_files import FOREVER
from server.errors import NotFound
from server.help_center import public_files
from server.records import pictures
from server.translation import _
from server.web.downloads import download
from server.web.endpoint_call import SANDBOX, id_of

LOGO_POLICY = f"{SANDBOX}; style-src 'unsafe-inline'; img-src data:"  # policy of an SVG that is opened as a page
FILE_CACHE = "public, no-cache"  # a file of an article that is no longer public is not shown from a cache


def look(visitor: Visitor) -> VisitorPage:
    """The style sheet with the color of the brand, at an address that changes with it."""
    return VisitorPage(
        colors.accent_css(visitor.brand.accent),
        headers={"Cache-Control": FOREVER},
        content_type="text/css; charset=utf-8",
    )


def logo(visitor: Visitor) -> VisitorPage:
    """The logo of the brand, at an address that changes with it. Raises NotFound for a former one."""
    id = visitor.brand.logo_id
    if not id or visitor.arguments["id"] != str(id):
        raise NotFound(_("There is no such page."))
    content = public_files.logo(visitor.service, visitor.brand)
    headers = {
        "Cache-Control": FOREVER,
        "Content-Security-Policy": LOGO_POLICY,
        "Cross-Origin-Resource-Policy": "cross-origin",  # previews of links, in chats
        "X-Content-Type-Options": "nosniff",
    }
    return VisitorPage(headers=headers, content_type=pictures.type_of(content), content=content)


def file(visitor: Visitor) -> VisitorPage:
    """A file of a published article, as a download. Raises NotFound."""
    article = visitor.library.article(id_of(visitor.arguments["id"]))
    if article is None:
        raise NotFound(_("There is no such page."))
    file_id = id_of(visitor.arguments["file"])
    attached = next((each for each in public_files.files_of(visitor.service, article) if each.id == file_id), None)
    if attached is None:
        raise NotFound(_("There is no such page."))
    response = download(visitor.ctx, attached, visitor.request.headers.get("Range", ""))
    response.headers |= {"Cache-Control": FILE_CACHE, "Cross-Origin-Resource-Policy": "same-origin"}
    return VisitorPage(status=response.status, response=response)
