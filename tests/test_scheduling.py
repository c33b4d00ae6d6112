"""A test that kills its process fails alone: the run continues."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

CONFTEST = """
from tests.scheduling import FileByFile

def pytest_xdist_make_scheduler(config, log):
    return FileByFile(config, log)
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(5))
def test_each(number):
    if KILLS and number == 2:
        os._exit(3)
"""


@pytest.mark.exhaustive("runs of tests within a test")
def test_a_process_that_dies_takes_one_test_with_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(f"KILLS = {number == 1}\n{TESTS}")
    run = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
    found = subprocess.run(
        [*run, "--rootdir", str(tmp_path), str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert "1 failed, 29 passed" in found.stdout
    assert "crashed while running 'test_1.py::test_each[2]'" in found.stdout
