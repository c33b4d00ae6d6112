"""A desk with a bot, for tests of behaviors: they are stored as packages store them, and run as requests run them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.automation.behaviors import behavior_service
from server.automation.stored_values import STORED
from server.jobs.job_queue import JOB
from server.record_types.registry import load
from server.records.writing import RecordWriter
from server.store import schema
from server.web.params import Params
from tests.records.desk import Desk

EVENT = "event.api.custom_request"
Values = dict[str, Any]


def public(type: str, **params: Any) -> Values:
    """Returns a public variable, which callers send."""
    return {"label": "Some value", "type": type, "is_private": "0", "params": params}


def private(type: str, **params: Any) -> Values:
    """Returns a private variable of the behavior."""
    return public(type, **params) | {"is_private": "1"}


def node(type: str, *nodes: Values, title: str = "", status: str = "live", **params: Any) -> Values:
    """Returns a node of a tree."""
    return {"type": type, "title": title or type, "status": status, "params": params, "nodes": list(nodes)}


def actions(*listed: Values, status: str = "live") -> Values:
    """Returns a node with actions."""
    return node("action", status=status, actions=list(listed))


def put(var: str, value: str, format: str = "", **more: Any) -> Values:
    """Returns the action that sets a placeholder."""
    return {"action": "_set_custom_var", "var": var, "value": value, "format": format, "is_simulator_only": "0"} | more


def add(text: str) -> Values:
    """Returns the action that adds a line to the response."""
    return {"action": "add_api_response", "value": text}


def when(*conditions: Values, one: bool = False) -> Values:
    """Returns the parameters of an outcome with one group, which requires all of its conditions, or one."""
    return {"groups": [{"any": int(one), "conditions": list(conditions)}]}


class Bots:
    """A desk with one bot of the service. By default nora, an administrator, runs behaviors."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.desk = Desk(folder, load())
        self.desk.service = replace(self.desk.service, settings=self.desk.service.settings.replace(**settings))
        self.desk.store.write(lambda tx: schema.add_tables(tx, [JOB, STORED]))
        self.ids = self.desk.people()
        self.bot = self.bot_of("app", 0)

    def bot_of(self, owner: str, id: int, **more: Any) -> int:
        """Creates a bot; returns its id."""
        fields = {"name": "Shop bot", "owner__context": owner, "owner_id": id} | more
        return int(self.desk.create("bot", **fields)["id"])

    def keep(self, *nodes: Values, variables: dict[str, Values] | None = None, **more: Any) -> int:
        """Stores a behavior as a package does; returns its id."""
        values = {"name": "Order status", "bot_id": self.bot, "event_point": EVENT} | more
        own = {"nodes": list(nodes), "variables": variables or {}}
        return self.desk.store.write(lambda tx: RecordWriter(self.desk.context(), tx).create("behavior", values | own))

    def call(self, id: int | str, by: str = "nora", expand: str = "", **sent: Any) -> Values:
        """Returns the response to a request of this worker."""
        return behavior_service.run_request(self.desk.context(self.ids[by]), str(id), Params(sent), expand)

    def run(self, *nodes: Values, variables: dict[str, Values] | None = None, by: str = "nora", **sent: Any) -> Values:
        """Returns the response of a behavior with this tree."""
        return self.call(self.keep(*nodes, variables=variables), by=by, **sent)

    def response(self, *nodes: Values, **more: Any) -> list[str]:
        """Returns the lines of the response that a behavior with this tree writes."""
        return str(self.run(*nodes, **more).get("_response", "")).splitlines()

    def simulate(self, *nodes: Values, variables: dict[str, Values] | None = None) -> Values:
        """Returns the dictionary at the end of a simulated run."""
        ctx = self.desk.context(self.ids["nora"])
        behavior, bot = behavior_service.enabled(ctx, str(self.keep(*nodes, variables=variables)))
        return behavior_service.perform(ctx, behavior, bot, {}, simulates=True)


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bots]:
    """One desk for all tests of a file; each adds its own records."""
    made = Bots(tmp_path_factory.mktemp("bots"))
    yield made
    made.desk.close()
