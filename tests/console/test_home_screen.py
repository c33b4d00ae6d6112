"""The console on a home screen, in a browser: notifications that arrive, the page without a connection, and the end of
both with the session.

The headless browser subscribes at no push service and grants no permission for notifications, so tests stand in for
these two; encryption and delivery are tested in desk/test_pushing.py. The push event itself is the browser's."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, Worker, expect

from console.http import static_files
from server.access import push_devices
from server.notifying import notified_devices
from tests.console.browser import PHONE, Browser, until, violations
from tests.console.test_tickets import ticket
from tests.console.visitor import Visitor
from tests.push_service import FakeBrowser
from tests.records.desk import Desk
from tests.service import Api, Server

__all__ = ["ticket"]
# The parts of a browser that need a push service and a person: the permission, and the subscription.
BROWSER = """([endpoint, p256dh, auth]) => {
  const plain = (text) => atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = (text) => Uint8Array.from(plain(text), (each) => each.charCodeAt(0)).buffer;
  const keys = { p256dh: bytes(p256dh), auth: bytes(auth) };
  const unsubscribe = async () => (localStorage.removeItem("subscribed"), true);
  const made = { endpoint, getKey: (name) => keys[name], unsubscribe };
  Notification.requestPermission = async () => "granted";
  PushManager.prototype.getSubscription = async () => (localStorage.getItem("subscribed") ? made : null);
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    localStorage.setItem("subscribed", JSON.stringify([userVisibleOnly, applicationServerKey]));
    return made;
  };
}"""
WIDTH = """async (src) => {
  const image = Object.assign(new Image(), { src });
  await image.decode();
  return image.naturalWidth;
}"""
SHOWN = """() => {
  self.shown = [];
  const show = async (title, options) => self.shown.push({ title, ...options });
  ServiceWorkerRegistration.prototype.showNotification = show;
  navigator.setAppBadge = async (count) => (self.count = count);
}"""
CLICK = """(data) => {
  self.opened = [];
  clients.openWindow = async (path) => self.opened.push(path);
  WindowClient.prototype.focus = async function () {
    self.opened.push(`focus ${new URL(this.url).pathname}`);
    return this;
  };
  const notification = { close() {}, data };
  const waitUntil = (work) => (self.work = work);
  const event = Object.assign(new Event("notificationclick"), { notification, waitUntil });
  dispatchEvent(event);
  return self.work.then(() => self.opened);
}"""


@contextmanager
def phone_of(chromium: Browser, visitor: Visitor, browser: FakeBrowser) -> Iterator[Page]:
    """A phone of a worker, whose browser can subscribe."""
    with chromium.page(visitor.url, PHONE, visitor.cookies, refused="net::ERR") as page:
        fields = json.dumps([*browser.fields.values()])
        page.add_init_script(f"({BROWSER})({fields})")
        yield page


@pytest.fixture
def phone(chromium: Browser, server: Server, nora: Api) -> Iterator[Page]:
    """Nora's phone in a separate session."""
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    with phone_of(chromium, visitor, FakeBrowser("https://push.example/phone")) as page:
        yield page


def turn_on(page: Page) -> None:
    page.goto("/account#notified")
    page.get_by_role("button", name="Notify this device").click()
    expect(page.locator("#toasts")).to_contain_text("This device is notified now.")
    until(page, "Boolean(navigator.serviceWorker.controller)")


def worker_of(page: Page) -> Worker:
    return page.context.service_workers[-1]  # earlier tests may have left some


def deliver(page: Page, text: str) -> None:
    """Hands a push to the browser, as its connection to a push service does."""
    session: CDPSession = page.context.new_cdp_session(page)
    ids: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: ids.extend(each["registrationId"] for each in event["registrations"] if not each["isDeleted"]),
    )
    session.send("ServiceWorker.enable")
    for _ in range(100):
        if not ids:
            page.evaluate("1")  # lets events arrive
    origin = page.evaluate("location.origin")
    session.send("ServiceWorker.deliverPushMessage", {"origin": origin, "registrationId": ids[-1], "data": text})
    session.detach()


def devices(desk: Desk, nora: Api) -> list[Any]:
    return desk.read(lambda tx: push_devices.of_worker(tx, nora.ids["nora"]))


