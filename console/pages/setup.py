"""The page behind the one-use link: the first administrator gives name, mail address and password.

The code in the address is the secret that allows it; it works once and is not logged. Source: ours."""

from typing import Any

from console.routes import page
from console.shown import Shown, fragment
from console.visit import Visit
from server.desk import first_start
from server.errors import HelpdeskError, Invalid, NotFound
from server.passwords import MIN_CHARS
from server.web import errors

FIELDS = ("first_name", "last_name", "email", "timezone")


@page("GET", "/setup/{code}", "anyone")
def show(visit: Visit) -> Shown:
    """The empty form. Raises NotFound for a link that was used or replaced."""
    _require_code(visit)
    return _form(visit, 200, values={"timezone": "UTC"}, message="", field="")


@page("POST", "/setup/{code}", "anyone", checks_form=False)
def save(visit: Visit) -> Shown:
    """Create the administrator, or show the form again with what is wrong."""
    _require_code(visit)
    params = visit.form
    values = {name: params.text(name, "").strip() for name in FIELDS}
    try:
        fields = _fields(values, params.text("password", ""), params.text("password_again", ""))
        first_start.finish_setup(visit.ctx, visit.arguments["code"], fields)
    except NotFound:
        raise
    except HelpdeskError as error:
        field = str(error.details.get("field") or "")
        return _form(visit, errors.status_and_code(error)[0], values=values, message=error.message, field=field)
    return Shown(fragment("setup_done.html", email=values["email"], base_url=visit.service.base_url))


def _form(visit: Visit, status: int, **values: Any) -> Shown:
    return Shown(fragment("setup.html", code=visit.arguments["code"], **values), status)


def _fields(values: dict[str, str], password: str, again: str) -> dict[str, Any]:
    if not values["first_name"]:
        raise Invalid("Enter your first name.", field="first_name")
    if not values["email"]:
        raise Invalid("Enter your mail address.", field="email")
    if len(password) < MIN_CHARS:
        raise Invalid(f"The password needs at least {MIN_CHARS} characters.", field="password")
    if password != again:
        raise Invalid("The two passwords differ.", field="password_again")
    return {**values, "timezone": values["timezone"] or "UTC", "language": "en_US", "password": password}


def _require_code(visit: Visit) -> None:
    code = visit.arguments["code"]
    if not visit.service.store.read(lambda tx: first_start.is_setup_code(tx, code)):
        raise NotFound("this set-up link was used or replaced; start the server again for a new one")
