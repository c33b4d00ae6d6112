"""Names of files: the same rule for every way that a file arrives."""

import pytest

from server.automation import engine, file_contents
from server.automation.automation_service import ServiceHost
from server.automation.host import Script
from server.errors import Invalid
from server.file_names import MAX_BYTES, MAX_CHARS, safe_name
from server.record_types.registry import load
from server.records import records, stored_files
from tests.automation.told import MAY_ALL
from tests.packages.parcel import bring, package
from tests.records.desk import Desk

NAMES = [
    ("../../etc/passwd", "passwd"), (r"C:\Users\ana\plan.txt", "plan.txt"), ("a/b\\c.txt", "c.txt"),
    ("invoice\u202efdp.exe", "invoicefdp.exe"), ("a\u2066b\u2069\u200b\u061c.txt", "ab.txt"),
    ("a\x00\x1b\x7f.txt", "a.txt"),
    ("a\r\nb.txt", "a b.txt"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("com1.log", "_com1.log"),
    ("  a.txt. . ", "a.txt"), ('a<b>:"|?*c.txt', "abc.txt"), ("\ud800a.txt", "a.txt"),
    ("Übersicht 😀.pdf", "Übersicht 😀.pdf"),
]  # fmt: skip
DECEIVING = "../x/invoice\u202efdp.exe"
SAFE = "invoicefdp.exe"


@pytest.mark.parametrize(("given", "expected"), NAMES)
def test_a_name_is_the_last_part_without_deceptive_characters(given: str, expected: str) -> None:
    assert safe_name(given) == expected == safe_name(expected)


@pytest.mark.parametrize("given", [
    "a" * 5000 + ".txt", "ü" * 300 + ".pdf", "😀" * 300, "." + "b" * 400, "a." + "c" * 400,
])  # fmt: skip
def test_a_long_name_is_cut_and_preserves_a_short_extension(given: str) -> None:
    found = safe_name(given)
    assert 0 < len(found) <= MAX_CHARS and len(found.encode()) <= MAX_BYTES
    assert found[-4:] == given[-4:] or len(given.rpartition(".")[2]) > 20


@pytest.mark.parametrize("given", ["", ".", "..", "/", "a/", "\u202e", " ", "???"])
def test_an_empty_result_gets_a_default_name(given: str) -> None:
    assert safe_name(given) == ""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    opened = Desk(tmp_path_factory.mktemp("names"), load())
    yield opened
    opened.close()


def test_an_upload(desk: Desk) -> None:
    assert stored_files.upload(desk.context(), DECEIVING, "text/plain", b"1")["name"] == SAFE


def test_the_records_api(desk: Desk) -> None:
    made = records.create(desk.context(), "attachment", {"name": DECEIVING, "content": "2"})
    assert made["name"] == SAFE
    assert records.update(desk.context(), "attachment", made["id"], {"name": "b\\" + DECEIVING})["name"] == SAFE
    with pytest.raises(Invalid, match="is not a file name"):
        records.create(desk.context(), "attachment", {"name": "../..", "content": "3"})


def test_a_file_of_an_automation(desk: Desk) -> None:
    script = "start:\n  file.write:\n    output: o\n    inputs:\n      content: x\n      name@key: given"
    found = engine.run(Script(script, MAY_ALL), {"given": DECEIVING}, ServiceHost(desk.context()))
    assert found.variables["o"]["name"] == SAFE
    assert file_contents.store(desk.context(), b"x", "", DECEIVING)["name"] == SAFE


def test_a_file_of_a_package(desk: Desk) -> None:
    before = set(desk.found("attachment", ""))
    bring(desk, package({"uid": "f", "_context": "attachment", "name": DECEIVING, "content": "4"}))
    (made,) = set(desk.found("attachment", "")) - before
    assert desk.row("attachment", made)["name"] == SAFE
