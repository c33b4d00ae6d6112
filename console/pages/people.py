"""Workers: who works here, who administrates, and how they sign in."""

from dataclasses import replace
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from server.digits import MAX_ID, whole_in
from server.errors import HelpdeskError, Invalid
from server.notifying import notified_devices
from server.people import groups, nicknames
from server.records import records
from server.sign_in import login_address, provider_sign_in, security, sign_in, sign_in_administration
from server.sign_in.sign_in_administration import KEEP, TICKETS, SignInMethods
from server.translation import N_, _, ngettext

URI = "worker"
BASE = "/admin/people"
TABS = (
    (BASE, N_("Workers")),
    (f"{BASE}/invitations", N_("Invitations")),
    (f"{BASE}/groups", N_("Groups")),
    (f"{BASE}/rosters", N_("Rosters")),
    (f"{BASE}/roles", N_("Roles")),
    (f"{BASE}/sign-in", N_("Sign-in")),
    ("/admin/targets", N_("Service targets")),
    ("/search/calendar", N_("Calendars")),
)
SIGN_IN_TABS = (
    (BASE, N_("Workers")),
    (f"{BASE}/sign-in", N_("Sign-in")),
    (f"{BASE}/second-factor", N_("Second factor")),
    (f"{BASE}/provisioning", N_("Provisioning")),
)
LABELS = {"tickets": N_("Their tickets"), "to_id": N_("New owner")}
INVITE = [
    ("mail", N_("Email a link to choose a password")),
    ("link", N_("Show me the link; I will pass it on")),
    ("", N_("Not yet")),
]
FORM = RecordForm(
    URI,
    (
        Control("first_name", N_("First name"), "", attributes={"autocomplete": "off"}),
        Control("last_name", N_("Last name"), "", attributes={"autocomplete": "off"}),
        Control("email", N_("Email address"),
                N_("Used to sign in. A new address takes effect once it is confirmed. The service sends no "
                   "email from it."), "email",
                attributes={"autocomplete": "off", "required": True, "maxlength": 255}),
        Control("at_mention_name", hint=N_("For mentions, such as @ines. Letters, digits, dots and hyphens."),
                attributes={"autocapitalize": "off"}),
        Control("timezone", hint="", attributes={"maxlength": 64}),
        Control("language", N_("Language"), hint=N_("Such as en_US or de_DE: the format of numbers and dates.")),
        Control("is_superuser", N_("Administrator"), N_("Can do everything, including opening this page."),
                heading=N_("Rights and sign-in")),
        Control("is_mfa_required", N_("Must use a second factor"),
                N_("They must set one up before they can do anything else.")),
        Control("is_password_disabled", N_("Cannot sign in by password"),
                N_("For service accounts, which only use tokens.")),
        Control("away_from", N_("Away from"), N_("A date or time in words: monday, 24 dec."),
                heading=N_("Absence")),
        Control("away_until", N_("Away until"), N_("Blank: until further notice. Customers are not notified.")),
        Control("away_stand_in_id", N_("Stand-in"),
                N_("Also notified of customers' messages on their tickets during the absence."),
                query="isDisabled:no", none=N_("Nobody")),
        Control("assign_max_open", N_("Open tickets, at most"),
                N_("They get no more tickets automatically, in all groups together. Blank: no limit."), blank="0"),
        Control("title", N_("Job title"), ""),
        Control("phone", N_("Phone"), hint="", kind="tel"),
        Control("mobile", N_("Mobile"), hint="", kind="tel"),
        Control("location", N_("Location"), ""),
    ),
    folded=("title", "phone", "mobile", "location"),
)  # fmt: skip
NEW = replace(FORM, controls=(
    *FORM.controls,
    Control("groups", N_("Groups"), N_("They can read and answer tickets of these groups. Managers of a group can "
                                       "change its members later."), "ticks", is_own=True,
            heading=N_("Groups and sign-in")),
    Control("invite", N_("First sign-in"),
            N_("Nobody is given a password. Everyone chooses their own through a link that works once."), "choice",
            INVITE,
            is_own=True),
))  # fmt: skip


def _methods(visit: Visit, rows: list[dict[str, Any]]) -> dict[int, SignInMethods]:
    """How workers sign in."""
    known = sign_in_administration.signing_in(visit.ctx, (each["id"] for each in rows))
    return {each["id"]: known.get(each["id"], SignInMethods()) for each in rows}


