"""Merged contacts and organizations: moved records, refusals and log entries."""

from typing import Any

import pytest

from server.errors import AdminOnly, Forbidden, HelpdeskError, Invalid, NotFound, NotOffered, TooLarge
from server.people import merging
from server.record_types.shared.relation_tables import ATTACHED, LINK
from server.records import records
from tests.desk.conftest import Post

names = pytest.mark.parametrize


def contact(desk: Post, first: str, email: str, **values: Any) -> int:
    id = desk.create("contact", first_name=first, email_id=desk.address(email), **values)
    desk.update("address", desk.address(email), contact_id=id)
    return id


@pytest.fixture
def anas(desk: Post) -> tuple[int, int]:
    """The contact that survives, and the other."""
    kept = contact(desk, "Ana", "ana@kite.example", location="Bern")
    return kept, contact(desk, "Anna", "anna@kite.example", last_name="Lund", phone="123", location="Basel")


def merge(desk: Post, kept: int, *others: int, uri: str = "contact", by: int = 0, **fields: Any) -> None:
    merging.merge(desk.context(by or desk.nora), uri, kept, others, fields)


def test_addresses_and_blank_fields_are_moved_and_the_other_is_deleted(desk: Post, anas: tuple[int, int]) -> None:
    kept, other = anas
    merge(desk, kept, other)
    found = desk.one("contact", id=kept)
    assert [found[name] for name in ("first_name", "last_name", "phone", "location")] == ["Ana", "Lund", "123", "Bern"]
    assert found["full_name"] == "Ana Lund" and desk.all("contact", id=other) == []
    assert [each["email"] for each in desk.all("address", contact_id=kept)] == ["ana@kite.example", "anna@kite.example"]
    assert found["email_id"] == desk.address("ana@kite.example")


def test_chosen_values_take_precedence(desk: Post, anas: tuple[int, int]) -> None:
    kept, other = anas
    merge(desk, kept, other, location="Basel", email_id=str(desk.address("anna@kite.example")))
    found = desk.one("contact", id=kept)
    assert (found["location"], found["email_id"]) == ("Basel", desk.address("anna@kite.example"))


def test_related_records_are_moved(desk: Post, anas: tuple[int, int]) -> None:
    kept, other = anas
    context = "svc.contexts.contact"
    desk.create("comment", target__context=context, target_id=other, comment="Calls on Mondays")
    file = desk.create("attachment", name="a.txt", content=b"a")
    task = desk.create("task", title="Call")
    desk.write(lambda writing: [
        writing.tx.insert(ATTACHED, {"attachment_id": file, "context": context, "record_id": other}),
        *(writing.tx.insert(LINK, dict(zip(LINK.names, each, strict=True))) for each in (
            (context, other, "svc.contexts.task", task), ("svc.contexts.task", task, context, other),
        )),
    ])  # fmt: skip
    kinds: tuple[dict[str, Any], ...] = (
        {"name": "Level", "uri": "level", "type": "S", "context": context},
        {"name": "Who", "uri": "who", "type": "L", "context": "svc.contexts.task", "params": {"context": context}},
    )
    field, link = (records.create(desk.context(), "custom_field", each)["id"] for each in kinds)
    records.update(desk.context(), "contact", other, {f"custom_{field}": "Gold"})
    records.update(desk.context(), "task", task, {f"custom_{link}": str(other)})
    merge(desk, kept, other)
    assert desk.comments("contact", kept) == ["Calls on Mondays"]
    assert len(desk.read(lambda tx: tx.find(ATTACHED, context=context, record_id=kept))) == 1
    assert [row[3] for row in desk.read(lambda tx: tx.find(LINK, from_context="svc.contexts.task"))] == [kept]
    shown = records.retrieve(desk.context(), "contact", kept, "custom_")
    assert shown[f"custom_{field}"] == "Gold"
    assert int(records.retrieve(desk.context(), "task", task, "custom_")[f"custom_{link}"]) == kept


def test_an_organization_brings_its_tickets_and_people(desk: Post) -> None:
    kept, other = (desk.create("org", name=name) for name in ("Kite", "Kite Ltd"))
    ticket = desk.create("ticket", subject="Boat", group_id=desk.support, org_id=other)
    person = contact(desk, "Ana", "ana@kite.example", org_id=other)
    merge(desk, kept, other, uri="org")
    assert desk.ticket(ticket)["org_id"] == desk.one("contact", id=person)["org_id"] == kept
    assert desk.all("org", id=other) == []
    found = records.search(desk.context(), "contact", records.SearchRequest("kite", 5))["results"]
    assert [each["id"] for each in found] == [person]


def test_it_is_logged_on_the_survivor(desk: Post, anas: tuple[int, int]) -> None:
    kept, other = anas
    merge(desk, kept, other)
    [entry] = [each for each in desk.all("activity_log") if each["activity_point"] == "record.merge"]
    assert (entry["target_id"], entry["actor_id"]) == (kept, desk.nora)
    assert (entry["params"]["variables"]["source"], entry["params"]["variables"]["target"]) == ("Anna Lund", "Ana")


