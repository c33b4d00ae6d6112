"""All help articles by category: their status, languages and order."""

from console.help_center.visitor_languages import own_name
from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.list_moves import move_entry
from server.digits import is_whole
from server.errors import HelpdeskError, NotFound
from server.help_center import team_articles
from server.help_center.team_articles import CategoryLine
from server.records import records
from server.translation import N_, _, shown

URI, BASE = team_articles.URI, "/articles"
CATEGORIES = f"{BASE}/categories"
MANY = 50  # articles on a page; beyond that, each category shows its first ones and has its own pages
LEAST = 2  # articles of a category on the page of all
# {status: kind of badge and word}
STATUSES = {
    "draft": ("warn", N_("Draft")),
    "internal": ("muted", N_("Internal")),
    "published": ("ok", N_("Published")),
}
FILTERS = ("q", "status", "language", "missing", "category")


@page("GET", BASE)
def show_list(visit: Visit) -> PageResponse:
    """Lists the articles by category, or the articles of one category, filtered by words, status, language or missing
    translation."""
    form, languages = Form.sent(visit.query, FILTERS), team_articles.languages(visit.ctx)
    sections: list[CategoryLine] = []
    try:
        sections = team_articles.overview(
            visit.ctx,
            form.text("q"),
            status=form.get("status") if form.get("status") in STATUSES else "",
            language=form.get("language") if form.get("language") in languages else "",
            missing=form.get("missing"),
        )
    except HelpdeskError as error:
        form.fail("q", sentence(error.message))
    is_filtered = any(form.text(name) for name in FILTERS[:-1])
    chosen = int(form.text("category")) if is_whole(form.text("category")) else None
    if chosen is not None:
        sections = [each for each in sections if each.id == chosen]
    elif is_filtered:
        sections = [each for each in sections if each.articles]
    total = sum(len(each.articles) for each in sections)
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    most = MANY if chosen is not None or total <= MANY else max(LEAST, MANY // len(sections))
    return render(
        visit,
        "articles.html",
        form.status,
        form=form,
        sections=sections,
        total=total,
        most=most,
        number=number,
        start=(number - 1) * MANY if chosen is not None else 0,
        is_filtered=is_filtered,
        chosen=chosen,
        statuses=STATUSES,
        status_options=[("", _("All")), *((name, shown(label)) for name, (_kind, label) in STATUSES.items())],
        languages=languages,
        name_of=own_name,
        can_create=records.may(visit.ctx, URI, "create"),
        can_create_category=records.may(visit.ctx, team_articles.CATEGORY, "create"),
        can_change=records.may(visit.ctx, URI, "update"),
        can_publish=team_articles.may_publish(visit.ctx),
    )


@page("POST", f"{BASE}/in/{{name}}/{{id}}/move")
def move(visit: Visit) -> PageResponse:
    """Moves an article within a category, or among those without one (0), by one place or as far as it was dragged."""
    category = visit.arguments["name"]
    if not is_whole(category):
        raise NotFound(_("This category does not exist."))
    title = records.retrieve(visit.ctx, URI, visit.id)["title"]
    try:
        move_entry(visit, str(title), lambda by: team_articles.move_article(visit.ctx, int(category), visit.id, by))
    except NotFound as error:
        visit.flash(sentence(error.message))
    return see(f"{BASE}#article-{category}-{visit.id}")
