"""`helpdesk serve`: starts the server and prints where it listens."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from console import site
from server import app, log
from server.access.service_actor import own_context
from server.cli.arguments import command
from server.cli.opening import settings_of
from server.first_start import setup
from server.settings import ALL, VERSION, WORKER, Settings


def declare(commands: Any) -> None:
    serve = command(commands, "serve", _serve)
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", help="port to listen on, 0 for any free port (8200)")
    serve.add_argument("--base-url", metavar="URL", help="the address where others reach this service")
    serve.add_argument("--role", help="role of this process if several serve one database: web, worker or all (all)")
    serve.add_argument("--no-open", action="store_true", help="do not open the setup link in a browser")
    serve.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _serve(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    log.configure(settings.log_level, settings.log_format)
    log.take_uncaught()
    app.serve(settings, site.sites, lambda running: _announce(running, settings), lambda: settings_of(options))


def _announce(running: app.RunningService, settings: Settings) -> None:
    _say("listening on", running.url, "listening", url=running.url)
    setup.follow_address(own_context(running.service))
    answers = settings.role != WORKER
    if answers:
        _announce_pages(running, settings)
    if settings.http_socket:
        _say("socket", settings.http_socket, "listening", path=settings.http_socket)
    for url in running.mail.urls:
        _say("mail", url, "mail.listening", url=url)
    if answers:
        _say("api", f"{running.service.base_url}/rest", "api", url=f"{running.service.base_url}/rest")
    if settings.role != ALL:
        _say("role", settings.role, "role", role=settings.role)
    place = _place(running, settings)
    _say("data", f"{place}  (helpdesk {VERSION})", "started", data=place, version=VERSION)


def _say(label: str, text: str, event: str, **keys: str) -> None:
    """Prints a line about the start, as text or in the format of the log."""
    print(log.json_line("info", event, **keys) if log.is_json() else f"{label:12} {text}", flush=True)


def _announce_pages(running: app.RunningService, settings: Settings) -> None:
    ctx = own_context(running.service)
    is_printed = running.service.store.is_shared and setup.has_link(ctx)
    path = None if is_printed else setup.setup_path(ctx)
    console = f"{running.service.base_url}/"
    _say("console", console, "console", url=console)
    if is_printed:
        advice = "printed by another process; `helpdesk setup-link` prints a new one"
        _say("setup link", advice, "setup.link", advice=advice)
    if path is not None:
        link = running.service.base_url + path
        _say("setup link", f"{link}  (works once, within 30 minutes)", "setup.link", url=link)
        if settings.open_browser and sys.stdout.isatty() and has_display():
            import webbrowser  # imported late: used once in the life of a service

            webbrowser.open(link)


def _place(running: app.RunningService, settings: Settings) -> str:
    store = running.service.store
    return store.place if store.is_shared else str(Path(settings.data).absolute())


def has_display() -> bool:
    """Whether a graphical browser can open; without one, a text browser would take over this terminal."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
