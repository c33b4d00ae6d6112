"""Run the tests as `make test` does: all at once, then the few that failed once more by themselves.

A test that fails beside twenty thousand others and passes alone says that the machine was slow or that tests share
something. It is named and ought to be mended, and it does not hold back a commit that has nothing to do with it. A test
that fails twice fails."""

import subprocess
import sys

import pytest

FEW = 3  # failed tests; more than that are no accident


class Failures:
    """A plugin that collects the tests that failed, in any of the processes."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.ids[report.nodeid] = None


def main(args: list[str]) -> int:
    failures = Failures()
    code = int(pytest.main(args, plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.ids) <= FEW:
        return code
    sys.stdout.flush()
    options = [each for each in args if each.startswith("--") and "=" in each]
    again = subprocess.run([sys.executable, "-m", "pytest", *options, "-n", "0", *failures.ids], check=False)
    if not again.returncode:
        print("These tests failed among all others and passed alone. Mend them:", *failures.ids, sep="\n  ")
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
