"""Requirements on every page, by the route table: its size, the requests that it shows, the states of its list."""

import html
import re

import pytest
import requests
from playwright.sync_api import expect
from tornado.httputil import HTTPHeaders, RequestStartLine

from console.lists import lookup
from console.pages.worklists import BULK
from console.site import Console
from server import app, clock
from server.access import sessions
from server.errors import TimedOut
from server.web.routes import ENDPOINTS, Router
from server.web.site import Request
from tests.console import table
from tests.console.browser import Browser, violations
from tests.console.crowd import crowd
from tests.console.lively import Lively
from tests.records.desk import Desk
from tests.telling import WALK, telling

pytestmark = pytest.mark.sqlite("a desk with backups of its file")

every_page = pytest.mark.exhaustive("every page of a crowded desk")
MAX_PAGE_BYTES = 115_000
# Pages that have no equivalent in the API, are about the API itself, or lead to another page.
WITHOUT_REQUESTS = (
    "/-/", "/login", "/confirm", "/forgotten", "/account/second-factor", "/account/apps", "/account/address",
    "/account/passkeys", "/admin/people/second-factor",
    "/admin/backups", "/oauth/", "/api", "/help", "/admin/jobs", "/jump", "/admin/mail/listener",
    "/admin/packages/done", "/admin/packages/imported", "/admin/people/provisioning",
    "/admin/people/sign-in", "/setup", "/admin/system/checkup",
    "/admin/system/log", "/admin/system/settings", "/settings", "/admin/tokens/revoke", "/admin/mail/failed/",
    "/workspaces/add", "/offline", "/reports/help-center/missed", "/admin/assistants",
)  # fmt: skip
DRAWER = '<details class="drawer"><summary>API</summary>'
SAMPLE = re.compile(r"<h3><code>([A-Z]+) ([^<]*)</code></h3>")


@pytest.fixture(scope="module")
def crowded(lively: Lively) -> Lively:
    """A desk with hundreds of the records that its pages list."""
    opened = Desk(lively.server.data)
    crowd(opened, lively.ids["nora"], lively.ids["app"], lively.ids["group0"])
    opened.close()
    return lively


@pytest.fixture(scope="module")
def shown(crowded: Lively) -> dict[str, requests.Response]:
    """Every page of a crowded desk."""
    found = {address: crowded.visitor.get(address) for address in table.addresses(crowded)}
    return {
        address: page
        for address, page in found.items()
        if page.status_code == 200
        and page.headers["Content-Type"].startswith("text/html")
        and not address.startswith(table.FRAMES)
    }


@every_page
def test_no_page_is_large(shown: dict[str, requests.Response]) -> None:
    assert len(shown) > 80
    large = {address: len(page.content) for address, page in shown.items() if len(page.content) > MAX_PAGE_BYTES}
    assert large == {}


@every_page
def test_every_page_shows_the_equivalent_request(shown: dict[str, requests.Response]) -> None:
    has_none = {address for address, page in shown.items() if DRAWER not in page.text}
    excused = {address for address in shown if address.startswith(WITHOUT_REQUESTS) and address != "/-/ui"}
    assert has_none - excused == set()
    unused = [each for each in WITHOUT_REQUESTS if not any(address.startswith(each) for address in table_of(shown))]
    assert unused == []


def table_of(shown: dict[str, requests.Response]) -> list[str]:
    return [*shown, "/login", "/admin/mail/failed/"]


@every_page
def test_the_shown_requests_exist_in_the_api(shown: dict[str, requests.Response], lively: Lively) -> None:
    app.endpoints()
    router = Router(ENDPOINTS)
    asked: dict[tuple[str, str], str] = {}
    for address, page in shown.items():
        drawer = page.text.partition(DRAWER)[2]
        for method, path in SAMPLE.findall(drawer):
            asked.setdefault((method, html.unescape(path)), address)
        assert "Bearer $HELPDESK_TOKEN" in html.unescape(drawer) or not drawer, address
    assert len(asked) > 40
    for (method, path), address in asked.items():
        below = path.partition("?")[0].removeprefix("/rest/").removesuffix(".json")
        found = router.find(below)[0].get(method)
        assert found is not None or path == "/health", (method, path, address)
        if method == "GET" and not (found and any(each.required for each in found.parameters)):
            assert lively.nora.get(path).status == 200, (path, address)


