"""The API explorer: every operation has a page, it sends exactly what was entered, and it grants no further rights."""

import html
import json
import re
import shlex
import subprocess
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from markupsafe import escape
from playwright.sync_api import expect

from server.access.sessions import SESSION
from server.access.tokens import TOKEN
from server.web.error_bodies import TABLE
from server.web.openapi import flat_operations
from server.web.openapi.document import document
from server.web.routes import ENDPOINTS
from tests.console.browser import Browser
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, text_of
from tests.records.desk import Desk
from tests.service import Api, Server

BASE = "/api"


def operation(desk: Desk, name: str) -> flat_operations.FlatOperation:
    registry = desk.registry
    listed = flat_operations.operations(registry, registry.revision, desk.service.base_url)
    return next(each for each in listed if each.name == name)


def sent(desk: Desk, name: str, **values: str) -> dict[str, str]:
    """Returns a form of the page of an operation. values: by the name of the parameter."""
    keys = {each.name: each.key for each in operation(desk, name).inputs}
    return {keys[each]: text for each, text in values.items()}


def tried(visitor: Visitor, desk: Desk, name: str, values: dict[str, str]) -> requests.Response:
    path = f"{BASE}/{name}"
    form = sent(desk, name, **values)
    return visitor.send(path if operation(desk, name).is_read else f"{path}/write", form, page=path)


