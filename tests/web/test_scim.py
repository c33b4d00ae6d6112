"""SCIM over HTTP: the requests that Entra ID, Okta and Authentik send, after their documents and sources, and what must
not be possible."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server

CORE = "urn:ietf:params:scim:schemas:core:2.0"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
PAGE = "/admin/people/provisioning"


class Provider:
    """A client with a token. Statuses are checked with every call; a response without a body is {}."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.headers = f"{url}/scim/v2", {"Authorization": f"Bearer {token}"}

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
        headers = self.headers | {"Content-Type": "application/scim+json"} | options.pop("headers", {})
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        return requests.request(method, self.url + path, data=data, headers=headers, timeout=60, **options)

    def call(self, method: str, path: str, body: Any = None, status: int = 200, **options: Any) -> dict[str, Any]:
        response = self.send(method, path, body, **options)
        assert response.status_code == status, (method, path, response.text)
        if response.content:
            assert response.headers["Content-Type"] == "application/scim+json"
        return dict(response.json()) if response.content else {}

    def user(self, user_name: str, **more: Any) -> dict[str, Any]:
        return self.call("POST", "/Users", {"schemas": [f"{CORE}:User"], "userName": user_name, **more}, 201)

    def group(self, name: str, *members: str) -> dict[str, Any]:
        body = {"schemas": [f"{CORE}:Group"], "displayName": name, "members": [{"value": each} for each in members]}
        return self.call("POST", "/Groups", body, 201)

    def patch(self, path: str, *operations: Any, status: int = 200) -> dict[str, Any]:
        return self.call("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, status)

    def found(self, path: str, filter: str, **more: str) -> list[dict[str, Any]]:
        listed = self.call("GET", path, params={"filter": filter, **more})
        assert listed["totalResults"] == len(listed["Resources"])
        return list(listed["Resources"])

    def members(self, id: str) -> set[str]:
        return {each["value"] for each in self.call("GET", f"/Groups/{id}").get("members", [])}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("scim") / "data")
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    return server.set_up()


@pytest.fixture(scope="module")
def administrator(server: Server, nora: Api) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    return visitor


@pytest.fixture(scope="module")
def entra(server: Server, administrator: Visitor) -> Provider:
    off = requests.get(f"{server.url}/scim/v2/Users", timeout=60)
    assert off.status_code == 404 and "provisioning is off" in off.json()["detail"]
    response = administrator.send(PAGE, {"name": "Entra ID"})
    [token] = re.findall(r"<code[^>]*>(svc_pt_[\w-]+)</code>", response.text)
    assert token not in administrator.get(PAGE).text
    return Provider(server.url, token)


