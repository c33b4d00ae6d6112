"""The help pages that come with the program: their contents, a search over them, and each with a list of its parts."""

from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.search.articles import BASE, CONTENTS, MAX_FOUND, Article, articles, found
from server.errors import NotFound, nearest
from server.translation import _


@page("GET", BASE)
def show_contents(visit: Visit) -> PageResponse:
    """All pages, or where the words of a search stand."""
    pages = articles(visit.service.base_url)
    query = visit.query.text("q", "").strip()
    if query:
        hits = found(pages, query)
        return render(visit, "help_found.html", query=query, hits=hits, most=MAX_FOUND)
    return render(visit, "help.html", query="", groups=groups(pages), below=below(pages))


@page("GET", f"{BASE}/{{name}}")
def show(visit: Visit) -> PageResponse:
    """One page. Raises NotFound."""
    return _shown(visit, visit.arguments["name"])


@page("GET", f"{BASE}/{{folder}}/{{name}}")
def show_in_folder(visit: Visit) -> PageResponse:
    """One page of a folder. Raises NotFound."""
    return _shown(visit, f"{visit.arguments['folder']}/{visit.arguments['name']}")


def groups(pages: tuple[Article, ...]) -> list[tuple[str, list[Article]]]:
    """The pages that are in no folder, by the titles of CONTENTS."""
    by_name = {each.name: each for each in pages}
    return [(title, [by_name[name] for name in names]) for title, names in CONTENTS]


def below(pages: tuple[Article, ...]) -> dict[str, list[Article]]:
    """{name of a page: the pages of its folder}, for those that have some."""
    by_folder: dict[str, list[Article]] = {}
    for each in pages:
        if each.folder:
            by_folder.setdefault(each.folder, []).append(each)
    return by_folder


def _shown(visit: Visit, name: str) -> PageResponse:
    pages = articles(visit.service.base_url)
    place = next((place for place, each in enumerate(pages) if each.name == name), None)
    if place is None:
        raise NotFound(
            _("There is no help page '{name}'{pages}.", name=name, pages=nearest(name, [each.name for each in pages]))
        )
    article = pages[place]
    all_groups = groups(pages)
    beside = below(pages).get(article.folder) or next(each for _, each in all_groups if article in each)
    return render(
        visit,
        "help_page.html",
        article=article,
        beside=beside,
        over=next((each for each in pages if each.name == article.folder), None),
        previous=pages[place - 1] if place else None,
        next=pages[place + 1] if place + 1 < len(pages) else None,
    )
