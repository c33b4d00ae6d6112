"""The help center as a site: finds the brand of a host and the page of a path, and caches pages for all visitors.

Only the pages of customers read a session or set a cookie, and these are never cached. Separate threads render pages,
so that a flood of visitors does not delay workers. The event loop sends cached pages, after it has read their version,
and renders a search if what it needs is cached: this takes 36 % of the instructions that it takes on a thread."""

import re
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache, partial

from console.help_center import (
    article_pages,
    asset_pages,
    contact_pages,
    customer_visit,
    feed_pages,
    rating_pages,
    request_pages,
    search_pages,
    sign_in_pages,
)
from console.help_center.page_cache import CachedPage, PageCache
from console.help_center.rating_pages import RatingPages
from console.help_center.visitor import Visitor
from console.help_center.visitor_page import HTML, SCRIPT, STYLE, Show, VisitorPage, render, see
from console.html.form import sentence
from console.html.rendering import OTHER_TITLE, TITLES
from console.html.templates import fragment
from console.http import static_files
from server import clock, log, translation
from server.access import lockout
from server.access.service_actor import own_context
from server.context import Service
from server.dataclass import dataclass
from server.errors import Forbidden, HelpdeskError, NotAuthenticated, NotFound, NotOffered
from server.help_center import form_previews, visit_counts, visitor_files
from server.help_center.customers import request_acts
from server.help_center.public_library import Libraries, Library
from server.record_types.shared import brands
from server.record_types.shared.brands import REQUESTS_PATH, TRIAL_PATH
from server.records import catalogs
from server.store.database import OutOfSteps
from server.store.transaction import Transaction
from server.store.writer import Write
from server.translation import _, lazy_gettext, shown
from server.web import entity_tags, error_bodies
from server.web.endpoint_call import Response
from server.web.hosts import host_name
from server.web.packed import packed, takes_gzip
from server.web.params import Params, decode_query
from server.web.rate import RateLimiter
from server.web.site import HostSite, Pool, Request, WriteLimits, announced

THREADS, WAITING = 3, 60  # requests of visitors that are served at once, and that wait
# Forms are prepared on a thread of their own, so that a flood leaves those of readers alone. Few of them share a commit
# while others write, who would wait for it.
FORM_THREADS, FORM_WRITES = 1, WriteLimits(alone=16, beside_others=2)
MAX_FORM_BYTES = 16 * 1024
MAX_TEXT_FORM_BYTES = 512 * 1024  # a reply without files, percent-encoded or as a multipart form
MAX_CONTACT_BYTES = 1024 * 1024  # bytes of a contact form besides its files
MAX_CACHED_CHARS = 600  # characters of path and query; longer addresses are not cached
LEAST_PACKED_BYTES = 1024
MINUTE = 60  # seconds after which files and numbers of a cached page are read again
LOG = log.get("help_center")
STATIC = frozenset((STYLE, SCRIPT, contact_pages.SCRIPT, contact_pages.PROOF_SCRIPT, contact_pages.EMBED_SCRIPT))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors "
)


@dataclass(frozen=True, slots=True)
class Place:
    """The target of a request. host: of the brand, "" for the brand without a host. path: below the prefix. is_served:
    False below /help-center if the help center has a host."""

    prefix: str
    host: str
    path: str
    is_served: bool


