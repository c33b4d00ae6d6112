"""The pages that visitors read: home, categories and articles."""

from urllib.parse import unquote

from markupsafe import Markup

from console.help_center import visitor_languages
from console.help_center.visitor import Visitor, article_path, category_path
from console.help_center.visitor_page import VisitorPage, render, see
from server import clock
from server.errors import NotFound
from server.help_center import public_files, public_library, visit_counts, votes
from server.help_center.article_text import ArticleText, arrange, file_path
from server.help_center.public_library import PublicArticle
from server.records.stored_files import StoredFile
from server.translation import _
from server.web.endpoint_call import id_of

MAX_POPULAR, MAX_OTHERS, MAX_RELATED = 6, 60, 5
LEAST_SECTIONS = 3  # in a table of contents
SHORT_WORD = 4  # characters; shorter words do not relate titles


def home(visitor: Visitor) -> VisitorPage:
    """Renders the categories, the most popular articles, and articles without a category."""
    other = _preferred_language(visitor)
    if other:
        page = see(visitor.place("/", other), 302)
        page.varies = ("Accept-Language", "Sec-Fetch-Site")
        return page
    shelf = visitor.shelf
    popular = visit_counts.most_read(visitor.service, set(shelf.articles), MAX_POPULAR)
    page = render(
        visitor,
        "home.html",
        paths={each: "/" for each in visitor.brand.languages if visitor_languages.is_written(visitor.library, each)},
        canonical=visitor.url("/"),
        shelf=shelf,
        categories=[(each, visitor.place(category_path(each))) for each in shelf.below(0)],
        popular=_links(visitor, [shelf.articles[id] for id in popular]),
        others=_links(visitor, shelf.held(0)[:MAX_OTHERS]),
    )
    page.varies = ("Accept-Language", "Sec-Fetch-Site")
    return page


def _preferred_language(visitor: Visitor) -> str:
    """Returns the preferred language of a visitor who arrives from another site, "" to stay in the present language."""
    headers = visitor.request.headers
    is_first = visitor.language == visitor.library.first_language
    referring = headers.get("Referer", "").split("/", 3)[2:3]
    is_inside = headers.get("Sec-Fetch-Site") == "same-origin" or referring == [headers.get("Host")]
    if not is_first or is_inside or len(visitor.brand.languages) < 2:
        return ""
    language = visitor_languages.preferred(headers.get("Accept-Language", ""), visitor.library)
    return "" if language == visitor.language else language


def category(visitor: Visitor) -> VisitorPage:
    """The categories below one, and its articles. Raises NotFound."""
    requested = visitor.library.category(_id(visitor))
    shelf = visitor.shelf
    current = shelf.categories.get(requested.original_id) if requested is not None else None
    if requested is None or current is None:
        raise NotFound(_("There is no such page."))
    path = category_path(current)
    if not _is_at(visitor, path):
        return see(visitor.place(path), 301 if current.id == requested.id else 302)
    same = {
        language: category_path(other.categories[current.original_id])
        for language, other in visitor.library.shelves.items()
        if current.original_id in other.categories and visitor_languages.is_written(visitor.library, language)
    }
    return render(
        visitor,
        "category.html",
        title=current.name,
        paths=same,
        canonical=visitor.url(path),
        description=current.description,
        category=current,
        trail=[(each.name, visitor.place(category_path(each))) for each in shelf.trail(current.parent_id)],
        shelf=shelf,
        categories=[(each, visitor.place(category_path(each))) for each in shelf.below(current.original_id)],
        articles=_links(visitor, shelf.held(current.original_id)),
    )


