"""A reply on a new service: the ticket says that it is not sent, until the first mail transport exists."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.visitor import Visitor, loaded, place, text_of
from tests.service import Server
from tests.smtp_server import SmtpServer

NEW = "/admin/mail/transports/new"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "data")
    yield started
    assert started.stop() == 0


def test_a_waiting_reply_is_reported_and_sent_by_the_first_transport(fresh: Server) -> None:
    api, visitor = fresh.set_up(), Visitor(fresh.url)
    visitor.sign_in()
    ticket = api.parse("From: ana@kite.example\nTo: support@localhost\nSubject: Pump\n\nIt leaks.").ok()
    [message] = api.found("message", f"ticket.id:{ticket['id']}")
    response = api.reply(message_id=message, content="A seal is on its way.").ok()
    told = response["delivery"]
    assert told["state"] == "parked" and "no mail server is configured" in told["reason"]
    page = f"/tickets/{ticket['mask']}"
    ticket_page = visitor.get(page).text
    shown = text_of(ticket_page)
    assert "✕ not sent no mail server is configured" in shown and "A seal is on its way." in shown
    assert 'id="draft' not in ticket_page, "the message stands there already"
    assert shown.index("It leaks.") < shown.index("A seal is on its way."), "the oldest first, also of one second"
    for uri, id in (("message", told["message_id"]), ("draft", told["draft_id"])):
        assert "✕ not sent no mail server" in text_of(visitor.get(f"/records/{uri}/{id}").text), uri
    with SmtpServer() as smtp:
        form = {"name": "Provider", "extension_id": "core.mail.transport.smtp", "host": smtp.host,
                "port": str(smtp.port), "encryption": "none", "verify": "1"}  # fmt: skip
        path = place(visitor.send(NEW, form))
        saved = visitor.get(path).text
        assert "Provider saved as the default transport" in saved
        assert 'action="/admin/mail/default"' in saved  # to undo it
        assert "A seal is on its way." in smtp.take()[2].decode()
        loaded(visitor, "/admin/mail/outbox", "The outbox is empty")
        second = place(visitor.send(NEW, form | {"name": "Second"}))
        assert "is the default" not in visitor.get(second).text
    assert "not sent" not in text_of(visitor.get(page).text)
