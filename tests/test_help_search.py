"""Every search of resources/help/search.md, on the desk that the page describes."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from server.errors import BadQuery, Invalid
from tests.records import desk as in_process
from tests.records.desk import Desk

PAGE = (Path(__file__).resolve().parent.parent / "resources" / "help" / "search.md").read_text("utf-8")
TABLE = re.compile(r"^\| (Refused search|Search) of (\w+) \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| ([^|]*) \|", re.MULTILINE)
TABLES = TABLE.findall(PAGE)
FOUND = [(uri, *cells) for kind, uri, rows in TABLES if kind == "Search" for cells in ROW.findall(rows)]
REFUSED = [(uri, cells[0]) for kind, uri, rows in TABLES if kind != "Search" for cells in ROW.findall(rows)]


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@pytest.fixture(scope="module")
def desk_and_milo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, int]]:
    """The desk of the page, and Milo's id."""
    patch = pytest.MonkeyPatch()
    patch.setattr(in_process, "NOW", at("2026-11-18 12:00"))
    desk = Desk(tmp_path_factory.mktemp("told"))
    people = desk.people()
    billing = int(desk.create("group", name="Billing", members={"member": str(people["olga"])})["id"])
    kite, larch = (int(desk.create("org", name=name)["id"]) for name in ("Kite Ltd", "Larch & Sons"))
    sender = int(desk.create("address", email="ana@kite.example")["id"])
    (_, *lines) = re.findall(r"^\| (\d|Ticket) \|(.*)\|$", PAGE, re.MULTILINE)
    support, milo, olga = people["support"], people["milo"], people["olga"]
    tickets = (
        (support, milo, kite, "2026-11-18 08:15", {"status": "open"}),
        (billing, olga, larch, "2026-11-15 10:00", {"status": "waiting", "reopen_at": at("2026-11-20")}),
        (billing, 0, kite, "2026-11-09 17:30", {"status": "open"}),
        (support, milo, larch, "2026-10-09 09:00", {"status": "closed", "closed": at("2026-10-12")}),
        (support, 0, 0, "2026-11-17 23:50", {"status": "deleted"}),
    )
    for number, ((group, owner, org, created, more), (_, line)) in enumerate(zip(tickets, lines, strict=True), 1):
        words, status, *_, importance = (cell.strip() for cell in line.split("|"))
        subject, _, text = words.removeprefix("**").partition("**: ")
        made = desk.create(
            "ticket", subject=subject, group_id=group, owner_id=owner, org_id=org, created=at(created),
            importance=importance, **more,
        )  # fmt: skip
        assert made["id"] == number and status.startswith(more["status"])
        desk.create(
            "message",
            ticket_id=number,
            sender_id=sender,
            content=text,
            created=at(created),
            headers="From: ana@kite.example",
        )
    for id, tag in ((1, "urgent"), (2, "late payer"), (3, "urgent")):
        desk.update("ticket", id, tags=tag)
    desk.create("task", title="Order a seal", links=["ticket:1"])
    desk.update("ticket", 1, links=[f"worker:{people['nora']}"])
    yield desk, milo
    desk.close()
    patch.undo()


def test_the_page_has_its_examples() -> None:
    assert len(FOUND) > 40 and len(REFUSED) > 5 and PAGE.count("| Search of ") + 1 == len(TABLES)
    assert len(FOUND) + len(REFUSED) == sum(rows.count("\n") for _, _, rows in TABLES)


@pytest.mark.parametrize(("uri", "query", "finds"), FOUND, ids=[each[1] for each in FOUND])
def test_a_search_finds_what_the_page_says(desk_and_milo: tuple[Desk, int], uri: str, query: str, finds: str) -> None:
    desk, milo = desk_and_milo
    ids = [int(id) for id in re.findall(r"\d+", finds)]
    found = desk.found(uri, query, by=milo)
    assert (found if "sort:" in query else sorted(found)) == ids


@pytest.mark.parametrize(("uri", "query"), REFUSED, ids=[each[1] for each in REFUSED])
def test_a_search_is_refused_as_the_page_says(desk_and_milo: tuple[Desk, int], uri: str, query: str) -> None:
    desk, milo = desk_and_milo
    with pytest.raises((BadQuery, Invalid)):
        desk.found(uri, query, by=milo)