def answered(page: str) -> tuple[int, dict[str, Any]]:
    """Returns status and body of the response that a page shows."""
    status = re.search(r"Response: .*?</span> (\d{3}) ", page, re.DOTALL)
    body = re.search(r'aria-label="Body"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert status is not None and body is not None, page
    return int(status[1]), json.loads(html.unescape(body[1]))


def live_tokens(desk: Desk) -> list[Any]:
    place = TOKEN.position
    found = desk.read(lambda tx: tx.find(TOKEN))
    return [row for row in found if row[place["label"]] == "API explorer" and not row[place["revoked_at"]]]


def test_every_operation_of_the_document_is_listed(signed_in: Visitor, desk: Desk) -> None:
    made = document(desk.registry, ENDPOINTS)
    wanted = {one["operationId"] for methods in made["paths"].values() for one in methods.values()}
    listed = flat_operations.operations(desk.registry, desk.registry.revision, "")
    names = [each.name for each in listed]
    assert set(names) == {name for name in wanted if "_alias" not in name} and len(names) == len(set(names))
    assert f"Search {len(names)} operations" in signed_in.get(BASE).text


@pytest.mark.exhaustive("every seventh operation")
def test_every_page_opens_and_shows_each_parameter(signed_in: Visitor, desk: Desk) -> None:
    listed = flat_operations.operations(desk.registry, desk.registry.revision, "")
    for each in listed[::7]:
        page = signed_in.get(f"{BASE}/{each.name}")
        assert page.status_code == 200 and len(page.text) < 100_000, each.name
        for one in each.inputs:
            assert f'name="{one.key}"' in page.text and html.escape(one.name) in page.text, (each.name, one.name)


def test_reading_returns_the_response_of_the_api(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    page = tried(signed_in, desk, "records_worker_search", {"q": "isDisabled:no sort:id", "limit": "2"}).text
    status, body = answered(page)
    assert status == 200 and body == nora.search("worker", "isDisabled:no sort:id", limit=2).ok().json
    assert "limit=2" in text_of(page) and "isDisabled:no sort:id" in text_of(page)
    assert live_tokens(desk) == []


def test_notes_and_the_tag_of_a_record_are_shown(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    page = tried(signed_in, desk, "records_worker_retrieve", {"id": "1", "expand": "group_"}).text
    sent = nora.get("/rest/records/worker/1.json", expand="group_").ok()
    assert "notes" in sent.json and answered(page)[1] == sent.json
    assert html.escape(sent.headers["ETag"]) in page or sent.headers["ETag"].strip('"') in text_of(page)


def test_the_start_page_links_to_the_lists_of_waiting_items(signed_in: Visitor) -> None:
    links = re.findall(r'<a href="(/search/[^"]*[?;]q=[^"]*)"', signed_in.get("/").text)
    assert len(links) >= 9  # tasks, what was done today, and the tickets behind the charts
    for link in map(html.unescape, links):
        page = signed_in.get(link)
        q = parse_qs(urlsplit(link).query)["q"][0]
        assert page.status_code == 200 and f'value="{escape(q)}"' in page.text, link


def test_the_shown_command_gives_the_same_response(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    values = {"q": "isDisabled:no sort:id", "subtotals[]": "isAdmin\ngroup"}
    page = tried(signed_in, desk, "records_worker_search", values).text
    curl = html.unescape(re.findall(r'aria-label="curl command"><code>(.*?)</code>', page, re.DOTALL)[0])
    words = [word.replace("$HELPDESK_TOKEN", nora.token) for word in shlex.split(curl.replace("\\\n", " "))]
    ran = subprocess.run([*words, "--silent"], capture_output=True, timeout=60, check=True)
    assert json.loads(ran.stdout) == answered(page)[1]


def test_writing_has_the_effect_of_the_api(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    response = tried(signed_in, desk, "records_org_create", {
        "fields[name]": HOSTILE, "fields[city]": "Bern", "fields[links]": f"worker:{nora.ids['milo']}\n\n",
    })  # fmt: skip
    status, body = answered(response.text)
    assert status == 200 and body["name"] == HOSTILE and "<script>alert" not in response.text
    found = nora.record("org", body["id"], expand="links").ok()
    assert found["city"] == "Bern" and str(nora.ids["milo"]) in json.dumps(found["links"])
    response = tried(
        signed_in, desk, "records_org_update", {"id": str(body["id"]), "fields": "city=Basel\nphone = 12 "}
    )
    assert answered(response.text)[0] == 200
    found = nora.record("org", body["id"]).ok()
    assert (found["city"], found["phone"]) == ("Basel", "12")
    assert answered(tried(signed_in, desk, "records_org_delete", {"id": str(body["id"])}).text)[0] == 200
    assert nora.record("org", body["id"]).status == 404
    assert live_tokens(desk) == []


@pytest.mark.parametrize(("name", "values", "status", "words"), [
    ("records_org_retrieve", {"id": "999999999"}, 404, "there is no org"),
    ("records_org_retrieve", {"id": "../../../workers/me"}, 404, ""),
    ("records_org_search", {"q": "colour:red"}, 422, "colour"),
    ("records_org_create", {"fields[website]": "javascript:x", "fields[name]": "x"}, 422, "website"),
])  # fmt: skip
def test_errors_of_the_api_are_shown_literally(
    name: str, values: dict[str, str], status: int, words: str, signed_in: Visitor, desk: Desk
) -> None:
    found, body = answered(tried(signed_in, desk, name, values).text)
    assert found == status and words in body["message"] and body["__status"] == "error"


def test_missing_and_malformed_values_are_not_sent(signed_in: Visitor, desk: Desk) -> None:
    response = tried(signed_in, desk, "records_org_retrieve", {"id": " "})
    assert response.status_code == 422 and "This is required." in response.text and "Response:" not in response.text
    response = tried(signed_in, desk, "records_org_update", {"id": "1", "fields": "no equals sign"})
    assert response.status_code == 422 and "must be written as name=value" in text_of(response.text)


def test_a_worker_has_the_same_rights_as_in_the_api(visitor: Visitor, nora: Api, desk: Desk) -> None:
    visitor.sign_in("milo@desk.example")
    assert visitor.get(BASE).status_code == 200
    made = nora.create("mail_transport", name="Nora's", extension_id="core.mail.transport.null").ok()["id"]
    status, body = answered(tried(visitor, desk, "records_mail_transport_search", {"q": ""}).text)
    assert status == 200 and body["total"] == 0
    assert answered(tried(visitor, desk, "records_mail_transport_retrieve", {"id": str(made)}).text)[0] == 403
    values = {"fields[name]": "x", "fields[callback_url]": "https://app.example/back"}
    assert answered(tried(visitor, desk, "records_oauth_app_create", values).text)[0] == 403
    nora.remove("mail_transport", made).ok()


def test_changes_require_the_password_again(visitor: Visitor, nora: Api, desk: Desk) -> None:
    visitor.sign_in("milo@desk.example")
    desk.store.write(lambda tx: [
        tx.update(SESSION, row[0], {"stepped_up_at": 0}) for row in tx.find(SESSION, worker_id=nora.ids["milo"])
    ])  # fmt: skip
    page = visitor.get(f"{BASE}/records_org_create").text
    assert 'href="/confirm?next=%2Fapi%2Frecords_org_create"' in page and ">Send<" not in page
    before = nora.search("org", "").ok()["total"]
    response = tried(visitor, desk, "records_org_create", {"fields[name]": "Not made"})
    assert response.status_code == 403 and "Confirm your identity" in response.text and "Not made" in response.text
    response = visitor.send(f"{BASE}/records_org_create", sent(desk, "records_org_create", **{"fields[name]": "x"}))
    assert response.status_code == 422 and "changes something" in response.text
    assert nora.search("org", "").ok()["total"] == before
    assert answered(tried(visitor, desk, "records_org_search", {"q": "name:x"}).text)[0] == 200


@pytest.mark.parametrize(("query", "words"), [
    ("tag=org", "/rest/records/org/{id}.json"), ("q=create+ticket", "/rest/records/ticket/create.json"),
    ("q=zebra", "No operation matches."), ("tag=Tickets&q=reply", "/rest/tickets/reply.json"),
    (f"q={HOSTILE}", "No operation matches."),
])  # fmt: skip
def test_operations_are_searchable(query: str, words: str, signed_in: Visitor) -> None:
    page = signed_in.get(f"{BASE}?{query}").text
    assert words in page and "<script>alert" not in page


@pytest.mark.parametrize("path", ["/api?tag=tickt", "/api/records_ticket_fly", "/api/x/write"])
def test_an_unknown_operation_suggests_the_nearest(path: str, signed_in: Visitor) -> None:
    response = signed_in.get(path)
    assert response.status_code == (405 if path.endswith("write") else 404)


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_request_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor, desk: Desk) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto(BASE)
        page.keyboard.press("/")
        page.keyboard.type("get search worker")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="/rest/records/worker/search.json").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/api/records_worker_search")
        page.get_by_label("q", exact=True).focus()
        page.keyboard.type("firstName:Nora")
        page.keyboard.press("Enter")
        expect(page.locator("#reply")).to_be_focused()
        expect(page.locator("#reply")).to_contain_text("200 OK")
        expect(page.get_by_role("region", name="Body")).to_contain_text('"total": 1')
        expect(page.get_by_label("q", exact=True)).to_have_value("firstName:Nora")


def test_a_request_with_one_scope_is_limited_to_it(signed_in: Visitor, visitor: Visitor, nora: Api, desk: Desk) -> None:
    scopes = 'tickets:\n  label: Tickets\n  endpoints:\n    - "workers/me": GET\n'
    made = nora.create("oauth_app", name="Narrow", callback_url="https://app.example/back", scopes=scopes).ok()["id"]
    path, one = f"{BASE}/records_worker_search", {"as": str(made), "with": "tickets"}
    assert f'<option value="{made}">Narrow</option>' in signed_in.get(path).text
    status, body = answered(signed_in.send(path, one, page=path).text)
    assert status == 403 and body["__error"] == "ERROR_SCOPE"
    assert answered(signed_in.send(path, {"as": ""}, page=path).text)[0] == 200
    assert answered(signed_in.send(path, {"as": str(made)}, page=path).text)[0] == 403
    for wrong, told in (
        ({"as": "999999"}, "OAuth app 999999 no longer exists"),
        ({"with": "tickets"}, "hoose the app"),
        ({**one, "with": "orgs"}, "no scope &#39;orgs&#39;"),
        ({"as": "x"}, "o record has exactly"),
    ):
        refused = signed_in.send(path, wrong, page=path)
        assert refused.status_code == 422 and told.lower() in refused.text.lower(), (wrong, told)
    assert not live_tokens(desk)
    visitor.sign_in("milo@desk.example")  # who may not see apps
    assert 'name="as"' not in visitor.get(path).text and visitor.send(path, one, page=path).status_code == 422
    nora.remove("oauth_app", made).ok()


def test_the_collection_has_every_operation(signed_in: Visitor, desk: Desk) -> None:
    made = signed_in.get(f"{BASE}/collection").json()
    names = [each["name"] for folder in made["item"] for each in folder["item"]]
    registry = desk.registry
    listed = flat_operations.operations(registry, registry.revision, desk.service.base_url)
    assert sorted(names) == sorted(f"{each.method.upper()} {each.path}" for each in listed)
    assert made["info"]["schema"].endswith("/v2.1.0/collection.json") and made["auth"]["type"] == "bearer"


def test_the_list_of_errors_has_every_code(signed_in: Visitor) -> None:
    text = text_of(signed_in.get(f"{BASE}/errors").text)
    assert all(code in text for _, code in TABLE.values()) and "details[" not in text
