"""The page behind the one-use link: the first administrator gives name, mail address and password.

The code in the address is the secret that allows it; it works once and is not logged."""

from typing import Any

from console.pages.start import Shown, render
from server.context import Service
from server.desk import first_start
from server.errors import HelpdeskError, Invalid, NotFound
from server.web import errors
from server.web.params import Params, decode_form
from server.web.server import Request

MIN_PASSWORD = 8
FIELDS = ("first_name", "last_name", "email", "timezone")


def show(service: Service, request: Request, arguments: dict[str, str]) -> Shown:
    """The empty form. Raises NotFound for a link that was used or replaced."""
    _require_code(service, arguments["code"])
    return render("setup.html", values={"timezone": "UTC"}, message="", field="", code=arguments["code"])


def save(service: Service, request: Request, arguments: dict[str, str]) -> Shown:
    """Create the administrator, or show the form again with what is wrong."""
    _require_code(service, arguments["code"])
    _require_same_origin(service, request)
    params = Params(decode_form(request.body))
    values = {name: params.text(name, "").strip() for name in FIELDS}
    try:
        fields = _fields(values, params.text("password", ""), params.text("password_again", ""))
        first_start.finish_setup(first_start.own_context(service), arguments["code"], fields)
    except NotFound:
        raise
    except HelpdeskError as error:
        field = str(error.details.get("field") or "")
        again = {"values": values, "message": error.message, "field": field, "code": arguments["code"]}
        return render("setup.html", errors.status_and_code(error)[0], **again)
    return render("setup_done.html", email=values["email"], base_url=service.base_url)


def _fields(values: dict[str, str], password: str, again: str) -> dict[str, Any]:
    if not values["first_name"]:
        raise Invalid("Enter your first name.", field="first_name")
    if not values["email"]:
        raise Invalid("Enter your mail address.", field="email")
    if len(password) < MIN_PASSWORD:
        raise Invalid(f"The password needs at least {MIN_PASSWORD} characters.", field="password")
    if password != again:
        raise Invalid("The two passwords differ.", field="password_again")
    return {**values, "timezone": values["timezone"] or "UTC", "language": "en_US", "password": password}


def _require_code(service: Service, code: str) -> None:
    if not service.store.read(lambda tx: first_start.is_setup_code(tx, code)):
        raise NotFound("this set-up link was used or replaced; start the server again for a new one")


def _require_same_origin(service: Service, request: Request) -> None:
    """A form of another site cannot know the code; its Origin is refused all the same."""
    origin = request.headers.get("Origin", "")
    host = request.headers.get("Host", "")
    if origin and origin.partition("://")[2] != host:
        raise Invalid("this form was sent from another site")
