"""The bell: the number of unread notifications, updated on every open page of a worker."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from server.access.sessions import SESSION
from server.store.transaction import Transaction
from tests.console.browser import Browser, until
from tests.console.visitor import Visitor, compact, place
from tests.following import EVENTS, Following
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server

UNREAD = "/notifications/unread"


@pytest.fixture
def bella(server: Server, nora: Api) -> Iterator[Visitor]:
    """A signed-in worker for one test, whom nothing else notifies."""
    email = "bella.bell@desk.example"
    made = nora.create(
        "worker", first_name="Bella", email=email, language="en_US", timezone="UTC", password=PASSWORD,
        at_mention_name="bella.bell",
    ).ok()  # fmt: skip
    nora.ids["bella"] = made["id"]
    found = Visitor(server.url)
    assert found.sign_in(email).status_code == 303
    yield found
    nora.remove("worker", made["id"]).ok()


def follow(visitor: Visitor, **params: int | str) -> Following:
    client = Api(visitor.url, "", is_checked=False)
    client.session = visitor.session
    return Following(client, UNREAD, **params)


def notify(nora: Api, worker: str = "bella") -> int:
    """Creates a notification for a worker; returns its id."""
    fields = {"activity_point": "custom.other", "params": {"message": "Look"}, "worker_id": nora.ids[worker]}
    return int(nora.create("notification", **fields).ok()["id"])


def count(stream: Following) -> int:
    data = stream.next().data
    assert data is not None
    return int(data["count"])


def test_every_change_of_the_number_is_published(bella: Visitor, nora: Api) -> None:
    task = nora.create("task", title="Look at the pump").ok()["id"]
    with follow(bella) as stream:
        nora.create("comment", target__context="task", target_id=task, comment="@bella.bell see this").ok()
        assert count(stream) == 1
        id = notify(nora)
        assert count(stream) == 2
        nora.update("notification", id, is_read=1).ok()
        assert count(stream) == 1
        bella.send("/notifications/read", page="/notifications")
        assert count(stream) == 0


def test_it_resumes_from_the_state_of_the_page(bella: Visitor, nora: Api) -> None:
    notify(nora)
    with follow(bella, since=0) as stream:
        assert count(stream) == 1
    with follow(bella, last="7", since=1) as stream:
        assert count(stream) == 1, "what it was told counts, and not what the address says"


def test_unread_numbers_of_others_are_not_published(bella: Visitor, nora: Api) -> None:
    with follow(bella) as stream:
        notify(nora, "milo")
        notify(nora)
        assert count(stream) == 1


def test_the_bell_fragment_equals_that_of_the_page(bella: Visitor, nora: Api) -> None:
    notify(nora)
    bell = compact(bella.get(UNREAD).json()["html"])
    assert 'aria-label="1 unread notification"' in bell and bell.strip() in bella.get("/account").text
    assert "<html" not in bell


def test_a_visitor_who_is_not_signed_in_gets_no_stream(server: Server) -> None:
    assert place(Visitor(server.url).get(UNREAD)).startswith("/login")
    ended = Visitor(server.url).get(UNREAD, headers=EVENTS)
    assert (ended.status_code, ended.content) == (204, b""), "a browser does not connect again"


def test_it_does_not_extend_the_login(bella: Visitor, nora: Api, desk: Desk) -> None:
    def write(tx: Transaction) -> int:
        table = SESSION.sql
        found = tx.row(lambda: table.select(table.id).order_by(table.id.desc()).limit(1))
        assert found is not None
        tx.update(SESSION, found[0], {"seen_at": 1})
        return int(found[0])

    desk.store.write(write)
    assert place(bella.get(UNREAD, headers={"X-Live": "1"})).startswith("/login")


def shows(page: Page, number: str, title: str) -> None:
    expect(page.locator(".bell .number")).to_have_text(number)
    expect(page).to_have_title(title)


def test_all_open_pages_show_it(chromium: Browser, bella: Visitor, nora: Api) -> None:
    with chromium.page(bella.url, cookies=bella.cookies) as page:
        page.goto("/account")
        other = page.context.new_page()
        other.goto("/notifications")
        expect(other).to_have_title("Notifications · Helpdesk")
        notify(nora)
        shows(page, "1", "(1) Account · Helpdesk")
        shows(other, "1", "(1) Notifications · Helpdesk")
        notify(nora)
        shows(page, "2", "(2) Account · Helpdesk")
        page.close()  # the other page now holds the stream
        notify(nora)
        shows(other, "3", "(3) Notifications · Helpdesk")
        bella.send("/notifications/read", page="/notifications")
        expect(other).to_have_title("Notifications · Helpdesk")
        expect(other.get_by_role("link", name="0 unread notifications")).to_have_count(1)


STANDS_IN = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { return (this.permission = "granted"); }
  constructor(title, options) { super(); window.shown.push([title, options.body]); }
  close() {}
};
"""  # headless browsers show none
ALLOWED = STANDS_IN.replace('"default"', '"granted"')
BEHIND = "Object.defineProperty(document, 'hidden', { get: () => true });"
SHOWN = "() => window.shown"


def test_the_browser_notifies_where_that_is_on(chromium: Browser, bella: Visitor, nora: Api) -> None:
    with chromium.page(bella.url, cookies=bella.cookies) as page:
        page.add_init_script(STANDS_IN)
        page.goto("/account")
        page.get_by_role("button", name="Turn on in this browser").click()
        expect(page.get_by_role("button", name="Turn off in this browser")).to_be_visible()
        behind = page.context.new_page()
        behind.add_init_script(ALLOWED + BEHIND)
        behind.goto("/notifications")
        notify(nora)
        shows(behind, "1", "(1) Notifications · Helpdesk")
        shows(page, "1", "(1) Account · Helpdesk")
        page.close()
        notify(nora)
        until(behind, "window.shown.length")
        assert behind.evaluate(SHOWN) == [["Helpdesk", "Look"]], "what a page showed that was seen is not told again"


def test_the_newest_unread_notification_comes_with_the_bell(bella: Visitor, nora: Api) -> None:
    assert bella.get(UNREAD).json()["newest"] is None
    notify(nora)
    id = notify(nora)
    newest = bella.get(UNREAD).json()["newest"]
    assert (newest["id"], newest["text"]) == (id, "Look") and newest["age"] >= 0
    nora.update("notification", id, is_read=1).ok()
    assert bella.get(UNREAD).json()["newest"]["id"] < id
