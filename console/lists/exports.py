"""Tables as files for other programs, in the formats of server/records/data_exports.py."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from console.http.page_response import PageResponse, attachment
from console.http.visit import Visit
from server.errors import NotFound
from server.records.data_exports import ENDINGS, FORMATS, as_text
from server.translation import _


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
    text = as_text(visit.ctx, format, names, rows, times, visit.language)
    headers = attachment(f"{name}.{ENDINGS.get(format, format)}") | {"Cache-Control": "no-store"}
    return PageResponse(text, headers=headers, content_type=FORMATS[format])


def no_such_format(format: str) -> NotFound:
    """The error for an unknown format."""
    return NotFound(_("“{format}” is not an export format; use csv, raw or jsonl.", format=format[:20]))
