"""The editor of help articles: text with pictures and preview, status, languages, deletion with an undo."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.help_center import colors
from console.help_center.article_pages import LEAST_SECTIONS
from console.help_center.visitor_languages import own_name
from console.help_center.visitor_page import STYLE
from console.html.form import Form
from console.html.templates import fragment
from console.http import static_files
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.lookup import LABEL
from console.pages.knowledge.article_list import BASE, STATUSES
from console.tickets.frames import framed
from server.digits import is_whole
from server.errors import HelpdeskError
from server.help_center import article_links, team_articles
from server.help_center.article_text import arrange
from server.record_types.kb.article_content import MARKDOWN, format_number, to_html
from server.record_types.shared import brands, paths
from server.records import records, sheet
from server.records.records import SearchRequest
from server.translation import N_, _, shown

URI, PREVIEW = team_articles.URI, "/-/article-preview"
FORM_BYTES = 18 * 1024 * 1024  # the longest text, and what forms add to it
MANY_CATEGORIES = 500
FORMATS = (("2", N_("Markdown")), ("1", N_("HTML")), ("0", N_("Plain text")))
FORM = RecordForm(
    URI,
    (
        Control("title", N_("Title"), ""),
        Control(
            "summary", N_("Summary"), N_("A sentence or two for lists and search results."), attributes={"rows": 2}
        ),
        Control(
            "content",
            N_("Text"),
            N_("Markdown. Paste or drop pictures into the text."),
            "area",
            attributes={"rows": 20},
        ),
        Control("categories", N_("Categories"), "", "ticks"),
        Control("language", N_("Language"), "", "choice", none=N_("First language of the brand")),
        Control("brand_id", N_("Brand"), N_("Other help centers do not show it."), none=N_("All brands")),
        Control("slug", N_("Web address"), N_("Made from the title if it is blank. Former addresses still lead here.")),
        Control("format", N_("Format"), "", "choice", options=FORMATS),
        Control("translation_of_id", "", "", "hidden"),
    ),
)
# {button: the status that it sets}
BUTTONS = {"draft": "draft", "internal": "internal", "publish": "published", "unpublish": "internal"}
SAID = {
    "draft": N_("{name} is a draft."),
    "internal": N_("{name} is internal: workers can read it."),
    "published": N_("{name} is published."),
}


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    """Completes the controls by the categories and languages that there are, and a translation by its original."""
    if not fields.id:
        records.require(visit.ctx, URI, "create")
    found = records.search(
        visit.ctx, team_articles.CATEGORY, SearchRequest("sort:position,id", MANY_CATEGORIES, expand=LABEL)
    )
    ticks = [(str(each["id"]), each["name"], each["language"]) for each in found["results"] if not _is_copy(each)]
    languages = [(each, own_name(each)) for each in team_articles.languages(visit.ctx)]
    fields.change(
        replace(fields.control("categories"), ticks=ticks),
        replace(fields.control("language"), options=languages),
    )
    original_id = fields.stored.get("translation_of_id") or _id(visit.query.text("translation_of", ""))
    if fields.id:
        fields.before.several["categories"] = _categories(visit, fields.id)
    elif original_id and records.may_read(visit.ctx, URI, original_id):
        original = records.retrieve(visit.ctx, URI, original_id, "source")
        fields.fill(
            title=original["title"],
            summary=original["summary"],
            content=original["source"],
            format=str(original["format"]),
            translation_of_id=str(original["translation_of_id"] or original_id),
            language=visit.query.text("language", ""),
        )
        fields.before.several["categories"] = _categories(visit, original_id)
    else:
        language = visit.query.text("language", "")
        fields.fill(format=str(MARKDOWN), title=visit.query.text("title", "")[:255], language=language)
        fields.before.several["categories"] = [visit.query.text("category", "")]
    return fields


def _is_copy(category: Mapping[str, Any]) -> bool:
    return bool(category["translation_of_id"])


def _id(text: str) -> int:
    return int(text) if is_whole(text) else 0


def _categories(visit: Visit, id: int) -> list[str]:
    return list(records.retrieve(visit.ctx, URI, id, "categories")["categories"])


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    id, status = fields.id, str(fields.stored.get("status", ""))
    original = int(fields.stored.get("translation_of_id") or id)
    versions = _language_versions(visit, original) if id else {}
    known = team_articles.languages(visit.ctx)
    has_brands = bool(records.search(visit.ctx, "brand", SearchRequest("", 1))["results"])
    if not has_brands:
        fields.change(replace(fields.control("brand_id"), kind="hidden"))
    return fields.render(
        "article.html",
        state=status,
        statuses=STATUSES,
        can_publish=team_articles.may_publish(visit.ctx),
        can_delete=bool(id) and records.may(visit.ctx, URI, "delete", id),
        versions=versions,
        missing=[each for each in known if each not in versions and each != _own_language(versions, known)],
        original=original,
        name_of=own_name,
        public=_public_address(visit, fields),
        attached=sheet.sheet(visit.ctx, URI, id).files if id else (),
        preview=PREVIEW,
    )


def _public_address(visit: Visit, fields: OpenForm) -> str:
    """The address at which visitors read an article, "" if they cannot."""
    stored = fields.stored
    return (
        article_links.public_addresses(visit.ctx, [stored | {"id": fields.id}]).get(fields.id, "") if fields.id else ""
    )


def _own_language(versions: Mapping[str, Any], known: list[str]) -> str:
    """The language that an article without one is written in."""
    return known[0] if "" in versions and known else ""


def _language_versions(visit: Visit, original: int) -> dict[str, dict[str, Any]]:
    """The article and its translations by language."""
    search = SearchRequest(f"id:{original} OR translationOf.id:{original}", 100)
    return {each["language"]: each for each in records.search(visit.ctx, URI, search)["results"]}


def _status(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The status that the pressed button sets."""
    button = visit.form.text("do", "")
    if button in BUTTONS:
        return {"status": BUTTONS[button]}
    return {} if fields.id else {"status": "draft"}


