"""The search of the help center: results, and suggestions for unfinished words."""

from console.help_center.visitor import Visitor, article_path
from console.help_center.visitor_page import VisitorPage, json_page, render
from server.digits import whole_in
from server.help_center import article_search, contact_forms, visit_counts
from server.help_center.public_library import plain_texts
from server.markup.typed_text import clean_query

PAGE, MAX_RESULT_PAGES = 15, 50
MAX_SUGGESTED = 8
TEXT_CHARS = 180


def search(visitor: Visitor) -> VisitorPage:
    """The articles with the words of `q`. A search that finds nothing is counted, without who searched."""
    query = clean_query(visitor.query.text("q", ""))
    number = whole_in(visitor.query.text("page", "1"), 1, MAX_RESULT_PAGES) or 1
    articles = article_search.search(visitor.service, visitor.shelf, query) if query else []
    if query and not articles:
        visit_counts.visit_counts(visitor.service).count_miss(
            visitor.brand.id, visitor.language, query, visitor.ctx.now
        )
    results = articles[(number - 1) * PAGE : number * PAGE]
    texts = plain_texts(visitor.service, results)
    has_more = len(articles) > number * PAGE and number < MAX_RESULT_PAGES
    page = render(
        visitor,
        "search.html",
        title=query,
        query=query,
        count=len(articles),
        number=number,
        results=[
            (each, visitor.place(article_path(each)), each.summary or shortened(texts.get(each.id, "")))
            for each in results
        ],
        before=visitor.place("/search", q=query, page=str(number - 1)) if number > 1 else "",
        after=visitor.place("/search", q=query, page=str(number + 1)) if has_more else "",
        contact=visitor.place(path, subject=query) if query and not articles and (path := _contact(visitor)) else "",
    )
    page.is_cacheable = bool(articles)  # each search without results is counted
    return page


def suggest(visitor: Visitor) -> VisitorPage:
    """The first articles for words that are being typed, as JSON."""
    query = clean_query(visitor.query.text("q", ""))
    articles = article_search.search(visitor.service, visitor.shelf, query, is_unfinished=True) if query else []
    return json_page(
        [{"title": each.title, "path": visitor.place(article_path(each))} for each in articles[:MAX_SUGGESTED]]
    )


def _contact(visitor: Visitor) -> str:
    return contact_forms.contact_path(visitor.service, visitor.brand, visitor.language)


def shortened(text: str) -> str:
    """The beginning of a text, up to a word."""
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rpartition(' ')[0] or text[:TEXT_CHARS]}…"
