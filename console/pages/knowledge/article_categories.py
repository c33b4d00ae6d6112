"""Categories of help articles: their tree in order, and a form for one."""

from itertools import groupby

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.list_moves import move_entry
from console.pages.knowledge.article_list import CATEGORIES
from server.help_center import team_articles
from server.records import records
from server.translation import N_

URI = team_articles.CATEGORY
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), ""),
        Control("description", N_("Description"), N_("A sentence or two below its name in the help center.")),
        Control("parent_id", N_("Below"), "", none=N_("None: at the top")),
        Control("brand_id", N_("Brand"), N_("Other help centers do not show it."), none=N_("All brands")),
        Control("language", N_("Language"), N_("Such as de or pt-BR. Blank for the first language of the brand.")),
        Control(
            "translation_of_id",
            N_("Translation of"),
            N_("Choose the category that this one translates."),
            none=N_("None: it is an original"),
        ),
        Control("slug", N_("Web address"), N_("Made from the name if it is blank. Former addresses still lead here.")),
    ),
)


@page("GET", CATEGORIES)
def show_list(visit: Visit) -> PageResponse:
    """The categories, each level in its order."""
    lines = team_articles.overview(visit.ctx, "")
    levels = sorted((each for each in lines if each.id), key=lambda each: each.trail)
    return render(
        visit,
        "article_categories.html",
        levels=[(trail, list(level)) for trail, level in groupby(levels, lambda each: each.trail)],
        can_create=records.may(visit.ctx, URI, "create"),
        can_change=records.may(visit.ctx, URI, "update"),
    )


def _instead(visit: Visit) -> PageResponse | None:
    """The list, for workers who may not change categories."""
    operation = "update" if visit.record_id else "create"
    if visit.is_post or records.may(visit.ctx, URI, operation, visit.record_id):
        return None
    return see(f"/records/{URI}/{visit.record_id}" if visit.record_id else CATEGORIES)


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    if not fields.id:
        records.require(visit.ctx, URI, "create")
    return fields


declare_pages(
    RecordPages(
        CATEGORIES,
        FORM,
        "article_category.html",
        access="worker",
        takes_up=True,
        instead=_instead,
        fill=_fill,
        deleted=N_("{name} deleted. Its articles stay."),
    )
)


@page("POST", f"{CATEGORIES}/{{id}}/move")
def move(visit: Visit) -> PageResponse:
    """Moves a category up or down on its level: by one, or by as many as it was dragged."""
    category = lookup.record(visit, URI, visit.id)
    move_entry(visit, str(category["name"]), lambda by: team_articles.move_category(visit.ctx, visit.id, by))
    return see(f"{CATEGORIES}#category-{visit.id}")
