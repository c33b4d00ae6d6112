"""Counts of searches over the values of a filter, over HTTP, compared with counts of the sample in Python."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.sample import Sample, Ticket
from tests.api.test_search import filled
from tests.service import Reply

Value = Callable[[Ticket], Any]


def counted(sample: Sample, name: str, query: str = "", uri: str = "ticket") -> list[dict[str, Any]]:
    response = sample.api.search(uri, filled(query, sample), subtotals=name, limit=1).ok()
    found = response["subtotals"][name]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", lambda t: t.status.capitalize()),
        ("owner.id", lambda t: {"Nora": "Nora Berg", "Milo": "Milo Test", "Olga": "Olga Test"}.get(t.owner, "(none)")),
        ("org.id", lambda t: t.org or "(none)"),
        ("group.id", lambda t: t.group),
        ("spam.training", lambda t: {"S": "Spam", "N": "Not spam", "": "Untrained"}[t.training]),
        ("tier", lambda t: t.tier or "(no data)"),
        ("paid", lambda t: {None: "(no data)", 0: "No", 1: "Yes"}[t.paid]),
    ],
)
@pytest.mark.parametrize("query", ["", "status:!open", "group.id:{Depot} OR group.id:{Stock}", "text:pump", "id:0"])
def test_counts_cover_all_matches(name: str, value: Value, query: str, sample: Sample) -> None:
    matches = set(sample.api.found("ticket", filled(query, sample)))
    expected = Counter(value(each) for each in sample.tickets if each.id in matches)
    found = {each["label"]: each["hits"] for each in counted(sample, name, query)}
    assert found == expected and sum(found.values()) == len(matches)


@pytest.mark.parametrize(
    ("older", "name"),
    [
        ("group", "group.id"), ("owner", "owner.id"), ("org_name", "org.id"), ("spam_training", "spam.training"),
        ("first_wrote", "firstWrote.id"), ("last_wrote", "lastWrote.id"), ("bucket", "bucket.id"), ("org", "org.id"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("query", ["", "status:open"])
def test_parameter_names_of_older_scripts_count_the_same(older: str, name: str, query: str, sample: Sample) -> None:
    expected = counted(sample, name, query)
    assert len(expected) > 1 and counted(sample, older, query) == expected
    shown = sample.api.post("/rest/tickets/search.json", q=query, **{"subtotals[]": older}).ok()["subtotals"]
    assert list(shown) == [older] and sum(each["hits"] for each in shown[older]) > 0


def test_first_and_last_authors_are_counted_by_address(sample: Sample) -> None:
    tickets = sample.api.search("ticket", "", limit=500, expand="initial_message_,latest_message_").ok()["results"]
    for name, prefix in (("first_wrote", "initial_message"), ("last_wrote", "latest_message")):
        expected = Counter(each.get(f"{prefix}_sender_id") or 0 for each in tickets)
        found = {each["key"]: each["hits"] for each in counted(sample, name)}
        assert found == expected and sum(found.values()) == len(tickets)
        id = max(found)
        assert (
            len(sample.api.found("ticket", f"{'firstWrote' if name == 'first_wrote' else 'lastWrote'}.id:{id}"))
            == (found[id])
        )


def test_most_hits_come_first_with_a_key_where_the_label_is_ambiguous(sample: Sample) -> None:
    found = counted(sample, "owner.id")
    assert [each["hits"] for each in found] == sorted((each["hits"] for each in found), reverse=True)
    assert {each["label"]: each["key"] for each in found} == {
        "(none)": 0, "Nora Berg": sample["Nora"], "Milo Test": sample["Milo"], "Olga Test": sample["Olga"],
    }  # fmt: skip
    assert {each["label"]: each.get("key", each["label"]) for each in counted(sample, "tier")} == {
        each.tier or "(no data)": each.tier or "" for each in sample.tickets
    }
    assert {each["label"]: each["key"] for each in counted(sample, "status")} == {
        "Open": 0, "Waiting": 1, "Closed": 2, "Deleted": 3,
    }  # fmt: skip


@pytest.mark.parametrize("query", ["", "status:open", "text:pump"])
def test_groups_are_sorted_by_name_each_with_its_buckets(query: str, sample: Sample) -> None:
    matches = set(sample.api.found("ticket", query))
    found = counted(sample, "group.id", query)
    assert [each["label"] for each in found] == sorted(each["label"] for each in found)
    for group in found:
        assert group["key"] == sample[group["label"]]
        buckets = Counter(each.bucket for each in sample.tickets if each.id in matches and each.group == group["label"])
        assert {each["label"]: each["hits"] for each in group["distribution"]} == buckets
        assert group["hits"] == sum(buckets.values())
        assert all(each["key"] == sample[f"{group['label']}/{each['label']}"] for each in group["distribution"])


def test_links_and_watchers_are_counted_by_record(sample: Sample) -> None:
    links = {each["label"]: each["hits"] for each in counted(sample, "links")}
    assert links == {
        "Organization": sum("org" in each.links for each in sample.tickets),
        "Task": sum("task" in each.links for each in sample.tickets),
        "Worker": sum(bool(each.watchers) for each in sample.tickets),
    }
    watchers = {each["label"]: each["hits"] for each in counted(sample, "watchers")}
    assert watchers == {
        "Nora Berg": 2, "Milo Test": 2, "(nobody)": sum(not each.watchers for each in sample.tickets),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("uri", "name", "expected"),
    [
        ("org", "country", {"France": 1, "Spain": 1, "Czechia": 1}),
        ("contact", "gender", {"Male": 1, "Female": 1, "Unknown": 1}),
        ("address", "isBanned", {"Yes": 1, "No": None}),
        ("task", "status", {"Open": 2, "Closed": 1, "Waiting": 1}),
        ("attachment", "mimetype", {"image/png": 2, "image/jpeg": 1, "text/plain": 1, "video/mp4": 1}),
        ("comment", "on", {"Ticket": 1}),
        ("comment", "author", {"Worker": 1}),
        ("custom_field", "type", {"C": 1, "D": 1, "E": 1}),
        ("worker", "isAdmin", {"Yes": 1, "No": 3}),
        ("worker", "group", {"Support": 2}),
        ("message", "isOutgoing", {"Yes": 3, "No": None}),
        ("message", "ticket.group.name", None),
    ],
)
def test_other_types(uri: str, name: str, expected: dict[str, int | None] | None, sample: Sample) -> None:
    found = {each["label"]: each["hits"] for each in counted(sample, name, uri=uri)}
    if expected is None:
        expected = dict(Counter(each.group for each in sample.tickets for _ in each.messages))
    assert {label: hits for label, hits in found.items() if expected.get(label, 1) is not None} == {
        label: hits for label, hits in expected.items() if hits is not None
    }


def test_several_names_with_and_without_results(sample: Sample) -> None:
    several: Reply = sample.api.search("ticket", subtotals=["status", "org.id", "status"], show_results=0).ok()
    assert sorted(several["subtotals"]) == ["org.id", "status"]
    assert "results" not in several.json
    with_results = sample.api.search("ticket", subtotals=["status"]).ok()
    assert with_results["subtotals"]["status"] == several["subtotals"]["status"]
    assert with_results["count"] == 10


def test_other_names_are_refused(sample: Sample) -> None:
    for name in ("created", "mask", "messages.first", "nosuch", "", "dueDate", "participant", "custom_"):
        response = sample.api.get("/rest/records/ticket/search.json", **{"subtotals[]": name})
        assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID"), name
    near = sample.api.search("ticket", subtotals="statsu")
    assert "did you mean 'status'?" in near["message"]
    assert sample.api.search("ticket", subtotals=["status"] * 21).status == 422
    assert sample.api.search("nosuch", subtotals="status").status == 404
