"""`helpdesk import csv`, run as a user runs it, on the file of a data folder."""

from pathlib import Path

import pytest

from server.cli import imports
from server.imports import row_import
from tests.service import command

PEOPLE = "First name,E-Mail,Company,Shoe size\nAda,ada@quill.example,Quill,39\nBo,bo@quill.example,Quill,44\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "people.csv"
    made.write_text(PEOPLE)
    return made


def bring(tmp_path: Path, *arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    done = command("import", "csv", *arguments, data=tmp_path / "data", stdin=stdin)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_an_unknown_column_is_named_or_left_out(file: Path, tmp_path: Path) -> None:
    code, out, errors = bring(tmp_path, str(file), "--type", "contact")
    assert (code, out) == (1, "") and "add --column 'Shoe size=FIELD', or --column 'Shoe size='" in errors
    code, out, errors = bring(tmp_path, str(file), "--type", "contact", "--column", "Shoe size=")
    assert (code, out, errors) == (0, "2 created, 0 updated\n", "")


def test_importing_the_same_file_with_a_key_updates(file: Path, tmp_path: Path) -> None:
    arguments = (str(file), "--type", "contact", "--key", "email", "--column", "Shoe size=phone")
    assert bring(tmp_path, *arguments, "--dry-run")[:2] == (0, "2 would be created, 0 would be updated\n")
    assert bring(tmp_path, *arguments)[:2] == (0, "2 created, 0 updated\n")
    assert bring(tmp_path, "-", *arguments[1:], stdin=PEOPLE.encode())[:2] == (0, "0 created, 2 updated\n")


def test_a_wrong_row_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    text = b"name,website\nKite,https://kite.example\nLarch,nope\n"
    code, out, errors = bring(tmp_path, "-", "--type", "org", stdin=text)
    assert (code, out) == (1, "nothing was imported\n") and "row 3, website: must start with http" in errors
    assert bring(tmp_path, "-", "--type", "org", stdin=text[:38])[:2] == (0, "1 created, 0 updated\n")


def test_more_rows_than_one_transaction_holds(tmp_path: Path) -> None:
    rows = row_import.MAX_ATOMIC_ROWS + 1
    text = b"name,website\n" + b"".join(b"Kite %d,\n" % number for number in range(rows - 1)) + b"Larch,nope\n"
    code, out, errors = bring(tmp_path, "-", "--type", "org", stdin=text)
    assert (code, out) == (imports.FAILED, f"{rows - 1} created, 0 updated\n") and f"row {rows + 1}, website" in errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere.csv", "--type", "org"), "nowhere.csv cannot be read"),
        (("-", "--type", "orgg"), "did you mean 'org'"),
        (("-", "--type", "org", "--column", "nam=name"), "did you mean 'name'"),
        (("-", "--type", "org", "--column", "name=nme"), "did you mean 'name'"),
        (("-", "--type", "org", "--column", "name"), "--column takes NAME=FIELD"),
        (("-", "--type", "org", "--key", "website"), "cannot be found by 'website'"),
    ],
    ids=["missing file", "unknown type", "unknown column", "unknown field", "column without a field", "unusable key"],
)
def test_a_mistake_in_the_command_line_is_reported(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    code, out, errors = bring(tmp_path, *arguments, stdin=b"name\nKite\n")
    assert (code, out) == (1, "") and told in errors
