"""Signing of outgoing mail: a key for each sender domain, its DNS entry to copy, and whether DNS shows it."""

from collections.abc import Callable

from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.context import Context
from server.errors import HelpdeskError
from server.mailroom import dkim
from server.mailroom.dkim import DkimKey
from server.translation import N_, _

BASE = "/admin/mail/signing"
LABELS = {"domain": N_("Domain")}


@page("GET", BASE, "proven admin")
def show(visit: Visit) -> PageResponse:
    """The keys, and the sender domains that have none."""
    return _all(visit, Form())


@page("POST", BASE, "proven admin", creates=True)
def make(visit: Visit) -> PageResponse:
    """Create a key for a domain; it is used once DNS shows it."""
    form = Form.sent(visit.form, ("domain",))
    try:
        key = dkim.make(visit.ctx, form.get("domain"))
    except HelpdeskError as error:
        return _all(visit, form.refuse(error))
    visit.flash(
        _(
            "Key {selector} created. Add its entry to the DNS of {domain}, then start signing.",
            selector=key.selector,
            domain=key.domain,
        )
    )
    return see(f"{BASE}#key{key.id}")


@page("POST", f"{BASE}/{{id}}/use", "proven admin")
def use(visit: Visit) -> PageResponse:
    """Sign with a key, once DNS was seen to show it."""
    return _changed(visit, dkim.use, N_("Email from {domain} is now signed with {selector}."))


@page("POST", f"{BASE}/{{id}}/stop", "proven admin")
def stop(visit: Visit) -> PageResponse:
    """Sign with a key no more."""
    key = dkim.stop(visit.ctx, visit.id)
    visit.flash(_("Email from {domain} is no longer signed with {selector}.", domain=key.domain, selector=key.selector))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/delete", "proven admin")
def delete(visit: Visit) -> PageResponse:
    """Forget a key for good."""
    return _changed(visit, dkim.delete, N_("Key {selector} of {domain} deleted. You can remove its entry from DNS."))


def _changed(visit: Visit, change: Callable[[Context, int], DkimKey], message: str) -> PageResponse:
    """The response to a change of a domain's key. told: the message."""
    try:
        key = change(visit.ctx, visit.id)
    except HelpdeskError as error:
        return _all(visit, Form().fail("", sentence(error.message)))
    visit.flash(message.format(domain=key.domain, selector=key.selector))
    return see(BASE)


def _all(visit: Visit, form: Form) -> PageResponse:
    keys, domains = dkim.list_keys(visit.ctx), dkim.sender_domains(visit.ctx)
    return render(
        visit,
        "mail_signing.html",
        form=form,
        labels=LABELS,
        keys=keys,
        base=BASE,
        domains=[(each, each) for each in domains],
        signed={each.domain for each in keys if each.is_used},
    )
