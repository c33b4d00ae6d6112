"""Fixtures for tests of the writing assistant: a server that may reach a stand-in of a provider, with a group that is
switched on and one that is not."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from server import clock
from tests.console.conftest import proven
from tests.console.visitor import MOST_LOADS, Visitor
from tests.model_server import KEY, MODEL, ModelServer
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server, people

BASE = "/admin/writing-assistant"
_numbers = itertools.count(1)


class Office:
    """A server with the writing assistant. nora: administrator. model: the stand-in. on, off: ids of groups."""

    def __init__(self, server: Server, model: ModelServer) -> None:
        self.server, self.model = server, model
        self.nora: Api = server.set_up()
        people(self.nora)
        for name in ("milo", "olga"):
            self.nora.update("worker", self.nora.ids[name], password=PASSWORD).ok()
        self.on, self.off = self.nora.ids["support"], self.nora.ids["private"]
        self.visitor = Visitor(server.url)
        assert self.visitor.sign_in().status_code == 303
        self.desk = Desk(server.data)
        service = self.desk.service
        self.desk.service = replace(service, settings=service.settings.replace(outbound_allow=["127.0.0.1"]))

    def set_up_provider(self, **more: str) -> None:
        """Stores the stand-in as the provider, and switches the group on, without notes."""
        proven(self.desk, self.visitor, clock.now())
        form = {"base_url": self.model.base_url, "model": MODEL, "api_key": KEY, "do": "save", **more}
        assert self.visitor.send(BASE, form).status_code == 303
        self.nora.update("group", self.on, writing_assistant="1", writing_assistant_notes="0").ok()
        self.nora.update("group", self.off, writing_assistant="0", writing_assistant_notes="0").ok()

    def ticket(
        self, subject: str = "Pump leaks", text: str = "The hose of the pump leaks.", **fields: Any
    ) -> dict[str, Any]:
        """A ticket by mail: id, mask, message, page, path of the assistant."""
        id = f"<words{next(_numbers)}@kite.example>"
        head = f"From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nMessage-ID: {id}\nSubject: {subject}\n"
        made = self.nora.parse(f"{head}Content-Type: text/plain; charset=utf-8\n\n{text}\n").ok().json
        if fields:
            self.nora.update("ticket", made["id"], **fields).ok()
        [message] = self.nora.found("message", f"ticket.id:{made['id']}")
        page = f"/tickets/{made['mask']}"
        return {**made, "message": message, "page": page, "path": f"{page}/writing-assistant"}

    def start(self, ticket: dict[str, Any], act: str, by: Visitor | None = None, **fields: str) -> Any:
        """Starts an act as scripts do; returns the response."""
        who = by or self.visitor
        form = {"act": act, "_xsrf": who.token("/account"), **fields}
        return who.post(ticket["path"], form, headers={"X-Part": "assist"})

    def result(self, ticket: dict[str, Any], id: int, by: Visitor | None = None) -> dict[str, Any]:
        """Returns a call once it is over."""
        for _ in range(MOST_LOADS):
            call = (by or self.visitor).get(f"{ticket['path']}/{id}", headers={"X-Part": "assist"}).json()
            if call["state"] != "running":
                return dict(call)
        raise AssertionError(f"call {id} does not end")

    def run(self, ticket: dict[str, Any], act: str, by: Visitor | None = None, **fields: str) -> dict[str, Any]:
        """Runs an act to its end."""
        started = self.start(ticket, act, by, **fields)
        assert started.status_code == 200, started.text
        return self.result(ticket, started.json()["id"], by)

    def signed_in(self, name: str) -> Visitor:
        found = Visitor(self.server.url)
        assert found.sign_in(f"{name}@desk.example").status_code == 303
        return found

    def change(self, **settings: str) -> None:
        """Changes live settings."""
        proven(self.desk, self.visitor, clock.now())
        for name, text in settings.items():
            path = f"/admin/system/settings/{name}"
            response = self.visitor.send(path, {name: text}, page=path)
            assert response.status_code == 303, response.text

    def close(self) -> None:
        self.desk.close()


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    started = ModelServer()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Office]:
    env = {"HELPDESK_OUTBOUND_ALLOW": "127.0.0.1"}
    server = Server(tmp_path_factory.mktemp("writing") / "data", env=env)
    made = Office(server, model)
    made.change(writing_assistant_per_minute="0")
    yield made
    made.close()
    assert server.stop() == 0


@pytest.fixture
def office(opened: Office, model: ModelServer) -> Iterator[Office]:
    """The server, with the provider and the switches as new."""
    model.forget()
    opened.set_up_provider()
    yield opened
    model.forget()
