"""The provider over HTTP, as clients and browsers use it: whole logins, statuses, headers, methods, metadata,
limits."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from server import clock
from server.access import provider, sessions
from server.access.sessions import Lifetime
from server.web import oauth
from tests.oauth.apps import CALLBACK, VERIFIER, App, answer_of, challenge, register
from tests.oauth.browser import Browser
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.web import wire

TOKEN, REVOKE, INTROSPECT = "/oauth/access_token", "/oauth/revoke", "/oauth/introspect"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def app(nora: Api) -> App:
    """A confidential app with three scopes."""
    return register(nora)


def request_of(app: App, **changes: str) -> dict[str, str]:
    return {
        "response_type": "code", "client_id": app.client_id, "scope": "read", "state": "s1", "prompt": "consent",
        "code_challenge": challenge(), "code_challenge_method": "S256",
    } | changes  # fmt: skip


@pytest.fixture(scope="module")
def signed_in(nora: Api) -> Browser:
    """nora's browser, signed in."""
    browser = Browser(nora.url)
    browser.open("/login")
    browser.sign_in()
    return browser


def code_for(browser: Browser, app: App, **changes: str) -> str:
    """Returns the code that the app gets when nora allows it."""
    assert browser.open("/oauth/authorize", **request_of(app, **changes)) == ""
    return answer_of(browser.send(answer="allow"))["code"]


def send(api: Api, path: str, form: Any, **options: Any) -> requests.Response:
    return requests.request(options.pop("method", "POST"), api.url + path, data=form, timeout=60, **options)


def exchange(api: Api, app: App, code: str, path: str = TOKEN, **options: Any) -> requests.Response:
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    return send(api, path, form, auth=(app.client_id, app.secret), **options)


# -- a whole login


def test_a_login_from_the_first_redirect_to_the_last_call(api: Api, app: App) -> None:
    browser = Browser(api.url)
    assert browser.open("/oauth/authorize", **request_of(app)) == ""
    assert browser.sign_in() == ""
    text = browser.page.text
    for told in ("Stock", "Nora Berg", "Look at orders", "https://stock.example"):
        assert told in text
    assert "Change orders" not in text
    url = browser.send(answer="allow")
    response = answer_of(url)
    assert url.startswith(CALLBACK) and (response["state"], response["iss"]) == ("s1", api.url)
    reply = exchange(api, app, response["code"])
    found = reply.json()
    client = Api(api.url, found["access_token"])
    assert client.get("/rest/workers/me.json").ok()["first_name"] == "Nora"
    assert client.post("/rest/records/task/create.json", **{"fields[title]": "x"}).status == 403
    form = {"grant_type": "refresh_token", "refresh_token": found["refresh_token"], **app.login}
    later = send(api, TOKEN, form).json()
    assert client.get("/rest/workers/me.json").status == 401
    client = Api(api.url, later["access_token"])
    client.get("/rest/workers/me.json").ok()
    assert send(api, REVOKE, {"token": later["refresh_token"], **app.login}).status_code == 200
    assert client.get("/rest/workers/me.json").status == 401


def test_a_worker_refuses(api: Api, app: App, signed_in: Browser) -> None:
    signed_in.open("/oauth/authorize", **request_of(app))
    response = answer_of(signed_in.send(answer="deny"))
    assert response["error"] == "access_denied" and "code" not in response


def test_remembered_consent_asks_again_or_redirects_as_the_setting_says(api: Api, nora: Api) -> None:
    app, setting = register(nora, name="Again"), "/admin/system/settings/oauth_remember_consent"
    plain = {name: value for name, value in request_of(app).items() if name != "prompt"}
    browser = Browser(api.url)
    browser.open("/oauth/authorize", **plain)
    assert browser.sign_in() == ""
    first = answer_of(browser.send(answer="allow"))
    assert (
        browser.open("/oauth/authorize", **plain) == "" and "Allow Again to access your account?" in browser.page.text
    )
    browser.open(setting)
    browser.send(oauth_remember_consent="1")
    second = answer_of(browser.open("/oauth/authorize", **plain))
    assert browser.page.status_code == 303 and second["code"] != first["code"]
    # Browsers do not follow a redirect to another site from the form of our sign-in page.
    other = Browser(api.url)
    other.open("/oauth/authorize", **plain)
    third = answer_of(other.sign_in())
    assert other.page.status_code == 200 and third["code"] not in (first["code"], second["code"])
    assert exchange(api, app, third["code"]).status_code == 200
    browser.open(setting)
    browser.send()
    assert browser.open("/oauth/authorize", **plain) == ""


