"""Every cell of a count comes with a search, which finds exactly as many records as the cell says."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from server.counting.bins import UNITS
from server.records.records import SearchRequest, search
from tests.queries.office import KINDS, Office
from tests.queries.test_bins import EACH_ZONE


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    made = Office(tmp_path_factory.mktemp("office"))
    yield made
    made.close()


def cells(office: Office, of: str, by: str, more: str = "", who: str = "nora") -> list[dict[str, Any]]:
    found = office.ask(f"type:worklist.subtotals of:{of} by:[{by}] format:dictionaries {more}", who)["data"]
    assert isinstance(found, list)
    return found


def check(office: Office, of: str, by: str, more: str = "", who: str = "nora") -> int:
    """Runs each cell's search; returns the number of cells."""
    rows = cells(office, of, by, more, who)
    counted = {row["count_query"]: row["count"] for row in rows}
    assert len(counted) == len(rows), "two cells have the same search"
    found = {query: office.total(of, query, who) for query in counted}
    assert found == counted
    return len(rows)


TICKET_FIELDS = [
    "group", "bucket", "org", "owner", "status", "participant", "group_bucket", "subject", "importance", "mask~2000",
    "spam.score", "spam.training", "messages.count", "links", "links.task", "response.first",
    "closed@month", "reopen", "id~2000", "created@unix~2000",
]  # fmt: skip
OTHER_FIELDS = [
    ("task", "owner"), ("task", "due@day"), ("task", "importance"), ("task", "status"), ("task", "title"),
    ("task", "links"), ("task", "links.org"), ("task", "links.ticket"), ("comment", "author"), ("comment", "on"),
    ("comment", "isPinned"), ("contact", "gender"), ("contact", "org"), ("contact", "tz"), ("contact", "language"),
    ("email_signature", "owner"), ("email_signature", "signature"), ("org", "country"), ("org", "name"),
    ("message", "group"), ("message", "ticket.bucket"), ("message", "ticket.group.name"), ("message", "ticket.mask"),
    ("message", "ticket"), ("message", "sender"), ("message", "worker"), ("message", "size"), ("message", "isOutgoing"),
    ("worker", "group"), ("worker", "lang"), ("worker", "email"), ("activity_log", "actor"), ("activity_log", "target"),
    ("activity_log", "actor.type"), ("activity_log", "activity"), ("custom_field", "context"), ("custom_field", "type"),
    ("address", "host"), ("address", "org"), ("bucket", "group"), ("custom_fieldset", "owner"), ("role", "privsMode"),
]  # fmt: skip


@pytest.mark.parametrize("field", TICKET_FIELDS)
def test_every_field_of_tickets(office: Office, field: str) -> None:
    assert check(office, "ticket", field)


@pytest.mark.parametrize(("of", "field"), OTHER_FIELDS)
def test_fields_of_other_types(office: Office, of: str, field: str) -> None:
    check(office, of, field)


@pytest.mark.parametrize("name", KINDS)
def test_custom_fields_by_name_by_id_and_by_uri(office: Office, name: str) -> None:
    of_name = cells(office, "ticket", name.lower())
    assert len(of_name) > 1 and check(office, "ticket", name.lower())
    assert of_name == cells(office, "ticket", office.fields[name]) == cells(office, "ticket", f"ticket_{name.lower()}")


@pytest.mark.parametrize("unit", [unit.name for unit in UNITS])
@pytest.mark.parametrize("zone", EACH_ZONE)
def test_every_unit_of_dates_in_zones_that_change_their_clocks(office: Office, unit: str, zone: str) -> None:
    check(office, "ticket", f"created@{unit}~2000", f"timezone:{zone}")


def test_combinations_of_fields_add_up(office: Office) -> None:
    fields = ("group", "org", "status", "created@month", "tier", "colors", "subject", "participant", "created@hour~99")
    more = 'query:(status:!d OR subject:"Pump") timezone:Europe/Berlin'
    for first, second in permutations(fields, 2):
        check(office, "ticket", f"{first},{second}", more)


