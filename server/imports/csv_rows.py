"""Reads CSV as spreadsheets write it, and detects separator and encoding.

Independent of record types. Follows RFC 4180, as far as spreadsheets do."""

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from server.cells import unguarded
from server.dataclass import dataclass
from server.errors import Invalid, Malformed, TooLarge

MAX_FILE_BYTES = 25 * 1024 * 1024  # bytes of an uploaded file; the command line reads larger ones
MAX_COLUMNS = 200
LOOKED_AT = 20  # rows from which the separator is guessed
SEPARATORS = "\t;,"  # the rarest in texts first, which decides between equally good candidates
SAMPLES, SAMPLE_CHARS = 3, 60  # sample values of a column, and their length
LATIN = "Windows-1252"  # spreadsheets call this Latin-1
_BIG = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class CsvRow:
    """number: as in a spreadsheet, where the header is line 1."""

    number: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """names: of the columns, none of them blank. separator: between cells. encoding: of the file."""

    names: tuple[str, ...]
    rows: tuple[CsvRow, ...]
    separator: str
    encoding: str

    def samples(self, place: int) -> list[str]:
        """The first values of a column that are not blank, shortened."""
        values = (row.cells[place].strip() for row in self.rows if place < len(row.cells))
        return [value[:SAMPLE_CHARS] for value in islice(filter(None, values), SAMPLES)]


def read(raw: bytes, max_bytes: int = MAX_FILE_BYTES) -> CsvTable:
    """Reads a CSV file. A quote that guards a formula is removed; cells are never evaluated. max_bytes: 0 for no limit.
    Raises TooLarge, Malformed for anything but CSV, Invalid for a file without rows."""
    if max_bytes and len(raw) > max_bytes:
        raise TooLarge(
            f"a file has at most {max_bytes:,} bytes; split it, or use helpdesk import csv",
            limit=max_bytes,
            field="file",
        )
    text, encoding = decoded(raw)
    text, named_separator = _declared_separator(text)
    separator = named_separator or _separator(text)
    names: tuple[str, ...] = ()
    rows: list[CsvRow] = []
    for number, cells in enumerate(_records(text, separator), 1):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > MAX_COLUMNS:
            raise TooLarge(
                f"a file has at most {MAX_COLUMNS} columns; row {number} has {len(cells):,}",
                limit=MAX_COLUMNS,
                field="file",
            )
        if not names:
            names = _names(cells)
            continue
        rows.append(CsvRow(number, tuple(unguarded(cell) for cell in cells)))
    if not rows:
        raise Invalid("the file has no rows below the names of its columns", field="file")
    return CsvTable(names, tuple(rows), separator, encoding)


def decoded(raw: bytes) -> tuple[str, str]:
    """The text of a file, and the name of its encoding: UTF-8, UTF-16 with a byte order mark, or else Latin-1.

    Raises Malformed for bytes that are not text."""
    try:
        is_wide = raw.startswith(_BIG)
        text, encoding = (raw.decode("utf-16"), "UTF-16") if is_wide else (raw.decode("utf-8-sig"), "UTF-8")
    except UnicodeDecodeError:
        # Five bytes are undefined in Windows-1252; a stray one must not prevent reading the rest.
        text, encoding = raw.decode("cp1252", "replace"), LATIN
    if "\x00" in text:
        raise Malformed("the file is not CSV; save the table as CSV and choose that file", field="file")
    return text, encoding


def _declared_separator(text: str) -> tuple[str, str]:
    """Returns the text without a first line such as `sep=;`, as spreadsheets write, and the separator or ""."""
    first, _, rest = text.partition("\n")
    first_line = first.strip()
    return (rest, first_line[4]) if len(first_line) == 5 and first_line.lower().startswith("sep=") else (text, "")


def _separator(text: str) -> str:
    """The one that gives most rows as many cells as the line of names, and more of them than others."""
    return max(SEPARATORS, key=lambda each: _fit(text, each))


def _fit(text: str, separator: str) -> tuple[float, int]:
    # Mistakes do not count yet: with the wrong separator, quotes are in odd places.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    widths: list[int] = []
    with suppress(csv.Error):
        widths.extend(len(cells) for cells, _ in zip(reader, range(LOOKED_AT), strict=False) if cells)
    width = widths[0] if widths else 0
    return (sum(each == width for each in widths) / len(widths), width) if width > 1 else (0, width)


def _records(text: str, separator: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number = 0
    try:
        for cells in reader:
            number += 1
            yield cells
    except csv.Error as error:
        raise Malformed(f"row {number + 1} cannot be read: {error}", field="file", row=number + 1) from None


def _names(cells: list[str]) -> tuple[str, ...]:
    return tuple(cell.strip() or f"Column {place}" for place, cell in enumerate(cells, 1))
