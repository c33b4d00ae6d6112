"""Two helpdesks that answer every mail by themselves, each handing it to the other's listener by SMTP: they stop."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server import app, clock, settings
from server.access.own import own_context
from server.desk import mail_listening, records, tickets
from server.desk.mailroom import flood
from server.jobs.scheduler import Scheduler
from server.records.base import Record
from server.web.mail_listener import MailListener
from tests.automation.told import MAY_ALL
from tests.smtp_server import HOST

QUIET = 3  # rounds without a mail: a mail comes, is told of, is answered
MOST = 20  # mails: a conversation without end
ANSWER = """
start:
  record.create:
    output: made
    inputs:
      record_type: draft
      fields:
        type: ticket.reply
        ticket_id@key: message_ticket_id
        worker_id: WORKER
        is_queued: 1
        params:
          in_reply_message_id@key: message_id
          content: We are closed until Monday.
          FLAG
"""


class Machine:
    """A helpdesk called help@NAME.example that answers every mail. is_flagged: whether its answers are said to be
    automatic, as they should be."""

    def __init__(self, folder: Path, name: str, is_flagged: bool) -> None:
        given = {"lmtp_host": HOST, "lmtp_port": "0", "lmtp_protocol": "smtp", "starter_package": "no"}
        self.service = app.open_service(settings.load(given, {}, folder))
        self.listener = MailListener(self.service)
        mail_listening.watch(self.service, self.listener)
        self.listener.start()
        self.email = f"help@{name}.example"
        nora = {"first_name": "Nora", "email": f"nora@{name}.example", "language": "en_US", "timezone": "UTC"}
        worker_id = self.create("worker", is_superuser=1, **nora)
        flag = "is_autoreply: 1" if is_flagged else ""
        script = ANSWER.replace("WORKER", str(worker_id)).replace("FLAG", flag)
        trigger = "svc.trigger.mail.received"
        self.create("automation", name="answers", extension_id=trigger, script=script, policy_kata=MAY_ALL)
        (event,) = (each["id"] for each in self.all("automation_event") if each["name"] == "mail.received")
        self.update("automation_event", event, automations_kata="automation/a:\n  uri: answers")

    @property
    def port(self) -> int:
        (url,) = mail_listening.state(self.service).urls
        return int(url.rpartition(":")[2])

    def sends_to(self, other: "Machine") -> None:
        params = {"host": HOST, "port": other.port}
        way = self.create("mail_transport", name="Other", extension_id="core.mail.transport.smtp", params=params)
        self.update("group", 1, reply_address_id=self.create("address", email=self.email, mail_transport_id=way))

    def run_due(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            Scheduler(self.service, pool).run_due(clock.now())

    @property
    def taken(self) -> int:
        """Mails that came in."""
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
def two(folder: Path, is_flagged: bool) -> Iterator[tuple[Machine, Machine]]:
    folder.mkdir(exist_ok=True)
    one, other = Machine(folder / "a", "a", is_flagged), Machine(folder / "b", "b", is_flagged)
    one.sends_to(other)
    other.sends_to(one)
    try:
        yield one, other
    finally:
        one.close()
        other.close()


def converse(one: Machine, other: Machine) -> None:
    """A worker of the one writes to the other, and both do what is due until nothing is."""
    asked = {"group_id": 1, "to": other.email, "subject": "Delivery", "content": "When does it come?"}
    tickets.compose(own_context(one.service), asked)
    quiet = 0
    while quiet < QUIET and one.taken + other.taken < MOST:
        before = one.taken, other.taken
        one.run_due()
        other.run_due()
        quiet = quiet + 1 if before == (one.taken, other.taken) else 0


def test_answers_that_are_said_to_be_automatic_end_with_the_second_mail(tmp_path: Path) -> None:
    with two(tmp_path, is_flagged=True) as (one, other):
        converse(one, other)
        assert (one.taken, other.taken) == (1, 1)
        (unsent,) = (each for each in one.all("message") if each["is_not_sent"])
        assert "nobody is answered automatically" in unsent["notes"]
        assert [each["num_messages"] for each in (*one.all("ticket"), *other.all("ticket"))] == [3, 2]


def test_answers_that_are_not_end_when_too_many_have_come_and_workers_still_see_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flood, "MAX_AUTOMATIC", 3)
    with two(tmp_path, is_flagged=False) as (one, other):
        converse(one, other)
        assert sorted((one.taken, other.taken)) == [flood.MAX_AUTOMATIC + 1] * 2
        assert [each["num_messages"] for each in other.all("ticket")] == [2 * flood.MAX_AUTOMATIC + 1 + 1]
        generated = [each for each in one.all("message") if "\nAuto-Submitted: auto-generated\n" in each["headers"]]
        assert len(generated) == one.taken + other.taken - 1  # all but the worker's
