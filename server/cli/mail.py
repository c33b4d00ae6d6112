"""`helpdesk mail import`: files of mail into the database of a data folder, whether or not a server runs on it."""

import sys
from typing import Any

from server.cli.arguments import command, group
from server.cli.opening import with_service
from server.cli.progress import Progress
from server.context import Context
from server.mailroom import mail_import

DONE, FAILED = 0, 1


def declare(commands: Any) -> None:
    """Declare the commands."""
    bring = command(
        group(commands, "mail", "Mail in files."),
        "import",
        lambda options: with_service(options, lambda ctx: _import(ctx, options.paths)),
        "Import mail as tickets and replies. Mail that is there already is not imported twice. An import that was cut "
        "short goes on where it ended when it is started again with the same files.",
        "Import mail as tickets and replies.",
    )
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