@pytest.mark.exhaustive("the next test receives one and clicks it")
def test_a_push_is_received_and_shown(phone: Page, desk: Desk, nora: Api) -> None:
    turn_on(phone)
    [device] = devices(desk, nora)
    assert device.subscription.endpoint == "https://push.example/phone"
    key = notified_devices.server_key(desk.service)
    assert json.loads(phone.evaluate("localStorage.getItem('subscribed')")) == [True, key]
    worker = worker_of(phone)
    worker.evaluate(SHOWN)
    data = {"path": "/notifications/5", "page": "/tickets/ABC"}
    shown = {"title": "Helpdesk", "body": "Ana wrote", "tag": "a:1", "lang": "en", "dir": "ltr", "data": data}
    deliver(phone, json.dumps({"web_push": 8030, "notification": shown, "app_badge": "3"}))
    deliver(phone, "not what we sent")
    icons = {"icon": static_files.address("icon-192.png"), "badge": static_files.address("icon-badge.png")}
    deadline = "setTimeout(() => done(JSON.stringify(self.shown)), 10_000)"
    look = "setInterval(() => self.shown.length > 1 && done(JSON.stringify(self.shown)))"
    assert json.loads(worker.evaluate(f"new Promise((done) => {{ {look}; {deadline}; }})")) == [
        {**shown, "renotify": True, **icons},
        {"title": "Helpdesk", "tag": "", "renotify": False, **icons},
    ]
    assert worker.evaluate("self.count") == 3


def test_a_click_brings_the_ticket_forward(phone: Page, nora: Api, ticket: dict[str, Any]) -> None:
    turn_on(phone)
    worker = worker_of(phone)
    about = {"target__context": "svc.contexts.ticket", "target_id": ticket["id"]}
    params = json.dumps({"message": "Look", "variables": {}, "urls": {}})
    unread = nora.create(
        "notification", worker_id=nora.ids["nora"], activity_point="custom.other", params=params, **about
    ).ok()["id"]
    path = f"/notifications/{unread}"
    assert worker.evaluate(CLICK, {"path": path, "page": ticket["page"]}) == [path]
    phone.goto(ticket["page"])
    assert worker.evaluate(CLICK, {"path": path, "page": ticket["page"]}) == [f"focus {ticket['page']}"]
    assert nora.get(f"/rest/records/notification/{unread}.json").ok()["is_read"]
    for foreign in ("https://evil.example/x", "//evil.example", "javascript:alert(1)"):
        assert worker.evaluate(CLICK, {"path": foreign, "page": ""}) == ["/notifications"]
    assert worker.evaluate(CLICK, None) == ["/notifications"]


def test_without_a_connection_there_is_a_page(phone: Page, nora: Api) -> None:
    turn_on(phone)
    phone.goto("/inbox")
    phone.context.set_offline(True)
    phone.goto("/inbox?q=boat")
    expect(phone.get_by_role("heading", name="No connection")).to_be_visible()
    assert (
        phone.evaluate("getComputedStyle(document.querySelector('.button')).borderRadius") != "0px"
    )  # it has its styles
    assert violations(phone) == []
    phone.context.set_offline(False)  # the page hears of it
    expect(phone.locator(".bell")).to_be_attached()
    assert phone.url.endswith("/inbox?q=boat")


def test_nothing_of_a_worker_is_stored(phone: Page, nora: Api, ticket: dict[str, Any]) -> None:
    turn_on(phone)
    for path in ("/inbox", ticket["page"], "/account"):
        phone.goto(path)
    stored = phone.evaluate(
        """async () => {
          const found = [];
          for (const name of await caches.keys())
            for (const request of await (await caches.open(name)).keys()) {
              const response = await caches.match(request);
              found.push([new URL(request.url).pathname, await response.text()]);
            }
          return found;
        }"""
    )
    paths = [path for path, _ in stored]
    assert paths[0] == "/offline" and all(path.startswith("/static/") for path in paths[1:]) and len(paths) == 5
    assert not any("Nora" in text or ticket["mask"] in text for _, text in stored)


@pytest.mark.exhaustive("the end with the session is tested in desk/test_pushing.py")
def test_signing_out_ends_it(phone: Page, desk: Desk, nora: Api) -> None:
    turn_on(phone)
    assert len(devices(desk, nora)) == 1
    phone.goto("/inbox")
    phone.locator("header details.menu > summary").click()
    phone.get_by_role("button", name="Sign out").click()
    phone.wait_for_url("**/login?out=1")
    assert devices(desk, nora) == []
    until(phone, "caches.keys().then((all) => !all.length && !localStorage.getItem('subscribed'))")


