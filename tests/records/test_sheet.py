"""The page of a record: keys with the names of related records, custom fields, files, links."""

from typing import Any

import pytest

from server.errors import Forbidden, NotFound, NotOffered
from server.records import sheet
from server.records.sheet import Fact, Link
from tests.records.desk import Desk


def facts(desk: Desk, uri: str, id: int, by: int = 0) -> dict[str, Any]:
    """Returns {name: (kind, value)} of a record's page."""
    return {each.name: (each.kind, each.value) for each in sheet.sheet(desk.context(by), uri, id).facts}


def test_keys_are_shown_by_their_kinds_and_blank_ones_are_not(desk: Desk) -> None:
    note = "One\nTwo"
    org = desk.create("org", name="Acme", website="https://acme.example", street=note, phone="")["id"]
    found = facts(desk, "org", org)
    assert found["Name"] == ("text", "Acme") and found["Website"] == ("url", "https://acme.example")
    assert found["Street"] == ("block", note) and found["Created"][0] == "time"
    assert "Phone" not in found and "Record URL" not in found and "Email" not in found


def test_related_records_have_their_name_and_page(desk: Desk, ids: dict[str, int]) -> None:
    hidden = desk.create("group", name="Management", is_private=1)["id"]
    secret = desk.create("ticket", subject="Salaries", group_id=hidden)["id"]
    task = desk.create(
        "task", title="Count", links=[f"ticket:{secret}", f"worker:{ids['nora']}"], owner_id=ids["nora"]
    )["id"]
    found = sheet.sheet(desk.context(ids["milo"]), "task", task)
    [nora] = found.links
    assert (nora.type_label, nora.path) == ("Worker", f"/records/worker/{ids['nora']}")
    assert nora.label.startswith("Nora")
    assert Fact("owner", "Owner", "links", [nora]) in found.facts
    assert len(sheet.sheet(desk.context(), "task", task).links) == 2


def test_a_key_named_like_its_type_has_the_label_of_the_type(desk: Desk, ids: dict[str, int]) -> None:
    org = desk.create("org", name="Acme")["id"]
    ticket = desk.create("ticket", subject="Pump", group_id=ids["support"], org_id=org)["id"]
    found = facts(desk, "ticket", ticket)
    assert found["Organization"] == ("links", [Link("Acme", "Organization", f"/records/org/{org}")])


def test_custom_fields_are_shown_by_their_names(desk: Desk, ids: dict[str, int]) -> None:
    task = desk.create("task", title="Count")["id"]
    file = desk.create("attachment", name="plan.txt", content="x")["id"]
    kinds: list[tuple[str, str, Any, tuple[str, Any]]] = [
        ("Tier", "S", "Gold", ("text", "Gold")), ("Signed", "E", "2026-11-23", ("time", 1795392000)),
        ("Paid", "C", "1", ("flag", 1)), ("Site", "U", "https://a.example/", ("url", "https://a.example/")),
        ("Parts", "M", ["a", "b"], ("text", "a, b")),
        ("Plan", "F", file, ("links", [Link("plan.txt", "Attachment", f"/records/attachment/{file}")])),
        ("Plans", "I", [file, 999], ("links", [Link("plan.txt", "Attachment", f"/records/attachment/{file}"),
                                               Link("Attachment 999", "Attachment", "")])),
    ]  # fmt: skip
    for name, kind, value, _ in kinds[:-1]:
        field = desk.create("custom_field", context="task", name=name, type=kind, uri=name.lower())["id"]
        desk.update("task", task, **{f"custom_{field}": value})
    field = desk.create("custom_field", context="task", name="Plans", type="I", uri="plans")["id"]
    desk.update("task", task, **{f"custom_{field}": [file]})
    found = facts(desk, "task", task)
    assert {name: found[name] for name, *_ in kinds[:-1]} == {name: shown for name, _, _, shown in kinds[:-1]}
    assert found["Plans"] == ("links", kinds[-1][3][1][:1])


@pytest.mark.parametrize(("uri", "error"), [("group", NotFound), ("nosuch", NotFound), ("automation_log", NotOffered)])
def test_types_that_the_api_does_not_show_have_no_page(desk: Desk, uri: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        sheet.sheet(desk.context(), uri, 999)


def test_an_unreadable_record_has_no_page(desk: Desk, ids: dict[str, int]) -> None:
    owner = {"owner__context": "worker", "owner_id": ids["nora"]}
    snippet = desk.create("snippet", title="Mine", content="x", **owner)["id"]
    with pytest.raises(Forbidden):
        sheet.sheet(desk.context(ids["milo"]), "snippet", snippet)
    assert facts(desk, "snippet", snippet, ids["nora"])["Content"] == ("text", "x")
