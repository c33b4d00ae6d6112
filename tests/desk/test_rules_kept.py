"""The read rules of a worker are compiled once: later searches, of whatever shape, only add their own terms."""

from typing import Any

import pytest

from server.access import rules
from server.records import records
from server.records.records import SearchRequest
from server.store.statements import SqliteContext
from tests.composed_anew import uncompared
from tests.desk.conftest import Post

LIKE_ANY = ("comment", "attachment", "activity_log")  # their rules include the rules of all other types


def search(desk: Post, by: int, uri: str, q: str) -> dict[str, Any]:
    return records.search(desk.context(by), uri, SearchRequest(q=q))


@pytest.mark.parametrize("uri", LIKE_ANY)
def test_another_shape_of_search_compiles_no_rule_again(desk: Post, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for worker in (desk.milo, desk.olga):
        search(desk, worker, uri, "")
    fail = {rule: lambda *_: pytest.fail("a rule was asked again") for rule in rules.READ_RULES}
    monkeypatch.setattr(rules, "READ_RULES", fail)
    monkeypatch.setattr(SqliteContext.fragments, "_compose", lambda query: pytest.fail(f"composed again: {query}"))
    with uncompared():
        for q in ("id:>3", "id:>3 id:<9", "!(id:5) sort:-id"):
            for worker in (desk.milo, desk.olga):
                search(desk, worker, uri, q)


def test_the_cache_follows_the_rights(desk: Post) -> None:
    ticket = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.create("comment", target__context="svc.contexts.ticket", target_id=ticket, comment="Hull")

    def found() -> list[int]:
        return [search(desk, by, "comment", "id:>0")["total"] for by in (desk.nora, desk.milo, desk.olga)]

    assert found() == [1, 1, 1]
    desk.update("group", desk.support, is_private=1)
    assert found() == [1, 1, 0]
    members = {"member": str(desk.olga), "remove": str(desk.milo)}
    records.update(desk.context(), "group", desk.support, {"members": members})
    assert found() == [1, 0, 1]


def test_a_type_created_in_the_meantime_is_seen(desk: Post) -> None:
    assert search(desk, desk.milo, "comment", "id:>0")["total"] == 0
    ctx = desk.context(desk.nora)
    boats = {"name": "Boat", "name_plural": "Boats", "uri": "boat", "params": {"options": ["comments"]}}
    made = records.create(ctx, "custom_record", boats)
    boat = records.create(ctx, "boat", {"name": "Rigid"})
    assert made["id"] and search(desk, desk.milo, "comment", "id:>0")["total"] == 0
    records.create(ctx, "comment", {"target__context": "boat", "target_id": boat["id"], "comment": "Hull"})
    assert search(desk, desk.milo, "comment", "id:>0")["total"] == 1


def test_the_number_of_cached_sets_of_rights_is_limited(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_CACHED", 2)
    desk.service.registry.cache.pop(rules.Rules, None)
    sizes = []
    for number in range(4):
        worker, group = desk.worker(f"Worker{number}", "Test"), desk.create("group", name=f"Group {number}")
        records.update(desk.context(), "group", group, {"members": {"member": str(worker)}})
        search(desk, worker, "comment", "")
        sizes.append(len(desk.service.registry.cache[rules.Rules]))
    assert max(sizes) == 2, sizes
