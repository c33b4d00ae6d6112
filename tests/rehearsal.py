"""A service that the zygote runs once for a first administrator, so that the processes forked later have what it
composed and loaded: statements, templates, tables of pages."""

import os
import re
import resource
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests

from console import site
from server import app
from server.access.service_actor import own_context
from server.context import Service
from server.first_start import setup
from server.settings import load

PASSWORD = "correct horse battery"
NORA = {
    "first_name": "Nora", "last_name": "Berg", "email": "nora@desk.example", "timezone": "UTC", "password": PASSWORD,
    "password_again": PASSWORD,
}  # fmt: skip
MILO = {
    "fields[first_name]": "Milo", "fields[email]": "milo@desk.example", "fields[language]": "en_US",
    "fields[timezone]": "UTC",
}  # fmt: skip
TOKEN = {"worker_id": "1", "expires": "1 day", "scopes[]": "api", "label": "Tests"}
TICKET = {"group_id": "1", "to": "ann@kite.example", "subject": "Boat", "content": "Hello Ann", "dont_send": "1"}
PAGES = ("/", "/inbox", "/compose", "/search/ticket", "/search/task", "/account", "/settings", "/admin/tokens")


def rehearse() -> Service:
    """Returns the service, which has stopped. Raises AssertionError if it did not respond as expected. The process has
    the limits and threads that it had before."""
    services: list[Service] = []
    errors: list[BaseException] = []

    def ready(running: app.RunningService) -> None:
        services.append(running.service)
        path = setup.setup_path(own_context(running.service))
        threading.Thread(target=_stopping, args=(lambda: _use(running.url, str(path)), errors)).start()

    mask, limits = os.umask(0), resource.getrlimit(resource.RLIMIT_NOFILE)
    with TemporaryDirectory() as folder:
        settings = load({}, {"HELPDESK_PORT": "0", "HELPDESK_STARTER_PACKAGE": "no"}, Path(folder))
        app.serve(settings, site.sites, ready, lambda: settings)
    os.umask(mask)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not errors, errors
    return services[0]


def _stopping(work: Callable[[], None], errors: list[BaseException]) -> None:
    """Stops the service, which runs on the main thread, after this work on another."""
    try:
        work()
    except BaseException as error:
        errors.append(error)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _use(url: str, setup_path: str) -> None:
    """What most tests do first: set up, create a token and records, open pages."""
    with requests.Session() as browser:
        browser.get(f"{url}/").raise_for_status()
        guard = _part(r'name="_xsrf" value="([0-9a-f]+)"', browser.post(url + setup_path, NORA))
        token = _part(r"(svc_at_[A-Za-z0-9_-]{43})", browser.post(f"{url}/admin/tokens/new", TOKEN | {"_xsrf": guard}))
        own = {"Authorization": f"Bearer {token}"}

        def call(method: str, path: str, **options: Any) -> dict[str, Any]:
            response = requests.request(method, f"{url}/rest/{path}", headers=own, timeout=60, **options)
            response.raise_for_status()
            found: dict[str, Any] = response.json()
            return found

        call("GET", "records/group/search.json", params={"q": "default:yes"})
        call("POST", "records/worker/create.json", data=MILO)
        call("POST", "oauth/tokens/create.json", data={"worker_id": "2", "expires": "1 day"})
        call("PUT", "records/group/1.json", data={"fields[members][member]": "2"})
        ticket = call("POST", "tickets/compose.json", data=TICKET)
        call("GET", "workers/me.json")
        call("GET", "records/ticket/search.json", params={"q": "status:open"})
        call("GET", "records/ticket/1.json")
        for page in (*PAGES, f"/tickets/{ticket['mask']}"):
            browser.get(url + page).raise_for_status()


def _part(pattern: str, response: requests.Response) -> str:
    found = re.search(pattern, response.text)
    assert found is not None, response.text
    return found[1]
