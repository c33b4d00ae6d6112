"""The policy of the second factor, and the state of each worker."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages import people
from server.errors import Conflict, Invalid
from server.sign_in import second_factor_policy
from server.sign_in.second_factor_policy import (
    ADMINISTRATORS,
    DONE,
    EVERYBODY,
    GRACE,
    MAX_GRACE_DAYS,
    MISSING,
    NOBODY,
    OVERDUE,
    STATES,
)
from server.translation import N_, _

BASE = f"{people.BASE}/second-factor"
WHO = [(NOBODY, N_("Nobody")), (ADMINISTRATORS, N_("Administrators")), (EVERYBODY, N_("Everybody"))]
LABELS = {"who": N_("Required of"), "days": N_("Days of grace")}
STATE_LABELS = {OVERDUE: N_("Overdue"), GRACE: N_("In grace"), MISSING: N_("None"), DONE: N_("Set up")}


@page("POST", BASE, "proven admin")
def save(visit: Visit) -> PageResponse:
    """Changes the policy. An administrator without a second factor has to set one up first."""
    form, before = Form.sent(visit.form, tuple(LABELS)), second_factor_policy.current(visit.ctx)
    days = form.text("days")
    try:
        if not days.isascii() or not days.isdigit():
            raise Invalid(_("enter a whole number"), field="days")
        second_factor_policy.change(visit.ctx, form.get("who"), min(int(days[:6]), MAX_GRACE_DAYS + 1))
    except (Conflict, Invalid) as error:
        return show(visit, form.refuse(error), asks_for_own=isinstance(error, Conflict))
    visit.flash(_("Saved."), visit.path, who=before.who, days=str(before.days))
    return see(BASE)


@page("GET", BASE, "proven admin")
def show(visit: Visit, form: Form | None = None, asks_for_own: bool = False) -> PageResponse:
    """The policy, and the workers by how urgent they are. asks_for_own: whether the administrator needs one first."""
    policy = second_factor_policy.current(visit.ctx)
    standings = second_factor_policy.standings(visit.ctx)
    state = visit.query.text("state", "")
    rows = [each for each in standings if state in ("", each.state)]
    shown, number = lookup.part(visit, rows)
    return render(
        visit,
        "second_factor_policy.html",
        form=form or Form.from_values({"who": policy.who, "days": policy.days}),
        labels=LABELS,
        who=WHO,
        most=MAX_GRACE_DAYS,
        asks_for_own=asks_for_own,
        own=f"/account/second-factor?next={BASE}",
        tabs=people.SIGN_IN_TABS,
        path=people.BASE,
        counts=[(each, STATE_LABELS[each], sum(one.state == each for one in standings)) for each in STATES],
        state=state,
        state_labels=STATE_LABELS,
        rows=shown,
        page=number,
        total=len(rows),
    )
