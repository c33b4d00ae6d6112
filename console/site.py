"""The console as a site: pages for people, rendered on the server. So far the first one: setting up the service."""

import re
from collections.abc import Callable

from console.pages import setup, start
from console.pages.start import Shown
from server.context import Service
from server.errors import HelpdeskError, NotFound, NotOffered
from server.web import errors
from server.web.call import Answer
from server.web.server import Request, Site

MAX_FORM_BYTES = 64 * 1024
HTML = "text/html; charset=utf-8"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",
}

Page = Callable[[Service, Request, dict[str, str]], Shown]
PAGES: list[tuple[re.Pattern[str], dict[str, Page]]] = [
    (re.compile(r"/\Z"), {"GET": start.show}),
    (re.compile(r"/setup/(?P<code>[A-Za-z0-9_-]{20,100})\Z"), {"GET": setup.show, "POST": setup.save}),
]


class Console(Site):
    """Everything that is no API."""

    is_json = False

    def __init__(self, service: Service) -> None:
        self.service = service

    def limit(self, method: str, path: str) -> int:
        return MAX_FORM_BYTES

    def answer(self, request: Request, steps: int | None) -> Answer:
        if request.path == "/static/console.css":
            return Answer(body=start.stylesheet(), content_type="text/css; charset=utf-8")
        try:
            shown = self._page(request)
            return Answer(status=shown.status, headers=HEADERS, body=shown.html.encode(), content_type=HTML)
        except HelpdeskError as error:
            status, _ = errors.status_and_code(error)
            page = start.problem(error.message)
            headers = HEADERS | errors.headers(error)
            return Answer(status=status, headers=headers, body=page.html.encode(), content_type=HTML)

    def _page(self, request: Request) -> Shown:
        for pattern, methods in PAGES:
            match = pattern.match(request.path)
            if match:
                page = methods.get("GET" if request.method == "HEAD" else request.method)
                if page is None:
                    allow = ", ".join(sorted(methods))
                    raise NotOffered(f"{request.method} is not offered here, but {allow}", allow=allow)
                return page(self.service, request, match.groupdict())
        raise NotFound("there is no such page")


def sites(service: Service) -> dict[str, Site]:
    """The console's sites by the beginning of their paths."""
    return {"/": Console(service)}
