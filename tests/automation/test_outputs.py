"""The documented outputs of commands, compared with actual runs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from server.access import tokens
from server.automation import commands, engine
from server.automation.automation_service import ServiceHost
from server.automation.command import COMMANDS
from server.automation.host import Script
from server.automation.outputs import ANY_KEY, OUTPUTS
from server.automation.run_dictionary import plain
from tests.automation.cases.case import ALLOW
from tests.automation.commanding import done, refused
from tests.outbound.peer import HOST, Peer, answer
from tests.records.desk import Desk

MAIL = "From: ana@kite.example\nTo: support@desk.example\nSubject: Pump\n\nIt drips.\n"
SECRET = "whsec_1"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("outputs"))
    opened.service = replace(opened.service, settings=opened.service.settings.replace(outbound_allow=[HOST]))
    opened.people()
    opened.create("queue", name="orders")
    opened.create("metric", name="shop.orders", type="counter")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    with Peer() as running:
        running.answers["/text"] = answer('{"sku":"A-1"}', content_type="application/json")
        running.answers["/bytes"] = answer(b"\x89PNG\x00", content_type="image/png")
        running.answers["/late"] = answer("later", 503)
        running.answers["/large"] = answer("x" * 1_100_000, content_type="text/plain")
        yield running


class Runs:
    """Runs each command in every way that changes the keys of its output."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk, self.url = desk, url

    def __call__(self, name: str, /, **inputs: Any) -> Any:
        return done(self.desk, name, **inputs)

    def task(self) -> int:
        return int(self.desk.create("task", title="Pump")["id"])

    def account(self) -> str:
        if not self.desk.found("connected_account", 'name:"outputs"'):
            kind = "svc.service.provider.token.bearer"
            service = self.desk.create("connected_service", name="outputs", extension_id=kind)["id"]
            self.desk.create("connected_account", name="outputs", uri="outputs", owner__context="app", owner_id=0,
                             service_id=service, params={"token": SECRET})  # fmt: skip
        return "svc:connected_account:outputs"

    def ticket(self) -> int:
        group = self.desk.found("group", "default:yes")[0]
        return self.desk.own("ticket", subject="Pump", group_id=group)

    def token(self) -> str:
        ctx = self.desk.context()
        app = self.desk.create("oauth_app", name="Shop", callback_url="https://shop.example/")["id"]
        worker = self.desk.found("worker", "firstName:Nora")[0]
        return self.desk.store.write(lambda tx: tokens.issue(tx, app, worker, ("api",), ctx.now + 60, ctx.now))

    def called(self) -> Any:
        trigger = "svc.trigger.automation.function"
        self.desk.create("automation", name="outputs.f", extension_id=trigger, script="start:\n  return:\n    sku: A-1")
        script = "start:\n  function:\n    uri: outputs.f\n    output: o\n"
        return plain(engine.run(Script(script, ALLOW), {}, ServiceHost(self.desk.context())).variables["o"])

    def macro(self) -> int:
        script = "start:\n  return:\n    note: Done.\n"
        fields = {"name": "outputs.macro", "extension_id": "svc.trigger.ticket.macro", "script": script}
        return int(self.desk.create("automation", **fields)["id"])

    def expanded(self) -> Any:
        script = (
            f"start:\n  record.get:\n    output: task\n    inputs:\n      record_type: task\n"
            f"      record_id: {self.task()}\n"
            "  var.expand:\n    output: o\n    inputs:\n      key: task\n      paths: owner_first_name\n"
        )
        run = engine.run(Script(script, ALLOW), {}, ServiceHost(self.desk.context()))
        assert run.state == "exit", run.message
        return run.variables["o"]


