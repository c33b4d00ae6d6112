"""The part of build/smoke.py that uses a browser, with a server that was started for the first time. Needs Playwright
and Chromium, like the tests of the console."""

import importlib.util
import os
import re
from pathlib import Path
from typing import Any

PROGRAMS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
PROGRAM = os.environ.get("HELPDESK_TEST_BROWSER") or next(filter(os.path.exists, PROGRAMS), PROGRAMS[0])
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
EMAIL, PASSWORD = "ines@example.com", "correct horse battery staple"
SECONDS = 30
REFUSED_FORM = re.compile(r"Failed to load resource.*status of 4\d\d")  # Chromium logs this when a form is shown again


class Wrong(Exception):
    """A page differs from what is expected."""


def missing() -> str:
    """Returns a message about a missing requirement; "" if everything is installed."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (make test installs it)"
    if not Path(PROGRAM).exists():
        return f"{PROGRAM} is missing; install chromium-headless-shell, or set HELPDESK_TEST_BROWSER"
    return ""


def walk(address: str, link: str) -> None:
    """Opens the setup link, completes the first step, signs out and in, and opens a page. Raises Wrong."""
    from playwright.sync_api import Error, sync_playwright

    wrong: list[str] = []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
            page = browser.new_page(base_url=address)
            page.set_default_timeout(SECONDS * 1000)
            page.on("console", lambda each: wrong.append(f"console: {each.text}") if _is_error(each) else None)
            page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
            page.on("response", lambda each: wrong.append(f"{each.status}: {each.url}") if each.status >= 500 else None)
            _set_up(page, link)
            _sign_in(page)
            page.goto("/admin/system")
            _expect(page.locator("h1").inner_text() == "System", f"/admin/system shows {page.title()!r}")
            _expect(page.get_by_text("executable").count() > 0, "the system page does not mention the executable")
            _expect(page.evaluate("document.styleSheets.length") > 0, "there is no style sheet")
            browser.close()
    except Error as error:
        raise Wrong(f"{error}; {wrong}") from None
    _expect(not wrong, "; ".join(wrong))


def _set_up(page: Any, link: str) -> None:
    """Completes the required first step of the setup; the other steps are optional."""
    page.goto(link)
    values = {"first_name": "Ines", "last_name": "Kay", "email": EMAIL, "password": PASSWORD,
              "password_again": PASSWORD}  # fmt: skip
    for name, value in values.items():
        page.locator(f"[name={name}]").first.fill(value)
    page.locator("main form button[type=submit]").first.click()
    page.wait_for_url(lambda url: url != link)
    page.goto(link)
    _expect(page.locator("[name=first_name]").count() == 0, "the setup link works a second time")


def _sign_in(page: Any) -> None:
    """Signs out if the setup has signed the worker in, then signs in by hand."""
    page.context.clear_cookies()
    page.goto("/login")
    page.locator("[name=email]").fill(EMAIL)
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("[name=password]").press("Enter")
    page.wait_for_url(lambda url: "/login" not in url)
    page.goto("/account")
    _expect("Ines" in page.content(), f"after signing in, the page is {page.title()!r}")


def _is_error(message: Any) -> bool:
    return message.type == "error" and not REFUSED_FORM.match(message.text)


def _expect(is_true: bool, message: str) -> None:
    if not is_true:
        raise Wrong(message)
