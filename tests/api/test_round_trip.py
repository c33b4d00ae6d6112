"""A record that was read may be sent back unchanged, including the keys that only the service writes."""

from typing import Any

import pytest

from server.record_types.registry import load
from tests.api.minimal import MINIMAL, made
from tests.service import Api, Reply
from tests.telling import telling_types

TYPES = telling_types([each.uri for each in load() if each.uri in MINIMAL and each.operations["update"]])
STAMPS = {"updated", "updated_at", "changed_at"}


def shown(api: Api, uri: str, id: int) -> dict[str, Any]:
    return dict(api.record(uri, id).ok().json)


def put(api: Api, uri: str, id: int, fields: dict[str, Any]) -> Reply:
    return api.call("PUT", f"/rest/records/{uri}/{id}.json", json={"fields": fields})


def as_in_forms(value: Any) -> str:
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)


@pytest.mark.parametrize("uri", TYPES)
def test_a_record_sent_back_stays_unchanged(api: Api, uri: str) -> None:
    id = made(api, uri)
    before = shown(api, uri, id)
    put(api, uri, id, before).ok()
    after = shown(api, uri, id)
    assert {name for name in before if before[name] != after[name]} <= STAMPS


def test_a_form_can_send_it_back_too(api: Api) -> None:
    id = made(api, "task", title="Paint the keel")
    before = shown(api, "task", id)
    form = {f"fields[{name}]": as_in_forms(value) for name, value in before.items() if value not in ([], {})}
    api.put(f"/rest/records/task/{id}.json", **form).ok()
    assert shown(api, "task", id)["title"] == "Paint the keel"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 0),
        ("id", "x"),
        ("_label", "Another"),
        ("record_url", ""),
        ("record_url", ["x"]),
        ("titel", ""),
    ],
)
def test_a_key_that_only_the_service_writes_cannot_be_changed(api: Api, name: str, value: Any) -> None:
    id = made(api, "task", title="Paint the mast")
    before = shown(api, "task", id)
    assert before.get(name) != value
    response = put(api, "task", id, before | {name: value, "title": "Another"})
    assert response.status == 422 and [each["field"] for each in response["errors"]] == [name]
    assert shown(api, "task", id) == before


def test_a_new_record_cannot_contain_such_keys(api: Api) -> None:
    before = shown(api, "task", made(api, "task"))
    response = api.call("POST", "/rest/records/task/create.json", json={"fields": before})
    assert response.status == 422 and {"id", "record_url"} <= {each["field"] for each in response["errors"]}
