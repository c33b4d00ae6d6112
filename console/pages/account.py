"""The worker's own account: name, appearance, password, second factor, devices. The sign-in address has a page of its
own."""

import re
from dataclasses import replace

import segno
from markupsafe import Markup

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages import absences
from console.pages.login import new_password
from server.access import totp, webauthn
from server.access.passkeys import MAX_NAME_CHARS
from server.access.push_devices import PushDevice
from server.errors import Conflict, HelpdeskError, Invalid, NotAuthenticated, NotFound, TooMany
from server.locales import WEEKDAYS
from server.notifying import notified_devices, quiet_hours
from server.people import preferences, profile
from server.records import notification_mail
from server.sign_in import login_address, passkey_sign_in, password_change, provider_sign_in, security, sign_in
from server.translation import N_, _, ngettext, shown

ISSUER = N_("Helpdesk")
_SECRET = re.compile(r"[A-Z2-7]{32}\Z")


@page("POST", "/account/profile")
def save_profile(visit: Visit) -> PageResponse:
    """Change name, time zone and language."""
    form, before = Form.sent(visit.form, profile.FIELDS), profile.own_record(visit.ctx)
    try:
        profile.change(visit.ctx, {name: form.text(name) for name in profile.FIELDS if name in visit.form})
    except HelpdeskError as error:
        return show(visit, profile=form.refuse(error))
    visit.flash(_("Profile saved."), visit.path, **{name: str(before[name]) for name in profile.FIELDS})
    return see("/account")


@page("POST", "/account/absence")
def save_absence(visit: Visit) -> PageResponse:
    """Sets the absence of the worker and their stand-in."""
    before = absences.stored_form(visit, visit.actor.worker_id)
    form = absences.save(visit, visit.actor.worker_id)
    if form.is_wrong:
        return show(visit, absence=form)
    visit.flash(_("Absence saved."), visit.path, **absences.fields_of(before))
    return see("/account#absence")


@page("POST", "/account/absence/begin")
def begin_absence(visit: Visit) -> PageResponse:
    """Be away from now on."""
    before = absences.begin(visit, visit.actor.worker_id)
    visit.flash(_("You are away until you are back."), "/account/absence", **absences.fields_of(before))
    return see("/account#absence")


@page("POST", "/account/absence/end")
def end_absence(visit: Visit) -> PageResponse:
    """Be back at once."""
    before = absences.end(visit, visit.actor.worker_id)
    visit.flash(_("Welcome back."), "/account/absence", **absences.fields_of(before))
    return see("/account#absence")


@page("POST", "/account/appearance")
def save_appearance(visit: Visit) -> PageResponse:
    """Change how the console looks."""
    form, before = Form.sent(visit.form, ("theme", "density", "has_keys")), visit.preferences
    try:
        has_keys = form.get("has_keys") == "1"
        chosen = replace(before, theme=form.get("theme"), density=form.get("density"), has_keys=has_keys)
        preferences.choose(visit.ctx, chosen)
    except Invalid as error:
        return show(visit, appearance=form.refuse(error))
    was = {"theme": before.theme, "density": before.density, "has_keys": "1" if before.has_keys else ""}
    visit.flash(_("Appearance saved."), "/account/appearance", **was)
    return see("/account#appearance")


@page("POST", "/account/tickets")
def save_destination(visit: Visit) -> PageResponse:
    """Changes how messages are written, and the page that follows a closed ticket or a sent reply."""
    form, before = Form.sent(visit.form, ("destination", "writing")), visit.preferences
    try:
        chosen = replace(before, destination=form.get("destination"), writing=form.get("writing") or before.writing)
        preferences.choose(visit.ctx, chosen)
    except Invalid as error:
        return show(visit, tickets=form.refuse(error))
    visit.flash(_("Saved."), visit.path, destination=before.destination, writing=before.writing)
    return see("/account#tickets")


@page("POST", "/account/notifications")
def save_notifications(visit: Visit) -> PageResponse:
    """Choose what one gets by mail, too."""
    form, before = Form.sent(visit.form, (), ("mailed",)), notification_mail.caller_kinds(visit.ctx)
    try:
        notification_mail.choose(visit.ctx, form.several["mailed"])
    except Invalid as error:
        return show(visit, notifications=form.refuse(error))
    visit.flash(_("Notification settings saved."), visit.path, **{"mailed[]": sorted(before)})
    return see("/account#notifications")


