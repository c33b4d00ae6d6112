"""The inbox: where a worker's day begins."""

from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.tickets import inbox


@page("GET", inbox.PATH)
def show(visit: Visit) -> PageResponse:
    """Shows one of the worker's lists, with links to the others."""
    view = inbox.view_of(visit)
    return worklist.page(visit, inbox.of_view(view), "inbox.html", shown_view=view.name, views=inbox.views(visit))
