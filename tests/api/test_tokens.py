"""Bearer tokens over HTTP: how they are sent, why they are refused, what their scopes allow, how they end."""

import http.client
from pathlib import Path

import pytest

from tests import databases
from tests.api.minimal import made
from tests.service import Api, Server, command

REALM = 'Bearer realm="svc"'
METADATA = "/.well-known/oauth-protected-resource/rest"
UNKNOWN = "svc_at_" + "UnkN0wn-t0ken_0f-th3_t3sts-0123456789abcdef"


def ask(api: Api, *headers: tuple[str, str], path: str = "/rest/workers/me.json", method: str = "GET"):
    """Returns status and headers of a response to exactly these request headers."""
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=60)
    connection.putrequest(method, path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, response.headers


def token_for(api: Api, worker: str = "nora", app: int = 0, scopes: str = "", **more: str) -> Api:
    form = {"worker_id": api.ids[worker], **({"app_id": app} if app else {}), **({"scopes": scopes} if scopes else {})}
    return Api(api.url, api.post("/rest/oauth/tokens/create.json", **form, **more).ok()["access_token"])


FORMS = [
    ("a token", "Bearer {}", 200, ""),
    ("the scheme in capitals", "BEARER {}", 200, ""),
    ("the scheme in small letters", "bearer {}", 200, ""),
    ("spaces between and behind", "Bearer   {}  ", 200, ""),
    ("no scheme", "{}", 401, "invalid_request"),
    ("another scheme", "Basic bm9yYTp4", 401, ""),
    ("a scheme only", "Bearer", 401, "invalid_request"),
    ("a scheme and a space", "Bearer ", 401, "invalid_request"),
    ("two tokens", "Bearer {} {}", 401, "invalid_request"),
    ("a comma", "Bearer {},", 401, "invalid_token"),
    ("quotes", 'Bearer "{}"', 401, "invalid_token"),
    ("a letter more", "Bearer {}x", 401, "invalid_token"),
    ("an unknown token", f"Bearer {UNKNOWN}", 401, "invalid_token"),
    ("a refresh token's beginning", "Bearer svc_rt_" + "x" * 43, 401, "invalid_token"),
    ("a very long token", "Bearer svc_at_" + "x" * 5000, 401, "invalid_token"),
    ("letters beyond ASCII", "Bearer svc_at_\u00e9", 401, "invalid_request"),
    ("empty", "", 401, "invalid_request"),
]


@pytest.mark.parametrize(("value", "status", "error"), [row[1:] for row in FORMS], ids=[row[0] for row in FORMS])
def test_forms_of_the_authorization_header(value: str, status: int, error: str, api: Api) -> None:
    answered, headers = ask(api, ("Authorization", value.format(api.token, api.token)))
    assert answered == status
    challenge = headers.get("WWW-Authenticate", "")
    if status == 200:
        assert challenge == ""
    elif error:
        assert challenge.startswith(f'{REALM}, error="{error}", error_description="')
        assert "svc_at_" not in challenge
    else:
        assert challenge == f'{REALM}, resource_metadata="{api.url}{METADATA}"'


def test_missing_and_repeated_headers(api: Api) -> None:
    status, headers = ask(api)
    assert (status, headers["WWW-Authenticate"]) == (401, f'{REALM}, resource_metadata="{api.url}{METADATA}"')
    status, headers = ask(api, *[("Authorization", f"Bearer {api.token}")] * 2)
    assert (status, headers["WWW-Authenticate"].split(",")[1]) == (401, ' error="invalid_request"')


def test_a_token_is_accepted_from_nowhere_else(api: Api) -> None:
    for path in ("?access_token={}", "?token={}", "?Authorization=Bearer%20{}"):
        assert ask(api, path="/rest/workers/me.json" + path.format(api.token))[0] == 401
    for header in ("Cookie", "X-Authorization", "Proxy-Authorization", "X-Api-Key"):
        assert ask(api, (header, f"Bearer {api.token}"), (header + "2", f"token={api.token}"))[0] == 401


def test_an_expired_token_is_refused(server: Server, api: Api) -> None:
    """It was issued for an hour, two hours ago."""
    made = command(
        "token", "create", "--worker", "nora@desk.example", "--expires", "1 hour", data=server.data,
        env={"HELPDESK_CLOCK_OFFSET_SECONDS": "-7200"},
    )  # fmt: skip
    status, headers = ask(api, ("Authorization", f"Bearer {made.stdout.decode().strip()}"))
    assert status == 401 and 'error="invalid_token"' in headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("expires", "seconds"), [("", 3600), ("5 minutes", 300), ("1 day", 86400), ("2 weeks", 14 * 86400)]
)
def test_the_lifetime_of_a_token_is_returned(expires: str, seconds: int, api: Api) -> None:
    response = api.post("/rest/oauth/tokens/create.json", worker_id=api.ids["milo"], expires=expires).ok()
    assert (response["expires_in"], response["scope"]) == (seconds, "api")
    assert response["access_token"].startswith("svc_at_") and len(response["access_token"]) == 50
    assert response["refresh_token"].startswith("svc_rt_") and len(response["refresh_token"]) == 50