def test_a_worker_disconnects_the_app(nora: Api) -> None:
    app = register(nora, name="Abacus")
    plain = {name: value for name, value in request_of(app).items() if name != "prompt"}
    browser = Browser(nora.url)
    browser.open("/oauth/authorize", **plain)
    browser.sign_in()
    found = exchange(nora, app, answer_of(browser.send(answer="allow"))["code"]).json()
    browser.open("/account/apps")
    assert ">Abacus<" in browser.page.text
    _, fields = browser.form()
    assert browser.post(f"/account/apps/{app.id}/revoke", fields | {"_sure": "1"}) == ""
    assert ">Abacus<" not in browser.page.text
    assert Api(nora.url, found["access_token"]).get("/rest/workers/me.json").status == 401
    assert (
        browser.open("/oauth/authorize", **plain) == "" and "Allow Abacus to access your account?" in browser.page.text
    )


# -- the page


def test_headers_of_the_page(app: App, signed_in: Browser) -> None:
    signed_in.open("/oauth/authorize", **request_of(app))
    headers = signed_in.page.headers
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy and "form-action 'self' https://stock.example;" in policy
    assert (headers["Cache-Control"], headers["X-Frame-Options"]) == ("no-store", "DENY")
    signed_in.send(answer="deny")
    assert signed_in.page.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "changes",
    [{"client_id": "nobody"}, {"redirect_uri": "https://evil.example/"}, {"redirect_uri": "//evil.example"},
     {"client_id": ""}, {"state": "x" * 5000}],
)  # fmt: skip
def test_untrusted_requests_end_on_a_page_of_ours(changes, api: Api, app: App, signed_in: Browser) -> None:
    for browser in (signed_in, Browser(api.url)):
        assert browser.open("/oauth/authorize", **request_of(app, **changes)) == ""
        assert browser.page.status_code == 400 and "evil.example" not in str(browser.page.headers)
        assert "evil.example" not in browser.page.text and "/login" not in browser.url


@pytest.mark.parametrize(
    "query", ["", "client_id=%ff", "client_id=%", "client_id=a&client_id=b", "&" * 2000, "a[b]=%00"]
)
def test_an_invalid_query_ends_on_a_page_of_ours(query: str, signed_in: Browser) -> None:
    assert signed_in.open(f"/oauth/authorize?{query}") == ""
    assert signed_in.page.status_code == 400


def test_other_mistakes_are_sent_to_the_app_before_sign_in(api: Api, app: App, signed_in: Browser) -> None:
    for browser in (signed_in, Browser(api.url)):
        url = browser.open("/oauth/authorize", **request_of(app, scope="nosuch"))
        assert url.startswith(f"{CALLBACK}?") and answer_of(url)["error"] == "invalid_scope"


def test_names_of_apps_are_escaped(nora: Api, signed_in: Browser) -> None:
    evil = "<script>alert(1)</script>\"'{{ 7*7 }}"
    scopes = '"read": {label: "<img src=x onerror=alert(1)>", endpoints: ["<b>*"]}'
    app = register(nora, name=evil, url='https://a.example/"><script>', scopes=scopes)
    signed_in.open("/oauth/authorize", **request_of(app))
    text = signed_in.page.text
    assert "<script>alert" not in text and "<img src=x" not in text and "<b>*" not in text and "{{ 7*7 }}" in text
    assert "&lt;script&gt;alert(1)" in text


def test_a_tampered_form_grants_nothing(api: Api, app: App, signed_in: Browser) -> None:
    signed_in.open("/oauth/authorize", **request_of(app))
    target, fields = signed_in.form()
    page = signed_in.url
    for changes, where in (
        ({"seal": ""}, target), ({"seal": fields["seal"][:-1] + "x"}, target), ({"answer": "maybe"}, target),
        ({}, target.replace("scope=read", "scope=api")), ({}, target.replace("state=s1", "state=s2")),
    ):  # fmt: skip
        signed_in.url = page
        assert signed_in.post(where, {"answer": "allow", **fields, **changes}) == ""
        assert signed_in.page.status_code == 422 and "code=" not in str(signed_in.page.headers)
    signed_in.url = page
    # Without the token of the session it counts as the request of an app, which is incomplete.
    assert signed_in.post("/oauth/authorize", {"answer": "allow", "seal": fields["seal"]}) == ""
    assert signed_in.page.status_code == 400


