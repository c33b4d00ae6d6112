"""Renders whole pages."""

from typing import Any

from console.html import ui as ui  # which templates know
from console.html.form import Form, sentence
from console.html.templates import GLOBALS, fragment
from console.http import static_files
from console.http.page_response import PageResponse
from console.http.visit import Visit
from server.errors import HelpdeskError
from server.translation import N_, lazy_gettext
from server.web import error_bodies

TITLES = {
    400: N_("Invalid request"),
    401: N_("Sign in first"),
    403: N_("No access"),
    404: N_("Not found"),
    405: N_("Not available here"),
    409: N_("Changed in the meantime"),
    413: N_("Too large"),
    422: N_("Check your entries"),
    429: N_("Too many requests"),
    500: N_("Something went wrong"),
    503: N_("Try again in a moment"),
    507: N_("No space left"),
}
GLOBALS["files"] = static_files
OTHER_TITLE = N_("Request refused")


def render(visit: Visit, template: str, status: int = 200, **values: Any) -> PageResponse:
    """A page, with the headers of its forms. status: unless one of its forms has a mistake."""
    forms = _forms(values)
    headers = {name: value for form in forms for name, value in form.headers.items()}
    status = max(status, *(form.status for form in forms)) if forms else status
    return PageResponse(fragment(template, visit=visit, **values), status, headers)


def _forms(values: dict[str, Any]) -> list[Form]:
    """The forms among the values of a page: `form`, and those of `forms`, {name: form}."""
    forms = values.get("forms")
    candidates = [values.get("form"), *(forms.values() if isinstance(forms, dict) else ())]
    return [each for each in candidates if isinstance(each, Form)]


def problem(visit: Visit, error: HelpdeskError) -> PageResponse:
    """The page for an error, with what to do about it."""
    status, _ = error_bodies.status_and_code(error)
    page = _problem(visit, status, error.message, visit.request.id)
    return PageResponse(page.html, status, {**page.headers, **error_bodies.headers(error)})


def bug(visit: Visit) -> PageResponse:
    """The page for an unexpected error."""
    return _problem(visit, 500, lazy_gettext(error_bodies.BUG_MESSAGE, id=visit.request.id), "")


def _problem(visit: Visit, status: int, message: str, request_id: str) -> PageResponse:
    """The page of an error. A failed GET can be retried, with the query that was typed."""
    can_retry = not visit.is_post and status >= 500
    query = _query(visit) if can_retry else ""
    return render(
        visit,
        "problem.html",
        status,
        title=TITLES.get(status, OTHER_TITLE),
        message=sentence(message),
        request_id=request_id,
        can_retry=can_retry,
        query=query,
    )


def _query(visit: Visit) -> str:
    try:
        return visit.query.text("q", "")
    except HelpdeskError:
        return ""  # what cannot be read is what went wrong
