"""Tables as files for other programs: CSV that spreadsheets take for text, and JSON lines. Source: ours."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.page_response import PageResponse, attachment
from server.cells import guarded

FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV with a line of names; a cell that a spreadsheet would take for a formula gets a quote before it.

    >>> print(as_csv(["a", "b"], [{"a": "=1+1", "b": 'x "y"'}]).replace("\\r", ""), end="")
    a,b
    '=1+1,"x ""y\"""
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return text.getvalue()


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON, one a line."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def file(format: str, name: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> PageResponse:
    """A table as a file to keep. format: of FORMATS. name: of the file, without its ending."""
    text = as_csv(names, rows) if format == "csv" else as_lines(rows)
    headers = attachment(f"{name}.{format}") | {"Cache-Control": "no-store"}
    return PageResponse(text, headers=headers, content_type=FORMATS[format])


def _cell(value: Any) -> str:
    return guarded(value) if isinstance(value, str) else str(value)