def _stored(visit: Visit, fields: OpenForm, record: dict[str, Any]) -> PageResponse:
    """Attaches the uploaded files, and shows the editor with a message."""
    ids = [int(each) for each in visit.form.text_list("file_id") if is_whole(each)]
    if ids:
        team_articles.attach_files(visit.ctx, record["id"], ids)
    status = record["status"]
    if not fields.id or status != fields.stored["status"]:
        visit.flash(_(SAID[status], name=record["title"]))
    else:
        fields.flash_saved(_("{name} saved.", name=record["title"]))
    return see(f"{BASE}/{record['id']}")


def _instead(visit: Visit) -> PageResponse | None:
    """The page of the record, for workers who may read an article and not change it."""
    if not visit.record_id or visit.is_post:
        return None
    article = records.retrieve(visit.ctx, URI, visit.record_id)
    may_change = records.may(visit.ctx, URI, "update", visit.record_id)
    if may_change and (article["status"] != "published" or team_articles.may_publish(visit.ctx)):
        return None
    return see(paths.record(URI, visit.record_id))


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _show,
        access="worker",
        form_bytes=FORM_BYTES,
        takes_up=True,
        instead=_instead,
        fill=_fill,
        more=_status,
        after_create=_stored,
        after_save=_stored,
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/delete")
def delete(visit: Visit) -> PageResponse:
    """Deletes an article, with an undo. Raises NotFound, Forbidden."""
    title = records.retrieve(visit.ctx, URI, visit.id)["title"]
    undo = f"{BASE}/{visit.id}/restore" if team_articles.delete_article(visit.ctx, visit.id) else ""
    visit.flash(_("{name} deleted.", name=title), undo)
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/restore")
def restore(visit: Visit) -> PageResponse:
    """Restores an article that the worker has deleted. Raises NotFound, Forbidden."""
    visit.flash(_("{name} restored.", name=team_articles.restore_article(visit.ctx, visit.id)))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/detach")
def detach(visit: Visit) -> PageResponse:
    """Removes a file from an article. Raises NotFound, Forbidden."""
    name = team_articles.detach_file(visit.ctx, visit.id, visit.form.id("file", required=True))
    visit.flash(_("{name} removed.", name=name))
    return see(f"{BASE}/{visit.id}#files")


@page("GET", PREVIEW)
def show_nothing(visit: Visit) -> PageResponse:
    """The frame of a new article before its preview is shown."""
    return _preview(visit, "", "", 0)


@page("GET", f"{PREVIEW}/{{id}}")
def show_preview(visit: Visit) -> PageResponse:
    """Renders the stored text as visitors see it, for a frame. Raises NotFound, Forbidden."""
    article = records.retrieve(visit.ctx, URI, visit.id)
    return _preview(visit, article["title"], article["content"], article["brand_id"])


@page("POST", PREVIEW, form_bytes=FORM_BYTES)
def preview(visit: Visit) -> PageResponse:
    """Renders the submitted text as visitors see it, for a frame."""
    format = format_number(visit.form.text("format", "")) or 0
    try:
        html, wrong = to_html(visit.form.text("content", "").replace("\r\n", "\n"), format), ""
    except HelpdeskError as error:
        html, wrong = "", shown(error.message)
    title, brand_id = visit.form.text("title", ""), _id(visit.form.text("brand_id", ""))
    return _preview(visit, title, html, brand_id, wrong)


def _preview(visit: Visit, title: str, html: str, brand_id: int, wrong: str = "") -> PageResponse:
    """A page with the look of a brand's help center. html: sanitized. Files are read with the rights of the worker."""
    known = records.reading(visit.ctx, brands.all_brands)
    brand = next((each for each in known if each.id == brand_id), known[0] if known else None)
    text = arrange(html, visit.service.base_url, visit.service.base_url, paths.file)
    look = static_files.respond(static_files.address(STYLE))
    assert look is not None and isinstance(look.body, bytes)
    document = fragment(
        "article_preview.html",
        title=title,
        language=visit.language.replace("_", "-"),
        content=Markup(text.html),
        sections=text.sections if len(text.sections) >= LEAST_SECTIONS else (),
        style=Markup(look.body.decode() + colors.accent_css(brand.accent if brand else "")),
        wrong=wrong,
    )
    return framed(document)
