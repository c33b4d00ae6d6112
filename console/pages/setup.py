"""The page behind the one-use link: the first administrator gives name, mail address and password.

The code in the address is the secret that allows it; it works once and is not logged. Source: ours."""

from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import Shown
from console.visit import Visit
from server.desk import first_start
from server.errors import HelpdeskError, NotFound
from server.passwords import MIN_CHARS

FIELDS = ("first_name", "last_name", "email", "timezone")


@page("GET", "/setup/{code}", "anyone")
def show(visit: Visit) -> Shown:
    """The empty form. Raises NotFound for a link that was used or replaced."""
    _require_code(visit)
    return _form(visit, Form.of({"timezone": "UTC"}))


@page("POST", "/setup/{code}", "anyone", checks_form=False)
def save(visit: Visit) -> Shown:
    """Create the administrator, or show the form again with what is wrong."""
    _require_code(visit)
    form = Form.sent(visit.form, FIELDS)
    password = visit.form.text("password", "")
    _check(form, password, visit.form.text("password_again", ""))
    if form.is_wrong:
        return _form(visit, form)
    fields = {name: form.text(name) for name in FIELDS}
    fields |= {"timezone": fields["timezone"] or "UTC", "language": "en_US", "password": password}
    try:
        first_start.finish_setup(visit.ctx, visit.arguments["code"], fields)
    except NotFound:
        raise
    except HelpdeskError as error:
        return _form(visit, form.refuse(error, known=(*FIELDS, "password")))
    return render(visit, "setup_done.html", email=form.text("email"), base_url=visit.service.base_url)


def _form(visit: Visit, form: Form) -> Shown:
    return render(visit, "setup.html", form.status, form=form, code=visit.arguments["code"])


def _check(form: Form, password: str, again: str) -> None:
    if not form.text("first_name"):
        form.fail("first_name", "Enter your first name.")
    if not form.text("email"):
        form.fail("email", "Enter your mail address.")
    if len(password) < MIN_CHARS:
        form.fail("password", f"The password needs at least {MIN_CHARS} characters.")
    elif password != again:
        form.fail("password_again", "The two passwords differ.")


def _require_code(visit: Visit) -> None:
    code = visit.arguments["code"]
    if not visit.service.store.read(lambda tx: first_start.is_setup_code(tx, code)):
        raise NotFound("this set-up link was used or replaced; start the server again for a new one")
