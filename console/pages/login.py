"""In and out: password, code, confirming that it is still you, a forgotten password. Passkeys: passkey_login.py."""

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import address
from console.http.navigation import INBOX
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.access.service_actor import own_context
from server.access.sessions import STEP_UP_SECONDS
from server.errors import Forbidden, Invalid, NotAuthenticated, TooMany
from server.first_start import setup
from server.sign_in import passkey_sign_in, password_change, provider_sign_in, security, sign_in
from server.sign_in.sign_in import NewSession
from server.translation import _

REFUSED = (NotAuthenticated, TooMany, Forbidden)


@page("GET", "/login", "anyone")
def show_login(visit: Visit) -> PageResponse:
    """The sign-in form, or a redirect for a worker who is signed in."""
    if visit.session is not None:
        return see(_code_path(visit) if visit.session.waits_for_code else visit.next)
    return login_page(visit, next_form(visit))


@page("POST", "/login", "anyone", hashes=True)
def log_in(visit: Visit) -> PageResponse:
    """Starts a session, always with a new id."""
    form = Form.sent(visit.form, ("email", "next", "keep"))
    form.values["next"] = visit.next
    try:
        is_kept = form.get("keep") == "1"
        session = sign_in.by_password(
            own_context(visit.service),
            form.text("email"),
            visit.form.text("password", ""),
            visit.peer,
            is_kept,
        )
    except REFUSED as error:
        return login_page(visit, form.refuse(error))
    visit.begin(session, is_kept)
    return page_after_password(visit, session)


def page_after_password(visit: Visit, session: NewSession) -> PageResponse:
    """The page that follows a password: the one for the code, or the requested one with a notice of a second factor
    that is due later."""
    if session.waits_for_code:
        return see(_code_path(visit))
    due_at = security.second_factor_due(visit.service, visit.actor.worker_id)
    if due_at > visit.now:
        moment = ui.moment(visit, due_at)
        visit.flash(
            _("Your administrator requires a second factor from {moment}. Set one up under Account.", moment=moment)
        )
    return see(next_path(visit))


@page("POST", "/login/code", "code")
def give_code(visit: Visit) -> PageResponse:
    """A full session for a right code."""
    form = next_form(visit)
    try:
        session = sign_in.by_code(visit.ctx, visit.who, visit.form.text("code", ""), visit.peer)
    except REFUSED as error:
        return show_code(visit, form.refuse(error))
    visit.begin(session)
    return see(next_path(visit))


@page("POST", "/sign-out", "anyone")
def log_out(visit: Visit) -> PageResponse:
    """End this session."""
    provider = target = ""
    if visit.session is not None:
        target, provider = provider_sign_in.end_address(visit.service, visit.session, visit.now)
        sign_in.sign_out(visit.ctx, visit.session, visit.peer)
    visit.drop_session()
    if target:
        page = render(visit, "sign_in_leave.html", provider=provider, target=target)
        return PageResponse(page.html, 200, {"Refresh": f"0;url={target}", "Referrer-Policy": "no-referrer"})
    return see(address("/login", out=2 if provider else 1, next="" if visit.next == "/" else visit.next))


@page("POST", "/confirm", hashes=True)
def confirm(visit: Visit) -> PageResponse:
    """Tokens and secrets may be touched for some minutes; the session gets a new id."""
    form = next_form(visit)
    try:
        id = sign_in.step_up(visit.ctx, visit.who, visit.form.text("password", ""), visit.peer)
    except REFUSED as error:
        return show_confirm(visit, form.refuse(error))
    visit.set_session(id)
    return see(visit.next)


