"""The console as a site: finds the page of a path, who asks for it, whether they may, and whether a form is ours."""

from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

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
from server.errors import AdminOnly, Forbidden, HelpdeskError, NotAuthenticated, NotFound, NotOffered, Unavailable
from server.people import preferences
from server.record_types.shared.usage_buffer import usage_buffer
from server.records import speech
from server.store.transaction import Transaction
from server.translation import _
from server.web.call import SANDBOX, Answer
from server.web.oauth import AUTHORIZE, DEVICE_PAGE
from server.web.packed import takes_gzip
from server.web.site import Pool, Request, Site, announced
from server.web.streams import Follower, wants_events

THREADS = 8  # its own: hashing passwords must not keep the API waiting
MAX_FORM_BYTES = routes.SMALL_FORM_BYTES
SECOND_FACTOR = "/account/second-factor"
CONFIRM, LOGIN = "/confirm", "/login"
LOG = log.get("console")


class Console(Site):
    """Everything that is no API."""

    is_json = False

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pool = Pool(THREADS, service.settings.request_queue, "console")

    @property
    def origin(self) -> str:
        """What browsers call us, by the address that we have now."""
        return "/".join(self.service.base_url.split("/", 3)[:3])

    def resolve(self, request: Request) -> Any:
        return routes.find(request.path)

    def limit(self, request: Request) -> int:
        page = _page_of(request, request.method)
        return page.form_bytes if page is not None else MAX_FORM_BYTES

    def admit(self, request: Request) -> Answer | None:
        """Only who is signed in, and may open the page, sends a large form. Raises NotAuthenticated, AdminOnly."""
        found = _page_of(request, request.method)
        if found is None or found.form_bytes <= MAX_FORM_BYTES or 0 <= announced(request.headers) <= MAX_FORM_BYTES:
            return None
        visit = Visit(self.service, request, clock.now())
        id, now = visit.session_id(), visit.now
        session = self.service.store.read(lambda tx: sessions.check(tx, id, now))
        if session is None or session.waits_for_code:
            raise NotAuthenticated(
                _(
                    "Sign in first: a form without a session has at most {MAX_FORM_BYTES} bytes.",
                    MAX_FORM_BYTES=f"{MAX_FORM_BYTES:,}",
                )
            )
        if found.access.endswith("admin") and not session.actor.is_admin:
            raise AdminOnly(_("Only administrators may open this page."))
        return None

    def looks(self, request: Request) -> bool:
        return True

    def hashes(self, request: Request) -> bool:
        """Also a form that came too late and carries a password."""
        if request.method != "POST":
            return False
        found = _page_of(request, "POST")
        return found is not None and (found.hashes or resume.PROOF.encode() in request.body)

    def answer(self, request: Request, steps: int | None) -> Answer:
        file = static_files.answer(request.path, takes_gzip(request.headers))
        if file is not None:
            return file
        visit = Visit(self.service, request, clock.now())
        with translation.speaking(translation.ENGLISH):  # until it is known who asks
            shown = self._shown(visit)
        if visit.is_part and visit.is_post and shown.status == 303:
            # Followed by the browser itself, the page would be made where nobody may look at it, and its message lost.
            shown = PageResponse(headers={LOCATION: shown.headers["Location"]})
        headers = self._headers(shown) | dict(shown.headers)
        return Answer(
            status=shown.status,
            headers=headers,
            body=shown.html.encode("utf-8", "replace"),
            content_type=shown.content_type,
            cookies=tuple(visit.cookies),
            pieces=shown.pieces,
            length=shown.length,
            feed=shown.feed,
            feeds=shown.feeds,
        )

    def _shown(self, visit: Visit) -> PageResponse:
        """The page in the language of who asks, or what went wrong."""
        try:
            self._who(visit)
            translation.speak(speech.languages(self.service).of(visit.language))
            return self._page(visit)
        except HelpdeskError as error:
            return problem(visit, error)
        except Exception:
            request = visit.request
            LOG.exception("page.failed", request_id=request.id, path=log.mask_path(request.path))
            return bug(visit)

    def follower(self, request: Request) -> Follower:
        """Who is signed in, for as long as they are and may read what they could at first. Renews no login."""
        id = Visit(self.service, request, 0).session_id()
        first = self._session(id)

        def context() -> Context:
            session = self._session(id)
            if session.actor.reading != first.actor.reading:
                raise Forbidden(_("What you may read has changed; load the page again."))
            zone = times.zone(session.actor.timezone or "UTC")
            return Context(self.service, session.actor, clock.now(), zone, request.id)

        return Follower((first.id, first.actor.reading), first.actor.worker_id, context)

    def _session(self, id: str) -> Session:
        """Raises NotAuthenticated."""
        session = self.service.store.read(lambda tx: sessions.check(tx, id, clock.now()))
        if session is None or session.waits_for_code:
            raise NotAuthenticated(_("You are signed out."))
        return session

    def _headers(self, shown: PageResponse) -> dict[str, str]:
        targets = " ".join(("'self'", *shown.form_targets))
        headers = {
            "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self'; font-src 'self'; frame-src 'self'; form-action {targets}; frame-ancestors 'none'; "
            "base-uri 'none'",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "X-Frame-Options": "DENY",
        }
        if "Content-Disposition" in shown.headers:
            headers["Content-Security-Policy"] = SANDBOX
        if self.origin.startswith("https://"):
            headers["Strict-Transport-Security"] = "max-age=31536000"
        return headers

    # -- who ---------------------------------------------------------------------------------------------------------

    def _who(self, visit: Visit) -> None:
        id, now = visit.session_id(), visit.now

        def read(tx: Transaction) -> None:
            visit.session = sessions.check(tx, id, now) if id else None
            if visit.session is not None and not visit.session.waits_for_code:
                visit.preferences = preferences.of(tx, visit.session.actor.worker_id)

        self.service.store.read(read)
        session = visit.session
        if session is not None and session.has_other_rights and visit.is_by_itself:
            session = visit.session = None  # until the person asks for a page, and gets another id with it
        if session is None:
            visit.secret = visit.visit_id()
            return
        visit.secret = id
        if session.waits_for_code or visit.is_by_itself:
            return
        if session.has_other_rights and not visit.is_post:
            # whoever learned the old id does not get the new rights
            renewed = self.service.store.write(lambda tx: sessions.renew(tx, session, now, is_stepped_up=False))
            visit.set_session(renewed)
            visit.session = replace(session, stepped_up_at=0)
        usage_buffer(self.service.store).saw(session.actor.worker_id, now)
        if session.seen_at + sessions.SEEN_EVERY_SECONDS <= now:
            with suppress(Unavailable):  # the disk may be full: who only reads is not to be stopped by that
                self.service.store.write(lambda tx: sessions.seen(tx, session.id, now, visit.request.client))

    # -- which page --------------------------------------------------------------------------------------------------

    def _page(self, visit: Visit) -> PageResponse:
        request = visit.request
        found, visit.arguments = request.found
        if not found:
            raise NotFound(_("There is no such page."))
        method = "GET" if request.method == "HEAD" else request.method
        if method not in found:
            allow = ", ".join(sorted(found))
            raise NotOffered(
                _("{method} is not offered here, but {allow}.", method=request.method, allow=allow), allow=allow
            )
        each = found[method]
        if visit.is_post and each.is_open and FORM_TOKEN not in visit.form:
            return each.show(visit)
        if visit.is_post:
            self._require_same_origin(visit)
        other = (resume.prove(visit, each) if visit.is_post else None) or self._elsewhere(visit, each)
        if other is not None:
            return other
        if visit.is_post and each.checks_form and not visit.has_form_token():
            if visit.path == LOGIN and visit.session is not None:
                return see(LOGIN)  # signed in by another tab in the meantime
            return resume.again(visit, resume.OLDER)
        if visit.is_post and confirmation.is_open(visit):
            return resume.ask(visit)
        shown = once.carry_out(visit, each.show) if each.creates else each.show(visit)
        if visit.is_post and shown.status == 303:
            drafts.is_saved(visit)
        return shown

    def _elsewhere(self, visit: Visit, each: Page) -> PageResponse | None:
        """Where somebody is sent who may not see a page as they are. Raises AdminOnly."""
        if each.access in ("anyone", "code"):
            return None if each.access == "anyone" or _waits(visit) else see(LOGIN)
        if visit.session is None or _waits(visit):
            if not visit.is_post and wants_events(visit.request.headers.get("Accept", "")):
                return PageResponse(status=204)  # which ends a stream for good; a page in its place is a mistake to it
            if visit.is_post and visit.form.tree:
                return resume.again(visit, resume.SIGNED_OUT)
            return see(f"{LOGIN}?{urlencode({'next': visit.shown_path})}")
        if self._must_enrol(visit):
            visit.tell(_("Your administrator asks for a second factor. Set it up first."))
            return see(SECOND_FACTOR if visit.is_post else f"{SECOND_FACTOR}?{urlencode({'next': visit.shown_path})}")
        if each.access.endswith("admin") and not visit.actor.is_admin:
            raise AdminOnly(_("Only administrators may open this page."))
        if each.access.startswith("proven") and not visit.who.is_stepped_up(visit.now):
            if visit.is_post:
                return resume.again(visit, resume.CONFIRM)
            return see(f"{CONFIRM}?{urlencode({'next': visit.shown_path})}")
        return None

    def _must_enrol(self, visit: Visit) -> bool:
        """Whether the worker must set up a second factor before anything else."""
        return not visit.path.startswith((SECOND_FACTOR, CONFIRM, "/sign-out")) and visit.lacks_second_factor()

    def _require_same_origin(self, visit: Visit) -> None:
        """Raises Forbidden for a form that another site sent."""
        headers = visit.request.headers
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        own = {self.origin, f"http://{headers.get('Host', '')}", f"https://{headers.get('Host', '')}"}
        is_ours = site in ("same-origin", "none") if site is not None else origin is None or origin in own
        if not is_ours:
            raise Forbidden(_("This form was sent from another site; nothing was done."))


def _page_of(request: Request, method: str) -> Page | None:
    """The page at the path of a request, by method."""
    pages: dict[str, Page] = request.found[0]
    return pages.get(method)


def _waits(visit: Visit) -> bool:
    return visit.session is not None and visit.session.waits_for_code


def sites(service: Service) -> dict[str, Site]:
    """The console's sites by the beginning of their paths."""
    console = Console(service)
    return {"/": console, AUTHORIZE: console, DEVICE_PAGE: console}
