"""Secrets never enter the log: every secret that passes through a server, at the lowest log level. Nor do secrets that
are stored as hashes enter the database or its write-ahead log."""

import json
import re
from email import message_from_bytes
from pathlib import Path

import requests

from server import clock
from server.access import totp
from tests.automation.test_webhooks import Hook
from tests.console.visitor import Visitor, place, value
from tests.oauth.apps import CALLBACK, VERIFIER, answer_of, challenge, register
from tests.oauth.browser import Browser
from tests.service import PASSWORD, Api, Server, command
from tests.smtp_server import SmtpServer

MAIL_PASSWORD, MADE_UP, BODY_SECRET = "mail-password-77x", "svc_at_made-up-token-55y", "body-secret-33z"
NEW = "another horse battery"
MAIL = f"From: ana@larch.example\r\nTo: support@desk.example\r\nSubject: {BODY_SECRET}\r\n\r\nIt is {BODY_SECRET}.\r\n"
FAILS = "start:\n  return:\n    body: {{request_body}}"


# Secrets that the service must be able to show or use: the address of a webhook, the password of a mail server, the
# seed of the second factor, and mail.
KEPT = {"webhook", "mail password", "second factor", "body"}


def test_no_secret_is_logged_and_none_that_is_handed_out_is_stored(data: Path) -> None:
    with SmtpServer(login=("desk", MAIL_PASSWORD)) as smtp:
        server = Server(data, env={"HELPDESK_LOG_LEVEL": "debug", "HELPDESK_LOG_FORMAT": "json"})
        secrets = {"set-up": server.setup_link.rpartition("/")[2], "password": PASSWORD, "body": BODY_SECRET}
        secrets |= {"made-up": MADE_UP, "mail password": MAIL_PASSWORD}
        nora = server.set_up()
        secrets["token"] = nora.token
        secrets |= _tokens(nora)
        secrets |= _webhooks(nora)
        _mail(nora, smtp)
        secrets |= _app(nora)
        secrets |= _forgotten(nora, smtp)
        secrets |= _in_the_browser(server)
        _broken(server, data)
        _holds_none(data, secrets)  # like a copy of the files of a running service
        assert server.stop() == 0
    _holds_none(data, secrets)
    text = Path(server.log.name).read_text()
    assert "/webhooks/***/orders" in text and "/setup/***" in text and "/reset/***" in text
    for name, secret in secrets.items():
        assert len(secret) > 8 and secret not in text, name
    assert {"event", "level", "at"} <= set.intersection(*(set(json.loads(line)) for line in text.splitlines()))


def _holds_none(data: Path, secrets: dict[str, str]) -> None:
    files = {each.name: each.read_bytes() for each in data.iterdir() if each.is_file()}
    assert "helpdesk.db" in files
    found = {(name, file) for name, secret in secrets.items() for file, content in files.items()
             if secret.encode() in content and name not in KEPT}  # fmt: skip
    assert found == set()


def _app(nora: Api) -> dict[str, str]:
    """A login through an app, and a refresh of its token."""
    app, browser = register(nora), Browser(nora.url)
    asked = {
        "response_type": "code", "client_id": app.client_id, "scope": "read", "state": "state-of-the-login",
        "code_challenge": challenge(), "code_challenge_method": "S256", "redirect_uri": CALLBACK,
    }  # fmt: skip
    browser.open("/oauth/authorize", **asked)
    browser.sign_in()
    code = answer_of(browser.send(answer="allow"))["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": CALLBACK}
    first = requests.post(f"{nora.url}/oauth/access_token", data=form | app.login, timeout=30).json()
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    later = requests.post(f"{nora.url}/oauth/access_token", data=form | app.login, timeout=30).json()
    told = {"app's secret": app.secret, "code": code, "verifier": VERIFIER, "state": asked["state"]}
    told |= {f"cookie {name} of the login": text for name, text in browser.session.cookies.items()}
    return told | {
        f"{name} {n}": pair[f"{name}_token"] for n, pair in enumerate((first, later)) for name in ("access", "refresh")
    }