def test_entra_walks_a_user_through_their_life(entra: Provider, nora: Api) -> None:
    assert entra.found("/Users", 'userName eq "no-one@entra.example"') == []
    user = entra.call("POST", "/Users", {
        "schemas": [f"{CORE}:User", ENTERPRISE],
        "externalId": "0a21f0f2", "userName": "Ana.Berg@entra.example", "active": True, "roles": [],
        "displayName": "Ana Berg", "preferredLanguage": "de-CH", "locale": "de-CH",
        "emails": [{"primary": True, "type": "work", "value": "Ana.Berg@entra.example"}],
        "phoneNumbers": [{"type": "work", "value": "+41 1"}, {"type": "fax", "value": "+41 9"}],
        "name": {"formatted": "Ana Berg", "familyName": "Berg", "givenName": "Ana"},
        "meta": {"resourceType": "User"}, ENTERPRISE: {"department": "Support"},
    }, 201)  # fmt: skip
    path = f"/Users/{user['id']}"
    assert user["meta"]["location"].endswith(f"/scim/v2{path}") and user["active"] is True
    worker = nora.record("worker", int(user["id"]), expand="address_email").ok()
    assert (worker["first_name"], worker["last_name"], worker["language"]) == ("Ana", "Berg", "de_CH")
    assert (worker["address_email"], worker["phone"], worker["is_superuser"]) == ("ana.berg@entra.example", "+41 1", 0)
    for text in (
        'userName eq "ANA.BERG@entra.example"', 'externalId eq "0a21f0f2"', f'id eq "{user["id"]}"',
        'emails[type eq "work"].value eq "ana.berg@entra.example"', 'emails[type eq "work" and value co "berg"]',
        'emails.value eq "ana.berg@entra.example"', 'displayName sw "ana b" and not (active eq false)',
        f'{CORE}:User:userName eq "ana.berg@entra.example" and title pr or externalId eq "0a21f0f2"',
    ):  # fmt: skip
        assert [each["id"] for each in entra.found("/Users", text)] == [user["id"]], text
    assert entra.found("/Users", 'externalId eq "0A21F0F2"') == []
    changed = entra.patch(
        path,
        {"op": "Replace", "path": "name.familyName", "value": "Moor"},
        {"op": "Add", "path": "title", "value": "Lead"},
        {"op": "Replace", "path": f"{ENTERPRISE}:department", "value": "Sales"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+41 2"},
    )
    assert (changed["name"]["familyName"], changed["title"]) == ("Moor", "Lead")
    assert {each["type"]: each["value"] for each in changed["phoneNumbers"]} == {"work": "+41 1", "mobile": "+41 2"}
    dotted = {"op": "Replace", "value": {"name.givenName": "Anna", f"{ENTERPRISE}:department": "X", "displayName": "A"}}
    changed = entra.patch(path, dotted)
    assert (changed["name"]["givenName"], changed["displayName"]) == ("Anna", "A")
    mail = {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "anna@entra.example"}
    assert entra.patch(path, mail)["emails"][0]["value"] == "anna@entra.example"
    assert entra.call("GET", path)["userName"] == "ana.berg@entra.example"
    assert entra.patch(path, {"op": "Replace", "path": "active", "value": "False"})["active"] is False
    assert nora.record("worker", int(user["id"])).ok()["is_disabled"] == 1
    assert entra.found("/Users", 'userName eq "ana.berg@entra.example"')[0]["active"] is False
    entra.call("DELETE", path, status=204)
    for method in ("GET", "DELETE", "PATCH"):
        body = {"Operations": [{"op": "replace", "path": "title", "value": "x"}]} if method == "PATCH" else None
        assert entra.call(method, path, body, 404)["status"] == "404"
    assert entra.found("/Users", 'userName eq "ana.berg@entra.example"') == []
    assert nora.record("worker", int(user["id"])).ok()["title"] == "Lead"
    back = entra.user("ana.berg@entra.example", externalId="new", name={"givenName": "Ana", "familyName": "Berg"})
    assert back["id"] == user["id"] and back["active"] is True and back["externalId"] == "new"


def test_entra_fills_a_group(entra: Provider, nora: Api) -> None:
    one, two = (entra.user(f"{name}@group.example")["id"] for name in ("one", "two"))
    group = entra.call("POST", "/Groups", {
        "schemas": [f"{CORE}:Group"], "externalId": "8aa1a0c0", "displayName": "Night shift", "members": [],
        "meta": {"resourceType": "Group"},
    }, 201)  # fmt: skip
    id, path = group["id"], f"/Groups/{group['id']}"
    [listed] = entra.found("/Groups", 'displayName eq "night shift"', excludedAttributes="members")
    assert listed["id"] == id and "members" not in listed
    add = {"op": "Add", "path": "members", "value": [{"$ref": None, "value": one}, {"$ref": None, "value": two}]}
    assert entra.patch(path, add, status=204) == {} and entra.members(id) == {one, two}
    entra.patch(path, add, status=204)
    assert [each["id"] for each in entra.found("/Groups", f'id eq "{id}" and members eq "{one}"')] == [id]
    assert entra.found("/Groups", f'id eq "{id}" and members eq "99999"') == []
    assert [each["id"] for each in entra.found("/Groups", f'members[value eq "{one}"]')] == [id]
    assert "members" not in entra.call("GET", path, params={"excludedAttributes": "members"})
    entra.patch(path, {"op": "Remove", "path": "members", "value": [{"$ref": None, "value": one}]}, status=204)
    assert entra.members(id) == {two}
    entra.patch(path, {"op": "remove", "path": f'members[value eq "{two}"]'}, status=204)
    assert entra.members(id) == set()
    entra.patch(path, {"op": "Replace", "path": "displayName", "value": "Late shift"}, status=204)
    assert nora.record("group", int(id)).ok()["name"] == "Late shift"
    assert entra.call("GET", f"/Users/{one}").get("groups") is None
    entra.patch(path, add, status=204)
    assert entra.call("GET", f"/Users/{one}")["groups"][0]["display"] == "Late shift"
    ticket = nora.create("ticket", subject="Stays", group_id=int(id), participants="ana@customer.example").ok()["id"]
    entra.call("DELETE", path, status=204)
    entra.call("GET", path, status=404)
    assert nora.record("ticket", ticket).ok()["group_id"] == int(id)
    assert nora.record("group", int(id), expand="members").ok()["members"] == {}
    assert entra.group("Late shift", one)["id"] == id and entra.members(id) == {one}


def test_okta_sends_whole_resources_and_operations_without_a_path(entra: Provider, nora: Api) -> None:
    first = {
        "schemas": [f"{CORE}:User"], "userName": "bo@okta.example", "externalId": "00u1", "displayName": "Bo Ek",
        "name": {"givenName": "Bo", "familyName": "Ek"}, "locale": "en-US", "active": True, "groups": [],
        "emails": [{"primary": True, "value": "bo@okta.example", "type": "work"}], "password": "1mz050nq-secret",
    }  # fmt: skip
    user = entra.call("POST", "/Users", first, 201)
    path = f"/Users/{user['id']}"
    assert "password" not in user and Visitor(nora.url).sign_in("bo@okta.example", first["password"]).status_code != 303
    put = entra.call("PUT", path, first | {"name": {"givenName": "Bo", "familyName": "Lind"}, "title": "Clerk"})
    assert (put["name"]["familyName"], put["title"]) == ("Lind", "Clerk")
    assert "title" not in entra.call("PUT", path, first)
    off = entra.patch(path, {"op": "replace", "value": {"active": False}})
    assert off["active"] is False
    assert (
        entra.call("PUT", path, {name: value for name, value in first.items() if name != "active"})["active"] is False
    )
    assert entra.call("PUT", path, first)["active"] is True
    group = entra.group("Okta team", user["id"])
    own = f"/Groups/{group['id']}"
    entra.patch(own, {"op": "replace", "value": {"id": group["id"], "displayName": "Okta people"}}, status=204)
    kai = entra.user("kai@okta.example")["id"]
    entra.patch(own, {"op": "replace", "path": "members", "value": [{"value": kai, "display": "Kai"}]}, status=204)
    assert entra.members(group["id"]) == {kai}
    listed = entra.call("GET", "/Users", params={"startIndex": "2", "count": "1"})
    assert (listed["startIndex"], listed["itemsPerPage"]) == (2, 1) and listed["totalResults"] > 2
    assert entra.call("GET", "/Users", params={"count": "0"})["Resources"] == []
    assert entra.call("GET", "/Groups", params={"startIndex": "999"})["Resources"] == []


def test_authentik_names_users_by_words_and_replaces_whole_groups(entra: Provider) -> None:
    sent = {
        "schemas": [f"{CORE}:User"], "userName": "AkAdmin", "externalId": "ak1", "active": True, "photos": [],
        "name": {"formatted": "Ak Admin", "givenName": "Ak", "familyName": "Admin"}, "displayName": "Ak Admin",
        "emails": [{"value": "ak@authentik.example", "type": "other", "primary": True}],
    }  # fmt: skip
    user = entra.call("POST", "/Users", sent, 201)
    assert user["userName"] == "AkAdmin" and user["emails"][0]["type"] == "other"
    assert entra.found("/Users", 'userName eq "akadmin"')[0]["id"] == user["id"]
    entra.call("POST", "/Users", sent | {"emails": [{"value": "other@authentik.example"}]}, 409)
    moved = entra.call("PUT", f"/Users/{user['id']}", sent | {"emails": [{"value": "ak2@authentik.example"}]})
    assert [each["value"] for each in moved["emails"]] == ["ak2@authentik.example"]
    group = {"schemas": [f"{CORE}:Group"], "externalId": "g1", "displayName": "authentik Team", "members": None}
    made = entra.call("POST", "/Groups", group, 201)
    path = f"/Groups/{made['id']}"
    entra.patch(path, {"op": "add", "path": "members", "value": [{"value": user["id"]}]}, status=204)
    entra.patch(path, {"op": "replace", "value": group | {"displayName": "Team", "members": [], "id": made["id"]}},
                status=204)  # fmt: skip
    assert entra.members(made["id"]) == set()
    entra.patch(path, {"op": "add", "path": "members", "value": [{"value": user["id"]}]}, status=204)
    del group["members"]
    entra.call("PUT", path, group)
    assert entra.members(made["id"]) == {user["id"]}
    entra.patch(path, {"op": "remove", "path": "members", "value": [{"value": user["id"]}]}, status=204)
    assert entra.members(made["id"]) == set()


@pytest.fixture(scope="module")
def filled(entra: Provider) -> dict[str, Any]:
    """A group with a member."""
    return entra.group("Untouched", entra.user("kept@group.example")["id"])


@pytest.mark.parametrize("body", [
    {}, {"Operations": []}, {"Operations": {"op": "replace"}}, {"Operations": ["replace"]},
    {"Operations": [{"op": "empty", "path": "members"}]},
    {"Operations": [{"op": "replace", "path": "members"}]},
    {"Operations": [{"op": "replace", "path": "members", "value": None}]},
    {"Operations": [{"op": "replace", "path": "members", "value": ""}]},
    {"Operations": [{"op": "replace", "path": "members", "value": "7"}]},
    {"Operations": [{"op": "replace", "path": "members", "value": [{"display": "Nora"}]}]},
    {"Operations": [{"op": "replace", "path": "members", "value": [{}]}]},
    {"Operations": [{"op": "replace", "path": "members", "value": [{"value": "x"}]}]},
    {"Operations": [{"op": "replace", "path": "members", "value": [{"value": "1", "type": "Group"}]}]},
    {"Operations": [{"op": "replace", "path": "members[value eq", "value": []}]},
    {"Operations": [{"op": "remove", "path": "members["}]},
    {"Operations": [{"op": "remove", "path": "mebers"}]},
    {"Operations": [{"op": "remove"}]},
    {"Operations": [{"op": "replace", "value": {"members": None}}]},
    {"Operations": [{"op": "replace", "value": []}]},
    {"Operations": [{"op": "remove", "path": "members"}, {"op": "replace", "path": "displayName", "value": ""}]},
    {"Operations": [{"op": "remove", "path": "members"},
                    {"op": "add", "path": "members", "value": [{"value": "999"}]}]},
    {"Operations": [{"op": "replace", "path": 'members[value eq "999"]', "value": {"value": "1"}}]},
    {"Operations": [{"op": "replace", "path": "id", "value": "9"}]},
    {"Operations": [{"op": "replace", "path": "members", "value": [{"value": {"a": 1}}]}]},
    {"Operations": [{"op": "replace", "path": ["members"], "value": []}]},
    {"Operations": [{"op": "remove", "path": "members"}] * 1001},
])  # fmt: skip
def test_a_malformed_patch_changes_nothing(entra: Provider, filled: dict[str, Any], body: dict[str, Any]) -> None:
    path = f"/Groups/{filled['id']}"
    refused = entra.call("PATCH", path, body, 400)
    assert refused["scimType"] and refused["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert entra.call("GET", path) == filled and filled["members"]


@pytest.mark.parametrize(("method", "path", "body", "status", "kind"), [
    ("POST", "/Users", {}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": ""}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "no-address"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": ["a@x.example"]}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "active": "perhaps"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "locale": "Klingon"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "timezone": "Mars/Olympus"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "emails": "a@x.example"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "emails": [{"value": "nowhere"}]}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "emails": [{"value": f"{n}@x.example"} for n in range(11)]}, 400,
     "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "name": {"givenName": "x" * 200}}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "name": "Ana"}, 400, "invalidValue"),
    ("POST", "/Users", {"userName": "a@x.example", "displayName": "x" * 256}, 400, "invalidValue"),
    ("POST", "/Users", b"{", 400, "invalidSyntax"),
    ("POST", "/Users", b"[]", 400, "invalidSyntax"),
    ("POST", "/Users", b"", 400, "invalidSyntax"),
    ("POST", "/Users", b"[" * 100_000, 400, "invalidSyntax"),
    ("POST", "/Users", b" " * (1024 * 1024 + 1), 413, ""),
    ("POST", "/Users", {"userName": "nora@desk.example"}, 409, "uniqueness"),
    ("POST", "/Groups", {"displayName": " "}, 400, "invalidValue"),
    ("POST", "/Groups", {"displayName": "Support"}, 409, "uniqueness"),
    ("POST", "/Groups", {"displayName": "x" * 300}, 400, "invalidValue"),
    ("GET", "/Users?filter=userName", None, 400, "invalidFilter"),
    ("GET", "/Users?filter=userName+eq", None, 400, "invalidFilter"),
    ("GET", "/Users?filter=userName+eq+ana", None, 400, "invalidFilter"),
    ("GET", '/Users?filter=userName+is+"ana"', None, 400, "invalidFilter"),
    ("GET", '/Users?filter=shoeSize+eq+"9"', None, 400, "invalidFilter"),
    ("GET", '/Users?filter=nickName+eq+"9"', None, 400, "invalidFilter"),
    ("GET", '/Users?filter=userName+eq+"a"+"b"', None, 400, "invalidFilter"),
    ("GET", '/Users?filter=userName[value+eq+"a"]', None, 400, "invalidFilter"),
    ("GET", "/Users?filter=" + "(" * 500 + "active+pr" + ")" * 500, None, 400, "invalidFilter"),
    ("GET", "/Users?filter=" + "not+(" * 20 + "active+pr" + ")" * 20, None, 400, "invalidFilter"),
    ("GET", "/Users?filter=" + "+or+".join(["active+pr"] * 60), None, 400, "invalidFilter"),
    ("GET", "/Users?filter=" + "x" * 3000, None, 400, "invalidFilter"),
    ("GET", '/Users?filter=userName+eq+"' + "\\" * 501, None, 400, "invalidFilter"),
    ("GET", "/Users?startIndex=one", None, 400, "invalidValue"),
    ("GET", "/Users?attributes=id&excludedAttributes=id", None, 400, "invalidValue"),
    ("GET", "/Users/0x1", None, 404, ""), ("GET", "/Users/999999", None, 404, ""),
    ("GET", "/Users/99999999999999999999", None, 404, ""), ("GET", "/Nothing", None, 404, ""),
    ("PUT", "/Users", {}, 405, ""), ("POST", "/Groups/1", {}, 405, ""), ("POST", "/Schemas", {}, 405, ""),
    ("POST", "/Bulk", {}, 501, ""), ("GET", "/Me", None, 501, ""), ("GET", "/Schemas?filter=id+pr", None, 403, ""),
])  # fmt: skip
def test_a_wrong_request_is_refused_in_the_format_of_the_protocol(
    entra: Provider, nora: Api, method: str, path: str, body: Any, status: int, kind: str
) -> None:
    refused = entra.call(method, path, body, status)
    assert (refused["status"], refused.get("scimType", "")) == (str(status), kind) and refused["detail"]
    assert nora.found("worker", "email:(email:a@x.example)") == []