@every_page
def test_every_dangerous_button_asks_for_confirmation(shown: dict[str, requests.Response]) -> None:
    forms = [
        (address, form)
        for address, page in shown.items()
        for form in re.findall(r'<form\b[^>]*method="post".*?</form>', page.text, re.DOTALL)
        if re.search(r'<button type="submit"[^>]*class="[^"]*danger', form)
    ]
    assert len(forms) > 15
    for address, form in forms:
        action = re.findall(r'action="([^"]*)"', form)
        stands_alone = action == [address.partition("?")[0]] or action == [address]
        is_typed = "to confirm" in form
        is_asked_next = action == [BULK]  # it responds with the question: see test_worklist.py
        assert stands_alone or is_typed or is_asked_next or 'name="_ask"' in form, (address, action)


# -- the states of a list ---------------------------------------------------------------------------------------------

NOTHING = "zzz-nothing-has-this"
LISTS = {
    "/admin/help-center/contact-forms": NOTHING,
    "/admin/apps": NOTHING, "/admin/people": NOTHING, "/admin/people/groups": NOTHING, "/admin/people/roles": NOTHING,
    "/inbox": NOTHING, "/notifications": NOTHING, "/admin/targets": NOTHING, "/admin/tags": NOTHING,
    "/reminders": NOTHING,
    "/admin/people/rosters": NOTHING, "/admin/jobs/timers": NOTHING, "/automations": NOTHING,
    "/automations/log": f"message:*{NOTHING}*", "/automations/webhooks": NOTHING, "/search/worker": NOTHING,
    "/automations/outgoing": NOTHING, "/drafts": NOTHING, "/snippets": NOTHING, "/articles": NOTHING,
    "/reports": NOTHING, "/reports/workers": NOTHING, "/workspaces": NOTHING, "/boards": NOTHING,
}  # fmt: skip


@pytest.mark.parametrize("path", telling(list(LISTS), ("/inbox", "/search/worker", "/automations/log"), "every list"))
def test_an_empty_list_says_why_and_preserves_the_query(lively: Lively, path: str) -> None:
    query = LISTS[path]
    empty = lively.visitor.get(path, params={"q": query})
    assert empty.status_code == 200 and 'class="empty"' in empty.text, path
    assert f'value="{query}"' in empty.text and f"<code>{query}" in empty.text and "Clear the filter" in empty.text
    wrong = lively.visitor.get(path, params={"q": "nosuchfilter:x (("})
    assert wrong.status_code in (200, 422) and 'role="alert"' in wrong.text, path
    assert 'value="nosuchfilter:x (("' in wrong.text and 'aria-invalid="true"' in wrong.text, path


@every_page
def test_every_searchable_list_is_in_the_table(shown: dict[str, requests.Response]) -> None:
    searched = {
        address
        for address, page in shown.items()
        if re.search(r'<input[^>]*name="q"', page.text.partition(DRAWER)[0]) and "?" not in address
    }
    own = (  # free text, not queries
        "/api", "/help", "/jump", "/choose", "/settings", "/records", "/admin/system", "/admin/packages/export",
    )  # fmt: skip
    assert {each for each in searched if not each.startswith(own)} == set(LISTS)


