"""Attempts of intruders, over plain HTTP, without a browser that would stop them."""

import re
from typing import Any

import pytest
import urllib3

from console.http import routes
from server import clock
from server.access import lockout, sessions
from server.access.tokens import TOKEN, forget_useless
from tests.console.conftest import HOSTILE, proven
from tests.console.visitor import Visitor, place
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server

pytestmark = [pytest.mark.sqlite("the same with any store"), pytest.mark.exhaustive("hundreds of attempts to break in")]

routes.load()


def path_of(page: routes.Page, nora: Api) -> str:
    """Returns a path that matches a page, with existing ids."""
    text = page.pattern.pattern.removesuffix(r"\Z")
    code = re.search(r"\(\?P<code>[^)]*\)", text)
    if code:
        text = text.replace(code[0], "A" * 43)
    text = re.sub(r"\(\?P<(?:name|folder|type|mask|file|rest)>[^)]*\)", "anything", text)
    name = {"apps": "app", "webhooks": "webhook", "deliveries": "delivery", "automations": "automation"}
    parts = [part for part in text.split("/") if part in name]
    id = nora.ids.get(name[parts[-1]], 1) if parts else 1
    return re.sub(r"\(\?P<id>[^)]*\)", str(id), text)


FORMS = [each for each in routes.PAGES if each.method == "POST"]
CHECKED = [each for each in FORMS if each.checks_form]
CLOSED = [each for each in routes.PAGES if each.access not in ("anyone", "code")]
names = pytest.mark.parametrize


def name_of(page: routes.Page) -> str:
    return f"{page.method} {page.pattern.pattern}"


def rows(desk: Desk) -> dict[str, int]:
    """Returns the number of rows of everything that pages create, change or remove, without rows that expire."""
    desk.store.write(lambda tx: forget_useless(tx, 0))
    tables = [desk.registry.type(uri).table for uri in ("automation", "webhook_listener", "oauth_app", "worker")]
    return {table.name: len(desk.read(lambda tx, table=table: tx.find(table))) for table in (*tables, TOKEN)}


def test_a_session_id_from_before_signing_in_is_never_used(server: Server, visitor: Visitor) -> None:
    planted = "A" * 43
    visitor.session.cookies.set("sid", planted, domain="127.0.0.1")
    visitor.session.cookies.clear()
    visitor.session.headers["Cookie"] = f"sid={planted}"
    token = re.search(r'_xsrf" value="(\w+)"', (page := visitor.get("/login")).text)
    assert token is not None
    visit = page.cookies["visit"]
    visitor.session.headers["Cookie"] = f"sid={planted}; visit={visit}"
    form = {"email": "nora@desk.example", "password": PASSWORD, "_xsrf": token[1]}
    response = visitor.post("/login", form)
    assert response.status_code == 303 and response.cookies["sid"] not in ("", planted)
    assert not visitor.is_in
    del visitor.session.headers["Cookie"]
    visitor.session.cookies.set("sid", response.cookies["sid"], domain="127.0.0.1")
    assert visitor.is_in


def test_signing_in_gives_a_new_id_each_time_and_signing_out_ends_it(visitor: Visitor) -> None:
    visitor.sign_in("milo@desk.example")
    first = visitor.cookies["sid"]
    visitor.send("/sign-out", page="/account")
    assert "sid" not in visitor.cookies and not visitor.is_in
    visitor.session.cookies.set("sid", first, domain="127.0.0.1")
    assert not visitor.is_in
    visitor.sign_in("milo@desk.example")
    assert visitor.cookies["sid"] != first and visitor.is_in


@names("page", CHECKED, ids=name_of)
def test_a_form_without_our_token_does_nothing(
    page: routes.Page, server: Server, signed_in: Visitor, nora: Api, desk: Desk
) -> None:
    path, before, cookies = path_of(page, nora), rows(desk), signed_in.cookies
    form = {"name": "x", "do": "save", "scopes[]": "api", "worker_id": "1", "theme": "dark", "password": PASSWORD}
    other = Visitor(server.url)
    other.get("/login")
    tokens = ("", "0" * 40, other.token("/login"))
    for token in tokens:
        response = signed_in.post(path, {**form, "_xsrf": token})
        assert response.status_code == 403 or place(response).startswith("/login"), (path, response.status_code)
    right = signed_in.token("/account")
    for headers in (
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": signed_in.url},
    ):  # fmt: skip
        response = signed_in.post(path, {**form, "_xsrf": right}, headers=headers)
        assert response.status_code == 403 and "another site" in response.text, headers
    assert rows(desk) == before and signed_in.is_in and signed_in.cookies["sid"] == cookies["sid"]


