"""Upsert over HTTP: no match creates, one match updates, more change nothing; matching and writing are one step."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.api.minimal import made, number
from tests.service import Api


def test_no_match_creates_and_one_match_updates(api: Api) -> None:
    name = f"Kite {number()}"
    first = api.upsert("org", f'name:"{name}"', name=name, city="Oslo").ok()
    second = api.upsert("org", f'name:"{name}"', city="Bergen").ok()
    assert (first["id"], second["name"], second["city"]) == (second["id"], name, "Bergen")
    assert api.found("org", f'name:"{name}"') == [first["id"]]


def test_two_matches_change_nothing(api: Api) -> None:
    name = f"Twin {number()}"
    ids = [made(api, "org", name=name) for _ in range(3)]
    before = [api.record("org", id).ok().json for id in ids]
    response = api.upsert("org", f'name:"{name}"', city="Oslo")
    assert (response.status, response["__error"]) == (409, "ERROR_CONFLICT")
    assert "3 records" in response["message"]
    assert [api.record("org", id).ok().json for id in ids] == before


@pytest.mark.parametrize("query", ["nosuch:1", "name:", "(", "sort:nosuch", "created:foo", "org:(", "", "  "])
def test_a_bad_query_writes_nothing(query: str, api: Api) -> None:
    before = api.search("org").ok()["total"]
    assert api.upsert("org", query or " ", name="Bad").status == 422
    assert api.search("org").ok()["total"] == before
    assert api.found("org", 'name:"Bad"') == []


def test_a_record_that_the_query_does_not_find_must_be_complete(api: Api) -> None:
    response = api.upsert("org", "id:999999", city="Oslo")
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (
        422,
        "ERROR_PARAM_REQUIRED",
        "name",
    )


def test_only_readable_records_are_matched(api: Api) -> None:
    subject = f"Hidden {number()}"
    hidden = made(api, "ticket", subject=subject, group_id=api.ids["private"])
    response = (
        api.as_("milo").upsert("ticket", f'subject:"{subject}"', subject=subject, group_id=api.ids["support"]).ok()
    )
    assert response["id"] != hidden
    assert (
        api.record("ticket", hidden)["updated"]
        and api.upsert("ticket", f'subject:"{subject}"', importance=1).status == 409
    )


def test_a_match_that_the_caller_cannot_change_is_refused(api: Api) -> None:
    ticket = made(api, "ticket", subject=f"Fixed {number()}")
    response = api.as_("olga").upsert("ticket", f"id:{ticket}", importance=1)
    assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
    assert api.record("ticket", ticket)["importance"] == 50


def test_limits_inside_the_query_do_not_hide_a_second_match(api: Api) -> None:
    name = f"Limit {number()}"
    made(api, "org", name=name), made(api, "org", name=name)
    for control in ("limit:1", "limit:1 page:2", "page:99", "sort:-id"):
        assert api.upsert("org", f'name:"{name}" {control}', city="Oslo").status == 409, control


def test_sixteen_simultaneous_upserts_create_one_record(api: Api) -> None:
    email = f"race{number()}@kite.example"

    def upsert(client: int) -> tuple[int, int]:
        response = Api(api.url, api.token).upsert("address", f'email:"{email}"', email=email, is_trusted=client % 2)
        return response.status, response.json.get("id", 0)

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(upsert, range(16)))
    assert {status for status, _ in answers} == {200}
    assert len({id for _, id in answers}) == 1
    assert len(api.found("address", f'email:"{email}"')) == 1


def test_sixteen_simultaneous_upserts_by_a_name_that_need_not_be_unique(api: Api) -> None:
    name = f"Race {number()}"
    with ThreadPoolExecutor(16) as threads:
        answers = list(
            threads.map(lambda _: Api(api.url, api.token).upsert("org", f'name:"{name}"', name=name).status, range(16))
        )
    assert answers == [200] * 16
    assert len(api.found("org", f'name:"{name}"')) == 1


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Εταιρεία Νίκος {}", "ΕΤΑΙΡΕΊΑ ΝΊΚΟΣ {}"),
        ("Äpfel & Öl {}", "ÄPFEL & ÖL {}"),
        ("ſtop {}", "ſTOP {}"),
        ("ﬁne {}", "ﬁNE {}"),
        ("Ꭰ {}", "ꭰ {}"),
    ],
)
def test_a_non_ascii_name_matches_itself_in_any_case(name: str, other: str, api: Api) -> None:
    count = number()
    name, other = name.format(count), other.format(count)
    first = api.upsert("org", f'name:"{name}"', name=name).ok()
    assert api.upsert("org", f'name:"{name}"', name=name).ok()["id"] == first["id"]
    assert api.upsert("org", f'name:"{other}"', city="Oslo").ok()["id"] == first["id"]


def test_q_is_another_name_for_query(api: Api) -> None:
    form = {"q": 'name:"By another name"', "fields[name]": "By another name"}
    first = api.call("PATCH", "/rest/records/org/upsert.json", data=form).ok()["id"]
    assert api.call("PATCH", "/rest/records/org/upsert.json", data=form).ok()["id"] == first
