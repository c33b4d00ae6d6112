"""Two helpdesks that reply to every mail automatically, each by SMTP to the other's listener: only two mails are
exchanged."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server import app, clock, mailroom, settings, tickets
from server.access.service_actor import own_context
from server.automation.automation_service import of_record, perform
from server.jobs.scheduler import Scheduler
from server.mailroom import flood, mail_listening
from server.outbox import mail_queue
from server.record_types.record_type import Record
from server.records import records
from server.tickets.mail_loops import NOTE
from server.web.mail_listener import MailListener
from tests import databases
from tests.automation.told import MAY_ALL
from tests.smtp_server import HOST
from tests.telling import telling

QUIET = 3  # rounds without a mail: receipt, event and reply take one each
MOST = 8  # mails that prove an endless conversation
DRAFT = """
start:
  record.create:
    output: made
    inputs:
      record_type: draft
      fields:
        type: TYPE
        worker_id: WORKER
        is_queued: QUEUED
        FIELDS
        params:
          content: We are closed until Monday.
          PARAMS
"""
LATER = """
  record.update:
    output: queued
    inputs:
      record_type: draft
      record_id@key: made:id
      fields:
        is_queued: 1
"""


@dataclass(frozen=True)
class Way:
    """A way in which automations reply. text: the script, with NAME and WORKER as placeholders for its helpdesk."""

    text: str
    event: str = "mail.received"
    only: str = ""


def draft(type: str, *params: str, fields: str = "name: Closed", queued: int = 1) -> str:
    """Returns a script that creates a draft. fields: a line of it."""
    text = DRAFT.replace("TYPE", type).replace("QUEUED", str(queued)).replace("FIELDS", fields)
    return text.replace("PARAMS", "\n          ".join(params))


TICKET, MESSAGE = "ticket_id@key: message_ticket_id", "in_reply_message_id@key: message_id"
TO, TO_RECORD = "to@key: message_sender_email", "to@key: record_sender_email"
GROUP, FROM = "group_id: 1", "from: help@NAME.example"
IN = "record__type == 'message' and is_new and not record_is_outgoing"
WAYS = {
    "automatic answer": Way(draft("ticket.reply", MESSAGE, "is_autoreply: 1", fields=TICKET)),
    "reply": Way(draft("ticket.reply", MESSAGE, fields=TICKET)),
    "reply to the sender": Way(draft("ticket.reply", MESSAGE, TO, fields=TICKET)),
    "reply without a copy": Way(draft("ticket.reply", MESSAGE, "dont_keep_copy: 1", fields=TICKET)),
    "forward": Way(draft("ticket.forward", MESSAGE, TO, fields=TICKET)),
    "compose": Way(draft("mail.compose", TO, GROUP)),
    "mail without a ticket": Way(draft("mail.transactional", TO, FROM)),
    "draft that is queued later": Way(draft("mail.compose", TO, GROUP, queued=0) + LATER),
    "changed record": Way(draft("mail.compose", TO_RECORD, GROUP), "record.changed", IN),
    "filter": Way(draft("mail.compose", "to@key: email_sender_email", GROUP), "mail.filter"),
    "route": Way(draft("mail.compose", "to@key: email_sender_email", GROUP), "mail.route"),
}

# mail.route is called only for mail that creates a ticket, which a reply does not.
PAIRS = {" and ".join(pair): pair for pair in itertools.pairwise([*WAYS, next(iter(WAYS))]) if pair[0] != "route"}
FEWER = ("automatic answer and reply", "forward and compose", "changed record and filter")


class Machine:
    """A helpdesk with the address help@NAME.example that replies to every mail."""

    def __init__(self, folder: Path, name: str, way: Way) -> None:
        given = {"lmtp_host": HOST, "lmtp_port": "0", "lmtp_protocol": "smtp", "starter_package": "no"}
        folder.mkdir()
        databases.begin_empty(folder / databases.FILE)
        self.service = app.open_service(settings.load(given, {}, folder))
        self.listener = MailListener(self.service)
        mail_listening.watch(self.service, self.listener)
        self.listener.start()
        self.email = f"help@{name}.example"
        nora = {"first_name": "Nora", "email": f"nora@{name}.example", "language": "en_US", "timezone": "UTC"}
        self.nora = self.create("worker", is_superuser=1, **nora)
        script = way.text.replace("WORKER", str(self.nora)).replace("NAME", name)
        trigger = f"svc.trigger.{way.event}"
        self.create("automation", name="answers", extension_id=trigger, script=script, policy_kata=MAY_ALL)
        (event,) = (each["id"] for each in self.all("automation_event") if each["name"] == way.event)
        only = f"\n  disabled@bool: {{{{not ({way.only})}}}}" if way.only else ""
        self.update("automation_event", event, automations_kata=f"automation/a:\n  uri: answers{only}")

    @property
    def port(self) -> int:
        (url,) = mail_listening.state(self.service).urls
        return int(url.rpartition(":")[2])

    def sends_to(self, other: "Machine") -> None:
        params = {"host": HOST, "port": other.port}
        way = self.create("mail_transport", name="Other", extension_id="core.mail.transport.smtp", params=params)
        self.update("group", 1, reply_address_id=self.create("address", email=self.email, mail_transport_id=way))

    @property
    def withheld(self) -> list[str]:
        """Returns the remarks on mail that was stored and not sent."""
        comments = [each["comment"] for each in self.all("comment")]
        return [each["notes"] for each in self.all("message") if each["is_not_sent"]] + comments

    def run_due(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            Scheduler(self.service, pool).run_due(clock.now())

    @property
    def taken(self) -> int:
        """Returns the number of received mails."""
        return mail_listening.state(self.service).taken

    def create(self, uri: str, /, **fields: Any) -> int:
        return int(records.create(own_context(self.service), uri, fields)["id"])

    def update(self, uri: str, id: int, /, **fields: Any) -> None:
        records.update(own_context(self.service), uri, id, fields)

    def all(self, uri: str) -> list[Record]:
        kind = self.service.registry.type(uri)
        return [kind.record(row) for row in self.service.store.read(lambda tx: tx.find(kind.table))]

    def close(self) -> None:
        self.listener.stop(1)
        self.service.store.close()


@contextmanager
def two(folder: Path, way: Way, another: Way) -> Iterator[tuple[Machine, Machine]]:
    one, other = Machine(folder / "a", "a", way), Machine(folder / "b", "b", another)
    one.sends_to(other)
    other.sends_to(one)
    try:
        yield one, other
    finally:
        one.close()
        other.close()


def go_on(one: Machine, other: Machine) -> None:
    """Runs what is due on both until nothing is left."""
    quiet = 0
    while quiet < QUIET and one.taken + other.taken < MOST:
        before = one.taken, other.taken
        one.run_due()
        other.run_due()
        quiet = quiet + 1 if before == (one.taken, other.taken) else 0


def converse(one: Machine, other: Machine) -> None:
    """Lets a worker of one write to the other."""
    asked = {"group_id": 1, "to": other.email, "subject": "Delivery", "content": "When does it come?"}
    tickets.compose(own_context(one.service), asked)
    go_on(one, other)


@pytest.mark.parametrize("ways", telling(PAIRS, FEWER, "every way to send"))
def test_two_mails_are_sent_and_the_third_is_withheld(tmp_path: Path, ways: tuple[str, str]) -> None:
    with two(tmp_path, *(WAYS[way] for way in ways)) as (one, other):
        converse(one, other)
        assert (one.taken, other.taken) == (1, 1)
        (note,) = one.withheld
        assert NOTE in note and other.withheld == []


def test_a_person_still_replies_to_automatic_mail(tmp_path: Path) -> None:
    with two(tmp_path, WAYS["reply"], WAYS["compose"]) as (one, other):
        converse(one, other)
        (response,) = (each for each in one.all("message") if not each["is_outgoing"])
        tickets.reply(own_context(one.service), {"message_id": response["id"], "content": "Thank you."})
        go_on(one, other)
        assert (one.taken, other.taken) == (2, 2)


def test_mail_that_a_person_sends_again_is_sent(tmp_path: Path) -> None:
    with two(tmp_path, WAYS["mail without a ticket"], WAYS["compose"]) as (one, other):
        converse(one, other)
        (kept,) = one.all("draft")
        mail_queue.send_again(own_context(one.service), kept["id"])
        go_on(one, other)
        assert other.taken == 2 and kept["id"] not in [each["id"] for each in one.all("draft")]


def test_a_draft_of_an_automation_belongs_to_the_worker_who_queues_it(tmp_path: Path) -> None:
    unqueued = Way(draft("ticket.reply", MESSAGE, fields=TICKET, queued=0))
    with two(tmp_path, unqueued, WAYS["reply"]) as (one, other):
        converse(one, other)
        assert (one.taken, other.taken, one.withheld) == (1, 1, [])
        (kept,) = one.all("draft")
        one.update("draft", kept["id"], is_queued=1)
        go_on(one, other)
        assert other.taken == 2 and kept["id"] not in [each["id"] for each in one.all("draft")]


def test_mail_of_an_independent_run_is_marked_as_automatic(tmp_path: Path) -> None:
    with two(tmp_path, WAYS["compose"], WAYS["reply"]) as (one, other):
        (automation,) = (each for each in one.all("automation") if each["name"] == "answers")
        perform(own_context(one.service), of_record(automation), {"message_sender_email": other.email})
        go_on(one, other)
        (came,) = other.all("message")[:1]
        assert "Auto-Submitted: auto-generated" in came["headers"]
        assert (one.taken, other.taken) == (0, 1)


def test_automations_are_not_started_for_excessive_bulk_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flood, "MAX_AUTOMATIC", 3)
    with two(tmp_path, WAYS["compose"], WAYS["reply"]) as (one, other):
        for number in range(flood.MAX_AUTOMATIC + 2):
            raw = f"From: list@kite.example\nPrecedence: bulk\nMessage-ID: <{number}@kite.example>\n\nNews {number}\n"
            mailroom.receive(own_context(one.service), raw.encode())
        go_on(one, other)
        assert (other.taken, len(one.all("ticket"))) == (flood.MAX_AUTOMATIC, 2 * flood.MAX_AUTOMATIC + 2)