VALIDATE = "svc.commands.oauth2.token.validate"
TASK = {"record_type": "task"}
RUNS: dict[str, Callable[[Runs], list[Any]]] = {
    "api.command": lambda run: [
        run("api.command", name=VALIDATE, params={"token": run.token()}),
        run("api.command", name=VALIDATE, params={"token": "nobody's"}),
    ],
    "data.query": lambda run: [run("data.query", query="type:worklist.subtotals of:ticket by:[group]")],
    "email.parse": lambda run: [run("email.parse", message=MAIL)],
    "file.read": lambda run: [run("file.read", uri=run("file.write", content="sku,n")["uri"])],
    "file.write": lambda run: [run("file.write", content="a"), run("file.write", content="a", name="a.csv")],
    "function": lambda run: [run.called()],
    "http.request": lambda run: [
        run("http.request", url=f"{run.url}/text"), run("http.request", url=f"{run.url}/bytes"),
        run("http.request", url=f"{run.url}/late", retry=1), run("http.request", url=f"{run.url}/large"),
    ],
    "kata.parse": lambda run: [run("kata.parse", kata="size: 7")],
    "metric.increment": lambda run: [run("metric.increment", metric_name="shop.orders")],
    "queue.push": lambda run: [run("queue.push", queue_name="orders", messages=[{"sku": "A-1"}])],
    "queue.pop": lambda run: [run("queue.pop", queue_name="orders", limit=5)],
    "record.create": lambda run: [run("record.create", **TASK, fields={"title": "Pump"})],
    "record.delete": lambda run: [run("record.delete", **TASK, record_id=run.task())],
    "record.get": lambda run: [run("record.get", **TASK, record_id=run.task())],
    "record.search": lambda run: [run("record.search", **TASK, record_query="title:Pump")],
    "record.update": lambda run: [run("record.update", **TASK, record_id=run.task(), fields={"title": "Hose"})],
    "record.upsert": lambda run: [run("record.upsert", **TASK, record_query="title:New", fields={"title": "New"})],
    "signature.verify": lambda run: [
        run("signature.verify", account=run.account(), algorithm="plain", signature=SECRET)
    ],
    "storage.delete": lambda run: [run("storage.delete", key="outputs")],
    "storage.get": lambda run: [run("storage.get", key="outputs", default={"sku": "A-1"})],
    "storage.set": lambda run: [
        run("storage.set", key="outputs", value="a"), run("storage.set", key="outputs", value="b", if_absent=1)
    ],
    "ticket.assign": lambda run: [run("ticket.assign", ticket_id=run.ticket())],
    "ticket.create": lambda run: [run("ticket.create", **{"from": "ana@kite.example"}, subject="Pump", content="It")],
    "ticket.macro": lambda run: [
        run("ticket.macro", ticket_id=run.ticket(), automation_id=run.macro(), worker_id=1)
    ],
    "ticket.notify": lambda run: [run("ticket.notify", ticket_id=run.ticket(), to=["worker:1"], message="Look")],
    "var.expand": lambda run: [run.expanded()],
    "var.push": lambda run: [run("var.push", key="list", value="red"), run("var.push", key="m", value={"a": 1})],
    "var.set": lambda run: [run("var.set", key="a:b", value="A-1")],
    "var.unset": lambda run: [run("var.unset", key="a"), run("var.unset", key=["a", "b"])],
}  # fmt: skip
FAILING = frozenset(("decrypt.pgp", "encrypt.pgp"))


def test_every_command_declares_its_output_and_is_run_here() -> None:
    assert set(OUTPUTS) == set(commands.load()) == set(COMMANDS) == set(RUNS) | FAILING


@pytest.mark.parametrize("name", RUNS)
def test_an_output_has_the_documented_keys(desk: Desk, peer: Peer, name: str) -> None:
    declared = OUTPUTS[name]
    outputs = RUNS[name](Runs(desk, peer.url("")))
    seen: set[str] = set()
    always = {key for key in declared.keys if not key.endswith("?") and key != ANY_KEY}
    known = {key.rstrip("?") for key in declared.keys} - {ANY_KEY}
    for each in outputs:
        keys = set(each) if isinstance(each, dict) else set()
        assert always <= keys, (name, keys)
        assert ANY_KEY in declared.keys or keys <= known, (name, keys - known)
        seen |= keys
    assert known <= seen, (name, known - seen)
    kinds = {type(each) for each in outputs}
    assert type(declared.example) in kinds, (name, kinds)


@pytest.mark.parametrize("name", sorted(FAILING))
def test_a_command_without_an_output_always_fails(desk: Desk, name: str) -> None:
    inputs = {"public_keys": {"a": "b"}} if name == "encrypt.pgp" else {}
    assert "not available" in refused(desk, name, message="x", **inputs)


@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_the_example_of_an_output_has_its_keys(name: str) -> None:
    declared, example = OUTPUTS[name], OUTPUTS[name].example
    json.dumps(example)
    if isinstance(example, dict) and ANY_KEY not in declared.keys:
        assert {key.rstrip("?") for key in declared.keys} >= set(example)
        assert {key for key in declared.keys if not key.endswith("?")} <= set(example)
    assert all(note.endswith(".") for note in (declared.holds, *declared.keys.values()))