def article(visitor: Visitor) -> VisitorPage:
    """An article with its contents, files, related articles and the question whether it helped. Raises NotFound."""
    current = _article(visitor)
    if isinstance(current, VisitorPage):
        return current
    html = public_library.article_html(visitor.service, current, visitor.brand)
    if html is None:
        raise NotFound(_("There is no such page."))
    files = public_files.files_of(visitor.service, current)
    text = _text(visitor, current, html, files)
    shelf = visitor.shelf
    translations = visitor.library.translations(current)
    trail = shelf.trail(current.categories[0]) if current.categories else []
    description = current.summary or public_library.plain_texts(visitor.service, [current]).get(current.id, "")
    page = render(
        visitor,
        "article.html",
        title=current.title,
        paths={language: article_path(each) for language, each in translations.items()},
        canonical=visitor.url(article_path(current), current.language),
        description=description,
        article=current,
        path=visitor.place(article_path(current)),
        content=Markup(text.html),  # sanitized when it was stored
        sections=text.sections if len(text.sections) >= LEAST_SECTIONS else (),
        trail=[(each.name, visitor.place(category_path(each))) for each in trail],
        files=[(each, _file_place(visitor, current, each)) for each in files if each.id not in text.files],
        related=_links(visitor, related(visitor, current)),
        day=visitor_languages.long_day(visitor.language, current.updated),
        moment=clock.utc_text(current.updated),
        is_other_language=current.language != visitor.language,
        other_language=visitor_languages.own_name(current.language, visitor.brand.languages),
        vote=_vote_shown(visitor),
        most=votes.MAX_COMMENT_CHARS,
    )
    page.modified, page.article_id = current.updated, current.id
    page.is_cacheable = not _vote_shown(visitor)
    return page


def _article(visitor: Visitor) -> PublicArticle | VisitorPage:
    """The article of a path, or the redirect to its address in the language of the visitor. Raises NotFound."""
    requested = visitor.library.article(_id(visitor))
    if requested is None:
        raise NotFound(_("There is no such page."))
    translation = visitor.shelf.by_original(requested.original_id)
    if translation is None:  # neither in this language nor in the first one
        return see(visitor.place(article_path(requested), requested.language), 302)
    path = article_path(translation)
    if translation.id != requested.id:
        return see(visitor.place(path), 302)  # temporary, because the translation may be deleted
    return translation if _is_at(visitor, path) else see(visitor.place(path))


def vote(visitor: Visitor) -> VisitorPage:
    """Stores whether an article helped, and returns to it. Raises NotFound, TooLarge."""
    requested = visitor.library.article(_id(visitor))
    if requested is None:
        raise NotFound(_("There is no such page."))
    choice = visitor.form.text("helpful", "")
    if choice not in ("yes", "no"):
        return see(visitor.place(article_path(requested)), 303)
    comment = votes.clean_comment(visitor.form.text("comment", ""))
    page = see(visitor.place(article_path(requested), helpful="sent" if comment else choice), 303)
    page.headers["Location"] += "#helpful"
    page.write = votes.vote_write(requested, visitor.person, choice == "yes", comment, visitor.ctx.now)
    return page


def _vote_shown(visitor: Visitor) -> str:
    """Returns the vote in the query: yes, no, or sent for a vote with a comment; "" without a vote."""
    choice = visitor.query.text("helpful", "") if visitor.request.query else ""
    return choice if choice in ("yes", "no", "sent") else ""


def related(visitor: Visitor, article: PublicArticle) -> list[PublicArticle]:
    """Articles of the same categories, those with most words of the title first."""
    words = _words(article.title)
    near = {each.id: each for id in article.categories for each in visitor.shelf.held(id) if each.id != article.id}
    ranked = sorted(near.values(), key=lambda each: (-len(words & _words(each.title)), each.position, each.id))
    return ranked[:MAX_RELATED]


def _words(title: str) -> set[str]:
    return {each for each in title.casefold().split() if len(each) >= SHORT_WORD}


def _text(visitor: Visitor, article: PublicArticle, html: str, files: list[StoredFile]) -> ArticleText:
    by_id = {each.id: _file_place(visitor, article, each) for each in files}
    return arrange(html, visitor.service.base_url, visitor.origin, lambda id: by_id.get(id, ""))


def _file_place(visitor: Visitor, article: PublicArticle, file: StoredFile) -> str:
    return visitor.prefix + file_path(article.id, file.id, file.name)


def _links(visitor: Visitor, articles: list[PublicArticle]) -> list[tuple[PublicArticle, str]]:
    return [(each, visitor.place(article_path(each))) for each in articles]


def _id(visitor: Visitor) -> int:
    return id_of(visitor.arguments["id"])


def _is_at(visitor: Visitor, path: str) -> bool:
    """Whether this is the path of the request, compared without percent-encoding."""
    return unquote(visitor.path) == unquote(path)