@names("page", CLOSED, ids=name_of)
def test_nothing_is_open_without_signing_in(page: routes.Page, visitor: Visitor, nora: Api) -> None:
    response = visitor.get(path_of(page, nora)) if page.method == "GET" else visitor.post(path_of(page, nora))
    shown = ("/login?next=%2F", "/oauth/authorize?")  # which redirects to the sign-in by itself
    assert response.status_code == 303 and place(response).startswith(shown)


def test_pages_for_administrators_are_closed_to_others(visitor: Visitor, nora: Api) -> None:
    visitor.sign_in("milo@desk.example")
    token = visitor.token("/account")
    for page in (each for each in routes.PAGES if each.access.endswith("admin")):
        path = path_of(page, nora)
        response = visitor.get(path) if page.method == "GET" else visitor.post(path, {"_xsrf": token})
        assert response.status_code == 403 and "administrators" in response.text, (page.method, path)
    home = visitor.get("/").text
    assert "/admin/" not in home and "/automations/log" not in home
    assert f'href="/automations/{nora.ids["automation"]}"' not in visitor.get("/automations").text


def test_a_cookie_that_another_site_may_have_set_is_ignored(signed_in: Visitor, visitor: Visitor) -> None:
    """Other ports and hosts of a domain can set cookies for ours: of two with one name neither is accepted."""
    own = signed_in.cookies["sid"]
    for text, is_in in (
        (f"sid={own}", True), (f"sid={own}; sid={own}", True), (f"a=b; sid={own};;=; sid", False),
        (f"sid={own}; sid={'A' * 43}", False), (f"sid={'A' * 43}; sid={own}", False), (f"SID={own}", False),
        (f"sid={own}x", False), (f"sid={own[:-1]}", False), (f"__Host-sid={own}", False), (f'sid="{own}"', False),
        (f"sid={own}%00", False), (f"sid=%0a{own}", False), ("sid=" + "A" * 9000, False), ("sid=\xff", False),
    ):  # fmt: skip
        response = visitor.get("/account", headers={"Cookie": text})
        assert (response.status_code == 200) is is_in, text


def test_no_other_site_may_read_a_response(visitor: Visitor, signed_in: Visitor, nora: Api) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "PUT",
               "Access-Control-Request-Headers": "authorization"}  # fmt: skip
    token = {"Authorization": f"Bearer {nora.token}"}
    for path in ("/", "/account", "/rest/workers/me.json", "/rest/records/org/search.json", "/oauth/token", "/health",
                 "/webhooks/unknown", "/openapi.json"):  # fmt: skip
        for method in ("OPTIONS", "GET", "HEAD"):
            for who in ({}, token):
                response = signed_in.session.request(
                    method, visitor.url + path, headers=headers | who, timeout=60, allow_redirects=False
                )
                told = [name for name in response.headers if name.lower().startswith("access-control-")]
                assert told == [], (method, path)
                assert response.headers["X-Content-Type-Options"] == "nosniff", (method, path)


def test_cookies_are_for_us_only(visitor: Visitor) -> None:
    page = visitor.get("/login")
    response = visitor.sign_in(keep="1")
    told = [each for got in (page, response) for each in got.raw.headers.getlist("Set-Cookie")]
    assert {each.partition("=")[0] for each in told} == {"visit", "sid", "device"}
    for each in told:
        parts = [part.strip() for part in each.split(";")[1:]]
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(parts) and not [part for part in parts if "Domain" in part]
    assert page.headers["Cache-Control"] == response.headers["Cache-Control"] == "no-store"


def test_the_cookie_does_not_authenticate_api_calls(signed_in: Visitor, nora: Api) -> None:
    assert signed_in.get("/rest/workers/me.json").status_code == 401
    assert signed_in.post("/rest/records/org/create.json", {"fields[name]": "x"}).status_code == 401


