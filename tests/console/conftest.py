"""Fixtures for tests of the console: a server with people who have passwords, and some data."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from server import clock
from server.access.sessions import SESSION
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from tests.console.browser import Browser
from tests.console.lively import Lively
from tests.console.visitor import Visitor
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server, people

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
SCRIPT = f"""start:
  log.warn: {HOSTILE}
  set:
    greeting: hello {{{{request_body}}}}
  return:
    status_code: 201
    body: {{{{greeting}}}}
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(
        tmp_path_factory.mktemp("console") / "data",
        env={"HELPDESK_COMPONENT_PAGE": "yes", "HELPDESK_MAIL_FILE_BYTES": "100000"},
    )
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def nora(server: Server) -> Api:
    """The administrator's client. `ids` contains an automation, a webhook with a delivery, and an app; all names
    that can be hostile are."""
    client = server.set_up()
    people(client)
    for name in ("milo", "olga"):
        client.update("worker", client.ids[name], password=PASSWORD).ok()
    client.ids["automation"] = client.create(
        "automation", name="shop.echo", description=HOSTILE, extension_id="svc.trigger.webhook.respond", script=SCRIPT,
    ).ok()["id"]  # fmt: skip
    hook = client.create(
        "webhook_listener", name=HOSTILE, automations_kata="automation/echo:\n  uri: svc:automation:shop.echo\n"
    ).ok()
    client.ids["webhook"] = hook["id"]
    called = client.session.post(f"{server.url}/webhooks/{hook['guid']}/orders", data=HOSTILE, timeout=60)
    assert called.status_code == 201
    deliveries = client.get(f"/rest/webhooks/{hook['id']}/deliveries.json").ok()["results"]
    client.ids["delivery"] = deliveries[0]["id"]
    client.ids["app"] = client.create("oauth_app", name=HOSTILE, callback_url="https://app.example/back").ok()["id"]
    client.update("worker", client.ids["olga"], last_name=HOSTILE).ok()
    return client


@pytest.fixture(scope="session")
def desk(server: Server, nora: Api) -> Iterator[Desk]:
    """The same database in this process, for changes that only time or the service itself causes."""
    opened = Desk(server.data)
    yield opened
    opened.close()


@pytest.fixture
def visitor(server: Server, nora: Api) -> Visitor:
    """A visitor who is not signed in."""
    return Visitor(server.url)


@pytest.fixture(scope="session")
def nora_in_a_browser(server: Server, nora: Api) -> Visitor:
    """Nora in a session that no test may end."""
    found = Visitor(server.url)
    assert found.sign_in().status_code == 303
    return found


@pytest.fixture
def signed_in(nora_in_a_browser: Visitor, desk: Desk) -> Visitor:
    """The same session, as if she had just entered her password, which was long ago if many tests run."""
    proven(desk, nora_in_a_browser, clock.now())
    return nora_in_a_browser


def proven(desk: Desk, visitor: Visitor, at: int) -> None:
    """Sets the time when the worker last entered their password."""
    table = SESSION.sql
    desk.store.write(lambda tx: tx.run(
        lambda: table.update({table.stepped_up_at: slot(0)}).where(table.hash == slot(1)),
        (at, digest(visitor.cookies["sid"])),
    ))  # fmt: skip


@pytest.fixture
def page(chromium: Browser, server: Server, signed_in: Visitor) -> Iterator[Page]:
    """A page in nora's session."""
    with chromium.page(server.url, cookies=signed_in.cookies) as opened:
        yield opened


@pytest.fixture(scope="module")
def same_page(chromium: Browser, server: Server, nora_in_a_browser: Visitor) -> Iterator[Page]:
    """A page in nora's session for all tests of a module, which leave nothing behind in it. Going somewhere else takes
    a third of the time of a new page."""
    with chromium.page(server.url, cookies=nora_in_a_browser.cookies) as opened:
        yield opened


@pytest.fixture(scope="module")
def phone(chromium: Browser, server: Server, nora_in_a_browser: Visitor) -> Iterator[Page]:
    """A small dark page in nora's session for all journeys of a module."""
    with chromium.page(server.url, (390, 844), nora_in_a_browser.cookies, color_scheme="dark") as opened:
        yield opened


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lively]:
    """A separate desk with data of its daily work."""
    made = Lively(tmp_path_factory.mktemp("lively"), tickets=40, messages=10)
    yield made
    assert made.server.stop() == 0