SEARCH_PATH = "/search"
_ID = "[1-9][0-9]{0,18}"
_MASK = r"(?P<mask>[^/]{1,100})"
_SLUG, _CODE = "[a-z0-9-]{1,60}", r"[0-9]{1,19}\.[0-9]{1,12}-[a-z2-7]{24}"
_PREVIEWED = re.compile(r"/(?:contact(?:/[a-z0-9-]+)?|look-[0-9a-z]+\.css|logo-[0-9]+)\Z")
_CONTACT = re.compile(r"/contact(?:-files)?(?:/[a-z0-9-]+)?\Z")
_FORM = re.compile(rf"{_CONTACT.pattern}|/contact-confirm/[^/]+\Z")
ROUTES: tuple[tuple[str, re.Pattern[str], Show], ...] = tuple(
    (method, re.compile(rf"{pattern}\Z"), show)
    for method, pattern, show in (
        ("GET", "/", article_pages.home),
        ("GET", rf"/c/(?P<id>{_ID})(?:-[^/]*)?", article_pages.category),
        ("GET", rf"/a/(?P<id>{_ID})(?:-[^/]*)?", article_pages.article),
        ("POST", rf"/a/(?P<id>{_ID})(?:-[^/]*)?/vote", article_pages.vote),
        ("GET", rf"/contact(?:/(?P<slug>{_SLUG}))?", contact_pages.show),
        ("POST", rf"/contact(?:/(?P<slug>{_SLUG}))?", contact_pages.send),
        ("POST", rf"/contact-files/(?P<id>{_ID})", contact_pages.upload),
        ("GET", rf"/contact-confirm/(?P<code>{_CODE})", contact_pages.confirm),
        ("POST", rf"/contact-confirm/(?P<code>{_CODE})", contact_pages.confirm),
        ("GET", SEARCH_PATH, search_pages.search),
        ("GET", "/suggest", search_pages.suggest),
        ("GET", r"/articles\.atom", feed_pages.feed),
        ("GET", r"/sitemap\.xml", feed_pages.sitemap),
        ("GET", r"/robots\.txt", feed_pages.robots),
        ("GET", r"/look-[0-9a-z]+\.css", asset_pages.look),
        ("GET", rf"/logo-(?P<id>{_ID})(?:\.png)?", asset_pages.logo),
        ("GET", rf"/files/(?P<id>{_ID})/(?P<file>{_ID})(?:/[^/]*)?", asset_pages.file),
        ("GET", "/sign-in", sign_in_pages.show),
        ("POST", "/sign-in", sign_in_pages.send),
        ("GET", "/sign-in/code", sign_in_pages.show_code),
        ("POST", "/sign-in/code", sign_in_pages.enter_code),
        ("GET", r"/sign-in/link/(?P<link>[A-Za-z0-9_-]{1,100})", sign_in_pages.open_link),
        ("POST", r"/sign-in/link/(?P<link>[A-Za-z0-9_-]{1,100})", sign_in_pages.use_link),
        ("POST", "/sign-out", sign_in_pages.sign_out),
        ("GET", "/requests", request_pages.show_list),
        ("GET", rf"/requests/{_MASK}", request_pages.show_request),
        ("GET", rf"/requests/{_MASK}/messages/(?P<id>{_ID})", request_pages.document),
        ("GET", rf"/requests/{_MASK}/files/(?P<file>{_ID})(?:/[^/]*)?", request_pages.file),
        ("POST", rf"/requests/{_MASK}/reply", request_pages.reply),
        ("POST", rf"/requests/{_MASK}/close", request_pages.close),
        ("POST", rf"/requests/{_MASK}/reopen", request_pages.reopen),
        ("POST", rf"/requests/{_MASK}/colleague", request_pages.add_colleague),
        ("GET", "/your-data", request_pages.show_data),
        ("POST", "/your-data/download", request_pages.download_data),
        ("POST", "/your-data/erasure", request_pages.ask_for_erasure),
    )
)


