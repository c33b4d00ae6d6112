"""Sends outgoing webhooks: one thread turns changes into deliveries, and a pool of threads sends them.

Only the first thread writes. It stores new deliveries and the cursor that they reach in one transaction, and the
results of many deliveries in another.

A change enters the change log in its own transaction. Changes after the cursor of a webhook have no delivery yet, so a
service that was killed continues from there, and repeats under the same id what it was sending. Deliveries about one
record are sent one at a time. Where several processes share a database, the leader sends."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from server import clock, log
from server.access.service_actor import own_context
from server.context import Context, Service
from server.contexts import context_of
from server.dataclass import dataclass
from server.errors import Gone, HelpdeskError, NotFound, ScriptError
from server.jobs import processes
from server.outbound import client
from server.outgoing import chat_events, chat_programs, deliveries, event_names, message, retry_schedule
from server.outgoing.chat_events import LoggedEntry
from server.outgoing.chat_programs import PROGRAMS
from server.outgoing.deliveries import DELIVERY, FAILED, SENT, STATE, WAITING, OutgoingDelivery, Receiver, ReceiverState
from server.outgoing.pace import Pace
from server.outgoing.types.outgoing_webhook import CHANNEL, OutgoingWebhook, told_types
from server.people.administrators import administrators
from server.records import changes
from server.records.changes import LoggedChange
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Table
from server.store.transaction import Row, Transaction, inserting

THREADS = 32
AT_ONCE = 4  # requests to one receiver that answers; any other gets one
SUSPECTS = 8  # requests to all receivers that failed last: each may use up its time limit
SECONDS = 15.0  # the time limit of a request
PAGE = 500  # changes read at once
MOST_ROWS = 2000  # deliveries written in one transaction
KEPT = 1000  # deliveries of one receiver in memory
PAUSE_SECONDS = 0.05  # pause between rounds, so that changes are batched
IDLE_SECONDS, AGAIN_SECONDS = 30.0, 5.0
BUSY_SECONDS = 0.1  # delay of the next round on a busy service
MAX_RESPONSE_BYTES = 256 * 1024
NEW_COLUMNS = ("webhook_id", "cursor", "uri", "record_id", "event", "at", "state", "due_at", "entry")
LOG = log.get("outgoing")


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of an attempt. status: 0 without a response. retry_after: seconds until the receiver accepts this
    delivery, pause_seconds: until it accepts any, both 0 if it does not say. is_unwanted: the record does not match the
    search of the webhook. is_gone: the receiver accepts no further delivery. cpu_seconds: processor time."""

    delivery: OutgoingDelivery
    at: int
    status: int = 0
    ms: int = 0
    error: str = ""
    response: str = ""
    retry_after: int = 0
    pause_seconds: int = 0
    is_unwanted: bool = False
    is_gone: bool = False
    cpu_seconds: float = 0.0

    @property
    def is_heard(self) -> bool:
        return self.is_unwanted or (200 <= self.status < 300 and not self.error)

    @property
    def is_of_receiver(self) -> bool:
        """Whether the receiver as a whole fails, rather than this delivery."""
        return not self.is_heard and (not self.status or client.may_pass(self.status))


class _Line:
    """The deliveries that wait for one receiver, in order. tail: the id of the last one read. has_more: whether the
    database may have more after it."""

    def __init__(self) -> None:
        self.waiting: deque[OutgoingDelivery] = deque()
        self.busy: dict[tuple[str, int], int] = {}  # {record: the delivery about it that is being sent}
        self.tail = 0
        self.has_more = True
        self.has_answered = False


