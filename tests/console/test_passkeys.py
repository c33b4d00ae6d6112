"""Passkeys in a browser with a virtual authenticator, on a server of its own: browsers offer them only at a domain."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from server import clock
from server.access import lockout, totp
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place, value
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server, people

NORA = "nora@desk.example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("passkeys") / "data", "--host", "localhost")
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def nora(server: Server) -> Api:
    client = server.set_up()
    people(client)
    return client


@pytest.fixture(scope="module")
def desk(server: Server, nora: Api) -> Iterator[Desk]:
    opened = Desk(server.data)
    yield opened
    opened.close()


@pytest.fixture
def ines(nora: Api, desk: Desk) -> Iterator[str]:
    """The address of a worker for one test."""
    email = "ines.keys@desk.example"
    made = nora.create(
        "worker", first_name="Ines", email=email, language="en_US", timezone="UTC", password=PASSWORD
    ).ok()
    nora.ids["ines"] = made["id"]
    yield email
    nora.remove("worker", made["id"]).ok()
    desk.store.write(lambda tx: tx.delete(lockout.ATTEMPT))


class Key:
    """A virtual authenticator in the browser of a page."""

    def __init__(self, page: Page) -> None:
        self.cdp = page.context.new_cdp_session(page)
        self.cdp.send("WebAuthn.enable")
        device = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }  # fmt: skip
        self.id = self.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": device})["authenticatorId"]

    def is_touched(self, is_present: bool) -> None:
        """Whether somebody touches the device when it is asked for."""
        values = {"authenticatorId": self.id, "enabled": is_present}
        self.cdp.send("WebAuthn.setAutomaticPresenceSimulation", values)

    def credentials(self) -> list[dict[str, Any]]:
        return list(self.cdp.send("WebAuthn.getCredentials", {"authenticatorId": self.id})["credentials"])

    def remove(self) -> None:
        self.cdp.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": self.id})
        self.cdp.send("WebAuthn.disable")


def enter_password(page: Page, email: str) -> None:
    page.get_by_label("Email address").fill(email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.mark.exhaustive("every use of a passkey")
def test_a_passkey_is_created_and_then_signs_in_is_a_second_factor_and_confirms(
    chromium: Browser, server: Server, ines: str
) -> None:
    with chromium.page(server.url, refused="status of 4") as page:
        page.goto("/login?next=/account")
        enter_password(page, ines)
        key = Key(page)
        page.get_by_role("link", name="New passkey").click()
        page.get_by_label("Name").fill("Virtual key")
        page.get_by_role("button", name="Create passkey").click()
        expect(page.locator(".codes code")).to_have_count(10)
        page.get_by_role("link", name="I saved them").click()
        expect(page.locator("#passkeys")).to_contain_text("without a password")
        [credential] = key.credentials()
        assert credential["rpId"] == "localhost" and credential["isResidentCredential"]
        page.goto("/account/passkeys/new")
        page.get_by_role("button", name="Create passkey").click()
        expect(page.locator("[data-passkey-problem]")).to_contain_text("has a passkey of yours already")

        page.context.clear_cookies()  # suggested for the field of the address, and chosen at once
        page.goto("/login?next=/account")
        expect(page).to_have_url(f"{server.url}/account")

        page.context.clear_cookies()
        key.is_touched(False)
        page.goto("/login?next=/account")
        enter_password(page, ines)
        expect(page.get_by_role("heading", name="Use your passkey")).to_be_visible()
        key.is_touched(True)
        page.get_by_role("button", name="Use a passkey").click()
        expect(page).to_have_url(f"{server.url}/account")
        session = [each["value"] for each in page.context.cookies() if each["name"] == "sid"]
        page.goto("/confirm?next=/account/apps")
        page.get_by_role("button", name="Use a passkey").click()
        expect(page).to_have_url(f"{server.url}/account/apps")
        assert session != [each["value"] for each in page.context.cookies() if each["name"] == "sid"]

        page.context.clear_cookies()
        key.cdp.send("WebAuthn.setUserVerified", {"authenticatorId": key.id, "isUserVerified": False})
        page.goto("/login?next=/account")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.locator("[data-passkey-problem]")).to_contain_text("No passkey was used")
        enter_password(page, ines)  # the other way still works
        expect(page.get_by_role("heading", name="Use your passkey")).to_be_visible()
        key.remove()


def test_a_form_that_comes_too_late_is_sent_with_a_passkey(chromium: Browser, server: Server, ines: str) -> None:
    with chromium.page(server.url, refused="status of 4") as page:
        page.goto("/login?next=/account/passkeys/new")
        enter_password(page, ines)
        key = Key(page)
        page.get_by_role("button", name="Create passkey").click()
        page.get_by_role("link", name="I saved them").click()
        page.get_by_label("Last name").fill("Keyes")
        page.context.clear_cookies()  # the sign-in page offers the passkey, which is chosen at once
        page.get_by_role("button", name="Save profile").click()
        expect(page.get_by_text("Profile saved.")).to_be_visible()
        expect(page.get_by_label("Last name")).to_have_value("Keyes")
        key.remove()


def test_without_scripts_passwords_and_recovery_codes_remain(server: Server, ines: str) -> None:
    visitor = Visitor(server.url)
    page = visitor.get("/login").text
    assert 'autocomplete="username webauthn"' in page
    assert re.search(r'formaction="/login/passkey"[^>]* hidden>Sign in with a passkey', page)
    refused = visitor.send("/login/passkey", {"email": ines, "passkey": "{}", "next": "/account"}, page="/login")
    assert refused.status_code == 422 and value(refused.text, "email") == ines
    assert place(visitor.sign_in(ines, next="/account")) == "/account"
    assert "Passkeys need scripts" in visitor.get("/account/passkeys/new").text
    assert visitor.send("/account/passkeys/new", {"name": "x", "passkey": ""}).status_code == 422
    ended = visitor.post("/login/passkey/options", {"_xsrf": "0" * 56}, headers={"Sec-Fetch-Site": "cross-site"})
    assert ended.status_code == 403


def test_the_address_decides_whether_passkeys_are_offered(server: Server, nora: Api, ines: str) -> None:
    visitor = Visitor(server.url)
    visitor.sign_in(NORA)
    form = {"sender": "help@desk.example", "mail_mask_pattern": "LLL-NNNN", "anyway": "1"}

    def move(base_url: str) -> None:
        assert place(visitor.send("/setup/address", form | {"base_url": base_url})) == "/setup/mail"

    try:
        move("http://127.0.0.1:8200")
        assert "only at a domain" in visitor.get("/account").text
        assert "data-passkey=" not in Visitor(server.url).get("/login").text
        assert visitor.send("/account/passkeys/new/options", page="/account").status_code == 409
        move("http://desk.example")
        assert "only over https" in visitor.get("/account/passkeys/new").text
    finally:
        move(server.url)
    assert "note warn" not in visitor.get("/account/passkeys/new").text.split("<main")[1]


def test_a_second_factor_is_required_of_everybody_after_the_grace(
    server: Server, nora: Api, ines: str, desk: Desk
) -> None:
    visitor, path = Visitor(server.url), "/admin/people/second-factor"
    visitor.sign_in(NORA)
    refused = visitor.send(path, {"who": "everybody", "days": "7"})
    assert refused.status_code == 422 and "Set up your second factor" in refused.text
    page = visitor.get("/account/second-factor").text
    secret = value(page, "shared_key")
    assert "create a passkey" in page
    code = totp.code(secret, clock.now() // totp.STEP_SECONDS)
    assert visitor.send("/account/second-factor", {"shared_key": secret, "code": code}).status_code == 200
    for days in ("-1", "x", "91", ""):
        assert visitor.send(path, {"who": "everybody", "days": days}).status_code == 422
    assert place(visitor.send(path, {"who": "everybody", "days": "7"})) == path
    page = visitor.get(path).text
    assert "In grace" in page and "Overdue" not in page
    worker = Visitor(server.url)
    assert place(worker.sign_in(ines)) == "/inbox"
    assert "requires a second factor from" in worker.get("/inbox").text and worker.is_in
    assert place(visitor.send(path, {"who": "everybody", "days": "0"})) == path
    assert (
        "Overdue" in visitor.get(f"{path}?state=overdue").text and "Ines" in visitor.get(f"{path}?state=overdue").text
    )
    assert place(worker.get("/inbox")).startswith("/account/second-factor?next=%2Finbox")
    assert worker.get("/account/passkeys/new?next=/inbox").status_code == 200
    assert nora.get("/rest/workers/me.json").ok()  # tokens work as before
    blocked = visitor.send("/account/second-factor/off", page="/account")
    assert place(blocked) == "/account#second-factor"
    assert "Set up another one first" in visitor.get("/account").text
    visitor.send(path, {"who": "nobody", "days": "7"})
    assert worker.get("/inbox").status_code == 200
    visitor.send("/account/second-factor/off", page="/account")
