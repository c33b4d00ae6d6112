"""Fixtures for tests of the API: a small helpdesk to search."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api import sample as samples
from tests.api.minimal import MINIMAL, made
from tests.api.post import Post, post_office
from tests.api.sample import Sample
from tests.records.desk import Desk
from tests.service import Api, Server

# Records that only the service itself creates.
ITS_OWN: list[tuple[str, dict[str, Any]]] = [
    *(("automation_log", {"automation_name": "kite", "message": f"Step {number}", "level": 6}) for number in range(3)),
    *(("package", {"name": f"Pack {number}", "point": "bot", "uri": f"pack_{number}"}) for number in range(9)),
]


@pytest.fixture(scope="session")
def nora(nora: Api, server: Server) -> Api:
    """The administrator's client; records exist of every type that only the service creates."""
    desk = Desk(server.data)
    try:
        for uri, values in ITS_OWN:
            desk.own(uri, **values)
    finally:
        desk.close()
    return nora


@pytest.fixture(scope="module")
def as_before(nora: Api) -> Iterator[None]:
    """Restores administrators, groups, roles and currencies after a test that changes them."""
    [currency] = nora.found("currency", "default:yes")
    kept = {uri: set(nora.found(uri, "")) for uri in ("role", "currency", "group")}
    yield
    nora.update("currency", currency, is_default=1).ok()
    for id in set(nora.found("worker", "isAdmin:yes")) - {nora.ids["nora"]}:
        nora.update("worker", id, is_superuser=0).ok()
    for uri, ids in kept.items():
        for id in set(nora.found(uri, "")) - ids:
            nora.remove(uri, id).ok()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """About thirty tickets with their records, on a separate server; tests must not change it."""
    server, seeded = samples.sample(tmp_path_factory.mktemp("sample"))
    yield seeded
    assert server.stop() == 0


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    """A separate server that sends its mail to a mail server of the tests."""
    with post_office(tmp_path_factory.mktemp("post")) as opened:
        yield opened


@pytest.fixture
def post(office: Post) -> Post:
    """The same server, after the mail of earlier tests was discarded."""
    office.smtp.forget()
    return office


READ_ONLY = '"read": {label: Read, endpoints: ["*": GET]}'


@pytest.fixture(scope="session")
def actors(nora: Api) -> dict[str, Api]:
    """nora administers; max manages Support and milo is its member; olga is in no group; tina has no privileges;
    dora is disabled; reader is nora with a read-only token."""
    everyone = nora.found("role", 'name:"Everyone"')[0]
    nora.update("role", everyone, member_query_worker="isDisabled:no title:!Trainee").ok()
    found = {name: nora.as_(name) for name in ("nora", "milo", "olga", "dora")}
    for name, title in (("max", "Lead"), ("tina", "Trainee")):
        fields = MINIMAL["worker"](nora) | {"first_name": name.capitalize(), "title": title}
        nora.ids[name] = nora.create("worker", **fields).ok()["id"]
        token = nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids[name]).ok()
        found[name] = Api(nora.url, token["access_token"])
    nora.update("group", nora.ids["support"], members={"manager": str(nora.ids["max"])}).ok()
    app = made(nora, "oauth_app", scopes=READ_ONLY)
    token = nora.post("/rest/oauth/tokens/create.json", worker_id=nora.ids["nora"], app_id=app, scopes="read").ok()
    found["reader"] = Api(nora.url, token["access_token"])
    return found
