"""The console as a site: finds the page of a path, identifies the worker, checks access and the origin of forms."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from console.help_center.help_center_site import HelpCenterSite
from console.html import confirmation, drafts, once, resume
from console.html.rendering import bug, problem
from console.http import routes, static_files
from console.http.page_response import PageResponse, see
from console.http.routes import Page
from console.http.visit import FORM_TOKEN, LOCATION, Visit
from server import clock, log, times, translation
from server.access import sessions
from server.access.sessions import Session
from server.context import Context, Service
from server.errors import Forbidden, HelpdeskError, NotAuthenticated, NotFound, NotOffered
from server.people import preferences
from server.record_types.shared.brands import TRIAL_PATH
from server.records import catalogs
from server.sign_in import sign_in
from server.store.transaction import Transaction
from server.translation import _
from server.web.endpoint_call import SANDBOX, Response
from server.web.oauth import AUTHORIZE, DEVICE_PAGE
from server.web.packed import takes_gzip
from server.web.site import Pool, Request, Site, announced
from server.web.streams import Follower, wants_events

THREADS = 8  # separate threads: hashing passwords must not delay the API
MAX_FORM_BYTES = routes.SMALL_FORM_BYTES
SECOND_FACTOR, PASSKEYS = "/account/second-factor", "/account/passkeys"
CONFIRM, LOGIN = "/confirm", "/login"
LOG = log.get("console")


class Console(Site):
    """Everything outside the API."""

    is_json = False

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pool = Pool(THREADS, service.settings.request_queue, "console")

    @property
    def origin(self) -> str:
        """The origin of the console in browsers, by its current address."""
        return "/".join(self.service.base_url.split("/", 3)[:3])

    def resolve(self, request: Request) -> Any:
        return routes.find(request.path)

    def limit(self, request: Request) -> int:
        page = _page_of(request, request.method)
        return page.form_bytes if page is not None else MAX_FORM_BYTES

    def admit(self, request: Request) -> Response | None:
        """Accepts large forms only from workers who are signed in and may open the page. Raises NotAuthenticated,
        AdminOnly."""
        page = _page_of(request, request.method)
        if page is None or page.form_bytes <= MAX_FORM_BYTES or 0 <= announced(request.headers) <= MAX_FORM_BYTES:
            return None
        visit = Visit(self.service, request, clock.now())
        id, now = visit.session_id(), visit.now
        session = self.service.store.read(lambda tx: sessions.check(tx, id, now))
        if session is None or session.waits_for_code:
            raise NotAuthenticated(
                _(
                    "Sign in first: without a session, a form can have at most {MAX_FORM_BYTES} bytes.",
                    MAX_FORM_BYTES=f"{MAX_FORM_BYTES:,}",
                )
            )
        page.require(session.actor)
        return None

    def looks(self, request: Request) -> bool:
        return True

    def hashes(self, request: Request) -> bool:
        """Returns whether a request hashes a password; includes forms that were resent with a password."""
        if request.method != "POST":
            return False
        page = _page_of(request, "POST")
        return page is not None and (page.hashes or resume.PROOF.encode() in request.body)

    def respond(self, request: Request, steps: int | None) -> Response:
        file = static_files.respond(request.path, takes_gzip(request.headers))
        if file is not None:
            return file
        visit = Visit(self.service, request, clock.now())
        with translation.speaking(translation.ENGLISH):  # default; the worker's language is set later
            response = self._render(visit)
        if visit.is_part and visit.is_post and response.status == 303:
            # If the browser followed the redirect itself, the page would be rendered unseen and its flash message lost.
            response = PageResponse(headers={LOCATION: response.headers["Location"]})
        headers = self._headers(response) | dict(response.headers)
        return Response(
            status=response.status,
            headers=headers,
            body=response.html.encode("utf-8", "replace"),
            content_type=response.content_type,
            cookies=tuple(visit.cookies),
            pieces=response.pieces,
            length=response.length,
            feed=response.feed,
            feeds=response.feeds,
        )

    def _render(self, visit: Visit) -> PageResponse:
        """Returns the page in the language of the worker, or an error page."""
        try:
            self._identify(visit)
            translation.speak(catalogs.languages(self.service).catalog_for(visit.language))
            return self._respond(visit)
        except HelpdeskError as error:
            return problem(visit, error)
        except Exception:
            request = visit.request
            LOG.exception("page.failed", request_id=request.id, path=log.mask_path(request.path))
            return bug(visit)

    def follower(self, request: Request) -> Follower:
        """Returns the worker as a follower of streams, as long as they are signed in with the same rights to read. Does
        not renew the session."""
        id = Visit(self.service, request, 0).session_id()
        first = self._session(id)

        def context() -> Context:
            session = self._session(id)
            if session.actor.reading != first.actor.reading:
                raise Forbidden(_("Your permissions have changed. Reload the page."))
            zone = times.zone(session.actor.timezone or "UTC")
            return Context(self.service, session.actor, clock.now(), zone, request.id)

        return Follower((first.id, first.actor.reading), first.actor.worker_id, context)

    def _session(self, id: str) -> Session:
        """Raises NotAuthenticated."""
        session = self.service.store.read(lambda tx: sessions.check(tx, id, clock.now()))
        if session is None or session.waits_for_code:
            raise NotAuthenticated(_("You are signed out."))
        return session

    def _headers(self, response: PageResponse) -> dict[str, str]:
        targets = " ".join(("'self'", *response.form_targets))
        headers = {
            "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self'; font-src 'self'; frame-src 'self'; worker-src 'self'; manifest-src 'self'; "
            f"form-action {targets}; frame-ancestors 'none'; base-uri 'none'",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "X-Frame-Options": "DENY",
        }
        if "Content-Disposition" in response.headers:
            headers["Content-Security-Policy"] = SANDBOX
        if self.origin.startswith("https://"):
            headers["Strict-Transport-Security"] = "max-age=31536000"
        return headers

    # -- the worker --------------------------------------------------------------------------------------------------

    def _identify(self, visit: Visit) -> None:
        id, now = visit.session_id(), visit.now

        def read(tx: Transaction) -> None:
            visit.session = sessions.check(tx, id, now) if id else None
            if visit.session is not None and not visit.session.waits_for_code:
                visit.preferences = preferences.load(tx, visit.session.actor.worker_id)

        self.service.store.read(read)
        session = visit.session
        if session is not None and session.has_other_rights and visit.is_by_itself:
            session = visit.session = None  # rejected here; opening a page renews the id
        if session is None:
            visit.secret = visit.visit_id()
            return
        visit.secret = id
        if session.waits_for_code or visit.is_by_itself:
            return
        if session.has_other_rights and not visit.is_post:
            # a stolen old id must not get the new rights
            renewed = self.service.store.write(lambda tx: sessions.renew(tx, session, now, is_stepped_up=False))
            visit.set_session(renewed)
            visit.session = replace(session, stepped_up_at=0)
        sign_in.record_use(self.service, session, now, visit.request.client)

    # -- the page ----------------------------------------------------------------------------------------------------

    def _respond(self, visit: Visit) -> PageResponse:
        request = visit.request
        pages, visit.arguments = request.found
        if not pages:
            raise NotFound(_("There is no such page."))
        method = "GET" if request.method == "HEAD" else request.method
        if method not in pages:
            allow = ", ".join(sorted(pages))
            raise NotOffered(
                _("{method} is not allowed here; use {allow}.", method=request.method, allow=allow), allow=allow
            )
        page = pages[method]
        if visit.is_post and page.is_open and FORM_TOKEN not in visit.form:
            return page.show(visit)
        if visit.is_post:
            self._require_same_origin(visit)
        other = (resume.prove(visit, page) if visit.is_post else None) or self._redirect(visit, page)
        if other is not None:
            return other
        if visit.is_post and page.checks_form and not visit.has_form_token():
            if visit.path.startswith(LOGIN) and visit.session is not None:
                return see(LOGIN)  # another tab has signed in
            return resume.again(visit, resume.OLDER)
        if visit.is_post and confirmation.is_open(visit):
            return resume.ask(visit)
        response = once.carry_out(visit, page.show) if page.creates else page.show(visit)
        if visit.is_post and response.status == 303:
            drafts.is_saved(visit)
        return response

    def _redirect(self, visit: Visit, page: Page) -> PageResponse | None:
        """Returns the response for a worker who cannot see the page yet: a redirect, or a form to resume later; else
        None. Raises AdminOnly."""
        if page.access in ("anyone", "code"):
            return None if page.access == "anyone" or _waits_for_code(visit) else see(LOGIN)
        if visit.session is None or _waits_for_code(visit):
            if not visit.is_post and wants_events(visit.request.headers.get("Accept", "")):
                return PageResponse(status=204)  # ends a stream permanently; a page would be an error that it retries
            if visit.is_post and visit.form.tree:
                return resume.again(visit, resume.SIGNED_OUT)
            return see(f"{LOGIN}?{urlencode({'next': visit.shown_path})}")
        if self._must_enrol(visit):
            visit.flash(_("Your administrator requires a second factor. Set it up first."))
            return see(SECOND_FACTOR if visit.is_post else f"{SECOND_FACTOR}?{urlencode({'next': visit.shown_path})}")
        page.require(visit.actor)
        if page.access.startswith("proven") and not visit.who.is_stepped_up(visit.now):
            if visit.is_post:
                return resume.again(visit, resume.CONFIRM)
            return see(f"{CONFIRM}?{urlencode({'next': visit.shown_path})}")
        return None

    def _must_enrol(self, visit: Visit) -> bool:
        """Whether the worker must set up a second factor before anything else."""
        is_on_the_way = visit.path.startswith((SECOND_FACTOR, PASSKEYS, CONFIRM, "/sign-out"))
        return not is_on_the_way and visit.lacks_second_factor()

    def _require_same_origin(self, visit: Visit) -> None:
        """Raises Forbidden for a form from another site."""
        headers = visit.request.headers
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        own = {self.origin, f"http://{headers.get('Host', '')}", f"https://{headers.get('Host', '')}"}
        is_ours = site in ("same-origin", "none") if site is not None else origin is None or origin in own
        if not is_ours:
            raise Forbidden(_("This form was sent from another site and was ignored."))


def _page_of(request: Request, method: str) -> Page | None:
    """Returns the page at the path of a request, by method."""
    pages: dict[str, Page] = request.found[0]
    return pages.get(method)


def _waits_for_code(visit: Visit) -> bool:
    return visit.session is not None and visit.session.waits_for_code


def sites(service: Service) -> dict[str, Site]:
    """Returns the sites of the console and the help center by path prefix."""
    console = Console(service)
    return {"/": console, AUTHORIZE: console, DEVICE_PAGE: console, TRIAL_PATH: HelpCenterSite(service)}
