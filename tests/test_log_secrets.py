"""What the log never holds: every secret that goes through a server, at its lowest level."""

import json
from pathlib import Path

import requests

from tests.automation.test_webhooks import Hook
from tests.console.visitor import Visitor
from tests.service import PASSWORD, Api, Server, command
from tests.smtp_server import SmtpServer

MAIL_PASSWORD, MADE_UP, BODY_SECRET = "mail-password-77x", "svc_at_made-up-token-55y", "body-secret-33z"
MAIL = f"From: ana@larch.example\r\nTo: support@desk.example\r\nSubject: {BODY_SECRET}\r\n\r\nIt is {BODY_SECRET}.\r\n"
FAILS = "start:\n  return:\n    body: {{request_body}}"


def test_no_secret_is_logged(data: Path) -> None:
    server = Server(data, env={"HELPDESK_LOG_LEVEL": "debug", "HELPDESK_LOG_FORMAT": "json"})
    secrets = {"set-up": server.setup_link.rpartition("/")[2], "password": PASSWORD, "body": BODY_SECRET}
    secrets |= {"made-up": MADE_UP, "mail password": MAIL_PASSWORD}
    nora = server.set_up()
    secrets["token"] = nora.token
    secrets |= _in_the_browser(server)
    secrets |= _tokens(nora)
    secrets |= _webhooks(nora)
    _mail(nora)
    _broken(server, data)
    assert server.stop() == 0
    text = Path(server.log.name).read_text()
    assert "/webhooks/***/orders" in text and "/setup/***" in text
    for name, secret in secrets.items():
        assert len(secret) > 8 and secret not in text, name
    assert {"event", "level", "at"} <= set.intersection(*(set(json.loads(line)) for line in text.splitlines()))


def _in_the_browser(server: Server) -> dict[str, str]:
    visitor = Visitor(server.url)
    visitor.sign_in(password="a wrong password")
    assert visitor.sign_in().status_code in (302, 303)
    visitor.get(f"/account?code={MADE_UP}")
    return {"wrong password": "a wrong password"} | {f"cookie {name}": text for name, text in visitor.cookies.items()}


def _tokens(nora: Api) -> dict[str, str]:
    made = nora.post("/rest/oauth/tokens/create.json", worker_id=1, expires="1 hour").ok()
    for name, value in (("Authorization", f"Bearer {MADE_UP}"), ("Authorization", MADE_UP), ("Cookie", f"a={MADE_UP}")):
        headers = {name: value}
        answer = requests.get(f"{nora.url}/rest/workers/me.json?access_token={MADE_UP}", headers=headers, timeout=30)
        assert answer.status_code == 401
    return {name: str(made[name]) for name in ("access_token", "refresh_token") if made.json.get(name)}


def _webhooks(nora: Api) -> dict[str, str]:
    hook = Hook(nora, FAILS)
    headers = {"Authorization": f"Bearer {MADE_UP}"}
    assert hook.call("POST", f"/orders?key={BODY_SECRET}", data=BODY_SECRET, headers=headers).status_code == 200
    return {"webhook": hook.url.rpartition("/")[2]}


def _mail(nora: Api) -> None:
    nora.parse(MAIL).ok()
    with SmtpServer() as running:
        params = {"host": "127.0.0.1", "port": running.port, "username": "desk", "password": MAIL_PASSWORD}
        made = nora.create("mail_transport", name="M", extension_id="core.mail.transport.smtp", params=params).ok()
        sender = nora.create("address", email="help@desk.example", mail_transport_id=made["id"]).ok()["id"]
        nora.update("group", 1, reply_address_id=sender).ok()
        nora.compose(group_id=1, to="ana@larch.example", subject=BODY_SECRET, content=BODY_SECRET).ok()


def _broken(server: Server, data: Path) -> None:
    """Requests that are no HTTP, or too large, and commands beside the server."""
    requests.get(server.url + "/rest/" + "x" * 17_000, headers={"Authorization": f"Bearer {MADE_UP}"}, timeout=30)
    requests.post(f"{server.url}/rest/parser/parse.json", data={"message": BODY_SECRET}, timeout=30)
    done = command("token", "create", "--worker", f"{MADE_UP}@desk.example", data=data)
    assert done.returncode == 1