_column = DrawnColumns("people")
LIST = declare(Worklist(
    URI, BASE, N_("Team"), ("_label", "email", "role", "second_factor", "seen"),
    own=(
        _column("email", N_("Email"), kind="word", value=lambda row, more: row["address_email"]),
        _column("role", N_("Role"), "isAdmin",
                value=lambda row, more: "administrator" if row["is_superuser"] else "worker"),
        _column("second_factor", N_("Second factor"), value=lambda row, more: more[row["id"]].has_second_factor),
        _column("seen", N_("Last seen"), kind="word", value=lambda row, more: more[row["id"]].seen_at, is_time=True),
    ),
    row=BASE + "/{id}", load=_methods, sort="isDisabled,firstName", expand="address_",
    placeholder=N_("name, or isAdmin:yes, group:(name:Support)"),
    quick=(
        (N_("Administrators"), "isAdmin:yes"),
        (N_("Away"), "isAway:yes"),
        (N_("Deactivated"), "isDisabled:yes"),
    ),
    none=N_("No matches."), empty=N_("No workers yet. Invite somebody to reply to tickets with you."),
    new=(f"{BASE}/invite", N_("Invite")),
    tabs=TABS, tabs_label=N_("People"), changes="proven admin",
))  # fmt: skip


@page("POST", f"{BASE}/{{id}}/invite", "proven admin", creates=True)
def invite(visit: Visit) -> PageResponse:
    """Send a worker mail with a link to choose a password, or show the link."""
    try:
        ends_tokens = bool(visit.form.text("end_tokens", ""))
        return _invited(visit, visit.id, visit.form.text("by", "link"), "", ends_tokens)
    except HelpdeskError as error:
        visit.flash(error.message)
        return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/unlink", "proven admin")
def unlink(visit: Visit) -> PageResponse:
    """Removes a worker's account at a sign-in provider. Raises NotFound."""
    provider_sign_in.unlink(visit.ctx, visit.id, whole_in(visit.form.text("link", ""), 1, MAX_ID) or 0)
    visit.flash(_("Account unlinked."))
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/address/again", "proven admin", creates=True)
def mail_confirmation(visit: Visit) -> PageResponse:
    """Mails the link again that confirms a worker's new address."""
    login_address.send_again(visit.ctx, visit.id)
    visit.flash(_("Another email is on its way. The link in the previous one no longer works."))
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/address/drop", "proven admin")
def keep_address(visit: Visit) -> PageResponse:
    """Cancels the change of a worker's address."""
    try:
        login_address.cancel(visit.ctx, visit.id)
        visit.flash(_("They still sign in with the same address."))
    except HelpdeskError as error:
        visit.flash(error.message)
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/sign-out", "proven admin")
def end_sessions(visit: Visit) -> PageResponse:
    """Sign a worker out everywhere."""
    count = sign_in_administration.end_sessions(visit.ctx, visit.id)
    visit.flash(ngettext("Signed out of {count} device.", "Signed out of {count} devices.", count))
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/second-factor/off", "proven admin")
def turn_off_second_factor(visit: Visit) -> PageResponse:
    """For a worker who lost their phone and recovery codes."""
    sign_in_administration.turn_off_second_factor(visit.ctx, visit.id)
    visit.flash(_("Second factor turned off. The worker now signs in with the password only."))
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/disable", "proven admin")
def disable(visit: Visit) -> PageResponse:
    """Disables a worker; their tickets may be assigned to another one."""
    form, was_disabled = Form.sent(visit.form, ("tickets", "to_id")), lookup.record(visit, URI, visit.id)["is_disabled"]
    try:
        chosen_id = lookup.chosen_id(visit, URI, form.text("to_id"), "to_id")
        to_id = sign_in_administration.new_owner(visit.ctx, visit.id, form.text("tickets") or KEEP, chosen_id)
        label = records.update(visit.ctx, URI, visit.id, {"is_disabled": "1"})["_label"]
    except HelpdeskError as error:
        return show_disable(visit, form.refuse(error))
    sentence = "" if was_disabled else _("{name} deactivated.", name=label)
    if to_id is not None:
        handed_over = sign_in_administration.handed_over(visit.ctx, visit.id, to_id)
        visit.flash(f"{sentence} {handed_over}".strip())
    elif sentence:
        visit.flash(sentence, f"{_path(visit.id)}/enable")
    return see(_path(visit.id))


@page("POST", f"{BASE}/{{id}}/enable", "proven admin")
def enable(visit: Visit) -> PageResponse:
    """Enables a worker."""
    label = records.update(visit.ctx, URI, visit.id, {"is_disabled": "0"})["_label"]
    visit.flash(_("{label} can sign in again.", label=label), f"{_path(visit.id)}/disable", tickets=KEEP)
    return see(_path(visit.id))


def _path(id: int) -> str:
    return f"{BASE}/{id}"


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    if fields.id:
        return fields.fill(email=lookup.record(visit, "address", fields.stored["email_id"])["email"])
    own = lookup.record(visit, URI, visit.actor.worker_id)
    way = "mail" if _mail_leaves(visit) else "link"
    groups_to_tick = [(id, name, "") for id, name in lookup.choices(visit, "group", "sort:name")]
    fields.change(replace(fields.control("groups"), ticks=groups_to_tick))
    fields.before.several["groups"] = [id for id, _name in lookup.choices(visit, "group", "default:yes")]
    return fields.fill(timezone=own["timezone"], language=own["language"], invite=way)


