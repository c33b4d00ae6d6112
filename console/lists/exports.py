"""Tables as files for other programs: CSV that spreadsheets open as they are, CSV as it is stored, and JSON lines."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from console.http.page_response import PageResponse, attachment
from console.http.visit import Visit
from server import locales
from server.cells import guarded
from server.errors import NotFound
from server.locales import Locale
from server.translation import _

SPREADSHEET, RAW = "csv", "raw"
FORMATS = {
    SPREADSHEET: "text/csv; charset=utf-8",
    RAW: "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}
ENDINGS = {RAW: "raw.csv"}
MARK = "\ufeff"  # a byte order mark: Excel recognizes UTF-8 by it


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], separator: str = ",") -> str:
    """Rows as CSV with a line of names; a cell that a spreadsheet would take for a formula gets a quote before it.

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
    """Rows as JSON, one per line."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def file(
    visit: Visit,
    format: str,
    name: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    times: Collection[str] = (),
) -> PageResponse:
    """A table as a file to keep.

    format: of FORMATS. name: of the file, without its ending. times: names of columns that hold Unix seconds."""
    if format == SPREADSHEET:
        locale = locales.of(visit.language)
        readable = [{key: _readable(visit, locale, value, key in times) for key, value in row.items()} for row in rows]
        text = MARK + as_csv(names, readable, ";" if locale.fraction == "," else ",")
    else:
        text = as_csv(names, rows) if format == RAW else as_lines(rows)
    headers = attachment(f"{name}.{ENDINGS.get(format, format)}") | {"Cache-Control": "no-store"}
    return PageResponse(text, headers=headers, content_type=FORMATS[format])


def no_such_format(format: str) -> NotFound:
    """The error for an unknown format."""
    return NotFound(_("“{format}” is not an export format; use csv, raw or jsonl.", format=format[:20]))


def _readable(visit: Visit, locale: Locale, value: Any, is_time: bool) -> Any:
    """A value as a spreadsheet of the caller's country reads it: times in their zone, fractions with their mark."""
    if is_time and isinstance(value, int | str) and str(value).lstrip("-").isdigit():
        at = int(value)
        return datetime.fromtimestamp(at, UTC).astimezone(visit.ctx.tz).strftime("%Y-%m-%d %H:%M:%S") if at else ""
    if isinstance(value, float):
        return str(value).replace(".", locale.fraction)
    return value


def _cell(value: Any) -> str:
    return guarded(value) if isinstance(value, str) else str(value)
