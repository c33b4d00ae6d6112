"""In and out: password, code, confirming that it is still you, a forgotten password."""

from urllib.parse import urlencode

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.access.service_actor import own_context
from server.access.sessions import STEP_UP_SECONDS
from server.errors import Forbidden, Invalid, NotAuthenticated, TooMany
from server.first_start import setup
from server.people import password_change, security, sign_in
from server.translation import _

REFUSED = (NotAuthenticated, TooMany, Forbidden)


@page("GET", "/login", "anyone")
def show_login(visit: Visit) -> PageResponse:
    """The sign-in form, or a redirect if somebody is signed in."""
    if visit.session is not None:
        return see(_code_path(visit) if visit.session.waits_for_code else visit.next)
    return _login(visit, Form.from_values({"next": visit.next}))


@page("POST", "/login", "anyone", hashes=True)
def log_in(visit: Visit) -> PageResponse:
    """Starts a session with a new id, whatever the browser had before."""
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
        return _login(visit, form.refuse(error))
    visit.sign_in(session, is_kept)
    return see(_code_path(visit) if session.waits_for_code else visit.next)


@page("GET", "/login/code", "code")
def show_code(visit: Visit) -> PageResponse:
    """The form for the code of the second factor."""
    return _code(visit, Form.from_values({"next": visit.next}))


@page("POST", "/login/code", "code")
def give_code(visit: Visit) -> PageResponse:
    """A full session for a right code."""
    form = Form.from_values({"next": visit.next})
    try:
        session = sign_in.by_code(visit.ctx, visit.who, visit.form.text("code", ""), visit.peer)
    except REFUSED as error:
        return _code(visit, form.refuse(error))
    visit.sign_in(session)
    return see(visit.next)


@page("POST", "/sign-out", "anyone")
def log_out(visit: Visit) -> PageResponse:
    """End this session."""
    if visit.session is not None:
        sign_in.sign_out(visit.ctx, visit.session, visit.peer)
    visit.drop_session()
    after = {} if visit.next == "/" else {"next": visit.next}
    return see(f"/login?{urlencode({'out': '1', **after})}")


@page("GET", "/confirm")
def show_confirm(visit: Visit) -> PageResponse:
    """The form that asks for the password or a code again."""
    return _confirm(visit, Form.from_values({"next": visit.next}))


@page("POST", "/confirm", hashes=True)
def confirm(visit: Visit) -> PageResponse:
    """Tokens and secrets may be touched for some minutes; the session gets a new id."""
    form = Form.from_values({"next": visit.next})
    try:
        id = sign_in.step_up(visit.ctx, visit.who, visit.form.text("password", ""), visit.peer)
    except REFUSED as error:
        return _confirm(visit, form.refuse(error))
    visit.set_session(id)
    return see(visit.next)


@page("GET", "/forgotten", "anyone")
def show_forgotten(visit: Visit) -> PageResponse:
    """The form that asks for a link."""
    return render(visit, "forgotten.html", form=Form(), is_sent=False)


@page("POST", "/forgotten", "anyone")
def forgotten(visit: Visit) -> PageResponse:
    """Send a link, if there is such a worker; the answer is the same if not."""
    form = Form.sent(visit.form, ("email",))
    try:
        password_change.ask_for_link(own_context(visit.service), form.text("email"), visit.peer)
    except TooMany as error:
        form.refuse(error)
    return render(visit, "forgotten.html", form=form, is_sent=not form.is_wrong)


@page("GET", "/reset/{code}", "anyone")
def show_reset(visit: Visit) -> PageResponse:
    """The form behind a link. Raises NotFound if the link no longer works."""
    password_change.worker_of_link(visit.service, visit.arguments["code"], visit.now)
    return render(visit, "reset.html", form=Form(), code=visit.arguments["code"])


@page("POST", "/reset/{code}", "anyone", hashes=True)
def reset(visit: Visit) -> PageResponse:
    """Set the password, use up the link, end all sessions."""
    form, code = Form(), visit.arguments["code"]
    password_change.worker_of_link(visit.service, code, visit.now)
    try:
        new = new_password(visit)
        password_change.set_by_link(own_context(visit.service), code, new)
    except (Invalid, TooMany) as error:
        form.refuse(error, ("password", "password_again"))
        return render(visit, "reset.html", form=form, code=code)
    visit.drop_session()
    return see("/login?new=1")


def new_password(visit: Visit) -> str:
    """The new password of a form. Raises Invalid when its two fields differ."""
    new = visit.form.text("password", "")
    if new != visit.form.text("password_again", ""):
        raise Invalid(_("The two passwords do not match."), field="password_again")
    return new


def _login(visit: Visit, form: Form) -> PageResponse:
    is_set_up = setup.is_set_up(visit.service)
    sentence = _("You are signed out.") if visit.query.flag("out") else ""
    sentence = _("New password set. Sign in with it.") if visit.query.flag("new") else sentence
    return render(visit, "login.html", form=form, is_set_up=is_set_up, told=sentence)


def _code_path(visit: Visit) -> str:
    return f"/login/code?{urlencode({'next': visit.next})}"


def _code(visit: Visit, form: Form) -> PageResponse:
    return render(visit, "login_code.html", form=form)


def _confirm(visit: Visit, form: Form) -> PageResponse:
    has_code = security.has_second_factor(visit.ctx)
    return render(visit, "confirm.html", form=form, has_code=has_code, minutes=STEP_UP_SECONDS // 60)