class HelpCenterSite(HostSite):
    """Everything at the host names of help centers, and below /help-center."""

    is_json = False
    share = "visitors"

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pool: Pool = Pool(THREADS, WAITING, "visitor")
        self.forms = Pool(FORM_THREADS, WAITING, "form", FORM_WRITES)
        self.libraries = Libraries(service)
        self.pages = PageCache()
        self.ratings = RatingPages(service)
        self.rate = RateLimiter(service.settings.visitor_rate_per_minute, "from one address", service)
        self.brand_hosts = brands.brand_hosts(service)
        self._hosts = (("", frozenset[str]()), frozenset[str]())
        service.hearing[brands.CHANGED] = lambda text: self._renew_hosts_soon()

    @property
    def own_hosts(self) -> frozenset[str]:
        state, hosts = self._hosts
        now = (self.service.base_url, self.brand_hosts.names)
        if state != now:
            hosts = brands.own_hosts(self.service, now[1])
            self._hosts = (now, hosts)
        return hosts

    def renew_hosts(self) -> None:
        self.brand_hosts.renew()

    def _renew_hosts_soon(self) -> None:
        """Reads the host names on a thread, since the thread that listens for announcements calls it."""
        with suppress(RuntimeError):  # the service stops
            self.pool.threads.submit(self.renew_hosts)

    def resolve(self, request: Request) -> Place:
        host, portal = host_name(request.headers.get("Host", "")), self.service.settings.portal_host
        if host in self.own_hosts:
            return Place("", "" if host == portal else host, request.path, True)
        path = request.path[len(TRIAL_PATH) :]
        return Place(TRIAL_PATH, "", path, not portal and path[:1] in ("", "/"))

    def limit(self, request: Request) -> int:
        if request.method == "POST" and _CONTACT.search(request.path):
            return visitor_files.max_bytes(self.service) + MAX_CONTACT_BYTES
        if rating_pages.is_rating(request.found.path):
            return rating_pages.MAX_FORM_BYTES
        return request_acts.MAX_ALL_BYTES + MAX_TEXT_FORM_BYTES if _takes_files(request) else MAX_FORM_BYTES

    def looks(self, request: Request) -> bool:
        return _takes_files(request)

    def admit(self, request: Request) -> None:
        """Refuses files without a session. A form without files is always accepted, so that the next page can show its
        text again."""
        if not _takes_files(request) or 0 <= announced(request.headers) <= MAX_TEXT_FORM_BYTES:
            return
        place: Place = request.found
        library = self.libraries.library(place.host) if place.is_served else None
        if library is not None:
            language, path = _language_of(library, place.path)
            visitor = Visitor(own_context(self.service), request, library, place.prefix, language, path)
            if customer_visit.session_of(visitor) is not None:
                return
        raise NotAuthenticated("Your session has ended. Go back, sign in in another tab, and send the form again.")

    @property
    def pools(self) -> tuple[Pool, ...]:
        return self.pool, self.forms

    def pool_for(self, request: Request) -> Pool:
        return self.forms if request.method == "POST" and _FORM.search(request.path) else self.pool

    def inline(self, request: Request) -> bool:
        return request.method in ("GET", "HEAD")

    def respond(self, request: Request, steps: int | None) -> Response:
        place: Place = request.found
        if place.path.startswith(static_files.PREFIX) and place.path.rpartition("/")[2] in STATIC:
            file = static_files.respond(place.path, takes_gzip(request.headers))
            if file is not None:
                return file
        if not request.is_counted:
            request.is_counted = True
            self.rate.count(lockout.address(request.client), time.time())
        key = _cache_key(request, place)
        return self._rendered(request, place, key) if steps is None else self._cached(request, place, key, steps)

    def _cached(self, request: Request, place: Place, key: Hashable, steps: int) -> Response:
        """Returns a page of the cache, or of a search whose words and results are known. Raises OutOfSteps for any
        other, which is rendered on a thread."""
        if key is None or key not in self.pages:  # the usual page of a search: its version need not be read
            if not place.path.endswith(SEARCH_PATH):
                raise OutOfSteps
            return self.service.store.read_together(lambda: self._rendered(request, place, key), steps)
        page = self.pages.get((self.libraries.version(steps), self.service.base_url), key)
        if page is None:
            raise OutOfSteps
        return self._sent(request, page)

    def _rendered(self, request: Request, place: Place, key: Hashable) -> Response:
        rating = self.ratings.page(request, place.prefix, place.host, place.path)
        if rating is not None:  # whether or not a brand is public
            return self._sent(request, self._finished(request, rating))
        catalogs_here = catalogs.languages(self.service)
        library = self.libraries.library(place.host) if place.is_served else None
        preview = self._preview(request, place) if library is None and place.is_served else ""
        if preview:
            library, key = self.libraries.hidden(place.host), None
        if library is None:
            with translation.speaking(
                catalogs_here.catalog_for(catalogs_here.accepted(request.headers.get("Accept-Language", "")))
            ):
                nothing = VisitorPage(fragment("help_center/nothing.html"), 404)
                return self._sent(request, self._finished(request, nothing))
        language, path = _language_of(library, place.path)
        ctx = own_context(self.service, request_id=request.id)
        visitor = Visitor(ctx, request, library, place.prefix, language, path, preview)
        with translation.speaking(catalogs_here.catalog_for(language)):
            page = self._page(visitor, place)
        if preview:
            page.is_cacheable = False
            page.headers["Cache-Control"] = "no-store"
        if page.response is not None:
            return self._file(request, page)
        finished = self._finished(request, page)
        if key is not None and page.status == 200 and page.is_cacheable:
            self.pages.put((library.version, self.service.base_url), key, finished)
        response = self._sent(request, finished)
        response.cookies = page.cookies
        if page.write is not None:
            response.write = partial(self._written, request, page.write)
        if page.refused is not None:
            response.refused = partial(self._refused, visitor, page.refused)
        return response

    def _written(self, request: Request, write: Write, tx: Transaction) -> Response | None:
        """Runs the write of a page. Returns the page that it leads to, if that is another one."""
        page = write(tx)
        return self._sent(request, self._finished(request, page)) if isinstance(page, VisitorPage) else None

    def _refused(
        self, visitor: Visitor, refused: Callable[[BaseException], VisitorPage], error: BaseException
    ) -> Response:
        """Returns the page for an error of the write of a page."""
        with translation.speaking(catalogs.languages(self.service).catalog_for(visitor.language)):
            page = self._without_error(visitor, lambda: refused(error))
        return self._sent(visitor.request, self._finished(visitor.request, page))

    def _preview(self, request: Request, place: Place) -> str:
        """Returns the code with which an administrator sees a form of a brand that is not public, "" without one."""
        if request.method not in ("GET", "HEAD") or not _PREVIEWED.search(place.path):
            return ""
        library = self.libraries.hidden(place.host)
        if library is None or not request.query:
            return ""
        try:
            code = Params(decode_query(request.query)).text(form_previews.PARAMETER, "") or ""
        except HelpdeskError:
            return ""
        form = form_previews.previewed_form(own_context(self.service), library.brand, code)
        return code if form is not None else ""

    def failure(self, error: HelpdeskError) -> Response:
        status, _code = error_bodies.status_and_code(error)
        headers = error_bodies.headers(error)
        text = f"{error.message}\n".encode("utf-8", "replace")
        return Response(status=status, headers=headers, body=text, content_type="text/plain; charset=utf-8")

    @property
    def _https(self) -> bool:
        portal = str(self.service.settings.portal_base_url)
        return (portal or self.service.base_url).startswith("https://")

    def _page(self, visitor: Visitor, place: Place) -> VisitorPage:
        """Returns the page of a path, a redirect, or the page of an error."""

        def show() -> VisitorPage:
            if not place.path:
                return see(f"{place.prefix}/")
            own = _own_path(visitor, place)
            return see(own) if own else _show(visitor)

        return self._without_error(visitor, show)

    def _without_error(self, visitor: Visitor, show: Callable[[], VisitorPage]) -> VisitorPage:
        """Returns a page, or the page of its error."""
        try:
            return show()
        except OutOfSteps:  # repeated on a thread
            raise
        except HelpdeskError as error:
            status, _code = error_bodies.status_and_code(error)
            page = _problem(visitor, status, error.message)
            page.headers |= error_bodies.headers(error)
            return page
        except Exception:
            LOG.exception("page.failed", request_id=visitor.request.id, path=log.mask_path(visitor.request.path))
            return _problem(visitor, 500, lazy_gettext(error_bodies.BUG_MESSAGE, id=visitor.request.id))

    def _file(self, request: Request, page: VisitorPage) -> Response:
        """Returns a file, or 304 if the browser has it."""
        assert page.response is not None
        etag = page.response.headers.get("ETag", "")
        if page.response.status == 200 and entity_tags.is_known(request, etag):
            return Response(status=304, headers={**page.response.headers})
        return page.response

    def _finished(self, request: Request, page: VisitorPage) -> CachedPage:
        """Returns a page with its headers, compressed if the browser accepts that."""
        body = page.content or page.html.encode("utf-8", "replace")
        is_shared = page.is_cacheable and page.status < 400 and page.write is None
        headers = {"Cache-Control": "public, no-cache" if is_shared else "no-store"}
        if page.content_type == HTML:
            headers |= {
                "Content-Security-Policy": POLICY + (" ".join(page.frames) or "'none'"),
                "Referrer-Policy": "same-origin",
                "Cross-Origin-Opener-Policy": "same-origin",
            }
            if not page.frames:
                headers["X-Frame-Options"] = "DENY"
        if self._https:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        if page.status == 200:
            headers["ETag"] = f"W/{entity_tags.tag(body, '')}"
            if page.modified:
                headers["Last-Modified"] = formatdate(page.modified, usegmt=True)
        headers["Vary"] = ", ".join(("Accept-Encoding", *page.varies))
        headers |= page.headers
        if page.content_type.startswith("image/") or len(body) < LEAST_PACKED_BYTES or not takes_gzip(request.headers):
            return CachedPage(page.status, body, headers, page.content_type, page.article_id)
        headers["Content-Encoding"] = "gzip"
        return CachedPage(page.status, packed(body), headers, page.content_type, page.article_id)

    def _sent(self, request: Request, page: CachedPage) -> Response:
        """Returns a page, or 304 if the browser has it."""
        headers = dict(page.headers)
        if page.status == 200 and _is_fresh(request, headers):
            headers.pop("Content-Encoding", None)
            return Response(status=304, headers=headers)
        if page.article_id and request.method == "GET":
            client, browser = request.client, request.headers.get("User-Agent", "")
            visit_counts.visit_counts(self.service).count_reader(page.article_id, f"{client} {browser[:300]}")
        return Response(status=page.status, headers=headers, body=page.body, content_type=page.content_type)