def test_another_site_cannot_press_the_button(api: Api, app: App, signed_in: Browser) -> None:
    signed_in.open("/oauth/authorize", **request_of(app))
    target, fields = signed_in.form()
    page = signed_in.url
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        signed_in.url = page
        assert signed_in.post(target, {"answer": "allow", **fields}, **headers) == ""
        assert signed_in.page.status_code == 403
    # The form of one worker is invalid for another.
    other = Browser(api.url)
    other.open("/login")
    other.sign_in()
    other.url = page
    assert other.post(target, {"answer": "allow", **fields}) == "" and other.page.status_code == 403


def test_an_app_may_ask_by_a_form(api: Api, app: App, signed_in: Browser) -> None:
    """Posted from the app's site; browsers do not send our cookies with it."""
    other = Browser(api.url)
    foreign = {"Origin": "https://stock.example", "Sec-Fetch-Site": "cross-site"}
    assert other.post(f"{api.url}/oauth/authorize", request_of(app), **foreign) == ""
    assert "/login?" in other.url and other.sign_in() == "" and "Allow Stock to access your account?" in other.page.text
    assert other.post(f"{api.url}/oauth/authorize", request_of(app, client_id="nobody"), **foreign) == ""
    assert other.page.status_code == 400
    assert other.post(f"{api.url}/oauth/authorize", {"answer": "allow"}, **foreign) == ""
    assert other.page.status_code == 400


def test_a_worker_without_the_required_second_factor_sets_it_up_first(nora: Api, app: App) -> None:
    browser = Browser(nora.url)
    browser.open("/login")
    browser.sign_in()
    nora.update("worker", nora.ids["nora"], is_mfa_required=1).ok()
    try:
        assert browser.open("/oauth/authorize", **request_of(app)) == "" and "second-factor" in browser.url
    finally:
        nora.update("worker", nora.ids["nora"], is_mfa_required=0).ok()


def test_a_password_alone_is_not_a_session(api: Api, app: App, server: Server) -> None:
    """With a second factor, consent requires that the code was entered."""
    desk = Desk(server.data)
    try:
        id = desk.store.write(lambda tx: sessions.create(
            tx, api.ids["milo"], clock.now(), Lifetime(3600, 3600), "", "", waits_for_code=True
        ))  # fmt: skip
    finally:
        desk.close()
    browser = Browser(api.url)
    browser.session.cookies.set("sid", id)
    assert browser.open("/oauth/authorize", **request_of(app)) == "" and "/login/code?" in browser.url
    target, fields = browser.form()
    assert target == "/login/code" and answer_of(fields["next"]) == request_of(app)


# -- endpoints that clients call


@pytest.mark.parametrize("path", [TOKEN, "/oauth/token"])
def test_headers_of_token_responses(path: str, api: Api, app: App, signed_in: Browser) -> None:
    reply = exchange(api, app, code_for(signed_in, app), path)
    assert reply.status_code == 200 and reply.json()["token_type"] == "Bearer"
    assert reply.headers["Content-Type"].lower() == "application/json; charset=utf-8"
    assert (reply.headers["Cache-Control"], reply.headers["Pragma"]) == ("no-store", "no-cache")
    assert "Set-Cookie" not in reply.headers and "Access-Control-Allow-Origin" not in reply.headers


RENEW = "grant_type=refresh_token&refresh_token=x"
# request body, status and error
BODIES = [
    (RENEW, FORM, 401, "invalid_client"),
    ("", FORM, 400, "invalid_request"),
    ("grant_type=", FORM, 400, "invalid_request"),
    ("grant_type=password&username=a&password=b", FORM, 400, "unsupported_grant_type"),
    ("grant_type=a&grant_type=b", FORM, 400, "invalid_request"),
    ("grant_type=%ff", FORM, 400, "invalid_request"),
    ("grant_type=%zz", FORM, 400, "invalid_request"),
    ("grant_type=refresh_token&refresh_token=%00", FORM, 401, "invalid_client"),
    ("&".join(f"a{number}=1" for number in range(2000)), FORM, 400, "invalid_request"),
    ("grant_type=refresh_token&refresh_token=" + "x" * 5000, FORM, 400, "invalid_request"),
    ('{"grant_type": "refresh_token"}', {"Content-Type": "application/json"}, 400, "invalid_request"),
    ("grant_type=refresh_token", {"Content-Type": "text/plain"}, 400, "invalid_request"),
    ("grant_type=refresh_token", {}, 400, "invalid_request"),
    ("grant_type=refresh_token", {"Content-Type": "multipart/form-data; boundary=x"}, 400, "invalid_request"),
    (RENEW, {**FORM, "Authorization": "Basic bm9ib2R5Ong="}, 401, "invalid_client"),
    (RENEW, {**FORM, "Authorization": "Bearer x"}, 401, "invalid_client"),
]


