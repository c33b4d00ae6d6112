"""The sign-in of customers: by the link in the browser that asked, by the code in another one, and nothing else."""

import re

import pytest

from tests.help_center.customers.conftest import Customer, Desk

SESSION, BROWSER = "__Host-customer", "__Host-customer_asks"
CODE = re.compile(r"<strong>([A-Z2-9]{6})</strong>")


@pytest.fixture(scope="module", autouse=True)
def ann(desk: Desk) -> None:
    desk.ids["ticket"] = desk.ticket("Ann Kite <ann@kite.example>")


def is_signed_in(browser: Customer) -> bool:
    return browser.get("/requests").status_code == 200


def test_a_link_signs_in_once_in_the_browser_that_asked(desk):
    browser = desk.browser()
    page = browser.get("/requests?state=open")
    assert page.status_code == 302 and page.headers["Location"] == "/sign-in?next=%2Frequests"
    assert "Set-Cookie" not in page.headers and "Set-Cookie" not in browser.get("/sign-in").headers
    sent = desk.ask(browser, " Ann@Kite.Example ", f"/requests/{desk.ids['ticket']['mask']}")
    assert (sent.status_code, sent.headers["Location"]) == (303, "/sign-in/code")
    link = desk.link()
    for method in ("GET", "HEAD", "GET"):
        assert browser.send(method, link).status_code == 200
    assert not is_signed_in(browser) and "ann@kite.example" in browser.get(link).text
    done = browser.send("POST", link)
    assert (done.status_code, done.headers["Location"]) == (303, f"/requests/{desk.ids['ticket']['mask']}")
    assert is_signed_in(browser) and BROWSER not in browser.cookies
    assert desk.browser().send("POST", link).status_code == 404, "a used link"
    assert browser.get(link).status_code == 404


def test_the_cookie_is_of_this_host_and_out_of_reach_of_scripts(desk):
    browser = desk.browser()
    asked = desk.ask(browser, "ann@kite.example")
    done = browser.send("POST", desk.link())
    for response, name in ((asked, BROWSER), (done, SESSION)):
        (line,) = [
            each
            for each in response.raw.headers.getlist("Set-Cookie")
            if each.startswith(f"{name}=") and "Max-Age=0" not in each
        ]
        parts = {each.strip().lower() for each in line.split(";")[1:]}
        assert {"path=/", "httponly", "samesite=lax", "secure"} <= parts and not any("domain" in each for each in parts)
        assert response.headers["Cache-Control"] == "no-store"


def test_another_browser_is_shown_the_code_and_the_first_one_types_it(desk):
    asking, other = desk.browser(), desk.browser()
    desk.ask(asking, "ann@kite.example")
    link = desk.link()
    (code,) = CODE.findall(other.get(link).text)
    assert "ann@kite.example" not in other.get(link).text
    assert other.send("POST", link).status_code == 200 and not is_signed_in(other)
    assert asking.send("POST", "/sign-in/code", {"code": "AAAAAA"}).status_code == 422
    typed = asking.send("POST", "/sign-in/code", {"code": f" {code[:3].lower()}-{code[3:]} "})
    assert typed.status_code == 303 and is_signed_in(asking)
    assert other.send("POST", "/sign-in/code", {"code": code}).status_code == 422


def test_a_code_can_be_tried_five_times(desk):
    browser = desk.browser()
    desk.ask(browser, "ann@kite.example")
    (code,) = CODE.findall(desk.browser().get(desk.link()).text)
    for _ in range(5):
        assert browser.send("POST", "/sign-in/code", {"code": "AAAAAA"}).status_code == 422
    assert browser.send("POST", "/sign-in/code", {"code": code}).status_code == 422
    assert not is_signed_in(browser)


def test_both_links_of_a_browser_work_until_one_is_used(desk):
    browser = desk.browser()
    desk.ask(browser, "ann@kite.example")
    first = desk.link()
    desk.ask(browser, "ann@kite.example")
    second = desk.link()
    assert browser.send("POST", first).status_code == 303 and is_signed_in(browser)
    assert desk.browser().send("POST", second).status_code == 200, "another browser"


@pytest.mark.parametrize(
    "email",
    ["nobody@kite.example", "nora@desk.example", "milo@desk.example", "banned@kite.example", "{sender}"],
)
def test_an_unknown_address_gets_the_same_pages_and_no_email(desk, email):
    if email == "{sender}":
        email = desk.api.search("address", "mailTransport.id:>0").ok()["results"][0]["email"]
    if email.startswith("banned") and not desk.api.found("address", f"email:{email}"):
        desk.api.create("address", email=email, is_banned=1).ok()
    known, unknown = desk.browser(), desk.browser()
    count = len(desk.smtp.messages)
    pages = []
    for browser, address in ((unknown, email), (known, "ann@kite.example")):
        sent = desk.ask(browser, address)
        shown = browser.get("/sign-in/code").text.replace(address, "")
        wrong = browser.send("POST", "/sign-in/code", {"code": "AAAAAA"})
        pages.append(
            (sent.status_code, sent.headers["Location"], shown, wrong.status_code, wrong.text.replace(address, ""))
        )
    assert pages[0] == pages[1]
    assert known.send("POST", desk.link()).status_code == 303
    assert len(desk.smtp.messages) == count + 1, "only the known address got an email"


