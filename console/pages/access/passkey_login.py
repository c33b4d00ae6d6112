"""Signing in by passkey, using one after the password, and confirming with one that it is still you. Without scripts,
the forms for passwords and codes remain."""

from console.html.form import Form
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages import login
from server.access.service_actor import own_context
from server.sign_in import passkey_sign_in

FIELD = "passkey"  # holds the response of the browser


@page("POST", "/login/passkey/options", "anyone")
def options(visit: Visit) -> PageResponse:
    """Responds with the options for signing in, for passkeys.js."""
    return json_response(passkey_sign_in.sign_in_options(own_context(visit.service), visit.secret, visit.peer))


@page("POST", "/login/passkey", "anyone")
def log_in(visit: Visit) -> PageResponse:
    """Starts a session without a password."""
    form = Form.sent(visit.form, ("email", "next", "keep"))
    form.values["next"] = visit.next
    is_kept, response = form.get("keep") == "1", visit.form.text(FIELD, "")
    try:
        ctx = own_context(visit.service)
        session = passkey_sign_in.by_passkey(ctx, response, visit.secret, visit.peer, is_kept)
    except login.REFUSED as error:
        return login.login_page(visit, form.refuse(error))
    visit.begin(session, is_kept)
    return see(login.next_path(visit))


@page("POST", "/login/code/passkey/options", "code")
def factor_options(visit: Visit) -> PageResponse:
    """Responds with the options for a passkey as the second factor."""
    return json_response(passkey_sign_in.factor_options(visit.ctx, visit.who, visit.secret, visit.peer))


@page("POST", "/login/code/passkey", "code")
def use_as_second_factor(visit: Visit) -> PageResponse:
    """A full session for a passkey after the password."""
    form, response = login.next_form(visit), visit.form.text(FIELD, "")
    try:
        session = passkey_sign_in.as_second_factor(visit.ctx, visit.who, response, visit.secret, visit.peer)
    except login.REFUSED as error:
        return login.show_code(visit, form.refuse(error))
    visit.begin(session)
    return see(login.next_path(visit))


@page("POST", "/confirm/passkey/options")
def confirm_options(visit: Visit) -> PageResponse:
    """Responds with the options for confirming the worker of the session."""
    return json_response(passkey_sign_in.confirm_options(visit.ctx, visit.who, visit.secret, visit.peer))


@page("POST", "/confirm/passkey")
def confirm(visit: Visit) -> PageResponse:
    """Tokens and secrets may be touched for some minutes; the session gets a new id."""
    form, response = login.next_form(visit), visit.form.text(FIELD, "")
    try:
        id = passkey_sign_in.step_up(visit.ctx, visit.who, response, visit.secret, visit.peer)
    except login.REFUSED as error:
        return login.show_confirm(visit, form.refuse(error))
    visit.set_session(id)
    return see(visit.next)
