"""The search of the help center: results, and suggestions for unfinished words."""

from markupsafe import Markup

from console.help_center.visitor import Visitor, article_path
from console.help_center.visitor_page import VisitorPage, json_page, render_known
from console.html.templates import fragment, macros
from server.digits import whole_in
from server.help_center import article_search, contact_forms, visit_counts
from server.help_center.public_library import PublicArticle, plain_texts
from server.markup.typed_text import clean_query
from server.translation import _

PAGE, MAX_RESULT_PAGES = 15, 50
MAX_ITEMS = 4096  # rendered results that are cached for each language
MAX_SUGGESTED = 8
TEXT_CHARS = 180


def search(visitor: Visitor) -> VisitorPage:
    """The articles with the words of `q`. A search that finds nothing is counted, without who searched. On the event
    loop it raises OutOfSteps, unless all its words and results are known."""
    query = clean_query(visitor.query.text("q", ""))
    number = whole_in(visitor.query.text("page", "1"), 1, MAX_RESULT_PAGES) or 1
    hits = article_search.search(visitor.service, visitor.shelf, query)
    if query and not hits:
        visit_counts.visit_counts(visitor.service).count_miss(
            visitor.brand.id, visitor.language, query, visitor.ctx.now
        )
    path = contact_forms.contact_path(visitor.library.forms)
    has_more = len(hits) > number * PAGE and number < MAX_RESULT_PAGES
    found = fragment(
        "help_center/results.html",
        query=query,
        count=len(hits),
        items=_items(visitor, hits.part((number - 1) * PAGE, number * PAGE)),
        before=visitor.place("/search", q=query, page=str(number - 1)) if number > 1 else "",
        after=visitor.place("/search", q=query, page=str(number + 1)) if has_more else "",
        contact=visitor.place(path, subject=query) if query and not hits and path else "",
    )
    page = render_known(visitor, "search.html", query or _("Search"), query=query, results=found)
    page.is_cacheable = bool(hits)  # each search without results is counted
    return page


def _items(visitor: Visitor, articles: list[PublicArticle]) -> list[Markup]:
    """The articles of a page of results. Each is rendered once, on a thread: a tenth of the time of a search."""
    rendered: dict[int, Markup] = visitor.library.rendered.setdefault((visitor.prefix, visitor.language), {})
    missing = [each for each in articles if each.id not in rendered]
    if missing:
        visitor.service.store.require_thread()
    texts = plain_texts(visitor.service, missing)
    item = macros("help_center/parts.html")["result"]
    fresh = {
        each.id: item(each, visitor.place(article_path(each)), each.summary or shortened(texts.get(each.id, "")))
        for each in missing
    }
    if len(rendered) < MAX_ITEMS:
        rendered.update(fresh)
    return [fresh[each.id] if each.id in fresh else rendered[each.id] for each in articles]


def suggest(visitor: Visitor) -> VisitorPage:
    """The first articles for words that are being typed, as JSON."""
    query = clean_query(visitor.query.text("q", ""))
    hits = article_search.search(visitor.service, visitor.shelf, query, is_unfinished=True)
    articles = hits.part(0, MAX_SUGGESTED)
    return json_page([{"title": each.title, "path": visitor.place(article_path(each))} for each in articles])


def shortened(text: str) -> str:
    """The beginning of a text, up to a word."""
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rpartition(' ')[0] or text[:TEXT_CHARS]}…"
