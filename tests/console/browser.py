"""A real browser: the installed Chromium, monitored for errors and forbidden requests.

The headless shell, a package of its own in Debian, lays out pages and runs scripts as Chromium does, without the
windows of a browser around them. A page takes a third of the processor time."""

import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    WebError,
    expect,
    sync_playwright,
)

from tests.service import PASSWORD

PROGRAMS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
# Removed from the environment, since servers reject unknown settings.
PROGRAM = os.environ.pop("HELPDESK_TEST_BROWSER", "") or next(filter(os.path.exists, PROGRAMS), PROGRAMS[0])
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-software-rasterizer --in-process-gpu
    --renderer-process-limit=1 --disable-site-isolation-trials""".split()
# No other host is found: a request to one fails, and its console error fails the test.
FLAGS.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
AXE = Path(__file__).resolve().parents[2] / ".work" / "samples" / "axe_playwright_python" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
REFUSED_FORM = re.compile(r"Failed to load resource.*status of 4\d\d")  # a form with errors
# Problems of further rows of a long list occur in the first ones too.
ALIKE = ["tbody tr:nth-child(n+9)", "li:nth-child(n+17)"]
WIDE = (1280, 800)
MAX_CONTEXTS = 3  # kept for the next test
CLOSE_SECONDS = 60
expect.set_options(timeout=30_000)  # five seconds are too short on a busy machine
PHONE, NARROW = (390, 844), (320, 640)


class Browser:
    """One browser for all tests. HELPDESK_TEST_BROWSER names another program."""

    def __init__(self) -> None:
        assert Path(PROGRAM).exists(), f"no {PROGRAM}: install chromium-headless-shell, or set HELPDESK_TEST_BROWSER"
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        self._contexts: dict[str, BrowserContext] = {}

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()

    @contextmanager
    def page(
        self, url: str, size: tuple[int, int] = WIDE, cookies: dict[str, str] | None = None, elsewhere: str = "",
        refused: str = "", is_journey: bool = False, **options: Any,
    ) -> Iterator[Page]:  # fmt: skip
        """Opens a page in a context without cookies and stored data, and asserts at its end that nothing went wrong.
        cookies: of a signed-in worker. elsewhere: the only other site that it may request. refused: a pattern of
        expected error messages. is_journey: whether each request is checked, also those to other ports of this
        machine; this takes a tenth of the time of a page, and is always so if there is another site."""
        sites = (url, elsewhere) if elsewhere else (url,) if is_journey else ()
        with self._context(url, size, options) as context, _watched(context, refused, sites) as wrong:
            if cookies:
                context.add_cookies([{"name": name, "value": text, "url": url} for name, text in cookies.items()])
            yield context.new_page()
            assert wrong == [], wrong

    @contextmanager
    def _context(self, url: str, size: tuple[int, int], options: dict[str, Any]) -> Iterator[BrowserContext]:
        """Lends a context, which is emptied and kept for the next test with the same site and options: a page takes
        half of the processor time when its process runs and its scripts are compiled. A context whose clock was set is
        closed, since a clock cannot be removed from it."""
        key = f"{url} {size} {sorted(options.items())}"
        context = self._contexts.pop(key, None) or self._opened(url, size, options)
        try:
            yield context
            has_own_clock = context.pages[0].evaluate("'__pwClock' in globalThis")
            if not _empty(context, url, options.get("permissions", ())):
                return
        except BaseException:
            context.close()
            raise
        if has_own_clock:
            context.close()
        else:
            self._keep(key, context)

    def _keep(self, key: str, context: BrowserContext) -> None:
        """Keeps a context for the next test. Closes its twin, of two that were open at once, or the oldest of too
        many."""
        twin = self._contexts.pop(key, None)
        self._contexts[key] = context
        if twin is not None:
            twin.close()
        elif len(self._contexts) > MAX_CONTEXTS:
            self._contexts.pop(next(iter(self._contexts))).close()

    def _opened(self, url: str, size: tuple[int, int], options: dict[str, Any]) -> BrowserContext:
        context = self._browser.new_context(
            base_url=url, viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **options
        )
        context.new_page()  # stays open, so that the process of the context does
        return context


def _empty(context: BrowserContext, url: str, permissions: Sequence[str]) -> bool:
    """Removes what a test left in a context. Returns whether it could. permissions: those that the context was opened
    with."""
    first, *others = context.pages
    if not _are_closed(others):
        return False
    context.unroute_all()
    context.clear_cookies()
    context.clear_permissions()
    if permissions:
        context.grant_permissions(permissions)
    session = context.new_cdp_session(first)
    stored = "local_storage,indexeddb,service_workers,cache_storage"
    session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": stored})
    session.detach()
    return True


def _are_closed(pages: Sequence[Page]) -> bool:
    """Closes pages. Returns whether they are closed: on a busy machine, the browser sometimes never says so, and
    Page.close has no time limit. Such a page is left alone until the browser ends."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, CLOSE_SECONDS)
    try:
        for each in pages:
            each.close()
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


