"""Which files pytest reads in search of tests.

A module without an example in a docstring has no tests of its own, and modules that are marked as exhaustive are not
imported only to be left out."""

import re
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

EXAMPLE = ">>> "
USUAL = "not exhaustive"  # the tests that `make test` runs
EXHAUSTIVE = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.exhaustive\(", re.MULTILINE)


class Unread(pytest.File):
    """A file that is not imported. Pytest would say of a file without a collector that it does not exist."""

    def collect(self) -> list[pytest.Item]:
        return []


class Collecting:
    """A plugin, because hooks of a conftest are not called for files outside its folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._is_usual = config.getoption("markexpr") == USUAL

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> object:
        collectors = yield
        if file_path.suffix != ".py" or not collectors:
            return collectors
        source = file_path.read_text("utf-8")
        if self._is_usual and EXHAUSTIVE.search(source):
            return [Unread.from_parent(parent, path=file_path)]
        return [each for each in collectors if EXAMPLE in source or not isinstance(each, DoctestModule)]