def test_links_are_limited_for_known_and_unknown_addresses_alike(desk):
    desk.ticket("flood@kite.example")
    for email in ("flood@kite.example", "unknown-flood@kite.example"):
        statuses = [desk.ask(desk.browser(), email).status_code for _ in range(6)]
        assert statuses == [303] * 5 + [429]
    page = desk.ask(desk.browser(), "flood@kite.example")
    assert page.headers["Retry-After"] == "3600" and "flood@kite.example" in page.text
    for _ in range(5):
        desk.smtp.take()


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ann",
        "ann@",
        "a@b@c",
        "ann@kite.example, bob@kite.example",
        "x" * 300 + "@kite.example",
        "<script>alert(1)</script>",
        "ann@kite.example\r\nBcc: eve@x.example",
    ],
)
def test_what_is_no_address_is_refused_and_stays_in_the_form(desk, email):
    page = desk.ask(desk.browser(), email)
    assert page.status_code == 422 and 'role="alert"' in page.text and "<script>alert" not in page.text


def test_a_planted_session_is_not_adopted(desk):
    browser = desk.browser()
    browser.cookies[SESSION] = "planted"
    desk.ask(browser, "ann@kite.example")
    browser.send("POST", desk.link())
    assert browser.cookies[SESSION] != "planted" and is_signed_in(browser)
    former = browser.cookies[SESSION]
    desk.ask(browser, "ann@kite.example")
    browser.send("POST", desk.link())
    old = desk.browser()
    old.cookies[SESSION] = former
    assert browser.cookies[SESSION] != former and not is_signed_in(old), "the former session has ended"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "/requests/../../x",
        "/requests/a/b",
        "/admin",
        "javascript:alert(1)",
        "/requests\r\nX: y",
        "/requests/x?y=//evil.example",
    ],
)
def test_the_sign_in_leads_only_to_pages_of_requests(desk, path):
    browser = desk.signed_in("ann@kite.example", path)
    assert browser.last.headers["Location"] == "/requests"


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(desk):
    browser = desk.signed_in("ann@kite.example")
    copy = desk.browser()
    copy.cookies = dict(browser.cookies)
    assert browser.send("POST", "/sign-out", {"token": "0" * 40}).headers["Location"] == "/requests"
    assert is_signed_in(copy), "a form of another site signs nobody out"
    assert browser.post("/sign-out").headers["Location"] == "/" and SESSION not in browser.cookies
    assert not is_signed_in(copy)


def test_a_ban_a_new_address_and_the_switch_end_sessions(desk):
    api = desk.api
    desk.ticket("zoe@kite.example")
    (id,) = api.found("address", "email:zoe@kite.example")
    browser = desk.signed_in("zoe@kite.example")
    api.update("address", id, is_banned=1).ok()
    assert not is_signed_in(browser)
    api.update("address", id, is_banned=0).ok()
    assert is_signed_in(browser)
    api.update("address", id, email="zoe2@kite.example").ok()
    assert not is_signed_in(browser), "the mailbox was proved, not the record"
    api.update("address", id, email="zoe@kite.example", worker_id=desk.api.ids["olga"]).ok()
    assert not is_signed_in(browser), "never as a worker"
    api.update("address", id, worker_id=0).ok()
    api.update("brand", desk.ids["brand"], has_requests=0).ok()
    assert browser.get("/requests").status_code == browser.get("/sign-in").status_code == 404
    api.update("brand", desk.ids["brand"], has_requests=1).ok()
    assert is_signed_in(browser)


def test_a_session_of_the_console_is_none_of_the_help_center_and_the_other_way_round(desk):
    browser = desk.signed_in("ann@kite.example")
    stranger = desk.browser()
    stranger.host = "127.0.0.1"
    for name in (SESSION, "sid", "__Host-sid", "customer"):
        stranger.cookies[name] = browser.cookies[SESSION]
    for path in ("/inbox", "/rest/workers/me.json", "/help-center/requests"):
        page = stranger.get(path)
        assert page.status_code in (303, 401, 404) and "ann@kite.example" not in page.text


def test_the_contact_shows_when_it_signed_in_last(desk):
    (id,) = desk.api.found("contact", "email:(email:ann@kite.example)")
    desk.api.update("contact", id, last_login_at=0).ok()
    desk.signed_in("ann@kite.example")
    assert desk.api.record("contact", id).ok()["last_login_at"] > 0
