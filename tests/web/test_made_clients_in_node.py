"""Node.js clients that openapi-typescript (with openapi-fetch) and @hey-api/openapi-ts generate from the plain
document: complete, accepted by a strict compiler, and working. Linters report nothing on either document.

`make` installs the generators; each runs once, and both clients are compiled together."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.service import ROOT, Api
from tests.web.made import HERE, OPERATIONS, document, got

pytestmark = [
    pytest.mark.sqlite("the same with any store"),
    pytest.mark.exhaustive("clients that generators of others make"),
]

MODULES = ROOT / ".work" / "node" / "node_modules"
QUIET = {"REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "REDOCLY_TELEMETRY": "off"}  # else redocly contacts its vendor
WRONG, REFUSED = [422, "ERROR_PARAM_INVALID"], [401, "ERROR_UNAUTHORIZED"]


@pytest.fixture(scope="module")
def made(nora: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with both clients and the programs that use them, compiled."""
    assert MODULES.is_dir(), "run `make test` once, which installs what Node.js needs"
    folder = tmp_path_factory.mktemp("made")
    (folder / "node_modules").symlink_to(MODULES)
    for name in ("use_fetch.ts", "use_hey_api.ts", "tsconfig.json"):
        shutil.copy(HERE / name, folder)
    document(nora, folder / "helpdesk.json")
    run(folder, "openapi-typescript", "helpdesk.json", "--output", "helpdesk.d.ts")
    run(folder, "openapi-ts", "--input", "helpdesk.json", "--output", "helpdesk-client", "--no-log-file")
    run(folder, "tsc", "--project", ".")
    yield folder


def run(folder: Path, program: str, *arguments: str) -> str:
    """Runs a program of node_modules, or node itself, and returns its output; asserts success."""
    found = str(MODULES / ".bin" / program) if program != "node" else program
    done = subprocess.run(
        [found, *arguments], cwd=folder, env=os.environ | QUIET, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_openapi_typescript_generates_every_operation_and_ten_calls_work(made: Path, nora: Api) -> None:
    types = (made / "helpdesk.d.ts").read_text("utf-8")
    assert len(set(re.findall(r'operations\["(\w+)"\]', types))) == OPERATIONS
    told = json.loads(run(made, "node", "out/use_fetch.js", nora.url, nora.token))
    assert told == got("fetch", wrong=WRONG, refused=REFUSED)


def test_hey_api_generates_every_operation_and_ten_calls_work(made: Path, nora: Api) -> None:
    told = json.loads(run(made, "node", "out/use_hey_api.js", nora.url, nora.token))
    assert told == got("hey", operations=OPERATIONS, wrong=WRONG, refused=REFUSED)


@pytest.fixture(scope="module")
def documents(nora: Api, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both documents."""
    folder = tmp_path_factory.mktemp("linted")
    document(nora, folder / "plain.json")
    whole = requests.get(f"{nora.url}/openapi.json", timeout=60)
    (folder / "whole.json").write_text(whole.text, "utf-8")
    return folder


def test_spectral_reports_nothing(documents: Path) -> None:
    (documents / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    said = run(documents, "spectral", "lint", "whole.json", "plain.json", "--fail-severity", "hint")
    assert "No results" in said


def test_redocly_reports_nothing(documents: Path) -> None:
    said = run(documents, "redocly", "lint", "whole.json", "plain.json", "--format", "json")
    assert (
        re.findall(r'"(errors|warnings|ignored)": (\d+)', said)
        == [("errors", "0"), ("warnings", "0"), ("ignored", "0")] * 2
    )
