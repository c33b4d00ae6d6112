"""Provisioning: the address and the tokens with which an identity provider creates and changes workers."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.people import BASE, SIGN_IN_TABS
from server.errors import Invalid, NotFound
from server.sign_in import provisioning_tokens
from server.translation import N_, _
from server.web.oauth import is_safe
from server.web.scim.scim_site import SCIM_PATH

PATH = f"{BASE}/provisioning"
LABELS = {"name": N_("Name")}


@page("GET", PATH, "proven admin")
def show(visit: Visit, form: Form | None = None) -> PageResponse:
    """The address, the tokens, and the form of a new one."""
    return render(
        visit,
        "provisioning.html",
        tabs=SIGN_IN_TABS,
        form=form or Form(),
        labels=LABELS,
        path=PATH,
        address=visit.service.base_url + SCIM_PATH.rstrip("/"),
        is_safe=is_safe(visit.service.base_url),
        tokens=provisioning_tokens.all_tokens(visit.ctx),
        most=provisioning_tokens.MAX_NAME_CHARS,
    )


@page("POST", PATH, "proven admin", creates=True)
def create(visit: Visit) -> PageResponse:
    """Creates a token, which is shown this once."""
    form = Form.sent(visit.form, ("name",))
    try:
        token = provisioning_tokens.create(visit.ctx, form.get("name"))
    except Invalid as error:
        return show(visit, form.refuse(error))
    visit.has_created = True
    address = visit.service.base_url + SCIM_PATH.rstrip("/")
    return render(visit, "provisioning_token.html", token=token, name=form.text("name"), address=address, path=PATH)


@page("POST", f"{PATH}/{{id}}/revoke", "proven admin")
def revoke(visit: Visit) -> PageResponse:
    """Revokes a token."""
    try:
        name = provisioning_tokens.revoke(visit.ctx, visit.id)
        visit.flash(_("The token {name} no longer works.", name=name))
    except NotFound as error:
        visit.flash(error.message)
    return see(PATH)
