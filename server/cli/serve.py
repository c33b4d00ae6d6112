"""`helpdesk serve`: the server, and what it prints when it is there."""

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
    """Declare the command."""
    serve = command(commands, "serve", _serve)
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", help="port to listen on, 0 for any free one (8200)")
    serve.add_argument("--base-url", metavar="URL", help="the address that others reach this service by")
    serve.add_argument(
        "--role", help="what this process is for, where several serve a database: web, worker or all (all)"
    )
    serve.add_argument("--no-open", action="store_true", help="do not open the set-up link in a browser")
    serve.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _serve(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    log.configure(settings.log_level, settings.log_format)
    app.serve(settings, site.sites, lambda running: _announce(running, settings), lambda: settings_of(options))


def _announce(running: app.RunningService, settings: Settings) -> None:
    print(f"listening on {running.url}", flush=True)
    setup.follow_address(own_context(running.service))
    answers = settings.role != WORKER
    if answers:
        _announce_pages(running, settings)
    for url in running.mail.urls:
        print(f"mail         {url}", flush=True)
    if answers:
        print(f"api          {running.service.base_url}/rest", flush=True)
    if settings.role != ALL:
        print(f"role         {settings.role}", flush=True)
    print(f"data         {_place(running, settings)}  (helpdesk {VERSION})", flush=True)


def _announce_pages(running: app.RunningService, settings: Settings) -> None:
    ctx = own_context(running.service)
    is_printed = running.service.store.is_shared and setup.has_link(ctx)
    path = None if is_printed else setup.setup_path(ctx)
    print(f"console      {running.service.base_url}/", flush=True)
    if is_printed:
        print("set-up link  printed by another process; `helpdesk setup-link` prints a new one", flush=True)
    if path is not None:
        link = running.service.base_url + path
        print(f"set-up link  {link}  (works once, within 30 minutes)", flush=True)
        if settings.open_browser and sys.stdout.isatty() and has_display():
            import webbrowser  # once in the life of a service

            webbrowser.open(link)


def _place(running: app.RunningService, settings: Settings) -> str:
    store = running.service.store
    return store.place if store.is_shared else str(Path(settings.data).absolute())


def has_display() -> bool:
    """Whether a browser has somewhere to open: elsewhere one for terminals would take over this one."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
