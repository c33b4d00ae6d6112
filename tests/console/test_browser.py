"""The console in a real browser: everyday tasks by keyboard alone, without scripts, and undone."""

import re

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, sign_in, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server
from tests.telling import WALK


@pytest.mark.exhaustive("pages by keyboard alone")
def test_sign_in_look_around_and_sign_out_by_keyboard_alone(chromium: Browser, server: Server, nora: Api) -> None:
    with chromium.page(server.url) as page:
        page.goto("/login?next=/account")
        expect(page.locator("#email")).to_be_focused()
        page.keyboard.type("nora@desk.example")
        page.keyboard.press("Tab")
        page.keyboard.type("wrong password")
        page.keyboard.press("Enter")
        expect(page.locator("#summary")).to_be_focused()
        expect(page.locator("#summary")).to_contain_text("is wrong")
        for _ in range(2):
            page.keyboard.press("Tab")
        expect(page.locator("#password")).to_be_focused()
        page.keyboard.type("correct horse battery")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/account")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to content")).to_be_focused()
        expect(page.get_by_text("Skip to content")).to_be_in_viewport()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
        page.keyboard.press("g")
        page.keyboard.press("w")
        page.wait_for_url("**/automations/webhooks")
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.type("g a ?")
        expect(page.locator("#q")).to_have_value("g a ?")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/automations/webhooks/\d+"))
        page.locator("details.menu summary").focus()
        page.keyboard.press("Enter")
        for _entry in ("Account", "Reminders", "Help", "Sign out"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/login?out=1")
        page.goto("/account")
        assert page.url.endswith("/login?next=%2Faccount")


@WALK
def test_everything_works_without_scripts(chromium: Browser, server: Server, nora: Api) -> None:
    with chromium.page(server.url, java_script_enabled=False) as page:
        sign_in(page)
        page.goto("/automations/webhooks/new")
        page.fill("#name", "From a browser without scripts")
        page.select_option("#automation", "shop.echo")
        page.get_by_role("button", name="Create webhook").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("From a browser without scripts")
        expect(page.locator("#toasts")).to_contain_text("is ready")
        page.get_by_role("button", name="Call for real").click()
        page.get_by_role("button", name="Call for real").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Delivery")
        expect(page.get_by_label("Response body")).to_have_text('hello {"hello": "world"}')
        page.get_by_role("link", name="Open in the simulator").click()
        page.get_by_role("button", name="Simulate").click()
        expect(page.locator("#result")).to_contain_text("Simulated")
        expect(page.get_by_label("Returned")).to_contain_text('hello {\\"hello\\": \\"world\\"}')
        page.get_by_role("button", name="Run for real").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("for real?")
        page.get_by_role("button", name="Run for real").click()
        expect(page.locator("#result")).to_contain_text("Run for real")
        page.fill("#script", "start:\n  retrun:\n")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#summary")).to_contain_text("did you mean 'return'?")
        expect(page.locator("#script")).to_have_value("start:\n  retrun:\n")
        assert nora.record("automation", nora.ids["automation"], "script")["script"].startswith("start:\n  log.warn")


@pytest.mark.exhaustive("undo from a message is tested in test_shell.py")
def test_an_action_can_be_undone_from_the_message(page: Page) -> None:
    page.goto("/")  # shows the messages that other tests of this session left
    page.goto("/account")
    page.select_option("#theme", "dark")
    page.get_by_role("button", name="Save appearance").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#theme")).to_have_value("system")
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


@pytest.mark.exhaustive("further keys of the editor of test_automations.py")
def test_mistakes_are_shown_at_their_line_while_typing(page: Page, nora: Api) -> None:
    page.goto("/automations/new")
    page.fill("#script", "start:\n  retrun:\n    x: 1\n")
    told = page.locator("#script-mistakes")
    expect(told).to_contain_text("Line 2: 'retrun' is not a command; did you mean 'return'?")
    expect(page.locator(".lines .bad").first).to_have_text("2")
    page.locator("#script").focus()
    page.keyboard.press("F8")
    assert page.evaluate("document.activeElement.selectionStart") == len("start:\n")
    page.fill("#script", "start:\n  return:\n    x: 1\n")
    expect(told).to_be_empty()
    page.locator("#script").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#script")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#script")).not_to_be_focused()
    page.get_by_role("button", name="Run for real").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Run for real")
    assert violations(page, part="dialog[open]") == []
    question.get_by_role("button", name="Cancel").click()
    expect(page.locator("#result")).to_have_count(0)
    page.get_by_role("button", name="Run for real").click()
    question.get_by_role("button", name="Run for real").click()
    expect(page.locator("#result")).to_contain_text("Run for real")


def test_time_fields_show_how_they_were_understood(page: Page) -> None:
    page.goto("/admin/tokens/new")
    told = page.locator(".understood")
    expect(told).to_contain_text("in 1 hour")
    page.fill("#expires", "2031-02-03 04:05")
    expect(told).to_contain_text("Mon, Feb 3, 2031, 4:05 AM UTC")
    page.fill("#expires", "soonish")
    expect(told).to_have_class(re.compile("bad"))


@WALK
def test_a_token_is_shown_once_and_works_after_copying(chromium: Browser, server: Server, nora: Api) -> None:
    with chromium.page(server.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        sign_in(page)
        page.goto("/admin/tokens/new")
        page.fill("#label", "for a test")
        page.get_by_role("button", name="Create token").click()
        page.get_by_role("button", name="Copy Access token").click()
        expect(page.locator("#toasts")).to_contain_text("Copied")
        token = page.evaluate("navigator.clipboard.readText()")
        assert token.startswith("svc_at_") and violations(page, part="main") == []
        page.get_by_role("button", name="Test now").click()
        expect(page.locator("#said")).to_have_text(re.compile("Works: you are signed in as Nora .+"))
        lines = page.locator("#answer").text_content().split("\n")
        assert lines[0] == "{" and f'  "id": {nora.ids["nora"]},' in lines, lines[:3]
        page.get_by_role("button", name="Copy Refresh token").click()
        expect(page.get_by_role("button", name="Copy Refresh token")).to_have_text("Copied")
        page.get_by_role("link", name="Back to tokens").click()
        page.wait_for_url("**/admin/tokens")
        assert token not in page.content()
        assert page.evaluate("JSON.stringify([localStorage, sessionStorage])") == "[{},{}]"
    mine = requests.get(f"{server.url}/rest/workers/me.json", headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert mine.json()["id"] == nora.ids["nora"]


@pytest.mark.exhaustive("a further theme; test_mail_look.py shows mail in it")
def test_the_dark_theme_is_dark(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        with chromium.page(server.url, cookies=signed_in.cookies, color_scheme=scheme) as page:
            page.goto("/account")
            seen[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert seen == {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 27)"}


@pytest.mark.exhaustive("a setting of the pages that have tests of their own")
def test_keys_can_be_switched_off(chromium: Browser, server: Server, nora: Api) -> None:
    with chromium.page(server.url) as page:
        sign_in(page, "milo@desk.example")
        page.goto("/account")
        page.uncheck("#has_keys")
        page.get_by_role("button", name="Save appearance").click()
        page.wait_for_url("**/account#appearance")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Keyboard shortcuts").click()
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_a_clock_that_a_test_sets_is_gone_for_the_next_one(chromium: Browser, server: Server) -> None:
    for _ in range(2):
        with chromium.page(server.url) as page:
            page.goto("/login")
            assert page.evaluate("Date.now()") > 1_000_000_000_000
            page.clock.set_fixed_time(0)
            assert page.evaluate("Date.now()") == 0


def test_a_request_to_another_host_and_an_error_of_a_script_fail_a_test(chromium: Browser, server: Server) -> None:
    for part, problem in (
        ("<img src='http://cdn.example/a.png' onerror='window.ended = 1'>", "ERR_NAME_NOT_RESOLVED.*cdn.example"),
        ("<script>setTimeout(() => { window.ended = 1; throw 'oh' })</script>", "script: oh"),
    ):
        with pytest.raises(AssertionError, match=problem), chromium.page(server.url) as page:
            page.set_content(part)
            page.wait_for_function("window.ended")
