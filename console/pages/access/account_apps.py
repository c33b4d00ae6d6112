"""The apps that may act in one's own name, and the tokens of one's own: what each may do, when it last did, and ending
it."""

from console.html.rendering import render
from console.html.ui import PAGE_ROWS
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.apps import authorized_apps, token_lists
from server.apps.token_lists import TokenSelection
from server.records import records
from server.translation import _

BASE = "/account/apps"


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """All apps, and a page of the tokens."""
    ctx, apps = visit.ctx, token_lists.own_apps(visit.ctx)
    apps_shown, apps_page = lookup.part(visit, apps, "apps")
    page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    return render(
        visit,
        "account_apps.html",
        apps=authorized_apps.with_scopes(visit.ctx, apps_shown),
        apps_page=apps_page,
        apps_total=len(apps),
        tokens=token_lists.own(ctx, PAGE_ROWS, page),
        page=page,
        total=token_lists.count(ctx, TokenSelection(worker_id=visit.actor.worker_id)),
    )


@page("POST", f"{BASE}/{{id}}/revoke")
def revoke(visit: Visit) -> PageResponse:
    """End all that an app may do in one's name."""
    token_lists.revoke_app(visit.ctx, visit.id)
    visit.flash(_("The app can no longer act on your behalf."))
    return see(BASE)


@page("POST", "/account/tokens/{id}/revoke")
def revoke_token(visit: Visit) -> PageResponse:
    """Revokes one of the worker's own tokens. Raises NotFound for a token of somebody else, for administrators as
    well."""
    token_lists.revoke(visit.ctx, visit.id, is_own=True)
    visit.flash(_("The token no longer works."))
    return see(f"{BASE}#tokens")
