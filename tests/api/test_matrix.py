"""Permissions over HTTP: every record type in every family that it has records of, every kind of caller, every
endpoint of the records API. The expected results are in families.py."""

import pytest

from server.record_types.registry import load
from tests.api.families import FAMILIES, ROWS, Row
from tests.api.minimal import made
from tests.service import Api, Reply

pytestmark = pytest.mark.exhaustive("every record type, kind of caller and endpoint")

REGISTRY = load()
MATRIX_TYPES = {"matrix_open", "matrix_owned"}
UNREADABLE, UNSEARCHABLE = {"automation_log"}, {"automation_resource"}  # 405 for every caller


@pytest.fixture(scope="module")
def custom_types(nora: Api) -> None:
    """Two custom record types: one whose records have no owner, and one with owners."""
    for uri, params in (
        ("matrix_open", ""),
        ("matrix_owned", {"owners": {"contexts": ["app", "group", "role", "worker"]}}),
    ):
        made(nora, "custom_record", name=uri, name_plural=f"{uri}s", uri=uri, params=params)


def test_every_type_is_in_the_matrix() -> None:
    without_row = {"rating"}  # customers cause them: tests/desk/test_ratings.py
    assert {row.uri for row in ROWS} == {*REGISTRY.uris(), *MATRIX_TYPES} - without_row


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_matrix(row: Row, custom_types: None, actors: dict[str, Api], api: Api) -> None:
    readers, creators, changers, deleters = (set(names.split()) for names in FAMILIES[row.family])
    shared = one(row, api, -1)
    for name, actor in actors.items():
        reads(row, actor, shared, refusal(name, readers, reads=True))
        creates(row, actor.create(row.uri, **fields(row, api)), refusal(name, creators))
        creates(row, actor.upsert(row.uri, "id:0", **fields(row, api)), refusal(name, creators))
        update = actor.update(row.uri, shared, **harmless(row.uri))
        assert update.status == refusal(name, changers), (name, "update", update)
        upsert = actor.upsert(row.uri, f"id:{shared}", **fields(row, api) | harmless(row.uri))
        if creators and (name in readers or name == "dora"):
            assert upsert.status == refusal(name, changers), (name, "upsert", upsert)
        else:  # an unreadable record is not found, so an upsert would create one; types without create have no upsert
            creates(row, upsert, refusal(name, creators))
        fresh = one(row, api, 0)
        remove = actor.remove(row.uri, fresh)
        assert remove.status == refusal(name, deleters), (name, "delete", remove)
        is_gone = remove.status == 200 and row.uri != "ticket"
        assert row.uri in UNREADABLE or api.record(row.uri, fresh).status == (404 if is_gone else 200)


def fields(row: Row, api: Api) -> dict[str, object]:
    return row.fields(api)


def one(row: Row, api: Api, place: int) -> int:
    """Creates a record of the row's family for others to try; picks the one at this place if the type has no create."""
    if not FAMILIES[row.family][1]:
        return api.found(row.uri, "")[place]
    return int(api.create(row.uri, **row.fields(api)).ok()["id"])


def reads(row: Row, actor: Api, id: int, status: int) -> None:
    """Asserts that retrieve, search and totals agree."""
    found = actor.record(row.uri, id)
    search = actor.search(row.uri, f"id:{id}")
    if row.uri in UNREADABLE:
        assert found.status in (405, 401)
    else:
        assert found.status == status, found
    if row.uri in UNSEARCHABLE:
        assert search.status in (405, 401)
    elif status == 401:
        assert search.status == 401
    else:
        expected = [id] if status == 200 else []
        assert ([each["id"] for each in search.ok()["results"]], search["total"]) == (expected, len(expected))


def creates(row: Row, answer: Reply, status: int) -> None:
    """Asserts the status of a create; a record below an invisible parent is refused as if the parent did not exist."""
    is_hidden = status == 403 and answer.status == 422 and "there is no" in answer["message"]
    assert is_hidden or answer.status == status, answer


def refusal(name: str, allowed: set[str], reads: bool = False) -> int:
    """Returns 200, or the status of a refusal."""
    if name == "dora":
        return 401
    if name == "reader":
        return 200 if reads and name in allowed else 403
    return 200 if name in allowed else 403


def harmless(uri: str) -> dict[str, str]:
    """Returns a change without side effects."""
    if uri in MATRIX_TYPES:
        return {"name": "Parcels"}
    known = REGISTRY.type(uri).fields
    named = {
        "activity_log": "created", "comment": "comment", "message": "content", "notification": "is_read",
        "time_entry": "is_closed", "contact": "phone",
    }  # fmt: skip
    name = named.get(uri) or next((each for each in ("updated_at", "updated", "name") if each in known), "")
    return {name: "1"} if name else {}
