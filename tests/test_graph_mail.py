"""A desk whose email comes from and leaves through Microsoft Graph: set up in the console, used, killed, throttled."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.console.visitor import Visitor, loaded, place, text_of
from tests.desk.mailroom import mail
from tests.graph_server import READ, SEND, USER, GraphServer, Mail
from tests.service import Api, Server

MAILBOXES, TRANSPORTS, OUTBOX = "/admin/mail/mailboxes", "/admin/mail/transports", "/admin/mail/outbox"
ANN = "ann@kite.example"
MiB = 1024 * 1024
ENVIRONMENT = {
    "HELPDESK_OUTBOUND_ALLOW": "127.0.0.1", "HELPDESK_MAILBOX_POLL_SECONDS": "1", "HELPDESK_MAIL_RETRY_SECONDS": "1",
}  # fmt: skip


class GraphDesk:
    """A server, its administrator's client and browser, and the Graph that it uses."""

    def __init__(self, data: Path, graph: GraphServer) -> None:
        self.data, self.graph = data, graph
        self.server = Server(data, env=ENVIRONMENT)
        self.nora = self.server.set_up()
        self.token = self.nora.token
        self.browser = Visitor(self.server.url)
        self.browser.sign_in()
        service = self.nora.create(
            "connected_service", name="Microsoft", extension_id="svc.service.provider.oauth2",
            params={"token_url": f"{graph.url}/token", "client_id": "desk", "client_secret": "secret",
                    "client_authentication": "body"},
        ).ok()["id"]  # fmt: skip
        self.account = self.nora.create(
            "connected_account", name="Support", service_id=service, owner__context="svc.contexts.app", owner_id=0,
            params={"access_token": "expired", "refresh_token": "again"},
        ).ok()["id"]  # fmt: skip

    def kill_and_restart(self) -> None:
        self.server.kill()
        self.server = Server(self.data, env=ENVIRONMENT)
        self.nora = Api(self.server.url, self.token)
        self.browser.url = self.server.url

    def sent(self, words: bytes) -> list[Mail]:
        """The emails with these words that have left; waits for one, and until its draft is gone."""
        self.graph.until(lambda: any(words in each.raw for each in self.graph.box().sent))
        loaded(self.browser, OUTBOX, "The outbox is empty")
        return [each for each in self.graph.box().sent if words in each.raw]

    def ticket(self, subject: str) -> int:
        """Receives an email; returns the id of its message."""
        self.graph.box().put(mail(Subject=subject, Message_Id=f"<{subject}@kite.example>"))
        number = max(self.graph.box().mails)
        self.graph.until(lambda: any(f"{number:06}=/$value" in line for line in self.graph.asked))
        while not (found := self.nora.found("message", f"header.messageId:<{subject}@kite.example>")):
            assert self.server.process.poll() is None
        return found[0]

    def attach(self, name: str, size: int) -> int:
        reply = self.nora.post("/rest/attachments/upload.json", file_name=name, content="x" * size)
        return int(reply.ok()["id"])


@pytest.fixture(scope="module")
def graph() -> Iterator[GraphServer]:
    with GraphServer() as started:
        yield started


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, graph: GraphServer) -> Iterator[GraphDesk]:
    """A desk with a mailbox, a transport and a sender address at Microsoft Graph."""
    opened = GraphDesk(tmp_path_factory.mktemp("graph") / "data", graph)
    fields = {"name": "Support", "host": graph.url, "username": USER}
    box = {"protocol": "graph", "port": "", "folder": "inbox", "is_enabled": "1", "is_mail_kept": "1"}
    new = fields | box | {"connected_account_id": str(opened.account)}
    assert place(opened.browser.send(f"{MAILBOXES}/new", new)) == f"{MAILBOXES}/1"
    way = {"extension_id": "svc.mail.transport.graph", "connected_account": str(opened.account)}
    assert place(opened.browser.send(f"{TRANSPORTS}/new", fields | way)) == f"{TRANSPORTS}/1"
    sender = {"email": USER, "transport": "1", "is_default": "1"}
    assert opened.browser.send("/admin/mail/senders", sender, page="/admin/mail").status_code == 303
    yield opened
    assert opened.server.stop() == 0


