"""Settings › Developers › Assistants: the switch and the address of the tools at /mcp, the tools of each scope, and the
apps that use them."""

from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.access.token_resources import MCP_PATH
from server.apps import assistant_apps
from server.errors import HelpdeskError
from server.record_types.shared import assistant_scopes
from server.records import live_settings
from server.translation import _, ngettext
from server.web.assistants.tool_list import load
from server.web.oauth import is_safe

PATH = "/admin/assistants"


@page("GET", PATH, "proven admin")
def show(visit: Visit) -> PageResponse:
    """The switch, the address, the scopes with their tools, and the apps."""
    settings = visit.service.settings
    return render(
        visit,
        "assistants.html",
        path=PATH,
        is_on=settings.mcp,
        is_fixed=settings.is_given("mcp"),
        address=visit.service.base_url + MCP_PATH,
        is_safe=is_safe(visit.service.base_url),
        scopes=_scopes(),
        apps=assistant_apps.in_use(visit.ctx),
        rate=settings.mcp_rate_limit_per_minute,
    )


@page("POST", PATH, "proven admin")
def switch(visit: Visit) -> PageResponse:
    """Turns the tools on or off."""
    is_on = visit.form.text("mcp", "") == "1"
    try:
        live_settings.change(visit.ctx, {"mcp": "yes" if is_on else "no"})
    except HelpdeskError as error:
        visit.flash(error.message)
        return see(PATH)
    visit.flash(_("Assistants can use the tools now.") if is_on else _("The tools are off."))
    return see(PATH)


@page("POST", f"{PATH}/{{id}}/revoke", "proven admin")
def revoke(visit: Visit) -> PageResponse:
    """Ends the tokens of an app and the consents to it."""
    count = assistant_apps.revoke(visit.ctx, visit.id)
    visit.flash(ngettext("{count} token ended.", "{count} tokens ended.", count))
    return see(PATH)


def _scopes() -> list[tuple[str, str, list[str]]]:
    """Returns the scopes of assistants: id, label and the names of their tools."""
    names = load()
    return [
        (each.id, each.label, [name for name in names if each.allows("POST", assistant_scopes.path_of(name))])
        for each in assistant_scopes.all_scopes().values()
    ]
