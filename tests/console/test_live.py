"""Streams that update parts of pages: for signed-in workers; they end with the login and do not extend it. The use
of the events is tested with each page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from server.access import sessions
from server.access.sessions import SEEN_EVERY_SECONDS, SESSION
from server.store.transaction import Transaction
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place
from tests.following import EVENTS, Following
from tests.records.desk import Desk
from tests.service import Api, Server

LOG = "/automations/log/latest"
LIVE = {"X-Live": "1"}
TABLE: Any = SESSION.sql


@pytest.fixture
def visitor(server: Server, nora: Api) -> Visitor:
    """nora, in a session of her own."""
    found = Visitor(server.url)
    assert found.sign_in().status_code == 303
    return found


def following(visitor: Visitor, **params: Any) -> Following:
    client = Api(visitor.url, "", is_checked=False)
    client.session = visitor.session
    return Following(client, LOG, **params)


def ends_for_good(visitor: Visitor) -> bool:
    """Returns whether a stream is refused in the way that stops a browser from reconnecting, without content."""
    refused = visitor.get(LOG, headers=EVENTS)
    return (refused.status_code, refused.content) == (204, b"")


def note(nora: Api) -> None:
    """Makes the server write one more log entry."""
    nora.create("automation", name="live.test", extension_id="svc.trigger.webhook.respond", script="start:\n  log: x\n")
    hook = nora.create("webhook_listener", name="Live", automations_kata="automation/x:\n  uri: live.test\n").ok()
    assert nora.session.post(f"{nora.url}/webhooks/{hook['guid']}", timeout=60).status_code == 200


def session_of(desk: Desk) -> tuple[int, int]:
    """Returns id and seen_at of the newest session."""

    def read(tx: Transaction) -> tuple[int, int]:
        row = tx.row(lambda: TABLE.select(TABLE.id, TABLE.seen_at).order_by(TABLE.id.desc()))
        assert row is not None
        return row[0], row[1]

    return desk.read(read)


def change(desk: Desk, column: str, value: int) -> None:
    """Sets a column of the newest session, as time or another worker would change it."""
    id = session_of(desk)[0]
    desk.store.write(lambda tx: tx.update(SESSION, id, {column: value}))


def test_it_sends_the_newest_and_resumes_where_it_was_cut_off(visitor: Visitor, nora: Api, desk: Desk) -> None:
    before = visitor.get(LOG).json()["id"]
    with following(visitor, since=before) as stream:
        note(nora)
        told = stream.next()
        assert told.data == {"id": int(told.id)} and int(told.id) > before
    with following(visitor, last=str(before)) as stream:
        assert stream.next().data == visitor.get(LOG).json()


def test_automatic_requests_of_a_page_extend_no_login(visitor: Visitor, nora: Api, desk: Desk) -> None:
    _, now = session_of(desk)
    long_ago = now - SEEN_EVERY_SECONDS - 1
    change(desk, "seen_at", long_ago)
    with following(visitor, since=0) as stream:
        note(nora)
        stream.next()
    for path in (LOG, "/automations/log"):
        assert visitor.get(path, headers=LIVE).status_code == 200
    assert session_of(desk)[1] == long_ago
    visitor.get("/automations/log")
    assert session_of(desk)[1] >= now


def signed_out(visitor: Visitor, nora: Api, desk: Desk) -> None:
    visitor.send("/sign-out", page="/account")


def idle(visitor: Visitor, nora: Api, desk: Desk) -> None:
    change(desk, "seen_at", 1)


def ended(visitor: Visitor, nora: Api, desk: Desk) -> None:
    id = session_of(desk)[0]
    desk.store.write(lambda tx: sessions.end(tx, id, nora.ids["nora"]))


ENDS = [signed_out, idle, ended]


@pytest.mark.parametrize("end", ENDS, ids=lambda each: each.__name__)
def test_it_ends_with_the_login(
    visitor: Visitor, nora: Api, desk: Desk, end: Callable[[Visitor, Api, Desk], None]
) -> None:
    with following(visitor) as stream:
        end(visitor, nora, desk)
        note(nora)
        assert stream.end()["__error"] == "ERROR_UNAUTHORIZED"


def test_a_former_administrator_gets_no_events(visitor: Visitor, nora: Api, desk: Desk) -> None:
    second = nora.create(
        "worker", first_name="Livia", email="livia@desk.example", language="en_US", timezone="UTC", is_superuser=1,
        password="correct horse battery",
    ).ok()["id"]  # fmt: skip
    livia = Visitor(nora.url)
    assert livia.sign_in("livia@desk.example").status_code == 303
    with following(livia) as stream:
        nora.update("worker", second, is_superuser=0).ok()
        note(nora)
        assert stream.end()["__error"] == "ERROR_PERMISSIONS"
    # An id of the session from before must not reveal events that came with other rights.
    assert ends_for_good(livia)
    assert place(livia.get(LOG, headers=LIVE)).startswith("/login")
    assert livia.get(LOG).status_code == 403


def test_a_stream_requires_access_to_its_page(server: Server, nora: Api) -> None:
    assert ends_for_good(Visitor(server.url))
    assert place(Visitor(server.url).get(LOG)).startswith("/login")


def test_a_form_of_a_signed_out_worker_is_refused_despite_stream_headers(server: Server) -> None:
    """An empty response would mean that it was saved."""
    asked = Visitor(server.url).session.post
    form = {"name": "live.none"}
    refused = asked(f"{server.url}/automations/new", data=form, headers=EVENTS, allow_redirects=False, timeout=60)
    assert refused.status_code == 403 and "does not belong to your session" in refused.text


WRONG = [("since", "x"), ("since", "-1")]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_an_invalid_position_means_the_newest(visitor: Visitor, nora: Api, desk: Desk, name: str, value: str) -> None:
    newest = visitor.get(LOG).json()["id"]
    with following(visitor, **{name: value}) as stream:
        assert stream.last == str(newest)


def test_a_page_resumes_after_a_restart_of_the_service(chromium: Browser, tmp_path: Path) -> None:
    """Entries written in the meantime are shown as well."""
    server = Server(tmp_path / "data")
    nora = server.set_up()
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    with chromium.page(server.url, cookies=visitor.cookies, refused="ERR_CONNECTION_REFUSED|ERR_INCOMPLETE") as page:
        page.goto("/automations/log?live=1")
        told = page.locator("[data-live-told]")
        expect(told).to_have_text("Live.")
        note(nora)
        expect(page.locator("#log tbody tr")).to_have_count(1)
        assert server.stop() == 0
        expect(told).to_have_text("Disconnected; trying again.")
        again = Server(tmp_path / "data", "--port", server.url.rpartition(":")[2])
        note(nora)
        expect(page.locator("#log tbody tr")).to_have_count(2, timeout=60_000)
        expect(told).to_have_text("Live.")
    assert again.stop() == 0
