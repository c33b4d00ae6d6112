"""Forms that act on the tickets selected in a list."""

from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.lists import lookup
from console.lists.selection import back_to_list, selected_records
from console.tickets import inbox


def selected_tickets(visit: Visit) -> list[dict[str, Any]]:
    """The selected tickets that the worker may read. Raises Invalid for none."""
    return selected_records(visit, inbox.URI)


def path_of_list(visit: Visit) -> str:
    """The path of the list in which the tickets were selected."""
    return back_to_list(visit, inbox.PATH, f"/search/{inbox.URI}")


def show_form(visit: Visit, template: str, selected: list[dict[str, Any]], form: Form, **values: Any) -> PageResponse:
    """Renders the form together with the selected tickets."""
    return render(
        visit,
        template,
        form=form,
        found=selected,
        path=visit.path,
        back=path_of_list(visit),
        label=lookup.LABEL,
        **values,
    )