@contextmanager
def _watched(context: BrowserContext, refused: str, sites: Sequence[str]) -> Iterator[list[str]]:
    """Collects errors of scripts and of the console, which include failed requests and reports of the content security
    policy. refused: a pattern of errors to ignore, "" for none. sites: those that may be requested; () checks no
    request."""
    wrong: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        is_expected = REFUSED_FORM.match(message.text) or (refused and re.search(refused, message.text))
        if message.type == "error" and not is_expected:
            wrong.append(f"console: {message.text} ({message.location['url']})")

    def on_request(request: Request) -> None:
        if not request.url.startswith((*sites, "data:", "blob:")):
            wrong.append(f"off-host: {request.url}")

    def on_response(response: Response) -> None:
        told = f"{response.status}: {response.url}"
        if response.status >= 500 and not (refused and re.search(refused, told)):
            wrong.append(told)

    def on_error(error: WebError) -> None:
        wrong.append(f"script: {error.error}")

    listeners: dict[str, Any] = {"console": on_console, "weberror": on_error}
    if sites:
        listeners |= {"request": on_request, "response": on_response}
    for event, listener in listeners.items():
        context.on(event, listener)
    try:
        yield wrong
    finally:
        for event, listener in listeners.items():
            context.remove_listener(event, listener)


def intercept(page: Page) -> None:
    """Makes routes that are added later apply to their first request. Call it before a page is opened: Chromium does
    not intercept requests that an open page sends right after its first route was added."""
    page.route("**/never-asked-for", lambda route: route.abort())


def sign_in(page: Page, email: str = "nora@desk.example") -> None:
    """Fills in and submits the sign-in form."""
    page.goto("/login")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url(re.compile(r"/(inbox)?$"))  # start pages of administrators and of other workers


def violations(page: Page, rules: list[str] = RULES, part: str = "html") -> list[str]:
    """Returns the violations that axe finds on the page. rules: names of rules, or tags. part: selector of the part
    to check."""
    page.wait_for_load_state()  # without its styles, a page has other colors and sizes
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())  # through the debugger, since our policy blocks foreign scripts
    options = {"runOnly": rules, "resultTypes": ["violations"], "preload": False}
    found = page.evaluate("([part, options]) => axe.run(part, options)", [{"include": part, "exclude": ALIKE}, options])
    return [f"{each['help']}: {[node['html'][:200] for node in each['nodes']]}" for each in found["violations"]]


@cache
def axe() -> str:
    """Returns the script of axe."""
    assert AXE.exists(), f"{AXE} is missing; `make .work/samples` fetches it"
    return AXE.read_text("utf-8")


def is_sideways(page: Page) -> bool:
    """Returns whether the page scrolls sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def until(page: Page, expression: str) -> None:
    """Waits in the page until an expression is true. Our policy forbids the evaluation in Page.wait_for_function."""
    look = f"const look = async () => ((await ({expression})) ? done() : setTimeout(look, 20)); look();"
    page.evaluate(f"() => new Promise((done, fail) => {{ setTimeout(() => fail('never'), 30_000); {look} }})")
