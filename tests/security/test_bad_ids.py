"""Every endpoint and every page responds to a malformed id with a sentence, in any position."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from console.http import routes as pages
from server import app
from server.web.routes import ENDPOINTS, Endpoint
from tests.console.visitor import Visitor
from tests.security.test_identifiers import LEFT_OUT, pattern
from tests.service import Api, Server
from tests.telling import telling

app.endpoints()
pages.load()
BAD = ["0", "-1", str(2**63 - 1), str(2**63), str(2**64), "kiln", "\N{SUPERSCRIPT TWO}"]
TYPES = ("ticket", "webhook_listener")  # pages and endpoints for any type
# Ids of pages and endpoints besides those declared in the table of endpoints.
NAMES = "id ids ids[] ticket worker app app_id group bucket address person org contact page transport draft".split()
ENDS = {"/sign-out", "/account/sessions/end", "/account/password", "/admin/system/restart"} | LEFT_OUT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("bad-ids") / "data")
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    nora = server.set_up()
    nora.is_checked = False
    return nora


@pytest.fixture(scope="module")
def visitor(server: Server, nora: Api) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    return visitor


CALLED = telling(
    {f"{each.method} {each.path}": each for each in ENDPOINTS},
    (
        "GET records/{uri}/{id}", "PUT records/{uri}/{id}", "DELETE records/{uri}/{id}", "GET tickets/{id}",
        "POST tickets/reply", "POST tickets/merge", "POST contexts/link", "GET attachments/{id}/download",
    ),
    "every endpoint",
)  # fmt: skip
OPENED = telling(
    {f"{page.method} {pattern(page)}": page for page in pages.PAGES},
    (
        "GET /records/{type}/{id}", "POST /records/{type}/{id}/edit", "POST /records/{type}/{id}/delete",
        "GET /tickets/{mask}", "POST /tickets/{mask}/set", "POST /compose", "GET /admin/people/{id}",
    ),
    "every page and form",
)  # fmt: skip


@pytest.mark.parametrize("each", CALLED)
def test_no_endpoint_fails_at_a_bad_id(each: Endpoint, nora: Api) -> None:
    for uri in TYPES if "{uri}/{id}" in each.path else ["ticket"]:
        for id in BAD:
            path = each.path.replace("{uri}", uri).replace("{type}", uri)
            sent = parameters(each, uri, id)
            place = {"params": sent} if each.method in ("GET", "DELETE") else {"data": sent}
            response = nora.call(each.method, f"/rest/{re.sub('{.*?}', id, path)}.json", **place)
            assert response.status < 500, (each.method, path, sent, response)


def parameters(each: Endpoint, uri: str, id: str) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for parameter in each.parameters:
        if parameter.name in ("targets", "on"):
            sent[parameter.name] = f"{uri}:{id}"
        elif parameter.name in ("context", "owner_context"):
            sent[parameter.name] = uri
        elif parameter.name != "fields":
            sent[parameter.name] = id
    return sent


@pytest.mark.parametrize("page", OPENED)
def test_no_page_fails_at_a_bad_id(page: pages.Page, visitor: Visitor) -> None:
    path = pattern(page)
    if path in ENDS:
        return
    token = visitor.token("/account") if page.method == "POST" else ""
    for uri in TYPES if "{type}/{id}" in path else ["ticket"]:
        for id in BAD:
            filled = path.format(id=id, type=uri, name=id, mask=id, code="A" * 43, file=id, folder="types", rest=id)
            sent = dict.fromkeys(NAMES, id)
            if page.method == "GET":
                response = visitor.get(filled, params=sent)
            else:
                response = visitor.post(filled, sent | {"_xsrf": token, "_sure": "1"})
            assert response.status_code < 500, (page.method, filled)
