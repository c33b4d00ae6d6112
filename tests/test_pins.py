"""The pins of build/requirements/ can be installed with their hashes, on each supported Python."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from tests.telling import telling

ROOT = Path(__file__).resolve().parent.parent
FILES = ("run.txt", "postgresql.txt", "dev.txt")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"
EACH_PYTHON = telling(PYTHONS, (), "downloads packages, which change by make lock only")
INSTALLABLE = ROOT / ".work" / "installable"  # permanent cache of the index: published files never change
OF_EVERY_PYTHON = 2  # files of a pure Python package: one wheel and the source
NO_NETWORK = re.compile("NewConnectionError|NameResolutionError|Max retries exceeded|Connection to .* timed out")


def requirements(file: str) -> dict[str, str]:
    """{name: its lines} in a file."""
    text = (ROOT / "build" / "requirements" / file).read_text("utf-8")
    assert not text.rstrip().endswith("\\"), f"{file} ends within a requirement; run make lock"
    blocks = re.split(r"(?m)^(?=[a-z0-9])", text)[1:]
    return {block.partition("==")[0]: block for block in blocks}


def pinned(block: str) -> tuple[str, list[str]]:
    """Version and hashes of a requirement, without its marker, which may differ from file to file."""
    return block.split()[0], re.findall(r"--hash=(\S+)", block)


def is_wanted(block: str, python: str) -> bool:
    """Whether the marker of a requirement is true on a Python version."""
    marker = re.search(r" ; (.*?)(?: \\)?$", block.splitlines()[0])
    versions = {"python_version": python, "python_full_version": f"{python}.0"}
    return marker is None or Marker(marker[1]).evaluate(versions)


def test_the_files_pin_the_same_packages_with_the_same_hashes() -> None:
    run, postgresql, dev = ({name: pinned(block) for name, block in requirements(file).items()} for file in FILES)
    assert len(run) > 20 and run.items() <= postgresql.items() <= dev.items()
    assert {"psycopg", "psycopg-binary"} <= postgresql.keys() - run.keys()
    for name, block in requirements("dev.txt").items():
        assert re.fullmatch(r"\S+==\S+.*( \\\n    --hash=sha256:[0-9a-f]{64})+\n", block), name


@pytest.mark.parametrize("python", EACH_PYTHON)
def test_pip_installs_them_with_their_hashes(python: str, tmp_path: Path) -> None:
    """On the Python of this run the file of the container, with all dependencies; `make test` has installed dev.txt. On
    other versions the packages of dev.txt, and so of each file, that have compiled files per version."""
    is_running = python == RUNNING
    wanted = {
        name: block
        for name, block in requirements("postgresql.txt" if is_running else "dev.txt").items()
        if is_wanted(block, python) and (is_running or block.count("--hash") > OF_EVERY_PYTHON)
    }
    text = "".join(wanted.values())
    stamp = INSTALLABLE / f"{python}-{sys.platform}-{hashlib.sha256(text.encode()).hexdigest()}"
    if stamp.exists():
        return
    asked, report = tmp_path / "requirements.txt", tmp_path / "report.json"
    asked.write_text(text, "utf-8")
    there = [] if is_running else ["--no-deps", "--python-version", python, "--target", str(tmp_path / "there")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--require-hashes",
         "--report", str(report), "--requirement", str(asked), *there],
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if NO_NETWORK.search(done.stderr) and not os.environ.get("CI"):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr[-3000:]
    installed = json.loads(report.read_text("utf-8"))["install"]
    assert {canonicalize_name(each["metadata"]["name"]) for each in installed} == wanted.keys()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
