"""`helpdesk mail import`: files of mail into the database of a data folder, whether or not a server runs on it."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from server.cli.arguments import command
from server.cli.progress import Progress
from server.context import Context
from server.desk import mail_import

DONE, FAILED = 0, 1
WithService = Callable[[argparse.Namespace, Callable[[Context], Any]], Any]


def declare(commands: Any, with_service: WithService) -> None:
    """Declare the commands. with_service: runs something on the database of a data folder."""
    mail = commands.add_parser("mail", help="Mail.", description="Mail in files.")
    group = mail.add_subparsers(metavar="ACTION", required=True)
    bring = command(
        group, "import", "Import mail as tickets and replies.",
        lambda options: with_service(options, lambda ctx: _import(ctx, options.paths)),
        "Import mail as tickets and replies. Mail that is there already is not imported twice. An import that was cut "
        "short goes on where it ended when it is started again with the same files.",
    )  # fmt: skip
    bring.add_argument(
        "paths", nargs="+", metavar="PATH", help="a message, an mbox, a Maildir, a folder of .eml files, or - for one "
        "message on standard input"
    )  # fmt: skip


def _import(ctx: Context, paths: list[str]) -> int:
    shown = Progress()

    def problem(where: str, reason: str) -> None:
        shown.say(f"helpdesk: {where}: {reason}")

    try:
        counts = mail_import.run(ctx, paths, sys.stdin.buffer, shown.show, problem)
    finally:
        shown.end()
    print(counts)
    return DONE if counts.failed == 0 else FAILED
