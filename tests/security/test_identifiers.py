"""An id alone gives no access: the id of another worker's record is tried on every endpoint, every page and every field
that points to a record. All are discovered, so that additions are covered without a change here.

Every record that olga may not read has one of a few ids, whatever its type, and contains a word that must not come
back."""

import base64
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from console.http import routes as pages
from server import app, clock
from server.access import push_devices
from server.access.known_devices import KNOWN_DEVICE
from server.access.passkeys import PASSKEY
from server.access.push_devices import PUSH_DEVICE
from server.access.sessions import SESSION
from server.access.tokens import TOKEN
from server.fields.link import Id
from server.fields.text import Text
from server.outbound.web_push import Subscription
from server.record_types.record_type import RecordType
from server.record_types.registry import load
from server.store.tables import Table
from server.web.routes import ENDPOINTS, Endpoint
from tests.api.families import FAMILIES, ROWS, Row
from tests.api.minimal import MINIMAL
from tests.console.visitor import Visitor
from tests.records.desk import Desk
from tests.service import PASSWORD, Server, people

pytestmark = pytest.mark.exhaustive("every identifier that a request can name")

app.endpoints()
pages.load()
REGISTRY = load()
CANARY = "zxcanary"
TOLD = f"{CANARY} of"  # in all hidden records, and in no search text
FIRST = 700_001  # ids from here on belong to hidden records, or to records that these need
TRIED = range(FIRST, FIRST + 3)
HIDDEN = [
    row for row in ROWS
    if "olga" not in FAMILIES[row.family][0].split() and FAMILIES[row.family][1] and REGISTRY.find(row.uri)
]  # fmt: skip
SAID = ("name", "subject", "title", "comment", "content", "label", "signature", "description")
POINTS = re.compile(r"(?:^|_)id$|^ids?\[\]$|_ids?\[\]$")
REFUSED = (403, 404, 405)
# Pages that end sessions and the like, and the rows of these.
ROWS_OF = {
    "/account/sessions/{id}/end": SESSION, "/account/devices/{id}/forget": KNOWN_DEVICE,
    "/account/notified/{id}": PUSH_DEVICE, "/account/notified/{id}/test": PUSH_DEVICE,
    "/account/notified/{id}/remove": PUSH_DEVICE,
    "/account/tokens/{id}/revoke": TOKEN, "/account/passkeys/{id}/remove": PASSKEY, "/account/passkeys/{id}": PASSKEY,
}  # fmt: skip
_ARGUMENT = re.compile(r"\(\?P<(\w+)>[^)]*\)")
# Requests that would end the session of the test, or change olga herself.
LEFT_OUT = {"/sign-out", "/account/sessions/end", "/account/sessions/{id}/end", "/account/password", "/forgotten"}