def _forgotten(nora: Api, smtp: SmtpServer) -> dict[str, str]:
    """A link for a new password, sent by mail and used."""
    visitor = Visitor(nora.url)
    smtp.forget()
    visitor.send("/forgotten", {"email": "nora@desk.example"})
    parts = (each.get_payload(decode=True) for each in message_from_bytes(smtp.take(30)[2]).walk())
    found = re.search(rb"/reset/([\w-]+)", b" ".join(each for each in parts if isinstance(each, bytes)))
    assert found is not None
    code = found[1].decode()
    assert place(visitor.send(f"/reset/{code}", {"password": NEW, "password_again": NEW})) == "/login?new=1"
    return {"reset link": code, "new password": NEW}


def _in_the_browser(server: Server) -> dict[str, str]:
    """Wrong and right passwords, the second factor, and a lost recovery code."""
    visitor = Visitor(server.url)
    visitor.sign_in(password="a wrong password")
    assert visitor.sign_in(password=NEW).status_code in (302, 303)
    visitor.get(f"/account?code={MADE_UP}")
    key = value(visitor.get("/account/second-factor").text, "shared_key")
    given = {"shared_key": key, "code": totp.code(key, clock.now() // totp.STEP_SECONDS)}
    codes = re.findall(r"<li><code>([a-z0-9-]{19})</code>", visitor.send("/account/second-factor", given).text)
    other = Visitor(server.url)
    other.sign_in(password=NEW)
    assert place(other.send("/login/code", {"code": codes[0]})) == "/"
    told = {"wrong password": "a wrong password", "second factor": key}
    told |= {f"recovery {n}": each for n, each in enumerate(codes)}
    told |= {f"recovery {n} without dashes": each.replace("-", "") for n, each in enumerate(codes)}
    return told | {
        f"cookie {name} {n}": text for n, each in enumerate((visitor, other)) for name, text in each.cookies.items()
    }


def _tokens(nora: Api) -> dict[str, str]:
    made = nora.post("/rest/oauth/tokens/create.json", worker_id=1, expires="1 hour").ok()
    for name, text in (("Authorization", f"Bearer {MADE_UP}"), ("Authorization", MADE_UP), ("Cookie", f"a={MADE_UP}")):
        headers = {name: text}
        response = requests.get(f"{nora.url}/rest/workers/me.json?access_token={MADE_UP}", headers=headers, timeout=30)
        assert response.status_code == 401
    return {name: str(made[name]) for name in ("access_token", "refresh_token") if made.json.get(name)}


def _webhooks(nora: Api) -> dict[str, str]:
    hook = Hook(nora, FAILS)
    headers = {"Authorization": f"Bearer {MADE_UP}"}
    path = f"/orders?key={BODY_SECRET}&token={MADE_UP}"
    assert hook.call("POST", path, data=BODY_SECRET, headers=headers).status_code == 200
    return {"webhook": hook.url.rpartition("/")[2]}


def _mail(nora: Api, smtp: SmtpServer) -> None:
    nora.parse(MAIL).ok()
    params = {"host": smtp.host, "port": smtp.port, "username": "desk", "password": MAIL_PASSWORD}
    made = nora.create("mail_transport", name="M", extension_id="core.mail.transport.smtp", params=params).ok()
    sender = nora.create("address", email="help@desk.example", mail_transport_id=made["id"]).ok()["id"]
    nora.update("group", 1, reply_address_id=sender).ok()
    (own,) = nora.found("address", "email:support@localhost")
    nora.update("address", own, mail_transport_id=made["id"]).ok()
    nora.compose(group_id=1, to="ana@larch.example", subject=BODY_SECRET, content=BODY_SECRET).ok()


def _broken(server: Server, data: Path) -> None:
    """Requests that are not HTTP or are too large, and commands next to the server."""
    requests.get(server.url + "/rest/" + "x" * 17_000, headers={"Authorization": f"Bearer {MADE_UP}"}, timeout=30)
    requests.post(f"{server.url}/rest/parser/parse.json", data={"message": BODY_SECRET}, timeout=30)
    done = command("token", "create", "--worker", f"{MADE_UP}@desk.example", data=data)
    assert done.returncode == 1
