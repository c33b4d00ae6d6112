"""The reader of CSV files: separators, character encodings, and files that are not tables."""

import pytest

from server.errors import HelpdeskError, Invalid, Malformed, TooLarge
from server.imports import csv_rows
from server.imports.csv_rows import LATIN, MAX_COLUMNS, MAX_FILE_BYTES


@pytest.mark.parametrize(
    ("raw", "names", "rows", "separator"),
    [
        (b"name,city\nKite,Bern\n", ("name", "city"), [("Kite", "Bern")], ","),
        (b"name;city\r\nKite;Bern, Switzerland\r\n", ("name", "city"), [("Kite", "Bern, Switzerland")], ";"),
        (b"name\tcity\nKite, Inc.; Ltd\tBern\n", ("name", "city"), [("Kite, Inc.; Ltd", "Bern")], "\t"),
        (b"name;notes, more\nKite;a, b\n", ("name", "notes, more"), [("Kite", "a, b")], ";"),
        (b"a,b,c\n1;2,3,4\n", ("a", "b", "c"), [("1;2", "3", "4")], ","),
        (b"name\nKite\n", ("name",), [("Kite",)], "\t"),
        (b'name,note\nKite,"a ""b"", c"\n', ("name", "note"), [("Kite", 'a "b", c')], ","),
        (b'name,note\nKite,"two\nlines"\n', ("name", "note"), [("Kite", "two\nlines")], ","),
        (b"\xef\xbb\xbfname,city\nKite,Bern", ("name", "city"), [("Kite", "Bern")], ","),
        (b"sep=;\nname;city\nKite;Bern", ("name", "city"), [("Kite", "Bern")], ";"),
        (b"sep=|\r\nname|city\r\nKite|Bern", ("name", "city"), [("Kite", "Bern")], "|"),
        (b"name,\nKite,Bern\n", ("name", "Column 2"), [("Kite", "Bern")], ","),
        (b"name,city\n'=1+1,'tis\n", ("name", "city"), [("=1+1", "'tis")], ","),
        (b"name,city\n=1+1,@x\n", ("name", "city"), [("=1+1", "@x")], ","),
        (b"name,city\nKite\n", ("name", "city"), [("Kite",)], ","),
        (b"name,city\nKite,Bern,3\n", ("name", "city"), [("Kite", "Bern", "3")], ","),
    ],
)
def test_a_table_is_read_as_it_was_meant(raw: bytes, names: object, rows: object, separator: str) -> None:
    found = csv_rows.read(raw)
    assert (found.names, [row.cells for row in found.rows], found.separator) == (names, rows, separator)


@pytest.mark.parametrize(
    ("raw", "city", "encoding"),
    [
        ("name,city\nKite,Zürich €".encode(), "Zürich €", "UTF-8"),
        ("name,city\nKite,Zürich €".encode("utf-8-sig"), "Zürich €", "UTF-8"),
        ("name,city\nKite,Zürich €".encode("cp1252"), "Zürich €", LATIN),
        ("name,city\nKite,Zürich €".encode("utf-16"), "Zürich €", "UTF-16"),
        (b"name,city\nKite,Z\xfcri\x81ch", "Züri\ufffdch", LATIN),
    ],
)
def test_letters_are_read_as_they_were_written(raw: bytes, city: str, encoding: str) -> None:
    found = csv_rows.read(raw)
    assert (found.rows[0].cells[1], found.encoding) == (city, encoding)


def test_rows_are_counted_as_a_spreadsheet_does() -> None:
    found = csv_rows.read(b'\nname,note\nKite,"a\nb"\n,\n\nLarch,c\n')
    assert [row.number for row in found.rows] == [3, 6]


@pytest.mark.parametrize(
    ("raw", "error", "told"),
    [
        (b"", Invalid, "no rows"),
        (b"name,city\n", Invalid, "no rows"),
        (b"name,city\n,\n\n", Invalid, "no rows"),
        (b'name,city\nKite,Bern\nLarch,"Basel\n', Malformed, "row 3 cannot be read"),
        (b'name,city\nKite,"Be"rn\n', Malformed, "row 2 cannot be read"),
        (b"PK\x03\x04\x00\x00name", Malformed, "is not CSV"),
        ("name,city\nKite,Bern".encode("utf-16-le"), Malformed, "is not CSV"),
        (b"name\n" + b"x" * 200_000, Malformed, "row 2 cannot be read"),
        (b"," * MAX_COLUMNS + b"x\n1", TooLarge, "at most 200 columns"),
        (b"name,city\nx,y" + b"," * MAX_FILE_BYTES, TooLarge, "at most 26,214,400 bytes"),
        (b"name,city\nx,y" + b"," * MAX_COLUMNS, TooLarge, "row 2 has 202"),
        (b"x" * (MAX_FILE_BYTES + 1), TooLarge, "at most 26,214,400 bytes"),
    ],
)
def test_files_that_are_not_tables_are_refused(raw: bytes, error: type[HelpdeskError], told: str) -> None:
    with pytest.raises(error) as caught:
        csv_rows.read(raw)
    assert told in caught.value.message


def test_a_file_has_as_many_rows_as_it_has_room_for() -> None:
    assert len(csv_rows.read(b"name\n" + b"x\n" * 60_000).rows) == 60_000
    assert len(csv_rows.read(b"name\n" + b"x" * 30 + b"\n" * 1_000_000, max_bytes=0).rows) == 1
