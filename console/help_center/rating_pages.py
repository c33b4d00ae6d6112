"""The page on which customers rate a closed ticket. It belongs to no brand's articles, so it responds although none is
public. Opening a link rates nothing, since programs that check email open all links; a form that is sent does."""

import re
import time
from typing import Any

from console.help_center.visitor_languages import long_day
from console.help_center.visitor_page import STYLE, VisitorPage, see
from console.html.form import sentence
from console.html.templates import fragment
from console.http import static_files
from server import clock, translation
from server.access import lockout
from server.context import Service
from server.dataclass import dataclass
from server.errors import Gone, HelpdeskError, NotFound, TooMany
from server.records import catalogs
from server.tickets.ratings import customer_ratings
from server.tickets.ratings.customer_ratings import RatingPage
from server.tickets.ratings.rating_links import PATH
from server.tickets.types.rating import MAX_COMMENT_CHARS
from server.translation import Catalog, _, shown
from server.web import error_bodies
from server.web.params import Params, decode_form
from server.web.rate import RateLimiter
from server.web.site import Request

MAX_FORM_BYTES = 32 * 1024  # a comment of the longest characters, percent-encoded
DONE = "done=1"  # query of the page after a rating
PER_MINUTE = 30  # submitted ratings from one address
LINK = re.compile(rf"{re.escape(PATH)}(?P<code>[a-z2-7]{{16}}-[a-z2-7]{{24}})/(?P<score>good|bad)\Z")
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


@dataclass(frozen=True, slots=True)
class _Link:
    """A request of a link. prefix: of all paths of the help center. host: of its brand, "" for that without one."""

    request: Request
    prefix: str
    host: str
    code: str
    score: str
    path: str


class RatingPages:
    """The pages of all links of a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.rate = RateLimiter(PER_MINUTE, "to rate from one address", service)

    def page(self, request: Request, prefix: str, host: str, path: str) -> VisitorPage | None:
        """Returns the page of a link, None for any other path. prefix, host: see _Link. path: below the prefix."""
        if not path.startswith(PATH):
            return None
        match = LINK.match(path)
        code, score = (match["code"], match["score"]) if match is not None else ("", "")
        link = _Link(request, prefix, host, code, score, f"{prefix}{path}")
        if request.method not in ("GET", "HEAD", "POST"):
            headers = {"Allow": "GET, HEAD, POST"} | _HEADERS
            return VisitorPage(status=405, headers=headers)
        try:
            found = customer_ratings.open_page(self.service, code, clock.now())
        except NotFound:
            with translation.speaking(self._catalog(request, "")):
                return self._rendered(link, None, 404, state="unknown")
        with translation.speaking(self._catalog(request, found.language)):
            return self._post(link, found) if request.method == "POST" else self._shown(link, found)

    def _shown(self, link: _Link, found: RatingPage) -> VisitorPage:
        if found.state == "over":
            return self._rendered(link, found, 410, state="over")
        is_done = bool(found.score) and link.request.query == DONE
        return self._rendered(link, found, 200, state="done" if is_done else found.state)

    def _post(self, link: _Link, found: RatingPage) -> VisitorPage:
        """Stores the submitted rating, and redirects to the thanks. After a mistake, shows the form again with its
        values."""
        comment = error = ""
        score, status, headers = link.score, 422, dict[str, str]()
        try:
            form = Params(decode_form(link.request.body))
            score, comment = form.text("score", ""), form.text("comment", "")
            self.rate.count(lockout.address(link.request.client), time.time())
            customer_ratings.rate(self.service, link.code, score, comment, clock.now())
        except Gone:
            return self._rendered(link, found, 410, state="over")
        except NotFound:
            return self._rendered(link, None, 404, state="unknown")
        except TooMany as problem:
            status, headers = 429, error_bodies.headers(problem)
            error = _("Too many ratings came from your network. Wait a minute, then send it again.")
        except HelpdeskError as problem:  # a mistake, or a service that cannot store it now
            status, headers = error_bodies.status_and_code(problem)[0], error_bodies.headers(problem)
            error = sentence(shown(problem.message))
        if not error:
            page = see(f"{link.prefix}{PATH}{link.code}/{score}?{DONE}", 303)
            page.headers |= _HEADERS
            return page
        page = self._rendered(link, found, status, state=found.state, error=error, chosen=score, comment=comment)
        page.headers |= headers
        return page

    def _rendered(
        self, link: _Link, found: RatingPage | None, status: int, *, state: str, chosen: str = "", **values: Any
    ) -> VisitorPage:
        brand = customer_ratings.brand_of(self.service, found, link.host)
        accent = brand.accent.removeprefix("#").lower() if brand is not None else ""
        is_here = brand is not None and brand.is_public and brand.host == link.host
        html = fragment(
            "help_center/rating.html",
            found=found,
            state=state,
            chosen=chosen or link.score,
            day=long_day(translation.spoken().language, found.until) if found else "",
            brand=brand,
            home=f"{link.prefix}/" if is_here else "",
            logo=f"{link.prefix}/logo-{brand.logo_id}" if brand is not None and is_here and brand.logo_id else "",
            style=link.prefix + static_files.address(STYLE),
            look=f"{link.prefix}/look-{accent or 'plain'}.css" if is_here else "",
            path=link.path,
            most=MAX_COMMENT_CHARS,
            **{"error": "", "comment": ""} | values,
        )
        return VisitorPage(html, status, dict(_HEADERS), is_cacheable=False)

    def _catalog(self, request: Request, language: str) -> Catalog:
        """Returns the messages in the customer's language, or else in the language that the browser prefers."""
        languages = catalogs.languages(self.service)
        return languages.catalog_for(language or languages.accepted(request.headers.get("Accept-Language", "")))


def is_rating(path: str) -> bool:
    """Whether a path below the prefix is one of a link."""
    return path.startswith(PATH)
