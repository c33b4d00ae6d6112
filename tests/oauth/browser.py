"""A worker with a browser without scripts: follows redirects within the helpdesk and fills in its forms."""

import html
import re
from urllib.parse import urlencode, urljoin, urlsplit

import requests

from tests.service import PASSWORD

MAIL = "nora@desk.example"
_FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
_FORM = re.compile(r'<form method="post" action="([^"]*)"')


class Browser:
    """A worker's browser. page: the current page. url: its address."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.trust_env = False
        self.page: requests.Response
        self.url = ""

    def open(self, path: str, **query: str) -> str:
        """Opens an address; returns the URL of another site if it redirects there, else ""."""
        address = urljoin(self.server, path) + (f"?{urlencode(query)}" if query else "")
        return self._follow(self.session.get(address, allow_redirects=False, timeout=60), address)

    def send(self, **values: str) -> str:
        """Submits the current form with these values changed. Returns the same as open."""
        target, fields = self.form()
        return self.post(target, fields | values)

    def post(self, target: str, fields: dict[str, str], **headers: str) -> str:
        """Submits any form. Returns the same as open."""
        address = urljoin(self.url, target)
        headers = {"Origin": self.server, "Referer": self.url} | headers
        sent = self.session.post(address, data=fields, headers=headers, allow_redirects=False, timeout=60)
        return self._follow(sent, address, referer=self.url)

    def form(self) -> tuple[str, dict[str, str]]:
        """Returns the target of the form on the page, and its hidden fields."""
        text = self.page.text
        *_, start = (each for each in _FORM.finditer(text) if each[1] != "/sign-out")
        hidden = dict(_FIELD.findall(text[start.end() : text.index("</form>", start.end())]))
        return html.unescape(start[1]), {name: html.unescape(value) for name, value in hidden.items()}

    def sign_in(self, password: str = PASSWORD) -> str:
        """Fills in the current sign-in form. Returns the same as open."""
        assert "/login" in self.url, self.url
        return self.send(email=MAIL, password=password)

    def _follow(self, answer: requests.Response, address: str, referer: str = "") -> str:
        while answer.status_code in (301, 302, 303, 307, 308):
            assert answer.status_code == 303, answer
            address = urljoin(address, answer.headers["Location"])
            if urlsplit(address)[:2] != urlsplit(self.server)[:2]:
                self.page = answer
                return address
            headers = {"Referer": referer} if referer else {}
            answer = self.session.get(address, headers=headers, allow_redirects=False, timeout=60)
        self.page, self.url = answer, address
        moved = answer.headers.get("Refresh", "")
        return moved.partition("url=")[2]
