"""ETag of records, and conditional requests: done only if the record is, or is not, the version that the client
read."""

from collections.abc import Iterator

import pytest

from server.record_types.registry import load
from tests.api.minimal import MINIMAL, made
from tests.service import Api, Reply
from tests.telling import telling_types

TYPES = load()
READABLE = telling_types([uri for uri in sorted(MINIMAL) if TYPES.type(uri).operations["retrieve"]])


@pytest.fixture
def task(api: Api) -> Iterator[int]:
    yield made(api, "task", title="Splice")


def path(id: int, uri: str = "task", query: str = "") -> str:
    return f"/rest/records/{uri}/{id}.json{query}"


def read(api: Api, id: int, query: str = "", **headers: str) -> Reply:
    return api.call("GET", path(id, query=query), headers=headers)


def change(api: Api, id: int, title: str, query: str = "", **headers: str) -> Reply:
    return api.call("PUT", path(id, query=query), data={"fields[title]": title}, headers=headers)


@pytest.mark.parametrize("query", ["", "?show_meta=1", "?expand=owner_,links", "?expand=links&show_meta=1"])
def test_a_record_is_changed_only_with_its_current_tag(api: Api, task: int, query: str) -> None:
    tag = read(api, task, query).ok().headers["ETag"]
    assert read(api, task, query, **{"If-None-Match": tag}).status == 304
    changed = change(api, task, "Knot", **{"If-Match": tag}).ok()
    refused = change(api, task, "Whip", **{"If-Match": tag})
    assert refused.status == 412 and refused["__error"] == "ERROR_PRECONDITION"
    assert refused["record"]["title"] == "Knot"
    assert refused.headers["ETag"] == changed.headers["ETag"] == read(api, task).headers["ETag"]
    assert read(api, task, query, **{"If-None-Match": tag}).ok()["title"] == "Knot"
    change(api, task, "Whip", **{"If-Match": refused.headers["ETag"]}).ok()


def test_a_tag_is_valid_only_for_the_same_expand(api: Api, task: int) -> None:
    plain, with_links = (read(api, task, query).headers["ETag"] for query in ("", "?expand=links"))
    other = made(api, "task", title="Knot")
    api.update("task", task, links=[f"task:{other}"]).ok()
    assert change(api, task, "Whip", **{"If-Match": with_links}).status == 412
    assert read(api, task, **{"If-None-Match": plain}).status in (200, 304)  # valid for what the plain record shows


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '{} , "other"', "*"])
def test_conditions_are_lists_of_tags(api: Api, task: int, form: str) -> None:
    tag = read(api, task).headers["ETag"]
    assert read(api, task, **{"If-None-Match": form.format(tag)}).status == 304
    change(api, task, "Knot", **{"If-Match": form.format(tag)}).ok()


@pytest.mark.parametrize("tag", ['"other"', '""', "garbage", '"other.nosuch_"', '"' + "x" * 5000 + '"'])
def test_an_outdated_tag_does_not_match(api: Api, task: int, tag: str) -> None:
    assert read(api, task, **{"If-None-Match": tag}).ok()["title"] == "Splice"
    assert change(api, task, "Knot", **{"If-Match": tag}).status == 412
    assert api.call("DELETE", path(task), headers={"If-Match": tag}).status == 412
    assert read(api, task).ok()["title"] == "Splice"


def test_a_record_is_deleted_only_as_it_was_read(api: Api, task: int) -> None:
    tag = read(api, task).headers["ETag"]
    change(api, task, "Knot").ok()
    assert api.call("DELETE", path(task), headers={"If-Match": tag}).status == 412
    api.call("DELETE", path(task), headers={"If-Match": read(api, task).headers["ETag"]}).ok()
    assert api.call("DELETE", path(task), headers={"If-Match": tag}).status == 404


def test_an_upsert_creates_or_changes_only_the_expected_version(api: Api) -> None:
    def upsert(title: str, **headers: str) -> Reply:
        form = {"query": 'title:"Tagged upsert"', "fields[title]": title}
        return api.call("PATCH", "/rest/records/task/upsert.json", data=form, headers=headers)

    assert upsert("Tagged upsert", **{"If-Match": "*"}).status == 412
    created = upsert("Tagged upsert", **{"If-None-Match": "*"}).ok()
    again = upsert("Tagged upsert", **{"If-None-Match": "*"})
    assert again.status == 412 and again["record"]["id"] == created["id"]
    upsert("Tagged upsert", **{"If-Match": created.headers["ETag"]}).ok()
    assert upsert("Tagged upsert", **{"If-Match": '"other"'}).status == 412


def test_callers_who_may_not_read_a_record_learn_nothing_about_it(api: Api) -> None:
    id = made(api, "oauth_app")
    refused = api.as_("milo").call(
        "PUT", path(id, "oauth_app"), data={"fields[name]": "x"}, headers={"If-Match": '"other"'}
    )
    assert refused.status == 403 and "record" not in refused.json


@pytest.mark.parametrize("uri", READABLE)
def test_an_unchanged_record_has_the_same_tag(api: Api, uri: str) -> None:
    id = made(api, uri)
    first, second = (api.record(uri, id).ok() for _ in range(2))
    assert first.headers["ETag"] == second.headers["ETag"]


def test_notes_are_not_part_of_the_tag(api: Api, task: int) -> None:
    noted = read(api, task, "?sortby=id").ok()
    assert noted["notes"] and noted.headers["ETag"] == read(api, task).headers["ETag"]
