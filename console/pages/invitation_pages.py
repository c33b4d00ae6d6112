"""Invitations: the form, the open ones, and the page on which invited people accept."""

from console.html.form import Form
from console.html.rendering import render
from console.html.ui import PAGE_ROWS, Sample
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.login import REFUSED, new_password, page_after_password
from console.pages.people import BASE, TABS
from server.access.service_actor import own_context
from server.digits import id_in
from server.errors import HelpdeskError, Invalid, TooMany
from server.records import records
from server.sign_in import invitation_links, invitations, provider_sign_in, sign_in
from server.sign_in.invitations import AddressProblem, InvitedPeople, NewInvitation
from server.translation import N_, _, ngettext

LIST = f"{BASE}/invitations"
NEW = f"{BASE}/invite"
WAYS = [("mail", N_("Email a link to everyone")), ("link", N_("Show me the links; I will pass them on"))]
FIELDS = ("emails", "language", "remark", "is_admin", "by")
LABELS = {
    "emails": N_("Email addresses"),
    "groups": N_("Groups"),
    "language": N_("Language"),
    "remark": N_("Personal line"),
    "by": N_("Invitation"),
}
OWN_FIELDS = ("first_name", "last_name", "timezone")
OWN_LABELS = {
    "first_name": N_("First name"),
    "last_name": N_("Last name"),
    "timezone": N_("Time zone"),
    "password": N_("Password"),
    "password_again": N_("Password again"),
}


@page("GET", NEW, "proven admin")
def show_form(visit: Visit) -> PageResponse:
    """The empty form."""
    own = lookup.record(visit, "worker", visit.actor.worker_id)
    ticked = [id for id, _name in lookup.choices(visit, "group", "default:yes")]
    way = "mail" if records.count(visit.ctx, "mail_transport", "") else "link"
    return _form(visit, Form({"language": own["language"], "by": way}, {"groups": ticked}))


@page("POST", NEW, "proven admin", creates=True)
def invite(visit: Visit) -> PageResponse:
    """Invites everyone, or shows the form again with the addresses that cannot be invited."""
    form = Form.sent(visit.form, FIELDS, ("groups",))
    emails = invitations.addresses_in(form.get("emails"))
    allows_contacts = visit.form.flag("contacts")
    wrong = invitations.problems(visit.ctx, emails[: invitations.MAX_INVITED])
    if visit.form.flag("rest"):  # leaves out the others
        refused = {each.email for each in wrong if not (each.is_contact and allows_contacts)}
        emails, wrong = tuple(each for each in emails if each not in refused), []
        form.values["emails"] = "\n".join(emails)
    wrong = [each for each in wrong if not (each.is_contact and allows_contacts)]
    if wrong:
        return _form(visit, form, wrong, len(emails) - len(wrong))
    try:
        if form.get("by") not in dict(WAYS):
            raise Invalid(_("choose one from the list"), field="by")
        people = InvitedPeople(
            emails,
            form.text("language"),
            tuple(id_in(each) or 0 for each in form.several["groups"]),
            form.get("is_admin") == "1",
            form.text("remark"),
            allows_contacts,
        )
        created = invitations.invite(visit.ctx, people, by_mail=form.get("by") == "mail")
    except Invalid as error:
        return _form(visit, form.refuse(error, LABELS))
    if form.get("by") == "link":
        return _links(visit, created)
    visit.flash(_said(visit, len(created)))
    return see(LIST)


@page("GET", LIST, "proven admin")
def show(visit: Visit) -> PageResponse:
    """The invitations that are neither accepted nor withdrawn."""
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    listed, total = invitations.open_invitations(visit.ctx, PAGE_ROWS, number)
    return render(
        visit,
        "invitations.html",
        tabs=TABS,
        listed=listed,
        total=total,
        page=number,
        path=LIST,
        new=NEW,
        sample=Sample("GET", "/rest/invitations/search.json", []),
    )


