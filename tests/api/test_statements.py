"""The number of statements of a search does not depend on the number of records, whatever it expands."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from server.first_start.builtin_records import add_missing
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry, load
from server.records import records
from tests import telling
from tests.api.direct import direct
from tests.api.minimal import MINIMAL, made
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.telling import telling_types

FORMS = ("links.ticket", "links~25", "links:_label", "comments~5", "comments:author_", "attachments:on", "on:_label",
         "_label", "custom_", "customfields")  # fmt: skip
SIZES = (1, 10, 20)
ROWS = 21  # one more than the largest page, so that each page is full and its total is counted
FEW = 12  # custom record types, each of which adds a table
REGISTRY = load()
SEARCHED = telling_types([each.uri for each in REGISTRY if each.operations["search"]])
FEWER = ("org", "task", *telling.TYPES)  # filled unless every type is tested


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Records of every tested type, each with everything that a record of its type may have: a note, a file, a watcher,
    links and custom values that refer to records. Tickets are in two groups, one of them private."""
    opened = Desk(tmp_path_factory.mktemp("statements"), load())
    people = opened.people()
    people["private"] = opened.create("group", name="Management", is_private=1)["id"]
    opened.ids = people  # type: ignore[attr-defined]
    for record_type in opened.registry:
        if "custom_fields" in record_type.features:
            for name, letter, params in (("rival", "L", {"context": "org"}), ("helper", "W", {})):
                fields = {"context": record_type.uri, "name": name, "type": letter, "params": params}
                made = opened.create("custom_field", **fields, uri=f"{name}_{record_type.uri}")
                people[f"{name} of {record_type.uri}"] = made["id"]
    add_missing(opened.context())
    opened.store.write(lambda tx: _others(opened, people))
    tests = [item for item in request.session.items if item.path == request.path]
    is_exhaustive = any(item.get_closest_marker("exhaustive") for item in tests)
    # One transaction for each type: each record in its own would wait for the disk.
    for uri in opened.registry.uris() if is_exhaustive else FEWER:
        opened.store.write(lambda tx, uri=uri: _populate(opened, people, uri))
    yield opened
    opened.close()


def _others(desk: Desk, people: dict[str, int]) -> None:
    """Creates the records that all types are linked to: `orgs` and `tasks` are the first ids of consecutive rows."""
    for uri, name, label in (("org", "orgs", "name"), ("task", "tasks", "title")):
        made = [desk.create(uri, **{label: f"Kite {number}"})["id"] for number in range(ROWS)]
        people[name] = made[0]


def _populate(desk: Desk, people: dict[str, int], uri: str) -> None:
    if uri == "ticket":
        _tickets(desk, people)
    elif uri in ITS_OWN:
        for number in range(ROWS):
            desk.own(uri, **ITS_OWN[uri](number))
    elif uri in MINIMAL:
        for number in range(FEW if uri == "custom_record" else ROWS):
            _record(desk, direct(desk, people), people, uri, number)


ITS_OWN: dict[str, Callable[[int], dict[str, Any]]] = {
    "automation_log": lambda number: {"automation_name": "kite", "message": f"Step {number}", "level": 6},
    "package": lambda number: {"name": f"Pack {number}", "point": "bot", "uri": f"pack_{number}"},
}


def _record(desk: Desk, api: Api, people: dict[str, int], uri: str, number: int) -> None:
    """Creates a record of a type with all related records; no two of a type share one."""
    org, task = people["orgs"] + number, people["tasks"] + number
    fields: dict[str, Any] = {}
    features = desk.registry.type(uri).features
    if "links" in features:
        fields["links"] = [f"org:{org}", f"task:{task}", f"worker:{people['olga']}"]
    if "custom_fields" in features:
        fields |= {f"rival_{uri}": org, f"helper_{uri}": people["olga"]}
    _around(desk, people, uri, made(api, uri, **fields))


def _around(desk: Desk, people: dict[str, int], uri: str, id: int) -> None:
    features = desk.registry.type(uri).features
    if "comments" in features and uri != "comment":
        note = {"comment": "Note", "author__context": "worker", "author_id": people["milo"]}
        desk.create("comment", by=people["nora"], target__context=uri, target_id=id, **note)
    if "attachments" in features:
        desk.create("attachment", by=people["nora"], name="a.txt", attach=[f"{uri}:{id}"])


