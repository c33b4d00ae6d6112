"""Requests with an Idempotency-Key: the work is done once, and the first response is sent again."""

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from server.errors import Conflict, Invalid, Unavailable
from server.jobs import job_queue, processes
from server.records import idempotency_keys
from server.records.idempotency_keys import KEPT_SECONDS, KEY, MAX_RESPONSE_BYTES, KeyedRequest
from server.web import idempotency
from server.web.endpoint_call import Response
from tests.api.minimal import made
from tests.records.desk import Desk
from tests.service import Api, Reply

NOW = 1_800_000_000
REQUEST = KeyedRequest("name", "fingerprint", b"s" * 32)


def create(api: Api, key: str, title: str, uri: str = "task", **fields: str) -> Reply:
    data = {"fields[title]": title} | {f"fields[{name}]": value for name, value in fields.items()}
    return api.call("POST", f"/rest/records/{uri}/create.json", data=data, headers={"Idempotency-Key": key})


def new_key() -> str:
    return str(uuid.uuid4())


def test_a_repeated_request_is_done_once(api: Api) -> None:
    key, title = new_key(), f"Once {new_key()}"
    first, second, third = (create(api, key, title).ok() for _ in range(3))
    assert first.json == second.json == third.json
    assert second.headers["Location"] == first.headers["Location"]
    assert second.headers["ETag"] == first.headers["ETag"]
    assert [each.headers.get("Idempotent-Replayed") for each in (first, second, third)] == [None, "true", "true"]
    assert api.found("task", f'title:"{title}"') == [first["id"]]


COMPOSE = {"subject": "Once", "dont_send": "1", "to": "ann@once.example"}
REQUESTS: list[tuple[str, str, dict[str, str], str]] = [
    ("POST", "tickets/compose", COMPOSE | {"content": "Plain"}, "id"),
    ("POST", "tickets/compose", COMPOSE | {"content": "**Bold**", "content_format": "markdown"}, "id"),
    ("POST", "parser/parse", {"message": "From: bea@once.example\nSubject: Once\n\nHello"}, "last_message_id"),
    ("PATCH", "records/task/upsert", {"query": "title:nobody-has-this", "fields[title]": "Once"}, "id"),
]


@pytest.mark.parametrize(("method", "path", "form", "shown"), REQUESTS)
def test_every_way_to_handle_a_request_does_its_work_once(
    api: Api, method: str, path: str, form: dict[str, str], shown: str
) -> None:
    """On the writer, on a thread, and prepared before the writer."""
    group = {"group_id": str(api.ids["support"])} if path.endswith("compose") else {}
    headers = {"Idempotency-Key": new_key()}
    first, second = (api.call(method, f"/rest/{path}.json", data=form | group, headers=headers).ok() for _ in range(2))
    assert first[shown] and first.json == second.json and second.headers["Idempotent-Replayed"] == "true"


def test_a_key_belongs_to_one_request_of_one_worker_and_app(api: Api) -> None:
    key, title = new_key(), f"Own {new_key()}"
    first = create(api, key, title).ok()
    refused = create(api, key, "Another")
    assert refused.status == 422 and refused["errors"][0]["field"] == "Idempotency-Key"
    assert create(api.as_("milo"), key, title).ok()["id"] != first["id"]
    assert create(api, key, title).ok()["id"] == first["id"]


def test_the_same_request_in_another_encoding_counts_as_the_same(api: Api) -> None:
    key, title = new_key(), f"Encoded {new_key()}"
    first = create(api, key, title).ok()
    again = api.call(
        "POST", "/rest/records/task/create.json", json={"fields": {"title": title}}, headers={"Idempotency-Key": key}
    )
    assert again.ok()["id"] == first["id"]


def test_a_refused_request_does_not_use_up_its_key(api: Api) -> None:
    key = new_key()
    assert create(api, key, "").status == 422
    assert create(api, key, "Now").ok()["title"] == "Now"


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "ümlaut".encode().decode("latin-1")])
def test_an_invalid_key_is_refused(api: Api, key: str) -> None:
    refused = create(api, key, "Never")
    assert refused.status == 400 and "printable ASCII" in refused["message"]


def test_read_only_and_idempotent_requests_accept_no_key(api: Api) -> None:
    headers, id = {"Idempotency-Key": new_key()}, made(api, "task", title="Splice")
    for method, path, data in (
        ("POST", "records/task/search", {"q": f"id:{id}"}), ("PUT", f"records/task/{id}", {"fields[title]": "Knot"}),
    ) * 2:  # fmt: skip
        assert "Idempotent-Replayed" not in api.call(method, f"/rest/{path}.json", data=data, headers=headers).headers


