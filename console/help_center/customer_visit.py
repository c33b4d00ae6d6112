"""The parts of all pages for one customer: the session, the token of its forms, and responses that no cache stores."""

import functools
import hmac
from collections.abc import Callable
from typing import Any

from console.help_center import customer_cookies
from console.help_center.visitor import Visitor
from console.help_center.visitor_page import Show, VisitorPage, render, see
from server.errors import NotFound
from server.help_center.customers import customer_sessions, customers
from server.help_center.customers.customer_sessions import CustomerSession
from server.help_center.customers.customers import SignedInCustomer
from server.record_types.shared.brands import REQUESTS_PATH, request_path
from server.record_types.shared.secrets import digest
from server.translation import _

SIGN_IN = "/sign-in"
TOKEN = "token"  # field of forms


def private(show: Show) -> Show:
    """Declares a page that no cache stores. Raises NotFound if customers cannot sign in to this help center."""

    @functools.wraps(show)
    def page(visitor: Visitor) -> VisitorPage:
        if not customers.is_open(visitor.brand):
            raise NotFound(_("There is no such page."))
        shown = show(visitor)
        shown.is_cacheable = False
        shown.headers = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"} | shown.headers
        return shown

    return page


def session_of(visitor: Visitor) -> CustomerSession | None:
    """The session of a request, None without a valid one."""
    id, now = customer_cookies.read(visitor, customer_cookies.SESSION), visitor.ctx.now
    session = customer_sessions.check(visitor.service, id, visitor.brand, now) if id else None
    if session is not None and session.must_be_seen:
        customer_sessions.record_use(visitor.service, session, now)
    return session


def customer_of(visitor: Visitor) -> SignedInCustomer | None:
    """Returns the signed-in customer, None without a valid session."""
    session = session_of(visitor)
    return session.customer if session is not None else None


def for_customer(show: Callable[[Visitor, SignedInCustomer], VisitorPage]) -> Show:
    """A page for a signed-in customer. Others are led to the sign-in, and from there to the ticket of the path or to
    the list of tickets."""

    @private
    @functools.wraps(show)
    def page(visitor: Visitor) -> VisitorPage:
        customer = customer_of(visitor)
        if customer is not None:
            return show(visitor, customer)
        mask = visitor.arguments.get("mask")
        path = request_path(mask) if mask is not None else REQUESTS_PATH
        return see(visitor.place(SIGN_IN, next=path), 303 if visitor.is_post else 302)

    return page


def form_token(visitor: Visitor) -> str:
    """The token of the forms of a session, which other sites cannot read."""
    return digest(f"form {customer_cookies.read(visitor, customer_cookies.SESSION)}")[:40]


def is_own_form(visitor: Visitor) -> bool:
    """Whether a form has the token of its session."""
    sent = visitor.form.text(TOKEN, "") or ""
    return hmac.compare_digest(sent.encode("utf-8", "replace"), form_token(visitor).encode())


def render_for(visitor: Visitor, customer: SignedInCustomer | None, template: str, **values: Any) -> VisitorPage:
    """A page from a template with the customer and the token of its forms."""
    return render(visitor, template, customer=customer, token=form_token(visitor) if customer else "", **values)
