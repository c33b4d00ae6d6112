"""`helpdesk automation run --url`: tries a script on a running server, as a build that checks scripts does."""

import json
from pathlib import Path

from tests.service import Api, command

SCRIPT = "start:\n  return:\n    subject: {{ticket_subject}}\n    who: {{who}}"


def test_a_script_is_tried_on_a_server(api: Api, tmp_path: Path) -> None:
    script, ticket = tmp_path / "a.kata", api.parse(b"From: ann@tried.example\nSubject: Pump\n\nIt leaks.").ok()["id"]
    script.write_text(SCRIPT)

    def run(*arguments: str, url: str = api.url, token: str = api.token) -> tuple[int, str, str]:
        ran = command(
            "automation", "run", *arguments, "--url", url, data=tmp_path / "none", env={"HELPDESK_TOKEN": token}
        )
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()

    code, out, _ = run(str(script), "--ticket", str(ticket), "--vars", '{"who": "Ana"}')
    assert code == 0 and json.loads(out)["return"] == {"subject": "Pump", "who": "Ana"}
    script.write_text("start:\n  error: No stock")
    code, out, err = run(str(script))
    assert code == 1 and json.loads(out)["state"] == "failure" and "No stock" in err
    script.write_text("start:\n  nosuch:\n")
    code, out, err = run(str(script))
    assert code != 0 and "nosuch" in out + err
    code, _, err = run(str(script), token="svc_at_wrong")
    assert code == 1 and "token" in err
    code, _, err = run(str(script), url="http://127.0.0.1:9")
    assert code == 1 and "no response from" in err


def test_a_ticket_requires_a_server(tmp_path: Path) -> None:
    script = tmp_path / "a.kata"
    script.write_text(SCRIPT)
    ran = command("automation", "run", str(script), "--ticket", "1", data=tmp_path / "none")
    assert ran.returncode == 2 and b"--ticket needs --url" in ran.stderr
