"""The worker's own passkeys: creating, naming and removing them."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from server.access import webauthn
from server.access.passkeys import MAX_NAME_CHARS
from server.errors import Conflict, Invalid, NotAuthenticated
from server.sign_in import own_passkeys, passkey_sign_in, security, sign_in
from server.translation import _

BASE = "/account/passkeys"
NEW = f"{BASE}/new"
BACK = "/account#passkeys"


@page("POST", f"{NEW}/options", "proven worker")
def options(visit: Visit) -> PageResponse:
    """Responds with the options for creating a passkey, for passkeys.js."""
    return json_response(own_passkeys.creation_options(visit.ctx, visit.secret, visit.peer))


@page("POST", NEW, "proven worker")
def create(visit: Visit) -> PageResponse:
    """Stores a passkey that the browser has created; the first one shows recovery codes, this once."""
    form = Form.sent(visit.form, ("name",))
    response = visit.form.text("passkey", "")
    try:
        codes = own_passkeys.add(visit.ctx, visit.secret, form.text("name"), response, visit.peer)
    except (Conflict, Invalid, NotAuthenticated) as error:
        return show_new(visit, form.refuse(error))
    if codes:
        return render(visit, "recovery_codes.html", codes=codes, is_new=True, back=_back(visit))
    visit.flash(_("Passkey added."))
    return see(_back(visit))


@page("POST", f"{BASE}/{{id}}/remove", "proven worker")
def remove(visit: Visit) -> PageResponse:
    """Removes a passkey. Raises NotFound for one of another worker."""
    try:
        own_passkeys.remove(visit.ctx, visit.id, visit.peer)
        visit.flash(_("Passkey removed."))
    except Conflict as error:
        visit.flash(error.message)
    return see(BACK)


@page("POST", f"{BASE}/{{id}}")
def rename(visit: Visit) -> PageResponse:
    """Renames a passkey. Raises NotFound for one of another worker."""
    try:
        former = own_passkeys.rename(visit.ctx, visit.id, visit.form.text("name", ""))
        visit.flash(_("Passkey renamed."), visit.path, name=former)
    except Invalid as error:
        visit.flash(error.message)
    return see(BACK)


@page("GET", NEW, "proven worker")
def show_new(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form for a new passkey, or why there can be none."""
    return render(
        visit,
        "passkey_new.html",
        form=form or Form.from_values({"name": sign_in.shown_device(visit.peer.device)[:MAX_NAME_CHARS]}),
        most=MAX_NAME_CHARS,
        back=_back(visit),
        has_factor=security.has_second_factor(visit.ctx),
        passkey_origin=passkey_sign_in.origin(visit.service),
        passkey_obstacle=webauthn.obstacle(visit.service.base_url),
    )


def _back(visit: Visit) -> str:
    """The page to return to, by default the account."""
    return BACK if visit.next == "/" else visit.next