@page("POST", "/account/password", hashes=True)
def save_password(visit: Visit) -> PageResponse:
    """Set a new password; all other sessions end."""
    form = Form()
    try:
        new = new_password(visit)
        id = password_change.change(visit.ctx, visit.who, visit.form.text("current", ""), new, visit.peer)
    except NotAuthenticated as error:
        return show(visit, password=form.fail("current", error.message))
    except (Invalid, TooMany) as error:
        return show(visit, password=form.refuse(error, ("password", "password_again")))
    visit.set_session(id)
    visit.flash(_("Password changed. You are signed out everywhere else."))
    return see("/account")


@page("POST", "/account/sessions/{id}/end")
def end_session(visit: Visit) -> PageResponse:
    """Signs out a device. Raises NotFound unless the session is the worker's own."""
    session_id = visit.id
    if not sign_in.end_sessions(visit.ctx, session_id):
        raise NotFound(_("That session no longer exists."))
    if session_id == visit.who.id:
        visit.drop_session()
        return see("/login?out=1")
    visit.flash(_("Device signed out."))
    return see("/account#sessions")


@page("POST", "/account/sessions/end")
def end_sessions(visit: Visit) -> PageResponse:
    """Sign out everywhere else."""
    count = sign_in.end_sessions(visit.ctx, but=visit.who.id, peer=visit.peer)
    visit.flash(ngettext("{count} other device signed out.", "{count} other devices signed out.", count))
    return see("/account#sessions")


@page("POST", "/account/devices/{id}/forget")
def forget_device(visit: Visit) -> PageResponse:
    """Forgets a known device; its session goes on. Raises NotFound unless the device is the worker's own."""
    sign_in.forget_device(visit.ctx, visit.id)
    visit.flash(_("Device forgotten."))
    return see("/account#devices")


# -- the second factor -------------------------------------------------------------------------------------------------


@page("POST", "/account/second-factor", "proven worker")
def turn_on(visit: Visit) -> PageResponse:
    """Begin to sign in with codes, once one of them was right; recovery codes are shown this once."""
    secret = visit.form.text("shared_key", "")
    if not _SECRET.match(secret):
        raise Invalid(_("This form is no longer valid. Open the page again."))
    try:
        codes = sign_in.turn_on_code(visit.ctx, secret, visit.form.text("code", ""))
    except (Invalid, TooMany) as error:
        return show_second_factor(visit, Form().refuse(error, ("code",)), secret)
    return render(visit, "recovery_codes.html", codes=codes, is_new=True, back=_back(visit))


@page("POST", "/account/second-factor/codes", "proven worker")
def renew_codes(visit: Visit) -> PageResponse:
    """Ten new recovery codes; those before work no more. Raises NotFound without a second factor."""
    codes = sign_in.renew_recovery_codes(visit.ctx)
    return render(visit, "recovery_codes.html", codes=codes, is_new=False, back=_back(visit))


@page("POST", "/account/second-factor/off", "proven worker")
def turn_off(visit: Visit) -> PageResponse:
    """Sign in by password alone from now on."""
    try:
        sign_in.turn_off_code(visit.ctx)
    except Conflict as error:
        visit.flash(error.message)
        return see("/account#second-factor")
    has_other = security.has_second_factor(visit.ctx)
    visit.flash(_("App removed.") if has_other else _("You now sign in with your password only."))
    return see("/account#second-factor")