@pytest.mark.parametrize(("body", "headers", "status", "error"), BODIES)
def test_errors_of_the_token_endpoint(body: str, headers, status: int, error: str, api: Api) -> None:
    reply = send(api, TOKEN, body.encode(), headers=headers)
    told = reply.json()
    assert (reply.status_code, told["error"]) == (status, error) and told.keys() == {"error", "error_description"}
    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", told["error_description"])
    assert (reply.headers["Cache-Control"], reply.headers["Pragma"]) == ("no-store", "no-cache")
    assert reply.headers.get("WWW-Authenticate", "") == ('Basic realm="svc"' if status == 401 else "")


@pytest.mark.parametrize("path", [TOKEN, "/oauth/token", REVOKE, INTROSPECT])
def test_methods_of_the_endpoints(path: str, api: Api) -> None:
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE"):
        reply = send(api, path, b"", method=method)
        assert (reply.status_code, reply.headers["Allow"]) == (405, "OPTIONS, POST"), method
    reply = send(api, path, b"", method="OPTIONS")
    assert (reply.status_code, reply.headers["Allow"]) == (204, "OPTIONS, POST")
    assert send(api, path + "s", b"").status_code == send(api, path + "/", b"").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", TOKEN, b"x=" + b"a" * 100_000, {}, 413),
        ("POST", TOKEN, b"x=" + b"a" * 1_000_000, {}, 413),
        ("GET", TOKEN, b"", {}, 405),
        ("GET", "/oauth/nothing", b"", {}, 404),
        ("POST", "/oauth/nothing", b"a=b", {}, 404),
        ("GET", '/oauth/"\\', b"", {}, 404),
        ("POST", TOKEN, b"a=b", {"Content-Type": "text/plain"}, 400),
        ("POST", TOKEN, b"a=b", {"Host": "evil.example"}, 400),
        ("GET", "/oauth/nothing", b"", {"X-Long": "x" * 65_600}, 413),
    ],
)
def test_every_refusal_is_an_oauth_error(
    method: str, path: str, body: bytes, headers: dict[str, str], status: int, api: Api
) -> None:
    reply = requests.request(method, api.url + path, data=body, headers=headers, timeout=60)
    assert reply.status_code == status and reply.headers["Content-Type"] == "application/json; charset=utf-8"
    told = reply.json()
    assert told.keys() == {"error", "error_description"} and told["error"] == "invalid_request"
    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", told["error_description"])


def test_the_consent_page_is_not_an_endpoint_of_apps(api: Api) -> None:
    assert "text/html" in requests.get(f"{api.url}/oauth/authorize", timeout=60).headers["Content-Type"]


def test_a_request_without_a_token_gets_the_address_of_the_metadata(api: Api) -> None:
    for token in ("", "Bearer wrong"):
        headers = {"Authorization": token} if token else {}
        reply = requests.get(f"{api.url}/rest/workers/me.json", headers=headers, timeout=60)
        challenge = reply.headers["WWW-Authenticate"]
        told = re.search(r'resource_metadata="([^"]+)"', challenge)
        assert reply.status_code == 401 and challenge.startswith('Bearer realm="svc"') and told
        found = requests.get(told[1], timeout=60).json()
        assert (found["resource"], found["authorization_servers"]) == (f"{api.url}/rest", [api.url])


@pytest.mark.parametrize("callback", ["http://other.example/cb", "https://a.example/cb\nHTTP://192.168.1.7/cb"])
def test_a_callback_that_others_can_read_is_refused_when_the_app_is_saved(callback: str, nora: Api) -> None:
    refused = nora.create("oauth_app", name="Open", callback_url=callback)
    assert refused.status == 422 and refused["errors"][0]["field"] == "callback_url"
    made = nora.create("oauth_app", name="Own", callback_url="http://localhost:3000/cb").ok()["id"]
    assert nora.update("oauth_app", made, callback_url=callback).status == 422