def test_five_fields_with_both_searches(office: Office) -> None:
    more = "query:(created:>2025 (status:o OR status:w)) query.required:(org:(name:*a*))"
    assert check(office, "ticket", "group,status,org,tier,created@quarter", more) > 5


@pytest.mark.parametrize("who", ["milo", "olga"])
def test_only_what_the_caller_may_read_counts(office: Office, who: str) -> None:
    for of, field in (("ticket", "group,status"), ("message", "group"), ("email_signature", "owner"),
                      ("comment", "on"), ("ticket", "links.task"), ("ticket", "responsibility")):  # fmt: skip
        check(office, of, field, who=who)
    everything = sum(row["count"] for row in cells(office, "ticket", "status"))
    own = sum(row["count"] for row in cells(office, "ticket", "status", who=who))
    assert own == office.total("ticket", "", who) and (own < everything or who == "milo")


def test_rows_without_a_value_count_as_well(office: Office) -> None:
    assert sum(row["count"] for row in cells(office, "ticket", "org")) == len(office.tickets)
    assert sum(row["count"] for row in cells(office, "ticket", "tier")) == len(office.tickets)
    assert sum(row["count"] for row in cells(office, "ticket", "closed@day")) == len(office.tickets)


@pytest.mark.parametrize("name", [each for each in KINDS if KINDS[each][0] not in ("X", "M")])
def test_what_has_no_custom_value_counts_as_well(office: Office, name: str) -> None:
    rows = cells(office, "ticket", f"{name.lower()}{'@day' if name == 'Seen' else ''}")
    assert sum(row["count"] for row in rows) == len(office.tickets)
    nothing = [row for row in rows if "(no data)" in row.values() or row.get(f"{name.lower()}_day", "") is None]
    assert [office.total("ticket", f"{name.lower()}:null")] == [row["count"] for row in nothing]


def test_links_are_counted_by_the_records_at_their_other_ends(office: Office) -> None:
    rows = office.ask("type:worklist.subtotals of:task by:[links~100]")["data"]["children"]
    hits = {row["value"]: (row["name"], row["hits"], row["query"].partition(" set.")[0]) for row in rows}
    for id, name in zip(office.orgs, ("Acme", "Larch Foods", "Nothing"), strict=True):
        assert hits[f"svc.contexts.org:{id}"] == (name, 4, f"links.org:(id:{id})")
    assert len(rows) == 3 + 12 and sum(row["hits"] for row in rows) == 24
    one = cells(office, "task", "links~1")[0]
    assert (one["links__context"], one["links_id"] in office.orgs) == ("svc.contexts.org", True)
    table = office.ask("type:worklist.subtotals of:task by:[links~1] format:table")["data"]["rows"][0]
    assert (table["links"], table["links__context"]) == (one["links_id"], "svc.contexts.org")


def test_linked_records_that_the_caller_may_not_read_have_no_row(office: Office) -> None:
    rows = office.ask("type:worklist.subtotals of:task by:[links~100]", "olga")["data"]["children"]
    tickets = {int(row["value"].partition(":")[2]) for row in rows if ".ticket:" in row["value"]}
    readable = {id for id in office.tickets[:12] if office.total("ticket", f"id:{id}", "olga")}
    assert tickets == readable and len(readable) < 12


def test_buckets_with_the_same_name_show_their_groups(office: Office) -> None:
    labels = {row["bucket__label"] for row in cells(office, "ticket", "bucket")}
    assert labels == {"Support: Inbox", "Sales: Inbox"}
    one = {row["bucket__label"] for row in cells(office, "ticket", "bucket", f"query:(group.id:{office.sales})")}
    assert one == {"Inbox"}
    found = search(office.desk.context(office.people["nora"]), "ticket", SearchRequest(subtotals=("bucket.id",)))
    assert {each["label"] for each in found["subtotals"]["bucket.id"]} == labels
