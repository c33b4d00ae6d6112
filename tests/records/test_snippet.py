"""Snippets: placeholders, hidden values, and counts of uses."""

from dataclasses import replace

import pytest

from server.errors import Forbidden, Invalid, NotFound, Required
from server.tickets.snippets import paste
from tests.records.desk import NOW, Desk

APP = {"owner__context": "app", "owner_id": 0}


@pytest.fixture
def private(desk: Desk, ids: dict[str, int]) -> int:
    """A private group whose only member is nora."""
    return int(desk.create("group", name="Management", is_private=1)["id"])


def snippet(desk: Desk, content: str, context: str = "", **fields) -> int:
    values = {"title": "Greeting", "content": content, "context": context}
    return int(desk.create("snippet", **values | APP | fields)["id"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello", "Hello"),
        ("I am {{full_name}}, {{ worker_first_name }}", "I am Nora Berg, Nora"),
        ("{{current_worker_last_name}}!", "Berg!"),
        ("[{{subject}}][{{nothing}}]", "[][]"),
        ("{{ first_name | upper }} {first_name}", "{{ first_name | upper }} {first_name}"),
        ("a < b & {{last_name}}", "a < b & Berg"),
    ],
)
def test_a_plain_text_is_filled_in_for_the_worker(desk, ids, content, text):
    assert paste(desk.context(ids["nora"]), snippet(desk, content)) == text


def test_keys_of_the_record_have_no_prefix(desk, ids):
    org = desk.create("org", name="Kite <Pumps>")["id"]
    ticket = desk.create("ticket", subject="Leak", group_id=ids["support"], org_id=org)["id"]
    id = snippet(desk, "{{subject}}/{{org_name}}/{{ticket_subject}}/{{group_name}}/{{first_name}}", "ticket")
    assert paste(desk.context(ids["nora"]), id, ticket) == "Leak/Kite <Pumps>/Leak/Support/Nora"


def test_keys_of_the_record_take_precedence_over_those_of_the_worker(desk, ids):
    contact = desk.create("contact", first_name="Ana", last_name="Kite")["id"]
    reminder = desk.create("reminder", name="Oil", remind_at=NOW, worker_id=ids["milo"])["id"]
    nora = desk.context(ids["nora"])
    assert paste(nora, snippet(desk, "{{first_name}} {{current_worker_first_name}}", "contact"), contact) == "Ana Nora"
    text = "{{name}}: {{worker_first_name}} {{current_worker_first_name}}"
    assert paste(nora, snippet(desk, text, "reminder"), reminder) == "Oil: Milo Nora"


def test_custom_fields_are_placeholders(desk, ids):
    field = desk.create("custom_field", name="Serial", uri="serial", type="S", context="task")["id"]
    task = desk.create("task", title="Count", serial="AB-12")["id"]
    id = snippet(desk, f"{{{{serial}}}} {{{{custom_{field}}}}}", "task")
    assert paste(desk.context(ids["nora"]), id, task) == "AB-12 AB-12"


def test_only_readable_values_are_filled_in(desk, ids, private):
    ticket = desk.create("ticket", subject="Leak", group_id=private)["id"]
    id = snippet(desk, "{{subject}}", "ticket")
    with pytest.raises(Forbidden, match=f"ticket {ticket}"):
        paste(desk.context(ids["milo"]), id, ticket)
    message = desk.create("ticket", subject="Open", group_id=ids["support"])["id"]
    assert paste(desk.context(ids["milo"]), id, message) == "Open"
    assert desk.row("snippet", id)["total_uses"] == 1


def test_a_snippet_of_another_worker_is_not_readable(desk, ids):
    id = snippet(desk, "Mine", owner__context="worker", owner_id=ids["milo"])
    with pytest.raises(Forbidden, match="snippet"):
        paste(desk.context(ids["olga"]), id)
    assert paste(desk.context(ids["milo"]), id) == "Mine"


def test_missing_values_are_reported(desk, ids):
    nora = desk.context(ids["nora"])
    id = snippet(desk, "{{subject}}", "ticket")
    with pytest.raises(Required, match="context_id"):
        paste(nora, id)
    with pytest.raises(NotFound, match="ticket 99"):
        paste(nora, id, 99)
    with pytest.raises(NotFound, match="snippet 99"):
        paste(nora, 99)
    with pytest.raises(Invalid, match="not a record type"):
        paste(nora, snippet(desk, "x", "svc.contexts.spaceship"), 1)
    assert desk.row("snippet", id)["total_uses"] == 0


# -- counts -----------------------------------------------------------------------------------------------------------