def test_secrets_are_not_read_from_the_address(api: Api, app: App, signed_in: Browser) -> None:
    code = code_for(signed_in, app)
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    reply = requests.post(api.url + TOKEN, params=app.login, data=form, timeout=60)
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
    reply = requests.get(api.url + TOKEN, params={**app.login, **form}, timeout=60)
    assert reply.status_code == 405
    assert exchange(api, app, code).status_code == 200


def test_the_endpoints_ignore_cookies(api: Api, app: App, signed_in: Browser) -> None:
    cookies = {"Cookie": f"{signed_in.page.request.headers['Cookie']}; client_id={app.client_id}; junk=\xff"}
    for path, form in ((TOKEN, {"grant_type": "refresh_token", "refresh_token": "x"}), (REVOKE, {"token": "x"}),
                       (INTROSPECT, {"token": "x"})):  # fmt: skip
        plain, with_cookies = (send(api, path, form, headers=headers) for headers in ({}, cookies))
        assert (plain.status_code, plain.content) == (with_cookies.status_code, with_cookies.content)
        assert plain.status_code == 401
    reply = requests.get(f"{api.url}/rest/workers/me.json", headers=cookies, timeout=60)
    assert reply.status_code == 401


def test_two_authorization_headers_are_refused(api: Api, app: App) -> None:
    body = b"grant_type=refresh_token&refresh_token=x"
    head = (
        f"POST {TOKEN} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {app.basic}\r\nAuthorization: {app.basic}\r\n"
        f"Content-Type: {FORM['Content-Type']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    heard = wire.send(api.url, head.encode() + body)
    assert heard.status == 400 and heard.json["error"] == "invalid_request"


def test_revocation_and_introspection(api: Api, app: App, signed_in: Browser) -> None:
    found = exchange(api, app, code_for(signed_in, app)).json()
    auth = (app.client_id, app.secret)
    shown = send(api, INTROSPECT, {"token": found["access_token"]}, auth=auth)
    assert shown.json()["active"] is True and shown.json()["iss"] == api.url and shown.headers["Pragma"] == "no-cache"
    assert send(api, INTROSPECT, {"token": "x"}, auth=auth).json() == {"active": False}
    reply = send(api, REVOKE, {"token": found["refresh_token"]}, auth=auth)
    assert (reply.status_code, reply.json()) == (200, {})
    assert send(api, REVOKE, {"token": "unknown"}, auth=auth).json() == {}
    assert send(api, INTROSPECT, {"token": found["access_token"]}, auth=auth).json() == {"active": False}


def test_of_sixteen_simultaneous_exchanges_of_a_code_one_gets_tokens(api: Api, nora: Api, signed_in: Browser) -> None:
    app = register(nora, name="Sixteen")
    code = code_for(signed_in, app)
    replies = at_once(lambda: exchange(api, app, code))
    good = [each.json() for each in replies if each.status_code == 200]
    assert len(good) == 1 and {each.json()["error"] for each in replies if each.status_code != 200} == {"invalid_grant"}
    # Every further use revoked the tokens of the first one.
    assert Api(api.url, good[0]["access_token"]).get("/rest/workers/me.json").status == 401


def test_sixteen_simultaneous_renewals_get_the_same_pair(api: Api, nora: Api, signed_in: Browser) -> None:
    app = register(nora, name="Sixteen more")
    found = exchange(api, app, code_for(signed_in, app)).json()
    form = {"grant_type": "refresh_token", "refresh_token": found["refresh_token"], **app.login}
    replies = at_once(lambda: send(api, TOKEN, form))
    pairs = {(each.json()["access_token"], each.json()["refresh_token"]) for each in replies}
    assert {each.status_code for each in replies} == {200} and len(pairs) == 1
    ((access, refresh),) = pairs
    assert Api(api.url, access).get("/rest/workers/me.json").status == 200
    assert Api(api.url, found["access_token"]).get("/rest/workers/me.json").status == 401
    assert send(api, TOKEN, {**form, "refresh_token": refresh}).status_code == 200


def at_once(call: Callable[[], requests.Response]) -> list[requests.Response]:
    """Starts sixteen calls at the same moment and returns their responses."""
    together = threading.Barrier(16)

    def one(_: int) -> requests.Response:
        together.wait(60)
        return call()

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(one, range(16)))


# -- metadata


