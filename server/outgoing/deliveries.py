"""The stored deliveries of outgoing webhooks, and the state of their receivers."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import peewee

from server import clock
from server.context import Context, Service
from server.contexts import context_of
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound
from server.jobs.scheduler import periodic
from server.outbound.urls import parsed
from server.outgoing import chat_events
from server.records import changes
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Row, Transaction
from server.translation import N_, about_field, lazy_gettext

URI = "outgoing_webhook"
DOING = "see what outgoing webhooks sent"
WAITING, SENT, FAILED = STATES = ("waiting", "sent", "failed")
CHANNEL = "outgoing deliveries"  # announces deliveries that wait again
KEPT_DAYS = 14
MAX_KEPT = 100_000  # finished deliveries of each state; the oldest are removed first
MAX_RESPONSE_CHARS = 4096  # stored of a response
MAX_ERROR_CHARS = 500
METHODS = {"matrix": "PUT"}  # {program: method}; POST for all others
BATCH = 1000  # removed in one transaction
DAY_SECONDS = 86_400

DELIVERY = Table(
    "outgoing_delivery",
    [
        Column("webhook_id"), Column("cursor"), Column("uri", "TEXT"), Column("record_id"), Column("event", "TEXT"),
        Column("at"), Column("state", "TEXT"), Column("attempts"), Column("due_at"), Column("tried_at"),
        Column("status"), Column("ms"), Column("error", "TEXT"), Column("body", "TEXT", null=True),
        Column("response", "TEXT"), Column("replays"), Column("entry"),
    ],
    [
        Index(("webhook_id", "state", "id"), "what waits for a receiver, in order"),
        Index(("cursor", "webhook_id"), "the deliveries of a change"),
        Index(("entry", "webhook_id"), "the deliveries of an entry of the activity log"),
        Index(("state", "at"), "those that are done, by their age"),
    ],
)  # fmt: skip
# cursor: of the change in the log, 0 for a test and for entry: the id of an entry of the activity log, for messages to
# chat programs. status: of the response, 0 without one. replays: the number of manual retries.

STATE = Table(
    "outgoing_state",
    [
        Column("webhook_id"),
        Column("cursor"),
        Column("failures"),
        Column("resume_at"),
        Column("failing_since"),
        Column("error", "TEXT"),
        Column("entry"),
    ],
    key=("webhook_id",),
)
# cursor, entry: changes and entries of the activity log up to here have their deliveries. resume_at: nothing is sent to
# the receiver until then.


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """The progress of a receiver: the last change with a delivery, and the start of its failures."""

    webhook_id: int
    cursor: int = 0
    failures: int = 0
    resume_at: int = 0
    failing_since: int = 0
    error: str = ""
    entry: int = 0


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook as the courier uses it. url: the whole address. program: of chat_programs.py, blank for the generic
    request."""

    id: int
    name: str
    url: str
    events: tuple[str, ...]
    query: str
    expand: str
    headers: str
    body: str
    secret: str
    previous_secret: str
    overlap_until: int
    program: str = ""
    has_text: int = 0
    assignee_id: int = 0
    language: str = ""
    created_at: int = 0

    def secrets(self, now: int) -> list[str]:
        """The secrets that sign now, the current one first."""
        is_both = self.previous_secret and now < self.overlap_until
        return [self.secret, self.previous_secret] if is_both else [self.secret]


@dataclass(frozen=True, slots=True)
class OutgoingDelivery:
    """One delivery. body: as it is sent, None before the first attempt."""

    id: int
    webhook_id: int
    cursor: int
    uri: str
    record_id: int
    event: str
    at: int
    attempts: int = 0
    due_at: int = 0
    body: str | None = None
    replays: int = 0
    entry: int = 0

    @property
    def message_id(self) -> str:
        """The `webhook-id` of Standard Webhooks, the same for every attempt."""
        if self.entry:
            return f"msg_{self.webhook_id}_e{self.entry}"
        return f"msg_{self.webhook_id}_{self.cursor}" if self.cursor else f"msg_{self.webhook_id}_try{self.id}"


def state_of(tx: Transaction, webhook_id: int) -> ReceiverState:
    """The state of the receiver of a webhook."""
    return states_of(tx, [webhook_id])[webhook_id]


def states_of(tx: Transaction, webhook_ids: Iterable[int]) -> dict[int, ReceiverState]:
    """{id of a webhook: the state of its receiver}."""
    table: Any = STATE.sql
    ids = list(webhook_ids)
    rows = tx.rows(
        lambda: table.select(*STATE.all_columns).where(in_list(table.webhook_id, slot(0))), (json.dumps(ids),)
    )
    states = {row[0]: ReceiverState(*row) for row in rows}
    return {id: states.get(id, ReceiverState(id)) for id in ids}


