"""A server with two brands, contact forms and a mail server, and visitors who fill the forms in."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import requests

from tests.service import Api, Server, people
from tests.smtp_server import SmtpServer

KITE, LARCH = "help.kite.example", "help.larch.example"
_numbers = itertools.count(1)
MESSAGE = {"name": "Ann Kite", "subject": "Leaking pump", "message": "It drips."}
File = tuple[str, tuple[str, bytes, str]]


@dataclass
class Office:
    """The server. ids: of records by name."""

    server: Server
    api: Api
    smtp: SmtpServer
    ids: dict[str, int] = field(default_factory=dict)

    def send(self, method: str, path: str, host: str = KITE, **options: Any) -> requests.Response:
        headers = {"Host": host, "Accept-Encoding": "identity", **options.pop("headers", {})}
        return requests.request(
            method, self.server.url + path, headers=headers, allow_redirects=False, timeout=60, **options
        )

    def get(self, path: str, host: str = KITE) -> requests.Response:
        return self.send("GET", path, host)

    def form(self, **fields: Any) -> int:
        """Creates a form that is switched on."""
        values = {"name": "Write to us", "brand_id": self.ids["kite"], "group_id": self.api.ids["support"], "is_on": 1}
        return int(self.api.create("contact_form", **(values | fields)).ok()["id"])

    def open(self, path: str = "/contact", host: str = KITE) -> "OpenedForm":
        page = self.get(path, host)
        assert page.status_code == 200, page.text
        return OpenedForm(self, path, host, hidden(page.text, "token"), page.text)

    def newest(self) -> dict[str, Any]:
        """The newest message with its ticket."""
        found = self.api.search(
            "message", "isOutgoing:no sort:-id", limit=1, expand="content,ticket_,sender_,headers"
        ).ok()
        return dict(found["results"][0])

    def count(self) -> int:
        return int(self.api.search("message", "", limit=1, with_total=1).ok()["total"])


@dataclass
class OpenedForm:
    """A page with a form, as a visitor has it."""

    office: Office
    path: str
    host: str
    token: str
    html: str

    def send(self, files: list[File] | None = None, **values: Any) -> requests.Response:
        fields = (
            {"token": self.token, "website": "", "proof": "", "email": f"ann{next(_numbers)}@kite.example"}
            | MESSAGE
            | values
        )
        pairs = [(name, each) for name, text in fields.items() for each in (text if isinstance(text, list) else [text])]
        data = [(name, (None, text)) for name, text in pairs if text is not None]
        return self.office.send("POST", self.path, self.host, files=[*data, *(files or [])])


def hidden(html: str, name: str) -> str:
    match = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', html)
    assert match is not None, html
    return unescape(match[1])


def errors(response: requests.Response) -> list[str]:
    """The mistakes in the summary of a form."""
    assert 'role="alert"' in response.text, (response.status_code, response.text[:2000])
    summary = response.text.split('id="problems"', 1)[1].split("</ul>", 1)[0]
    return [unescape(re.sub("<[^>]*>", "", each)).strip() for each in re.findall(r"<li>(.*?)</li>", summary, re.S)]


def file(name: str, content: bytes = b"content", kind: str = "text/plain") -> File:
    return "files[]", (name, content, kind)


@contextmanager
def contact_office(folder: Path, **env: str) -> Iterator[Office]:
    environment = {
        "HELPDESK_PORTAL_BASE_URL": f"https://{KITE}",
        "HELPDESK_VISITOR_RATE_PER_MINUTE": "0",
        "HELPDESK_CONTACT_FORMS_PER_HOUR": "0",
        "HELPDESK_CONTACT_FORM_SECONDS": "0",
        **env,
    }
    with SmtpServer() as smtp:
        server = Server(folder / "data", env=environment)
        try:
            api = server.set_up()
            people(api)
            params = {"host": smtp.host, "port": str(smtp.port), "encryption": "none"}
            made = api.create(
                "mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params
            ).ok()
            office = Office(server, api, smtp)
            address = api.create("address", email="support@kite.example", mail_transport_id=made["id"]).ok()["id"]
            api.update("group", api.ids["support"], reply_address_id=address).ok()
            office.ids["kite"] = api.create("brand", name="Kite Pumps", languages="en, de", is_public=1).ok()["id"]
            office.ids["larch"] = api.create("brand", name="Larch", host=LARCH, is_public=1).ok()["id"]
            yield office
        finally:
            code = server.stop()
        assert code == 0
