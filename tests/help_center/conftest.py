"""Help centers of two brands with articles, on one server for the tests of a module."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests

from tests.service import Api, Server, people

KITE, LARCH = "help.kite.example", "help.larch.example"


@dataclass
class Visitors:
    """Requests of visitors. ids: of records by name."""

    url: str
    api: Api
    ids: dict[str, int]

    def get(self, path: str, host: str = KITE, **headers: str) -> requests.Response:
        return self.send("GET", path, host, **headers)

    def send(self, method: str, path: str, host: str = KITE, data: object = None, **headers: str) -> requests.Response:
        sent = {"Host": host, "Accept-Encoding": "identity"} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        return requests.request(method, self.url + path, headers=sent, data=data, allow_redirects=False, timeout=60)

    def article(self, name: str, **fields: object) -> int:
        """Creates an article in Markdown, published unless the fields say otherwise."""
        values = {"title": name, "status": "published", "format": "markdown", "content": "Text."} | fields
        self.ids[name] = self.api.create("kb_article", **values).ok()["id"]
        return self.ids[name]

    def page(self, name: str, host: str = KITE, **headers: str) -> requests.Response:
        """The page of an article, by its name."""
        return self.get(f"/a/{self.ids[name]}-{self.slug(name)}", host, **headers)

    def slug(self, name: str) -> str:
        return str(self.api.record("kb_article", self.ids[name])["slug"])


@pytest.fixture(scope="module")
def visitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    environment = {
        "HELPDESK_PORTAL_BASE_URL": f"https://{KITE}",
        "HELPDESK_VISITOR_RATE_PER_MINUTE": "0",
    }
    server = Server(tmp_path_factory.mktemp("help") / "data", env=environment)
    api = server.set_up()
    people(api)
    made = Visitors(server.url, api, {})
    links = "Imprint https://kite.example/imprint"
    fields = {"languages": "en, de, pt-BR", "accent": "#ffee00", "footer_links": links, "is_public": 1}
    made.ids["kite"] = api.create("brand", name="Kite Pumps", **fields).ok()["id"]
    made.ids["larch"] = api.create("brand", name="Larch Foods", host=LARCH, is_public=1).ok()["id"]
    yield made
    assert server.stop() == 0