class Secrets:
    """Records that olga may not read: {type: ids}, and their original state."""

    def __init__(self, server: Server, desk: Desk) -> None:
        self.server = server
        self.nora = server.set_up()
        self.nora.is_checked = False
        people(self.nora)
        self.olga = self.nora.people["olga"]
        self.olga.is_checked = False
        self.nora.update("worker", self.nora.ids["olga"], password=PASSWORD).ok()
        self.visitor = Visitor(server.url)
        assert self.visitor.sign_in("olga@desk.example").status_code == 303
        self.desk = desk
        assert Visitor(server.url).sign_in().status_code == 303  # from a device that is known from now on
        own = {"worker_id": self.nora.ids["nora"], "credential_id": "c", "rp_id": "localhost", "name": "Laptop"}
        self.desk.store.write(lambda tx: tx.insert(PASSKEY, own))
        [session, *_] = self.rows_of_nora(SESSION)
        to = Subscription("https://push.example/nora", b"", b"")
        self.desk.store.write(lambda tx: push_devices.add(tx, session[0], session[2], to, (), "Phone", clock.now()))
        self._move_ids()
        self.ids: dict[str, list[int]] = {}
        for row in HIDDEN:
            self.ids.setdefault(row.uri, []).append(self._made(row))
        self.mask = self.nora.record("ticket", self.ids["ticket"][0]).ok()["mask"]
        self.before = self.state()

    def _move_ids(self) -> None:
        """Sets the next id of every type to FIRST."""
        for record_type in REGISTRY:
            self.desk.store.write(
                lambda tx, table=record_type.table: tx.reserve(table, FIRST - tx.next_ids(table, 1)[0])
            )

    def _made(self, row: Row) -> int:
        fields = row.fields(self.nora) | said(REGISTRY.find(row.uri))
        if row.uri == "attachment":
            fields["content"] = "data:text/plain;base64," + base64.b64encode(f"{TOLD} files".encode()).decode()
        return int(self.nora.create(row.uri, **fields).ok()["id"])

    def rows_of_nora(self, table: Table) -> list[Any]:
        return self.desk.read(lambda tx: tx.find(table, worker_id=self.nora.ids["nora"]))

    def state(self) -> dict[tuple[str, int], Any]:
        """The stored hidden records."""
        return self.desk.read(lambda tx: {
            (uri, id): tx.get(REGISTRY.type(uri).table, id) for uri, ids in self.ids.items() for id in ids
        })  # fmt: skip


def said(record_type: RecordType | None) -> dict[str, str]:
    """The word in every field of a type that accepts any text."""
    if record_type is None or record_type.uri == "custom_record":  # the list of types is public
        return {}
    free = (name for name, field in record_type.fields.items() if isinstance(field, Text) and field.stored)
    return {name: f"{TOLD} {record_type.uri}" for name in free if name in SAID}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secrets]:
    server = Server(tmp_path_factory.mktemp("identifiers") / "data")
    with closing(Desk(server.data)) as desk:
        yield Secrets(server, desk)
    assert server.stop() == 0


def test_there_is_something_to_hide(secrets: Secrets) -> None:
    known = {uri for uri, ids in secrets.ids.items() if set(ids) & set(TRIED)}
    assert {"ticket", "message", "comment", "attachment", "draft", "oauth_app", "mailbox", "connected_account"} <= known
    texts = [str(each) for each in secrets.before.values()]
    assert sum(TOLD in each for each in texts) > len(texts) // 2
    for uri, ids in secrets.ids.items():
        assert all(secrets.olga.record(uri, id).status in (403, 404, 405) for id in ids), uri


# -- endpoints ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_no_endpoint_opens_one(each: Endpoint, secrets: Secrets) -> None:
    for uri in sorted(secrets.ids) if "{uri}" in each.path else ["ticket"]:
        for id in TRIED:
            path = each.path.replace("{id}", str(id)).replace("{uri}", uri).replace("{type}", uri)
            sent = parameters(each, uri, id)
            place = {"params": sent} if each.method in ("GET", "DELETE") else {"data": sent}
            response = secrets.olga.call(each.method, f"/rest/{re.sub('{.*?}', str(id), path)}.json", **place)
            assert response.status < 500 and TOLD not in response.response.text, (path, sent, response)
            if "{uri}/{id}" in each.path and id in secrets.ids[uri]:
                assert response.status in REFUSED, (path, sent, response)
    assert secrets.state() == secrets.before


def parameters(each: Endpoint, uri: str, id: int) -> dict[str, Any]:
    """Parameters of an endpoint: the id for every parameter with an id, and every key that could show more of the
    record."""
    sent: dict[str, Any] = {}
    for parameter in each.parameters:
        if POINTS.search(parameter.name) or parameter.name in ("targets", "on"):
            sent[parameter.name] = f"{uri}:{id}" if parameter.name in ("targets", "on") else str(id)
        elif parameter.name in ("context", "owner_context"):
            sent[parameter.name] = uri
        elif parameter.name == "expand":
            sent["expand"] = ",".join(expands(REGISTRY.type(uri)))
        elif parameter.name in ("q", "query"):
            sent[parameter.name] = f"id:{id}"
        elif parameter.required and parameter.type == "string":
            sent[parameter.name] = "x"
    return sent


