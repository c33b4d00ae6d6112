"""Records the outcome of an attempt to send a draft: it is sent, stays queued, waits for its transport, or is given
up."""

import json
from collections.abc import Mapping
from dataclasses import field

from server import contexts
from server.access.actor import Actor
from server.dataclass import dataclass
from server.mail.transports import DeliveryReport
from server.outbox import holds, queue_rows, ticket_status
from server.outbox.holds import TransportHold
from server.outbox.retrying import is_over, retry_wait
from server.outbox.sender import NO_TRANSPORT
from server.record_types.record_type import Record
from server.records import event_publishing
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

APP, DRAFT, TRANSPORT = contexts.APP, contexts.DRAFT, contexts.MAIL_TRANSPORT
MAX_ERROR_CHARACTERS = 500
POINT = "transport.delivery.error"


@dataclass(frozen=True, slots=True)
class AcceptedMail:
    """A mail that a transport accepted for some of the recipients, or for all."""

    recipients: tuple[str, ...]
    report: DeliveryReport
    transport_id: int


@dataclass(frozen=True, slots=True)
class DeliveryFailure:
    """Why a mail reached no recipient. is_permanent: it is not tried again. transport_id 0: it reached no transport.
    is_unreachable: the transport is unavailable for all mail at present. wait_seconds: how long its server asks to
    wait."""

    text: str
    is_permanent: bool = False
    transport_id: int = 0
    is_unreachable: bool = False
    wait_seconds: int = 0
    report: DeliveryReport = field(default_factory=DeliveryReport)


def park(writing: RecordWriter, draft_id: int, email: str) -> None:
    """Leaves a mail in the queue until its sender has a transport, and adds one comment about it to the draft."""
    row = queue_rows.get(writing.tx, draft_id)
    text = NO_TRANSPORT.format(email=email)
    if row is not None and row["last_error"] != text:
        _comment(writing, draft_id, text)
    queue_rows.put(writing.tx, draft_id, {**queue_rows.FREE, "is_parked": 1, "last_error": text})


def hold_back(tx: Transaction, draft_id: int, claim: str, hold: TransportHold) -> None:
    """Leaves a mail in the queue, untried, until its transport is available again."""
    if queue_rows.holds(tx, draft_id, claim):
        queue_rows.change(tx, draft_id, {**queue_rows.FREE, "held_by": hold.transport_id, "last_error": hold.error})


def record_failed_attempt(writing: RecordWriter, draft_id: int, claim: str, failure: DeliveryFailure) -> None:
    """Records that a mail reached no recipient: a comment, an activity entry, and the next attempt or the final
    failure.

    The ticket of a reply opens, so that a worker notices; the worker of the draft is notified when it is given up."""
    draft, row = writing.record("draft", draft_id), queue_rows.get(writing.tx, draft_id)
    if draft is None or row is None or not queue_rows.holds(writing.tx, draft_id, claim):
        return
    text = failure.text[:MAX_ERROR_CHARACTERS]
    if failure.is_unreachable:
        _hold(writing, draft, row, failure, text)
        return
    holds.release_transport(writing, failure.transport_id)
    settled = {**row["settled"], **queue_rows.settle(failure.report.refused)}
    _comment(writing, draft_id, text)
    _retry_or_give_up(writing, draft, row, text, settled, failure.transport_id, is_final=failure.is_permanent)


def record_sent(writing: RecordWriter, draft_id: int, claim: str, accepted: AcceptedMail) -> None:
    """Records that recipients got a mail. Deletes its draft unless other recipients are still to get it or were
    refused."""
    draft, row = writing.record("draft", draft_id), queue_rows.get(writing.tx, draft_id)
    if draft is None or row is None or row["claimed_by"] != claim:
        return
    report = accepted.report
    holds.release_transport(writing, accepted.transport_id)
    if row["message_id"] and not queue_rows.is_partly_sent(row["settled"]):
        event_publishing.publish(
            writing, "mail.sent", event_publishing.record_values("message", contexts.MESSAGE, row["message_id"])
        )
    refused = dict(report.refused)
    if draft["queue_fails"]:  # else refused recipients were tried again, and have it now
        refused = {each: text for each, text in row["settled"].items() if text} | refused
    if not (report.deferred or refused):
        ticket_status.restore(writing, draft["ticket_id"], row["reopened"])
        writing.delete("draft", draft_id)
        queue_rows.wake_others(writing, draft["ticket_id"])
        return
    received = [each for each in accepted.recipients if each not in {**report.refused, **report.deferred}]
    settled = {**row["settled"], **queue_rows.settle(dict.fromkeys(received, "")), **queue_rows.settle(refused)}
    if report.refused:
        _say_refused(writing, draft, row, report.refused)
    text = _named(report.deferred, "not delivered yet") if report.deferred else _named(refused, "not delivered")
    _retry_or_give_up(
        writing,
        draft,
        row,
        text[:MAX_ERROR_CHARACTERS],
        settled,
        accepted.transport_id,
        is_final=not report.deferred,
        is_partial=True,
        has_news=bool(report.refused),
    )


