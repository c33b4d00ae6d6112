"""The authorization page of OAuth: sign-in, consent, and the redirect to the app. The rules are in access/provider.py.
The request is in the address and is parsed anew each time; the form carries a seal that proves it was shown."""

from urllib.parse import urlencode, urlsplit

from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import FORM_TOKEN, Visit
from console.pages.login import require_worker
from server.access import provider
from server.access.provider import AuthorizationRefusal, AuthorizationRequest
from server.apps import app_consent, client_documents
from server.errors import HelpdeskError, Invalid
from server.translation import _
from server.web import oauth

# The code must not leave with the address of the page, neither to us nor to what the app shows.
PRIVATE = {"Referrer-Policy": "no-referrer"}


@page("GET", oauth.AUTHORIZE, "anyone")
def show(visit: Visit) -> PageResponse:
    """The question, or the way on for who need not be asked. A document of an app is fetched for workers only."""
    client_id = _client_id(visit)
    if visit.service.settings.mcp and client_documents.is_document(client_id):
        elsewhere = require_worker(visit)
        if elsewhere is not None:
            return elsewhere
        try:
            client_documents.require_app(visit.ctx, client_id)
        except HelpdeskError as error:
            return _refused(visit, AuthorizationRefusal(error.message))
    request = _asked(visit)
    if isinstance(request, AuthorizationRefusal):
        return _refused(visit, request)
    elsewhere = require_worker(visit)
    if elsewhere is not None:
        return elsewhere
    if provider.needs_consent(visit.service, request, visit.actor.worker_id):
        return _question(visit, request)
    return _leave(visit, request, provider.allow(visit.service, request, visit.actor.worker_id, visit.now))


@page("POST", oauth.AUTHORIZE, is_open=True)
def answer(visit: Visit) -> PageResponse:
    """Redirects to the app with the decision. A form without our token comes from an app that sends its request as a
    form."""
    if FORM_TOKEN not in visit.form:
        return see(f"{visit.path}?{urlencode(oauth.pairs(visit.request.body))}")
    request = _asked(visit)
    if isinstance(request, AuthorizationRefusal):
        return _refused(visit, request)
    worker_id, service = visit.actor.worker_id, visit.service
    try:
        provider.require_seal(service, request, worker_id, visit.form.text("seal", ""), visit.now)
    except Invalid as error:
        return _question(visit, request, error.message)
    decided = visit.form.text("answer", "")
    if decided == "deny":
        return _to(provider.deny(service, request))
    if decided != "allow":
        return _question(visit, request, _("Choose one of the two."))
    return _to(app_consent.allow(visit.ctx, request))


def _asked(visit: Visit) -> AuthorizationRequest | AuthorizationRefusal:
    try:
        sent = oauth.pairs(visit.request.query.encode("latin-1"))
    except Invalid as error:
        return AuthorizationRefusal(error.message)
    return provider.begin(visit.service, sent, visit.now)


def _client_id(visit: Visit) -> str:
    """Returns the client id of the request, "" for a request that is refused anyway."""
    try:
        return dict(oauth.pairs(visit.request.query.encode("latin-1"))).get("client_id", "")
    except Invalid:
        return ""


def _refused(visit: Visit, refused: AuthorizationRefusal) -> PageResponse:
    if refused.url:
        return _to(refused.url)
    page = render(visit, "consent_refused.html", 400, message=refused.message)
    return PageResponse(page.html, 400, PRIVATE)


def _question(visit: Visit, request: AuthorizationRequest, wrong: str = "") -> PageResponse:
    page = render(
        visit,
        "consent.html",
        question=app_consent.question(visit.ctx, request),
        wrong=wrong,
        target=f"{visit.path}?{visit.request.query}",
        days=visit.service.settings.oauth_refresh_days,
    )
    return PageResponse(page.html, 422 if wrong else 200, form_targets=(_target(request),))


def _target(request: AuthorizationRequest) -> str:
    """Where the form may lead, as a content security policy writes it: it knows no IPv6 addresses."""
    return "http:" if "[" in request.origin else request.origin


def _leave(visit: Visit, request: AuthorizationRequest, url: str) -> PageResponse:
    """Redirects to the app. After the form of the sign-in page, browsers follow no redirect to another site because of
    that page's policy; a page with a link is shown then."""
    if not _is_from_us(visit):
        return _to(url)
    page = render(visit, "consent_known.html", asked=request, url=url)
    return PageResponse(page.html, 200, {**PRIVATE, "Refresh": f"0;url={url}"})


def _is_from_us(visit: Visit) -> bool:
    headers = visit.request.headers
    site = headers.get("Sec-Fetch-Site")
    return site == "same-origin" if site else urlsplit(headers.get("Referer", "")).netloc == headers.get("Host")


def _to(url: str) -> PageResponse:
    return PageResponse(status=303, headers={"Location": url, **PRIVATE})
