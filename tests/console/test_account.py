"""One's own account over HTTP: second factor, devices, passwords, links, appearance; and sign-in over https."""

import html
import re
from collections.abc import Iterator

import pytest

from server import clock
from server.access import lockout, password_links, totp
from tests.console.visitor import Visitor, place, value
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server

NEW = "quite another password"


@pytest.fixture
def ines(nora: Api, desk: Desk) -> Iterator[str]:
    """The mail address of a worker for one test."""
    email = "ines.account@desk.example"
    made = nora.create(
        "worker", first_name="Ines", email=email, language="en_US", timezone="Europe/Zurich", password=PASSWORD
    ).ok()
    nora.ids["ines"] = made["id"]
    yield email
    nora.remove("worker", made["id"]).ok()
    desk.store.write(lambda tx: tx.delete(lockout.ATTEMPT))


def codes_of(page: str) -> list[str]:
    return re.findall(r"<li><code>([a-z0-9-]{19})</code>", page)


def test_zone_and_language_are_personal(visitor: Visitor, ines: str, nora: Api) -> None:
    visitor.sign_in(ines)
    form = {"first_name": "Ines", "last_name": "", "timezone": "Asia/Tokyo", "language": "de_CH"}
    assert place(visitor.send("/account/profile", form, page="/account")) == "/account"
    found = nora.record("worker", nora.ids["ines"]).ok()
    assert (found["timezone"], found["language"]) == ("Asia/Tokyo", "de_CH")
    assert "1’234’567.5" in html.unescape(visitor.get("/account").text)
    for wrong in ({"language": "Klingon"}, {"language": ""}, {"timezone": "Asia/Nowhere"}):
        refused = visitor.send("/account/profile", form | wrong, page="/account")
        assert refused.status_code == 422 and f'id="{next(iter(wrong))}-error"' in refused.text, wrong
    shown = visitor.get("/-/zones", params={"q": "new york"}).json()["results"]
    assert shown == [{"label": "America/New_York"}]
    assert visitor.get("/-/zones", params={"q": "zzz"}).json() == {"results": []}


def test_an_absence_is_entered_shown_and_ended(visitor: Visitor, ines: str, nora: Api) -> None:
    visitor.sign_in(ines)
    own, milo = nora.ids["ines"], nora.ids["milo"]
    mistakes = [
        ({"away_until": "blurb"}, "away_until"), ({"away_from": "+2 days", "away_until": "+1 day"}, "away_until"),
        ({"away_stand_in_id": "Nobody Known"}, "away_stand_in_id"),
        ({"away_stand_in_id": str(own)}, "away_stand_in_id"),
    ]  # fmt: skip
    for wrong, name in mistakes:
        refused = visitor.send("/account/absence", wrong, page="/account")
        assert refused.status_code == 422 and f'id="{name}-error"' in refused.text, wrong
    form = {"away_from": "-1 hour", "away_until": "+3 days", "away_stand_in_id": str(milo), "is_superuser": "1"}
    assert place(visitor.send("/account/absence", form, page="/account")) == "/account#absence"
    found = nora.record("worker", own).ok()
    assert (found["is_away"], found["away_stand_in_id"], found["is_superuser"]) == (1, milo, 0)
    page = visitor.get("/account").text
    assert "Milo Test is standing in." in html.unescape(page)
    assert place(visitor.send("/account/absence/end", page="/account")) == "/account#absence"
    found = nora.record("worker", own).ok()
    assert (found["is_away"], found["away_from"], found["away_until"], found["away_stand_in_id"]) == (0, 0, 0, milo)
    assert place(visitor.send("/account/absence/begin", page="/account")) == "/account#absence"
    assert (nora.record("worker", own)["is_away"], nora.record("worker", own)["away_until"]) == (1, 0)
    visitor.send("/account/absence/end", page="/account")
    page = visitor.get("/account").text
    assert "I am back" not in page


