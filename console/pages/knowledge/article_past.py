"""The versions of a help article: what changed, by whom, and how to get a text back."""

from console.html import diffs
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.knowledge.article_list import BASE, STATUSES
from server.errors import HelpdeskError, NotFound
from server.help_center import article_history, team_articles
from server.record_types.shared.record_versions import MAX_VERSIONS
from server.records import records
from server.translation import N_, _

LABELS = {
    "title": N_("Title"),
    "summary": N_("Summary"),
    "content": N_("Text"),
    "format": N_("Format"),
    "status": N_("Status"),
}


@page("GET", f"{BASE}/{{id}}/history")
def show_history(visit: Visit, form: Form | None = None, number: int = 0) -> PageResponse:
    """The versions of an article. `version` shows one, compared with the one before or with now."""
    form = form or Form()
    article = records.retrieve(visit.ctx, team_articles.URI, visit.id)
    versions = article_history.list_article_versions(visit.ctx, visit.id)
    number = number or visit.query.id("version", 0)
    against = "now" if visit.query.text("against", "before") == "now" else "before"
    version, differing = None, {}
    if number:
        try:
            version = article_history.compare_article(visit.ctx, visit.id, number, is_with_now=against == "now")
            differing = {LABELS[name]: diffs.compared(*texts) for name, texts in version.differing.items()}
        except NotFound as error:
            form.refuse(error)
    return render(
        visit,
        "article_history.html",
        form.status,
        article=article,
        versions=versions,
        form=form,
        labels=LABELS,
        version=version,
        differing=differing,
        number=number,
        against=against,
        statuses=STATUSES,
        most=MAX_VERSIONS,
        can_change=records.may(visit.ctx, team_articles.URI, "update", visit.id),
    )


@page("POST", f"{BASE}/{{id}}/history/restore")
def restore_version(visit: Visit) -> PageResponse:
    """Restores the texts of a version, as one more change. The status stays."""
    number = visit.form.id("version", required=True)
    try:
        before = article_history.restore_version(visit.ctx, visit.id, number)
    except HelpdeskError as error:
        return show_history(visit, Form().refuse(error), number)
    visit.flash(_("Version {number} restored.", number=number), visit.path, version=str(before))
    return see(f"{BASE}/{visit.id}/history")
