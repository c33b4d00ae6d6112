"""Smaller responses: only the requested keys, and gzip where it is worth it."""

import gzip
import json

import pytest
import requests

from server.web.packed import LEAST_BYTES
from tests.api.minimal import made, number
from tests.service import Api


def raw(api: Api, path: str, accept: str, **headers: str) -> requests.Response:
    sent = {"Authorization": f"Bearer {api.token}", "Accept-Encoding": accept} | headers
    return requests.get(f"{api.url}{path}", headers=sent, stream=True, timeout=60)


@pytest.fixture(scope="module")
def word(nora: Api) -> str:
    """A word in the titles of sixty tasks."""
    found = f"less{number()}"
    for each in range(60):
        made(nora, "task", title=f"{found} {each:02}")
    return found


def test_records_have_only_the_requested_keys(api: Api, word: str) -> None:
    asked = {"q": f"title:{word}* sort:title", "limit": "2", "fields": "id, title"}
    found = api.get("/rest/records/task/search.json", **asked).ok()
    assert [set(each) for each in found["results"]] == [{"id", "title"}] * 2 and found["total"] == 60
    posted = api.post("/rest/records/task/search.json", **asked).ok()
    assert posted["results"] == found["results"]
    id = found["results"][0]["id"]
    one = api.get(f"/rest/records/task/{id}.json", fields="title,links", expand="links").ok()
    assert {each for each in one.json if not each.startswith("__")} == {"title", "links"}
    assert one["title"] == f"{word} 00" and one["links"] == {}


def test_an_unknown_key_is_reported(api: Api, word: str) -> None:
    found = api.get("/rest/records/task/search.json", q=f"title:{word}*", limit="1", fields="id,titel").ok()
    assert "'titel' is not a key of these records; did you mean 'title'?" in found["notes"][0]
    assert list(found["results"][0]) == ["id"]


def test_the_tag_of_a_sparse_record_is_only_for_reading(api: Api) -> None:
    id = made(api, "task", title="Splice")
    path = f"/rest/records/task/{id}.json"
    tag = api.get(path, fields="title").ok().headers["ETag"]
    assert api.call("GET", path, params={"fields": "title"}, headers={"If-None-Match": tag}).status == 304
    assert api.call("GET", path, params={"fields": "id"}, headers={"If-None-Match": tag}).status == 200
    assert api.call("PUT", path, data={"fields[title]": "Knot"}, headers={"If-Match": tag}).status == 412


@pytest.mark.parametrize("limit", [60, 200])
def test_a_large_response_is_compressed_for_clients_that_accept_it(api: Api, word: str, limit: int) -> None:
    """On the event loop and on a thread."""
    path = f"/rest/records/task/search.json?q=title:{word}*&limit={limit}"
    plain, packed = raw(api, path, "identity"), raw(api, path, "gzip")
    whole, small = plain.raw.read(decode_content=False), packed.raw.read(decode_content=False)
    assert "Content-Encoding" not in plain.headers and packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding" and len(small) < len(whole) / 4
    assert json.loads(gzip.decompress(small)) == json.loads(whole)
    assert packed.headers["Content-Length"] == str(len(small))


def test_small_responses_and_clients_without_gzip_get_plain_bytes(api: Api, word: str) -> None:
    path = f"/rest/records/task/search.json?q=title:{word}*&limit=60"
    for accept in ("", "br", "gzip;q=0", "identity"):
        assert "Content-Encoding" not in raw(api, path, accept).headers, accept
    small = raw(api, "/rest/workers/me.json", "gzip")
    assert "Content-Encoding" not in small.headers and int(small.headers["Content-Length"]) < LEAST_BYTES


def test_the_tag_of_a_compressed_record_is_weak_and_matches_both(api: Api) -> None:
    id = made(api, "kb_article", content="word " * 4000)
    path = f"/rest/records/kb_article/{id}.json?expand=content"
    tag = raw(api, path, "gzip").headers["ETag"]
    assert tag.startswith('W/"') and raw(api, path, "gzip", **{"If-None-Match": tag}).status_code == 304
    assert raw(api, path, "identity").headers["ETag"] == tag.removeprefix("W/")
    done = api.call("PUT", path, data={"fields[title]": "Other"}, headers={"If-Match": tag})
    assert done.status == 200


def test_the_change_feed_says_where_to_resume(api: Api) -> None:
    cursor = api.get("/rest/changes.json").ok()["cursor"]
    made(api, "task", title="Splice")
    page = api.get("/rest/changes.json", since=str(cursor), types="task", limit="1").ok()
    assert page.headers["Link"] == f'</rest/changes.json?since={page["cursor"]}&limit=1&types=task>; rel="next"'
    following = page.headers["Link"].partition(">")[0].removeprefix("<")
    assert api.get(following).ok()["results"] == []
