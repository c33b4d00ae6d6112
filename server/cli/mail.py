"""`helpdesk mail import`: imports mail files into the database of a data folder, with or without a running server."""

import argparse
import sys
from typing import Any

from server.cli.arguments import command, group
from server.cli.opening import with_service
from server.cli.progress import Progress
from server.context import Context
from server.digits import id_in
from server.errors import Invalid, nearest
from server.mailroom import mail_import
from server.mailroom.earlier_mail import History
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import CLOSED, OPEN, WORDS

DONE, FAILED = 0, 1


def declare(commands: Any) -> None:
    bring = command(
        group(commands, "mail", "Email in files."),
        "import",
        lambda options: with_service(options, lambda ctx: _import(ctx, options)),
        "Import email as tickets and replies. Email that was already imported is skipped. Run an "
        "interrupted import again with the same files to resume it.",
        "Import email as tickets and replies.",
    )
    bring.add_argument(
        "--status", choices=WORDS[: CLOSED + 1], default=WORDS[OPEN], help="status of the new tickets (open)"
    )
    bring.add_argument(
        "--group",
        default="",
        metavar="GROUP",
        help="name or ID of the group of the new tickets, instead of routing",
    )
    bring.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a message, an mbox, a Maildir, a folder of .eml files, or - for one message on standard input",
    )


def _import(ctx: Context, options: argparse.Namespace) -> int:
    history = History(WORDS.index(options.status), _group_id(ctx, options.group) if options.group else 0)
    progress = Progress()

    def problem(where: str, reason: str) -> None:
        progress.say(f"helpdesk: {where}: {reason}")

    try:
        counts = mail_import.run(ctx, options.paths, sys.stdin.buffer, progress.show, problem, history)
    finally:
        progress.end()
    print(counts)
    return DONE if counts.failed == 0 else FAILED


def _group_id(ctx: Context, text: str) -> int:
    """Returns the group with this number or name. Raises Invalid with the nearest name."""

    def read(tx: Transaction) -> dict[int, str]:
        reader = RecordReader(ctx, tx)
        return {id: reader.label("group", id) for id in reader.search_ids("group", "")}

    names = ctx.service.store.read(read)
    number = id_in(text)
    matching = [id for id, name in names.items() if id == number or name.casefold() == text.strip().casefold()]
    if not matching:
        raise Invalid(f"--group: there is no group '{text[:80]}'{nearest(text, names.values())}")
    return matching[0]
