"""Setting up: the one-use link creates the first administrator; a few steps follow, which can be interrupted and
continued at /setup.

The code in the address is the secret that allows it; it works once and is not logged."""

from typing import Any
from urllib.parse import urlsplit

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.mailing.mail_overview import ENCRYPTIONS
from server.errors import HelpdeskError, Invalid, NotFound
from server.first_start import address_step, demo, setup
from server.first_start.setup import Step
from server.mail.inboxes import SERVER_PROTOCOLS
from server.mail.transports import smtp
from server.mailroom import mail_setup
from server.passwords import MIN_CHARS
from server.people import profile
from server.translation import N_, SOURCE, _
from server.upkeep import checkup_mail

BASE = "/setup"
FIELDS = ("first_name", "last_name", "email", "timezone")
ADDRESS_FIELDS = ("base_url", "sender", "mail_mask_pattern")
MAIL_FIELDS = ("host", "encryption", "port", "username", "recipient")
LABELS = {
    "first_name": N_("First name"),
    "email": N_("Email address"),
    "timezone": N_("Time zone"),
    "password": N_("Password"),
    "password_again": N_("Password again"),
    "base_url": N_("Address"),
    "sender": N_("Replies come from"),
    "mail_mask_pattern": N_("Ticket numbers"),
    "host": N_("Host"),
    "port": N_("Port"),
    "username": N_("User name"),
    "encryption": N_("Encryption"),
    "recipient": N_("Send a test email to"),
    "protocol": N_("Protocol"),
    "is_mail_kept": N_("Leave email on the server"),
}
TITLES = {
    "you": N_("You"),
    "address": N_("Address"),
    "mail": N_("Mail"),
    "receive": N_("Incoming email"),
    "start": N_("Start"),
}
RECEIVE_FIELDS = ("protocol", "host", "port", "username", "is_mail_kept")

# -- you ---------------------------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/{{code}}", "anyone")
def show(visit: Visit) -> PageResponse:
    """The empty form, or the reason why the link no longer works."""
    return _over(visit) or _you(visit, Form.from_values({"timezone": "UTC"}))


@page("POST", f"{BASE}/{{code}}", "anyone", checks_form=False, hashes=True)
def save(visit: Visit) -> PageResponse:
    """Creates the administrator and signs them in, or shows the form again with its mistakes."""
    over = _over(visit)
    if over is not None:
        return over
    form = Form.sent(visit.form, FIELDS)
    password = visit.form.text("password", "")
    _check(form, password, visit.form.text("password_again", ""))
    if form.is_wrong:
        return _you(visit, form)
    fields = {name: form.text(name) for name in FIELDS}
    fields |= {"timezone": fields["timezone"] or "UTC", "password": password}
    if visit.language != SOURCE:  # the browser's, which is theirs
        fields["language"] = visit.language
    try:
        session = setup.finish_setup(visit.ctx, visit.arguments["code"], fields, visit.peer)
    except NotFound:
        return _over(visit) or see("/")
    except HelpdeskError as error:
        return _you(visit, form.refuse(error, known=(*FIELDS, "password")))
    visit.set_session(session, is_kept=False)
    return see(f"{BASE}/address")


def _you(visit: Visit, form: Form) -> PageResponse:
    return render(
        visit,
        "setup.html",
        form=form,
        code=visit.arguments["code"],
        labels=LABELS,
        steps=_steps("you", setup.STEPS),
        least=MIN_CHARS,
    )


def _check(form: Form, password: str, again: str) -> None:
    if not form.text("first_name"):
        form.fail("first_name", _("Enter your first name."))
    if not form.text("email"):
        form.fail("email", _("Enter your email address."))
    if len(password) < MIN_CHARS:
        form.fail("password", _("The password needs at least {MIN_CHARS} characters.", MIN_CHARS=MIN_CHARS))
    elif password != again:
        form.fail("password_again", _("The two passwords do not match."))