def begin(tx: Transaction, webhook_id: int, cursor: int, entry: int) -> None:
    """Start notifying a webhook of changes and entries after these cursors."""
    tx.put(
        STATE,
        {
            "webhook_id": webhook_id,
            "cursor": cursor,
            "failures": 0,
            "resume_at": 0,
            "failing_since": 0,
            "error": "",
            "entry": entry,
        },
    )


def forget(tx: Transaction, webhook_id: int) -> None:
    """Remove the state and the deliveries of a webhook that was deleted."""
    tx.delete(STATE, webhook_id=webhook_id)
    tx.delete(DELIVERY, webhook_id=webhook_id)


def waiting(tx: Transaction, webhook_id: int, after: int, limit: int) -> list[OutgoingDelivery]:
    """The deliveries that wait for a receiver, in order. after: the id of a delivery."""
    table: Any = DELIVERY.sql
    rows = tx.rows(
        lambda: (
            table.select(*DELIVERY.all_columns)
            .where(table.webhook_id == slot(0), table.state == slot(1), table.id > slot(2))
            .order_by(table.id)
            .limit(slot(3))
        ),
        (webhook_id, WAITING, after, limit),
    )
    return [_delivery(row) for row in rows]


def _delivery(row: Row) -> OutgoingDelivery:
    each = dict(zip(DELIVERY.names, row, strict=True))
    return OutgoingDelivery(
        each["id"],
        each["webhook_id"],
        each["cursor"],
        each["uri"],
        each["record_id"],
        each["event"],
        each["at"],
        each["attempts"],
        each["due_at"],
        each["body"],
        each["replays"],
        each["entry"],
    )


# -- for administrators -----------------------------------------------------------------------------------------------


def listed(ctx: Context, webhook_id: int, state: str, limit: int, page: int) -> tuple[list[dict[str, Any]], int]:
    """A page of deliveries without their bodies, newest first, and the total. webhook_id: 0 for all webhooks. state: ""
    for any. Raises AdminOnly, Invalid."""
    ctx.require_admin(DOING)
    if state and state not in STATES:
        raise Invalid(
            about_field(
                "state", lazy_gettext("'{value}' is not one of {known}", value=state[:50], known=", ".join(STATES))
            ),
            field="state",
        )
    values, has_webhook, has_state = tuple(each for each in (webhook_id, state) if each), bool(webhook_id), bool(state)

    def read(tx: Transaction) -> tuple[list[Row], int]:
        rows = tx.rows(lambda: _page(has_webhook, has_state), (*values, limit, page * limit))
        total = tx.value(lambda: _narrowed(has_webhook, has_state, peewee.fn.COUNT(DELIVERY.sql.id)), values)
        return rows, int(total or 0)

    rows, total = ctx.service.store.read(read)
    return [_brief(row) for row in rows], total


def _page(has_webhook: bool, has_state: bool) -> Any:
    at = int(has_webhook) + int(has_state)
    query = _narrowed(has_webhook, has_state, *DELIVERY.all_columns).order_by(DELIVERY.sql.id.desc())
    return query.limit(slot(at)).offset(slot(at + 1))


def _narrowed(has_webhook: bool, has_state: bool, *columns: Any) -> Any:
    table: Any = DELIVERY.sql
    query = table.select(*columns)
    if has_webhook:
        query = query.where(table.webhook_id == slot(0))
    return query.where(table.state == slot(int(has_webhook))) if has_state else query