def _takes_files(request: Request) -> bool:
    """Whether a request is a reply of a customer."""
    place: Place = request.found
    is_reply = f"{REQUESTS_PATH}/" in place.path and place.path.endswith("/reply")
    return is_reply and request.method == "POST"


def _cache_key(request: Request, place: Place) -> Hashable:
    """The key of a page in the cache, None for one that is not cached. Queries that a page does not read are left out,
    so that no address has many copies."""
    minute, path, query, headers = clock.now() // MINUTE, place.path, request.query, request.headers
    if len(path) + len(query) > MAX_CACHED_CHARS or request.method not in ("GET", "HEAD"):
        return None
    same = place.host, place.prefix, path, takes_gzip(headers)
    name = path.rpartition("/")[2]
    if name in ("search", "suggest"):
        return *same, query
    if "/a/" in path and query:
        return None if "helpful" in query else (*same, minute)
    if name:
        return *same, minute
    varying = (headers.get(each, "")[:200] for each in ("Accept-Language", "Sec-Fetch-Site", "Referer", "Host"))
    return *same, minute, *varying


def _language_of(library: Library, path: str) -> tuple[str, str]:
    """The language of a path, and the path below it."""
    first, _, rest = path[1:].partition("/")
    by_path = {each.lower(): each for each in library.brand.languages}
    language = by_path.get(first.lower(), "")
    return (language, f"/{rest}") if language else (library.first_language, path)


