"""Many requests in one: each has its own response, or either all succeed or none."""

import uuid
from typing import Any

import pytest

from server.web.rest.batch import MAX_OPERATIONS
from tests.api.minimal import made
from tests.service import Api, Reply


def batch(api: Api, *operations: Any, **more: Any) -> Reply:
    return api.call("POST", "/rest/batch.json", json={"operations": list(operations), **more})


def create(title: str, **headers: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"method": "POST", "path": "records/task/create", "params": {"fields": {"title": title}}}
    return asked | {"headers": headers} if headers else asked


def titles(api: Api, word: str) -> list[str]:
    found = api.search("task", f"title:{word}* sort:id", limit=500).ok()["results"]
    return [each["title"] for each in found]


def new_word() -> str:
    return f"b{uuid.uuid4().hex[:12]}"


def test_each_has_its_own_response(api: Api) -> None:
    word, id = new_word(), made(api, "task", title="Splice")
    operations = [
        create(f"{word} one"),
        {"method": "PUT", "path": f"records/task/{id}", "params": {"fields": {"title": f"{word} two"}}},
        {"path": f"/rest/records/task/{id}.json", "params": {"expand": "links"}},
        create(""),
        {"method": "DELETE", "path": f"records/task/{id}"},
        {"path": f"records/task/{id}"},
        {"path": "no/such"},
        {"method": "POST", "path": "workers/me"},
        {"path": "workers/me", "params": {"expnd": "x"}},
    ]
    response = batch(api, *operations).ok()
    statuses = [each["status"] for each in response["results"]]
    assert statuses == [200, 200, 200, 422, 200, 404, 404, 405, 200] and response["failed"] == 4
    bodies = [each["body"] for each in response["results"]]
    assert bodies[0]["title"] == f"{word} one" and bodies[2]["title"] == f"{word} two" and bodies[2]["links"] == {}
    assert bodies[3]["__error"] == "ERROR_PARAM_REQUIRED" and bodies[8]["notes"]
    headers = [each["headers"] for each in response["results"]]
    assert headers[0]["Location"] == f"/rest/records/task/{bodies[0]['id']}.json" and headers[2]["ETag"]
    assert titles(api, word) == [f"{word} one"]


def test_the_largest_batch_is_done_in_order(api: Api) -> None:
    word = new_word()
    response = batch(api, *(create(f"{word} {number:03}") for number in range(MAX_OPERATIONS))).ok()
    ids = [each["body"]["id"] for each in response["results"]]
    assert ids == sorted(ids) and titles(api, word) == [f"{word} {number:03}" for number in range(MAX_OPERATIONS)]


def test_one_that_fails_does_not_affect_the_others(api: Api) -> None:
    word = new_word()
    fields = [
        {"title": f"{word} {number}"} | ({"importance": "high"} if number % 3 == 1 else {}) for number in range(9)
    ]
    operations = [{"method": "POST", "path": "records/task/create", "params": {"fields": each}} for each in fields]
    statuses = [each["status"] for each in batch(api, *operations).ok()["results"]]
    assert statuses == [200, 422, 200] * 3
    assert titles(api, word) == [f"{word} {number}" for number in range(9) if number % 3 != 1]


def test_slow_requests_run_outside_the_writer(api: Api) -> None:
    """Interleaved with small writes: one hashes a password, one renders Markdown."""
    word = new_word()
    compose = {
        "group_id": api.ids["support"], "to": f"{word}@batch.example", "subject": word, "content": "**Bold**",
        "content_format": "markdown", "dont_send": 1,
    }  # fmt: skip
    worker = {
        "first_name": word, "email": f"{word}@desk.example", "language": "en_US", "timezone": "UTC",
        "password": "correct horse battery",
    }  # fmt: skip
    response = batch(
        api, create(f"{word} one"), {"method": "POST", "path": "tickets/compose", "params": compose},
        {"method": "POST", "path": "records/worker/create", "params": {"fields": worker}}, create(f"{word} two"),
    ).ok()  # fmt: skip
    assert [each["status"] for each in response["results"]] == [200] * 4, response["results"][2]
    assert titles(api, word) == [f"{word} one", f"{word} two"]


