"""Commands on queries, stored values, queues, metrics, mail, and commands called by name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from server.access import tokens
from server.automation import data_queries, engine, file_contents, queues, stored_values
from server.automation.automation_service import ServiceHost
from server.automation.host import Script, StandaloneHost
from server.automation.types.queue_parts.messages import MAX_DELIVERIES, QUEUE_MESSAGE
from server.record_types.metrics.metric_samples import METRIC_SAMPLE
from server.records.metrics import builtin
from server.records.usage_flush import write_notes
from tests.automation.cases.case import ALLOW
from tests.automation.commanding import Failed, done, ran, refused
from tests.automation.test_commands_records import everything
from tests.records.desk import NOW, Desk

assert data_queries.invoke  # registers the invoker


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("commands"))
    opened.people()
    opened.create("queue", name="orders")
    opened.create("metric", name="shop.sales", dimensions_kata="text/shop:")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def empty(desk: Desk) -> None:
    desk.store.write(lambda tx: (tx.delete(QUEUE_MESSAGE), tx.delete(stored_values.STORED), tx.delete(METRIC_SAMPLE)))


# -- data queries -----------------------------------------------------------------------------------------------------


def test_a_query_returns_its_values(desk: Desk) -> None:
    q = "type:worklist.metrics values.n:(of:worker query:(firstName:${name}) label:${label})"
    found = done(desk, "data.query", query=q, query_params={"name": "Nora", "label": "a b"})
    assert found["data"]["rows"] == [found["data"]["rows"][0]] and found["data"]["rows"][0]["value"] == 1
    assert 'firstName:"Nora"' in json.dumps(found).replace("\\", "")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("type:record.typos", "did you mean 'record.types'"),
        ("type:${t}", "there is no value for ${t}"),
        ("type:worklist.metrics values.n:(of:worker query:(firstName:${q}))", "a double quote"),
        ("", "must not be empty"),
    ],
)
def test_invalid_queries_are_reported(desk: Desk, query: str, message: str) -> None:
    assert message in refused(desk, "data.query", query=query, query_params={"q": 'a"b'})


@pytest.mark.parametrize(
    ("query", "is_allowed"),
    [
        ("type:record.types", True),
        ("type:${type}", True),
        ("type:ui.icons", False),
        ("format:(type:record.types) type:ui.icons", False),
        ('timezone:"type:record.types" type:ui.icons', False),
        ("type :record.types", False),
    ],
)
def test_policies_see_the_queried_type(desk: Desk, query: str, is_allowed: bool) -> None:
    policy = 'commands:\n  data.query:\n    allow@bool: {{query.type == "record.types"}}'
    inputs = {"query": query, "query_params": {"type": "record.types"}}
    found = ran(desk, {"c1": ("data.query", inputs)}, policy)
    assert ("no rule allows it" not in found.message) is is_allowed, found.message


# -- stored values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["text", "", 5, 2.5, [], ["a", {"b": None}], {"a": {"b": [True]}}, "\N{KITE}", "b\udcffytes"]
)
def test_values_are_returned_as_stored(desk: Desk, value: Any) -> None:
    assert done(desk, "storage.set", key="k\N{KITE}", value=value) == {"key": "k\N{KITE}", "expires": 0}
    assert done(desk, "storage.get", key="k\N{KITE}") == value
    assert done(desk, "storage.delete", key="k\N{KITE}") is True
    assert "there is no value" in refused(desk, "storage.get", key="k\N{KITE}")
    assert done(desk, "storage.get", key="k\N{KITE}", default=value) == value


def test_values_expire(desk: Desk) -> None:
    assert done(desk, "storage.set", key="k", value="v", expires="+1 hour")["expires"] == NOW + 3600
    assert done(desk, "storage.set", key="other", value="v", expires="never")["expires"] == 0
    later = replace(desk.context(), now=NOW + 3600)
    assert stored_values.get(replace(later, now=NOW + 3599), "k") == (True, "v")
    assert stored_values.get(later, "k") == (False, None)
    assert stored_values.forget_expired(desk.service, NOW) == NOW + 3600
    assert stored_values.forget_expired(desk.service, NOW + 3600) is None
    assert [row[0] for row in desk.read(lambda tx: tx.find(stored_values.STORED))] == ["other"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"key": "", "value": 1}, "'key' must not be empty"),
        ({"key": "k" * 2049, "value": 1}, "at most 2,048"),
        ({"key": "k"}, "needs the input 'value'"),
        ({"key": "k", "value": True}, "must be a text, a number"),
        ({"key": "k", "value": None}, "must be a text, a number"),
        ({"key": "k", "value": "v", "expires": "gibberish"}, "the input 'expires'"),
        ({"key": "k", "value": "v" * stored_values.MAX_VALUE_CHARS}, "at most 1,048,576"),
        ({"key": "a\udcff", "value": 1}, "bytes that are not text"),
    ],
)
def test_values_that_cannot_be_stored_are_reported(desk: Desk, inputs: dict[str, Any], message: str) -> None:
    assert message in refused(desk, "storage.set", **inputs)


def test_the_number_of_values_is_limited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_values, "MAX_VALUES", 1)
    done(desk, "storage.set", key="k", value=1)
    done(desk, "storage.set", key="k", value=2)
    assert "1 values are already stored" in refused(desk, "storage.set", key="other", value=1)


# -- queues -----------------------------------------------------------------------------------------------------------


def push(desk: Desk, *messages: Any, **more: Any) -> Any:
    return done(desk, "queue.push", queue_name="orders", messages=list(messages), **more)


def waiting(desk: Desk, now: int = NOW) -> list[Any]:
    """Returns the messages that a consumer would get."""
    ctx = replace(desk.context(), now=now)
    consumer, found = queues.pop(ctx, "orders", queues.MAX_TAKEN)
    queues.settle(ctx, consumer, is_done=False)
    desk.store.write(
        lambda tx: [
            tx.update(QUEUE_MESSAGE, row[0], {"available_at": NOW, "deliveries": 0})
            for row in tx.find(QUEUE_MESSAGE)
            if row[QUEUE_MESSAGE.position["deliveries"]]
        ]
    )
    return [each.data for each in found]


def test_messages_are_delivered_once_and_in_order(desk: Desk) -> None:
    uuids = push(desk, "a", {"b": 1}, [2])
    assert [len(each) for each in uuids] == [32, 32, 32] and all(int(each, 16) for each in uuids)
    found = done(desk, "queue.pop", queue_name="orders", limit=2)
    assert found["consumer_id"].startswith("0x") and int(found["consumer_id"], 16)
    assert found["messages"] == {
        uuids[0]: {"queue": "orders", "data": "a", "available_at": NOW},
        uuids[1]: {"queue": "orders", "data": {"b": 1}, "available_at": NOW},
    }
    assert list(done(desk, "queue.pop", queue_name="orders")["messages"]) == [uuids[2]]
    assert done(desk, "queue.pop", queue_name="orders")["messages"] == {}
    assert desk.read(lambda tx: tx.find(QUEUE_MESSAGE)) == []


def test_messages_may_be_delayed(desk: Desk) -> None:
    push(desk, "later", available_at="+5 minutes")
    push(desk, "now")
    assert waiting(desk) == ["now"]
    assert waiting(desk, NOW + 300) == ["now", "later"]


POP = {"taken": ("queue.pop", {"queue_name": "orders"})}


@pytest.mark.parametrize(
    ("after", "state", "is_back"),
    [
        ("", "exit", False),
        ("  return:\n", "return", False),
        ("  await:\n    until: 5", "await", False),
        ("  error: no", "failure", True),
    ],
)
def test_messages_of_a_failed_run_are_delivered_again(desk: Desk, after: str, state: str, is_back: bool) -> None:
    push(desk, "a")
    assert ran(desk, POP, after=after).state == state
    assert waiting(desk) == []
    assert waiting(desk, NOW + queues.RETRY_SECONDS) == (["a"] if is_back else [])


def test_a_function_claims_messages_for_its_caller(desk: Desk) -> None:
    script = "start:\n  queue.pop:\n    output: x\n    inputs:\n      queue_name: orders\n  error: inner"
    desk.create(
        "automation", name="taker", extension_id="svc.trigger.automation.function", script=script, policy_kata=ALLOW
    )
    caller = "start:\n  function:\n    uri: taker\n    on_error:\n      log: handled\n"
    for ending, left in (("  error: outer", ["a"]), ("", [])):
        desk.store.write(lambda tx: tx.delete(QUEUE_MESSAGE))
        push(desk, "a")
        engine.run(Script(caller + ending, ALLOW), {}, ServiceHost(desk.context()))
        assert waiting(desk, NOW + 100) == left


def test_a_message_of_a_lost_run_is_redelivered_a_limited_number_of_times(desk: Desk) -> None:
    push(desk, "a")
    at = NOW
    for _ in range(MAX_DELIVERIES):
        assert [each.data for each in queues.pop(replace(desk.context(), now=at), "orders")[1]] == ["a"]
        assert queues.pop(replace(desk.context(), now=at + queues.LEASE_SECONDS - 1), "orders")[1] == []
        at += queues.LEASE_SECONDS
    assert queues.pop(replace(desk.context(), now=at), "orders")[1] == []
    kept = queues.KEPT_DAYS * queues.DAY_SECONDS
    queues.forget_undeliverable(desk.service, at + kept)
    assert len(desk.read(lambda tx: tx.find(QUEUE_MESSAGE))) == 1
    queues.forget_undeliverable(desk.service, at + kept + 1)
    assert desk.read(lambda tx: tx.find(QUEUE_MESSAGE)) == []


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("queue.push", {"queue_name": "order", "messages": [1]}, "did you mean 'orders'"),
        ("queue.push", {"queue_name": "orders", "messages": []}, "must not be empty"),
        ("queue.push", {"queue_name": "orders", "messages": "a"}, "takes a list"),
        ("queue.push", {"queue_name": "orders", "messages": [1] * 1001}, "at most 1,000"),
        ("queue.push", {"queue_name": "orders", "messages": ["x" * 300_000]}, "at most 262,144"),
        ("queue.push", {"queue_name": "orders", "messages": [1], "available_at": "soonish"}, "'available_at'"),
        ("queue.pop", {"queue_name": "order"}, "did you mean 'orders'"),
        ("queue.pop", {"queue_name": "orders", "limit": 0}, "is not 1 to 250"),
        ("queue.pop", {"queue_name": "orders", "limit": "many"}, "must be a number"),
    ],
)
def test_mistakes_with_queues_are_reported(desk: Desk, name: str, inputs: dict[str, Any], message: str) -> None:
    assert message in refused(desk, name, **inputs)


def test_messages_are_limited_and_deleted_with_their_queue(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    id = desk.create("queue", name="short")["id"]
    monkeypatch.setattr(queues, "MAX_WAITING", 2)
    done(desk, "queue.push", queue_name="short", messages=[1, 2])
    assert "at most 2 messages" in refused(desk, "queue.push", queue_name="short", messages=[3])
    desk.delete("queue", id)
    assert desk.read(lambda tx: tx.find(QUEUE_MESSAGE)) == []


# -- metrics ----------------------------------------------------------------------------------------------------------


def samples(desk: Desk) -> list[Any]:
    """Returns (dimensions, count, sum) per day."""
    rows = desk.read(lambda tx: tx.find(METRIC_SAMPLE, seconds=86400))
    return [(json.loads(row[3]), row[4], row[5]) for row in rows]


@pytest.mark.parametrize("is_realtime", [False, True])
@pytest.mark.parametrize(
    ("values", "count", "total"),
    [({}, 1, 1), ({"values": 5}, 1, 5), ({"values": "2.5"}, 1, 2.5), ({"values": [1, 2, "3"]}, 3, 6),
     ({"values": {"a": 1, "b": 2}}, 2, 3)],
)  # fmt: skip
def test_samples_are_stored(desk: Desk, values: dict[str, Any], count: int, total: float, is_realtime: bool) -> None:
    dimensions = {"shop": "Oslo"}
    response = done(
        desk, "metric.increment", metric_name="shop.sales", dimensions=dimensions, is_realtime=is_realtime, **values
    )
    assert response == []
    if not is_realtime:
        assert samples(desk) == []
        write_notes(desk.service, NOW)
    assert samples(desk) == [(dimensions, count, total)]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"metric_name": "shop.sale"}, "did you mean 'shop.sales'"),
        ({"metric_name": "shop.sales", "dimensions": {"shpo": 1}}, "did you mean 'shop'"),
        ({"metric_name": "shop.sales", "values": "many"}, "takes numbers"),
        ({"metric_name": "shop.sales", "values": [1, "1e999"]}, "takes numbers"),
        ({"metric_name": "shop.sales", "values": [1] * 1001}, "at most 1,000"),
        ({"metric_name": "shop.sales", "timestamp": "soonish"}, "'timestamp'"),
    ],
)
def test_mistakes_with_metrics_are_reported(desk: Desk, inputs: dict[str, Any], message: str) -> None:
    assert message in refused(desk, "metric.increment", **inputs)


# -- mail -------------------------------------------------------------------------------------------------------------

MAIL = "From: ana@buyer.example\r\nTo: desk@desk.example\r\nSubject: Printer\r\nMessage-Id: <1@x>\r\n\r\nOn fire\r\n"


def test_a_mail_becomes_a_ticket(desk: Desk) -> None:
    script = """
