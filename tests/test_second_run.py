"""How `make test` chooses tests: a few failed tests run again, alone, and must pass there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive("runs of tests within a test")

ROOT = Path(__file__).parent.parent
ONCE = """
from pathlib import Path

def test_it():
    seen = Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first time")
"""
FAILS = "def test_it():\n    assert False\n"
PASSES = "def test_it():\n    pass\n"


@pytest.mark.parametrize(
    ("modules", "code", "told"),
    [
        ([PASSES], 0, "1 passed"),
        ([ONCE, PASSES], 0, "passed alone"),
        ([FAILS, PASSES], 1, "1 failed"),
        ([FAILS, ONCE], 1, "1 failed, 1 passed"),
        ([FAILS] * 4, 1, "4 failed"),
        ([], 5, "no tests ran"),
    ],
)
def test_a_test_fails_when_it_fails_twice(tmp_path: Path, modules: list[str], code: int, told: str) -> None:
    for place, text in enumerate(modules):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / f"test_{place}.py").write_text(text)
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests", f"--config-file={settings}", "-n", "0", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, told in done.stdout) == (code, True), done.stdout + done.stderr
    assert done.stdout.count("test session starts") == (2 if 0 < len(modules) < 4 and modules != [PASSES] else 1)


def test_a_file_of_exhaustive_tests_can_be_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests", "-n", "0", "--collect-only", "-q", __file__, ROOT / "tests" / "test_times.py"],
        cwd=ROOT, check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, Path(__file__).name in done.stdout) == (0, False), done.stdout + done.stderr
