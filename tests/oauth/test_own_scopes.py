"""Scopes with `records: own`: an app that reaches only the records of the worker who authorized it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from server import app as app_module
from server.web.routes import ENDPOINTS, Endpoint
from tests.api.minimal import made
from tests.console.visitor import Visitor, text_of
from tests.oauth.apps import challenge, register
from tests.service import Api, Reply, Server, people
from tests.telling import telling

OWN = """\
mine:
  label: Work with what is yours
  records: own
  endpoints:
    - "*"
"""
BOTH = (
    OWN
    + """\
catalogue:
  label: Read organizations
  endpoints:
    - records/org/*: GET
"""
)
SECRET = "Zanzibar"  # part of every record that belongs to another worker


def app(nora: Api, scopes: str, asked: str, worker: str) -> Api:
    """Returns a client with a token of an app with these scopes, on behalf of a worker."""
    id = made(nora, "oauth_app", name="Own", callback_url="https://own.example/back", scopes=scopes)
    sent = {"worker_id": nora.ids[worker], "app_id": id, "scopes": asked}
    found = Api(nora.url, nora.post("/rest/oauth/tokens/create.json", **sent).ok()["access_token"])
    found.ids = nora.ids
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without records of other modules: an id of others could be that of a record of the worker."""
    started = Server(tmp_path_factory.mktemp("own") / "data")
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    """The administrator's client; milo, olga and dora exist too."""
    client = server.set_up()
    people(client)
    return client


@pytest.fixture(scope="module", params=["nora", "milo"])
def worker(request: pytest.FixtureRequest) -> str:
    """An administrator, and a worker who is not an administrator."""
    return str(request.param)


@pytest.fixture(scope="module")
def mine(nora: Api, worker: str) -> Api:
    return app(nora, OWN, "mine", worker)


def ticket(nora: Api, subject: str, owner: str) -> dict[str, int]:
    """Creates a ticket of a worker; returns the ids of the ticket and its records, by type."""
    parsed = nora.parse(f"From: Ann <ann@own.example>\nSubject: {subject}\n\n{subject} leaks.".encode()).ok()
    id = int(parsed["id"])
    nora.update("ticket", id, owner_id=nora.ids[owner]).ok()
    message = nora.found("message", f"ticket.id:{id}")[0]
    comment = nora.create("comment", comment=f"{subject} note", target__context="ticket", target_id=id).ok()["id"]
    return {"ticket": id, "message": message, "comment": int(comment)}


@pytest.fixture(scope="module")
def own(nora: Api, worker: str) -> dict[str, int]:
    task = int(nora.create("task", title=f"Own {worker}", owner_id=nora.ids[worker]).ok()["id"])
    snippet = {"title": "Own", "content": "x", "owner__context": "worker", "owner_id": nora.ids[worker]}
    return ticket(nora, f"Own {worker}", worker) | {
        "task": task, "worker": nora.ids[worker], "snippet": int(nora.create("snippet", **snippet).ok()["id"]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def others(nora: Api, worker: str) -> dict[str, int]:
    other = nora.ids["olga"]
    names = {"name": f"{SECRET} {worker}"}
    shared = {"title": SECRET, "content": SECRET, "owner__context": "app", "owner_id": 0}
    return ticket(nora, f"{SECRET} {worker}", "olga") | {
        "task": int(nora.create("task", title=SECRET, owner_id=other).ok()["id"]),
        "org": made(nora, "org", **names),
        "group": made(nora, "group", **names),
        "snippet": int(nora.create("snippet", **shared).ok()["id"]),
        "worker": other,
    }  # fmt: skip


def test_own_records_are_read_searched_counted_and_changed(mine: Api, own: dict[str, int]) -> None:
    for uri, id in own.items():
        assert mine.record(uri, id).ok()["id"] == id
        assert id in [each["id"] for each in mine.search(uri, f"id:{id}").ok()["results"]], uri
    mine.update("task", own["task"], title="Own too").ok()
    mine.update("ticket", own["ticket"], subject="Own too").ok()
    assert mine.search("task", "", show_results=0).ok()["total"] == len(mine.found("task", ""))


def test_records_of_others_do_not_exist(mine: Api, own: dict[str, int], others: dict[str, int]) -> None:
    for uri, id in others.items():
        assert mine.record(uri, id).status in (403, 404), uri
        assert mine.search(uri, f"id:{id}").ok()["total"] == 0, uri
        changed = mine.update(
            uri, id, **{{"message": "hash", "comment": "comment", "worker": "location"}.get(uri, "name"): "x"}
        )
        assert changed.status in (403, 404, 422), (uri, changed)
        assert mine.remove(uri, id).status in (403, 404, 405), uri
    assert mine.search("task", "").ok()["total"] == len(mine.found("task", ""))
    counted = mine.search("ticket", "", subtotals=["owner"]).ok()["subtotals"]["owner"]
    assert [each["label"] for each in counted] != [] and all(each["label"] != "Olga" for each in counted)


def test_created_records_belong_to_the_worker(mine: Api, nora: Api, worker: str) -> None:
    before = nora.search("task", "title:Made", show_results=0).ok()["total"]
    assert mine.create("task", title="Made", owner_id=mine.ids["olga"]).status == 422
    assert mine.create("org", name="Made").status == 403
    assert nora.search("task", "title:Made", show_results=0).ok()["total"] == before
    assert mine.create("task", title="Made").ok()["owner_id"] == mine.ids[worker]
    snippet = {"title": "Made", "content": "x", "owner__context": "worker"}
    assert mine.create("snippet", **snippet, owner_id=mine.ids[worker]).ok()
    assert mine.create("snippet", title="Made", content="x", owner__context="app", owner_id=0).status == 403
    composed = mine.compose(to="ann@own.example", subject="Made", content="x", group_id=1).ok()
    assert composed["owner_id"] == mine.ids[worker] and mine.record("ticket", composed["id"]).ok()
    creates = [{"title": "Made", "owner_id": mine.ids["olga"]}, {"title": "Made", "owner_id": mine.ids[worker]}]
    batch = [{"method": "POST", "path": "records/task/create", "params": {"fields": each}} for each in creates]
    answered = mine.post("/rest/batch.json", operations=json.dumps(batch)).ok()["results"]
    assert [each["status"] for each in answered] == [422, 200]


def test_expand_shows_nothing_of_others(mine: Api, others: dict[str, int], nora: Api, worker: str) -> None:
    id = ticket(nora, "Own with others", worker)["ticket"]
    nora.update("ticket", id, org_id=others["org"]).ok()
    nora.post("/rest/contexts/link.json", on=f"ticket:{id}", **{"targets[]": f"task:{others['task']}"}).ok()
    found = mine.record("ticket", id, "org_,group_,owner_,links,latest_message_")
    assert SECRET not in found.response.text
    nora.remove("ticket", id).ok()


def test_records_from_outside_belong_to_no_one(mine: Api) -> None:
    sent = {"from": "ben@own.example", "subject": "From a form", "content": "x"}
    made = mine.post("/rest/tickets/create.json", **sent).ok()
    assert made["is_new_ticket"] and "id" not in made.json and made["notes"]


def test_an_administrator_has_no_administrative_rights(nora: Api) -> None:
    admin = app(nora, OWN, "mine", "nora")
    for method, path, form in (
        ("POST", "oauth/tokens/create", {"worker_id": nora.ids["olga"]}),
        ("POST", "packages/export", {"records[]": "group:1"}),
        ("GET", "records/mailbox/search", {}),
    ):
        response = admin.get(f"/rest/{path}.json") if method == "GET" else admin.post(f"/rest/{path}.json", **form)
        assert response.status == 403 or response["total"] == 0, path


def test_another_scope_reaches_the_records_that_it_names(
    nora: Api, others: dict[str, int], own: dict[str, int], worker: str
) -> None:
    both = app(nora, BOTH, "mine catalogue", worker)
    assert both.record("org", others["org"]).ok()["name"].startswith(SECRET)
    assert both.record("ticket", others["ticket"]).status in (403, 404)
    assert both.update("org", others["org"], name="x").status in (403, 404)
    batch = [
        {"method": "GET", "path": f"records/org/{others['org']}"},
        {"method": "GET", "path": f"records/ticket/{others['ticket']}"},
    ]
    answered = both.post("/rest/batch.json", operations=json.dumps(batch)).ok()["results"]
    assert [each["status"] == 200 for each in answered] == [True, False]


app_module.endpoints()
EVERY = "every endpoint, for an administrator and another worker"
READS = telling(
    {f"{each.method} {each.path}": each for each in ENDPOINTS if each.mode == "read"},
    ("POST records/{uri}/search", "GET records/{uri}/{id}", "GET tickets/{id}", "POST tasks/search", "GET data/query"),
    EVERY,
)
FROM_OUTSIDE = {"tickets/create", "parser/parse"}  # their input comes from other people, as mail does
WRITES = telling(
    {
        f"{each.method} {each.path}": each
        for each in ENDPOINTS
        if each.mode != "read" and each.path not in {"batch", *FROM_OUTSIDE}
    },
    (
        "POST records/{uri}/create", "PUT records/{uri}/{id}", "DELETE records/{uri}/{id}", "PUT tasks/{id}",
        "POST tickets/reply", "POST tickets/merge", "POST contexts/link", "POST tickets/{id}/comment",
    ),
    EVERY,
)  # fmt: skip
ABOUT_WORKER = {
    "notifications/list",
    "notifications/search",
    "notifications/{id}",
}  # notifications addressed to the worker


@pytest.mark.parametrize("endpoint", READS)
def test_no_endpoint_reveals_records_of_others(
    endpoint: Endpoint, mine: Api, own: dict[str, int], others: dict[str, int]
) -> None:
    """Calls an endpoint as a program would, with records of others in every parameter that can name one."""
    if endpoint.path in ABOUT_WORKER:
        return
    for uri, id in others.items():
        response = asked(mine, endpoint.method, endpoint.path, uri, id, others)
        assert SECRET not in response.response.text, (uri, response)


@pytest.mark.parametrize("endpoint", WRITES)
def test_no_endpoint_changes_the_records_of_others(
    endpoint: Endpoint, mine: Api, nora: Api, own: dict[str, int], others: dict[str, int]
) -> None:
    before = state(nora, others)
    for uri, id in others.items():
        response = asked(mine, endpoint.method, endpoint.path, uri, id, others)
        assert SECRET not in response.response.text, (uri, response)
    after = state(nora, others)
    assert {name: (before[name], now) for name, now in after.items() if now != before[name]} == {}


SEEN = (
    "_label", "subject", "title", "name", "content", "comment", "status", "owner_id", "owner__context", "group_id",
    "bucket_id", "org_id", "ticket_id", "message_id", "is_disabled", "is_deleted", "comments", "links", "watchers",
    "requesters", "num_messages_in", "num_messages_out", "latest_message_id",
)  # fmt: skip


def state(nora: Api, records: dict[str, int]) -> dict[str, Any]:
    """Returns the visible fields of these records and the ids of related ones; the scheduler changes other fields."""
    found = {uri: nora.record(uri, id, "comments,links,watchers,requesters,content") for uri, id in records.items()}
    seen = {f"{uri}.{name}": response.json.get(name) for uri, response in found.items() for name in SEEN}
    hanging = {uri: nora.found(uri, f"ticket.id:{records['ticket']}") for uri in ("message", "draft")}
    owned = f"owner.id:!{nora.ids['nora']} owner.id:!{nora.ids['milo']}"
    everything = {"group": nora.found("group", ""), "org": nora.found("org", ""), "ticket": nora.found("ticket", owned)}
    return seen | hanging | everything


def asked(mine: Api, method: str, path: str, uri: str, id: int, others: dict[str, int]) -> Reply:
    filled = path.replace("{uri}", uri).replace("{id}", str(id)).replace("{name}", uri)
    params: dict[str, Any] = {
        "q": "", "limit": 100, "expand": "_label,comments,links,watchers", "on": f"{uri}:{id}", "ticket_id": id,
        "group_id": id, "id": id, "type": uri, "since": 0, "comment": "x", "note": "x", "content": "x",
        "message_id": others["message"], "ticket_ids": f"{id},{others['ticket']}", "to": "a@b.example",
        "email": "a@b.example", "subject": "x", "from": "a@b.example", "targets[]": f"task:{others['task']}",
        "query": f"id:{others['ticket']}" if uri == "ticket" else "", "fields[name]": "x", "message": "Subject: x\n\nx",
        "name": "x", "title": "x", "status": "closed", "worker_id": mine.ids["olga"],
    }  # fmt: skip
    options = {"params": params} if method == "GET" else {"data": params}
    return mine.call(method, f"/rest/{filled}.json", **options)


@pytest.mark.parametrize("of", ["ticket", "task", "org", "message", "worker", "activity_log"])
def test_data_queries_see_own_records(of: str, mine: Api, own: dict[str, int], others: dict[str, int]) -> None:
    for kind in ("worklist.records", "worklist.subtotals by:[id]"):
        response = mine.post("/rest/data/query.json", query=f"type:{kind} of:{of} limit:250 expand:[_label]")
        assert SECRET not in response.response.text, response


def test_events_cover_own_records(mine: Api, nora: Api, worker: str) -> None:
    cursor = nora.get("/rest/changes.json").ok()["cursor"]
    made = [nora.create("task", title="Told", owner_id=nora.ids[name]).ok()["id"] for name in (worker, "olga")]
    told = mine.get("/rest/changes.json", since=cursor, types="task").ok()["results"]
    assert [each["id"] for each in told] == made[:1]
    gone = nora.create("task", title="Gone", owner_id=nora.ids["olga"]).ok()["id"]
    nora.remove("task", gone).ok()
    told = mine.get("/rest/changes.json", since=cursor, types="task").ok()["results"]
    assert gone not in [each["id"] for each in told]


def test_the_consent_page_names_own_records(nora: Api) -> None:
    scopes = OWN.replace('- "*"', "- records/task/*") + "read:\n  label: Read\n  endpoints:\n    - records/org/*: GET\n"
    client = register(nora, scopes=scopes)
    visitor = Visitor(nora.url)
    visitor.sign_in("nora@desk.example")
    shown = text_of(visitor.get("/oauth/authorize?" + urlencode({
        "response_type": "code", "client_id": client.client_id, "scope": "mine read", "state": "s",
        "code_challenge": challenge(), "code_challenge_method": "S256",
    })).text)  # fmt: skip
    assert "It can read: Organizations." in shown and "only your own records" in shown
    assert "Of your own records, it can read: Tasks." in shown and "Of your own records, it can change: Tasks." in shown