# Targets that an attacker may want a worker to reach after sign-in. Browsers treat backslashes as slashes, and drop
# tabs and line ends.
ELSEWHERE = [
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "///evil.example",
    "////evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r/evil.example",
    "\t//evil.example",
    " //evil.example",
    "\x00//evil.example",
    "/\x0b/evil.example",
    "/ /evil.example",
    "/\u2028/evil.example",
    "/\u3002evil.example",
    "//evil\u3002example",
    "//evil.example%2f..",
    "//desk.example@evil.example",
    "https://evil.example",
    "HTTPS://evil.example",
    "https:evil.example",
    "https:/evil.example",
    "http:///evil.example",
    "http:\\\\evil.example",
    "ftp://evil.example",
    "https://127.0.0.1@evil.example",
    "https://127.0.0.1.evil.example",
    "javascript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,x",
    "blob:https://evil.example/x",
    "evil.example",
    "@evil.example",
    ".evil.example",
    "?//evil.example",
    "#//evil.example",
    "/\r\nSet-Cookie: a=b",
    "/\nLocation: //evil.example",
    "/" + "x" * 5000,
    "",
]


def test_no_page_redirects_to_another_host(visitor: Visitor) -> None:
    """By the sign-in form, by its address once signed in, by the password question, and by signing out."""
    secret = visitor.token("/login")
    for target in ELSEWHERE:
        page = visitor.get("/login", params={"next": target})
        assert re.findall(r'name="next" value="([^"]*)"', page.text) == ["/"], target
    form = {"email": "milo@desk.example", "password": PASSWORD, "_xsrf": secret, "next": "//evil.example"}
    assert place(visitor.post("/login", form)) == "/inbox"
    token = visitor.token("/account")
    for target in ELSEWHERE:
        response = visitor.get("/login", params={"next": target})
        assert (response.status_code, place(response)) == (303, "/"), target
        assert "evil" not in str(response.headers) and "a=b" not in str(response.headers), target
        page = visitor.get("/confirm", params={"next": target})
        assert re.findall(r'name="next" value="([^"]*)"', page.text) == ["/"], target
    for target in ("//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example"):
        response = visitor.post("/confirm", {"password": PASSWORD, "next": target, "_xsrf": token})
        assert (response.status_code, place(response)) == (303, "/"), target
        token = visitor.token("/account")
    response = visitor.post("/sign-out", {"next": "//evil.example", "_xsrf": token})
    assert place(response) == "/login?out=1"


@names("path", ["//evil.example/admin/apps", "//evil.example/", "/\\evil.example/admin/apps", "/%2f/evil.example/"])
def test_a_path_that_looks_like_a_host_redirects_nowhere(path: str, visitor: Visitor) -> None:
    response = urllib3.request("GET", visitor.url + path, redirect=False, retries=False)
    assert response.status in (400, 404) and "evil" not in str(response.headers)


def test_signing_in_leads_back_to_the_requested_page(visitor: Visitor) -> None:
    assert place(visitor.sign_in(next="/automations/log?q=level%3Aerror")) == "/automations/log?q=level%3Aerror"
    assert place(visitor.get("/login?next=/account")) == "/account"


def test_markup_in_names_and_texts_stays_text(signed_in: Visitor, nora: Api) -> None:
    paths = ["/", "/account", "/admin/tokens", "/admin/apps", "/admin/apps/{app}", "/automations",
             "/automations/{automation}", "/automations/webhooks", "/automations/webhooks/{webhook}",
             "/automations/webhooks/{webhook}/rotate", "/automations/webhooks/deliveries/{delivery}",
             "/automations/log", f"/automations/log?q={HOSTILE}", f"/automations?q={HOSTILE}",
             f"/login?next=/{HOSTILE}", "/" + HOSTILE]  # fmt: skip
    seen = 0
    for path in paths:
        page = signed_in.get(path.format(**nora.ids)).text
        assert "<script>alert" not in page and "<img src=x" not in page, path
        seen += "&lt;script&gt;alert" in page
    assert seen >= 9


def test_a_page_cannot_be_framed_cached_or_load_other_sites(signed_in: Visitor, nora: Api) -> None:
    for path in ("/", "/login", "/account", "/admin/apps", "/no/such/page"):
        headers = signed_in.get(path).headers
        policy = dict(each.strip().split(" ", 1) for each in headers["Content-Security-Policy"].split(";"))
        assert policy == {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
            "connect-src": "'self'", "font-src": "'self'", "frame-src": "'self'", "worker-src": "'self'",
            "manifest-src": "'self'", "form-action": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'",
        }  # fmt: skip
        assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin" and headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


