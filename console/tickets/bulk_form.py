"""Forms that act on the tickets selected in a list."""

from collections.abc import Callable, Mapping
from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import SMALL_FORM_BYTES, page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.selection import back_to_list, selected_records
from console.tickets import inbox

Tickets = list[dict[str, Any]]
# Acts on the tickets with a submitted form. Returns the path of the next page, a page with a question, or None after
# adding mistakes to the form.
Act = Callable[[Visit, Tickets, Form], str | PageResponse | None]


def path_of_list(visit: Visit) -> str:
    """The path of the list in which the tickets were selected."""
    return back_to_list(visit, inbox.PATH, f"/search/{inbox.URI}")


def bulk_form(
    path: str,
    template: str,
    first: Mapping[str, str],
    *,
    form_bytes: int = SMALL_FORM_BYTES,
    more: Callable[[Visit, Tickets], dict[str, Any]] = lambda visit, selected: {},
) -> Callable[[Act], Act]:
    """Declares the pages of a form: the decorated function is what it does. first: its initial values. more: further
    values of the template. The pages raise Invalid if no ticket is selected."""

    def shown(visit: Visit, selected: Tickets, form: Form) -> PageResponse:
        return render(
            visit,
            template,
            form=form,
            found=selected,
            path=path,
            back=path_of_list(visit),
            label=lookup.LABEL,
            **more(visit, selected),
        )

    def declare(act: Act) -> Act:
        def show(visit: Visit) -> PageResponse:
            return shown(visit, selected_records(visit, inbox.URI), Form.from_values(first))

        def submit(visit: Visit) -> PageResponse:
            selected, form = selected_records(visit, inbox.URI), Form.sent(visit.form, first)
            outcome = act(visit, selected, form)
            if isinstance(outcome, PageResponse):
                return outcome
            return shown(visit, selected, form) if outcome is None else see(outcome)

        page("GET", path)(show)
        page("POST", path, form_bytes=form_bytes, creates=True)(submit)
        return act

    return declare
