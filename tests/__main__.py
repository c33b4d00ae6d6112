"""Runs the tests, as `make test` does, and up to three failed tests a second time, alone. `-n 4` uses four processes.
With `--all`, as `make test-all` does, it also runs those that are marked as exhaustive.

A test that passes alone failed because the machine was slow or because tests share state. It is reported by name, so
that it gets fixed, and does not hold back an unrelated commit. A test that fails twice fails the run."""

import argparse
import subprocess
import sys

import pytest

from tests.collecting import USUAL
from tests.workers import Workers

FEW = 3  # failed tests that may have failed by chance


class Failures:
    """A plugin that collects the failed tests of all processes."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.ids[report.nodeid] = None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests", allow_abbrev=False, add_help=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-n", type=int, default=0, metavar="PROCESSES")
    chosen, args = parser.parse_known_args(arguments)
    if not chosen.all:
        args = ["-m", USUAL, *args]
    failures = Failures()
    code = int(pytest.main(args, plugins=[failures, Workers(chosen.n)]))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.ids) <= FEW:
        return code
    sys.stdout.flush()
    options = [each for each in args if each.startswith("--") and "=" in each]
    again = subprocess.run([sys.executable, "-m", "pytest", *options, *failures.ids], check=False)
    if not again.returncode:
        print("These tests failed among all others and passed alone. Mend them:", *failures.ids, sep="\n  ")
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
