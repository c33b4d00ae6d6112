"""How many statements a search takes does not depend on how many records it shows, whatever it opens."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from server.desk import records
from server.records.base import RecordType
from server.records.registry import Registry, load
from tests.records.desk import Desk
from tests.service import Server

FORMS = ("links.ticket", "links~25", "links:_label", "comments~5", "comments:author_", "attachments:on", "on:_label",
         "_label", "custom_", "customfields")  # fmt: skip
ROWS = 100


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A hundred tickets in two groups, one of them private, each with a message, a note, a file, a watcher, links and
    custom values that point to records."""
    opened = Desk(tmp_path_factory.mktemp("statements"), load())
    people = opened.people()
    hidden = opened.create("group", name="Management", is_private=1)["id"]
    opened.create("custom_field", context="ticket", name="Rival", type="L", uri="rival", params={"context": "org"})
    opened.create("custom_field", context="ticket", name="Helper", type="W", uri="helper")
    for number in range(ROWS):
        org = opened.create("org", name=f"Org {number}")["id"]
        address = opened.create("address", email=f"ana{number}@kite.example", org_id=org)["id"]
        contact = opened.create("contact", first_name="Ana", email_id=address, org_id=org)["id"]
        ticket = opened.create(
            "ticket", subject=f"Pump {number}", group_id=hidden if number % 5 == 4 else people["support"], org_id=org,
            participants=f"ana{number}@kite.example", rival=org, helper=people["olga"],
            links=[f"org:{org}", f"contact:{contact}", f"worker:{people['olga']}"],
        )["id"]  # fmt: skip
        opened.update("ticket", ticket, owner_id=people["milo" if number % 5 != 4 else "nora"])
        message = opened.create(
            "message", ticket_id=ticket, sender_id=address, content="Pump", headers="From: ana@kite.example\r\n",
            worker_id=people["milo"], is_outgoing=number % 2,
        )["id"]  # fmt: skip
        note = {"comment": "Note", "author__context": "worker", "author_id": people["milo"]}
        opened.create("comment", target__context="ticket", target_id=ticket, **note)
        opened.create("comment", target__context="org", target_id=org, **note)
        opened.create("attachment", name="a.txt", attach=[f"ticket:{ticket}", f"message:{message}"])
    opened.ids = people  # type: ignore[attr-defined]
    yield opened
    opened.close()


def statements(desk: Desk, worker: str, record_type: RecordType, expand: str, limit: int) -> tuple[int, int]:
    """How many results a search has, and how many statements it took; the second time, when everything is known."""
    asked = records.SearchRequest("", limit=limit, expand=expand)
    ctx = desk.context(desk.ids[worker])  # type: ignore[attr-defined]
    records.search(ctx, record_type.uri, asked)
    desk.store.take_queries()
    found = records.search(ctx, record_type.uri, asked)
    return found["count"], desk.store.take_queries()


def opened(registry: Registry, record_type: RecordType, depth: int = 2) -> list[str]:
    """Every name that the type opens, and of the records behind it too."""
    names = [*record_type.expand_by_name, *(key.name for key in record_type.keys if key.on_expand)]
    for nested in record_type.nested:
        target = registry.find(nested.target)
        names.append(f"{nested.prefix}_")
        if depth > 1 and target is not None:
            names += [f"{nested.prefix}_{name}" for name in opened(registry, target, depth - 1)]
    return names


@pytest.mark.parametrize("worker", ["nora", "milo"])
@pytest.mark.parametrize("uri", ["ticket", "message", "address", "contact", "org", "comment", "attachment", "worker",
                                 "group", "activity_log", "custom_field"])  # fmt: skip
def test_ten_and_a_hundred_records_take_the_same_statements(uri: str, worker: str, desk: Desk) -> None:
    record_type = desk.registry.type(uri)
    names = [*opened(desk.registry, record_type), *FORMS]
    paths = [names[start : start + 90] for start in range(0, len(names), 90)]
    for each in ["", *(",".join(path) for path in paths)]:
        counts = {limit: statements(desk, worker, record_type, each, limit) for limit in (10, 100)}
        most = counts[100][0]
        assert counts[10][1] >= counts[100][1] if most <= 10 else abs(counts[10][1] - counts[100][1]) <= 1, each[:80]
    one, ten = (statements(desk, worker, record_type, "", limit)[1] for limit in (1, 10))
    assert one == ten or abs(one - ten) <= 1  # the total is counted only where a page is full


@pytest.mark.parametrize(
    ("uri", "expand", "most"),
    [
        ("ticket", "", 2), ("ticket", "owner_,org_,group_", 6), ("ticket", "latest_message_sender_org_", 9),
        ("ticket", "comments,watchers,links,custom_", 14), ("org", "", 2), ("message", "_label,content", 5),
        ("worker", "groups", 4),
    ],
)  # fmt: skip
def test_how_many_statements_a_page_takes(uri: str, expand: str, most: int, desk: Desk) -> None:
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


def test_statements_stand_in_the_log_line_of_each_request(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    requests.get(server.url + "/rest/workers/me.json", headers={"Authorization": "Bearer svc_at_x"}, timeout=60)
    assert server.stop() == 0
    lines = [line for line in Path(server.log.name).read_text().splitlines() if " request " in line]
    counts = {line.split(" path=")[1].split()[0]: re.search(r" queries=(\d+) ", line) for line in lines}
    asked = counts["/rest/workers/me.json"]
    assert len(lines) == 2 and asked is not None and int(asked[1]) >= 2
