"""The devices on which a worker is notified, and their quiet hours: forms of the account."""

from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages import account
from server.errors import Conflict, Invalid, TooMany
from server.notifying import notified_devices, quiet_hours
from server.sign_in.sign_in import shown_device
from server.translation import _

PLACE = "/account#notified"
BASE = "/account/notified"
QUIET = ("quiet", "quiet_from", "quiet_until")


@page("POST", BASE)
def turn_on(visit: Visit) -> PageResponse:
    """Notifies the worker on the device of this session."""
    form = Form.sent(visit.form, ("endpoint", "p256dh", "auth"))
    try:
        notified_devices.turn_on(
            visit.ctx, visit.who, form.text("endpoint"), form.text("p256dh"), form.text("auth"), visit.peer
        )
    except (Conflict, Invalid) as error:
        return account.show(visit, notified=Form().refuse(error))
    visit.flash(_("This device is notified now."))
    return see(PLACE)


@page("POST", f"{BASE}/{{id}}")
def save_kinds(visit: Visit) -> PageResponse:
    """Chooses what a device shows. Raises NotFound for another worker's device."""
    name = account.kinds_field(visit.id)
    form = Form.sent(visit.form, (), (name,))
    try:
        before = notified_devices.choose_kinds(visit.ctx, visit.id, form.several[name])
    except Invalid as error:
        return account.show(visit, notified=Form().refuse(error))
    visit.flash(_("Notification settings saved."), visit.path, **{f"{name}[]": list(before)})
    return see(PLACE)


@page("POST", f"{BASE}/{{id}}/test")
def test(visit: Visit) -> PageResponse:
    """Sends a test notification. Raises NotFound for another worker's device."""
    try:
        device = notified_devices.test(visit.ctx, visit.id)
    except (Conflict, TooMany) as error:
        return account.show(visit, notified=Form().refuse(error))
    visit.flash(_("A test is on its way to {device}.", device=shown_device(device.device)))
    return see(PLACE)


@page("POST", f"{BASE}/{{id}}/remove")
def turn_off(visit: Visit) -> PageResponse:
    """Stops notifying the worker on a device. Raises NotFound for another worker's device."""
    device = notified_devices.turn_off(visit.ctx, visit.id)
    visit.flash(_("{device} is no longer notified.", device=shown_device(device.device)))
    return see(PLACE)


@page("POST", "/account/quiet-hours")
def save_quiet_hours(visit: Visit) -> PageResponse:
    """Chooses when no device is notified."""
    form, before = Form.sent(visit.form, QUIET, ("quiet_days",)), account.stored_quiet_hours(visit)
    try:
        quiet_hours.choose(
            visit.ctx,
            form.get("quiet") == "1",
            form.get("quiet_from"),
            form.get("quiet_until"),
            form.several["quiet_days"],
        )
    except Invalid as error:
        return account.show(visit, quiet=form.refuse(error))
    visit.flash(_("Quiet hours saved."), visit.path, **before.sent_again())
    return see(PLACE)
