"""Fragments of pages: a click in a list changes the list in place."""

import re

import pytest
from playwright.sync_api import Page, expect

from console.http.visit import LOCATION, PART
from tests.console.browser import Browser, intercept, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server

LIST = "/search/task?q=title:swapped*&sort=title"
MARK = "window.isSamePage = true"


def stays(page: Page) -> bool:
    """Returns whether the page was not reloaded since MARK."""
    return bool(page.evaluate("window.isSamePage === true"))


def opened(page: Page, nora: Api, count: int = 3) -> None:
    for number in range(count):
        nora.create("task", title=f"swapped {number}").ok()
    page.goto(LIST)
    page.evaluate(MARK)


def test_a_fragment_comes_without_the_frame_of_the_page(signed_in: Visitor, nora: Api) -> None:
    whole, part = signed_in.get(LIST), signed_in.get(LIST, headers={PART: "list"})
    assert 'class="rail"' in whole.text and 'class="rail"' not in part.text and "<dialog" not in part.text
    assert '<section id="list"' in part.text and "<title>" in part.text and 'id="toasts"' in part.text
    assert len(part.text) < len(whole.text) / 1.3


def test_search_sort_and_back_change_only_the_list(page: Page, nora: Api) -> None:
    opened(page, nora)
    page.locator("thead").get_by_role("link", name=re.compile("^Task")).click()
    page.wait_for_url(re.compile("sort=-title"))
    expect(page.locator("tbody tr").first).to_contain_text("swapped 2")
    search = page.get_by_role("combobox", name="Search", exact=True)
    search.fill('title:"swapped 1"')
    search.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(search).to_be_focused()
    assert search.evaluate("each => each.selectionStart") == len('title:"swapped 1"')
    expect(page.locator("#told")).to_contain_text("1–1 of 1")
    page.go_back()
    expect(page.locator("tbody tr").first).to_contain_text("swapped 2")
    page.go_forward()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert stays(page) and violations(page, part="#list") == []


@pytest.mark.exhaustive("acts on rows are tested in test_hand.py")
def test_an_action_on_a_selection_is_reported_and_undone_in_place(page: Page, nora: Api) -> None:
    id = nora.create("automation_timer", name="Swapped", next_run_at=4_000_000_000).ok()["id"]
    page.goto("/admin/jobs/timers")
    page.evaluate(MARK)
    page.get_by_label("Select Swapped").check()
    page.get_by_role("button", name="Switch off").last.click()
    expect(page.locator("#toasts")).to_contain_text("Timer switched off.")
    expect(page.get_by_role("row", name="Swapped")).to_contain_text("off")
    assert stays(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("row", name="Swapped")).to_contain_text("on")
    nora.remove("automation_timer", id).ok()


def test_irreversible_actions_ask_first(page: Page, nora: Api) -> None:
    opened(page, nora)
    page.get_by_label("Select swapped 0").first.check()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete the selected records?")
    before = page.locator("tbody tr").count()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("tbody tr")).to_have_count(before - 1)
    assert stays(page)


@pytest.mark.exhaustive("every response in place of a list")
def test_an_invalid_query_is_reported_in_place_and_the_input_stays(page: Page, nora: Api) -> None:
    opened(page, nora)
    search = page.get_by_role("combobox", name="Search", exact=True)
    search.fill("nope:1")
    search.press("Enter")
    expect(page.locator("#list [role=alert]")).to_contain_text("nope")
    expect(search).to_have_value("nope:1")
    assert stays(page)


def test_an_unresponsive_server_loses_nothing(chromium: Browser, signed_in: Visitor, nora: Api) -> None:
    with chromium.page(nora.url, cookies=signed_in.cookies, refused="net::ERR_FAILED") as page:
        intercept(page)
        opened(page, nora)
        search = page.get_by_role("combobox", name="Search", exact=True)
        search.fill("title:later")
        page.route("**/search/task*", lambda route: route.abort())
        search.press("Enter")
        expect(page.locator("#toasts")).to_contain_text("The server does not respond.")
        expect(search).to_have_value("title:later")
        page.unroute("**/search/task*")
        search.press("Enter")
        page.wait_for_url(re.compile("later"))
        assert stays(page)


@pytest.mark.exhaustive("every response in place of a list")
def test_a_worker_who_was_signed_out_is_asked_to_sign_in(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    """The numbers of the rail may be requested in between, which is refused."""
    with chromium.page(server.url, cookies=signed_in.cookies, refused="ERR_FAILED.*login") as page:
        opened(page, nora)
        page.context.clear_cookies()
        page.get_by_role("link", name=re.compile("^Task")).first.click()
        page.wait_for_url("**/login?next=*")


def test_a_completed_form_moves_the_focus_and_keeps_its_message(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("automation_timer", name="Told", next_run_at=4_000_000_000).ok()["id"]
    timers = "/admin/jobs/timers"
    form = {"_xsrf": signed_in.token(timers), "list": timers, "do": "off", "back": timers, "ids[]": str(id)}
    response = signed_in.post("/-/bulk", form, headers={PART: "list"})
    assert (response.status_code, response.headers[LOCATION], response.text) == (200, timers, "")
    assert "Timer switched off." in signed_in.get(timers, headers={PART: "list"}).text
    nora.remove("automation_timer", id).ok()


@pytest.mark.exhaustive("every response in place of a list")
def test_a_question_in_place_of_the_list_is_asked_once(page: Page, nora: Api) -> None:
    opened(page, nora)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Select swapped 0").first.check()
    page.evaluate("document.querySelector('.bulk .danger').removeAttribute('data-confirm')")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#confirm")).to_contain_text("1 record is selected.")
    assert len(sent) == 1 and stays(page)
    page.locator("#confirm").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/search/task*")
    expect(page.locator("#toasts")).to_contain_text("Record deleted.")
