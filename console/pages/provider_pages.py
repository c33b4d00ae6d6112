"""Signing in at a provider: to it and back, the links of an account, and sessions that the provider ends. The rules are
in sign_in/provider_sign_in.py."""

import secrets

from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.ui import address
from console.http import cookies
from console.http.navigation import INBOX
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages import login
from server.access import lockout
from server.access.openid_client import MAX_TOKEN_CHARS
from server.access.service_actor import own_context
from server.access.sign_in_providers import FLOW_SECONDS
from server.context import Service
from server.errors import Forbidden, HelpdeskError, Invalid, NotAuthenticated, NotFound
from server.sign_in import provider_sign_in, sign_in_provider_setup
from server.sign_in.provider_sign_in import CONFIRM, LINK, SIGN_IN, TRIAL, Arrival, Returned
from server.store.store_local import StoreLocal
from server.translation import _
from server.web.rate import RateLimiter

ACCOUNTS = "/account#providers"
SETTINGS = "/admin/people/sign-in"
STARTS = 120  # sign-ins by providers that one address may start in a minute
MAX_SECRET_CHARS = 100
NO_STORE = {"Cache-Control": "no-store"}
_LIMITER: StoreLocal[RateLimiter] = StoreLocal()


@page("GET", "/sign-in/start/{name}", "anyone")
def start(visit: Visit) -> PageResponse:
    """Redirects to a provider. Links lead here, not forms: our policy forbids a form to redirect to another site."""
    try:
        _limiter(visit.service).count(lockout.address(visit.request.client), visit.now)
        provider = provider_sign_in.enabled_provider(visit.service, visit.arguments["name"])
        target = provider_sign_in.begin(own_context(visit.service), provider, _browser(visit), SIGN_IN, visit.next)
    except HelpdeskError as error:
        return _refused(visit, error)
    return _to(target)


@page("GET", "/confirm/{name}")
def start_confirming(visit: Visit) -> PageResponse:
    """Redirects to a provider that asks again who is there."""
    try:
        provider = provider_sign_in.enabled_provider(visit.service, visit.arguments["name"])
        target = provider_sign_in.begin(visit.ctx, provider, _browser(visit), CONFIRM, visit.next)
    except HelpdeskError as error:
        return login.show_confirm(visit, Form.from_values({"next": visit.next}).refuse(error))
    return _to(target)


@page("GET", "/sign-in/callback/{name}", "anyone")
def come_back(visit: Visit) -> PageResponse:
    """Receives the response of a provider."""
    query = visit.query
    names = ("state", "code", "error", "iss")
    try:
        response = {name: query.text(name, "") for name in names if name in query}
        back = provider_sign_in.returned(
            visit.service, visit.arguments["name"], _browser_secret(visit), response.get("state", ""), visit.now
        )
    except HelpdeskError as error:
        return _refused(visit, error)
    try:
        if back.started.purpose != SIGN_IN:
            _require_same_worker(visit, back)
        arrival = provider_sign_in.verified(visit.service, back, response, visit.now)
        return _ARRIVALS[back.started.purpose](visit, arrival)
    except HelpdeskError as error:
        return _failed(visit, back, error)


def _sign_in(visit: Visit, arrival: Arrival) -> PageResponse:
    """Starts the session, which may wait for the code of the second factor."""
    session = provider_sign_in.sign_in_by(own_context(visit.service), arrival, visit.peer)
    visit.begin(session, is_kept=False)
    target = arrival.started.next
    if session.waits_for_code:
        return see(address("/login/code", next=target))
    return see(INBOX.path if target == "/" and not visit.actor.is_admin else target)


def _link(visit: Visit, arrival: Arrival) -> PageResponse:
    provider_sign_in.link_own(visit.ctx, arrival)
    visit.flash(_("You can now sign in with {provider}.", provider=arrival.provider.label))
    return see(ACCOUNTS)


def _confirm(visit: Visit, arrival: Arrival) -> PageResponse:
    visit.set_session(provider_sign_in.confirm(visit.ctx, visit.who, arrival))
    return see(arrival.started.next)


def _try(visit: Visit, arrival: Arrival) -> PageResponse:
    sign_in_provider_setup.store_trial(visit.ctx, arrival.provider.id, arrival.identity.claims)
    visit.flash(_("{provider} accepted the sign-in. Check what follows from it.", provider=arrival.provider.label))
    return see(f"{SETTINGS}/{arrival.provider.id}#trial")


_ARRIVALS = {SIGN_IN: _sign_in, LINK: _link, CONFIRM: _confirm, TRIAL: _try}


def _require_same_worker(visit: Visit, back: Returned) -> None:
    """Raises NotAuthenticated unless the worker who started is still signed in."""
    session = visit.session
    if session is None or session.waits_for_code or session.actor.worker_id != back.started.worker_id:
        raise NotAuthenticated(_("You were signed out before you came back. Sign in and start again."))


def _failed(visit: Visit, back: Returned, error: HelpdeskError) -> PageResponse:
    """Shows why nothing came of it, on the page that it began from."""
    if back.started.purpose == SIGN_IN or visit.session is None:
        return _refused(visit, error, back.started.next)
    if back.started.purpose == CONFIRM:
        return login.show_confirm(visit, Form.from_values({"next": back.started.next}).refuse(error))
    visit.flash(sentence(error.message))
    return see(ACCOUNTS if back.started.purpose == LINK else f"{SETTINGS}/{back.provider.id}")