def test_a_list_with_an_invalid_query_says_so_and_preserves_the_query(
    lively: Lively, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(lively.server.data)
    span = sessions.Lifetime(3600, 3600)
    id = desk.store.write(lambda tx: sessions.create(tx, lively.ids["nora"], clock.now(), span, "", ""))

    def slow(*_: object) -> None:
        raise TimedOut("reading took longer than 5 seconds; search for less")

    monkeypatch.setattr(lookup.records, "search", slow)
    line = RequestStartLine("GET", "/automations?q=name%3A%22%3Cb%3E%22&page=2", "HTTP/1.1")
    request = Request(line, HTTPHeaders({"Cookie": f"__Host-sid={id}"}), "127.0.0.1", "127.0.0.1")
    console = Console(desk.service)
    request.found = console.resolve(request)
    try:
        response = console.respond(request, None)
    finally:
        desk.close()
    page = bytes(response.body).decode()
    assert response.status == 504 and "longer than 5 seconds" in page and request.id in page
    assert 'value="name:&#34;&lt;b&gt;&#34;"' in page
    assert 'href="/automations?q=name%3A%22%3Cb%3E%22&amp;page=2">Try again' in page


# -- choosing one of many ---------------------------------------------------------------------------------------------


@WALK
def test_several_of_many_are_typed_with_commas_between(crowded: Lively) -> None:
    number = crowded.ids["worker0"]
    form = {"title": "Look", "when[]": ["created"], "conditions": "1", "conditions-0": "tag:vip", "do": "save"}
    form |= {"steps": "1", "steps-0-kind": "notify", "steps-0-text": "Look", "steps-0-worker_ids": f"{number}, Nobody"}
    page = crowded.visitor.send("/admin/rules/new", form).text
    assert "no record has exactly" in page.lower() and f'value="Mara Lindqvist #{number}, Nobody"' in page
    form["steps-0-worker_ids"] = f"Mara Lindqvist, Nora #{crowded.ids['nora']}"
    assert crowded.visitor.send("/admin/rules/new", form).headers["Location"] == "/admin/rules"


@WALK
def test_one_of_many_is_chosen_by_name_number_or_lookup(crowded: Lively, chromium: Browser) -> None:
    page, number = crowded.visitor.get("/admin/tokens/new").text, crowded.ids["worker0"]
    assert 'data-chooser="/-/choose/worker"' in page and f'value="Nora Berg #{crowded.ids["nora"]}"' in page
    form = {"app_id": crowded.ids["plain"], "scopes[]": "api", "expires": "1 hour", "label": ""}
    for text, words in (("Number", "no record has exactly"), ("Otto", "disabled"), ("#99999999", "no worker")):
        wrong = crowded.visitor.send("/admin/tokens/new", {**form, "worker_id": text}).text
        assert words in html.unescape(wrong).lower() and f'value="{text}"' in wrong, text
    for text in ("mara lindqvist", f"Whoever #{number}", str(number)):
        assert "svc_at_" in crowded.visitor.send("/admin/tokens/new", {**form, "worker_id": text}).text, text
    looked = crowded.visitor.get("/choose/worker", params={"q": "linDQ"}).text
    assert "Mara Lindqvist" in looked and f"<code>{number}</code>" in looked and "1 of 1" in looked
    assert crowded.visitor.get("/choose/nothing").status_code == 404
    with chromium.page(crowded.server.url, cookies=crowded.visitor.cookies, is_journey=True) as opened:
        opened.goto("/admin/tokens/new")
        box = opened.get_by_role("combobox", name="Worker", exact=True)
        box.fill("mara")
        option = opened.get_by_role("option", name="Mara Lindqvist")
        expect(option).to_have_attribute("aria-selected", "true")
        assert violations(opened) == []
        box.press("ArrowDown")
        box.press("ArrowUp")
        box.press("Enter")
        expect(box).to_have_value(f"Mara Lindqvist #{number}")
        expect(box).to_have_attribute("aria-expanded", "false")
        box.fill("nobody is called so")
        expect(opened.get_by_text("No matches.")).to_be_visible()
        box.press("Escape")
        box.fill("number 7")
        expect(opened.get_by_role("listbox", name="Worker")).to_contain_text("Number 7 of a crowd")
        opened.get_by_role("option", name="Number 77 of").click()
        expect(box).to_have_value(re.compile("Number 77 of a crowd #[0-9]+"))
        opened.get_by_role("button", name="Create token").click()
        expect(opened.locator("body")).to_contain_text("svc_at_")


# -- other scripts and other ways to see ------------------------------------------------------------------------------


@every_page
def test_nothing_scrolls_sideways_from_right_to_left(crowded: Lively, chromium: Browser) -> None:
    with chromium.page(
        crowded.server.url, (320, 640), crowded.visitor.cookies, is_journey=True, forced_colors="active"
    ) as opened:
        for address in ("/", "/automations", "/automations/{automation}", "/automations/webhooks/{webhook}",
                        "/admin/tokens", "/admin/people", "/admin/people/rosters", "/admin/apps/{app}", "/-/ui",
                        "/admin/system/settings", "/account", "/jump?q=a"):  # fmt: skip
            opened.goto(address.format(**crowded.ids))
            opened.evaluate("document.documentElement.dir = 'rtl'")
            assert not opened.evaluate("document.documentElement.scrollWidth > innerWidth"), address
            left = opened.evaluate("document.querySelector('main h1').getBoundingClientRect().right > innerWidth / 2")
            assert left, address
