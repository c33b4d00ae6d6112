"""Runs scripts of tests/node, which exchange lines with a test."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.service import ROOT

MODULES = ROOT / ".work" / "node"


@contextmanager
def running(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a script in the folder where it finds its modules."""
    assert (MODULES / "node_modules").is_dir(), "run `make test` once, which installs what Node.js needs"
    text = (ROOT / "tests" / "node" / script).read_text("utf-8")
    process = subprocess.Popen(
        ["node", "--input-type=module", "--eval", text, "--", *arguments],
        cwd=MODULES,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


def value_of(process: subprocess.Popen[str]) -> Any:
    """Returns the value in the next line that a script writes, as JSON."""
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)


def send(process: subprocess.Popen[str], line: str) -> None:
    """Sends a line to a script."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
