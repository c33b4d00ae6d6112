"""`helpdesk licenses`: lists all packages that the program needs, with licence texts; and the output of the
executable."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.__main__ import main
from server.cli import licenses
from server.cli.describe import shipped_files

ROOT = Path(__file__).resolve().parents[2]
PART = re.compile(r"^={78}\n(.+?)\n={78}\n(.*?)(?=^={78}$|\Z)", re.MULTILINE | re.DOTALL)


def test_every_required_package_is_listed_with_its_full_licence(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["licenses"]) == 0
    shown = capfd.readouterr().out
    parts = {head.partition(" ")[0]: (head, body) for head, body in PART.findall(shown)}
    told = {licenses.plain(name) for name in parts}
    assert {licenses.plain(each) for each in ("Python", *licenses.needed())} <= told
    for name, (head, body) in parts.items():
        assert re.search(r" \d", head.partition("\n")[0]), name
        assert len(body.strip()) > 100, f"no licence in full for {name}"


def test_dependencies_of_required_packages_are_required() -> None:
    needed = set(licenses.needed())
    assert {"urllib3", "certifi", "cffi"} <= needed
    assert not {"pytest", "ruff", "mypy", "pyinstaller", "helpdesk"} & needed


def test_an_entry_shows_known_facts_and_omits_unknown_ones() -> None:
    shown = licenses.section("tea 1.0", "", "", "\nOne.\n\n", " ", "Two.")
    assert shown.splitlines() == ["=" * 78, "tea 1.0", "=" * 78, "", "One.", "", "Two."]


def test_the_executable_prints_the_packed_list(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / licenses.FILE).write_text("Packed, © all.\n", "utf-8")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert main(["licenses"]) == 0
    assert capfd.readouterr().out == "Packed, © all.\n"


def test_every_file_that_is_not_code_is_shipped() -> None:
    kept = subprocess.run(["git", "ls-files", "console", "resources"], cwd=ROOT, capture_output=True, text=True)
    assert kept.returncode == 0
    unpacked = (".py", ".png")  # pictures are only used by README.md
    files = {name for name in kept.stdout.split() if not name.endswith(unpacked) and (ROOT / name).exists()}
    assert files and files <= set(shipped_files())
    assert not any("__pycache__" in name for name in shipped_files())
