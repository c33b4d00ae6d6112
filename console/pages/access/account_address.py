"""The address that one signs in with: changing it takes the password, and a link that is mailed to the new one."""

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.errors import Conflict, HelpdeskError, Invalid, NotAuthenticated, TooMany
from server.sign_in import login_address
from server.translation import _

BASE = "/account/address"
BACK = "/account#address"
CONFIRM = "/confirm-address/{code}"


@page("POST", BASE, hashes=True, creates=True)
def ask(visit: Visit) -> PageResponse:
    """Mail a link to another address; the one before counts until it was opened."""
    form = Form.sent(visit.form, ("email",))
    try:
        change = login_address.request(visit.ctx, form.text("email"), visit.form.text("current", ""))
    except NotAuthenticated as error:
        return show(visit, form.fail("current", error.message))
    except (Conflict, Invalid, TooMany) as error:
        return show(visit, form.refuse(error))
    visit.flash(
        _(
            "An email with a link is on its way to {new_email}. Until you open it, you sign in as before.",
            new_email=change.new_email,
        )
    )
    return see(BACK)


@page("POST", f"{BASE}/again", creates=True)
def send_again(visit: Visit) -> PageResponse:
    """Mails the confirmation link again."""
    login_address.send_again(visit.ctx, visit.actor.worker_id)
    visit.flash(_("Another email is on its way. The link in the previous one no longer works."))
    return see(BACK)


@page("POST", f"{BASE}/drop")
def take_back(visit: Visit) -> PageResponse:
    """Go on with the address that counts."""
    try:
        login_address.cancel(visit.ctx, visit.actor.worker_id)
        visit.flash(_("You still sign in with the same address."))
    except HelpdeskError as error:
        visit.flash(error.message)
    return see(BACK)


@page("GET", CONFIRM)
def show_confirm(visit: Visit, form: Form | None = None) -> PageResponse:
    """The change to confirm. Raises NotFound for a link that no longer works, or belongs to somebody else."""
    code = visit.arguments["code"]
    change = login_address.of_code(visit.ctx, code)
    return render(visit, "confirm_address.html", form=form or Form(), change=change, code=code)


@page("POST", CONFIRM)
def confirm(visit: Visit) -> PageResponse:
    """Sign in with the new address from now on."""
    try:
        change = login_address.confirm(visit.ctx, visit.arguments["code"])
    except Conflict as error:
        return show_confirm(visit, Form().refuse(error))
    visit.flash(_("You now sign in with {new_email}.", new_email=change.new_email))
    return see(BACK)


@page("GET", BASE)
def show(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form, and the change that waits."""
    change = login_address.waiting(visit.ctx, visit.actor.worker_id)
    email = login_address.current_address(visit.ctx)
    return render(visit, "account_address.html", form=form or Form(), email=email, change=change)