@page("POST", f"{LIST}/{{id}}/again", "proven admin", creates=True)
def send_again(visit: Visit) -> PageResponse:
    """Mails a new link, or shows it."""
    by_mail = visit.form.text("by", "mail") != "link"
    try:
        created = invitations.send_again(visit.ctx, visit.id, by_mail=by_mail)
    except HelpdeskError as error:
        visit.flash(error.message)
        return see(LIST)
    if not by_mail:
        return _links(visit, [created])
    visit.flash(_said(visit, 1))
    return see(LIST)


@page("POST", f"{LIST}/{{id}}/withdraw", "proven admin")
def withdraw(visit: Visit) -> PageResponse:
    """Withdraws an invitation."""
    try:
        email = invitations.withdraw(visit.ctx, visit.id)
        visit.flash(_("The invitation of {email} no longer works.", email=email))
    except HelpdeskError as error:
        visit.flash(error.message)
    return see(LIST)


@page("GET", "/join/{code}", "anyone")
def show_joining(visit: Visit, form: Form | None = None) -> PageResponse:
    """The form of an invitation, opened by its link. Raises NotFound with the reason if the link does not work."""
    code = visit.arguments["code"]
    invitation = invitations.of_link(visit.service, code, visit.now)
    empty = Form.from_values({"timezone": "UTC"})
    return render(
        visit,
        "join.html",
        form=form or empty,
        labels=OWN_LABELS,
        code=code,
        invitation=invitation,
        has_passwords=not _is_only_by_provider(visit),
    )


@page("POST", "/join/{code}", "anyone", hashes=True)
def join(visit: Visit) -> PageResponse:
    """Creates the worker and signs them in."""
    code = visit.arguments["code"]
    invitations.of_link(visit.service, code, visit.now)
    form = Form.sent(visit.form, OWN_FIELDS)
    try:
        password = "" if _is_only_by_provider(visit) else new_password(visit)
        values = {name: form.text(name) for name in OWN_FIELDS}
        email = invitations.accept(visit.service, code, visit.now, values | {"password": password})
    except (Invalid, TooMany) as error:
        return show_joining(visit, form.refuse(error, OWN_LABELS))
    visit.drop_session()
    if not password:
        return see("/login?joined=1")
    try:
        session = sign_in.by_password(own_context(visit.service), email, password, visit.peer)
    except REFUSED:  # such as by an automation, which says so when they sign in
        return see("/login?new=1")
    visit.begin(session)
    return page_after_password(visit, session)


def _is_only_by_provider(visit: Visit) -> bool:
    return provider_sign_in.providers_of_page(visit.service)[1]


def _form(visit: Visit, form: Form, wrong: list[AddressProblem] | None = None, rest: int = 0) -> PageResponse:
    """The form. wrong: addresses that cannot be invited. rest: the number of the others."""
    return render(
        visit,
        "invite.html",
        INVALID if wrong else form.status,
        form=form,
        labels=LABELS,
        path=NEW,
        wrong=wrong or [],
        rest=rest,
        has_contacts=any(each.is_contact for each in wrong or []),
        ways=[(value, _(label)) for value, label in WAYS],
        groups=[(id, name, "") for id, name in lookup.choices(visit, "group", "sort:name")],
        days=invitation_links.VALID_SECONDS // 86400,
        most_remark=invitations.MAX_REMARK_CHARS,
    )


def _links(visit: Visit, created: list[NewInvitation]) -> PageResponse:
    """The links, which are shown this once."""
    visit.has_created = True
    days = invitation_links.VALID_SECONDS // 86400
    return render(visit, "invitation_links.html", created=created, days=days, path=LIST)


def _said(visit: Visit, count: int) -> str:
    if not records.count(visit.ctx, "mail_transport", ""):
        return ngettext(
            "{count} invitation is in the outbox. It will be sent once a mail transport is set up.",
            "{count} invitations are in the outbox. They will be sent once a mail transport is set up.",
            count,
        )
    return ngettext("{count} invitation is on its way.", "{count} invitations are on their way.", count)
