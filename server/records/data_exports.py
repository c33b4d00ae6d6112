"""Exports of data: rows as CSV that spreadsheets open, as plain CSV and as JSON lines, and their log."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from server import locales
from server.access.actor import APP
from server.cells import guarded
from server.context import Context
from server.locales import Locale
from server.records.writing import RecordWriter

SPREADSHEET, RAW = "csv", "raw"
# {format: media type}
FORMATS = {
    SPREADSHEET: "text/csv; charset=utf-8",
    RAW: "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}
ENDINGS = {RAW: "raw.csv"}
MARK = "\ufeff"  # a byte order mark: Excel recognizes UTF-8 by it


def log_export(ctx: Context, what: str) -> None:
    """Logs that the caller exported data. what: the object of the sentence, as in `exported <what>`."""
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("data.exported", APP, 0, {"what": what}))


def as_text(
    ctx: Context,
    format: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    times: Collection[str],
    language: str,
) -> str:
    """Returns rows in one of FORMATS. names: the columns. times: columns in Unix seconds. language: the locale of a
    spreadsheet."""
    if format == SPREADSHEET:
        locale = locales.of(language)
        readable = [{key: _readable(ctx, locale, value, key in times) for key, value in row.items()} for row in rows]
        return MARK + as_csv(names, readable, ";" if locale.fraction == "," else ",")
    return as_csv(names, rows) if format == RAW else as_lines(rows)


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], separator: str = ",") -> str:
    """Returns rows as CSV with a line of names. A cell that spreadsheets would run as a formula gets a quote in front.

    >>> print(as_csv(["a", "b"], [{"a": "=1+1", "b": 'x "y"'}]).replace("\\r", ""), end="")
    a,b
    '=1+1,"x ""y\"""
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(names)
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return text.getvalue()


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns rows as JSON, one per line."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def _readable(ctx: Context, locale: Locale, value: Any, is_time: bool) -> Any:
    """Returns a value as a spreadsheet of the caller's country reads it: times in their zone, fractions with their
    mark."""
    if is_time and isinstance(value, int | str) and str(value).lstrip("-").isdigit():
        at = int(value)
        return datetime.fromtimestamp(at, UTC).astimezone(ctx.tz).strftime("%Y-%m-%d %H:%M:%S") if at else ""
    if isinstance(value, float):
        return str(value).replace(".", locale.fraction)
    return value


def _cell(value: Any) -> str:
    return guarded(value) if isinstance(value, str) else str(value)