def test_uses_are_counted_per_worker(desk, ids):
    often, seldom = snippet(desk, "a"), snippet(desk, "b")
    milo, olga = desk.context(ids["milo"]), desk.context(ids["olga"])
    for each, count in ((often, 3), (seldom, 1)):
        for _ in range(count):
            paste(milo, each)
    paste(olga, seldom)
    assert (desk.row("snippet", often)["total_uses"], desk.row("snippet", seldom)["total_uses"]) == (3, 2)
    cases = [("myUses:>1", [often]), ("myUses:0", []), ("myUses:[1,3]", [often, seldom]), ("myUses:1...2", [seldom]),
             ("myUses:!3", [seldom]), ("sort:myUses", [seldom, often]), ("sort:-myUses", [often, seldom]),
             ("totalUses:2", [seldom])]  # fmt: skip
    for q, found in cases:
        assert desk.found("snippet", q, by=ids["milo"]) == found, q
    assert desk.found("snippet", "myUses:0", by=ids["olga"]) == [often]
    assert desk.found("snippet", "sort:-myUses", by=ids["olga"]) == [seldom, often]


def test_uses_have_a_time(desk, ids):
    id = snippet(desk, "a")
    milo = desk.context(ids["milo"])
    for days in (40, 40, 2):
        paste(replace(milo, now=NOW - days * 86400), id)
    cases = [('(hits:1 date:"-30 days")', True), ('(hits:>1 date:"-30 days")', False), ("(hits:3)", True),
             ('(date:"-1 day")', False), ('(hits:0 date:"-1 day")', True), ('(date:"-30 days")', True)]  # fmt: skip
    for value, finds in cases:
        assert (desk.found("snippet", f"myUses:{value}", by=ids["milo"]) == [id]) is finds, value


def test_counting_does_not_change_the_snippet(desk, ids):
    id = snippet(desk, "a", updated_at=5)
    paste(desk.context(ids["milo"]), id)
    assert desk.row("snippet", id)["updated_at"] == 5


def test_uses_are_deleted_with_the_snippet_and_with_the_worker(desk, ids):
    id, other = snippet(desk, "a"), snippet(desk, "b")
    for each in (id, other):
        paste(desk.context(ids["milo"]), each)
    desk.delete("snippet", id)
    count = lambda tx: len(tx.connection.execute("SELECT * FROM snippet_use").fetchall())  # noqa: E731
    assert desk.read(count) == 1
    desk.delete("worker", ids["milo"])
    assert desk.read(count) == 0
    assert desk.row("snippet", other)["total_uses"] == 1


# -- permissions to use ------------------------------------------------------------------------------------------------


def test_usable_by_finds_what_a_worker_may_read(desk, ids, private):
    role = desk.create("role", name="Editors", reader_query_worker="firstName:milo")["id"]
    owners = [("app", 0), ("worker", ids["olga"]), ("group", ids["support"]), ("group", private), ("role", role)]
    for context, id in owners:
        snippet(desk, "x", owner__context=context, owner_id=id)
    desk.update("group", private, members={"member": str(ids["olga"])})
    for name in ("nora", "milo", "olga"):
        readable = desk.found("snippet", "", by=ids[name])
        for value in (ids[name], name):
            assert desk.found("snippet", f"usableBy.worker:{value}", by=ids["nora"]) == readable, name
        assert desk.found("snippet", "usableBy.worker:me", by=ids[name]) == readable
    assert len(desk.found("snippet", "usableBy.worker:milo")) == 3
    assert desk.found("snippet", "usableBy.worker:99") == []


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("ticket", "svc.contexts.ticket"), ("Tickets", "svc.contexts.ticket"), ("", ""), ("parcel", "parcel")],
)
def test_a_record_type_is_stored_by_its_context(desk, sent, stored):
    assert desk.row("snippet", snippet(desk, "x", sent))["context"] == stored


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": ""}, "title"),
        ({"content": ""}, "content"),
        ({"owner__context": "task"}, "owner__context"),
        ({"owner__context": "group", "owner_id": 99}, "owner_id"),
        ({"total_uses": -1}, "total_uses"),
        ({"prompts_kata": "text/name:\n  no key"}, "prompts_kata: is not KATA at line 2"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, ids, fields, field):
    with pytest.raises(Invalid, match=field):
        snippet(desk, **{"content": "x"} | fields)


def test_the_prompts_are_not_shown(desk):
    assert "prompts_kata" not in desk.record("snippet", snippet(desk, "x", prompts_kata="text/name:\n  label: Name"))
