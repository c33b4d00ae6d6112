"""Renders whole pages: a template with the visit and the components."""

from typing import Any

from console import files, ui
from console.shown import Shown, fragment
from console.visit import Visit
from server.errors import HelpdeskError
from server.web import errors


def render(visit: Visit, template: str, status: int = 200, **values: Any) -> Shown:
    """A page. Templates know `visit`, the components of console/ui.py as `ui`, and the addresses of static files."""
    return Shown(fragment(template, visit=visit, ui=ui, files=files, **values), status)


def problem(visit: Visit, error: HelpdeskError) -> Shown:
    """A page that says what went wrong, with what to do."""
    status, _ = errors.status_and_code(error)
    shown = render(visit, "problem.html", status, message=error.message, request_id=visit.request.id)
    return Shown(shown.html, status, {**shown.headers, **errors.headers(error)})


def bug(visit: Visit) -> Shown:
    """The page for what should not have happened."""
    return render(visit, "problem.html", 500, message=errors.BUG_MESSAGE + visit.request.id, request_id="")