@pytest.mark.parametrize(
    "form",
    [{"expires": "soonish"}, {"expires": "-1 hour"}, {"expires": "0"}, {"scopes": "api nosuch"}, {"worker_id": "x"},
     {"worker_id": ""}],
)  # fmt: skip
def test_tokens_that_cannot_be_created(form: dict[str, str], api: Api) -> None:
    response = api.post("/rest/oauth/tokens/create.json", **{"worker_id": str(api.ids["milo"])} | form)
    assert response.status == 422, response


def test_a_refresh_token_is_not_an_access_token(api: Api) -> None:
    response = api.post("/rest/oauth/tokens/create.json", worker_id=api.ids["milo"]).ok()
    assert ask(api, ("Authorization", f"Bearer {response['refresh_token']}"))[0] == 401


SCOPES = r"""
"search": {label: Search, endpoints: [records/*/search: [GET, POST]]}
"orgs": {label: Organizations, endpoints: [records/org/*, workers/me: get]}
"get": {label: Read, endpoints: ["*": GET]}
"dots": {label: Dots, endpoints: ["records.org.search", "records/(org|task)/search", "records/[a-z]+/search", ".*"]}
"prefix": {label: Prefix, endpoints: [records/org]}
"none": {label: None, endpoints: [nosuch/path: "*"]}
"all": {label: All, endpoints: ["*": "*"]}
"""
CASES = [
    ("search", "GET", "records/org/search", True), ("search", "POST", "records/task/search", True),
    ("search", "GET", "records/org/1", False), ("search", "POST", "records/org/create", False),
    ("search", "GET", "workers/me", False), ("search", "HEAD", "records/org/search", True),
    ("orgs", "GET", "records/org/search", True), ("orgs", "POST", "records/org/create", True),
    ("orgs", "PUT", "records/org/999999", True), ("orgs", "DELETE", "records/org/999999", True),
    ("orgs", "PATCH", "records/org/upsert", True), ("orgs", "GET", "workers/me", True),
    ("orgs", "GET", "records/task/search", False), ("orgs", "GET", "records/organization/search", False),
    ("get", "GET", "records/org/search", True), ("get", "HEAD", "workers/me", True),
    ("get", "POST", "records/org/search", False), ("get", "POST", "records/org/create", False),
    ("get", "PUT", "records/org/1", False), ("get", "PATCH", "records/org/upsert", False),
    ("get", "DELETE", "records/org/1", False), ("get", "OPTIONS", "records/org/1", True),
    ("dots", "GET", "records/org/search", False), ("dots", "GET", "workers/me", False),
    ("prefix", "GET", "records/org/1", False), ("prefix", "GET", "records/org/search", False),
    ("none", "GET", "workers/me", False), ("none", "OPTIONS", "workers/me", True),
    ("all", "DELETE", "records/org/999999", True), ("search get", "GET", "workers/me", True),
    ("none prefix", "GET", "workers/me", False), ("search none", "POST", "records/org/search", True),
]  # fmt: skip


@pytest.fixture(scope="module")
def scoped(nora: Api) -> dict[str, Api]:
    """Clients by their scopes, and the app under "app"."""
    app = made(nora, "oauth_app", scopes=SCOPES)
    return {scopes: token_for(nora, app=app, scopes=scopes) for scopes in dict.fromkeys(case[0] for case in CASES)}


@pytest.mark.parametrize(("scopes", "method", "path", "is_allowed"), CASES)
def test_scopes(scopes: str, method: str, path: str, is_allowed: bool, scoped: dict[str, Api]) -> None:
    response = scoped[scopes].call(method, f"/rest/{path}.json")
    is_refused = response.status == 403 and "insufficient_scope" in response.headers.get("WWW-Authenticate", "")
    assert is_refused is not is_allowed, response
    if is_refused and method != "HEAD":
        assert response["__error"] == "ERROR_SCOPE"


def test_a_refusal_names_a_sufficient_scope(scoped: dict[str, Api]) -> None:
    headers = scoped["prefix"].get("/rest/records/task/search.json").headers
    assert headers["WWW-Authenticate"] == f'{REALM}, error="insufficient_scope", scope="search"'


