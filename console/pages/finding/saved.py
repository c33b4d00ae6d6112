"""Saving the search of a list under a name."""

from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.worklists import asked_list, back_to_list
from server.errors import HelpdeskError
from server.people import saved_searches
from server.records import records
from server.translation import _, shown

PATH, FORGET = "/-/saved-searches", "/-/saved-searches/forget"


@page("POST", PATH, creates=True)
def save(visit: Visit) -> PageResponse:
    """Saves the search of a list and shows it. Mistakes are shown above the list. Raises NotFound."""
    listing = asked_list(visit)
    back = back_to_list(visit, listing.path)
    name, query = visit.form.text("name", "").strip(), visit.form.text("query", "").strip()
    try:
        search = saved_searches.save(visit.ctx, listing.uri, name, query, visit.form.text("owner", ""))
    except HelpdeskError as error:
        visit.flash(_("Search not saved: {reason}", reason=shown(error.message)))
        return see(back)
    undo = {"id": str(search.id), "list": listing.path, "back": back}
    visit.flash(_("Search saved as “{name}”.", name=search.label), FORGET, **undo)
    return see(search.path)


@page("POST", FORGET)
def forget(visit: Visit) -> PageResponse:
    """Take it back. Raises NotFound, Forbidden."""
    listing = asked_list(visit)
    records.delete(visit.ctx, saved_searches.URI, visit.form.id("id", required=True))
    visit.flash(_("Saved search deleted."))
    return see(back_to_list(visit, listing.path))
