"""The help pages that come with the program: their contents, a search over them, and each with a list of its parts."""

from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.help.articles import BASE, MAX_FOUND, articles, found, groups, place_of, subpages


@page("GET", BASE)
def show_contents(visit: Visit) -> PageResponse:
    """All pages, or where the words of a search stand."""
    pages = articles(visit.service.base_url)
    query = visit.query.text("q", "").strip()
    if query:
        return render(visit, "help_found.html", query=query, hits=found(pages, query), most=MAX_FOUND)
    return render(visit, "help.html", query="", groups=groups(pages), below=subpages(pages))


@page("GET", f"{BASE}/{{name}}")
def show(visit: Visit) -> PageResponse:
    """One page. Raises NotFound."""
    return _shown(visit, visit.arguments["name"])


@page("GET", f"{BASE}/{{folder}}/{{name}}")
def show_in_folder(visit: Visit) -> PageResponse:
    """One page of a folder. Raises NotFound."""
    return _shown(visit, f"{visit.arguments['folder']}/{visit.arguments['name']}")


def _shown(visit: Visit, name: str) -> PageResponse:
    place = place_of(articles(visit.service.base_url), name)
    return render(visit, "help_page.html", place=place, article=place.article)
