"""Fields of related records that a token with few scopes can read."""

from typing import Any

import pytest

from tests.api.minimal import made
from tests.service import Api

READS = "read:\n  label: Read tickets\n  endpoints:\n{}"


def scoped(api: Api, *endpoints: str) -> Api:
    scopes = READS.format("".join(f'    - "{each}": [GET]\n' for each in endpoints))
    app = made(api, "oauth_app", name="Reader", callback_url="https://reader.example/back", scopes=scopes)
    sent = {"worker_id": api.ids["nora"], "app_id": app, "scopes": "read"}
    return Api(api.url, api.post("/rest/oauth/tokens/create.json", **sent).ok()["access_token"])


@pytest.fixture(scope="module")
def ticket(nora: Api) -> int:
    parsed = nora.parse(b"From: Ann <ann@scopes.example>\nSubject: Pump\n\nIt leaks.").ok()
    id = int(parsed["id"])
    nora.update("ticket", id, owner_id=nora.ids["nora"], org_id=made(nora, "org", name="Scopes Ltd")).ok()
    nora.create("comment", comment="Secret note", target__context="ticket", target_id=id).ok()
    return id


EXPANDED = [
    ("owner_", "owner_first_name", "worker"),
    ("org_", "org_name", "org"),
    ("latest_message_content", "latest_message_content", "message"),
    ("comments", "comments", "comment"),
    ("requesters", "requesters", "address"),
    ("requester_emails", "requester_emails", "address"),
    ("participants", "participants", "address"),
    ("watchers", "watchers", "worker"),
    ("_messages", "_messages", "message"),
]


@pytest.mark.parametrize(("expand", "key", "uri"), EXPANDED)
@pytest.mark.parametrize("endpoint", ["records/ticket/*", "tickets/*"])
def test_fields_that_no_scope_covers_are_left_out_and_named(
    nora: Api, ticket: int, endpoint: str, expand: str, key: str, uri: str
) -> None:
    path = f"/rest/{endpoint.removesuffix('*')}{ticket}.json"
    found = scoped(nora, endpoint).get(path, expand=expand).ok()
    assert key not in found.json and found["subject"] == "Pump"
    assert found["notes"] == [f"the token's scopes do not cover {uri}; left out"]
    whole = nora.get(path, expand=expand).ok()
    assert key in whole.json and "notes" not in whole.json


@pytest.mark.parametrize(("expand", "key", "uri"), EXPANDED)
def test_fields_that_a_scope_covers_are_included(nora: Api, ticket: int, expand: str, key: str, uri: str) -> None:
    found = scoped(nora, "records/ticket/*", f"records/{uri}/*").get(
        f"/rest/records/ticket/{ticket}.json", expand=expand
    )
    assert key in found.ok().json and f"cover {uri}" not in str(found.json.get("notes"))


def test_fields_of_further_records_need_a_scope_too(nora: Api, ticket: int) -> None:
    reader = scoped(nora, "records/ticket/*", "records/message/*")
    found: dict[str, Any] = (
        reader.get("/rest/records/ticket/search.json", q=f"id:{ticket}", expand="latest_message_sender_contact_")
        .ok()
        .json
    )
    [shown] = found["results"]
    assert shown["latest_message_id"] and shown["latest_message_sender_id"]
    assert "latest_message_sender_email" not in shown and found["notes"]


# -- searches that filter by other records -----------------------------------------------------------------------------

LOOKING = [
    ("owner:(firstName:N*)", "worker"),
    ("owner:!(firstName:N*)", "worker"),
    ("org:(name:Scopes*)", "org"),
    ("messages:(content:leaks)", "message"),
    ("comments:(comment:Secret)", "comment"),
    ("status:open or participant:(email:ann*)", "address"),
    ("group:(name:S*)", "group"),
]


@pytest.mark.parametrize(("query", "uri"), LOOKING)
def test_a_search_cannot_filter_by_records_that_no_scope_covers(nora: Api, ticket: int, query: str, uri: str) -> None:
    """Also where the search is a part of another request: counts, upserts, batches."""
    path = "/rest/records/ticket/search.json"
    few = scoped(nora, "records/ticket/*")
    whole = nora.get(path, q=query).ok()["total"]  # cached results of other callers grant no access
    for sent in ({"q": query}, {"q": query, "show_results": "0"}, {"q": query, "subtotals[]": "status"}):
        refused = few.get(path, **sent)
        assert refused.status == 403 and f"do not cover {uri}" in refused["message"], refused.json
    operations = [{"method": "GET", "path": "records/ticket/search", "params": {"q": query}}]
    writing = scoped(nora, "records/ticket/*", "batch")
    answered = writing.call("POST", "/rest/batch.json", json={"operations": operations})
    assert answered.ok()["results"][0]["status"] == 403
    covered = scoped(nora, "records/ticket/*", f"records/{uri}/*").get(path, q=query)
    assert covered.ok()["total"] == whole


def test_a_search_by_own_fields_needs_no_further_scope(nora: Api, ticket: int) -> None:
    few = scoped(nora, "records/ticket/*")
    for query in (f"owner.id:{nora.ids['nora']}", "status:open", "text:leaks", "org.id:null", "sort:-updated"):
        few.get("/rest/records/ticket/search.json", q=query).ok()


def test_subtotals_name_no_record_that_no_scope_covers(nora: Api, ticket: int) -> None:
    path, sent = "/rest/records/ticket/search.json", {"subtotals[]": "owner.id", "show_results": "0"}
    whole = nora.get(path, **sent).ok().json
    few = scoped(nora, "records/ticket/*").get(path, **sent).ok().json
    assert "Nora" in str(whole["subtotals"]) and "Nora" not in str(few["subtotals"])
    assert str(nora.ids["nora"]) in str(few["subtotals"])