def expands(record_type: RecordType) -> list[str]:
    return [*record_type.expand_by_name, *(f"{each.prefix}_" for each in record_type.nested), "_label"]


# -- fields that point -------------------------------------------------------------------------------------------------


def pointing() -> Iterator[tuple[str, str]]:
    """(type, field) of every field that can refer to a hidden record."""
    for record_type in REGISTRY:
        for name, field in record_type.fields.items():
            if isinstance(field, Id) and not field.immutable and record_type.operations["create"]:
                yield record_type.uri, name


@pytest.mark.parametrize(("uri", "name"), list(pointing()), ids=str)
def test_no_field_that_points_shows_one(uri: str, name: str, secrets: Secrets) -> None:
    record_type, field = REGISTRY.type(uri), REGISTRY.type(uri).fields[name]
    assert isinstance(field, Id)
    targets = [field.target] if field.target in secrets.ids else list(secrets.ids) if field.target_from else []
    for target in targets:
        fields = MINIMAL[uri](secrets.nora) if uri in MINIMAL else {}
        fields |= {name: TRIED[0]} | ({field.target_from: target} if field.target_from else {})
        made = secrets.olga.create(uri, **fields, expand=",".join(expands(record_type)))
        assert made.status < 500 and TOLD not in made.response.text, (uri, name, target, made)
        if made.status == 200:
            found = secrets.olga.record(uri, made["id"], expand=",".join(expands(record_type)))
            assert TOLD not in found.response.text, (uri, name, target)


# -- pages -------------------------------------------------------------------------------------------------------------


def pattern(page: pages.Page) -> str:
    return _ARGUMENT.sub(lambda match: f"{{{match[1]}}}", page.pattern.pattern.removesuffix(r"\Z"))


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: f"{page.method} {pattern(page)}")
def test_no_page_opens_one(page: pages.Page, secrets: Secrets) -> None:
    path = pattern(page)
    if path in LEFT_OUT:
        return
    token = secrets.visitor.token("/account") if page.method == "POST" else ""
    for uri in sorted(secrets.ids) if "{type}" in path or "{name}" in path else ["ticket"]:
        for id in TRIED:
            filled = path.format(
                id=id, type=uri, name=uri, mask=secrets.mask, code="A" * 43, file="a.txt", folder="types", rest="x"
            )
            asked = {"q": CANARY, "id": str(id), "ids": str(id), "ticket": str(id), "worker": str(id), "app": str(id)}
            if page.method == "GET":
                response = secrets.visitor.get(filled, params=asked)
            else:
                response = secrets.visitor.post(filled, asked | {"_xsrf": token, "_sure": "1"})
            assert response.status_code < 500 and TOLD not in response.text, filled
            if "{type}/{id}" in path and id in secrets.ids[uri]:
                assert response.status_code in REFUSED, filled
    assert secrets.state() == secrets.before


@pytest.mark.parametrize(("path", "table"), ROWS_OF.items(), ids=lambda each: each if isinstance(each, str) else "")
def test_no_page_ends_what_is_of_somebody_else(path: str, table: Table, secrets: Secrets) -> None:
    """Sessions, devices and tokens are not records, but have ids as well."""
    assert path in [pattern(each) for each in pages.PAGES]
    assert Visitor(secrets.server.url).sign_in().status_code == 303
    before = secrets.rows_of_nora(table)
    assert before
    for row in before:
        response = secrets.visitor.post(path.format(id=row[0]), {"_xsrf": secrets.visitor.token("/account")})
        assert response.status_code in (303, 404) and secrets.rows_of_nora(table) == before, (path, row[0])
