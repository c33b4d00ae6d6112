"""The inbox: where a worker's day begins. Source: ours."""

from console import worklist
from console.desk import inbox
from console.page_response import PageResponse
from console.routes import page
from console.visit import Visit


@page("GET", inbox.PATH)
def show(visit: Visit) -> PageResponse:
    """One of the worker's lists, with the way to the others."""
    view = inbox.view_of(visit)
    return worklist.page(visit, inbox.of_view(view), "inbox.html", shown_view=view.name, views=inbox.views(visit))
