"""Creates a database for tests/data with the current program, to be opened by later versions:

    python -m tests.old_database tests/data/TAG.db.xz

It has the same few records as the others, one record of every type, and the traces of sign-ins, apps, webhooks and
mail."""

import argparse
import lzma
import tempfile
from pathlib import Path

import requests

from server import clock
from server.access import totp
from tests.api.minimal import MINIMAL, made
from tests.automation.test_webhooks import Hook
from tests.console.visitor import Visitor, value
from tests.oauth.apps import CALLBACK, VERIFIER, answer_of, challenge, register
from tests.oauth.browser import Browser
from tests.service import PASSWORD, Api, Server, command, people

MAIL = (
    "From: Ana Larch <ana@larch.example>\r\nTo: support@desk.example\r\nSubject: Leaking zeppelin\r\n"
    "Message-ID: <1@larch.example>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    "Schöne Grüße, the zeppelin leaks.\r\n"
)
SECOND_FACTOR_OF = "milo@desk.example"


def main() -> None:
    """Creates the database and prints its size."""
    parser = argparse.ArgumentParser(prog="python -m tests.old_database", description=__doc__)
    parser.add_argument("file", type=Path, help="DATE.db.xz or TAG.db.xz")
    file: Path = parser.parse_args().file
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        server = Server(data)
        api = server.set_up()
        people(api)
        fill(api)
        assert server.stop() == 0
        assert command("check", data=data).stdout == b"the database is intact\n"
        file.write_bytes(lzma.compress((data / "helpdesk.db").read_bytes(), preset=9))
    print(f"{file}: {file.stat().st_size:,} bytes")


def fill(api: Api) -> None:
    """Fills a helpdesk, with its people, with records and everything else."""
    _known(api)
    for uri in MINIMAL:
        made(api, uri)
    _app(api)
    _second_factor(api)
    hook = Hook(api, "start:\n  return:\n    body: {{request_body}}")
    assert hook.call(data="hello").text == "hello"
    api.post(f"/rest/webhooks/{hook.id}/rotate.json", overlap_seconds=3600).ok()
    way = api.create("mail_transport", name="Nowhere", extension_id="core.mail.transport.null").ok()["id"]
    sender = api.create("address", email="help@desk.example", mail_transport_id=way).ok()["id"]
    api.update("group", api.ids["support"], reply_address_id=sender).ok()
    later = {"to": "zoe@larch.example", "subject": "Later", "content": "x", "send_at": "+1 day"}
    api.compose(group_id=api.ids["support"], **later).ok()


def _known(api: Api) -> None:
    """The records that test_upgrade.py checks in every old database."""
    field = api.create("custom_field", name="Airship", uri="airship", type="S", context="ticket").ok()["id"]
    ticket = api.parse(MAIL).ok()["id"]
    api.update("ticket", ticket, **{f"custom_{field}": "LZ 127"}).ok()
    api.reply(message_id=1, content="We come with glue.", dont_send=1, status=1).ok()
    org = api.create("org", name="Larch Ltd").ok()["id"]
    api.create("task", title="Order gas", links=[f"org:{org}"]).ok()
    api.create("comment", comment="Wrote to the works.", target__context="ticket", target_id=ticket).ok()
    api.post("/rest/attachments/upload.json", file_name="hull.txt", content="aluminium").ok()


def _app(api: Api) -> None:
    """A login through an app, and a refresh of its token."""
    app, browser = register(api), Browser(api.url)
    asked = {
        "response_type": "code", "client_id": app.client_id, "scope": "read", "state": "s", "redirect_uri": CALLBACK,
        "code_challenge": challenge(), "code_challenge_method": "S256",
    }  # fmt: skip
    browser.open("/oauth/authorize", **asked)
    browser.sign_in()
    code = answer_of(browser.send(answer="allow"))["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": CALLBACK}
    for _ in range(2):
        pair = requests.post(f"{api.url}/oauth/access_token", data=form | app.login, timeout=30).json()
        form = {"grant_type": "refresh_token", "refresh_token": pair["refresh_token"]}


def _second_factor(api: Api) -> None:
    api.update("worker", api.ids["milo"], password=PASSWORD).ok()
    visitor = Visitor(api.url)
    assert visitor.sign_in(SECOND_FACTOR_OF).status_code == 303
    key = value(visitor.get("/account/second-factor").text, "shared_key")
    given = {"shared_key": key, "code": totp.code(key, clock.now() // totp.STEP_SECONDS)}
    assert visitor.send("/account/second-factor", given).status_code == 200


if __name__ == "__main__":
    main()
