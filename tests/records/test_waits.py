"""How long requesters waited for each reply."""

from typing import Any

import pytest

from server.tickets import wait_fill
from server.tickets.types.message_parts import waits
from tests.records.desk import NOW, Desk


class Conversation:
    """A ticket of a customer. Messages are written some minutes after it was created."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.people = desk, desk.people()
        self.ticket = self.new()
        self.customer = desk.create("address", email="ines@quill.example")["id"]

    def new(self) -> int:
        at = {"created": NOW - 86400}
        return int(self.desk.create("ticket", subject="Boat", group_id=self.people["support"], **at)["id"])

    def customer_writes(self, minute: int, **more: Any) -> int:
        return self._write(minute, more)

    def worker_writes(self, minute: int, **more: Any) -> int:
        return self._write(minute, {"is_outgoing": 1, "worker_id": self.people["milo"]} | more)

    def _write(self, minute: int, more: dict[str, Any]) -> int:
        values = {"ticket_id": self.ticket, "sender_id": self.customer, "headers": "Subject: x", "content": "x"}
        return int(self.desk.create("message", created=NOW - 86400 + 60 * minute, **values | more)["id"])

    def of(self, id: int) -> tuple[int, int]:
        """Returns the minutes that a reply took, and whether it was the first."""
        row = self.desk.row("message", id)
        return row["waited"] // 60, row["is_first_response"]


@pytest.fixture
def talk(desk: Desk) -> Conversation:
    return Conversation(desk)


def test_a_reply_has_the_time_since_the_oldest_message_without_one(talk: Conversation) -> None:
    talk.customer_writes(0)
    talk.customer_writes(5)
    first, again = talk.worker_writes(30), talk.worker_writes(40)
    talk.customer_writes(60)
    talk.customer_writes(70)
    later = talk.worker_writes(100)
    expected = [(30, 1), (0, 0), (40, 0)]
    assert [talk.of(each) for each in (first, again, later)] == expected
    assert talk.desk.found("message", "isFirstResponse:yes") == [first]
    assert talk.desk.found("message", 'waited:>"35 minutes" isFirstResponse:no') == [later]
    # The same times follow from the messages alone.
    tx = talk.desk.store
    assert tx.write(lambda tx: waits.recompute(tx, (talk.ticket,))) == 0
    assert [talk.of(each) for each in (first, again, later)] == expected


def test_a_reply_that_nobody_waits_for_has_no_time(talk: Conversation) -> None:
    composed = talk.worker_writes(0)
    assert talk.of(composed) == (0, 0)
    talk.customer_writes(10)
    assert talk.of(talk.worker_writes(15)) == (5, 0)


def test_a_reply_that_somebody_waits_for_meets_the_target_or_is_late(talk: Conversation) -> None:
    target = {"name": "Quick", "response_minutes": 40, "next_response_minutes": 20}
    talk.desk.create("service_target", **target)
    talk.ticket = talk.new()
    talk.customer_writes(0)
    first, again = talk.worker_writes(30), talk.worker_writes(31)
    talk.customer_writes(60)
    late = talk.worker_writes(81)
    asked = talk.customer_writes(90)
    met = talk.worker_writes(110)
    assert talk.desk.found("message", "target:met") == [first, met]
    assert talk.desk.found("message", "target:late") == [late]
    assert again in talk.desk.found("message", "target:none")
    [id] = talk.desk.found("service_target", "")
    assert talk.desk.found("message", f"ticket.target.id:{id} target:[met,late] isFirstResponse:no") == [late, met]
    talk.desk.delete("message", asked)  # nobody waited for the reply to it
    assert talk.desk.found("message", "target:met") == [first]


def test_a_deleted_message_changes_the_times_after_it(talk: Conversation) -> None:
    talk.customer_writes(0)
    first, second = talk.worker_writes(30), talk.worker_writes(50)
    talk.desk.delete("message", first)
    assert talk.of(second) == (50, 1)


def test_times_of_older_replies_are_computed_in_the_background(talk: Conversation) -> None:
    talk.customer_writes(0)
    reply = talk.worker_writes(30)
    messages = talk.desk.registry.type("message").table
    talk.desk.store.write(lambda tx: tx.set(messages, reply, {"waited": 0, "is_first_response": 0}))
    while wait_fill.fill(talk.desk.service, NOW) is not None:
        pass
    assert talk.of(reply) == (30, 1)
    assert wait_fill.fill(talk.desk.service, NOW) is None
