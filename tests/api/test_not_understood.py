"""Parameters that were not understood: listed in the response, or refused if the client prefers strict handling."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.minimal import made
from tests.service import Api, Server

STRICT = [
    ("handling=strict", True),
    ("Handling=Strict", True),
    ('respond-async, handling="strict"', True),
    ("handling=strict; why=tests, wait=5", True),
    ("handling=lenient", False),
    ("handling=strictly", False),
    ("nothandling=strict", False),
    ("", False),
]
NOTED = [
    (
        "GET",
        "records/task/search",
        {"sortby": "id"},
        "'sortby' is not a parameter of GET /rest/records/{uri}/search.json",
    ),
    ("GET", "records/task/search", {"expnd": "links"}, "did you mean 'expand'?"),
    ("GET", "records/task/search", {"limit": "-1"}, "limit: '-1' was read as 1; send a number from 1 to"),
    ("GET", "records/task/search", {"limit": "5000"}, "limit: '5000' was read as"),
    ("GET", "records/task/search", {"page": "x"}, "page: 'x' was read as 1"),
    ("GET", "records/task/search", {"page": "2x"}, "page: '2x' was read as 2"),
    ("GET", "workers/me", {"x" * 200: "1"}, "'" + "x" * 80 + "' is not a parameter"),
    ("GET", "changes", {"sinse": "1"}, "did you mean 'since'?"),
    ("GET", "records/task/search", {"expand": "ownr_"}, "expand: 'ownr_' is not a key of task; did you mean 'owner_'?"),
    ("GET", "records/ticket/search", {"expand": "owner"}, "did you mean 'owner_'?"),
    ("GET", "workers/me", {"expand": "address_mail"}, "expand: 'address_mail' is not a key of worker"),
]


@pytest.mark.parametrize(("method", "path", "params", "note"), NOTED)
def test_a_response_names_what_was_not_understood(
    api: Api, method: str, path: str, params: dict[str, str], note: str
) -> None:
    told = api.call(method, f"/rest/{path}.json", params=params).ok()["notes"]
    assert len(told) == 1 and note in told[0]
    strict = api.call(method, f"/rest/{path}.json", params=params, headers={"Prefer": "handling=strict"})
    assert strict.status == 422 and note in strict["message"] and "notes" not in strict.json


def test_a_strict_write_with_unknown_parameters_writes_nothing(api: Api) -> None:
    id = made(api, "task", title="Splice")
    path = f"/rest/records/task/{id}.json?dry_run=1"
    refused = api.call("PUT", path, data={"fields[title]": "Knot"}, headers={"Prefer": "handling=strict"})
    assert refused.status == 422 and [each["field"] for each in refused["errors"]] == ["dry_run"]
    assert api.record("task", id).ok()["title"] == "Splice"
    done = api.call("PUT", path, data={"fields[title]": "Knot"}).ok()
    assert done["title"] == "Knot" and "'dry_run' is not a parameter" in done["notes"][0]


def test_an_error_lists_them_too(api: Api) -> None:
    response = api.get("/rest/records/task/search.json", q="nope:1", sortby="id")
    assert response.status == 422 and "'sortby' is not a parameter" in response["notes"][0]
    response = api.post("/rest/tickets/compose.json", two="ann@kite.example")
    assert response.status == 422 and "did you mean 'to'?" in response["notes"][0]


def test_the_list_is_limited(api: Api) -> None:
    assert len(api.get("/rest/workers/me.json", **{f"x{each}": 1 for each in range(100)}).ok()["notes"]) == 20


@pytest.mark.parametrize(("path", "params"), [
    ("records/task/search", {"q": "", "limit": "1", "page": " 1 ", "subtotals[]": "status", "show_meta": "0"}),
    ("workers/me", {}),
    ("changes", {"limit": ""}),
])  # fmt: skip
def test_a_response_without_them_has_no_list(api: Api, path: str, params: dict[str, Any]) -> None:
    response = api.call("GET", f"/rest/{path}.json", params=params, headers={"Prefer": "handling=strict"}).ok()
    assert "notes" not in response.json and response.headers["Preference-Applied"] == "handling=strict"


@pytest.mark.parametrize(("prefer", "is_strict"), STRICT)
def test_forms_of_the_prefer_header(api: Api, prefer: str, is_strict: bool) -> None:
    response = api.call("GET", "/rest/workers/me.json", params={"nope": "1"}, headers={"Prefer": prefer})
    assert response.status == (422 if is_strict else 200)


def test_a_desk_may_be_strict(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", env={"HELPDESK_STRICT_REQUESTS": "1"})
    try:
        api = server.set_up()
        refused = api.get("/rest/records/task/search.json", sortby="id")
        assert refused.status == 422 and "'sortby' is not a parameter" in refused["message"]
        operations = [{"path": "workers/me", "params": {"expnd": "x"}}]
        [inner] = api.call("POST", "/rest/batch.json", json={"operations": operations}).ok()["results"]
        assert inner["status"] == 422
        assert "Preference-Applied" not in api.get("/rest/workers/me.json").ok().headers
    finally:
        assert server.stop() == 0