def test_only_a_valid_token_opens_provisioning_and_it_opens_nothing_else(
    entra: Provider, server: Server, administrator: Visitor, nora: Api, desk: Desk
) -> None:
    for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {nora.token}"},
                   {"Authorization": entra.headers["Authorization"].replace("Bearer", "Basic")}):  # fmt: skip
        response = requests.post(f"{server.url}/scim/v2/Users", data=b"x" * 500_000, headers=header, timeout=60)
        assert response.status_code == 401 and response.headers["WWW-Authenticate"].startswith("Bearer")
    assert requests.get(f"{server.url}/rest/workers/me.json", headers=entra.headers, timeout=60).status_code == 401
    elsewhere = requests.get(f"{server.url}/scim/v2/Users", headers=entra.headers | {"Host": "localhost"}, timeout=60)
    assert elsewhere.status_code == 404
    other = administrator.send(PAGE, {"name": "Okta"})
    [token] = re.findall(r"<code[^>]*>(svc_pt_[\w-]+)</code>", other.text)
    assert administrator.send(PAGE, {"name": "okta"}).status_code == 422
    assert administrator.send(PAGE, {"name": ""}).status_code == 422
    okta = Provider(server.url, token)
    okta.user("by-okta@audit.example")
    page = administrator.get(PAGE).text
    assert "127.0.0.1" in page and token not in page and token[-4:] in page
    stored = desk.read(lambda tx: [str(row) for row in tx.find(_table())])
    assert len(stored) == 2 and not any(token in row for row in stored)
    ids = re.findall(rf"{PAGE}/(\d+)/revoke", page)
    assert place(administrator.send(f"{PAGE}/{ids[-1]}/revoke", page=PAGE)) == PAGE
    okta.call("GET", "/Users", status=401)
    administrator.send(f"{PAGE}/{ids[-1]}/revoke", page=PAGE)
    assert "revoked already" in text_of(administrator.get(PAGE).text)
    told = " / ".join(desk.acts())
    for words in ("created the provisioning token Okta", "Okta created the worker by-okta", "revoked the provisioning"):
        assert words in told