start:
  email.parse:
    output: ticket
    inputs:
      message@key: mail
  return:
    subject: {{ticket.subject}}
    id@key: ticket:id
"""
    found = engine.run(Script(script, ALLOW), {"mail": MAIL}, ServiceHost(desk.context()))
    assert found.returned["subject"] == "Printer", found.message
    assert done(desk, "email.parse", message=MAIL)["id"] == found.returned["id"]
    assert "has no sender" in refused(desk, "email.parse", message="Subject: x\r\n\r\nhello")
    assert "is not run in a simulation" in ran(desk, {"c1": ("email.parse", {"message": MAIL})}, dry=True).message


FORM = {"from": "Ana <ana@buyer.example>", "subject": "Printer", "content": "On fire"}


def test_a_form_becomes_a_ticket(desk: Desk) -> None:
    made = done(desk, "ticket.create", **FORM, external_id="order-17")
    ticket = desk.row("ticket", made["id"])
    assert ticket["subject"] == "Printer"
    assert desk.row("message", ticket["latest_message_id"])["content"].strip() == "On fire"
    assert done(desk, "ticket.create", **FORM, external_id="order-17")["id"] == made["id"]
    assert done(desk, "ticket.create", **FORM)["id"] != made["id"]
    assert "must be one line" in refused(desk, "ticket.create", **FORM | {"subject": "x\nBcc: y@buyer.example"})
    assert "is not a custom field" in refused(desk, "ticket.create", **FORM, custom_fields={"nosuch": 1})
    assert "is not run in a simulation" in ran(desk, {"c1": ("ticket.create", FORM)}, dry=True).message


# -- by name ----------------------------------------------------------------------------------------------------------


def test_tokens_are_validated(desk: Desk) -> None:
    app = desk.create("oauth_app", name="Shop", callback_url="https://shop.example/")
    worker = desk.found("worker", "firstName:Nora")[0]
    token = desk.store.write(lambda tx: tokens.issue(tx, app["id"], worker, ("api",), NOW + 60, NOW))
    old = desk.store.write(lambda tx: tokens.issue(tx, app["id"], worker, ("api",), NOW, NOW))
    name = "svc.commands.oauth2.token.validate"
    found = done(desk, "api.command", name=name, params={"token": token})
    assert {key: found[key] for key in ("token_type", "token_expires_at", "token_scopes", "app_id", "worker_id")} == {
        "token_type": "access", "token_expires_at": NOW + 60, "token_scopes": ["api"], "app_id": app["id"],
        "worker_id": worker,
    }  # fmt: skip
    assert done(desk, "api.command", name=name, params={"token": "nonsense"}) == {}
    assert "has expired" in refused(desk, "api.command", name=name, params={"token": old})


def test_vectors_are_compared(desk: Desk) -> None:
    lines = [
        {"id": "east", "v": [1, 0]}, {"id": "north", "v": [0, 2]}, {"id": "west", "v": [-1, 0]}, {"id": "no"},
        {"id": "long", "v": [1, 2, 3]}, {"id": "nothing", "v": [0, 0]}, {"id": "huge", "v": [1.7e308, 1.7e308]},
    ]  # fmt: skip
    uri = file_contents.store(desk.context(), "\n".join(map(json.dumps, lines)).encode(), "text/plain")["uri"]
    params = {"uri": uri, "vector": [3, 0], "embeddings_key": "v"}
    found = done(desk, "api.command", name="svc.commands.dataset.vector_similarity", params=params | {"limit": 2})
    assert [(each["data"], round(each["score"], 6)) for each in found["matches"]] == [
        ({"id": "east"}, 1.0),
        ({"id": "north"}, 0.0),
    ]


VECTORS = "svc.commands.dataset.vector_similarity"


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("svc.commands.oauth2.token.validat", {}, "did you mean 'svc.commands.oauth2.token.validate'"),
        ("svc.commands.oauth2.token.validate", {}, "needs 'token'"),
        ("svc.commands.oauth2.token.validate", {"tokne": 1}, "did you mean 'token'"),
        ("svc.commands.worklist.search", {"worklist_id": 1}, "not available on this installation"),
        ("svc.commands.worklist.explorer.create", {"title": "x"}, "not available on this installation"),
        (VECTORS, {"vector": [1], "embeddings_key": "v"}, "needs 'uri'"),
        (VECTORS, {"uri": "svc:resource:none", "vector": [1], "embeddings_key": "v"}, "there is no resource 'none'"),
        (VECTORS, {"uri": "svc:task:1", "vector": [1], "embeddings_key": "v"}, "is not a file"),
        (VECTORS, {"uri": "x", "vector": [0], "embeddings_key": "v"}, "not all 0"),
        (VECTORS, {"uri": "x", "vector": [1], "embeddings_key": "v", "limit": 501}, "from 1 to 500"),
    ],
)
def test_mistakes_with_names_are_reported(desk: Desk, name: str, params: dict[str, Any], message: str) -> None:
    assert message in refused(desk, "api.command", name=name, params=params)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [("encrypt.pgp", {"message": "x", "public_keys": {"id/1": 1}}), ("decrypt.pgp", {"message": "x"})],
)
def test_there_are_no_keys(desk: Desk, name: str, inputs: dict[str, Any]) -> None:
    assert "has no PGP keys" in refused(desk, name, **inputs)


# -- all --------------------------------------------------------------------------------------------------------------

WRITING = [
    ("storage.set", {"key": "k", "value": 1}),
    ("storage.delete", {"key": "kept"}),
    ("queue.push", {"queue_name": "orders", "messages": [1]}),
    ("queue.pop", {"queue_name": "orders"}),
    ("metric.increment", {"metric_name": "shop.sales", "is_realtime": True}),
    ("metric.increment", {"metric_name": "shop.sales"}),
]
ASKING = [
    ("storage.get", {"key": "k"}),
    ("data.query", {"query": "type:record.types"}),
    ("api.command", {"name": "svc.commands.oauth2.token.validate"}),
    ("email.parse", {"message": MAIL}),
    ("ticket.assign", {"ticket_id": 1}),
    ("ticket.create", FORM),
    ("ticket.notify", {"ticket_id": 1, "to": ["owner"], "message": "Look"}),
    ("file.read", {"uri": "svc:attachment:1"}),
    ("file.write", {"content": "x"}),
]


@pytest.mark.parametrize(("name", "inputs"), WRITING)
def test_a_dry_run_writes_nothing(desk: Desk, name: str, inputs: dict[str, Any]) -> None:
    push(desk, "a")
    done(desk, "storage.set", key="kept", value=1)
    builtin.prepare(desk.context())
    write_notes(desk.service, NOW)
    before = everything(desk)
    real = done(desk, name, dry=True, **inputs)
    assert bool(real) is (name != "metric.increment")
    write_notes(desk.service, NOW)
    assert everything(desk) == before


@pytest.mark.parametrize(("name", "inputs"), [*WRITING, *ASKING])
def test_without_a_service_they_fail_with_a_message(name: str, inputs: dict[str, Any]) -> None:
    script = f"start:\n  {name}:\n    output: o\n    inputs@key: given"
    found = engine.run(Script(script, ALLOW), {"given": inputs}, StandaloneHost())
    assert found.state == "failure" and "needs a running service" in found.message


@pytest.mark.parametrize(("name", "inputs"), [*WRITING, *ASKING])
def test_without_a_policy_they_are_refused(desk: Desk, name: str, inputs: dict[str, Any]) -> None:
    with pytest.raises(Failed, match="no rule allows it"):
        done(desk, name, policy="", **inputs)
