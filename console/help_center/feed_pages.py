"""What programs read: the site map, the Atom feed (RFC 4287), and robots.txt."""

from xml.sax.saxutils import escape, quoteattr

from console.help_center import visitor_languages
from console.help_center.visitor import Visitor, article_path, category_path
from console.help_center.visitor_page import VisitorPage
from server.clock import utc_text
from server.help_center.public_library import PublicArticle, plain_texts
from server.markup.typed_text import clean_lines

MAX_ENTRIES = 30
MAX_ADDRESSES = 45_000  # the protocol allows 50,000
XML = '<?xml version="1.0" encoding="utf-8"?>\n'


def sitemap(visitor: Visitor) -> VisitorPage:
    """All pages in all languages, each with its translations."""
    library = visitor.library
    written = [each for each in visitor.brand.languages if visitor_languages.is_written(library, each)]
    lines = []
    for language in written:
        shelf = library.shelf(language)
        lines.append(_address(visitor, language, dict.fromkeys(written, "/"), shelf.updated))
        for category in shelf.categories.values():
            same = {
                each: category_path(library.shelf(each).categories[category.original_id])
                for each in written
                if category.original_id in library.shelf(each).categories
            }
            lines.append(_address(visitor, language, same, 0))
        for article in shelf.articles.values():
            if article.language == language:
                same = {each: article_path(other) for each, other in library.translations(article).items()}
                lines.append(_address(visitor, language, same, article.updated))
    body = "".join(lines[:MAX_ADDRESSES])
    text = (
        f'{XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n{body}</urlset>\n'
    )
    return VisitorPage(text, content_type="application/xml; charset=utf-8", modified=_updated(visitor))


def _address(visitor: Visitor, language: str, paths: dict[str, str], updated: int) -> str:
    """An entry of the site map. paths: of the page, by language."""
    others = "".join(
        f'<xhtml:link rel="alternate" hreflang={quoteattr(each)} href={quoteattr(visitor.url(path, each))}/>'
        for each, path in paths.items()
        if len(paths) > 1
    )
    modified = f"<lastmod>{utc_text(updated)}</lastmod>" if updated else ""
    return f"<url><loc>{escape(visitor.url(paths[language], language))}</loc>{modified}{others}</url>\n"


def feed(visitor: Visitor) -> VisitorPage:
    """The newest articles of a language as an Atom feed."""
    articles = [each for each in visitor.shelf.articles.values() if each.language == visitor.language]
    newest = sorted(articles, key=lambda each: (-(each.published_at or each.updated), each.id))[:MAX_ENTRIES]
    texts = plain_texts(visitor.service, newest)
    home, address = visitor.url("/"), visitor.url("/articles.atom")
    entries = "".join(_entry(visitor, each, each.summary or texts.get(each.id, "")[:300]) for each in newest)
    text = (
        f'{XML}<feed xmlns="http://www.w3.org/2005/Atom" xml:lang={quoteattr(visitor.language)}>\n'
        f"<id>{escape(home)}</id><title>{escape(clean_lines(visitor.brand.name))}</title>"
        f"<updated>{utc_text(_updated(visitor))}</updated>"
        f"<author><name>{escape(clean_lines(visitor.brand.name))}</name></author>"
        f'<link rel="self" href={quoteattr(address)}/><link href={quoteattr(home)}/>\n{entries}</feed>\n'
    )
    return VisitorPage(text, content_type="application/atom+xml; charset=utf-8", modified=_updated(visitor))


def _entry(visitor: Visitor, article: PublicArticle, summary: str) -> str:
    address = escape(visitor.url(article_path(article), article.language))
    published = utc_text(article.published_at or article.updated)
    return (
        f"<entry><id>{address}</id><title>{escape(clean_lines(article.title))}</title>"
        f"<published>{published}</published><updated>{utc_text(article.updated)}</updated>"
        f'<link href="{address}"/><summary>{escape(clean_lines(summary))}</summary></entry>\n'
    )


def _updated(visitor: Visitor) -> int:
    return max((shelf.updated for shelf in visitor.library.shelves.values()), default=0)


def robots(visitor: Visitor) -> VisitorPage:
    """Leads search engines to the site map, and away from searches."""
    lines = ("User-agent: *", f"Disallow: {visitor.prefix}/search", f"Disallow: {visitor.prefix}/suggest")
    text = "\n".join((*lines, f"Sitemap: {visitor.origin}/sitemap.xml", ""))
    return VisitorPage(text, content_type="text/plain; charset=utf-8")
