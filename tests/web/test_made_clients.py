"""A Python client that openapi-python-client generates from the plain document: complete, without warnings, and
working.

Clients for Node.js are in test_made_clients_in_node.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service import Api
from tests.web.made import HERE, OPERATIONS, document, got

pytestmark = [
    pytest.mark.sqlite("the same with any store"),
    pytest.mark.exhaustive("clients that generators of others make"),
]


def run(*arguments: str | Path) -> str:
    """Runs this Python with these arguments and returns its output; asserts success."""
    # httpx refuses the empty list of authorities that tests/conftest.py sets.
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SSL_CERT_")}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_openapi_python_client_generates_every_operation_and_ten_calls_work(api: Api, tmp_path) -> None:
    made, config = tmp_path / "helpdesk_client", tmp_path / "config.yaml"
    config.write_text("post_hooks: []\n")  # the generated code need not be formatted
    run(
        "-m", "openapi_python_client", "generate", "--path", document(api, tmp_path / "helpdesk.json"),
        "--config", config, "--output-path", made, "--meta", "none", "--fail-on-warning",
    )  # fmt: skip
    told = json.loads(run(HERE / "use.py", tmp_path, api.url, api.token))
    wrong, refused = ["Error", "ERROR_PARAM_INVALID"], ["Error", "ERROR_UNAUTHORIZED"]
    assert told == got("python", operations=OPERATIONS, wrong=wrong, refused=refused)