def _more(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """A nickname for a new worker without one, so that everybody can be mentioned. Raises Invalid for an unknown way of
    inviting them."""
    if fields.id:
        return {}
    if form.get("invite") not in dict(INVITE):
        raise Invalid(_("choose one from the list"), field="invite")
    if not {*form.several.get("groups", [])} <= {id for id, _name in lookup.choices(visit, "group")}:
        raise Invalid(_("choose one from the list"), field="groups")
    name = form.text("at_mention_name")
    return {"at_mention_name": name or nicknames.unused(visit.ctx, form.text("first_name"), form.text("last_name"))}


def _invited(visit: Visit, id: int, way: str, sentence: str, ends_tokens: bool = False) -> PageResponse:
    """The worker's page, or the one with the link, which is shown this once."""
    if way == "link":
        link = sign_in_administration.invitation(visit.ctx, id, ends_tokens)
        days = sign_in_administration.INVITATION_SECONDS // 86400
        visit.has_created = True
        return render(
            visit, "person_link.html", person=lookup.record(visit, URI, id), link=link, days=days, told=sentence
        )
    if way == "mail":
        sign_in_administration.invite(visit.ctx, id, ends_tokens)
        sent, waits = (
            _("An email with a link is on its way."),
            _("An email with a link is in the outbox. It will be sent once a mail transport is set up."),
        )
        sentence = f"{sentence} {sent if _mail_leaves(visit) else waits}".strip()
    visit.flash(sentence)
    return see(_path(id))


def _mail_leaves(visit: Visit) -> bool:
    """Whether there is a mail transport, so that an invitation by mail arrives."""
    return records.count(visit.ctx, "mail_transport", "") > 0


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    id = visit.id
    worker = records.retrieve(visit.ctx, URI, id, "groups,roles,address_")
    devices = security.sessions_of(visit.ctx, id)
    return fields.render(
        "person.html",
        person=worker,
        path=_path(id),
        devices=devices,
        notified=notified_devices.of_worker(visit.ctx, id),
        change=login_address.waiting(visit.ctx, id),
        state=sign_in_administration.signing_in(visit.ctx, [id]).get(id, SignInMethods()),
        device=sign_in.shown_device,
        accounts=provider_sign_in.accounts_of(visit.ctx, id),
    )


@page("GET", f"{BASE}/{{id}}/disable", "proven admin")
def show_disable(visit: Visit, form: Form | None = None) -> PageResponse:
    """What ends when a worker is disabled, and the new owner of their tickets; for a disabled worker only the
    latter."""
    form = form or Form.from_values({"tickets": KEEP, "to_id": ""})
    worker = records.retrieve(visit.ctx, URI, visit.id)
    count = records.count(visit.ctx, "ticket", f"owner.id:{visit.id} status:[open,waiting]")
    takers = lookup.choosable(visit, URI, f"isDisabled:no id:!={visit.id}", form.get("to_id"))
    return render(
        visit,
        "person_disable.html",
        form=form,
        labels=LABELS,
        person=worker,
        count=count,
        ways=TICKETS,
        takers=takers,
        path=_path(visit.id),
        title=_("Hand over the tickets of {name}", name=worker["_label"])
        if worker["is_disabled"]
        else _("Deactivate {name}", name=worker["_label"]),
    )


def _created(visit: Visit, fields: OpenForm, worker: dict[str, Any]) -> PageResponse:
    """Invite a new worker, if that was asked for."""
    sentence = _("{name} added.", name=worker["_label"])
    chosen = fields.values.several.get("groups", [])
    if chosen:
        groups.join(visit.ctx, worker["id"], chosen)
    else:
        sentence += " " + _("They are not in any group yet, so they cannot reply to tickets.")
    if provider_sign_in.providers_of_page(visit.service)[1]:  # passwords are off
        note = _("They sign in with a provider.")
        visit.flash(f"{sentence} {note}")
        return see(_path(worker["id"]))
    return _invited(visit, worker["id"], fields.values.get("invite"), sentence)


def _saved(visit: Visit, fields: OpenForm, saved: dict[str, Any]) -> PageResponse:
    sentence = _("{name} saved.", name=saved["_label"])
    is_another = fields.values.text("email") != fields.before.get("email")
    if is_another and login_address.waiting(visit.ctx, visit.id) is not None:
        sentence += " " + _("They sign in with the new address once they confirm it.")
    fields.flash_saved(sentence)
    return see(BASE)


declare_pages(RecordPages(
    BASE, FORM, _form, LIST, "proven admin", takes_up=True, new_form=NEW, show_new="person_new.html", fill=_fill,
    more=_more, after_create=_created, after_save=_saved, deleted="",
))  # fmt: skip