TRICKS = [
    "/rest/records/org/create.json?_method=GET", "/rest/records%2forg%2fcreate.json", "/rest//records/org/create.json",
    "/rest/records/org/../org/create.json", "/rest/records/ORG/create.json", "/rest/records/org/create.json.",
    "/rest/records/org/create.json;x=1", "/rest/records/org/create.json%00", "/rest/./records/org/create.json",
    "/rest/records/org/create%2ejson", "/rest/workers/me.json/../../records/org/create.json",
    "/rest/records/org/create.json/",
    "/rest/records/org\\create.json", "//rest/records/org/create.json", "/rest/records/org/create.json#x",
]  # fmt: skip


@pytest.mark.parametrize("path", TRICKS)
def test_no_spelling_of_a_path_bypasses_a_read_only_scope(path: str, scoped: dict[str, Api], api: Api) -> None:
    before = api.search("org").ok()["total"]
    body = b"fields[name]=Trick&_method=GET"
    for method in ("POST", "PUT", "PATCH"):
        connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=60)
        headers = {"Authorization": f"Bearer {scoped['get'].token}", "X-HTTP-Method-Override": "GET",
                   "Content-Type": "application/x-www-form-urlencoded"}  # fmt: skip
        connection.request(method, path, body, headers)
        assert connection.getresponse().status >= 400
        connection.close()
    assert api.search("org").ok()["total"] == before


def test_narrower_scopes_apply_to_the_next_request(api: Api) -> None:
    app = made(api, "oauth_app")
    client = token_for(api, app=app)
    client.get("/rest/workers/me.json").ok()
    api.update("oauth_app", app, scopes='"api": {label: Less, endpoints: [records/org/search]}').ok()
    assert client.get("/rest/workers/me.json").status == 403
    client.search("org").ok()
    api.update("oauth_app", app, scopes='"other": {label: Other, endpoints: ["*"]}').ok()
    assert client.search("org").status == 403


def test_a_deleted_app_ends_its_tokens(api: Api) -> None:
    app = made(api, "oauth_app")
    client = token_for(api, "milo", app=app)
    client.get("/rest/workers/me.json").ok()
    api.remove("oauth_app", app).ok()
    response = client.get("/rest/workers/me.json")
    assert response.status == 401 and 'error="invalid_token"' in response.headers["WWW-Authenticate"]


def test_a_disabled_worker_is_locked_out_at_once_and_old_tokens_stay_invalid(api: Api) -> None:
    worker = made(api, "worker")
    api.ids["ida"] = worker
    client = token_for(api, "ida")
    client.get("/rest/workers/me.json").ok()
    api.update("worker", worker, is_disabled=1).ok()
    assert client.get("/rest/workers/me.json").status == 401
    assert api.post("/rest/oauth/tokens/create.json", worker_id=worker).status == 422
    api.update("worker", worker, is_disabled=0).ok()
    assert client.get("/rest/workers/me.json").status == 401
    token_for(api, "ida").get("/rest/workers/me.json").ok()


def test_a_deleted_worker_ends_their_tokens(api: Api) -> None:
    api.ids["ole"] = made(api, "worker")
    client = token_for(api, "ole")
    client.get("/rest/workers/me.json").ok()
    api.remove("worker", api.ids["ole"]).ok()
    assert client.get("/rest/workers/me.json").status == 401


def test_administrator_rights_are_checked_at_each_request(api: Api) -> None:
    api.ids["una"] = made(api, "worker", is_superuser=1)
    client = token_for(api, "una")
    client.search("oauth_app").ok()
    assert client.search("oauth_app").ok()["total"] > 0
    api.update("worker", api.ids["una"], is_superuser=0).ok()
    assert client.search("oauth_app").ok()["total"] == 0


def test_no_file_contains_the_text_of_a_token(server: Server, api: Api) -> None:
    given = api.post("/rest/oauth/tokens/create.json", worker_id=api.ids["milo"]).ok()
    Api(api.url, given["access_token"]).get("/rest/workers/me.json").ok()
    ask(api, ("Authorization", f"Bearer {UNKNOWN}"))
    secret = api.create("oauth_app", name="Kite", callback_url="http://localhost/").ok()["client_secret"]
    texts = [given["access_token"], given["refresh_token"], api.token, UNKNOWN, secret]
    found = databases.everything(server.data) | {"log": Path(server.log.name).read_bytes()}
    assert any(b"Kite" in content for content in found.values())
    for name, content in found.items():
        for text in texts:
            assert text.encode() not in content, name
            assert text[10:40].encode() not in content, name
