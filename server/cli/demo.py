"""`helpdesk demo`: fills a data folder without a running server with demo data, or removes that."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from server import app, log
from server.access.service_actor import command_context
from server.cli.arguments import command
from server.cli.opening import require_unused, settings_of
from server.cli.progress import Progress
from server.context import Context
from server.errors import Conflict, Damaged
from server.first_start import demo, setup
from server.first_start.demo import Made
from server.settings import Settings
from server.store import lock


def declare(commands: Any) -> None:
    parser = command(
        commands,
        "demo",
        _demo,
        "Make a desk to look at: a year of tickets in every state, the people who write and answer them, files, "
        "notes, tasks, snippets and searches. All of it is made up. No mail is sent, no automation runs, and nobody "
        "can sign in as one of its workers. An empty data folder becomes a service; where there are tickets already, "
        "--add is needed. No server may run on the data folder: in one that runs, the demo is added on the last page "
        "of the setup and removed on the start page.",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--add", action="store_true", help="add it to a service that already has tickets")
    how.add_argument(
        "--remove",
        action="store_true",
        help="permanently remove all of it, with its workers and everything written on its tickets since",
    )


def _demo(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    log.configure("warning", settings.log_format)
    folder = Path(settings.data)
    if options.remove:
        app.require_database(settings)
    app.make_folder(folder)
    folder_lock = None if settings.database else _locked(folder)
    try:
        _work(options, settings)
    finally:
        if folder_lock is not None:
            folder_lock.release()


def _locked(folder: Path) -> lock.FolderLock:
    """Returns the acquired lock of the folder. Raises Conflict with an alternative if a server runs on it, Damaged."""
    folder_lock = lock.FolderLock(folder)
    try:
        folder_lock.take()
    except Damaged as error:
        url = lock.address(folder)
        if not url:
            raise
        raise Conflict(
            f"a server runs on {folder}; stop it first, or do it there: {url}/setup/start as an administrator"
        ) from error
    return folder_lock


def _work(options: argparse.Namespace, settings: Settings) -> None:
    service = app.open_service(settings)
    try:
        require_unused(service)
        ctx = command_context(service)
        print(_removed(ctx, settings) if options.remove else _filled(ctx, options, settings))
    finally:
        service.store.close()


def _place(ctx: Context, settings: Settings) -> str:
    return ctx.service.store.place if ctx.service.store.is_shared else str(settings.data)


def _filled(ctx: Context, options: argparse.Namespace, settings: Settings) -> str:
    store = ctx.service.store
    if not options.add and store.read(demo.has_other_tickets):
        raise Conflict(
            f"{_place(ctx, settings)} already has tickets; --add adds the demo data to them, and --remove removes it "
            "again"
        )
    progress = Progress()
    try:
        size = demo.fill(ctx, progress.show)
    finally:
        progress.end()

    return _summary(
        size, "" if options.data is None else f" --data {shlex.quote(options.data)}", setup.is_set_up(ctx.service)
    )


def _summary(size: Made, flags: str, is_set_up: bool) -> str:
    then = "sign in as usual" if is_set_up else "open the setup link that it prints, to become its administrator"
    return (
        f"{size.tickets} tickets with {size.messages:,} messages, {size.workers} workers in {size.groups} groups, "
        f"{size.orgs} organizations\n"
        f"To see it, start `helpdesk serve{flags}` and {then}.\n"
        f"To remove it, stop the server and run `helpdesk demo --remove{flags}`."
    )


def _removed(ctx: Context, settings: Settings) -> str:
    if not ctx.service.store.read(demo.is_there):
        raise Conflict(f"there is no demo data in {_place(ctx, settings)}")
    return f"{demo.remove(ctx)} tickets removed, with everything that belonged to them"