def test_twelve_simultaneous_requests_are_done_once(api: Api) -> None:
    key, title, replies = new_key(), f"Twelve {new_key()}", []
    threads = [threading.Thread(target=lambda: replies.append(create(api, key, title))) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {each.status for each in replies} <= {200, 409} and len(api.found("task", f'title:"{title}"')) == 1


def test_a_secret_that_is_shown_once_is_repeated_to_the_holder_of_the_key(api: Api) -> None:
    fields = {"fields[name]": f"App {new_key()}", "fields[callback_url]": "https://once.example/back"}
    headers = {"Idempotency-Key": new_key()}
    path = "/rest/records/oauth_app/create.json"
    first, second = (api.call("POST", path, data=fields, headers=headers).ok() for _ in range(2))
    assert first["client_secret"] == second["client_secret"]


# -- after a service that stopped half way -----------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Any) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


def written(desk: Desk, text: str) -> Response:
    """Does some work in two transactions."""
    for _ in range(2):
        desk.own("automation_log", automation_name="once", message=text, level=6)
    return Response({"done": text})


def done(desk: Desk) -> int:
    return len(desk.found("automation_log", ""))


def end(desk: Desk) -> None:
    """Stops the service, which another process, or its next start, then detects."""
    if desk.store.is_shared:
        desk.store.write(lambda tx: processes.release(tx, job_queue.run_name()))
    else:
        job_queue.begin_run()


def test_a_request_interrupted_before_its_write_is_done(desk: Desk) -> None:
    store = desk.service.store
    with pytest.raises(Conflict, match="still being processed"):
        idempotency.once(store, NOW, REQUEST, lambda: idempotency.once(store, NOW, REQUEST, lambda: written(desk, "x")))
    row = {"name": "name", "fingerprint": "fingerprint", "at": NOW, "claimed_by": job_queue.run_name()}
    store.write(lambda tx: tx.insert(KEY, row))
    end(desk)
    assert idempotency.once(store, NOW, REQUEST, lambda: written(desk, "x")).body and done(desk) == 2


def test_a_request_interrupted_after_its_write_is_not_repeated(desk: Desk) -> None:
    store = desk.service.store

    def killed() -> Response:
        written(desk, "x")
        raise KeyboardInterrupt

    def not_settled(*args: object) -> None:
        raise Unavailable("the service has ended")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(idempotency_keys, "_settle", not_settled)
        with pytest.raises(Unavailable):
            idempotency.once(store, NOW, REQUEST, killed)
    end(desk)
    for _ in range(2):
        with pytest.raises(Conflict, match="its response is lost"):
            idempotency.once(store, NOW, REQUEST, lambda: written(desk, "x"))
    assert done(desk) == 2


def test_an_error_after_a_write_is_the_stored_response(desk: Desk) -> None:
    def half_done() -> Response:
        written(desk, "x")
        raise Invalid("the second half is wrong", field="x")

    store = desk.service.store
    with pytest.raises(Invalid):
        idempotency.once(store, NOW, REQUEST, half_done)
    again = idempotency.once(store, NOW, REQUEST, half_done)
    assert again.status == 422 and b"the second half is wrong" in again.body and done(desk) == 2


def test_the_database_cannot_read_stored_responses(desk: Desk) -> None:
    store = desk.service.store
    idempotency.once(store, NOW, REQUEST, lambda: Response({"secret": "hush"}))
    [row] = store.read(lambda tx: tx.find(KEY, name="name"))
    assert b"hush" not in bytes(row[KEY.position["sealed"]]) and len(row[KEY.position["sealed"]]) > 100
    again = idempotency.once(store, NOW, REQUEST, lambda: Response({}))
    assert b"hush" in again.body


def test_a_response_that_is_too_large_is_not_stored(desk: Desk) -> None:
    store = desk.service.store
    idempotency.once(store, NOW, REQUEST, lambda: Response({"x": "x" * MAX_RESPONSE_BYTES}))
    with pytest.raises(Conflict, match="its response is lost"):
        idempotency.once(store, NOW, REQUEST, lambda: written(desk, "x"))


def test_a_keyed_request_inside_another_keyed_request(desk: Desk) -> None:
    """As in a batch: the writes of either count for both."""
    store, inner = desk.service.store, KeyedRequest("inner", "fingerprint", b"s" * 32)
    noted = []

    def work() -> Response:
        idempotency.once(store, NOW, inner, lambda: written(desk, "x"))
        desk.own("automation_log", automation_name="once", message="y", level=6)
        [row] = store.read(lambda tx: tx.find(KEY, name="name"))
        noted.append(row[KEY.position["has_written"]])
        return Response({})

    idempotency.once(store, NOW, REQUEST, work)
    assert noted == [1] and done(desk) == 3


def test_a_key_expires_after_a_day(desk: Desk) -> None:
    store = desk.service.store
    for now in (NOW, NOW + KEPT_SECONDS):
        assert idempotency.once(store, now, REQUEST, lambda: written(desk, "x")).body
    assert done(desk) == 4
    idempotency_keys._forget_old(desk.service, NOW + 2 * KEPT_SECONDS)
    assert not store.read(lambda tx: tx.find(KEY, name="name"))
