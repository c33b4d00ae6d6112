"""The examples of resources/help/oauth.md, run exactly as printed: a program, a worker at a browser, and shell
commands."""

import builtins
import doctest
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from server.record_types.shared import scopes
from tests.oauth.browser import Browser
from tests.service import Api

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "resources" / "help" / "oauth.md").read_text("utf-8")
STEP = re.compile(r"^```(python|bash) app\n(.*?)^```$(?:\n\n```text shows\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
STEPS = STEP.findall(PAGE)
(SCOPES,) = re.findall(r"^```yaml app\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CURL = "" if shutil.which("curl") else f'curl() {{ python {ROOT}/tests/tour/curl.py "$@"; }}\n'


def same(shows: str, got: str) -> None:
    assert doctest.OutputChecker().check_output(shows, got, doctest.ELLIPSIS), got


def typed(command: str, folder: Path, **names: str) -> str:
    """The output of a shell."""
    done = subprocess.run(
        ["bash"], input=CURL + command, cwd=folder, env={**os.environ, **names}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def test_the_program_of_the_page_does_what_it_says(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scopes.yaml").write_text(SCOPES)
    worker = Browser(api.url)
    worker.open("/login")
    worker.sign_in()
    here = {"HELPDESK_URL": api.url, "HELPDESK_TOKEN": api.token}
    (_, register, shows), *steps = STEPS
    told = typed(register, tmp_path, **here)
    same(shows, told)
    app = json.loads(told)
    assert set(scopes.parse(api.record("oauth_app", app["id"])["scopes"])) == {"stock:read", "stock:write"}
    api.update("oauth_app", app["id"], service_worker_id=api.ids["milo"], is_device_flow=1).ok()
    here |= {"CLIENT_ID": app["client_id"], "CLIENT_SECRET": app["client_secret"]}
    for name, value in here.items():
        monkeypatch.setenv(name, value)

    def browsed(prompt: str) -> str:
        """Opens the address from the program as the worker, and authorizes the app."""
        assert worker.open(capsys.readouterr().out.strip().removeprefix(api.url)) == ""
        assert "Look at tickets and organizations" in worker.page.text
        return worker.send(answer="allow")

    monkeypatch.setattr(builtins, "input", browsed)
    names: dict[str, object] = {}
    ran = {"python": 0, "bash": 1}
    for kind, text, shows in steps:
        ran[kind] += 1
        if kind == "python":
            exec(compile(text, "oauth.md", "exec"), names)  # noqa: S102, the page is ours
            same(shows, capsys.readouterr().out)
        else:
            tokens = names["tokens"]
            assert isinstance(tokens, dict)
            told = typed(text, tmp_path, REFRESH_TOKEN=tokens["refresh_token"], **here)
            same(shows, told)
            tokens |= json.loads(told)
    assert ran == {"python": 9, "bash": 2}


def test_every_address_of_the_provider_is_documented(api: Api) -> None:
    told = api.session.get(f"{api.url}/.well-known/oauth-authorization-server", timeout=60).json()
    for name, value in told.items():
        for each in value if isinstance(value, list) else [value]:
            if name.endswith("_endpoint") or name.startswith(("code_challenge", "token_endpoint_auth", "grant_types")):
                assert f"`{str(each).removeprefix(api.url)}`" in PAGE, name
