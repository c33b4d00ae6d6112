"""A page for visitors: its look, its addresses in all languages, and the headers with which it is cached."""

import json
from collections.abc import Callable
from dataclasses import field
from itertools import chain
from typing import Any

from markupsafe import Markup

from console.help_center import visitor_languages
from console.help_center.visitor import Visitor
from console.html.templates import fragment
from console.http import static_files
from server import translation
from server.dataclass import dataclass
from server.help_center import contact_forms, form_previews
from server.store.writer import Write
from server.web.endpoint_call import Response

HTML, JSON = "text/html; charset=utf-8", "application/json"
STYLE, SCRIPT = "help_center.css", "help_center.js"
SUMMARY_CHARS = 200
_MARK = "\0"  # place of a value; no record contains it


@dataclass
class VisitorPage:
    """A response to a visitor. modified: when its content changed last, 0 if that is unknown. varies: request headers
    that it depends on. article_id: of the article that is read. content: bytes in place of a page. response: a file in
    place of a page. write: stored before the page is sent; may return another page. refused: returns the page for an
    error of the write, or raises it. cookies: values of Set-Cookie headers."""

    html: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = HTML
    modified: int = 0
    varies: tuple[str, ...] = ()
    article_id: int = 0
    content: bytes = b""
    response: Response | None = None
    write: Write | None = None
    refused: "Callable[[BaseException], VisitorPage] | None" = None
    cookies: tuple[str, ...] = ()
    is_cacheable: bool = True  # another visitor may get the same page
    frames: tuple[str, ...] = ()  # origins of websites that may show it in a frame


Show = Callable[[Visitor], VisitorPage]


@dataclass(frozen=True, slots=True)
class LanguageLink:
    """A language to choose. path: of the same page in it, or of its home page."""

    tag: str
    name: str
    path: str
    is_current: bool


def see(path: str, status: int = 301) -> VisitorPage:
    """A redirect. path: on the same host, with its prefix."""
    return VisitorPage(status=status, headers={"Location": path})


def render(
    visitor: Visitor,
    template: str,
    *,
    title: str = "",
    paths: dict[str, str] | None = None,
    canonical: str = "",
    description: str = "",
    status: int = 200,
    **values: Any,
) -> VisitorPage:
    """A page from a template.

    paths: the path of the same page in each language that has it, without language. canonical: its one address, "" for
    a page that search engines leave out."""
    library, brand = visitor.library, visitor.brand
    write_path = contact_forms.contact_path(library.forms)
    written = [each for each in brand.languages if visitor_languages.is_written(library, each)]
    links = [
        LanguageLink(
            each,
            visitor_languages.own_name(each, brand.languages),
            visitor.place((paths or {}).get(each, "/"), each),
            each == visitor.language,
        )
        for each in written
    ]
    html = fragment(
        f"help_center/{template}",
        visitor=visitor,
        brand=brand,
        direction=translation.direction(visitor.language),
        page_title=title,
        description=" ".join(description.split())[:SUMMARY_CHARS],
        canonical=canonical,
        alternates={each: visitor.url(path, each) for each, path in (paths or {}).items()},
        languages=links if len(links) > 1 else [],
        look=look_path(visitor),
        style=static_path(visitor, STYLE),
        script=static_path(visitor, SCRIPT),
        logo=logo_path(visitor),
        write_path=visitor.place(write_path) if write_path else "",
        **{"is_embedded": False} | values,
    )
    return VisitorPage(html, status)


def render_known(visitor: Visitor, template: str, title: str, **values: Markup | str) -> VisitorPage:
    """A page that search engines leave out, from a template that writes its title and then these values, in their
    order, once each. All other parts are rendered once for each language: a tenth of the time of a search."""
    known, key, catalog = visitor.library.rendered, (template, visitor.prefix, visitor.language), translation.spoken()
    of, parts = known.get(key, (None, ()))
    if of is not catalog:
        marks: dict[str, Any] = dict.fromkeys(values, _MARK)
        parts = tuple(map(Markup, render(visitor, template, title=_MARK, **marks).html.split(_MARK)))
        known[key] = (catalog, parts)
    first, *others = parts
    return VisitorPage(first + Markup().join(chain(*zip((title, *values.values()), others, strict=True))))


def static_path(visitor: Visitor, name: str) -> str:
    """The path of a static file of the help center."""
    return visitor.prefix + static_files.address(name)


def look_path(visitor: Visitor) -> str:
    """The path of the style sheet with the brand's color."""
    name = visitor.brand.accent.removeprefix("#").lower() or "plain"
    return f"{visitor.prefix}/look-{name}.css{_preview_query(visitor)}"


def logo_path(visitor: Visitor) -> str:
    """The path of the brand's logo, "" for none."""
    id = visitor.brand.logo_id
    return f"{visitor.prefix}/logo-{id}{_preview_query(visitor)}" if id else ""


def _preview_query(visitor: Visitor) -> str:
    """What opens a file of a brand that is not public yet."""
    return f"?{form_previews.PARAMETER}={visitor.preview}" if visitor.preview else ""


def json_page(value: object) -> VisitorPage:
    return VisitorPage(json.dumps(value, ensure_ascii=False), content_type=JSON)
