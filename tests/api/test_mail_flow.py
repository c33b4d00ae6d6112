"""Mail through the whole service over time: without a mail server, killed in between, scheduled, and returned."""

import threading
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests import databases
from tests.api.post import Post, customer, read, text_of, transport, written
from tests.service import Api, Reply, Server
from tests.smtp_server import SmtpServer

HOUR = 3600
BUSY = "451 4.3.0 Come back later"


class HesitantServer(SmtpServer):
    """Accepts no mail before `go` is set, then responds with BUSY; `asked` is set once a client waits."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()
        super().__init__()

    @property
    def data_answer(self) -> str:
        if self.go.is_set():
            return ""
        self.asked.set()
        self.go.wait(30)
        return BUSY

    @data_answer.setter
    def data_answer(self, answer: str) -> None:
        """Stays silent about the first mail."""


class House:
    """A helpdesk of one test, started and killed as often as needed. api: nora's client of the current run."""

    def __init__(self, data: Path, token: str) -> None:
        self.data, self.token = data, token
        self.start()

    def start(self, hours_ahead: int = 0, **env: str) -> Api:
        """Starts it again, with its clock ahead."""
        env = {"HELPDESK_CLOCK_OFFSET_SECONDS": str(hours_ahead * HOUR), **env}
        self.server = Server(self.data, env=env)
        self.api = Api(self.server.url, self.token)
        return self.api

    def stop(self) -> None:
        assert self.server.stop() == 0

    def restart(self, hours_ahead: int = 0, **env: str) -> Api:
        self.stop()
        return self.start(hours_ahead, **env)


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data folder whose server has stopped, and a token of its administrator."""
    data = tmp_path_factory.mktemp("house") / "data"
    server = Server(data)
    token = server.set_up().token
    assert server.stop() == 0
    return data, token


@pytest.fixture
def house(set_up: tuple[Path, str], data: Path) -> Iterator[House]:
    opened = House(databases.copytree(set_up[0], data), set_up[1])
    yield opened
    opened.server.stop()


def received(api: Api, email: str, **headers: str) -> Reply:
    """Delivers a mail of a customer; `_` stands for `-` in header names."""
    named = {"From": email, "Message_ID": f"<first.{email}>", "Subject": "Boat"} | headers
    head = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in named.items())
    return api.parse(f"{head}\nIt leaks.\n").ok()


def answered(api: Api, ticket: Reply, **values: Any) -> Reply:
    return api.reply(**{"message_id": ticket["last_message_id"], "content": "On its way."} | values).ok()


def comments_on_draft(api: Api) -> list[str]:
    """Returns the comments on the only draft."""
    (draft,) = api.found("draft", "is.queued:yes")
    return [each["comment"] for each in api.search("comment", f"on.draft:(id:{draft})").ok()["results"]]


def id_header(api: Api, message_id: int) -> str:
    return str(api.record("message", message_id, expand="headers").ok()["headers"]["message-id"])


# -- no mail server, failing mail servers, a killed service ------------------------------------------------------------


def test_mail_waits_for_a_mail_server_says_so_and_is_sent_once_there_is_one(house: House) -> None:
    api, email = house.api, customer()
    ticket = received(api, email)
    response = answered(api, ticket, status=1)
    assert (response["_context"], response["status"], response["num_messages"]) == ("svc.contexts.ticket", "waiting", 2)
    (comment,) = comments_on_draft(api)
    assert comment.startswith("Error sending message: no mail server is configured")
    composed = api.compose(group_id=1, to=email, subject="Pump", content="Hello").ok()
    assert composed["_context"] == "svc.contexts.ticket"
    with SmtpServer() as smtp:
        transport(api, smtp.port)
        mails = {mail["Subject"]: mail for mail in (read(smtp.take().raw) for _ in range(2))}
        assert set(mails) == {"Re: Boat", "Pump"}
        assert mails["Re: Boat"]["Message-ID"] == id_header(api, response["latest_message_id"])
        house.restart()
        answered(house.api, ticket, content="The last")
        assert text_of(read(smtp.take().raw)).strip() == "The last"
        assert len(smtp.messages) == 3
    assert house.api.search("draft", "").ok()["total"] == 0


def test_deferred_mail_is_sent_once_after_a_kill(house: House) -> None:
    api, email = house.api, customer()
    with SmtpServer(data_answer=BUSY) as smtp:
        transport(api, smtp.port)
        ticket = received(api, email)
        response = answered(api, ticket, status=2)
        assert response["status"] == "open"  # so that a worker notices that it was not sent
        assert api.found("draft", "queue.fails:1 is.queued:yes") == api.found("draft", "")
        (comment,) = comments_on_draft(api)
        assert "Come back later" in comment
        house.server.kill()
        smtp.data_answer = ""
        api = house.start(hours_ahead=1)
        _, recipients, raw = smtp.take()
        assert recipients == (email,) and read(raw)["Message-ID"] == id_header(api, response["latest_message_id"])
        answered(api, ticket, content="The last")
        assert text_of(read(smtp.take().raw)).strip() == "The last"
        assert len(smtp.messages) == 2
        assert api.record("ticket", ticket["id"]).ok()["num_messages"] == 3


def test_mail_interrupted_by_a_kill_is_sent_once_with_the_same_id(house: House) -> None:
    api, email = house.api, customer()
    smtp = HesitantServer()
    with smtp:
        transport(api, smtp.port)
        ticket = received(api, email)
        caught: list[Exception] = []

        def reply() -> None:
            try:
                answered(Api(api.url, api.token), ticket)
            except Exception as error:  # the connection ends with the service
                caught.append(error)

        waiting = threading.Thread(target=reply)
        waiting.start()
        assert smtp.asked.wait(60)
        message = api.record("ticket", ticket["id"]).ok()["latest_message_id"]
        kept = id_header(api, message)
        house.server.kill()
        waiting.join()
        smtp.go.set()
        assert caught
        api = house.start()
        assert read(smtp.take().raw)["Message-ID"] == kept
        house.restart(hours_ahead=1)
        answered(house.api, ticket, content="The last")
        assert text_of(read(smtp.take().raw)).strip() == "The last"
        assert len(smtp.messages) == 2
        shown = house.api.record("ticket", ticket["id"]).ok()
        assert (shown["num_messages"], house.api.search("draft", "").ok()["total"]) == (3, 0)


# -- later -------------------------------------------------------------------------------------------------------------


def test_scheduled_actions_happen_on_time_and_once(house: House) -> None:
    api, email = house.api, customer()
    with SmtpServer() as smtp:
        transport(api, smtp.port)
        ticket, other = received(api, email), received(api, email, Message_ID=f"<other.{email}>")
        answered(api, other, dont_send=1, status=1, reopen_at="+90 minutes")
        answered(api, ticket, send_at="+1 hour", status=2, reopen_at="+10 hours")
        draft = api.compose(group_id=1, to=email, subject="Pump", content="Hello", send_at="+2 hours", status=1).ok()
        assert draft["type"] == "mail.compose"
        not_this = api.compose(group_id=1, to=email, subject="Not this", content="Hello", send_at="+1 hour").ok()
        api.remove("draft", not_this["id"]).ok()
        api = house.restart()
        assert api.record("ticket", other["id"]).ok()["status"] == "waiting"
        assert (smtp.messages, api.search("draft", "").ok()["total"]) == ([], 2)
        api = house.restart(hours_ahead=3)
        mails = {mail["Subject"]: mail for mail in (read(smtp.take().raw) for _ in range(2))}
        assert set(mails) == {"Re: Boat", "Pump"}
        # Tickets are scheduled before any mail is sent.
        assert api.record("ticket", other["id"]).ok()["status"] == "open"
        closed = api.record("ticket", ticket["id"]).ok()
        assert (closed["status"], closed["num_messages"]) == ("closed", 2)
        (made,) = api.search("ticket", "subject:Pump").ok()["results"]
        assert (made["status"], made["num_messages"]) == ("waiting", 1)
        api = house.restart(hours_ahead=12)
        answered(api, ticket, content="The last", status=1)
        assert text_of(read(smtp.take().raw)).strip() == "The last"
        assert (len(smtp.messages), api.search("draft", "").ok()["total"]) == (3, 0)


def test_only_an_early_reply_of_the_customer_opens_the_ticket(house: House) -> None:
    api, email = house.api, customer()
    ticket = received(api, email)
    answered(api, ticket, dont_send=1, status=1, reopen_at="+1 hour")
    received(api, email, Message_ID=f"<second.{email}>", In_Reply_To=f"<first.{email}>")
    shown = api.record("ticket", ticket["id"]).ok()
    assert (shown["status"], shown["reopen_date"]) == ("open", 0)
    closed = answered(api, ticket, dont_send=1, status=2)
    api = house.restart(hours_ahead=2)
    assert api.create("task", title="Later").ok()["updated"] >= closed["updated"] + 2 * HOUR
    with SmtpServer() as smtp:
        transport(api, smtp.port)
        api.compose(group_id=1, to=email, subject="Pump", content="Hello", send_at=str(int(time.time()))).ok()
        smtp.take()
    assert api.record("ticket", ticket["id"]).ok()["status"] == "closed"


def test_a_draft_that_a_client_queues_is_sent_at_once(post: Post) -> None:
    api, to = post.api, customer()
    params = {"to": to, "subject": "Queued", "content": "Hello", "group_id": api.ids["support"]}
    draft = api.create("draft", type="mail.compose", worker_id=api.ids["nora"], name="Queued", to=to, params=params)
    api.update("draft", draft.ok()["id"], is_queued=1).ok()
    _, recipients, mail = post.take()
    assert (recipients, mail["Subject"]) == ((to,), "Queued")


def test_a_running_service_sends_on_time(post: Post) -> None:
    to, soon = customer(), str(int(time.time()) + 2)
    post.api.compose(group_id=post.api.ids["support"], to=to, subject="Soon", content="Hello", send_at=soon).ok()
    _, recipients, mail = post.take()
    assert (recipients, mail["Subject"]) == ((to,), "Soon")


# -- out and back in ---------------------------------------------------------------------------------------------------


def answer_to(mail: EmailMessage, by: str, number: int) -> bytes:
    """Returns a reply as a mail program writes it."""
    made = EmailMessage()
    made["From"], made["To"] = f"Ann Kite <{by}>", mail["From"]
    made["Subject"], made["Message-ID"] = f"Re: {mail['Subject']}", f"<answer{number}.{by}>"
    made["In-Reply-To"] = mail["Message-ID"]
    made["References"] = f"{mail['References'] or ''} {mail['Message-ID']}".strip()
    quoted = "\n".join(f"> {line}" for line in text_of(mail).splitlines())
    made.set_content(f"It still leaks, for the {number}th time.\n\n{quoted}\n")
    return made.as_bytes()


def test_three_rounds_between_customer_and_desk_stay_on_one_ticket(post: Post) -> None:
    api, email = post.api, customer()
    last = received(api, email)
    ticket_id = last["id"]
    for number in range(1, 4):
        sent = answered(api, last, status=1, content=f"Answer {number}\n\n#original_message")
        assert (sent["id"], sent["status"], sent["num_messages"]) == (ticket_id, "waiting", 2 * number)
        _, recipients, mail = post.take()
        assert recipients == (email,) and mail["Subject"] == "Re: Boat"
        assert f"<first.{email}>" in mail["References"]
        last = api.parse(answer_to(mail, email, number)).ok()
        shown = api.record("ticket", ticket_id).ok()
        assert (last["id"], shown["status"], shown["num_messages"]) == (ticket_id, "open", 2 * number + 1)
        assert shown["latest_message_id"] == last["last_message_id"]
    assert (shown["num_messages_in"], shown["num_messages_out"], shown["subject"]) == (4, 3, "Boat")


def test_a_conversation_that_the_desk_began(post: Post) -> None:
    email = customer()
    made = post.api.compose(group_id=post.api.ids["support"], to=email, subject="Your order", content="Hello",
                            content_format="markdown", status=2).ok()  # fmt: skip
    response = post.api.parse(answer_to(post.mail(), email, 1)).ok()
    shown = post.api.record("ticket", made["id"]).ok()
    assert (response["id"], shown["status"], shown["num_messages"]) == (made["id"], "open", 2)


def test_our_own_mail_that_comes_back_changes_nothing(post: Post) -> None:
    ticket = received(post.api, customer())
    sent = answered(post.api, ticket, status=2)
    raw = post.smtp.take().raw
    before = written(post.api)
    back = post.api.parse(raw).ok()
    assert (back["id"], back["last_message_id"]) == (ticket["id"], sent["latest_message_id"])
    assert post.api.record("ticket", ticket["id"]).ok()["status"] == "closed"
    assert written(post.api) == before


def test_a_mask_in_the_subject_finds_the_ticket_without_ids(house: House) -> None:
    api = house.restart(HELPDESK_SUBJECT_MASK="yes", HELPDESK_SUBJECT_PREFIX="Kite")
    email = customer()
    with SmtpServer() as smtp:
        transport(api, smtp.port)
        made = api.compose(group_id=1, to=email, subject="Your order", content="Hello", status=1).ok()
        subject = str(read(smtp.take().raw)["Subject"])
        assert subject == f"[Kite #{made['mask']}] Your order"
        back = api.parse(f"From: {email}\nSubject: AW: {subject}\n\nThank you.\n").ok()
        assert back["id"] == made["id"]
        shown = api.record("ticket", made["id"]).ok()
        assert (shown["subject"], shown["status"]) == ("Your order", "open")