@pytest.mark.exhaustive("every state of a subscription")
def test_what_the_service_has_forgotten_can_be_turned_on_again(phone: Page, desk: Desk, nora: Api) -> None:
    turn_on(phone)
    expect(phone.get_by_role("button", name="Notify this device")).to_be_hidden()
    [device] = devices(desk, nora)
    desk.store.write(lambda tx: push_devices.remove(tx, device.id, device.worker_id))  # as a 410 does
    phone.reload()
    until(phone, "!localStorage.getItem('subscribed')")
    turn_on(phone)
    phone.evaluate("localStorage.removeItem('subscribed')")
    phone.reload()
    expect(phone.get_by_role("button", name="Notify this device")).to_be_visible()
    phone.get_by_role("button", name="Notify this device").click()
    expect(phone.locator("#toasts")).to_contain_text("This device is notified now.")
    assert len(devices(desk, nora)) == 1


@pytest.mark.exhaustive("every state of a subscription")
def test_the_browser_may_refuse(phone: Page) -> None:
    phone.add_init_script("Notification.requestPermission = async () => 'denied'")
    phone.goto("/account#notified")
    phone.get_by_role("button", name="Notify this device").click()
    expect(phone.locator("[data-push-problem]")).to_contain_text("Your browser blocks notifications.")


@pytest.mark.exhaustive("every state of a subscription")
def test_a_browser_without_push_says_so(phone: Page) -> None:
    phone.add_init_script("delete window.PushManager")
    phone.goto("/account#notified")
    expect(phone.locator("[data-push-missing]")).to_be_visible()
    expect(phone.get_by_role("button", name="Notify this device")).to_be_hidden()


@pytest.mark.exhaustive("the bell has tests of its own")
def test_the_number_on_the_icon_follows_the_bell(phone: Page, nora: Api) -> None:
    turn_on(phone)
    phone.add_init_script("navigator.setAppBadge = async (count) => (self.count = count)")
    params = json.dumps({"message": "Look", "variables": {}, "urls": {}})
    nora.create("notification", worker_id=nora.ids["nora"], activity_point="custom.other", params=params).ok()
    phone.goto("/inbox")
    until(phone, "self.count === Number(document.querySelector('.bell').dataset.unread)")


@pytest.mark.exhaustive("the manifest is read without a browser below")
def test_the_manifest_is_complete(phone: Page) -> None:
    phone.goto("/inbox")
    session = phone.context.new_cdp_session(phone)
    found = session.send("Page.getAppManifest")
    assert found["errors"] == [] and found["url"].endswith("/manifest.webmanifest")
    manifest = json.loads(found["data"])
    assert (manifest["display"], manifest["start_url"], manifest["scope"]) == ("standalone", "/inbox", "/")
    assert {each["purpose"] for each in manifest["icons"]} == {"any", "maskable"}
    for each in manifest["icons"]:
        size = phone.evaluate(WIDTH, each["src"])
        assert each["sizes"] == f"{size}x{size}"
    session.detach()


def test_an_ordinary_page_has_no_service_worker(chromium: Browser, nora_in_a_browser: Visitor) -> None:
    with chromium.page(nora_in_a_browser.url, cookies=nora_in_a_browser.cookies) as page:
        page.goto("/inbox")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
        names = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
        assert any("offline.js" in each for each in names) and not any(re.search("device|push", each) for each in names)


def test_the_script_is_checked_at_once_and_its_pages_need_no_session(visitor: Visitor) -> None:
    script = visitor.get("/service-worker.js")
    assert script.headers["Cache-Control"] == "no-store" and script.headers["Content-Type"].startswith(
        "text/javascript"
    )
    assert "worker-src 'self'" in script.headers["Content-Security-Policy"]
    assert f'"{static_files.address("console.css")}"' in script.text
    assert visitor.get("/offline").headers["Cache-Control"] == "no-store"
    manifest = visitor.get("/manifest.webmanifest")
    assert manifest.headers["Content-Type"].startswith("application/manifest+json")
    assert manifest.json()["name"] == "Helpdesk" and manifest.headers["Cache-Control"] == "no-store"