def one(ctx: Context, id: int) -> dict[str, Any]:
    """Returns a delivery with its request and response. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.get(DELIVERY, id))
    if row is None:
        raise NotFound(f"there is no delivery {id}; old ones are removed after {KEPT_DAYS} days")
    each = dict(zip(DELIVERY.names, row, strict=True))
    webhook = table_named(URI)
    rows = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: webhook.select(webhook.c.url, webhook.c.program).where(webhook.c.id == slot(0)),
            (each["webhook_id"],),
        )
    )
    url, program = rows[0] if rows else ("", "")
    return _brief(row) | {
        "request": {"method": METHODS.get(program, "POST"), "url": str(url), "body": each["body"] or ""},
        "response": {"body": each["response"]},
    }


def _brief(row: Row) -> dict[str, Any]:
    each = dict(zip(DELIVERY.names, row, strict=True))
    names = ("id", "webhook_id", "at", "state", "attempts", "due_at", "tried_at", "status", "ms", "error")
    values = {name: each[name] for name in names}
    kind = f"{each['uri']}.{each['event']}" if each["uri"] else each["event"]
    return values | {"event": kind, "record_id": each["record_id"], "message_id": _delivery(row).message_id}


def replay(ctx: Context, id: int) -> dict[str, Any]:
    """Queue a delivery again under the same id; return it. Raises AdminOnly, NotFound, Conflict."""
    delivery = one(ctx, id)
    _require_on(ctx, delivery["webhook_id"])
    ctx.service.store.write(lambda tx: _again(ctx, tx, delivery["webhook_id"], [id], delivery["message_id"]))
    return one(ctx, id)


def replay_since(ctx: Context, webhook_id: int, since: int) -> int:
    """Send a webhook every change since a time again, in order, also those made while it was off; return how many of
    them had been delivered before. Raises AdminOnly, NotFound, Conflict, Gone."""
    ctx.require_admin(DOING)
    _require_on(ctx, webhook_id)
    table: Any = DELIVERY.sql

    def write(tx: Transaction) -> int:
        cursor = changes.cursor_at(tx, since)
        rows = tx.rows(
            lambda: table.select(table.id).where(
                table.webhook_id == slot(0), (table.cursor > slot(1)) | ((table.entry > 0) & (table.at >= slot(2)))
            ),
            (webhook_id, cursor, since),
        )
        _again(ctx, tx, webhook_id, [row[0] for row in rows], f"since {clock.utc_text(since)}")
        state = state_of(tx, webhook_id)
        entry = chat_events.first_entry_since(ctx.service.registry, tx, since)
        begin(tx, webhook_id, min(cursor, state.cursor), min(entry, state.entry))
        return len(rows)

    return ctx.service.store.write(write)


def _again(ctx: Context, tx: Transaction, webhook_id: int, ids: Sequence[int], what: str) -> None:
    writing = RecordWriter(ctx, tx)
    target = writing.label(URI, webhook_id)
    writing.log("outgoing_webhook.sent_again", context_of(URI), webhook_id, {"target": target, "what": what})
    table: Any = DELIVERY.sql
    tx.run(
        lambda: table.update(
            {
                table.state: slot(0),
                table.attempts: slot(1),
                table.due_at: slot(2),
                table.replays: table.replays + 1,
            }
        ).where(in_list(table.id, slot(3))),
        (WAITING, 0, ctx.now, json.dumps(list(ids))),
    )
    ctx.service.notify_after(tx, CHANNEL)


def _require_on(ctx: Context, webhook_id: int) -> None:
    """Raises NotFound, and Conflict for a webhook that is off, whose deliveries would wait forever."""
    table = ctx.service.registry.type(URI).table
    row = ctx.service.store.read(lambda tx: tx.get(table, webhook_id))
    if row is None:
        raise NotFound(f"there is no outgoing_webhook {webhook_id}")
    if dict(zip(table.names, row, strict=True))["is_disabled"]:
        raise Conflict("the webhook is disabled; enable it first, with is_disabled=0")


def overview(ctx: Context, webhook_ids: Iterable[int]) -> dict[int, tuple[int, ReceiverState]]:
    """{id of a webhook: (deliveries that wait, state of the receiver)}. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = DELIVERY.sql
    listed = list(webhook_ids)
    ids = json.dumps(listed)
    rows = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: (
                table.select(table.webhook_id, peewee.fn.COUNT(table.id))
                .where(in_list(table.webhook_id, slot(0)), table.state == slot(1))
                .group_by(table.webhook_id)
            ),
            (ids, WAITING),
        )
    )
    waiting: dict[int, int] = dict(rows)
    states = ctx.service.store.read(lambda tx: states_of(tx, listed))
    return {id: (waiting.get(id, 0), states[id]) for id in listed}


@periodic(
    N_("old outgoing deliveries"),
    N_("Deletes finished deliveries of outgoing webhooks after 14 days."),
    deletes=True,
)
def forget_old(service: Service, now: int) -> None:
    """Remove finished deliveries older than KEPT_DAYS, and the oldest beyond MAX_KEPT."""
    for state in (SENT, FAILED):
        _forget_done(service, state, now - KEPT_DAYS * DAY_SECONDS)


def _forget_done(service: Service, state: str, before: int) -> None:
    """Remove deliveries of a state made before `before` (Unix seconds), and the oldest beyond MAX_KEPT."""
    table: Any = DELIVERY.sql
    count = service.store.read(
        lambda tx: tx.value(lambda: table.select(peewee.fn.COUNT(table.id)).where(table.state == slot(0)), (state,))
    )
    beyond = int(count or 0) - MAX_KEPT
    while ids := service.store.read(lambda tx, beyond=beyond: _old(tx, state, before, beyond)):  # type: ignore[misc]
        told = json.dumps(ids)
        service.store.write(
            lambda tx, told=told: tx.run(  # type: ignore[misc]
                lambda: table.delete().where(in_list(table.id, slot(0))), (told,)
            )
        )
        beyond -= len(ids)


def _old(tx: Transaction, state: str, before: int, beyond: int) -> list[int]:
    """Up to BATCH ids to remove next. beyond: how many deliveries exceed MAX_KEPT."""
    table: Any = DELIVERY.sql
    rows = tx.rows(
        lambda: (
            table.select(table.id, table.at).where(table.state == slot(0)).order_by(table.at, table.id).limit(slot(1))
        ),
        (state, BATCH),
    )
    return [id for place, (id, at) in enumerate(rows) if at < before or place < beyond]


def place_of(url: str) -> str:
    """The host of a receiver, for messages: its address may hold a secret."""
    try:
        return parsed(url).authority
    except Invalid:
        return "the receiver"
