"""Order, pages and mistakes of searches over HTTP."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from server.store.collation import sort_text
from tests.api.sample import NOW, Sample, Ticket
from tests.api.test_search import filled
from tests.service import Api, Reply

Order = Callable[[Ticket], Any]


def asked(sample: Sample, query: str, **params: Any) -> Reply:
    return sample.api.search("ticket", filled(query, sample), **params).ok()


def ids(answer: Reply) -> list[int]:
    return [each["id"] for each in answer["results"]]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", lambda t: t.id),
        ("sort:id", lambda t: t.id),
        ("sort:-id", lambda t: -t.id),
        ("sort:importance", lambda t: (t.importance, t.id)),
        ("sort:+importance", lambda t: (t.importance, t.id)),
        ("sort:-importance,created", lambda t: (-t.importance, t.created, t.id)),
        ("sort:subject", lambda t: (sort_text(t.subject, ""), len(t.subject.encode()), t.subject.swapcase(), t.id)),
        ("sort:[-status.id,group.id]", lambda t: (-STATUS[t.status], GROUPS[t.group], t.id)),
        ("sort:created sort:-created", lambda t: (-t.created, t.id)),
        ("_sort:-created", lambda t: (-t.created, t.id)),
        ("sort:messages.count,-id", lambda t: (len(t.messages), -t.id)),
        ("sort:-spam.score", lambda t: (-t.spam, -t.id)),
        ("sort:tier", lambda t: (t.tier, t.id)),
        ("sort:-dueDate,id", lambda t: (-t.due, t.id)),
        ("sort:paid,-id", lambda t: (-1 if t.paid is None else t.paid, -t.id)),
        ("(status:open sort:-id) OR status:!open", lambda t: t.id),
    ],
)
def test_order(query: str, order: Order, sample: Sample) -> None:
    assert ids(asked(sample, query, limit=500)) == [each.id for each in sorted(sample.tickets, key=order)]


STATUS = {"open": 0, "waiting": 1, "closed": 2, "deleted": 3}
GROUPS = {"Support": 1, "Management": 2, "Depot": 3, "Stock": 4}


@pytest.mark.parametrize(
    ("query", "params", "page", "limit", "first", "last"),
    [
        ("", {}, 1, 10, 0, 10),
        ("", {"limit": 7, "page": 2}, 2, 7, 7, 14),
        ("", {"limit": 7, "page": 5}, 5, 7, 28, 30),
        ("", {"limit": 7, "page": 6}, 6, 7, 0, 0),
        ("", {"limit": 500, "page": 99}, 99, 500, 0, 0),
        ("", {"limit": 30}, 1, 30, 0, 30),
        ("limit:5 page:2", {}, 2, 5, 5, 10),
        ("limit:5", {"limit": 20, "page": 3}, 3, 5, 10, 15),
        ("page:2", {"limit": 20, "page": 3}, 2, 20, 20, 30),
        ("limit:9999", {}, 1, 250, 0, 30),
        ("limit:0 page:0", {}, 1, 1, 0, 1),
        ("limit:3 limit:4", {}, 1, 4, 0, 4),
        ("_limit:3 _page:2", {}, 2, 3, 3, 6),
        ("page:9999", {}, 2001, 10, 0, 0),
        ("subtotal:status", {}, 1, 10, 0, 10),
    ],
)
def test_pages_and_their_echo(
    query: str, params: dict[str, int], page: int, limit: int, first: int, last: int, sample: Sample
) -> None:
    response = asked(sample, query, **params)
    assert ids(response) == [each.id for each in sample.tickets[first:last]]
    echo = {name: response[name] for name in ("page", "limit", "count", "total")}
    assert echo == {"page": page, "limit": limit, "count": last - first, "total": len(sample.tickets)}


def test_row_105_sorts_and_pages_in_one_query(sample: Sample) -> None:
    response = asked(sample, "sort:-importance,created limit:5 page:2")
    ordered = sorted(sample.tickets, key=lambda t: (-t.importance, t.created, t.id))
    assert ids(response) == [each.id for each in ordered[5:10]]


def test_pages_do_not_overlap_and_miss_nothing(sample: Sample) -> None:
    seen = [id for page in range(1, 9) for id in ids(asked(sample, "sort:status.id", limit=4, page=page))]
    assert sorted(seen) == [each.id for each in sample.tickets]


def following(sample: Sample, answer: Reply, method: str = "GET", **body: Any) -> Reply | None:
    """Returns the page that a Link header names, None without a header."""
    link = answer.headers.get("Link", "")
    if not link:
        return None
    address, relation = link.split("; ")
    assert relation == 'rel="next"'
    return sample.api.call(method, address.strip("<>"), **body).ok()


@pytest.mark.parametrize(
    "query", ["", "sort:-importance", "sort:subject", "sort:paid,-id", "sort:[-status.id,group.id]"]
)
@pytest.mark.parametrize("limit", [1, 7, 30, 31])
def test_links_lead_through_all_pages(query: str, limit: int, sample: Sample) -> None:
    expected = ids(asked(sample, query, limit=500))
    response: Reply | None = asked(sample, query, limit=limit, **{"subtotals[]": ["status"]}, expand="owner_")
    seen = []
    while response is not None:
        assert response["total"] == len(expected) and response["limit"] == limit and "subtotals" in response.json
        assert "owner_id" in response["results"][0]
        seen.append(ids(response))
        response = following(sample, response)
    assert [id for page in seen for id in page] == expected
    assert [len(page) for page in seen[:-1]] == [limit] * (len(seen) - 1) and seen[-1]


def test_a_page_continues_where_the_last_one_ended_despite_changes(api: Api) -> None:
    made = [api.create("task", title=f"Zander {number:02}").ok()["id"] for number in range(9)]
    first = api.search("task", "title:Zander* sort:-title", limit=3).ok()
    assert ids(first) == made[:-4:-1]
    api.create("task", title="Zander 99").ok()
    api.remove("task", made[-1]).ok()
    api.remove("task", made[-3]).ok()  # the last of the page
    link = first.headers["Link"].partition(">")[0].strip("<")
    second = api.call("GET", link).ok()
    assert ids(second) == made[5:2:-1] and "page" not in second.json
    by_post = api.search("task", "title:Zander* sort:-title", limit=3).ok()
    cursor = parse_qs(urlsplit(by_post.headers["Link"].partition(">")[0]).query)["cursor"]
    again = api.post("/rest/records/task/search.json", q="title:Zander* sort:-title", limit=3, cursor=cursor[0]).ok()
    assert again.headers["Link"].startswith("</rest/records/task/search.json?cursor=") and len(ids(again)) == 3
    other = api.get(f"/rest/records/task/search.json?q=sort:title&cursor={cursor[0]}")
    assert (other.status, other["errors"][0]["field"]) == (422, "cursor")
    assert "a different search or order" in other["message"]


@pytest.mark.parametrize("cursor", ["x", "é", "AAAA", "bm9uZQ", "A" * 5000])
def test_a_cursor_that_this_service_did_not_issue_is_refused(cursor: str, sample: Sample) -> None:
    refused = sample.api.search("ticket", "", cursor=cursor)
    assert (refused.status, refused["errors"][0]["field"]) == (422, "cursor")


def test_without_results_the_total_is_returned(sample: Sample) -> None:
    response = asked(sample, "", show_results=0)
    assert sorted(response.json) == ["__build", "__status", "__version", "total"]
    assert response["total"] == len(sample.tickets)
    assert asked(sample, "status:closed", show_results=0)["total"] == asked(sample, "status:closed")["total"]


def test_query_is_another_name_for_q(sample: Sample) -> None:
    """A search by an unknown parameter used to return every ticket."""
    by_query = sample.api.get("/rest/records/ticket/search.json?query=status:closed").ok()
    assert by_query["total"] == asked(sample, "status:closed")["total"] < len(sample.tickets)
    both = sample.api.get("/rest/records/ticket/search.json?query=status:closed&q=id:999999").ok()
    assert both["total"] == 0


def test_no_match_is_an_empty_list(sample: Sample) -> None:
    response = asked(sample, "id:999999")
    assert (response["results"], response["total"], response["count"]) == ([], 0, 0)


MISTAKES = [
    ("nosuch:1", 0, "'nosuch' is not a filter of ticket"),
    ("status:open groop:Depot", 12, "did you mean 'group'?"),
    ("Status:open", 0, "did you mean 'status'?"),
    ("org:(nmae:x)", 5, "'nmae' is not a filter of org; did you mean 'name'?"),
    ("group:(name:a member:(fristName:x))", 22, "'fristName' is not a filter of worker; did you mean 'firstName'?"),
    ("importance:> 40", 11, "compares with nothing"),
    ("importance:abc", 11, "'abc' is not a whole number"),
    ("importance:-", 11, "is not a whole number"),
    ("importance:40..60", 11, "is not a whole number"),
    ("importance:(5)", 11, "takes a value, not a query in parentheses"),
    ("id:me", 3, "'me' is not a whole number"),
    ("status:bogus", 7, "'bogus' is not one of open, waiting, closed, deleted"),
    ("status:opne", 7, "did you mean 'open'?"),
    ("status:", 0, "has no value"),
    ("created:10:30", 0, "has no value"),
    ("created:foo", 8, "foo"),
    ('created:"foo to now"', 8, "foo"),
    ("created:(since:foo)", 8, "foo"),
    ("created:(bogus:1)", 8, "'bogus' is not a part of a date"),
    ("closed:>never", 7, "never"),
    ("response.first:soon", 15, "soon"),
    ("spam.score:lots", 11, "'lots' is not a number"),
    ("links:nosuch", 6, "'nosuch' is not a record type"),
    ("links.nosuch:(id:1)", 0, "'links.nosuch' is not a filter"),
    ("(status:open", 0, "is not closed"),
    ("status:open)", 11, "has no opening bracket"),
    ('subject:"pump', 8, "is not closed"),
    ("id:[1,2", 3, "has no ']'"),
    ("id:1]", 4, "has no opening bracket"),
    ("sort:nosuch", 5, "ticket cannot be sorted by 'nosuch'"),
    ("sort:creatde", 5, "did you mean 'created'?"),
    ("sort:group", 5, "cannot be sorted by 'group'"),
    ("sort:-nosuch,id", 5, "cannot be sorted by 'nosuch'"),
    ("sort:!id", 6, "sort"),
    ("limit:many", 6, "a whole number from 1 to 250"),
    ("page:-1", 5, "a whole number"),
    ("set.timezone:Mars/Phobos", 13, "Mars/Phobos"),
    ("tier:(Gold)", 5, "in parentheses a text takes exact:"),
    ("paid:maybe", 5, "neither yes nor no"),
    ("dueDate:soonish", 8, "soonish"),
    ("nosuch.id:5", 0, "is not a filter"),
    ("custom_99999:x", 0, "is not a filter"),
    ("a" * 8193, 8192, "8192 are allowed"),
    ("x:" * 3 + "1", 0, "has no value"),
    ("a " * 201, 400, "more than 200 terms"),
    ("(" * 9 + "a" + ")" * 9, 8, "nested deeper than 8"),
]


@pytest.mark.parametrize(("query", "position", "part"), MISTAKES, ids=[row[0][:40] for row in MISTAKES])
def test_a_mistake_is_reported_with_its_position(query: str, position: int, part: str, sample: Sample) -> None:
    response = sample.api.call("POST", "/rest/records/ticket/search.json", data={"q": query})
    assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID")
    assert part in response["message"]
    assert response["position"] == position, response
    assert "results" not in response.json


@pytest.mark.parametrize("uri", ["org", "task", "worker", "custom_field", "activity_log", "attachment", "comment"])
def test_a_filter_of_another_type_is_a_mistake(uri: str, sample: Sample) -> None:
    response = sample.api.search(uri, "reopen.nosuch:1")
    assert (response.status, response["position"]) == (422, 0)


def test_hostile_texts_are_only_texts(sample: Sample) -> None:
    for text in (
        "'; DROP TABLE ticket; --", "%_*", '" OR 1=1', "a AND NOT b NEAR(c d)", "col : x", "^x", "a*b*c*d*", "\x00",
        "{x} : y", "-- ", "/* */", "\\", "x\\", "[", "{{ x", "\N{KITE}\u202e", "* *", "+-^~", "OR", "AND AND", "NEAR",
    ):  # fmt: skip
        for query in (text, f'subject:"{text}"', f'text:"{text}"', f"subject:{text}", f'org:"{text}"', f"tier:{text}"):
            response = sample.api.search("ticket", query, limit=500)
            assert response.status in (200, 422), (query, response)
    everything = asked(sample, "")["total"]
    assert everything == len(sample.tickets)
    assert asked(sample, 'subject:"%"')["total"] == 0
    assert asked(sample, "subject:_")["total"] == 1


def test_relative_times_are_read_in_the_workers_zone(sample: Sample) -> None:
    """At noon in UTC it is 2024-05-15 all day in London, and 2024-05-16 on Kiritimati since 10:00 UTC."""
    today = asked(sample, "set.timezone:Pacific/Kiritimati created:today")
    assert ids(today) == [each.id for each in sample.tickets if each.created >= NOW - 2 * 3600]


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("pump or zzzz", ["'or' was searched as a word; write OR for the operator"]),
        ("zzzz not pump", ["'not' was searched as a word; write NOT for the operator"]),
        ("(zzzz or pump)", ["'or' was searched as a word; write OR for the operator"]),
        ("zzzz or", None),
        ('zzzz "or" pump', None),
        ("zzzz OR yyyy", None),
        ("pump", None),
    ],
)
def test_a_search_without_results_names_words_that_are_not_operators(
    query: str, notes: list[str] | None, sample: Sample
) -> None:
    assert sample.api.search("ticket", query).ok().json.get("notes") == notes


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("*ump", "subject:*mark*"),
        ("importance>50", "write importance:>50"),
        ("importance=50", "write importance:50"),
        ("importance!=50", "write importance:!50"),
        ("importance:[10 TO 50]", 'write a range as importance:"10 to 50"'),
        ("pump || leak", "write OR"),
    ],
)
def test_an_operator_of_another_language_gets_ours_as_a_suggestion(query: str, advice: str, sample: Sample) -> None:
    assert advice in sample.api.search("ticket", query)["message"]
