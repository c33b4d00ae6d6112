"""A real browser: the Chromium that is installed, watched for everything that must not happen."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

from tests.service import PASSWORD

PROGRAM = os.environ.get("HELPDESK_TEST_BROWSER", "/usr/bin/chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync""".split()
AXE = Path(__file__).resolve().parents[2] / ".work" / "samples" / "axe_playwright_python" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
REFUSED_FORM = re.compile(r"Failed to load resource.*status of 4\d\d")  # how Chromium tells of a form shown again
WIDE = (1280, 800)


class Browser:
    """One browser for all tests. HELPDESK_TEST_BROWSER names another program."""

    def __init__(self) -> None:
        assert Path(PROGRAM).exists(), f"no browser at {PROGRAM}; install chromium, or set HELPDESK_TEST_BROWSER"
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()

    @contextmanager
    def page(
        self, url: str, size: tuple[int, int] = WIDE, cookies: dict[str, str] | None = None, elsewhere: str = "",
        **options: Any,
    ) -> Iterator[Page]:  # fmt: skip
        """A page of a fresh context; at its end nothing may have gone wrong. cookies: of somebody who is signed in.
        elsewhere: the one other site that it may go to."""
        context = self._browser.new_context(
            base_url=url, viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce", **options
        )
        wrong = _watched(context, url, *([elsewhere] if elsewhere else []))
        if cookies:
            context.add_cookies([{"name": name, "value": text, "url": url} for name, text in cookies.items()])
        try:
            yield context.new_page()
            assert wrong == []
        finally:
            context.close()


def _watched(context: BrowserContext, *sites: str) -> list[str]:
    """What goes wrong from now on: errors in the console, which reports of the policy are too, failures of ours, and
    requests to other sites."""
    wrong: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and not REFUSED_FORM.match(message.text):
            wrong.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith((*sites, "data:", "blob:")):
            wrong.append(f"off-host: {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 500:
            wrong.append(f"{response.status}: {response.url}")

    context.on("console", on_console)
    context.on("request", on_request)
    context.on("response", on_response)
    context.on("weberror", lambda error: wrong.append(f"script: {error.error}"))
    return wrong


def sign_in(page: Page, email: str = "nora@desk.example") -> None:
    """Fill in the form and send it."""
    page.goto("/login")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url("**/")


def violations(page: Page, rules: list[str] = RULES) -> list[str]:
    """What axe finds on the page as it is. rules: their names, or tags of many."""
    assert AXE.exists(), f"{AXE} is missing; `make .work/samples` fetches it"
    page.evaluate(AXE.read_text("utf-8"))  # by the debugger: the policy of our pages lets no foreign script in
    found = page.evaluate("rules => axe.run({runOnly: rules})", rules)
    return [f"{each['help']}: {[node['html'][:200] for node in each['nodes']]}" for each in found["violations"]]


def is_sideways(page: Page) -> bool:
    """Whether the page scrolls sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
