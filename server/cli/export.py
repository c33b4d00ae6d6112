"""`helpdesk export`: exports everything in a data folder as files for other programs and for people."""

import argparse
from pathlib import Path
from typing import Any

from server import app
from server.cli.arguments import command
from server.cli.opening import with_database
from server.cli.progress import Progress
from server.context import Context
from server.export import Summary, export


def declare(commands: Any) -> None:
    parser = command(
        commands,
        "export",
        _export,
        "Write everything to a new folder, or to a new zip file for a name that ends in .zip: records as JSON lines, a "
        "file for each type, attachments and mails as they are, and manifest.json, which tells what is there. All of "
        "it is of one moment, and what is cut short leaves nothing. It cannot be read back: that is what backups are "
        "for.",
    )
    parser.add_argument("place", metavar="FOLDER|FILE.zip", help="where to write; nothing may be there")
    parser.add_argument(
        "--with-secrets",
        action="store_true",
        help="also passwords of mailboxes and accounts, addresses of webhooks, hashes of passwords and tokens",
    )


def _export(options: argparse.Namespace) -> None:
    progress, place = Progress(), Path(options.place)

    def work(ctx: Context) -> Summary:
        tables = app.all_tables(ctx.service.registry)
        return export(ctx, place, tables, progress.show, with_secrets=options.with_secrets)

    try:
        summary = with_database(options, work)
    finally:
        progress.end()
    records, files = sum(summary.records.values()), sum(summary.contents.values())
    print(f"{place}: {records} records of {sum(map(bool, summary.records.values()))} types, {files} files")
