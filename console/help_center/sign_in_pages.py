"""The sign-in of customers: the form for an address, the code, the mailed link, and the sign-out. Known and unknown
addresses get the same pages."""

import re

from console.help_center import customer_cookies
from console.help_center.customer_cookies import BROWSER, SESSION
from console.help_center.customer_visit import SIGN_IN, customer_of, is_own_form, private, render_for
from console.help_center.visitor import Visitor
from console.help_center.visitor_page import VisitorPage, see
from console.html.form import sentence
from server.errors import Invalid, TooMany
from server.help_center.customers import customer_sessions, customer_sign_in
from server.help_center.customers.customer_sign_in import SignedIn
from server.record_types.shared.brands import REQUESTS_PATH
from server.translation import _, shown
from server.web.error_bodies import headers, status_and_code

CODE, LINK = f"{SIGN_IN}/code", f"{SIGN_IN}/link"
COOKIE_SECONDS = 3600  # lifetime of the cookie of a browser that requested a link
_NEXT = re.compile(rf"{REQUESTS_PATH}(?:/[A-Za-z0-9%._-]{{1,100}})?\Z")  # pages that the sign-in leads to


@private
def show(visitor: Visitor) -> VisitorPage:
    """The form for an email address."""
    if customer_of(visitor) is not None:
        return see(visitor.place(_next(visitor.query.text("next", ""))), 302)
    return _form(visitor, _next(visitor.query.text("next", "")))


@private
def send(visitor: Visitor) -> VisitorPage:
    """Stores the request for a link; the same for every address."""
    email, next_path = visitor.form.text("email", "") or "", _next(visitor.form.text("next", ""))
    try:
        browser = customer_sign_in.request_link(
            visitor.service,
            visitor.brand,
            customer_sign_in.clean_email(email),
            browser=customer_cookies.read(visitor, BROWSER),
            client=visitor.request.client,
            next_path=next_path,
            language=visitor.language,
            now=visitor.ctx.now,
        )
    except (Invalid, TooMany) as error:
        page = _form(visitor, next_path, email, sentence(shown(error.message)))
        page.status = status_and_code(error)[0]
        page.headers |= headers(error)
        return page
    page = see(visitor.place(CODE), 303)
    page.cookies = (customer_cookies.write(visitor, BROWSER, browser, COOKIE_SECONDS),)
    return page


@private
def show_code(visitor: Visitor) -> VisitorPage:
    """The page after an address was entered, with the form for a code."""
    return _code_form(visitor)


@private
def enter_code(visitor: Visitor) -> VisitorPage:
    """Signs in with a code."""
    signed_in = customer_sign_in.sign_in_by_code(
        visitor.service,
        visitor.brand,
        visitor.form.text("code", "") or "",
        customer_cookies.read(visitor, BROWSER),
        customer_cookies.read(visitor, SESSION),
        visitor.ctx.now,
    )
    if signed_in is not None:
        return _welcome(visitor, signed_in)
    return _code_form(visitor, _("The code is wrong or no longer works. Each link allows five tries."), 422)


@private
def open_link(visitor: Visitor) -> VisitorPage:
    """The page of a mailed link: a button in the browser that requested it, the code in any other browser. Opening it
    does not sign in."""
    return _link_page(visitor)


@private
def use_link(visitor: Visitor) -> VisitorPage:
    """Signs in with a link."""
    signed_in = customer_sign_in.sign_in_by_link(
        visitor.service,
        visitor.brand,
        visitor.arguments["link"],
        customer_cookies.read(visitor, BROWSER),
        customer_cookies.read(visitor, SESSION),
        visitor.ctx.now,
    )
    return _welcome(visitor, signed_in) if signed_in is not None else _link_page(visitor)


@private
def sign_out(visitor: Visitor) -> VisitorPage:
    """Ends the session."""
    if customer_of(visitor) is not None and not is_own_form(visitor):
        return see(visitor.place(REQUESTS_PATH), 303)
    customer_sign_in.sign_out(visitor.service, customer_cookies.read(visitor, SESSION))
    page = see(visitor.place("/"), 303)
    page.cookies = (customer_cookies.write(visitor, SESSION, "", 0),)
    return page


def _form(visitor: Visitor, next_path: str, email: str = "", problem: str = "") -> VisitorPage:
    return render_for(
        visitor,
        None,
        "sign_in.html",
        title=_("Sign in"),
        path=visitor.place(SIGN_IN),
        next_path=next_path,
        email=email[: customer_sign_in.MAX_EMAIL_CHARS],
        most=customer_sign_in.MAX_EMAIL_CHARS,
        problem=problem,
    )


def _code_form(visitor: Visitor, problem: str = "", status: int = 200) -> VisitorPage:
    browser = customer_cookies.read(visitor, BROWSER)
    email = customer_sign_in.waiting_email(visitor.service, visitor.brand, browser, visitor.ctx.now)
    if not email and not problem:
        return see(visitor.place(SIGN_IN), 302)
    return render_for(
        visitor,
        None,
        "sign_in_code.html",
        title=_("Read your email"),
        path=visitor.place(CODE),
        again=visitor.place(SIGN_IN),
        email=email,
        minutes=customer_sign_in.LINK_SECONDS // 60,
        problem=problem,
        status=status,
    )


def _link_page(visitor: Visitor) -> VisitorPage:
    link = visitor.arguments["link"]
    opened = customer_sign_in.open_link(
        visitor.service, visitor.brand, link, customer_cookies.read(visitor, BROWSER), visitor.ctx.now
    )
    return render_for(
        visitor,
        None,
        "sign_in_link.html" if opened is not None else "sign_in_gone.html",
        title=_("Sign in") if opened is not None else _("This link no longer works"),
        path=visitor.place(f"{LINK}/{link}"),
        again=visitor.place(SIGN_IN),
        opened=opened,
        status=200 if opened is not None else 404,
    )


def _welcome(visitor: Visitor, signed_in: SignedIn) -> VisitorPage:
    page = see(visitor.place(_next(signed_in.next_path)), 303)
    page.cookies = (
        customer_cookies.write(visitor, SESSION, signed_in.session_id, customer_sessions.SESSION_SECONDS),
        customer_cookies.write(visitor, BROWSER, "", 0),
    )
    return page


def _next(path: str | None) -> str:
    """The path of a page of requests, by default of their list."""
    return path if path and _NEXT.fullmatch(path) else REQUESTS_PATH