def _table() -> Any:
    from server.sign_in.provisioning_tokens import PROVISIONING_TOKEN

    return PROVISIONING_TOKEN


@pytest.fixture(scope="module")
def desk(server: Server, nora: Api) -> Iterator[Desk]:
    opened = Desk(server.data)
    yield opened
    opened.close()


def test_a_provider_makes_no_administrator_and_disables_not_the_last_one(entra: Provider, nora: Api) -> None:
    own = entra.found("/Users", 'userName eq "nora@desk.example"')[0]
    path = f"/Users/{own['id']}"
    off = {"op": "replace", "path": "active", "value": False}
    assert "last active administrator" in entra.patch(path, off, status=403)["detail"]
    assert "last active administrator" in entra.call("DELETE", path, status=403)["detail"]
    mail = {"op": "replace", "path": "userName", "value": "evil@attacker.example"}
    more = {"op": "add", "path": "emails", "value": [{"value": "evil@attacker.example"}]}
    for each in (mail, more):
        assert "in the console" in entra.patch(path, each, status=403)["detail"]
    assert nora.record("worker", int(own["id"]), expand="emails").ok()["is_disabled"] == 0
    second = nora.create(
        "worker", first_name="Second", email="second@desk.example", language="en_US", timezone="UTC", is_superuser=1,
        password=PASSWORD,
    ).ok()["id"]  # fmt: skip
    visitor = Visitor(nora.url)
    visitor.sign_in("second@desk.example")
    token = nora.post("/rest/oauth/tokens/create.json", worker_id=second, expires="1 day").ok()["access_token"]
    assert visitor.is_in
    entra.patch(f"/Users/{second}", off)
    assert not visitor.is_in and Api(nora.url, token).get("/rest/workers/me.json").status == 401
    entra.patch(f"/Users/{second}", off | {"value": True})
    worker = nora.record("worker", second).ok()
    assert (worker["is_disabled"], worker["is_superuser"]) == (0, 0)
    assert Api(nora.url, token).get("/rest/workers/me.json").status == 401


