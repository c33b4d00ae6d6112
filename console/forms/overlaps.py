"""How long a secret or an address that is replaced goes on working: the choice on the pages that replace them."""

from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Option
from console.http.page_response import PageResponse
from console.http.visit import Visit
from server.translation import N_, _

DAY_SECONDS = 86400
OVERLAPS: list[Option] = [
    ("0", N_("expires now")),
    ("3600", N_("works for 1 more hour")),
    (str(DAY_SECONDS), N_("works for 1 more day")),
    (str(7 * DAY_SECONDS), N_("works for 7 more days")),
]


def ask(visit: Visit, template: str, form: Form | None, **values: Any) -> PageResponse:
    """The page that asks for it. form: with a mistake; None to ask the first time."""
    form = form or Form.from_values({"overlap": str(DAY_SECONDS)})
    return render(visit, template, form=form, overlaps=OVERLAPS, **values)


def sent(visit: Visit) -> Form:
    """The chosen option; adds a mistake if it is not one of them."""
    form = Form.sent(visit.form, ("overlap",))
    if form.get("overlap") not in dict(OVERLAPS):
        form.fail("overlap", _("Choose one of these."))
    return form
