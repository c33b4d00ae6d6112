"""A help center where customers sign in, with a mail server that gets their links."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.api.post import transport
from tests.service import Api, Server, people
from tests.smtp_server import SmtpServer

HOST = "help.kite.example"
LINK = re.compile(rf"https://{HOST}(/(?:de/)?sign-in/link/([A-Za-z0-9_-]+))")
_numbers = count(1)


def mail(sender: str, subject: str = "Leaking pump", text: str = "It leaks.", to: str = "", **headers: str) -> bytes:
    """Returns an email of a customer."""
    lines = {"From": sender, "To": to or "support@desk.example", "Subject": subject}
    lines |= {"Message-ID": f"<mail{next(_numbers)}@kite.example>"} | headers
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"{head}\r\n{text}\r\n".encode()


@dataclass
class Customer:
    """A browser of a customer: its cookies, and requests to one host."""

    url: str
    host: str = HOST
    cookies: dict[str, str] = field(default_factory=dict)
    last: Any = None

    def send(self, method: str, path: str, data: Any = None, files: Any = None, **headers: str) -> requests.Response:
        sent = {"Host": self.host, "Accept-Encoding": "identity"}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        response = requests.request(
            method, self.url + path, headers=sent, data=data, files=files, allow_redirects=False, timeout=60
        )
        for line in response.raw.headers.getlist("Set-Cookie"):
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0]
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        self.last = response
        return response

    def get(self, path: str, **headers: str) -> requests.Response:
        return self.send("GET", path, **headers)

    def token(self) -> str:
        """The token of the forms of the session."""
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get("/requests").text)
        return found[1] if found else ""

    def post(self, path: str, files: Any = None, **fields: Any) -> requests.Response:
        """Sends a form with the token of the session."""
        return self.send("POST", path, {"token": self.token(), **fields}, files)

    def reply(self, mask: str, text: str = "", form: str = "", files: Any = None) -> requests.Response:
        number = form or f"form{next(_numbers)}"
        return self.post(f"/requests/{mask}/reply", files=files, text=text, form=number)

    def texts(self, path: str) -> str:
        """The page, which must be shown."""
        page = self.get(path)
        assert page.status_code == 200, (page.status_code, page.text[:500])
        return page.text


@dataclass
class Desk:
    """The service, its API, the mail server, and ids of records by name."""

    server: Server
    api: Api
    smtp: SmtpServer
    ids: dict[str, Any]

    def browser(self) -> Customer:
        return Customer(self.server.url)

    def ask(self, browser: Customer, email: str, next_path: str = "/requests") -> requests.Response:
        return browser.send("POST", "/sign-in", {"email": email, "next": next_path})

    def mail(self) -> EmailMessage:
        parsed = message_from_bytes(self.smtp.take().raw, policy=default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def link(self) -> str:
        """The path of the link in the next email that has one."""
        found = None
        while found is None:
            part = self.mail().get_body(("plain",))
            found = LINK.search(str(part.get_content())) if part is not None else None
        return found[1]

    def signed_in(self, email: str, next_path: str = "/requests") -> Customer:
        browser = self.browser()
        assert self.ask(browser, email, next_path).status_code == 303
        assert browser.send("POST", self.link()).status_code == 303
        return browser

    def ticket(self, sender: str, **values: Any) -> dict[str, Any]:
        """Receives an email as a new ticket."""
        receipt = self.api.parse(mail(sender, **values)).ok()
        return self.api.record("ticket", receipt["id"]).ok().json

    def answer(self, ticket: dict[str, Any], content: str, **values: Any) -> dict[str, Any]:
        """Replies as a worker, and takes the email."""
        message = self.api.record("ticket", ticket["id"]).ok()["latest_message_id"]
        replied = self.api.reply(message_id=message, content=content, **values).ok()
        return replied.json


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with customer_desk(tmp_path_factory.mktemp("customers")) as made:
        yield made


@contextmanager
def customer_desk(folder: Path, **env: str) -> Iterator[Desk]:
    environment = {
        "HELPDESK_PORTAL_BASE_URL": f"https://{HOST}",
        "HELPDESK_VISITOR_RATE_PER_MINUTE": "0",
        **env,
    }
    with SmtpServer() as smtp:
        server = Server(folder / "data", env=environment)
        api = server.set_up()
        people(api)
        transport(api, smtp.port)
        made = Desk(server, api, smtp, {})
        fields = {"languages": "en, de", "is_public": 1, "has_requests": 1}
        made.ids["brand"] = api.create("brand", name="Kite Pumps", **fields).ok()["id"]
        yield made
        assert server.stop() == 0
