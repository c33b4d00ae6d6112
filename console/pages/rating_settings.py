"""Whom the service asks for ratings of closed tickets, when, and how often."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError
from server.records import live_settings, records
from server.settings import Settings, display_value
from server.tickets.ratings import rating_links
from server.translation import N_, _

BASE = "/admin/ratings"
NAMES = ("ratings", "rating_delay_hours", "rating_interval_days")
WHOM = [("off", N_("Nobody")), ("groups", N_("Customers of these groups")), ("all", N_("Customers of all groups"))]
LABELS = {
    "ratings": N_("Ask for a rating"),
    "groups": N_("Groups"),
    "rating_delay_hours": N_("Hours after closing"),
    "rating_interval_days": N_("At most once in (days)"),
}
CHOSEN = "asksRatings:yes"


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """The settings as they are."""
    return _page(visit, _stored(visit))


@page("POST", BASE, "admin")
def save(visit: Visit) -> PageResponse:
    """Saves the chosen groups, then the settings that are not set elsewhere."""
    settings = visit.service.settings
    form = Form.sent(visit.form, NAMES, ("groups",))
    changes = {name: form.text(name) for name in NAMES if not settings.is_given(name)}
    before = _stored(visit)
    try:
        live_settings.check_settings(visit.service, changes)
        _save_groups(visit, set(form.several["groups"]), set(before.several["groups"]))
        live_settings.change(visit.ctx, changes)
    except HelpdeskError as error:
        return _page(visit, form.refuse(error))
    visit.flash(_("Ratings saved."), BASE, **before.sent_again())
    return see(BASE)


def _save_groups(visit: Visit, chosen: set[str], before: set[str]) -> None:
    offered = {id for id, _name in lookup.choices(visit, "group", "")}
    for id in sorted((chosen ^ before) & offered):
        records.update(visit.ctx, "group", int(id), {"rating_enabled": str(int(id in chosen))})


def _stored(visit: Visit) -> Form:
    settings = visit.service.settings
    form = Form.from_values({name: display_value(getattr(settings, name)) for name in NAMES})
    form.several["groups"] = [id for id, _name in lookup.choices(visit, "group", CHOSEN)]
    return form


def _page(visit: Visit, form: Form) -> PageResponse:
    settings: Settings = visit.service.settings
    return render(
        visit,
        "rating_settings.html",
        form.status,
        form=form,
        labels=LABELS,
        whom=WHOM,
        groups=lookup.choices(visit, "group", ""),
        given={name: settings.sources[name] for name in NAMES if settings.is_given(name)},
        is_on=settings.ratings != "off",
        has_transport=bool(records.count(visit.ctx, "mail_transport", "")),
        rate_days=rating_links.RATE_SECONDS // rating_links.DAY_SECONDS,
        change_days=rating_links.CHANGE_SECONDS // rating_links.DAY_SECONDS,
    )