def test_metadata_name_existing_endpoints(api: Api) -> None:
    reply = requests.get(f"{api.url}/.well-known/oauth-authorization-server", timeout=60)
    told = reply.json()
    assert reply.headers["Content-Type"].lower() == "application/json; charset=utf-8"
    assert told["issuer"] == api.url and told["authorization_response_iss_parameter_supported"] is True
    assert told["grant_types_supported"] == [
        "authorization_code",
        "client_credentials",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ]
    assert (told["response_types_supported"], told["code_challenge_methods_supported"]) == (["code"], ["S256"])
    assert told["token_endpoint_auth_methods_supported"] == ["client_secret_basic", "client_secret_post", "none"]
    assert told["scopes_supported"] == ["api"]
    for name in ("device_authorization_endpoint", "token_endpoint", "revocation_endpoint", "introspection_endpoint"):
        assert requests.options(told[name], timeout=60).status_code == 204
    assert requests.get(told["authorization_endpoint"], timeout=60).status_code == 400


@pytest.mark.parametrize("behind", ["", "/rest"])
def test_metadata_of_the_api(behind: str, api: Api) -> None:
    path = f"/.well-known/oauth-protected-resource{behind}"
    told = requests.get(api.url + path, timeout=60).json()
    assert told == {
        "resource": f"{api.url}/rest", "authorization_servers": [api.url], "bearer_methods_supported": ["header"],
        "scopes_supported": ["api"],
    }  # fmt: skip
    for method, status in (("HEAD", 200), ("OPTIONS", 204), ("POST", 405), ("DELETE", 405)):
        reply = requests.request(method, api.url + path, timeout=60)
        assert reply.status_code == status and (status == 200 or reply.headers["Allow"] == "GET, HEAD, OPTIONS")


def test_metadata_of_describe_are_complete(api: Api) -> None:
    for each in oauth.DESCRIPTIONS:
        for path in (each["path"], *each["aliases"]):
            told = requests.request(each["method"], api.url + path, timeout=60)
            is_short = any(parameter["required"] for parameter in each["parameters"]) or each["method"] == "POST"
            assert told.status_code == (400 if is_short else 200), path
    told = {parameter["name"] for each in oauth.DESCRIPTIONS for parameter in each["parameters"]}
    assert {*provider.AUTHORIZATION_PARAMETERS, *provider.ENDPOINT_PARAMETERS} - told == {
        "response_mode",
        "token_type_hint",
    }
    assert told - {*provider.AUTHORIZATION_PARAMETERS, *provider.ENDPOINT_PARAMETERS} == {"user_code"}  # of the page


def test_the_openapi_document_describes_the_login(api: Api) -> None:
    document = requests.get(f"{api.url}/openapi.json", timeout=60).json()
    flow = document["components"]["securitySchemes"]["login"]["flows"]["authorizationCode"]
    told = requests.get(f"{api.url}/.well-known/oauth-authorization-server", timeout=60).json()
    assert (flow["authorizationUrl"], flow["tokenUrl"]) == (told["authorization_endpoint"], told["token_endpoint"])
    assert {"login": []} in document["security"]


# -- logging


def test_nothing_secret_is_logged(api: Api, app: App, server: Server, signed_in: Browser) -> None:
    code = code_for(signed_in, app, state="the-state-of-the-log-test")
    found = exchange(api, app, code).json()
    send(api, TOKEN, {"grant_type": "refresh_token", "refresh_token": found["refresh_token"], **app.login})
    send(api, TOKEN, {"grant_type": "refresh_token", "refresh_token": "a-token-that-is-wrong", **app.login})
    log = Path(server.log.name).read_text()
    assert "/oauth/access_token" in log
    for text in (code, app.secret, VERIFIER, found["access_token"], found["refresh_token"], "a-token-that-is-wrong",
                 "the-state-of-the-log-test"):  # fmt: skip
        assert text not in log


# -- rate limits


def test_a_client_that_calls_too_often_gets_retry_after(api: Api) -> None:
    """At most one minute boundary falls into this test."""
    form, session = {"client_id": "a-client-that-calls-too-often"}, requests.Session()
    most = oauth.MAX_CLIENT_REQUESTS_PER_MINUTE
    replies = (session.post(api.url + TOKEN, data=form, timeout=60) for _ in range(most * 2 + 1))
    number, reply = next((place, each) for place, each in enumerate(replies) if each.status_code == 429)
    assert number >= most
    assert reply.json()["error"] == "temporarily_unavailable" and 1 <= int(reply.headers["Retry-After"]) <= 60