def test_a_second_factor_is_set_up_used_and_removed(visitor: Visitor, ines: str, server: Server) -> None:
    visitor.sign_in(ines)
    page = visitor.get("/account/second-factor").text
    assert "<svg" in page and "otpauth" not in page
    secret = value(page, "shared_key")
    step = clock.now() // totp.STEP_SECONDS
    wrong = visitor.send("/account/second-factor", {"shared_key": secret, "code": "000000"})
    assert wrong.status_code == 422 and value(wrong.text, "shared_key") == secret
    done = visitor.send("/account/second-factor", {"shared_key": secret, "code": totp.code(secret, step)})
    codes = codes_of(done.text)
    assert done.status_code == 200 and len(codes) == 10 and not codes_of(visitor.get("/account").text)
    other = Visitor(server.url)
    assert place(other.sign_in(ines, next="/automations")) == "/login/code?next=%2Fautomations"
    assert not other.is_in and place(other.get("/automations")).startswith("/login?")
    assert other.send("/login/code", {"code": totp.code(secret, step)}).status_code == 422
    half = other.cookies["sid"]
    assert place(other.send("/login/code", {"code": codes[0], "next": "/automations"})) == "/automations"
    assert other.is_in and other.cookies["sid"] != half
    assert "Recovery codes left: 9" in other.get("/account").text
    late = {"theme": "dark", "density": "normal", "_xsrf": other.token("/account")}
    other.session.cookies.clear()
    ours = {"headers": {"Sec-Fetch-Site": "same-origin"}}
    path = "/account/appearance"
    asked = other.post(path, late, **ours).text
    proof = {**late, "_xsrf": value(asked, "_xsrf"), "_email": ines, "_proof": PASSWORD}
    asked = other.post(path, proof, **ours).text
    assert "Enter your code to continue" in asked and not other.is_in and value(asked, "theme") == "dark"
    wrong = other.post(path, {**late, "_xsrf": value(asked, "_xsrf"), "_proof": "000000"}, **ours)
    assert wrong.status_code == 422 and "The code is wrong" in wrong.text
    done = other.post(path, {**late, "_xsrf": value(wrong.text, "_xsrf"), "_proof": codes[1]}, **ours)
    assert place(done) == "/account#appearance" and 'data-theme="dark"' in other.get("/account").text
    renewed = codes_of(visitor.send("/account/second-factor/codes", page="/account").text)
    assert len(renewed) == 10 and not set(renewed) & set(codes)
    assert place(visitor.send("/account/second-factor/off", page="/account")) == "/account#second-factor"
    assert place(Visitor(server.url).sign_in(ines)) == "/inbox"