def _over(visit: Visit) -> PageResponse | None:
    """The page of a link that no longer works, with the way to a new one; None for a valid link."""
    if setup.is_open(visit.service, visit.arguments["code"], visit.now):
        return None
    return render(
        visit,
        "setup_over.html",
        404,
        is_set_up=setup.is_set_up(visit.service),
        minutes=setup.LINK_SECONDS // 60,
    )


# -- the steps that follow ---------------------------------------------------------------------------------------------


@page("GET", BASE, "admin")
def go_on(visit: Visit) -> PageResponse:
    """The first step that is left; the start when all are done."""
    remaining = setup.remaining_steps(visit.ctx)
    return see(f"{BASE}/{remaining[0]}" if remaining else "/")


@page("POST", f"{BASE}/skip", "admin")
def skip(visit: Visit) -> PageResponse:
    """Leave a step as it is."""
    step = visit.form.text("step", "")
    for each in setup.STEPS:
        if step == each:
            return _next(visit, each)
    raise Invalid(
        _("'{step}' is not a step; use one of {STEPS}", step=step[:40], STEPS=", ".join(setup.STEPS)), field="step"
    )


@page("GET", f"{BASE}/address", "admin")
def show_address(visit: Visit) -> PageResponse:
    """Where the service is reached, who its mail comes from, what ticket numbers look like."""
    present = address_step.current_address(visit.ctx)
    here = f"{visit.service.base_url.partition('://')[0]}://{visit.request.headers.get('Host', '')}"
    url = present.base_url if present.is_chosen else here
    return _address(
        visit, Form.from_values({"base_url": url, "sender": present.sender, "mail_mask_pattern": present.mask_pattern})
    )


@page("POST", f"{BASE}/address", "proven admin")
def save_address(visit: Visit) -> PageResponse:
    """Saves the settings. An address that differs from the one in use must be confirmed."""
    form = Form.sent(visit.form, (*ADDRESS_FIELDS, "anyway"))
    try:
        base_url = address_step.check_address(visit.ctx, form.text("base_url"), form.text("mail_mask_pattern"))
        if form.get("anyway") != "1":
            _require_same(visit, base_url)
        was_secure = visit.is_secure
        address_step.set_all(visit.ctx, base_url, form.text("sender"), form.text("mail_mask_pattern"))
    except HelpdeskError as error:
        return _address(visit, form.refuse(error))
    if visit.is_secure != was_secure:
        visit.set_session(visit.secret)  # under the name that it has from now on
    return _next(visit, "address")


def _require_same(visit: Visit, base_url: str) -> None:
    """Raises Invalid if the browser uses another address than the one to be set."""
    host, origin = visit.request.headers.get("Host", ""), visit.request.headers.get("Origin", "")
    parts = urlsplit(base_url)
    here = origin if "://" in origin else f"{parts.scheme}://{host}"
    if here.rstrip("/").lower() != f"{parts.scheme}://{parts.netloc}".lower():
        raise Invalid(
            _("your browser is at {here}; tick the box below if {wanted} is correct", here=here, wanted=base_url),
            field="base_url",
        )


def _address(visit: Visit, form: Form) -> PageResponse:
    return _step(visit, "address", form, sources=visit.service.settings.sources, is_given=_given(visit))


def _given(visit: Visit) -> set[str]:
    """The fields that are set elsewhere."""
    return {name for name in ADDRESS_FIELDS if visit.service.settings.is_given(name)}


@page("GET", f"{BASE}/mail", "admin")
def show_mail(visit: Visit) -> PageResponse:
    """A mail server for outgoing mail, or none yet."""
    return _mail(
        visit, Form.from_values({"encryption": "starttls", "recipient": profile.own_record(visit.ctx)["email"]})
    )


@page("POST", f"{BASE}/mail", "proven admin")
def save_mail(visit: Visit) -> PageResponse:
    """Send a test mail by the server that is described; once it was taken, keep the server as the default one."""
    form = Form.sent(visit.form, (*MAIL_FIELDS, "anyway"))
    params = {name: form.text(name) for name in smtp.TYPED if form.text(name)}
    password = visit.form.text("password", "")
    params |= {"password": password} if password else {}
    try:
        mail_setup.add_server(visit.ctx, form.text("host"), params, form.text("recipient"), form.get("anyway") == "1")
    except HelpdeskError as error:
        return _mail(visit, form.refuse(error), mail_setup.dialogue_of(error))
    visit.flash(_("Email is now sent through {host}.", host=form.text("host")))
    return _next(visit, "mail")