def _retry_or_give_up(
    writing: RecordWriter,
    draft: Record,
    row: Record,
    text: str,
    settled: Mapping[str, str],
    transport_id: int,
    *,
    is_final: bool,
    is_partial: bool = False,
    has_news: bool = True,
) -> None:
    """Queues a mail again for the remaining recipients, or gives it up. is_partial: other recipients got it just now.
    has_news: whether there are refusals that the worker does not know of yet."""
    tx, settings, fails = writing.tx, writing.ctx.service.settings, draft["queue_fails"] + 1
    is_first = draft["queue_fails"] == 0 or not row["failing_since"]
    since = writing.now if is_first else min(row["failing_since"], writing.now)
    given_up = is_final or is_over(settings, fails, since, writing.now)
    wait = 0 if given_up else retry_wait(settings, fails)
    values = {"queue_fails": fails, "queue_delivery_date": writing.now + wait, "is_queued": int(not given_up)}
    writing.set("draft", draft["id"], values)
    settled_json = json.dumps(dict(settled)) if settled else ""
    queue_rows.change(
        tx, draft["id"], {**queue_rows.FREE, "last_error": text, "failing_since": since, "settled": settled_json}
    )
    is_known = is_final and not has_news
    if not is_partial or (given_up and not is_known) or has_news:
        _log(writing, draft, transport_id, text, is_notified=(given_up or is_partial) and not is_known)
    if given_up or (fails == 1 and not is_partial) or (is_partial and has_news):
        _reopen(writing, draft)
    if given_up or is_partial:
        queue_rows.wake_others(writing, draft["ticket_id"])


def _hold(writing: RecordWriter, draft: Record, row: Record, failure: DeliveryFailure, text: str) -> None:
    """Leaves a mail in the queue that could not reach its transport; the attempt does not count against the mail."""
    transport_id = failure.transport_id
    holds.hold_transport(writing, transport_id, draft["id"], text, failure.wait_seconds)
    writing.set("draft", draft["id"], {"queue_fails": draft["queue_fails"] + 1})
    queue_rows.change(writing.tx, draft["id"], {**queue_rows.FREE, "held_by": transport_id, "last_error": text})
    if row["last_error"] != text:
        _comment(writing, draft["id"], text)
    if draft["queue_fails"] == 0:
        _log(writing, draft, transport_id, text)
        _reopen(writing, draft)


def _log(writing: RecordWriter, draft: Record, transport_id: int, text: str, *, is_notified: bool = False) -> None:
    notified = (draft["worker_id"],) if is_notified and draft["worker_id"] else ()
    actor = _transport_actor(writing, transport_id)
    by_transport = RecordWriter(writing.ctx.as_actor(actor, writing.ctx.tz), writing.tx)
    by_transport.log(POINT, DRAFT, draft["id"], {"error": text}, also_notify=notified)


def _transport_actor(writing: RecordWriter, transport_id: int) -> Actor:
    """The transport as the actor of the activity entry."""
    if not transport_id:
        return writing.actor
    return Actor(TRANSPORT, transport_id, True, "UTC", writing.label("mail_transport", transport_id))


def _reopen(writing: RecordWriter, draft: Record) -> None:
    if draft["ticket_id"] and draft["type"].startswith("ticket."):
        ticket_status.reopen(writing, draft["id"], draft["ticket_id"])


def _comment(writing: RecordWriter, draft_id: int, text: str) -> None:
    writing.as_service().create(
        "comment",
        {
            "author__context": APP,
            "author_id": 0,
            "target__context": DRAFT,
            "target_id": draft_id,
            "comment": f"Error sending message: {text}",
        },
    )


def _say_refused(writing: RecordWriter, draft: Record, row: Record, refused: Mapping[str, str]) -> None:
    """Adds a comment with the refused recipients to the message, or to the ticket if no message is stored."""
    context, id = (contexts.MESSAGE, row["message_id"]) if row["message_id"] else (contexts.TICKET, draft["ticket_id"])
    if id:
        writing.as_service().create(
            "comment",
            {
                "author__context": APP,
                "author_id": 0,
                "target__context": context,
                "target_id": id,
                "comment": _named(refused, "Not delivered"),
            },
        )


def _named(refusals: Mapping[str, str], words: str) -> str:
    return f"{words} to " + "; ".join(f"{address}: {answer}" for address, answer in refusals.items())
