"""Absences of workers: the form of the account, and the page for managers of their groups and administrators."""

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import ChooserOptions
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError
from server.people import profile
from server.record_types.shared import absence
from server.translation import _

PATH = "/admin/people/absences"
STAND_IN = "away_stand_in_id"


def stored_form(visit: Visit, worker_id: int) -> Form:
    """Returns the stored absence of a worker, with times as they are typed."""
    worker = profile.absent_record(visit.ctx, worker_id)
    times = {name: ui.time_text(visit, worker[name]) for name in ("away_from", "away_until")}
    return Form.from_values(times | {STAND_IN: str(worker[STAND_IN] or "")})


def fields_of(form: Form) -> dict[str, str]:
    """Returns the fields that restore this absence."""
    return {name: form.get(name) for name in absence.FIELDS}


def save(visit: Visit, worker_id: int) -> Form:
    """Stores the submitted absence of a worker, and returns its form, with any mistakes."""
    form = Form.sent(visit.form, absence.FIELDS)
    try:
        sent = {name: form.text(name) for name in absence.FIELDS if name in visit.form}
        if STAND_IN in sent:
            sent[STAND_IN] = str(lookup.chosen_id(visit, "worker", sent[STAND_IN], STAND_IN))
        profile.change_absence(visit.ctx, worker_id, sent)
    except HelpdeskError as error:
        form.refuse(error)
    return form


def begin(visit: Visit, worker_id: int) -> Form:
    """Begins an absence of a worker now, until further notice, and returns the form as it was before."""
    before = stored_form(visit, worker_id)
    profile.change_absence(visit.ctx, worker_id, {"away_from": str(visit.now), "away_until": ""})
    return before


def end(visit: Visit, worker_id: int) -> Form:
    """Ends the absence of a worker, and returns the form as it was before."""
    before = stored_form(visit, worker_id)
    if before.get("away_from") or before.get("away_until"):
        profile.change_absence(visit.ctx, worker_id, {"away_from": "", "away_until": ""})
    return before


def stand_ins(visit: Visit, worker_id: int, form: Form) -> ChooserOptions:
    """Returns the possible stand-ins of a worker."""
    return lookup.choosable(visit, "worker", f"isDisabled:no id:!={worker_id}", form.get(STAND_IN))


@page("POST", f"{PATH}/{{id}}")
def save_of_worker(visit: Visit) -> PageResponse:
    """Sets the absence of a worker. Raises NotFound, Forbidden."""
    before = stored_form(visit, visit.id)
    form = save(visit, visit.id)
    if form.is_wrong:
        return show(visit, form)
    visit.flash(_("Absence saved."), visit.path, **fields_of(before))
    return see(f"{PATH}/{visit.id}")


@page("POST", f"{PATH}/{{id}}/begin")
def begin_of_worker(visit: Visit) -> PageResponse:
    """Begins an absence of a worker. Raises NotFound, Forbidden."""
    before = begin(visit, visit.id)
    visit.flash(_("Absence saved."), f"{PATH}/{visit.id}", **fields_of(before))
    return see(f"{PATH}/{visit.id}")


@page("POST", f"{PATH}/{{id}}/end")
def end_of_worker(visit: Visit) -> PageResponse:
    """Ends the absence of a worker. Raises NotFound, Forbidden."""
    before = end(visit, visit.id)
    visit.flash(_("Absence ended."), f"{PATH}/{visit.id}", **fields_of(before))
    return see(f"{PATH}/{visit.id}")


@page("GET", f"{PATH}/{{id}}")
def show(visit: Visit, form: Form | None = None) -> PageResponse:
    """The absence of a worker, for themselves, managers of their groups and administrators. Raises NotFound,
    Forbidden."""
    worker = profile.absent_record(visit.ctx, visit.id)
    shown = form or stored_form(visit, visit.id)
    return render(
        visit,
        "absence.html",
        shown.status,
        form=shown,
        name=worker["label"],
        away=profile.absence_of(visit.ctx, visit.id),
        stand_ins=stand_ins(visit, visit.id, shown),
        path=f"{PATH}/{visit.id}",
    )