def _tickets(desk: Desk, people: dict[str, int]) -> None:
    for number in range(ROWS):
        org = desk.create("org", name=f"Org {number}")["id"]
        address = desk.create("address", email=f"ole{number}@kite.example", org_id=org)["id"]
        contact = desk.create("contact", first_name="Ana", email_id=address, org_id=org)["id"]
        group = people["private" if number % 5 == 4 else "support"]
        ticket = desk.create(
            "ticket", subject=f"Pump {number}", group_id=group, org_id=org,
            participants=f"ole{number}@kite.example", rival_ticket=org, helper_ticket=people["olga"],
            links=[f"org:{org}", f"contact:{contact}", f"worker:{people['olga']}"],
        )["id"]  # fmt: skip
        desk.update("ticket", ticket, owner_id=people["milo" if number % 5 != 4 else "nora"])
        for is_outgoing in (0, 1):
            message = desk.create(
                "message", ticket_id=ticket, sender_id=address, content="Pump", headers="From: ole@kite.example\r\n",
                worker_id=people["milo"] if is_outgoing else 0, is_outgoing=is_outgoing,
            )["id"]  # fmt: skip
            _around(desk, people, "message", message)
        _around(desk, people, "ticket", ticket)
        whose = {"worker_id": people["milo"], "group_id": group, "address_id": address, "contact_id": contact}
        desk.own("rating", ticket_id=ticket, score="good", nonce=str(number), **whose)


def statements(desk: Desk, worker: str, record_type: RecordType, expand: str, limit: int) -> tuple[int, int]:
    """Returns the number of results of a search, newest first, and the number of statements."""
    order = "sort:-id" if "id" in record_type.sort_names() else ""
    asked = records.SearchRequest(order, limit=limit, expand=expand)
    ctx = desk.context(desk.ids[worker])  # type: ignore[attr-defined]
    desk.store.take_queries()
    found = records.search(ctx, record_type.uri, asked)
    return found["count"], desk.store.take_queries()


def opened(registry: Registry, record_type: RecordType, depth: int = 2) -> list[str]:
    """Returns every name that the type expands, including those of related records."""
    names = [*record_type.expand_by_name, *(key.name for key in record_type.keys if key.on_expand)]
    for nested in record_type.nested:
        target = registry.find(nested.target)
        names.append(f"{nested.prefix}_")
        if depth > 1 and target is not None:
            names += [f"{nested.prefix}_{name}" for name in opened(registry, target, depth - 1)]
    return names


@pytest.mark.parametrize("uri", SEARCHED)
def test_one_ten_and_twenty_records_take_the_same_statements(uri: str, desk: Desk) -> None:
    """After the definitions and permissions were read, which each process reads once."""
    record_type = desk.registry.type(uri)
    names = [*opened(desk.registry, record_type), *FORMS]
    if "custom_fields" in record_type.features:
        rival, helper = (desk.ids[f"{name} of {uri}"] for name in ("rival", "helper"))  # type: ignore[attr-defined]
        names += [f"custom_{rival}_", f"custom_{rival}_email_", f"custom_{helper}_", f"custom_{helper}_address_org_"]
    paths = [",".join(names[start : start + 90]) for start in range(0, len(names), 90)]
    for worker in ("nora", "milo"):
        statements(desk, worker, record_type, "", 1)
        for each in ["", *paths]:
            counts = [statements(desk, worker, record_type, each, limit) for limit in SIZES]
            full = [taken for limit, (found, taken) in zip(SIZES, counts, strict=True) if found == limit]
            assert len(full) > 1 or (worker == "milo" and uri in HIDDEN), counts
            if uri in VARIOUS:
                assert full[0] <= full[1], (worker, counts, each)
                full = full[1:]
            assert len(set(full)) <= 1, (worker, counts, each)


HIDDEN = {
    "automation_log", "connected_service", "custom_record", "draft", "mail_transport", "mailbox", "notification",
    "oauth_app", "outgoing_webhook", "webhook_listener",
}  # fmt: skip
VARIOUS = {"activity_log", "attachment", "notification"}  # one record has fewer related types than ten


@pytest.mark.parametrize(
    ("uri", "expand", "most"),
    [
        ("ticket", "", 2), ("ticket", "owner_,org_,group_", 6), ("ticket", "latest_message_sender_org_", 9),
        ("ticket", "comments,watchers,links,custom_", 14), ("org", "", 2), ("message", "_label,content", 5),
        ("worker", "groups", 4),
    ],
)  # fmt: skip
def test_a_page_takes_few_statements(uri: str, expand: str, most: int, desk: Desk) -> None:
    count, taken = statements(desk, "nora", desk.registry.type(uri), expand, 100)
    assert count >= 3 and taken <= most


def test_counts_by_subtotals_take_few_statements(desk: Desk) -> None:
    record_type = desk.registry.type("ticket")
    ctx = desk.context(desk.ids["milo"])  # type: ignore[attr-defined]
    for name in record_type.subtotals.search:
        asked = records.SearchRequest("", subtotals=(name,), show_results=False)
        desk.store.take_queries()
        records.search(ctx, "ticket", asked)
        assert desk.store.take_queries() <= 6, name


def test_the_log_line_of_each_request_has_its_statements(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    requests.get(server.url + "/rest/workers/me.json", headers={"Authorization": "Bearer svc_at_x"}, timeout=60)
    assert server.stop() == 0
    lines = [line for line in Path(server.log.name).read_text().splitlines() if " request " in line]
    counts = {line.split(" path=")[1].split()[0]: re.search(r" queries=(\d+) ", line) for line in lines}
    asked = counts["/rest/workers/me.json"]
    assert len(lines) == 2 and asked is not None and int(asked[1]) >= 2
