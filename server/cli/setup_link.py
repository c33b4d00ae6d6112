"""`helpdesk setup-link`: prints a link for the first administrator."""

import argparse
from typing import Any

from server.cli.arguments import command
from server.cli.opening import with_database
from server.context import Context
from server.errors import Conflict
from server.first_start import setup


def declare(commands: Any) -> None:
    command(commands, "setup-link", _setup_link)


def _setup_link(options: argparse.Namespace) -> None:
    def work(ctx: Context) -> str:
        path = setup.setup_path(ctx)
        if path is None:
            raise Conflict("the service already has an administrator; sign in, or ask them for a link")
        return (ctx.service.store.read(setup.served_at) or ctx.service.base_url) + path

    print(with_database(options, work))
