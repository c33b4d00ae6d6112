"""The first minute of an administrator with the demo: mail that arrives while one looks, and hints about keys."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("first_minute") / "data")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def api(started: Server) -> Api:
    return started.set_up()


@pytest.fixture(scope="module")
def visitor(api: Api) -> Visitor:
    visitor = Visitor(api.url)
    assert visitor.sign_in().status_code == 303
    return visitor


@pytest.fixture
def page(chromium: Browser, api: Api, visitor: Visitor) -> Iterator[Page]:
    with chromium.page(api.url, cookies=visitor.cookies, size=(1440, 900)) as page:
        yield page


def _jobs(visitor: Visitor) -> list[str]:
    return re.findall(r'href="/admin/jobs/(\d+)"', visitor.get("/admin/jobs?kind=demo_mail").text)


def _arrive(visitor: Visitor) -> None:
    """Lets the mail of the demo arrive now, instead of in some seconds."""
    ids = _jobs(visitor)
    assert len(ids) == 1
    assert visitor.send(f"/admin/jobs/{ids[0]}/run", {}, page=f"/admin/jobs/{ids[0]}").status_code == 303


@pytest.mark.exhaustive("a demo of its own")
def test_a_customer_writes_while_the_administrator_looks_at_the_demo(page: Page, visitor: Visitor, api: Api) -> None:
    visitor.send("/setup/demo", {}, page="/account")
    page.goto("/inbox")
    rows, rail = page.locator("#list tbody tr"), page.locator("#rail")
    expect(rows).to_have_count(8)
    assert page.locator("#list .unanswered").count() >= 5 and page.locator("#list .due").count() >= 5
    expect(page.locator("#list .draft")).to_have_count(1)
    expect(rail.locator('[data-view="mine"]')).to_have_text("8")
    assert violations(page, part="#list") == []
    _arrive(visitor)
    expect(rail.locator('[data-view="mine"]')).to_have_text("9")
    expect(page.locator("[data-unread-number]").first).to_have_text(re.compile("[1-9]"))
    page.locator("[data-news] a").click()
    expect(rows).to_have_count(9)
    expect(rows.first.locator(".unanswered")).to_be_visible()
    page.reload()
    assert _jobs(visitor) == []  # it arrives once
    late = api.search("ticket", "status:open due:<now").ok()["total"]
    assert 0 < late < 20


def test_each_hint_is_shown_once(chromium: Browser, api: Api) -> None:
    api.create(
        "worker",
        first_name="Rosa",
        email="rosa@desk.example",
        language="en_US",
        timezone="UTC",
        password="a long password",
        is_superuser="1",
    ).ok()
    for number in range(3):
        api.parse(f"From: ana{number}@larch.example\nSubject: Hint {number}\n\nHello").ok()
    rosa = Visitor(api.url)
    rosa.sign_in("rosa@desk.example", "a long password")
    with chromium.page(api.url, cookies=rosa.cookies, size=(1440, 900)) as page:
        with page.expect_response("**/-/hint"):
            page.goto("/inbox?v=unassigned")
        hint = page.get_by_role("note")
        expect(hint).to_have_text(re.compile("Press j and k to move, Enter to open."))
        assert violations(page, part=".hint") == []
        page.get_by_role("button", name="Dismiss the hint").click()
        expect(hint).to_have_count(0)
        page.reload()
        expect(page.locator("#list tbody tr").first).to_be_visible()
        expect(hint).to_have_count(0)
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(hint).to_have_text(re.compile("Press r to reply, e to close, ] for the next ticket."))
        assert violations(page, part=".hint") == []
        page.keyboard.press("e")
        expect(page.locator("#toasts").get_by_role("note")).to_have_text("z undoes it")
        expect(page.get_by_role("note")).to_have_count(1)
        assert violations(page, part="#toasts") == []
        page.keyboard.press("z")
        expect(page.locator("#toasts").get_by_role("note")).to_have_count(0)
        page.goto("/inbox?v=unassigned")
        expect(page.locator("#list tbody tr").first).to_be_visible()
        expect(hint).to_have_count(0)


def test_no_hints_without_keys(chromium: Browser, api: Api) -> None:
    for name, more in (("olaf", {}), ("tove", {"has_touch": True, "is_mobile": True})):
        api.create(
            "worker",
            first_name=name,
            email=f"{name}@desk.example",
            language="en_US",
            timezone="UTC",
            password="a long password",
        ).ok()
        worker = Visitor(api.url)
        worker.sign_in(f"{name}@desk.example", "a long password")
        if not more:
            worker.send("/account/appearance", {"theme": "system", "density": "normal"}, page="/account")
            assert "to move" not in worker.get("/inbox").text
            continue
        with chromium.page(api.url, cookies=worker.cookies, size=(390, 844), **more) as page:
            page.goto("/inbox")
            expect(page.locator(".hint")).to_be_hidden()