class Courier:
    """Sends deliveries while a service runs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._done: deque[Attempt] = deque()
        self._lines: dict[int, _Line] = {}
        self._states: dict[int, ReceiverState] = {}
        self._receivers: dict[int, Receiver] = {}
        self._is_known = False  # whether the receivers in memory are current
        self._over = threading.Event()
        self._looks_again = False  # whether the log has more changes
        self._pace = Pace()
        self._turn = 0  # receivers from this id on come first in the next round
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="outgoing")
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def start(self) -> None:
        self._service.followers.append(self._wake_for_changes)
        self._thread.start()

    def stop(self) -> None:
        """Start no further delivery. One that gets no response before the end is sent again after the next start."""
        self._over.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _wake_for_changes(self, channel: str) -> None:
        """Runs on the writer's thread for each change, so it must be quick."""
        if channel in (CHANNEL, deliveries.CHANNEL):
            self._is_known = False
            self._wake.set()
        elif channel == changes.CHANNEL and self._receivers:
            self._wake.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                seconds = self._round()
            except Exception as error:
                self._is_known, seconds = False, AGAIN_SECONDS
                if isinstance(error, HelpdeskError):
                    LOG.warning("outgoing.failed", reason=error.message)
                else:
                    LOG.exception("outgoing.failed")
            if self._wake.wait(0 if self._looks_again else seconds):
                self._over.wait(PAUSE_SECONDS)
            self._wake.clear()

    def _round(self) -> float:
        """Do everything that is due; return the seconds until the next round."""
        if not processes.leads(self._service):
            self._is_known, self._receivers = False, {}
            return IDLE_SECONDS
        if not self._is_known:
            self._is_known = True
            self._learn()
        self._keep(self._taken())
        self._looks_again = bool(self._receivers) and (self._find() | self._find_entries())
        return self._send(clock.now())

    def _taken(self) -> list[Attempt]:
        with self._lock:
            results = list(self._done)
            self._done.clear()
        return results

    # -- receivers ---------------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Load the webhooks that are on, and the state of their receivers."""
        rows, states = self._service.store.read(lambda tx: (_receivers(self._service, tx), tx.find(STATE)))
        self._receivers = {each.id: each for each in rows}
        states_by_id = {row[0]: ReceiverState(*row) for row in states}
        self._states = {id: states_by_id.get(id, ReceiverState(id)) for id in self._receivers}
        for id in self._receivers:
            line = self._lines.setdefault(id, _Line())
            line.waiting.clear()
            line.tail, line.has_more = 0, True
        for id in self._lines.keys() - self._receivers.keys():
            if not self._lines[id].busy:
                del self._lines[id]

    # -- new deliveries ----------------------------------------------------------------------------------------------

    def _find(self) -> bool:
        """Store the deliveries of the next page of changes; return whether there may be more."""
        service = self._service
        types = told_types(service.registry)
        start = min(each.cursor for each in self._states.values())
        limit = max(min(PAGE, MOST_ROWS // len(self._receivers)), 1)
        try:
            page = service.store.read(lambda tx: changes.page_for_service(service, tx, start, limit, types))
        except Gone as error:
            self._skip(int(str(error.details["cursor"])))
            return False
        end = page.cursor
        if end == start:
            return False
        rows = [row for id, each in self._receivers.items() for row in self._rows_of(id, each, page.changes)]

        def write(tx: Transaction) -> None:
            stored = set(tx.rows(_stored, (start, end)))
            tx.run_many(inserting(DELIVERY, NEW_COLUMNS), [row for row in rows if row[:2] not in stored])
            for id, state in self._states.items():
                if state.cursor < end:
                    tx.run(_moving, (end, id))

        service.store.write(write)
        self._states = {id: replace(each, cursor=max(each.cursor, end)) for id, each in self._states.items()}
        for row in rows:
            self._lines[row[0]].has_more = True
        return page.has_more

    def _find_entries(self) -> bool:
        """Store the deliveries of the next page of the activity log, for chat programs; return whether there may be
        more."""
        service, registry = self._service, self._service.registry
        chats = {id: each for id, each in self._receivers.items() if each.program}
        if not chats:
            return False
        start = min(self._states[id].entry for id in chats)
        limit = max(min(PAGE, MOST_ROWS // len(chats)), 1)
        entries, end = service.store.read(lambda tx: chat_events.entries_after(registry, tx, start, limit))
        if end == start:
            return False
        rows = [
            (id, 0, "ticket", each.ticket_id, each.event.partition(".")[2], each.at, WAITING, each.at, each.id)
            for id, receiver in chats.items()
            for each in entries
            if each.id > self._states[id].entry and _is_for_chat(receiver, each)
        ]

        def write(tx: Transaction) -> None:
            stored = set(tx.rows(_stored_entries, (start, end)))
            tx.run_many(inserting(DELIVERY, NEW_COLUMNS), [row for row in rows if (row[0], row[-1]) not in stored])
            for id in chats:
                if self._states[id].entry < end:
                    tx.run(_moving_entry, (end, id))

        service.store.write(write)
        for id in chats:
            self._states[id] = replace(self._states[id], entry=max(self._states[id].entry, end))
        for row in rows:
            self._lines[row[0]].has_more = True
        return len(entries) > 0

    def _rows_of(self, id: int, receiver: Receiver, page: Iterable[LoggedChange]) -> list[tuple[Any, ...]]:
        """Returns the values of NEW_COLUMNS for each change that the receiver subscribes to."""
        cursor = self._states[id].cursor
        return [
            (id, each.cursor, each.type, each.id, each.event, each.at, WAITING, each.at, 0)
            for each in page
            if each.cursor > cursor and self._is_for(receiver, each)
        ]

    def _is_for(self, receiver: Receiver, each: LoggedChange) -> bool:
        """Records of types that only administrators see may hold secrets: patterns must name these types."""
        if receiver.program:
            return chat_events.OF_CHANGE.get((each.type, each.event)) in receiver.events
        is_named_only = self._service.registry.type(each.type).access.read == "admins"
        return event_names.matches(receiver.events, each.type, each.event, is_named_only=is_named_only)

    def _skip(self, cursor: int) -> None:
        """Move webhooks past changes that are no longer in the log."""
        behind = [id for id, each in self._states.items() if each.cursor < cursor]
        LOG.warning("outgoing.changes_lost", webhooks=behind)
        self._service.store.write(lambda tx: [tx.run(_moving, (cursor, id)) for id in behind])
        self._is_known = False

    # -- sending -----------------------------------------------------------------------------------------------------

    def _send(self, now: int) -> float:
        """Hand deliveries that are due to the pool; return the seconds until the next is due."""
        next_at: float = now + IDLE_SECONDS
        suspects = sum(len(self._lines[id].busy) for id in self._receivers if self._states[id].failures)
        self._pace.renew()
        last = 0  # the receiver that was sent to last
        for id in sorted(self._receivers, key=lambda id: (id < self._turn, id)):
            receiver = self._receivers[id]
            state, line = self._states[id], self._lines[id]
            if state.resume_at > now:
                next_at = min(next_at, state.resume_at)
                continue
            self._fill(id, line)
            # Messages of a chat arrive in order, and no faster than it accepts them.
            most = AT_ONCE if line.has_answered and not state.failures and not receiver.program else 1
            busy = set(line.busy)
            for each in list(line.waiting):
                if len(line.busy) >= most or (state.failures and suspects >= SUSPECTS):
                    break
                about = (each.uri, each.record_id)
                if about in busy:
                    continue
                busy.add(about)
                if each.due_at > now:
                    next_at = min(next_at, each.due_at)
                    continue
                if not self._pace.claim():
                    self._turn = id + 1 if last == id else id
                    return BUSY_SECONDS
                last = id
                line.waiting.remove(each)
                line.busy[about] = each.id
                suspects += bool(state.failures)
                self._pool.submit(self._deliver, receiver, each)
        return max(next_at - now, 0.0)

    def _fill(self, id: int, line: _Line) -> None:
        """Read more deliveries when few are left in memory."""
        if not line.has_more or len(line.waiting) >= KEPT // 2:
            return
        more = self._service.store.read(lambda tx: deliveries.waiting(tx, id, line.tail, KEPT))
        loaded = {*line.busy.values(), *(each.id for each in line.waiting)}
        line.waiting.extend(each for each in more if each.id not in loaded)
        line.has_more = len(more) == KEPT
        line.tail = more[-1].id if more else line.tail

    def _deliver(self, receiver: Receiver, each: OutgoingDelivery) -> None:
        """Runs on a thread of the pool."""
        began = time.thread_time()
        try:
            attempt = attempted(self._service, receiver, each)
        except Exception as error:
            LOG.exception("outgoing.broken", webhook=receiver.id, delivery=each.id)
            attempt = Attempt(each, clock.now(), error=f"it could not be sent: {type(error).__name__}")
        attempt = replace(attempt, cpu_seconds=time.thread_time() - began)
        with self._lock:
            self._done.append(attempt)
        self._wake.set()

    # -- results -----------------------------------------------------------------------------------------------------

    def _keep(self, attempts: list[Attempt]) -> None:
        """Store the results of attempts."""
        if not attempts:
            return
        before = dict(self._states)
        for each in attempts:
            id = each.delivery.webhook_id
            line = self._lines.get(id)
            self._pace.settle(each.cpu_seconds)
            if line is not None:
                line.busy.pop((each.delivery.uri, each.delivery.record_id), None)
                line.has_answered = line.has_answered or each.is_heard
            if id in self._states:
                self._states[id] = _state_after(self._states[id], each)
        changed = [each for id, each in self._states.items() if each != before.get(id)]
        again: list[OutgoingDelivery] = []

        def write(tx: Transaction) -> None:
            again.clear()
            for each in attempts:
                delivery = _store_attempt(tx, each)
                if delivery is not None:
                    again.append(delivery)
            for state in changed:
                tx.run(_stating, (state.failures, state.resume_at, state.failing_since, state.error, state.webhook_id))
            for id in {each.delivery.webhook_id for each in attempts if _ends(each, self._states)}:
                _switch_off(self._service, tx, id, self._states[id].error)

        self._service.store.write(write)
        for delivery in again:
            line = self._lines.get(delivery.webhook_id)
            if line is not None:
                line.waiting.appendleft(delivery)


def attempted(service: Service, receiver: Receiver, each: OutgoingDelivery) -> Attempt:
    """Send a delivery once, now."""
    at, began = clock.now(), time.monotonic()
    try:
        body = each.body if each.body is not None else message.body_of(service, receiver, each)
    except ScriptError as error:
        return Attempt(each, at, error=f"its body cannot be rendered: {error.message}"[: deliveries.MAX_ERROR_CHARS])
    if body is None:
        return Attempt(each, at, is_unwanted=True)
    each = replace(each, body=body)
    bounds = replace(client.limits(service.settings), max_bytes=MAX_RESPONSE_BYTES)
    try:
        request = replace(message.request_of(receiver, each, body, at, SECONDS), follow=False)
        response = client.send(request, bounds)
    except HelpdeskError as error:
        ms = round((time.monotonic() - began) * 1000)
        return Attempt(each, at, 0, ms, error.message[: deliveries.MAX_ERROR_CHARS])
    ms = round((time.monotonic() - began) * 1000)
    text = response.body.decode("utf-8", "replace")[: deliveries.MAX_RESPONSE_CHARS].replace("\0", "")
    program = chat_programs.program_of(receiver.program)
    if program is not None:
        place = deliveries.place_of(receiver.url)
        verdict = program.verdict(response.status, response.headers, text, place)
        wrong, wait = verdict.error[: deliveries.MAX_ERROR_CHARS], verdict.wait
        return Attempt(each, at, response.status, ms, wrong, text, wait, wait, is_gone=verdict.is_gone)
    is_accepted, place = 200 <= response.status < 300, deliveries.place_of(receiver.url)
    wrong = "" if is_accepted else f"{place} responded with {response.status}"
    wait = client.retry_after(response.headers) or 0
    return Attempt(each, at, response.status, ms, wrong, text, wait, is_gone=response.status == 410)


def tried(ctx: Context, webhook_id: int) -> dict[str, Any]:
    """Send a test to a webhook, whether it is on or not; return the delivery. A receiver that answers is left alone no
    longer: what waits for it is due. Raises AdminOnly, NotFound."""
    ctx.require_admin("try outgoing webhooks")
    service = ctx.service
    table = service.registry.type(OutgoingWebhook.uri).table
    row = service.store.read(lambda tx: tx.get(table, webhook_id))
    if row is None:
        raise NotFound(f"there is no outgoing_webhook {webhook_id}")
    receiver = _receiver(table, row)
    now = clock.now()
    values = {"webhook_id": webhook_id, "event": message.TEST, "at": now, "state": FAILED, "due_at": now}

    def begin(tx: Transaction) -> int:
        context = context_of(OutgoingWebhook.uri)
        RecordWriter(ctx, tx).log("outgoing_webhook.tried", context, webhook_id, {"target": receiver.name})
        return tx.insert(DELIVERY, values)

    id = service.store.write(begin)
    attempt = attempted(service, receiver, OutgoingDelivery(id, webhook_id, 0, "", 0, message.TEST, now))

    def end(tx: Transaction) -> None:
        state = SENT if attempt.is_heard else FAILED
        tx.update(DELIVERY, id, _values_of(attempt) | {"state": state, "attempts": 1})
        if attempt.is_heard:
            tx.run(_stating, (0, 0, 0, "", webhook_id))
            tx.run(_hurrying, (attempt.at, webhook_id, WAITING))
            service.notify_after(tx, deliveries.CHANNEL)

    service.store.write(end)
    return deliveries.one(ctx, id)


def _values_of(each: Attempt) -> dict[str, Any]:
    """The columns that hold the result of an attempt."""
    return {
        "tried_at": each.at,
        "status": each.status,
        "ms": each.ms,
        "error": each.error,
        "response": each.response,
        "body": each.delivery.body,
    }


def _store_attempt(tx: Transaction, each: Attempt) -> OutgoingDelivery | None:
    """Store the result of an attempt; return the delivery if it must be sent again, else None."""
    id, attempts = each.delivery.id, each.delivery.attempts + 1
    row = tx.first(DELIVERY, id=id)
    if row is None:
        return None
    replays = row[DELIVERY.position["replays"]]
    if replays != each.delivery.replays:  # replayed by a worker during this attempt
        tx.update(DELIVERY, id, _values_of(each))
        return replace(each.delivery, attempts=0, due_at=each.at, replays=replays)
    if each.is_unwanted:
        tx.delete(DELIVERY, id=id)
        return None
    wait = None if each.is_heard else retry_schedule.wait(attempts, each.retry_after)
    values = _values_of(each) | {"attempts": attempts, "due_at": each.at + (wait or 0)}
    values["state"] = SENT if each.is_heard else FAILED if wait is None or each.is_gone else WAITING
    tx.update(DELIVERY, id, values)
    if values["state"] != WAITING:
        return None
    return replace(each.delivery, attempts=attempts, due_at=values["due_at"])


def _state_after(state: ReceiverState, each: Attempt) -> ReceiverState:
    """The state of a receiver after an attempt."""
    if each.is_heard:
        return state if each.is_unwanted else replace(state, failures=0, resume_at=0, failing_since=0, error="")
    if not each.is_of_receiver:
        return replace(state, error=each.error)
    failures = state.failures + 1
    return replace(
        state,
        failures=failures,
        resume_at=each.at + retry_schedule.rest(failures, each.pause_seconds),
        failing_since=state.failing_since or each.at,
        error=each.error,
    )


def _ends(each: Attempt, states: dict[int, ReceiverState]) -> bool:
    """Whether to switch the webhook off: its receiver is gone, or has failed for days."""
    state = states.get(each.delivery.webhook_id)
    if state is None or each.is_heard:
        return False
    has_failed_long = 0 < state.failing_since <= each.at - retry_schedule.GIVEN_UP_SECONDS
    return each.is_gone or has_failed_long


def _switch_off(service: Service, tx: Transaction, id: int, error: str) -> None:
    """Switch a webhook off and notify administrators."""
    writing = RecordWriter(own_context(service), tx)
    record = writing.record(OutgoingWebhook.uri, id)
    if record is None or record["is_disabled"]:
        return
    writing.update(OutgoingWebhook.uri, id, {"is_disabled": 1})
    context = context_of(OutgoingWebhook.uri)
    names = {"target": str(record["name"]), "error": error}
    writing.log("outgoing_webhook.switched_off", context, id, names, administrators(tx))
    service.notify_after(tx, CHANNEL)


def _receivers(service: Service, tx: Transaction) -> list[Receiver]:
    table = service.registry.type(OutgoingWebhook.uri).table
    return [_receiver(table, row) for row in tx.find(table, is_disabled=0)]


def _receiver(table: Table, row: Row) -> Receiver:
    record = dict(zip(table.names, row, strict=True))
    return Receiver(
        record["id"],
        record["name"],
        record["address"] or record["url"],
        tuple(event_names.split(record["events"])),
        record["query"].strip(),
        record["expanded"],
        record["headers"],
        record["body"],
        record["secret"],
        record["previous_secret"],
        record["overlap_until"],
        record["program"] if record["program"] in PROGRAMS else "",
        record["has_text"],
        record["assignee_id"],
        record["language"],
        record["created_at"],
    )


def _is_for_chat(receiver: Receiver, entry: LoggedEntry) -> bool:
    is_assigned = entry.event == chat_events.ASSIGNED and receiver.assignee_id
    return entry.event in receiver.events and (not is_assigned or entry.worker_id == receiver.assignee_id)


def _stored() -> Any:
    table: Any = DELIVERY.sql
    return table.select(table.webhook_id, table.cursor).where(table.cursor > slot(0), table.cursor <= slot(1))


def _stored_entries() -> Any:
    table: Any = DELIVERY.sql
    return table.select(table.webhook_id, table.entry).where(table.entry > slot(0), table.entry <= slot(1))


def _moving_entry() -> Any:
    table: Any = STATE.sql
    return table.update({table.entry: slot(0)}).where(table.webhook_id == slot(1))


def _moving() -> Any:
    table: Any = STATE.sql
    return table.update({table.cursor: slot(0)}).where(table.webhook_id == slot(1))


def _stating() -> Any:
    table: Any = STATE.sql
    return table.update(
        {table.failures: slot(0), table.resume_at: slot(1), table.failing_since: slot(2), table.error: slot(3)}
    ).where(table.webhook_id == slot(4))


def _hurrying() -> Any:
    table: Any = DELIVERY.sql
    waiting = (table.webhook_id == slot(1)) & (table.state == slot(2))
    return table.update({table.due_at: slot(0)}).where(waiting & (table.due_at > slot(0)))