def test_two_creates_at_once_make_one_user(entra: Provider) -> None:
    body = {"userName": "race@entra.example", "externalId": "race"}
    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(lambda _: entra.send("POST", "/Users", body).status_code, range(8)))
    assert statuses == [201] + [409] * 7
    assert len(entra.found("/Users", 'userName eq "race@entra.example"')) == 1


def test_entity_tags_protect_what_has_changed(entra: Provider) -> None:
    path = f"/Users/{entra.user('tag@entra.example')['id']}"
    first = entra.send("GET", path).headers["ETag"]
    assert entra.send("GET", path, headers={"If-None-Match": first}).status_code == 304
    title = {"Operations": [{"op": "replace", "path": "title", "value": "New"}]}
    assert entra.send("PATCH", path, title, headers={"If-Match": first}).status_code == 200
    for method, body in (("PATCH", title), ("PUT", {"userName": "tag@entra.example"}), ("DELETE", None)):
        assert entra.send(method, path, body, headers={"If-Match": first}).status_code == 412
    assert entra.call("GET", path)["title"] == "New"


def test_attributes_are_chosen(entra: Provider) -> None:
    path = f"/Users/{entra.user('some@entra.example', title='Clerk')['id']}"
    some = entra.call("GET", path, params={"attributes": "USERNAME,emails.value,title"})
    assert set(some) == {"schemas", "id", "userName", "emails", "title"} and set(some["emails"][0]) == {"value"}
    rest = entra.call("GET", path, params={"excludedAttributes": f"{CORE}:User:name.formatted,meta,emails"})
    assert "meta" not in rest and "emails" not in rest and set(rest["name"]) == {"givenName"}


def test_the_service_describes_itself(entra: Provider) -> None:
    config = entra.call("GET", "/ServiceProviderConfig")
    assert config["patch"]["supported"] and not config["bulk"]["supported"] and config["etag"]["supported"]
    for path, names in (("/ResourceTypes", {"User", "Group"}), ("/Schemas", {f"{CORE}:User", f"{CORE}:Group"})):
        listed = entra.call("GET", path)["Resources"]
        assert {each["id"] for each in listed} == names
        for each in listed:
            assert entra.call("GET", f"{path}/{each['id']}") == each
