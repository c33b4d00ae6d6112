"""Exports everything from one snapshot: records as JSON lines, other tables, contents as files, and a manifest."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

import peewee

from server import log
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.export import exported_files
from server.export.json_lines import Lines, embedded, time_text
from server.export.secret import PLAIN_TABLES, SECRETS
from server.export.target import Target, opened, written
from server.record_types.record_type import RecordType
from server.records.data_exports import log_export
from server.settings import VERSION
from server.store.blobs import BLOB, BLOB_PIECE
from server.store.tables import Table
from server.store.transaction import Transaction

MANIFEST = "manifest.json"
MAX_SECONDS = 7 * 86400  # time limit of an export
FORMAT = 1  # increases when programs that read exports must change
ABOUT = (
    "Every file in records/ holds the records of one type, one JSON object a line, by id: the columns of the record, "
    "`links` as <context>:<id>, `attachment_ids`, and values of custom fields under `custom` as custom_<id>, whose "
    "names are in records/custom_field.jsonl. `file`, `mail` and `image` are paths in this export. Files in tables/ "
    "hold rows beside the records. Times are in UTC; null is never."
)
_log = log.get("export")

Progress = Callable[[int, int], None]


@dataclass
class Summary:
    """The numbers of exported records by type, rows by table, and contents by kind (file, mail, image)."""

    records: dict[str, int] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    contents: dict[str, int] = field(default_factory=dict)


def export(
    ctx: Context, place: Path, tables: Sequence[Table], progress: Progress, *, with_secrets: bool = False
) -> Summary:
    """Writes everything to a new folder, or to a new zip file for a path that ends in .zip.

    tables: all of the database. progress: called with the numbers of records, rows and files that are done, and in
    total. with_secrets: includes passwords, tokens, sessions and other credentials. Rights are not checked: the caller
    is trusted. Raises Conflict for a path that exists, NotFound for one in a missing folder, Full."""
    with opened(place) as target:
        _log_export(ctx, with_secrets)
        return ctx.service.store.read(
            lambda tx: _Export(ctx, tx, target, tables, progress, with_secrets).write(), seconds=MAX_SECONDS
        )


def _log_export(ctx: Context, with_secrets: bool) -> None:
    """Logs the export. A full disk must not prevent an export, so failures are only reported in the log."""
    try:
        log_export(ctx, f"everything, {'with' if with_secrets else 'without'} secrets")
    except HelpdeskError:
        _log.exception("export.not_noted")


class _Export:
    def __init__(
        self,
        ctx: Context,
        tx: Transaction,
        target: Target,
        tables: Sequence[Table],
        progress: Progress,
        with_secrets: bool,
    ) -> None:
        self._ctx, self._tx, self._target = ctx, tx, target
        self._progress, self._with_secrets = progress, with_secrets
        registry = ctx.service.registry
        self._types: list[RecordType] = sorted(registry, key=lambda each: each.uri)
        own = {each.table.name for each in self._types} | embedded(self._types) | {BLOB.name, BLOB_PIECE.name}
        beside = [table for table in tables if table.name not in own]
        self._tables = [table for table in beside if with_secrets or table.name in PLAIN_TABLES]
        self._left_out = [table.name for table in beside if table not in self._tables]
        self._lines = Lines(tx, registry, with_secrets)
        self._done = 0
        self._total = sum(self._count(table) for table in (*(each.table for each in self._types), *self._tables))
        self._total += sum(exported_files.count(tx, each) for each in self._types)
        self._files: dict[str, dict[str, Any]] = {}

    def write(self) -> Summary:
        summary = Summary()
        for record_type in self._types:
            rows = self._lines.of_type(record_type)
            summary.records[record_type.uri] = self._write_lines(f"records/{record_type.uri}.jsonl", rows)
        for table in self._tables:
            summary.tables[table.name] = self._write_lines(f"tables/{table.name}.jsonl", self._lines.of_table(table))
        sizes: dict[str, int] = {}
        for record_type in self._types:
            for key, size in exported_files.write(self._tx, self._target, record_type):
                summary.contents[key] = summary.contents.get(key, 0) + 1
                sizes[key] = sizes.get(key, 0) + size
                self._one_more()
        self._write_manifest(summary, sizes)
        return summary

    def _write_lines(self, path: str, lines: Iterable[bytes]) -> int:
        count = 0
        with written(self._target, path) as (file, info):
            for each in lines:
                file.write(each)
                count += 1
                self._one_more()
        self._files[path] = {"lines": count, **asdict(info)}
        return count

    def _one_more(self) -> None:
        self._done += 1
        self._progress(self._done, self._total)

    def _write_manifest(self, summary: Summary, sizes: dict[str, int]) -> None:
        manifest = {
            "about": ABOUT,
            "format": FORMAT,
            "program": f"helpdesk {VERSION}",
            "service": self._ctx.service.base_url,
            "made_at": time_text(self._ctx.now),
            "has_secrets": self._with_secrets,
            "records": summary.records,
            "tables": summary.tables,
            "contents": {key: {"files": summary.contents[key], "bytes": sizes[key]} for key in summary.contents},
            "left_out": {} if self._with_secrets else {"columns": SECRETS, "tables": sorted(self._left_out)},
            "files": self._files,
        }
        with self._target.open(MANIFEST) as file:
            file.write((json.dumps(manifest, ensure_ascii=False, indent=1) + "\n").encode())

    def _count(self, table: Table) -> int:
        query: Any = table.sql
        return int(self._tx.value(lambda: query.select(peewee.fn.COUNT(peewee.SQL("*")))))
