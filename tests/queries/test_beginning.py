"""Searches over several tables return the same records, whichever table they begin with."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.access.parents import PARENTS
from server.records import records
from server.search import beginning
from server.search.filters import DeepFilter, HasMany
from server.search.select import CompiledSearch
from tests.records.desk import NOW, Desk
from tests.telling import telling

WORDS = ("refund", "gondola", "refund gondola", "invoice")
SEARCHES = (
    "org:(name:acme*) messages:(content:refund)",
    "org:(name:acme*) messages:(content:nothing)",
    "org:(name:acme*) messages:(content:refund OR content:gondola)",
    "org:(name:acme*) messages:(content:refund sender:(email:ana@kite.example))",
    "status:open messages:(content:refund)",
    "status:[o,w] messages:(content:refund) messages:(content:gondola)",
    "status:[o,w] messages:(content:!refund)",
    "status:[o,w] !(messages:(content:refund))",
    "status:deleted messages:(content:refund)",
    "(status:open OR org:(name:acme*)) messages:(content:refund)",
    "status:open participant:(email:ana@kite.example)",
    "participant:(email:ana@kite.example) messages:(content:refund)",
    "status:open comments:(refund)",
    "group:(name:Board) messages:(content:refund)",
    "messages:(content:refund)",
    "refund",
    "org:(name:acme*) refund",
    "status:open messages.first:(content:refund)",
    "org:(name:acme*) messages:(content:refund) sort:-created limit:3 page:2",
    "org:(name:acme*) messages:(content:refund) sort:subject,-id",
)


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, dict[str, int]]]:
    """Forty tickets with messages, a third of them in a group that milo does not see, some in the trash."""
    desk = Desk(tmp_path_factory.mktemp("letters"))
    people = desk.people()
    groups = [people["support"], people["support"], desk.create("group", name="Board", is_private=1)["id"]]
    orgs = [desk.create("org", name=name)["id"] for name in ("Acme One", "Acme Two", "Larch")]
    addresses = [desk.create("address", email=f"{name}@kite.example")["id"] for name in ("ana", "ben", "cleo")]
    for number in range(40):
        ticket = desk.create(
            "ticket", subject=f"Case {number % 7}", group_id=groups[number % 3], org_id=orgs[number % 5 % 3],
            created=NOW - number * 1000, participant_ids=str(addresses[number % 3]),
        )["id"]  # fmt: skip
        for place in range(1 + number % 3):
            desk.create(
                "message", ticket_id=ticket, sender_id=addresses[(number + place) % 3],
                content=WORDS[(number + place) % 4], headers="Subject: Case",
            )  # fmt: skip
        if number % 4 == 0:
            desk.create("comment", target__context="ticket", target_id=ticket, comment=WORDS[number % 3],
                        author__context="worker", author_id=people["nora"])  # fmt: skip
        desk.update("ticket", ticket, status=("open", "waiting", "closed", "deleted")[number % 8 % 4])
    yield desk, people
    desk.close()


@pytest.mark.parametrize("q", telling(SEARCHES, SEARCHES[::5], "every form of a search"))
def test_a_search_finds_the_same_wherever_it_begins(
    letters: tuple[Desk, dict[str, int]], monkeypatch: pytest.MonkeyPatch, q: str
) -> None:
    desk, people = letters
    monkeypatch.setattr(type(desk.store), "keeps_statistics", False)

    def found(by: str) -> tuple[Any, ...]:
        result = records.search(
            desk.context(people[by]), "ticket", records.SearchRequest(q, 5, subtotals=("status", "group"))
        )
        return [each["id"] for each in result["results"]], result["total"], result["subtotals"]

    kept = {}
    for turns in (False, True):
        monkeypatch.setattr(beginning, "_are_fewer", lambda *asked, turns=turns: turns)
        for listed in (False, True):
            if listed:  # the previous statements: the first ids, and then a count
                monkeypatch.setattr(CompiledSearch, "_ids_and_total", lambda self, most: self._ids_then_total())
            kept[turns, listed] = [found(by) for by in ("nora", "milo")]
        monkeypatch.undo()
        monkeypatch.setattr(type(desk.store), "keeps_statistics", False)
    assert all(each == kept[False, True] for each in kept.values())
    if "nothing" not in q:
        assert kept[True, False][0][1] > 0


@pytest.mark.sqlite("PostgreSQL keeps statistics")
@pytest.mark.parametrize(
    ("q", "few", "asks_each"),
    [
        ("org:(name:acme*) messages:(content:refund)", 1, False),  # 27 tickets, 20 messages
        ("org:(name:larch) messages:(content:refund)", 1, True),  # 8 tickets
        ("org:(name:larch) messages:(content:refund)", 200, False),  # too few hits to continue
        ("org:(name:larch) messages:(content:re*)", 1, True),
        ("id:1 messages:(content:refund)", 1, True),
        ("messages:(content:refund)", 1, False),
        ("status:open !(messages:(content:refund))", 1, False),
    ],
)
def test_it_begins_with_what_finds_fewer(
    letters: tuple[Desk, dict[str, int]], monkeypatch: pytest.MonkeyPatch, q: str, few: int, asks_each: bool
) -> None:
    monkeypatch.setattr(beginning, "FEW", few)
    desk = letters[0]
    key = desk.read(lambda tx: desk.search(tx, "ticket", q).condition.key)
    assert ("turned" in str(key)) == asks_each


def test_what_is_read_along_is_read_by_the_rule_of_the_record(letters: tuple[Desk, dict[str, int]]) -> None:
    along = [
        (each, found) for each in letters[0].registry for found in each.filters
        if isinstance(found, DeepFilter) and found.is_read_along
    ]  # fmt: skip
    assert [(each.uri, found.name) for each, found in along] == [("ticket", "messages")]
    for each, found in along:
        parent = PARENTS[letters[0].registry.type(found.target).access.read]
        assert (parent.type, found.way) == (each.uri, HasMany(found.target, parent.column))