def _own_path(visitor: Visitor, place: Place) -> str:
    """The address of a page whose language is written in another way, or is the first one; "" for any other path, which
    may begin with the name of another host."""
    expected = visitor.place(visitor.path)
    return expected if _offered(visitor.path) and expected != visitor.prefix + place.path else ""


@lru_cache(maxsize=256)  # 30 microseconds for each page
def _routes_of(path: str) -> tuple[tuple[str, Show, dict[str, str]], ...]:
    matches = ((method, pattern.match(path), show) for method, pattern, show in ROUTES)
    return tuple((method, show, match.groupdict()) for method, match, show in matches if match)


def _offered(path: str) -> tuple[tuple[str, Show, dict[str, str]], ...]:
    """Returns method, page and arguments of each route that a path has."""
    return _routes_of(path) if len(path) <= MAX_CACHED_CHARS else _routes_of.__wrapped__(path)


def _show(visitor: Visitor) -> VisitorPage:
    """Returns the page of a path. Raises NotFound, NotOffered, and the errors of the page."""
    request = visitor.request
    method = "GET" if request.method == "HEAD" else request.method
    offered = _offered(visitor.path)
    if not offered:
        raise NotFound(_("There is no such page."))
    for verb, show, arguments in offered:
        if verb == method:
            if show is not search_pages.search:
                visitor.service.store.require_thread()
            if verb == "POST":
                _require_same_origin(visitor)
            visitor.arguments = dict(arguments)
            return show(visitor)
    verbs = {verb for verb, _page, _arguments in offered}
    allow = ", ".join(sorted(verbs | ({"HEAD"} if "GET" in verbs else set())))
    raise NotOffered(
        _("{method} is not allowed here; use {allow}.", method=request.method[:20], allow=allow), allow=allow
    )


def _require_same_origin(visitor: Visitor) -> None:
    """Raises Forbidden for a form of another site."""
    headers = visitor.request.headers
    site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    host = headers.get("Host", "")
    is_own = (
        site in ("same-origin", "none") if site is not None else origin in (None, f"http://{host}", f"https://{host}")
    )
    if not is_own:
        raise Forbidden(_("This form was sent from another site and was ignored."))


def _problem(visitor: Visitor, status: int, message: str) -> VisitorPage:
    """The page of an error, with a search."""
    title = shown(TITLES.get(status, OTHER_TITLE))
    return render(visitor, "problem.html", title=title, status=status, message=sentence(shown(message)))


def _is_fresh(request: Request, headers: dict[str, str]) -> bool:
    """Whether the browser has this page (RFC 9110, section 13.2.2)."""
    if "If-None-Match" in request.headers:
        return entity_tags.is_known(request, headers["ETag"])
    since, modified = request.headers.get("If-Modified-Since", ""), headers.get("Last-Modified", "")
    if not since or not modified:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False
