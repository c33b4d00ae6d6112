"""Opens the settings and the service that commands work on."""

import argparse
import os
from collections.abc import Callable
from typing import Any

from server import app, clock, log
from server.access.service_actor import command_context
from server.context import Context, Service
from server.errors import Conflict, Invalid
from server.jobs import processes
from server.settings import Settings, load

ALIVE_SECONDS = 30  # a process whose last heartbeat is newer counts as running


def settings_of(options: argparse.Namespace) -> Settings:
    """Returns the settings from flags, variables and the settings file. Raises Invalid; an invalid flag ends the
    command with a usage error."""
    flags: dict[str, str | None] = {}
    for name in ("data", "host", "port", "base_url", "role", "config"):
        value = getattr(options, name, None)
        if value is not None:
            flags[name] = value
    if getattr(options, "no_open", False):
        flags["open_browser"] = "no"
    try:
        return load(flags, os.environ)
    except Invalid as error:
        if error.message.startswith("--"):  # the error is about a flag
            options.refuse(error.message)
        raise


def require_unused(service: Service) -> None:
    """Raises Conflict if a server runs: checks the lock of a data folder, or the processes of a PostgreSQL database."""
    alive = [each for each in processes.running(service) if each.seen_at > clock.now() - ALIVE_SECONDS]
    if service.store.is_shared and alive:
        names = ", ".join(f"process {each.pid} on {each.host}" for each in alive)
        raise Conflict(
            f"{service.store.place} is used by {names}; stop it first. One that was killed counts for {ALIVE_SECONDS} "
            "seconds"
        )


def with_service(options: argparse.Namespace, work: Callable[[Context], Any]) -> Any:
    """Runs `work` on the database of the data folder, with or without a running server."""
    settings = settings_of(options)
    log.configure("warning", settings.log_format)
    service = app.open_service(settings)
    try:
        return work(command_context(service))
    finally:
        service.store.close()


def with_database(options: argparse.Namespace, work: Callable[[Context], Any]) -> Any:
    """Like with_service, for commands that make no sense on a new database: a wrong --data must not create one."""
    app.require_database(settings_of(options))
    return with_service(options, work)
