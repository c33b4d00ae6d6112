"""Work that a start defers in favour of an early first response, and its completion before it is needed."""

import importlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.http import routes
from server import discovery, late_files, warming
from server.late_pattern import late_pattern
from tests.service import BARE, ROOT

# Including everything that a process imports before its first response. Each of these is slow, or rarely used in the
# first second.
NOT_AT_FIRST = frozenset(
    "aiosmtpd bleach certifi charset_normalizer cryptography dkim dns imapclient mistune nh3 polib psycopg re2 segno "
    "sqlite3 webbrowser yaml console.pages.account console.pages.help server.store.postgresql".split()
)
FIRST_ANSWER = """
import json, os, signal, sys
from pathlib import Path
from urllib.request import urlopen
import server.cli.serve
from console import site
from server import app, settings
def ready(running):
    print(json.dumps(sorted(sys.modules)), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
found = settings.load({"port": "0", "data": sys.argv[1]}, os.environ)
app.serve(found, site.sites, ready, lambda: found)
"""


def test_the_first_answer_waits_for_no_more_than_it_needs(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIRST_ANSWER, str(tmp_path / "data")]
    for _ in range(2):  # the first start creates the database, and needs more
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **BARE}, capture_output=True, text=True, timeout=99)
        assert done.returncode == 0, done.stderr
    imported = set(json.loads(done.stdout.splitlines()[0]))
    assert {"tornado.httpserver", "server.tickets.compose"} <= imported  # the list has what a start needs
    assert sorted(NOT_AT_FIRST & imported) == [], "import it where it is used, or say why the first answer needs it"


def test_what_is_left_for_later_can_be_made_early() -> None:
    assert routes.load in warming._WORK
    for work in warming._WORK:
        work()
    assert {"bleach", "mistune", "console.pages.account"} <= set(sys.modules)


def test_what_fails_to_be_made_early_keeps_nothing_else_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def fails() -> None:
        raise RuntimeError("no such library")

    monkeypatch.setattr(warming, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(warming, "_WORK", [fails, lambda: done.append("one"), lambda: done.append("two")])
    warming.warm(lambda: len(done) == 1)
    assert done == ["one"]  # checked before each piece: a stopping service does not wait for the rest
    warming.warm(lambda: False)
    assert done == ["one", "one", "two"]


def test_every_pattern_that_is_compiled_late_can_be() -> None:
    kind = type(late_pattern("a"))
    patterns = []
    for package in ("server", "console"):
        found = importlib.import_module(package)
        for module in discovery.load_all(package, found.__path__, is_deep=True):
            patterns += [each for each in values(list(vars(module).values())) if type(each) is kind]
    assert len(patterns) > 60
    for each in patterns:
        assert each.groups >= 0


def values(found: Any) -> Iterator[Any]:
    """The values in lists, tuples and maps, at any depth."""
    if isinstance(found, (list, tuple)):
        for each in found:
            yield from values(each)
    elif isinstance(found, dict) and "__builtins__" not in found:
        yield from values(list(found.values()))
    else:
        yield found


def test_a_late_pattern_has_what_a_pattern_has_and_nothing_else() -> None:
    word = late_pattern(r"(?P<first>[a-z])[a-z]*")
    assert repr(word) == "late_pattern('(?P<first>[a-z])[a-z]*')"
    assert (word.groupindex["first"], [each[0] for each in word.finditer("ab c")]) == (1, ["ab", "c"])
    with pytest.raises(AttributeError):
        word.finds  # type: ignore[attr-defined]  # noqa: B018


@pytest.fixture
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder into which an executable would be unpacked, with an archive."""
    with zipfile.ZipFile(tmp_path / late_files.ARCHIVE, "w") as archive:
        archive.writestr("late_library/__init__.py", "VALUE = 3")
        archive.writestr("late_library.libs/other.so", b"\x7fELF")
        archive.writestr("console/static/a.css", "b {}")
        archive.writestr("resources/help/index.md", "# Help")
    with zipfile.ZipFile(tmp_path / late_files.ZONES, "w") as archive:
        archive.writestr("late_zones/__init__.py", "VALUE = 4")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(late_files, "PACKAGES", frozenset(("late_library",)))
    monkeypatch.setattr(late_files, "_unpacked", set())
    yield tmp_path
    for name in ("late_library", "late_zones"):
        sys.modules.pop(name, None)


def test_the_executable_unpacks_a_library_when_it_is_imported(unpacked: Path) -> None:
    late_files.install()
    assert not (unpacked / "late_library").exists()
    assert importlib.import_module("late_library").VALUE == 3
    assert (unpacked / "late_library.libs" / "other.so").read_bytes() == b"\x7fELF"
    assert not (unpacked / "console").exists()
    assert importlib.import_module("late_zones").VALUE == 4
    assert not (unpacked / "late_zones").exists()


def test_the_executable_unpacks_a_folder_once(unpacked: Path) -> None:
    late_files.unpack("console")
    file = unpacked / "console" / "static" / "a.css"
    assert file.read_text() == "b {}"
    assert not (unpacked / "resources").exists()
    file.unlink()
    late_files.unpack("console")
    assert not file.exists()


def test_beside_the_source_nothing_is_looked_for() -> None:
    before = list(sys.meta_path), list(sys.path)
    late_files.install()
    late_files.unpack("console")
    assert (list(sys.meta_path), list(sys.path)) == before