@page("GET", "/forgotten", "anyone")
def show_forgotten(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form that requests a link, or the notice that the link was sent."""
    return render(visit, "forgotten.html", form=form or Form(), is_sent=form is not None and not form.is_wrong)


@page("POST", "/forgotten", "anyone")
def forgotten(visit: Visit) -> PageResponse:
    """Send a link, if there is such a worker; the answer is the same if not."""
    form = Form.sent(visit.form, ("email",))
    try:
        password_change.ask_for_link(own_context(visit.service), form.text("email"), visit.peer)
    except (TooMany, Forbidden) as error:
        form.refuse(error)
    return show_forgotten(visit, form)


@page("GET", "/reset/{code}", "anyone")
def show_reset(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form of a link. Raises NotFound if the link no longer works."""
    code = visit.arguments["code"]
    password_change.worker_of_link(visit.service, code, visit.now)
    return render(visit, "reset.html", form=form or Form(), code=code)


@page("POST", "/reset/{code}", "anyone", hashes=True)
def reset(visit: Visit) -> PageResponse:
    """Set the password, use up the link, end all sessions."""
    code = visit.arguments["code"]
    password_change.worker_of_link(visit.service, code, visit.now)
    try:
        password_change.set_by_link(own_context(visit.service), code, new_password(visit))
    except (Invalid, TooMany, Forbidden) as error:
        return show_reset(visit, Form().refuse(error, ("password", "password_again")))
    visit.drop_session()
    return see("/login?new=1")


def new_password(visit: Visit) -> str:
    """The new password of a form. Raises Invalid when its two fields differ."""
    new = visit.form.text("password", "")
    if new != visit.form.text("password_again", ""):
        raise Invalid(_("The two passwords do not match."), field="password_again")
    return new


def login_page(visit: Visit, form: Form) -> PageResponse:
    """The sign-in form, or the providers if workers sign in with them only."""
    is_set_up = setup.is_set_up(visit.service)
    out = visit.query.text("out", "")
    sentence = _("You are signed out.") if out else ""
    if out == "2":
        sentence = _("You are signed out here, and still signed in at the provider, which cannot be reached.")
    sentence = _("New password set. Sign in with it.") if visit.query.flag("new") else sentence
    sentence = _("You are now a worker here. Sign in.") if visit.query.flag("joined") else sentence
    providers, is_only = provider_sign_in.providers_of_page(visit.service)
    return render(
        visit,
        "login_providers.html" if is_only else "login.html",
        form=form,
        is_set_up=is_set_up,
        told=sentence,
        passkey_origin=passkey_sign_in.origin(visit.service),
        providers=providers,
        is_only=is_only,
        next="" if form.get("next") == "/" else form.get("next"),
    )


def next_path(visit: Visit) -> str:
    """The requested page; without one, the inbox for workers and the start page for administrators."""
    return INBOX.path if visit.next == "/" and not visit.actor.is_admin else visit.next


def _code_path(visit: Visit) -> str:
    return address("/login/code", next=visit.next)


@page("GET", "/login/code", "code")
def show_code(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form for the code of the second factor."""
    worker_id = visit.actor.worker_id
    return render(
        visit,
        "login_code.html",
        form=form or next_form(visit),
        has_app=security.has_app(visit.service, worker_id),
        passkey_origin=passkey_sign_in.origin(visit.service, worker_id),
    )


@page("GET", "/confirm")
def show_confirm(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form that asks for the password or a code again."""
    worker_id = visit.actor.worker_id
    has_code = security.has_app(visit.service, worker_id)
    own = provider_sign_in.own_accounts(visit.ctx)
    return render(
        visit,
        "confirm.html",
        form=form or next_form(visit),
        has_code=has_code,
        minutes=STEP_UP_SECONDS // 60,
        passkey_origin=passkey_sign_in.origin(visit.service, worker_id, is_to_confirm=True),
        providers=provider_sign_in.confirming(own),
        asks_password=has_code or not own.is_only,
    )


def next_form(visit: Visit) -> Form:
    """A form with the page after it."""
    return Form.from_values({"next": visit.next})


def require_worker(visit: Visit) -> PageResponse | None:
    """Returns the page on which the worker signs in, or sets up a second factor, before they can allow an app; None if
    they have done so."""
    if visit.session is None or visit.session.waits_for_code:
        return see(address("/login", next=visit.shown_path))
    if visit.lacks_second_factor():
        visit.flash(_("Your administrator requires a second factor. Set it up first; then you can allow the app."))
        return see(address("/account/second-factor", next=visit.shown_path))
    return None
