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
        "Export everything to a new folder, or to a new zip file if the name ends in .zip: "
        "records as JSON lines, one file per type, attachments and emails as they are, and "
        "manifest.json, which describes the contents. Everything is from the same moment, and an "
        "interrupted export leaves nothing. It cannot be imported again: use backups for that.",
    )
    parser.add_argument("place", metavar="FOLDER|FILE.zip", help="where to write; must not exist yet")
    parser.add_argument(
        "--with-secrets",
        action="store_true",
        help="include passwords of mailboxes and accounts, addresses of webhooks, hashes of passwords and tokens",
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