def test_all_or_nothing(api: Api) -> None:
    word = new_word()
    done = batch(api, *(create(f"{word} {number}") for number in range(3)), all_or_nothing=True).ok()
    assert done["failed"] == 0 and len(titles(api, word)) == 3
    undone = new_word()
    for wrong, status, told in [
        (create(""), 422, "title"),
        ({"method": "PUT", "path": "records/task/999999", "params": {"fields": {"title": "x"}}}, 404, "there is no"),
        ({"path": "no/such"}, 404, "there is no endpoint"),
        ({"path": "workers/me"}, 422, "requests that write"),
        ({"method": "POST", "path": "batch", "params": {"operations": [create("x")]}}, 405, "cannot contain a batch"),
    ]:
        refused = batch(api, create(f"{undone} a"), wrong, create(f"{undone} b"), all_or_nothing=1)
        assert refused.status == status and told in refused["message"], refused.json
        assert refused["message"].startswith("operations[1]: ") and "nothing was done" in refused["message"]
        assert not titles(api, undone)


@pytest.mark.parametrize(
    ("operations", "told"),
    [
        ([], "the list is empty"),
        ({}, "send a list"),
        ("x", "not valid JSON"),
        ([1], "operations[0]: send a map"),
        ([{"method": "GET"}], "operations[0]: send a map"),
        ([{"path": "workers/me", "method": "get"}], "method is one of"),
        ([{"path": "workers/me", "body": {}}], "'body' is not one of headers, method, params, path"),
        ([{"path": "workers/me", "params": []}], None),
        ([{"path": "workers/me", "params": [1]}], "params and headers are maps"),
        ([{"path": "workers/me"}] * (MAX_OPERATIONS + 1), "at most 100"),
    ],
)
def test_an_invalid_batch_is_refused(api: Api, operations: Any, told: str | None) -> None:
    response = api.call("POST", "/rest/batch.json", json={"operations": operations})
    if told is None:
        response.ok()
    else:
        assert response.status in (400, 422) and told in response["message"], response.json


def test_conditions_and_keys_apply_to_each_request(api: Api) -> None:
    word, id = new_word(), made(api, "task", title="Splice")
    key, tag = str(uuid.uuid4()), api.record("task", id).headers["ETag"]

    def change(title: str) -> dict[str, Any]:
        fields = {"fields": {"title": title}}
        return {"method": "PUT", "path": f"records/task/{id}", "params": fields, "headers": {"if-match": tag}}

    keyed = create(f"{word} once", **{"idempotency-key": key})
    response = batch(api, change("Knot"), change("Whip"), keyed, keyed).ok()
    assert [each["status"] for each in response["results"]] == [200, 412, 200, 200]
    assert response["results"][1]["body"]["record"]["title"] == "Knot"
    assert response["results"][3]["headers"]["Idempotent-Replayed"] == "true" and titles(api, word) == [f"{word} once"]


def test_a_repeated_batch_is_done_once(api: Api) -> None:
    word = new_word()
    sent = {"operations": [create(f"{word} one"), create(f"{word} two")]}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, second = (api.call("POST", "/rest/batch.json", json=sent, headers=headers).ok() for _ in range(2))
    assert first.json == second.json and len(titles(api, word)) == 2


def test_files_and_streams_cannot_be_part_of_a_batch(api: Api) -> None:
    file = api.call("POST", "/rest/attachments/upload.json", data={"file_name": "a.txt", "content": "x"}).ok()["id"]
    stream = {"path": "changes", "headers": {"Accept": "text/event-stream"}}
    for each in ({"path": f"attachments/{file}/download"}, stream):
        [result] = batch(api, each).ok()["results"]
        assert result["status"] == 422 and "request it alone" in result["body"]["message"]


def test_a_batch_cannot_contain_a_batch(api: Api) -> None:
    [result] = batch(api, {"method": "POST", "path": "batch", "params": {"operations": [create("x")]}}).ok()["results"]
    assert result["status"] == 405


def test_scopes_are_checked_for_each_request(api: Api) -> None:
    scopes = "tasks:\n  label: Tasks\n  endpoints:\n  - records/task/*: [GET, POST]\n"
    app = api.create(
        "oauth_app", name="Batch", callback_url="https://batch.example/back", scopes=scopes
    ).ok()["id"]  # fmt: skip
    token = api.post(
        "/rest/oauth/tokens/create.json", worker_id=api.ids["nora"], app_id=app, scopes="tasks"
    ).ok()["access_token"]  # fmt: skip
    scoped = Api(api.url, token)
    response = batch(scoped, create(new_word()), {"path": "workers/me"}).ok()
    assert [each["status"] for each in response["results"]] == [200, 403]
    assert response["results"][1]["body"]["__error"] == "ERROR_SCOPE"
    refused = batch(scoped, create(new_word()), {"path": "workers/me"}, all_or_nothing=1)
    assert refused.status == 403 and refused["__error"] == "ERROR_SCOPE"
