"""`helpdesk import csv`: imports a CSV file as records of a data folder, with or without a running server."""

import argparse
import sys
from pathlib import Path
from typing import Any

from server.cli.arguments import command, group
from server.cli.opening import with_service
from server.cli.progress import Progress
from server.context import Context
from server.errors import Invalid, nearest
from server.imports import columns, csv_rows, row_import
from server.imports.columns import CsvMapping, CsvTarget
from server.imports.csv_rows import CsvTable
from server.imports.row_import import CsvResult, PortionedImport

DONE, FAILED = 0, 1
STANDARD_INPUT = "-"


def declare(commands: Any) -> None:
    bring = command(
        group(commands, "import", "Records in files."),
        "csv",
        lambda options: with_service(options, lambda ctx: _import(ctx, options)),
        f"Import a CSV file of any size. Up to {row_import.MAX_ATOMIC_ROWS:,} rows are imported all or none; "
        "in a larger file, rows that fail are skipped and listed. "
        "With --key, the same file can be imported again: it updates the records it created.",
        "Import a CSV file as records.",
    )
    bring.add_argument(
        "file", metavar="FILE", help="the file, or - for standard input; its first row must contain the column names"
    )
    bring.add_argument("--type", required=True, metavar="TYPE", help="the record type, such as contact")
    bring.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=FIELD",
        help="write a column to a field; NAME= leaves the column out. Other columns are matched by name",
    )
    bring.add_argument("--key", default="", metavar="FIELD", help="update the record with the same value of this field")
    bring.add_argument("--dry-run", action="store_true", help="check all rows without writing anything")


def _import(ctx: Context, options: argparse.Namespace) -> int:
    table = csv_rows.read(_content(options.file), max_bytes=0)
    uri = ctx.service.registry.type(options.type.lower()).uri
    targets = columns.targets(ctx, uri)
    mapping = CsvMapping(uri, _names(table, targets, options.column), options.key)
    progress = Progress()
    try:
        result = _run(ctx, options, table, mapping, progress)
    finally:
        progress.end()
    for each in result.mistakes:
        where = f"row {each.row}" + (f", {each.target}" if each.target else "")
        print(f"helpdesk: {where}: {each.reason}", file=sys.stderr)
    if result.left:
        print(f"helpdesk: {result.left} more rows are wrong", file=sys.stderr)
    is_all_or_none = options.dry_run or len(table.rows) <= row_import.MAX_ATOMIC_ROWS
    if result.mistakes and is_all_or_none and not options.dry_run:
        print("nothing was imported")
    else:
        would = "would be " if options.dry_run else ""
        print(f"{result.created} {would}created, {result.updated} {would}updated")
    return FAILED if result.mistakes else DONE


def _run(
    ctx: Context, options: argparse.Namespace, table: CsvTable, mapping: CsvMapping, progress: Progress
) -> CsvResult:
    name = "standard input" if options.file == STANDARD_INPUT else Path(options.file).name
    if options.dry_run:
        return row_import.attempt(ctx, table, mapping, told=progress.show)
    if len(table.rows) > row_import.MAX_ATOMIC_ROWS:
        return PortionedImport().run(ctx, name, table, mapping, progress.show)
    return row_import.run(ctx, None, table, mapping, progress.show, name=name)


def _names(table: CsvTable, targets: dict[str, CsvTarget], chosen: list[str]) -> tuple[str, ...]:
    """Returns the target of each column. Raises Invalid for an unknown column that was not left out explicitly."""
    explicit: dict[str, str] = {}
    for text in chosen:
        header, mark, target = text.rpartition("=")
        if not mark:
            raise Invalid(f"--column takes NAME=FIELD, not '{text[:80]}'")
        if header not in table.names:
            raise Invalid(f"--column: the file has no column '{header[:80]}'{nearest(header, table.names)}")
        if target and target not in targets:
            raise Invalid(f"--column: there is no field '{target[:80]}'{nearest(target, targets)}")
        explicit[header] = target
    guessed = columns.guess(table.names, targets, {}, table.rows)
    names = tuple(
        explicit.get(header, "" if target in explicit.values() else target)
        for header, target in zip(table.names, guessed, strict=True)
    )
    unknown = [
        header for header, target in zip(table.names, names, strict=True) if not target and header not in explicit
    ]
    if unknown:
        examples = ", ".join(f"'{each[:80]}'" for each in unknown[:10])
        raise Invalid(
            f"no field is named like the column {examples}; add --column '{unknown[0][:80]}=FIELD', "
            f"or --column '{unknown[0][:80]}=' to leave it out. Fields: {', '.join(targets)}"
        )
    return names


def _content(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}") from error
