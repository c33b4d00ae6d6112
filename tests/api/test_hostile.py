"""Searches and data queries designed to exhaust the server: each ends with its error, and other callers are served."""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from server import app
from server.access.service_actor import own_context
from server.counting.subtotals import MAX_VALUES
from server.records.writing import RecordWriter
from server.settings import load
from server.store.transaction import Transaction
from tests import databases
from tests.service import Api, Reply, Server, people

pytestmark = pytest.mark.exhaustive("hostile input for every endpoint")

TICKETS = 30_000
QUERY = "/rest/data/query.json"
TEXT_CHARS = 200  # characters of each subject and custom text, nearly all zeros
SECONDS = 3  # limit of a search on this server
MILO = "milo"  # a worker who may not read everything


def _fill(tx: Transaction) -> None:
    """Inserts tickets with long subjects, a distinct text for each, and links from each to the next."""
    execute = tx.connection.execute
    ids = f"WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < {TICKETS}) "
    group, bucket = execute('SELECT group_id, id FROM "bucket" LIMIT 1').fetchone()
    (field,) = execute("SELECT id FROM custom_field WHERE uri = 'kiln_mark'").fetchone()
    long = f"'{'0' * TEXT_CHARS}' || id"
    text = f"right({long}, {TEXT_CHARS})" if databases.is_postgresql() else f"substr({long}, -{TEXT_CHARS})"
    execute(
        f"{ids} INSERT INTO ticket (id, subject, mask, group_id, bucket_id, created, updated) "
        f"SELECT id, {text}, 'KLN-' || id, {group}, {bucket}, 1500000000 + 6000 * id, 0 FROM n"
    )
    execute(
        f"{ids} INSERT INTO custom_value (field_id, record_id, place, text) SELECT {field}, id, 0, {text} FROM n",
    )
    execute(
        f"{ids} INSERT INTO link (from_context, from_id, to_context, to_id) "
        f"SELECT 'svc.contexts.ticket', id, 'svc.contexts.ticket', id % {TICKETS} + 1 FROM n"
    )


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """nora's client of a server with many tickets, whose searches may take a few seconds."""
    folder = tmp_path_factory.mktemp("hostile") / "data"
    service = app.open_service(load({"data": str(folder), "read_seconds": "120"}, {}))
    values = {"context": "svc.contexts.ticket", "name": "Kiln mark", "uri": "kiln_mark", "type": "S", "params": {}}
    service.store.write(lambda tx: RecordWriter(own_context(service), tx).create("custom_field", values))
    service.store.write(_fill)
    service.store.close()
    server = Server(folder, env={"HELPDESK_READ_SECONDS": str(SECONDS)})
    nora = server.set_up()
    people(nora)
    nora.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no").ok()
    yield nora
    assert server.stop() == 0


def slow(term: str, times: int = 150) -> str:
    """Returns a search of many terms, each of which scans every character of every record."""
    return " OR ".join(term.replace("#", f"*0{number}x*") for number in range(times))


SLOW = slow("subject:#")
Ask = Callable[[Api], Reply]


def searching(q: str, **params: object) -> Ask:
    return lambda api: api.search("ticket", q, **params)


def asking(q: str) -> Ask:
    return lambda api: api.call("POST", QUERY, data=q.encode(), headers={"Content-Type": "text/plain"})


# The request, its final status, and a part of its message.
ENDLESS: dict[str, tuple[Ask, int, str]] = {
    "leading wildcards": (searching(SLOW), 504, "time limit"),
    "what no index helps with": (searching("!(" * 7 + SLOW + ")" * 7), 504, "time limit"),
    "custom texts": (searching(slow("kiln_mark:#")), 504, "time limit"),
    "links of links": (searching(slow("links.ticket:all(subject:#)", 90)), 504, "time limit"),
    "order by a custom field": (searching(f"{SLOW} sort:-kiln_mark", limit=500, page=2000), 504, "time limit"),
    "counts by custom fields": (searching(SLOW, subtotals=["kiln_mark", "links", "watchers"]), 504, "time limit"),
    "an upsert": (lambda api: api.upsert("ticket", SLOW, subject="Kiln"), 504, "time limit"),
    "a data query": (asking(f"type:worklist.subtotals timeout:2500 of:ticket by:[kiln_mark,subject] query:({SLOW})"),
                     422, "longer than 2500 ms"),
    "many series": (asking("type:worklist.series timeout:2500 " + " ".join(
        f"series.s{number}:(of:ticket x:created@minute query:({slow('subject:#', 15)}))" for number in range(10))),
        422, "longer than 2500 ms"),
}  # fmt: skip