@names(("uri", "kept", "others", "error"), [
    ("contact", 1, (), Invalid), ("contact", 1, (1,), Invalid), ("contact", 1, (99,), NotFound),
    ("contact", 99, (1,), NotFound), ("contact", 1, range(2, 30), Invalid), ("task", 1, (2,), NotOffered),
    ("worker", 1, (2,), NotOffered),
])  # fmt: skip
def test_records_that_cannot_be_merged(
    desk: Post, anas: tuple[int, int], uri: str, kept: int, others: tuple[int, ...], error: type[HelpdeskError]
) -> None:
    with pytest.raises(error):
        merging.merge(desk.context(desk.nora), uri, kept, others)
    assert len(desk.all("contact")) == 2


def test_merging_requires_the_right_to_delete(desk: Post, anas: tuple[int, int]) -> None:
    for mode, privileges in (("", []), ("itemized", ["contexts.svc.contexts.contact.update"])):
        for role in desk.all("role"):
            records.update(desk.context(), "role", role["id"], {"privs_mode": mode, "privs": privileges})
        with pytest.raises(Forbidden):
            merge(desk, *anas, by=desk.milo)
    assert len(desk.all("contact")) == 2


def test_only_administrators_merge_the_address_of_a_worker(desk: Post, anas: tuple[int, int]) -> None:
    kept, _ = anas
    mine = desk.address("olga@desk.example")
    other = desk.create("contact", first_name="Olga", email_id=mine)
    with pytest.raises(AdminOnly):
        merge(desk, kept, other, by=desk.milo)
    merge(desk, kept, other)


def test_too_much_at_once_is_refused(desk: Post, anas: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MAX_MOVED", 0)
    with pytest.raises(TooLarge, match="merge the other record into this one instead"):
        merge(desk, *anas)


def test_an_invalid_value_changes_nothing(desk: Post, anas: tuple[int, int]) -> None:
    with pytest.raises(Invalid):
        merge(desk, *anas, gender="X")
    assert len(desk.all("contact")) == 2 and len(desk.all("address", contact_id=anas[0])) == 1


def test_a_comparison_shows_the_effects(desk: Post, anas: tuple[int, int]) -> None:
    found = merging.compare(desk.context(desk.nora), "contact", *anas)
    assert found.differing.keys() == {"first_name", "location", "email_id"} and found.moved == {"address": 1}
    with pytest.raises(Invalid):
        merging.compare(desk.context(desk.nora), "contact", anas[0], anas[0])


# -- records that the caller may not read ------------------------------------------------------------------------------


@pytest.fixture
def hidden(desk: Post) -> int:
    """A private group without members, whose tickets only administrators read."""
    return int(desk.create("group", name="Board", is_private=1))


@pytest.fixture
def kites(desk: Post, hidden: int) -> tuple[int, int]:
    """An organization, and another with one ticket of a group that only Nora reads and one that Milo reads."""
    kept, other = (desk.create("org", name=name) for name in ("Kite", "Kite Ltd"))
    desk.create("ticket", subject="Secret", group_id=hidden, org_id=other)
    desk.create("ticket", subject="Boat", group_id=desk.support, org_id=other)
    return kept, other


def test_a_merge_that_would_change_hidden_tickets_is_refused(desk: Post, kites: tuple[int, int]) -> None:
    kept, other = kites
    for attempt in (
        lambda: merge(desk, kept, other, uri="org", by=desk.milo),
        lambda: merging.compare(desk.context(desk.milo), "org", kept, other),
    ):
        with pytest.raises(Forbidden, match="records that you may not read belong to org"):
            attempt()
    assert [each["org_id"] for each in desk.all("ticket")] == [other, other]
    merge(desk, kept, other, uri="org")
    assert [each["org_id"] for each in desk.all("ticket")] == [kept, kept]


def test_a_merge_that_would_change_hidden_custom_values_is_refused(
    desk: Post, anas: tuple[int, int], hidden: int
) -> None:
    kept, other = anas
    kind = {
        "name": "Who",
        "uri": "who",
        "type": "L",
        "context": "svc.contexts.ticket",
        "params": {"context": "contact"},
    }
    field = records.create(desk.context(), "custom_field", kind)["id"]
    ticket = desk.create("ticket", subject="Secret", group_id=hidden)
    records.update(desk.context(), "ticket", ticket, {f"custom_{field}": str(other)})
    with pytest.raises(Forbidden, match="records that you may not read belong to contact"):
        merge(desk, kept, other, by=desk.milo)
    merge(desk, kept, other)


def test_readable_records_are_moved(desk: Post, kites: tuple[int, int]) -> None:
    kept, other = kites
    assert merging.compare(desk.context(desk.nora), "org", kept, other).moved == {"ticket": 2}
    [secret] = desk.all("ticket", subject="Secret")
    desk.update("ticket", secret["id"], org_id=0)
    assert merging.compare(desk.context(desk.milo), "org", kept, other).moved == {"ticket": 1}
    merge(desk, kept, other, uri="org", by=desk.milo)
    assert [each["org_id"] for each in desk.all("ticket", subject="Boat")] == [kept]