def test_a_required_second_factor_is_set_up_before_anything_else(visitor: Visitor, ines: str, nora: Api) -> None:
    nora.update("worker", nora.ids["ines"], is_mfa_required=1).ok()
    visitor.sign_in(ines)
    for path in ("/", "/account", "/automations"):
        assert path == "/" or place(visitor.get(path)).startswith("/account/second-factor?next=%2F")
    asked = "/account/second-factor?next=%2Foauth%2Fauthorize%3Fclient_id%3Dx"
    page = visitor.get(asked).text
    secret, back = value(page, "shared_key"), value(page, "next")
    assert back == "/oauth/authorize?client_id=x"
    assert value(visitor.get("/account/second-factor?next=//evil.example").text, "next") == "/account#second-factor"
    sent = {"shared_key": secret, "code": totp.code(secret, clock.now() // totp.STEP_SECONDS), "next": back}
    assert f'href="{back}">I saved them' in visitor.send("/account/second-factor", sent, page=asked).text


def test_a_new_password_signs_out_all_other_devices(visitor: Visitor, ines: str, server: Server) -> None:
    other = Visitor(server.url)
    other.sign_in(ines)
    visitor.sign_in(ines)
    before = visitor.cookies["sid"]
    for form, words in (
        ({"current": "wrong", "password": NEW, "password_again": NEW}, "The password is wrong"),
        ({"current": PASSWORD, "password": NEW, "password_again": "x"}, "The two passwords do not match"),
        ({"current": PASSWORD, "password": "short", "password_again": "short"}, "At least 8"),
    ):
        response = visitor.send("/account/password", form, page="/account")
        assert response.status_code == 422 and words in response.text and other.is_in
    form = {"current": PASSWORD, "password": NEW, "password_again": NEW}
    assert visitor.send("/account/password", form, page="/account").status_code == 303
    assert visitor.is_in and visitor.cookies["sid"] != before and not other.is_in
    assert other.sign_in(ines).status_code == 422 and other.sign_in(ines, NEW).status_code == 303


def test_devices_are_listed_and_signed_out(visitor: Visitor, ines: str, server: Server, nora: Api) -> None:
    others = [Visitor(server.url) for _ in range(2)]
    for each in others:
        each.session.headers["User-Agent"] = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1"
        each.sign_in(ines)
    visitor.sign_in(ines)
    page = visitor.get("/account").text
    listed, _, known = page.partition('id="devices"')
    known = known.partition("</section>")[0]  # the list of keys follows it
    for part in (listed, known):
        assert part.count("Safari on iPhone") == 2 and part.count("this one") == 1
    assert page.index("this one") < page.index("Safari on iPhone")
    ids = re.findall(r"/account/sessions/(\d+)/end", page)
    stranger = Visitor(server.url)
    stranger.sign_in("milo@desk.example")
    assert stranger.send(f"/account/sessions/{ids[-1]}/end", page="/account").status_code == 404
    assert all(each.is_in for each in others)
    device = re.findall(r"/account/devices/(\d+)/forget", known)[-1]
    assert stranger.send(f"/account/devices/{device}/forget", page="/account").status_code == 404
    assert place(visitor.send(f"/account/devices/{device}/forget", page="/account")) == "/account#devices"
    assert f"/devices/{device}/" not in visitor.get("/account").text
    visitor.send("/account/sessions/end", page="/account")
    assert len(re.findall(r"/account/devices/(\d+)/forget", visitor.get("/account").text)) == 1
    assert visitor.is_in and not any(each.is_in for each in others)
    nora.update("worker", nora.ids["ines"], is_disabled=1).ok()
    assert not visitor.is_in
    nora.update("worker", nora.ids["ines"], is_disabled=0).ok()


def test_a_change_of_rights_changes_the_session_id(visitor: Visitor, ines: str, nora: Api) -> None:
    visitor.sign_in(ines)
    for is_admin in (1, 0):
        before = visitor.cookies["sid"]
        nora.update("worker", nora.ids["ines"], is_superuser=is_admin).ok()
        assert ("/admin/apps" in visitor.get("/settings").text) is bool(is_admin) and visitor.is_in
        after = visitor.cookies["sid"]
        visitor.session.cookies.set("sid", before, domain="127.0.0.1", path="/")
        assert after != before and not visitor.is_in
        visitor.session.cookies.clear()
        visitor.session.cookies.set("sid", after, domain="127.0.0.1", path="/")
        if is_admin:
            assert place(visitor.get("/admin/tokens")).startswith("/confirm?")


def test_a_forgotten_password_page_does_not_reveal_workers(visitor: Visitor, ines: str, desk: Desk, nora: Api) -> None:
    pages = [visitor.send("/forgotten", {"email": email}) for email in (ines, "nobody@desk.example", "", HUGE)]
    assert len({re.sub(r"\s+", " ", page.text) for page in pages}) == 1 and pages[0].status_code == 200
    code = desk.store.write(lambda tx: password_links.create(tx, nora.ids["ines"], clock.now()))
    assert visitor.get(f"/reset/{code}").status_code == 200
    wrong = visitor.send(f"/reset/{code}", {"password": NEW, "password_again": "x"})
    assert wrong.status_code == 422 and NEW not in wrong.text
    assert place(visitor.send(f"/reset/{code}", {"password": NEW, "password_again": NEW})) == "/login?new=1"
    assert visitor.get(f"/reset/{code}").status_code == 404 and visitor.get(f"/reset/{'A' * 43}").status_code == 404
    assert visitor.sign_in(ines, NEW).status_code == 303


HUGE = "x" * 5000 + "@desk.example"


def test_a_worker_changes_only_their_own_settings(visitor: Visitor, ines: str, nora: Api) -> None:
    visitor.sign_in(ines)
    form = {"first_name": "Inès <i>", "last_name": "Gross", "timezone": "Asia/Tokyo", "is_superuser": "1"}
    assert visitor.send("/account/profile", form, page="/account").status_code == 303
    worker = nora.record("worker", nora.ids["ines"]).ok()
    assert (worker["first_name"], worker["timezone"], worker["is_superuser"]) == ("Inès <i>", "Asia/Tokyo", 0)
    wrong = visitor.send("/account/profile", {**form, "timezone": "Mars/Olympus", "first_name": ""}, page="/account")
    assert wrong.status_code == 422 and 'href="#' in wrong.text and 'aria-invalid="true"' in wrong.text
    for theme in ("pink", ""):
        response = visitor.send("/account/appearance", {"theme": theme, "density": "compact"}, page="/account")
        assert response.status_code == 422
    chosen = {"theme": "dark", "density": "compact", "has_keys": ""}
    visitor.send("/account/appearance", chosen, page="/account")
    page = visitor.get("/account").text
    assert 'data-theme="dark"' in page and 'data-density="compact"' in page and " data-keys" not in page
    assert "Appearance saved." in page and "Appearance saved." not in visitor.get("/account").text


def test_a_message_planted_in_the_address_is_not_shown(visitor: Visitor) -> None:
    visitor.sign_in("milo@desk.example")
    visitor.session.cookies.set("toast", "0" * 40 + '["Click here", "/account/sessions/end", {}]', domain="127.0.0.1")
    assert "Click here" not in visitor.get("/account").text


def test_over_https_cookies_are_for_this_host_only(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = Server(tmp_path_factory.mktemp("https") / "data", "--base-url", "https://desk.example")
    try:
        path = server.setup_link.removeprefix("https://desk.example")
        form = {"first_name": "Nora", "email": "nora@desk.example", "timezone": "UTC", "password": PASSWORD,
                "password_again": PASSWORD}  # fmt: skip
        visitor = Visitor(server.url)
        assert visitor.post(path, form).status_code < 400
        page = visitor.get("/login")
        assert page.headers["Strict-Transport-Security"].startswith("max-age=")
        [visit] = page.headers["Set-Cookie"].split(", ")
        assert visit.startswith("__Host-visit=") and {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= _parts(visit)
        token = html.unescape(value(page.text, "_xsrf"))
        visitor.session.headers["Cookie"] = visit.partition(";")[0]
        response = visitor.post("/login", {"email": "nora@desk.example", "password": PASSWORD, "_xsrf": token})
        cookie = next(each for each in response.headers["Set-Cookie"].split(", ") if each.startswith("__Host-sid="))
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= _parts(cookie) and "Domain" not in cookie
        assert "Max-Age" not in cookie
        visitor.session.headers["Cookie"] = cookie.partition(";")[0].removeprefix("__Host-")
        assert not visitor.is_in
        visitor.session.headers["Cookie"] = cookie.partition(";")[0]
        assert visitor.is_in
    finally:
        assert server.stop() == 0


def test_staying_signed_in_survives_closing_the_browser(visitor: Visitor) -> None:
    response = visitor.sign_in("milo@desk.example", keep="1")
    assert f"Max-Age={30 * 86400}" in response.headers["Set-Cookie"]


def _parts(cookie: str) -> set[str]:
    return {part.strip() for part in cookie.split(";")[1:]}


def test_times_and_numbers_follow_the_workers_locale(visitor: Visitor, ines: str, nora: Api) -> None:
    visitor.sign_in(ines)
    for language, zone, time, number in (
        ("en_US", "Europe/Zurich", "Mon, Feb 3, 2031, 4:05 PM Europe/Zurich", "1,234,567.5"),
        ("de-CH", "Pacific/Chatham", "Mo, 3. Feb 2031 16:05 Pacific/Chatham", "1’234’567.5"),
        ("hu_HU", "UTC", "Mon 2031-02-03 16:05 UTC", "1\u202f234\u202f567,5"),
    ):
        nora.update("worker", nora.ids["ines"], language=language, timezone=zone).ok()
        told = visitor.send("/-/time", {"text": "2031-02-03 16:05"}, page="/account").json()["understood"]
        assert told.startswith(f"{time}, in "), told
        assert number in visitor.get("/-/ui").text


def test_mail_notifications_are_chosen_and_the_choice_undone(visitor: Visitor, ines: str) -> None:
    visitor.sign_in(ines)

    def chosen() -> set[str]:
        return set(re.findall(r'name="mailed\[\]" value="(\w+)"[^>]* checked', visitor.get("/account").text))

    usual = chosen()
    assert usual == {"assigned", "mentioned", "failed"}
    response = visitor.send("/account/notifications", {"mailed[]": ["message", "note"]}, page="/account")
    assert place(response) == "/account#notifications"
    page = visitor.get("/account").text
    assert "Notification settings saved." in page and chosen() == {"message", "note"}
    visitor.send("/account/notifications", {"mailed[]": sorted(usual)}, page="/account")
    assert chosen() == usual
    visitor.send("/account/notifications", page="/account")
    assert chosen() == set()
    assert visitor.send("/account/notifications", {"mailed[]": ["pigeon"]}, page="/account").status_code == 422