@pytest.mark.sqlite("what runs on the event loop")
def test_others_are_served_before_an_endless_query_ends(crowded: Api) -> None:
    """All of them at once, more than there are threads: cheap requests are served by the event loop."""
    clients = [Api(crowded.url, crowded.token) for _ in ENDLESS]
    with ThreadPoolExecutor(len(ENDLESS)) as threads:
        begun: dict[str, Future[Reply]] = {
            name: threads.submit(ask, client)
            for client, (name, (ask, _, _)) in zip(clients, ENDLESS.items(), strict=True)
        }
        answered = 0
        milo, little = crowded.as_(MILO), itertools.cycle(("/rest/workers/me.json", "/rest/records/ticket/7.json"))
        while not any(each.done() for each in begun.values()):
            milo.get(next(little)).ok()
            answered += not any(each.done() for each in begun.values())
        ends = {name: each.result() for name, each in begun.items()}
    assert answered > 0
    found = {name: (reply.status, ENDLESS[name][2] in reply["message"]) for name, reply in ends.items()}
    assert found == {name: (status, True) for name, (_, status, _) in ENDLESS.items()}
    assert crowded.search("ticket", "").ok()["total"] == TICKETS, "an upsert that ran out of time changed nothing"
    crowded.create("task", title="Written afterwards").ok()


def test_the_most_frequent_of_many_values_are_counted(crowded: Api) -> None:
    for id in (5, 500, 25_000):
        crowded.update("ticket", id, kiln_mark="Rare").ok()
    crowded.update("ticket", 7, kiln_mark="rare").ok()
    counted = crowded.search("ticket", "", subtotals="kiln_mark", limit=1).ok()["subtotals"]["kiln_mark"]
    # PostgreSQL groups texts that differ only in case, and shows the one that it reads first.
    labels = ("Rare", "rare") if databases.is_postgresql() else ("Rare",)
    assert counted[0]["label"] in labels and counted[0]["hits"] == 4 and len(counted) == MAX_VALUES


# For a caller who may not read everything, each term of these checks the rules of all types.
REFUSED = [
    ("ticket", "links:any", 60),
    ("ticket", "links.attachment:!(id:1)", 60),
    ("comment", "on.comment:(id:1)", 60),
    ("attachment", "on.comment:(on.ticket:(links.task:(links.org:(id:1))))", 40),
    ("activity_log", "target.attachment:(on.comment:(on.attachment:(id:1)))", 40),
]


@pytest.mark.parametrize(("uri", "term", "times"), REFUSED)
def test_excessive_searches_are_refused_before_they_run(crowded: Api, uri: str, term: str, times: int) -> None:
    milo = crowded.as_(MILO)
    assert milo.search(uri, term).status != 422  # on a busy machine it may reach its time limit
    refused = milo.search(uri, " OR ".join([term] * times))
    assert refused.status == 422 and "too many other records" in refused["message"]
    assert crowded.search(uri, " OR ".join([term] * times)).status != 422, "who reads everything needs no rules"


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("(" * 9 + "id:1" + ")" * 9, "8"),
        (" ".join(["id:1"] * 201), "200 terms"),
        ("subject:" + "x" * 8192, "8192"),
        ("subject:[" + ",".join(f"{number}*" for number in range(201)) + "]", "200"),
        ("id:1" + " sort:-nothing", "cannot be sorted"),
    ],
)
def test_searches_that_are_too_long_or_too_deep_are_refused(crowded: Api, q: str, message: str) -> None:
    response = crowded.search("ticket", q)
    assert response.status == 422 and message in response["message"]


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("type:worklist.series series.s:(of:ticket x:created@minute)", "20000"),
        ('type:metrics.timeseries range:"1925-01-01 to 2025-01-01" period:minute series.s:(metric:svc.record.search)',
         "1000 ticks"),
        ("type:calendar.events from:1925-01-01 to:2025-01-01", "190 days"),
        ("type:worklist.subtotals of:ticket by:[id~100000]", "~100000"),
        ("type:worklist.subtotals timeout:1 of:ticket by:[kiln_mark,subject]", "longer than 1 ms"),
        ("type:sample.timeseries " + " ".join(f"series.s{number}:(samples:1)" for number in range(120)), "200 terms"),
    ],
)  # fmt: skip
def test_endless_data_queries_are_refused(crowded: Api, q: str, message: str) -> None:
    response = crowded.get(QUERY, q=q)
    assert response.status == 422 and message in response.response.text, response
