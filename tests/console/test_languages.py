"""Every text of the console can be translated, German is complete, and pages are in the language of their reader."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polib
import pytest
import requests
from playwright.sync_api import Page, expect

from server import resources, translation
from server.packages import recipes
from server.record_types import registry
from tests.console import speech, table
from tests.console.browser import violations
from tests.console.lively import Lively
from tests.console.visitor import Visitor, text_of
from tests.service import PASSWORD, Api, Server

ROOT = Path(__file__).resolve().parent.parent.parent
# Text that stays English: the documentation, text for programs, and findings of the service about itself.
ENGLISH = (
    "/help",
    "/api",
    "/-/",
    "/setup",
    "/admin/system",
    "/automations/webhooks/deliveries",
    "/no/such",
    "/automations/recipes",
)
# Names and values that are the same in every language, or that the service reads as it writes them.
NEUTRAL = re.compile(
    r"svc[.:]|(Group|Role|Worker|Everybody): |[\w.-]+@|https?:|/|[A-Z, ]+$|POP3|IMAP|LMTP|\(\w+\)$|[a-z]+\.[a-z.]+$|"
    r"[\d.]+ [KMG]iB$|\w+ (\w+ )?[(]?[\d.]+[)]?$|[a-z_]+$|[a-z]+[A-Z]\w*$|plugin |version |Do everything that|\d+ ms$|"
    r"Integration of|on the "
)
# Data of the desk that the API returns in another form; texts of packages, mail servers and the service itself.
ALLOWED = re.compile(
    "Tests$|Pages$|Test$|automation:\\(|Standard Webhooks|orders/7|from=shop|mailbox-1-|it is larger than|Half a mail|"
    "no mail server at|Starter$|What a new service begins|Webhook responder|A webhook that answers|Name of the webhook|"
    "Answer requests at once|None$|Yes$|No, I will look|(Mail|Backups): |For the dashboard|Nightly export|"
    "Mara Lindqvist, |status:open group:|[A-Z]{3}-\\d{5}-\\d{3}: Printer|"
    "Company account$|login\\.$|The host login\\.example cannot|"
    "(Deutsch|English|Discord|Matrix|Mattermost|Microsoft Teams|Rocket\\.Chat)$|"
    "New ticket from Ann Lee$|KTE-20418-312 |The pump in hall 2|"  # of a webhook in English
    "(Amazon Web Services|Authentik|Google|HTTP Basic|Keycloak|Microsoft|Microsoft Graph|Okta)$"
)
MAX_SHOWN = 20


@pytest.fixture(scope="module")
def spoken(lively: Lively) -> Iterator[Lively]:
    """A desk whose administrator uses a language in which every message is marked."""
    speech.write(lively.server.data)
    lively.nora.update("worker", lively.ids["nora"], language=speech.LANGUAGE).ok()
    yield lively
    lively.nora.update("worker", lively.ids["nora"], language="en_US").ok()


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, str):
        yield value


BETWEEN_DATA = re.compile(r" [/·] |, ")  # names that a page puts next to each other
UPLOADED = " First name Email Ada "  # a file that is about to be imported
FORM = " Which order comes back? "  # form of an automation, whose script is not in search results
CALLED = " larch-7b model.example She wants a parcel. "  # a call of the writing assistant, not in the API


def data_of(lively: Lively) -> str:
    """Returns all texts that people wrote, as one string."""
    found: list[str] = []
    for each in registry.load():
        response = lively.nora.search(each.uri, limit=500)
        found += texts_of(response.json) if response.status == 200 else []
    found += texts_of(lively.nora.get("/rest/outgoing_webhooks/deliveries.json").json)  # responses of receivers
    found += [recipes.recipe(name).title for name in recipes.names()]  # documentation
    return " ".join(" ".join(found).split()) + UPLOADED + FORM + CALLED


def test_messages_are_collected_and_languages_up_to_date() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "build" / "messages.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", sorted(resources.path(translation.FOLDER).glob("*.po")), ids=lambda each: each.stem)
def test_a_shipped_language_is_complete_and_valid(path: Path) -> None:
    file = polib.pofile(str(path))
    assert [each.msgid for each in file.untranslated_entries()] == []
    assert [each.msgid for each in file.fuzzy_entries()] == []
    catalog = translation.read(path.read_text("utf-8"), path.stem)
    lost = {translation.keyed(each.msgid, each.msgctxt or "") for each in file}
    lost -= {*catalog.messages, *catalog.plurals}
    assert lost == set(), "their placeholders differ from those of the message"


@pytest.mark.exhaustive("every page of a desk in daily use")
@pytest.mark.sqlite("a desk with backups of its file")
def test_no_page_shows_untranslatable_text(spoken: Lively) -> None:
    data = data_of(spoken)
    missing: dict[str, str] = {}
    for address in table.addresses(spoken):
        page = spoken.visitor.get(address)
        if page.status_code != 200 or not page.headers["Content-Type"].startswith("text/html"):
            continue
        if address.startswith(ENGLISH):
            continue
        main = (
            page.text.partition("<main")[2]
            .partition(">")[2]
            .partition("</main>")[0]
            .partition('<details class="drawer">')[0]
        )
        for text in speech.unmarked(main):
            is_data = all(part in data for part in BETWEEN_DATA.split(text.strip(" ·,")))
            if not is_data and not NEUTRAL.match(text) and not ALLOWED.match(text):
                missing.setdefault(text, address)
    assert dict(list(missing.items())[:MAX_SHOWN]) == {}


@pytest.mark.sqlite("a desk with backups of its file")
def test_the_rail_and_the_frame_of_a_page_are_translated(spoken: Lively) -> None:
    page = spoken.visitor.get("/account").text
    assert '<html lang="eo" dir="ltr"' in page and "⟦Organizations⟧" in page and "⟦Skip to content⟧" in page
    assert "⟦Search or jump to…⟧" in page and "⟦Keyboard shortcuts⟧" in page


@pytest.mark.sqlite("a desk with backups of its file")
def test_an_added_language_is_available_without_a_restart(lively: Lively) -> None:
    visitor = Visitor(lively.server.url)
    before = visitor.get("/login", headers={"Accept-Language": "ar"}).text
    assert '<html lang="en" dir="ltr"' in before
    speech.write(lively.server.data, speech.RIGHT_TO_LEFT)
    after = visitor.get("/login", headers={"Accept-Language": "ar, en;q=0.5"}).text
    assert '<html lang="ar" dir="rtl"' in after and "⟦Sign in⟧" in after
    broken = lively.server.data / translation.FOLDER / "ar.po"
    broken.write_text('msgid "Sign in\nmsgstr', "utf-8")
    assert '<html lang="en"' in visitor.get("/login", headers={"Accept-Language": "ar"}).text
    broken.unlink()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("de", "de"), ("de-CH, en;q=0.9", "de"), ("fr, de;q=0.5", "de"), ("en-GB, de;q=0.9", "en"), ("xx", "en"),
     ("", "en"), ("de;q=0", "en"), ("*", "en"), ("../../x", "en"), ("de" * 5000, "en")],
)  # fmt: skip
def test_before_sign_in_the_browser_chooses_the_language(accepted: str, language: str, server: Any) -> None:
    page = requests.get(f"{server.url}/login", headers={"Accept-Language": accepted}, timeout=30).text
    assert f'<html lang="{language}"' in page
    assert ("Anmelden" in page) is (language == "de")
    welcome = requests.get(server.url, headers={"Accept-Language": accepted}, timeout=30).text
    assert f'<html lang="{language}"' in welcome


def test_pages_are_in_the_language_of_the_worker(signed_in: Visitor, nora: Api) -> None:
    nora.update("worker", nora.ids["nora"], language="de_CH").ok()
    try:
        page = signed_in.get("/admin/people").text
        assert '<html lang="de"' in page and "Mitarbeiter" in page and 'id="messages"' in page
        assert "Löschen" not in signed_in.get("/rest/workers/me.json").text
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US").ok()
    assert "Mitarbeiter" not in text_of(signed_in.get("/admin/people").text)


def test_scripts_speak_it_too(page: Page, nora: Api) -> None:
    nora.update("worker", nora.ids["nora"], language="de_DE").ok()
    try:
        page.goto("/admin/tokens")
        page.locator("details.drawer summary").click()
        page.locator("[data-copy]").first.click()
        expect(page.locator("#toasts")).to_contain_text(re.compile("kopiert|Kopier", re.IGNORECASE))
        page.evaluate("scrollTo(0, 0)")  # no target is half below the top bar
        assert violations(page) == []
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US").ok()


def test_the_first_administrator_gets_the_language_of_their_browser(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    try:
        browser = requests.Session()
        browser.headers["Accept-Language"] = "de-AT, de;q=0.9"
        form = {"first_name": "Nora", "email": "nora@desk.example", "password": PASSWORD, "password_again": PASSWORD}
        response = browser.post(server.setup_link, data=form, timeout=60)
        assert response.status_code == 200 and '<html lang="de"' in response.text
        assert 'value="de_AT"' in browser.get(f"{server.url}/account", timeout=60).text
    finally:
        server.stop()
