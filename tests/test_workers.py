"""Runs of tests in several processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive("runs of tests within a test")

ROOT = Path(__file__).resolve().parent.parent
CONFTEST = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def ends(tmp_path_factory):
    yield
    print("out of a fixture")
    with open(os.environ["ENDS"], "a") as file:
        file.write(f"{os.getpid()}\\n")
"""
TESTS = """
import os
import warnings
import pytest

@pytest.mark.parametrize("number", range(5))
def test_each(number, tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "own").touch()
    if number == 2 and KIND == "killed":
        os._exit(3)
    if number == 2 and KIND == "failed":
        print("words of the test")
        raise AssertionError
    if number == 2 and KIND == "warned":
        warnings.warn("a word of warning")
"""


def run(folder: Path, *options: str, **kinds: str) -> subprocess.CompletedProcess[str]:
    """Runs six files with five tests each. kinds: what the third test of a file does, by the name of the file."""
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    for number in range(6):
        (folder / f"test_{number}.py").write_text(f"KIND = {kinds.get(f'test_{number}')!r}\n{TESTS}")
    return subprocess.run(
        [sys.executable, "-m", "tests", f"--config-file={settings}", "-n", "2", *options, str(folder)],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "ENDS": str(folder / "ends")}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def processes(folder: Path) -> int:
    """The number of processes that ended their fixtures."""
    ends = (folder / "ends").read_text().split()
    assert len(set(ends)) == len(ends)
    return len(ends)


def test_two_processes_share_the_tests(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, "30 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert processes(tmp_path) == 2 and "out of a fixture" not in done.stdout


def test_a_process_that_dies_takes_one_test_with_it(tmp_path: Path) -> None:
    done = run(tmp_path, test_1="killed", test_2="failed", test_4="killed", test_5="killed")
    assert done.returncode == 1 and "4 failed, 26 passed" in done.stdout, done.stdout + done.stderr
    assert "the process ended while it ran 'test_1.py::test_each[2]': 3" in done.stdout
    assert processes(tmp_path) == 2


def test_a_failed_test_shows_what_it_printed_and_a_warning_is_counted(tmp_path: Path) -> None:
    done = run(tmp_path, test_3="failed", test_0="warned")
    assert done.returncode == 1 and "1 failed, 29 passed" in done.stdout, done.stdout + done.stderr
    assert "words of the test" in done.stdout and "UserWarning: a word of warning" in done.stdout


def test_a_run_stops_at_the_first_failure_if_asked_to(tmp_path: Path) -> None:
    done = run(tmp_path, "-x", test_0="failed")
    assert done.returncode == 1 and "stopping after 1 failures" in done.stdout, done.stdout + done.stderr
    assert processes(tmp_path) == 3  # two, and that of the second run


def test_every_phase_of_a_test_has_a_duration(tmp_path: Path) -> None:
    done = run(tmp_path, "--durations=0", "-vv")
    assert done.stdout.count(" teardown ") >= 30, done.stdout + done.stderr