def test_both_directions_are_tried_in_the_console(desk: GraphDesk, graph: GraphServer) -> None:
    response = desk.browser.send(f"{TRANSPORTS}/1/test", {"recipient": ANN}, page=f"{TRANSPORTS}/1")
    assert place(response) == f"{TRANSPORTS}/1" and graph.box().sent[-1].recipients == (ANN,)
    graph.scopes = {READ}
    response = desk.browser.send(f"{TRANSPORTS}/1/test", {"recipient": ANN}, page=f"{TRANSPORTS}/1")
    text = text_of(response.text)
    assert "give the app the permission Mail.Send" in text
    assert f"> POST /v1.0/users/{USER}/sendMail" in text and "< 403" in text and graph.token not in text
    graph.scopes = {SEND}
    response = desk.browser.send(f"{MAILBOXES}/1/check", {}, page=f"{MAILBOXES}/1")
    text = text_of(response.text)
    assert "give the app the permission Mail.ReadWrite" in text and "< 403" in text and graph.token not in text
    graph.scopes = {READ, SEND, "Mail.ReadWrite"}
    assert place(desk.browser.send(f"{MAILBOXES}/1/check", {}, page=f"{MAILBOXES}/1")) == "/admin/mail"
    page = text_of(desk.browser.get("/admin/mail").text)
    assert "Microsoft Graph" in page and graph.token not in page
    assert desk.nora.record("mailbox", 1).ok()["port"] == 443


def test_a_wrong_form_names_its_field(desk: GraphDesk) -> None:
    form = {"name": "X", "extension_id": "svc.mail.transport.graph", "username": USER}
    assert "choose a connected account" in text_of(desk.browser.send(f"{TRANSPORTS}/new", form).text).lower()
    form = {"name": "X", "protocol": "graph", "username": USER, "host": "graph.example/v1.0"}
    response = desk.browser.send(f"{MAILBOXES}/new", form)
    assert response.status_code == 422 and 'id="host-error"' in response.text


def test_a_large_reply_is_sent_once_although_the_service_is_killed(desk: GraphDesk, graph: GraphServer) -> None:
    """Killed after the draft exists, then after the email has left and before that is stored."""
    message = desk.ticket("pump")
    file = desk.attach("plan.txt", 3_000_001)
    reached, go_on = threading.Event(), threading.Event()

    def hold(pattern: str) -> Callable[[str], None]:
        def hook(line: str) -> None:
            if pattern in line and not reached.is_set():
                reached.set()
                assert go_on.wait(60)

        return hook

    graph.after = hold("/upload")
    desk.nora.reply(message_id=message, content="The plan.", **{"file_id[]": [file]})
    assert reached.wait(60)
    assert len(graph.box().inside("drafts")) == 1
    reached.clear()
    graph.after = hold("/send")
    desk.kill_and_restart()
    go_on.set()
    assert reached.wait(60)
    desk.kill_and_restart()
    graph.after = lambda line: None
    [sent] = desk.sent(b"The plan.")
    assert sent.recipients == (ANN,) and len(sent.files[0]["content"]) == 3_000_001
    assert b"In-Reply-To: <pump@kite.example>" in sent.raw and not graph.box().inside("drafts")


def test_a_busy_service_delays_a_reply(desk: GraphDesk, graph: GraphServer) -> None:
    message = desk.ticket("valve")
    graph.busy, graph.wait = 2, "1"
    reply = desk.nora.reply(message_id=message, content="A valve is on its way.").ok()
    assert reply["delivery"]["state"] in ("held", "sending", "queued", "sent")
    assert len(desk.sent(b"A valve is on its way.")) == 1


@pytest.mark.exhaustive("25 MiB take seconds of processor time; the same with 3 MB above")
def test_the_largest_reply_is_sent(desk: GraphDesk, graph: GraphServer) -> None:
    message = desk.ticket("film")
    file = desk.attach("film.txt", 25 * MiB)
    desk.nora.reply(message_id=message, content="The film.", **{"file_id[]": [file]}).ok()
    [sent] = desk.sent(b"The film.")
    assert len(sent.files[0]["content"]) == 25 * MiB