def _refused(visit: Visit, error: HelpdeskError, next_path: str = "") -> PageResponse:
    """The sign-in page with the reason."""
    form = Form.from_values({"next": next_path or visit.next})
    return login.login_page(visit, form.refuse(error))


# -- out ---------------------------------------------------------------------------------------------------------------


@page("POST", "/sign-in/backchannel/{name}", "anyone", is_open=True, form_bytes=2 * MAX_TOKEN_CHARS)
def end_sessions(visit: Visit) -> PageResponse:
    """Ends the sessions that a logout token of a provider names (OpenID Connect Back-Channel Logout 1.0, 2.5)."""
    try:
        token = visit.form.text("logout_token", "")
        provider_sign_in.end_by_provider(own_context(visit.service), visit.arguments["name"], token)
    except (Invalid, NotAuthenticated, NotFound) as error:
        refusal = json_response({"error": "invalid_request", "error_description": str(error.message)})
        return PageResponse(refusal.html, 400, NO_STORE, content_type=refusal.content_type)
    return PageResponse(headers=NO_STORE)


@page("GET", "/sign-in/out", "anyone")
def signed_out(visit: Visit) -> PageResponse:
    """The page to which providers lead back after they signed the browser out."""
    return see("/login?out=1")


# -- the way back ------------------------------------------------------------------------------------------------------


@page("GET", "/sign-in/link/{code}", "anyone")
def show_link(visit: Visit, form: Form | None = None) -> PageResponse:
    """The page of a sign-in link from the command line. Only its button uses the link up, since mail programs
    follow links. Raises NotFound."""
    code = visit.arguments["code"]
    provider_sign_in.require_link(visit.service, code, visit.now)
    return render(visit, "sign_in_link.html", form=form or Form(), code=code)


@page("POST", "/sign-in/link/{code}", "anyone")
def use_link(visit: Visit) -> PageResponse:
    """Signs the worker in."""
    try:
        session = provider_sign_in.sign_in_by_link(own_context(visit.service), visit.arguments["code"], visit.peer)
    except Forbidden as error:
        return show_link(visit, Form().refuse(error))
    visit.begin(session, is_kept=False)
    return see("/login/code" if session.waits_for_code else "/")


# -- the account -------------------------------------------------------------------------------------------------------


@page("POST", "/account/sign-in/{name}/link", "proven worker")
def link(visit: Visit) -> PageResponse:
    """Sends the worker to a provider, to link their account there. Requires a form token: otherwise another site could
    link an account of its own."""
    try:
        provider = provider_sign_in.enabled_provider(visit.service, visit.arguments["name"])
        target = provider_sign_in.begin(visit.ctx, provider, _browser(visit), LINK, "/")
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(ACCOUNTS)
    return leave(visit, provider.label, target)


@page("POST", "/account/sign-in/{id}/unlink", "proven worker")
def unlink(visit: Visit) -> PageResponse:
    """Removes a linked account. Raises NotFound unless it is the worker's own."""
    try:
        provider = provider_sign_in.unlink_own(visit.ctx, visit.id)
        visit.flash(_("You can no longer sign in with {provider}.", provider=provider.label))
    except HelpdeskError as error:
        if isinstance(error, NotFound):
            raise
        visit.flash(sentence(error.message))
    return see(ACCOUNTS)


# -- parts -------------------------------------------------------------------------------------------------------------


def leave(visit: Visit, label: str, target: str) -> PageResponse:
    """Returns a page that forwards to a provider after a form, which our policy forbids to redirect there."""
    page = render(visit, "sign_in_leave.html", provider=label, target=target)
    return PageResponse(page.html, 200, {"Refresh": f"0;url={target}", "Referrer-Policy": "no-referrer", **NO_STORE})


def begin_trial(visit: Visit, id: int) -> PageResponse:
    """Leads to a provider to try it. Raises AdminOnly, NotFound, Unavailable."""
    provider = sign_in_provider_setup.one(visit.ctx, id)
    target = provider_sign_in.begin(visit.ctx, provider, _browser(visit), TRIAL, "/")
    return leave(visit, provider.label, target)


def _browser(visit: Visit) -> str:
    """The secret of the cookie that ties a sign-in to this browser; set for as long as one may take."""
    secret = _browser_secret(visit) or secrets.token_urlsafe(32)
    visit.cookies.append(cookies.write(cookies.SIGN_IN, secret, visit.is_secure, FLOW_SECONDS))
    return secret


def _browser_secret(visit: Visit) -> str:
    return cookies.read(visit.request.headers.get("Cookie", ""), cookies.SIGN_IN, visit.is_secure)[:MAX_SECRET_CHARS]


def _limiter(service: Service) -> RateLimiter:
    return _LIMITER.made(service.store, lambda: RateLimiter(STARTS, "to sign in from one address", service))


def _to(target: str) -> PageResponse:
    return PageResponse(status=303, headers={"Location": target, "Referrer-Policy": "no-referrer", **NO_STORE})