@page("GET", "/account")
def show(visit: Visit, **given: Form) -> PageResponse:
    """The whole account. given: forms with mistakes, in place of those with the stored values."""
    worker_id, look = visit.actor.worker_id, visit.preferences
    keys = "1" if look.has_keys else ""
    forms = {
        "profile": Form.from_values(profile.own_record(visit.ctx)),
        "appearance": Form.from_values({"theme": look.theme, "density": look.density, "has_keys": keys}),
        "tickets": Form.from_values({"destination": look.destination, "writing": look.writing}),
        "notifications": _notifications(visit),
        "notified": Form(),
        "quiet": stored_quiet_hours(visit),
        "absence": absences.stored_form(visit, worker_id),
        "password": Form(),
        **given,
    }
    own = security.own(visit.ctx, visit.peer.known)
    sessions = sorted(own.sessions, key=lambda each: each.id != visit.who.id)  # this one stands first
    return render(
        visit,
        "account.html",
        forms=forms,
        email=login_address.current_address(visit.ctx),
        change=login_address.waiting(visit.ctx, worker_id),
        sessions=sessions,
        device=sign_in.shown_device,
        devices=own.devices,
        known=own.known,
        own_accounts=provider_sign_in.own_accounts(visit.ctx),
        has_code=own.has_code,
        codes_left=own.codes_left,
        passkeys=own.passkeys,
        passkey_name_chars=MAX_NAME_CHARS,
        factor_due=security.second_factor_due(visit.service, worker_id),
        passkey_obstacle=webauthn.obstacle(visit.service.base_url),
        rp_id=webauthn.relying_party(visit.service.base_url).id,
        themes=[("system", N_("Same as system")), ("light", N_("Light")), ("dark", N_("Dark"))],
        destinations=[
            ("next", N_("Open the next ticket of the list")),
            ("list", N_("Go back to the list")),
            ("stay", N_("Stay on the ticket")),
        ],
        writings=[("markdown", N_("Markdown")), ("rich", N_("Rich text"))],
        stand_ins=absences.stand_ins(visit, worker_id, forms["absence"]),
        away=profile.absence_of(visit.ctx, worker_id),
        mailed=notification_mail.LABELS,
        answers=visit.service.settings.answer_by_mail,
        push_key=notified_devices.server_key(visit.service),
        notified=_notified(visit),
        days=[(str(day), shown(each), "") for day, each in enumerate(WEEKDAYS)],
        densities=[("normal", N_("Normal")), ("compact", N_("Compact"))],
    )


def _notifications(visit: Visit) -> Form:
    form = Form()
    form.several["mailed"] = sorted(notification_mail.caller_kinds(visit.ctx))
    return form


def kinds_field(device_id: int) -> str:
    """The name of the field with the kinds of notifications of a device."""
    return f"pushed-{device_id}"


def stored_quiet_hours(visit: Visit) -> Form:
    """The form with the quiet hours of the worker."""
    quiet, text = quiet_hours.own(visit.ctx), quiet_hours.time_text
    values = {"quiet": "1" if quiet.is_on else "", "quiet_from": text(quiet.begins), "quiet_until": text(quiet.ends)}
    return Form(values, {"quiet_days": [str(day) for day in quiet.days]})


def _notified(visit: Visit) -> list[tuple[PushDevice, str, Form]]:
    """[(device, the field with its kinds, a form with these)], that of this session first."""
    devices = sorted(notified_devices.own(visit.ctx), key=lambda each: each.session_id != visit.who.id)
    names = [kinds_field(each.id) for each in devices]
    return [(each, name, Form({}, {name: list(each.kinds)})) for each, name in zip(devices, names, strict=True)]


@page("GET", "/account/second-factor", "proven worker")
def show_second_factor(visit: Visit, form: Form | None = None, secret: str = "") -> PageResponse:
    """A new secret to be scanned, or what there is."""
    secret = secret or totp.new_secret()
    address = totp.address(secret, ISSUER, login_address.current_address(visit.ctx))
    svg = segno.make(address, error="m").svg_inline(border=2, dark="#000", light="#fff", omitsize=True)
    return render(
        visit,
        "second_factor.html",
        form=form or Form(),
        is_on=security.has_app(visit.service, visit.actor.worker_id),
        has_passkeys=bool(passkey_sign_in.origin(visit.service)),
        qr=Markup(svg),
        secret=secret,
        key=" ".join(secret[place : place + 4] for place in range(0, len(secret), 4)),
        back=_back(visit),
    )


def _back(visit: Visit) -> str:
    """The page to return to, by default the account."""
    return "/account#second-factor" if visit.next == "/" else visit.next