@names("path", ["/static/../site.py", "/static/%2e%2e/site.py", "/static//etc/passwd", "/static/..%5csite.py",
                "/static/console.css%00.js", "/static/0/console.css", "/static/", "/static"])  # fmt: skip
def test_only_listed_static_files_are_served(visitor: Visitor, path: str) -> None:
    response = urllib3.request("GET", visitor.url + path, redirect=False, retries=False)
    assert response.status == 404


def test_static_files_are_cached_forever_under_their_digest(visitor: Visitor) -> None:
    address = re.findall(r'href="(/static/[0-9a-f]+/console\.css)"', visitor.get("/login").text)[0]
    assert "immutable" in visitor.get(address).headers["Cache-Control"]
    assert visitor.get("/static/console.css").headers["Cache-Control"] == "no-store"


def test_after_ten_wrong_passwords_the_right_one_waits(visitor: Visitor, desk: Desk) -> None:
    key = lockout.account("password", "olga@desk.example")
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT - 1):
        desk.store.write(lambda tx: lockout.count(tx, (key,), clock.now()))
    wrong = visitor.sign_in("olga@desk.example", "wrong")
    assert wrong.status_code == 422 and "is wrong" in wrong.text and 'value="wrong"' not in wrong.text
    locked = visitor.sign_in("OLGA@desk.example")
    assert locked.status_code == 429 and "Try again in" in locked.text
    assert visitor.sign_in().status_code == 303
    desk.store.write(lambda tx: tx.delete(lockout.ATTEMPT))


def test_typed_text_survives_the_end_of_the_session(visitor: Visitor) -> None:
    visitor.sign_in("nora@desk.example")
    token = visitor.token("/automations/new")
    visitor.session.cookies.clear()
    script = "start:\n  log: <b>many words</b>\n"
    sent = {"script": script, "name": "", "_xsrf": token, "do": "check", "password": "hidden-" + PASSWORD}
    headers = {"Sec-Fetch-Site": "same-origin"}
    kept = visitor.post("/automations/new", sent, headers=headers)
    assert kept.status_code == 403 and "log: &lt;b&gt;many words&lt;/b&gt;" in kept.text and PASSWORD not in kept.text
    fields: dict[str, Any] = dict(sent)
    assert visitor.sign_in().status_code == 303
    again = visitor.post("/automations/new", fields, headers=headers)
    token = re.search(r'action="/automations/new"[^>]*>\s*<input type="hidden" name="_xsrf" value="(\w+)"', again.text)
    fields["_xsrf"] = token[1] if token else ""
    assert again.status_code == 403 and visitor.post("/automations/new", fields, headers=headers).status_code == 200


# Actions that grant rights, involve secrets or change our address: a session alone must not be enough.
POWERFUL = re.compile(
    r"/account/second-factor|/admin/(apps|tokens|people(/new|/\(|/roles)|packages/(look|import)|system/settings)"
    r"|/admin/mail/(transports|mailboxes|listener)(?!.*/test)|/admin/backups(/send|/.*/(remove|restore))?\\Z"
    r"|/setup/(address|mail)|/api/.*/write|/automations/webhooks/.*/(rotate|end-address)"
)


def test_granting_rights_requires_the_password() -> None:
    found = [each for each in FORMS if POWERFUL.match(each.pattern.pattern)]
    assert len(found) > 25
    assert [name_of(each) for each in found if not each.access.startswith("proven")] == []


def test_secrets_require_the_password_again(visitor: Visitor, desk: Desk, nora: Api) -> None:
    visitor.sign_in()
    assert visitor.get("/admin/tokens").status_code == 200
    token = visitor.token("/account")
    proven(desk, visitor, clock.now() - sessions.STEP_UP_SECONDS)
    for page in (each for each in routes.PAGES if each.access.startswith("proven")):
        path = path_of(page, nora)
        if page.method == "GET":
            assert place(visitor.get(path)).startswith("/confirm?next="), path
            continue
        response = visitor.post(path, {"_xsrf": token})
        assert response.status_code == 403 and "Confirm your identity" in response.text, path
    assert visitor.send("/confirm?next=/admin/tokens", {"password": "wrong"}).status_code == 422
    before = visitor.cookies["sid"]
    response = visitor.send("/confirm", {"password": PASSWORD, "next": "/admin/tokens"})
    assert place(response) == "/admin/tokens" and visitor.cookies["sid"] != before
    assert visitor.get("/admin/tokens").status_code == 200
