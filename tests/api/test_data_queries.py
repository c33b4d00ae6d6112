"""GET and POST /rest/data/query.json on a real server: ways to send a query, kinds of results, errors, permissions."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.api.sample import Sample
from tests.service import Reply

PATH = "/rest/data/query.json"
COUNTS = "type:worklist.subtotals of:ticket"


def asked(sample: Sample, q: str, who: str = "") -> Reply:
    client = sample.api.as_(who) if who else sample.api
    return client.get(PATH, q=q)


def ids_of(sample: Sample) -> list[int]:
    return [ticket.id for ticket in sample.tickets]


def data(sample: Sample, q: str, who: str = "") -> Any:
    return asked(sample, q, who).ok()["data"]


def test_get_and_every_kind_of_post_return_the_same(sample: Sample) -> None:
    q = f'{COUNTS} by:[group,status] query:(subject:"pump leak")'
    expected = asked(sample, q).ok().json
    text = {"Content-Type": "text/plain; charset=utf-8"}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    ways: list[dict[str, Any]] = [
        {"data": q.encode()}, {"data": q.encode(), "headers": text}, {"data": q.encode(), "headers": form},
        {"data": {"q": q}}, {"json": {"q": q}}, {"files": {"q": (None, q)}}, {"params": {"q": q}},
        {"params": {"q": "type:nothing"}, "data": q.encode()},
    ]  # fmt: skip
    for way in ways:
        assert sample.api.call("POST", PATH, **way).ok().json == expected, way
    assert expected["_"] == {"type": "worklist.subtotals", "context": "svc.contexts.ticket", "format": "tree"}
    assert expected["__status"] == "success"


@pytest.mark.parametrize(
    ("way", "status", "code"),
    [
        ({}, 422, "ERROR_PARAM_REQUIRED"),
        ({"data": b"  "}, 422, "ERROR_PARAM_REQUIRED"),
        ({"json": {"x": 1}}, 422, "ERROR_PARAM_REQUIRED"),
        ({"json": {"q": ["a"]}}, 422, "ERROR_PARAM_INVALID"),
        ({"data": b"[1]", "headers": {"Content-Type": "application/json"}}, 400, "ERROR_PARAM_INVALID"),
        ({"data": b"type:\xff"}, 400, "ERROR_PARAM_INVALID"),
        ({"data": b"of:ticket"}, 422, "ERROR"),
        ({"data": b"x" * 8193}, 422, "ERROR_SEARCH_FILTERS_INVALID"),
    ],
)
def test_invalid_bodies(sample: Sample, way: dict[str, Any], status: int, code: str) -> None:
    response = sample.api.call("POST", PATH, **way)
    assert (response.status, response["__error"]) == (status, code)


def test_other_methods_are_not_supported(sample: Sample) -> None:
    response = sample.api.call("PUT", PATH, data={"q": COUNTS})
    assert response.status == 405 and response.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert sample.api.call("HEAD", PATH, params={"q": f"{COUNTS} by:status"}).status == 200


@pytest.mark.parametrize(
    ("q", "part", "code"),
    [
        (f"{COUNTS} by:[nope]", "nope", "ERROR"),
        (f"{COUNTS} by:[status] query:(nope:1)", "nope:1", "ERROR_SEARCH_FILTERS_INVALID"),
        (f"{COUNTS} by:[status] format:zzz", "zzz", "ERROR"),
        (f"{COUNTS} by:[status] zzz:1", "zzz", "ERROR"),
        (f"{COUNTS} by:[created@eon]", "created", "ERROR"),
        ("of:ticket", "of", "ERROR"),
        ("type:worklist.records of:ticket format:table", "table", "ERROR"),
        ("type:worklist.records of:nothing", "nothing", "ERROR"),
        ("type:nothing", "nothing", "ERROR"),
    ],
)
def test_mistakes_are_422_with_their_position(sample: Sample, q: str, part: str, code: str) -> None:
    response = asked(sample, q)
    assert (response.status, response["__error"]) == (422, code)
    assert q[response["position"] :].startswith(part)


def test_counts_match_the_tickets(sample: Sample) -> None:
    by_status = Counter(ticket.status for ticket in sample.tickets)
    nodes = data(sample, f"{COUNTS} by:[status]")["children"]
    assert {node["name"].lower(): node["hits"] for node in nodes} == by_status
    assert all("children" not in node for node in nodes)
    by_group = Counter(ticket.group for ticket in sample.tickets)
    assert data(sample, f"{COUNTS} by:[group~2] format:pie") == [list(each) for each in by_group.most_common(2)]
    rarest = min(by_group.values())
    assert [hits for _, hits in data(sample, f"{COUNTS} by:[group~-1] format:pie")] == [rarest]


def test_months_contain_groups(sample: Sample) -> None:
    nodes = data(sample, "type:worklist.subtotals of:tickets by:[created@month,group]")["children"]
    assert sum(node["hits"] for node in nodes) == len(sample.tickets)
    assert all(node["hits"] == sum(each["hits"] for each in node["children"]) for node in nodes)
    assert all(len(node["name"]) == 7 for node in nodes)


def test_averages_by_group_or_overall(sample: Sample) -> None:
    rows = data(sample, f"{COUNTS} by.avg:[group,response.first] format:dictionaries")
    responses: dict[str, list[int]] = {}
    for ticket in sample.tickets:
        responses.setdefault(ticket.group, []).append(ticket.response)
    expected = {group: round(sum(each) / len(each), 4) for group, each in responses.items()}
    assert {row["group__label"]: row["response_first"] for row in rows} == pytest.approx(expected)
    assert len(data(sample, f"{COUNTS} by.avg:[response.first] format:dictionaries")) == 1


def test_distinct_values_days_and_formulas(sample: Sample) -> None:
    orgs: dict[str, set[str]] = {}
    for ticket in sample.tickets:
        orgs.setdefault(ticket.group, set()).update({ticket.org} - {""})
    rows = data(sample, f"{COUNTS} by.distinct:[group,org] format:table")["rows"]
    assert {row["group.id_label"]: row["org"] for row in rows} == {name: len(each) for name, each in orgs.items()}
    assert data(sample, f"{COUNTS} by:[group,created@day] group.avg:[group] format:pie")
    plain, times = (data(sample, f"{COUNTS} by:[group] {more} format:pie") for more in ("", 'metric:"x*100"'))
    assert times == [[name, hits * 100] for name, hits in plain]


def test_records_come_in_pages_and_in_order(sample: Sample) -> None:
    found = asked(sample, "type:worklist.records of:ticket query:(limit:10 sort:id) page:1").ok()
    rows = found["_"]["paging"]["page"]["rows"]
    assert (rows["from"], rows["to"], rows["of"]) == (11, 20, len(sample.tickets))
    ids = sorted(ids_of(sample))[10:20]
    assert list(json.loads(found.content)["data"]) == [str(id) for id in ids]
    down = asked(sample, "type:worklist.records of:ticket query:(sort:-id limit:3)").ok()
    assert list(json.loads(down.content)["data"]) == [str(id) for id in sorted(ids_of(sample), reverse=True)[:3]]


@pytest.mark.parametrize("by", ["group,status", "org", "tier", "created@dayofweek,status", "participant", "links"])
def test_the_search_of_every_cell_finds_its_records(sample: Sample, by: str) -> None:
    for who in ("", "milo", "olga"):
        for row in data(sample, f"{COUNTS} by:[{by}] format:dictionaries query:(subject:!zzz)", who):
            client = sample.api.as_(who) if who else sample.api
            found = client.get("/rest/records/ticket/search.json", q=row["count_query"], limit=1).ok()
            assert found["total"] == row["count"], row["count_query"]


def test_unreadable_records_are_not_counted(sample: Sample) -> None:
    total = {}
    for who in ("", "olga"):
        total[who] = sum(hits for _, hits in data(sample, f"{COUNTS} by:[status] format:pie", who))
        client = sample.api.as_(who) if who else sample.api
        assert total[who] == client.get("/rest/records/ticket/search.json", limit=1).ok()["total"]
    assert total["olga"] < total[""]