def _mail(visit: Visit, form: Form, dialogue: tuple[str, ...] = ()) -> PageResponse:
    has_server = mail_setup.defaults(visit.ctx)[1] > 0
    return _step(visit, "mail", form, encryptions=ENCRYPTIONS, dialogue=dialogue, has_server=has_server)


@page("GET", f"{BASE}/receive", "admin")
def show_receive(visit: Visit) -> PageResponse:
    """A mailbox that mail is fetched from, or another way for it to come in."""
    sender = address_step.current_address(visit.ctx).sender
    username = "" if checkup_mail.is_local(sender) else sender
    return _receive(visit, Form.from_values({"protocol": "imap-ssl", "username": username, "is_mail_kept": "1"}))


@page("POST", f"{BASE}/receive", "proven admin")
def save_receive(visit: Visit) -> PageResponse:
    """Open the mailbox that is described; once that works, store it."""
    form = Form.sent(visit.form, (*RECEIVE_FIELDS, "anyway"))
    try:
        fields = {name: form.text(name) for name in RECEIVE_FIELDS}
        fields |= {"password": visit.form.text("password", ""), "is_mail_kept": form.get("is_mail_kept") or "0"}
        mail_setup.add_mailbox(visit.ctx, fields, form.get("anyway") == "1")
    except HelpdeskError as error:
        return _receive(visit, form.refuse(error), mail_setup.dialogue_of(error))
    visit.flash(_("Email is now fetched from {host}.", host=form.text("host")))
    return _next(visit, "receive")


def _receive(visit: Visit, form: Form, dialogue: tuple[str, ...] = ()) -> PageResponse:
    protocols = [(name, name.upper().replace("-", " with ")) for name in reversed(SERVER_PROTOCOLS)]  # the safest first
    return _step(visit, "receive", form, protocols=protocols, dialogue=dialogue)


@page("GET", f"{BASE}/start", "admin")
def show_start(visit: Visit) -> PageResponse:
    """Begin with an empty desk, or with something to look at."""
    return _step(visit, "start", Form(), tickets=demo.TICKETS, is_filled=demo.is_filled(visit.ctx))


@page("POST", f"{BASE}/demo", "admin", creates=True)
def fill(visit: Visit) -> PageResponse:
    """Make the tickets of the demo."""
    demo.fill(visit.ctx)
    visit.flash(_("Demo data added. You can remove it at any time."), f"{BASE}/demo/remove")
    return _next(visit, "start")


@page("POST", f"{BASE}/demo/remove", "admin")
def remove_demo(visit: Visit) -> PageResponse:
    """Remove the demo data for good."""
    count = demo.remove(visit.ctx)
    visit.flash(_("Demo data removed: {count} tickets and everything that belonged to them.", count=count))
    return see("/")


def _next(visit: Visit, step: Step) -> PageResponse:
    """A redirect to the next step that is left."""
    next_step = setup.finish_step(visit.ctx, step)
    return see(f"{BASE}/{next_step}" if next_step is not None else "/")


def _step(visit: Visit, step: Step, form: Form, **values: Any) -> PageResponse:
    remaining = setup.remaining_steps(visit.ctx)
    steps = _steps(step, remaining)
    return render(visit, f"setup_{step}.html", form=form, labels=LABELS, steps=steps, **values)


def _steps(here: str, remaining: tuple[Step, ...]) -> list[tuple[str, str, bool, bool]]:
    """(title, path, whether it is done, whether it is this one) of each step; the path is "" where it leads nowhere."""
    return [
        (
            title,
            f"{BASE}/{name}" if here not in ("you", name) and name != "you" else "",
            name != here and name not in remaining,
            name == here,
        )
        for name, title in TITLES.items()
    ]
