"""A whole login by openid-client, a client for Node.js that follows the RFCs strictly; `make` installs it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.oauth.apps import register
from tests.oauth.browser import Browser
from tests.service import ROOT, Api

MODULES = ROOT / ".work" / "node"
SCRIPT = (ROOT / "tests" / "node" / "login.mjs").read_text("utf-8")
PUBLIC = {"is_public": 1, "callback_url": "http://127.0.0.1/back"}


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs the script in the folder where it finds its modules."""
    process = subprocess.Popen(
        ["node", "--input-type=module", "--eval", SCRIPT, "--", *arguments], cwd=MODULES, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize(
    ("fields", "callback"), [({}, "https://stock.example/back"), (PUBLIC, "http://127.0.0.1:49153/back")]
)
def test_openid_client_logs_in_renews_and_logs_out(fields, callback: str, nora: Api) -> None:
    assert (MODULES / "node_modules").is_dir(), "run `make test` once, which installs what Node.js needs"
    app = register(nora, **fields)
    with running(nora.url, app.client_id, app.secret, callback) as node:
        assert node.stdin is not None and node.stdout is not None and node.stderr is not None
        asked = node.stdout.readline()
        assert asked, node.stderr.read()
        browser = Browser(nora.url)
        browser.open(json.loads(asked))
        browser.sign_in()
        node.stdin.write(browser.send(answer="allow") + "\n")
        node.stdin.flush()
        told = node.stdout.readline()
        assert told, node.stderr.read()
    assert json.loads(told) == {
        "statuses": ["invalid_token", 200, "invalid_token"], "active": True, "scope": "read", "expires_in": 3600
    }  # fmt: skip
